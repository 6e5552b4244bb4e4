//! The event with the metadata: the classes of values, and their fields.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cursor::Cursor;
use crate::{Error, limits};

/// How the values of a class are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One byte.
    Byte,
    /// An integer of so many bits.
    Int(u32),
    Float,
    Double,
    String,
    /// Its fields, one after the other.
    Fields,
}

/// A class of values: of events, of what is in them, of constants.
#[derive(Clone, Debug)]
pub struct Class {
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    name: Arc<str>,
    fields: Vec<Field>,
}

/// A field of a class.
#[derive(Clone, Debug)]
pub struct Field {
    name: Arc<str>,
    /// The id of its class.
    pub(crate) class: u64,
    /// It has the key of a constant.
    pub(crate) is_key: bool,
    /// It has any number of values.
    pub(crate) is_list: bool,
}

impl Class {
    /// `jdk.ExecutionSample`, `java.lang.Class`, `long`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its fields in the order of their values.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
}

impl Field {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The classes of a chunk by their ids.
pub(crate) type Classes = HashMap<u64, Class>;

/// What elements refer to.
struct Elements {
    /// Shared: a hostile chunk can name one of them often.
    strings: Vec<Arc<str>>,
    classes: Classes,
    count: u32,
}

/// What attributes of an element matter.
#[derive(Default)]
struct Element {
    name: Arc<str>,
    id: Option<u64>,
    class: Option<u64>,
    is_key: bool,
    is_list: bool,
}

/// Reads the event at `at`.
pub(crate) fn classes(chunk: &[u8], at: usize) -> Result<Classes, Error> {
    let mut from = Cursor::new(chunk, at, chunk.len());
    let size = from.int()?;
    let size = usize::try_from(size).ok().filter(|size| *size <= limits::METADATA);
    let max = limits::METADATA as u64;
    let size = size.ok_or(Error::Limit { what: "bytes of metadata", max })?;
    let end = at.checked_add(size).filter(|end| *end <= chunk.len());
    let end = end.ok_or_else(|| from.wrong("metadata is longer than the chunk"))?;
    let mut from = Cursor::new(chunk, from.at, end);
    if from.int()? != 0 {
        return Err(from.wrong("no metadata"));
    }
    // Start, duration, id.
    for _ in 0..3 {
        from.int()?;
    }
    let count = from.count()?;
    if count > limits::STRINGS {
        return Err(Error::Limit { what: "strings of metadata", max: limits::STRINGS });
    }
    let mut strings = Vec::new();
    for _ in 0..count {
        strings.push(from.string()?.text().unwrap_or_default().into());
    }
    let mut all = Elements { strings, classes: Classes::new(), count: 0 };
    all.element(&mut from, None, 0)?;
    Ok(all.classes)
}

impl Elements {
    fn name(&self, from: &mut Cursor<'_>) -> Result<&Arc<str>, Error> {
        let wrong = from.wrong("no such string");
        let number = usize::try_from(from.int()?).map_err(|_| wrong)?;
        self.strings.get(number).ok_or(wrong)
    }

    /// Reads an element with all that is in it. `class`: the class that it is in.
    fn element(
        &mut self,
        from: &mut Cursor<'_>,
        class: Option<&mut Class>,
        depth: u32,
    ) -> Result<(), Error> {
        self.count += 1;
        if self.count > limits::ELEMENTS {
            let max = limits::ELEMENTS.into();
            return Err(Error::Limit { what: "elements of metadata", max });
        }
        if depth > limits::ELEMENT_DEPTH {
            return Err(from.wrong("elements are too deep"));
        }
        let kind_of_element = Arc::clone(self.name(from)?);
        let mut element = Element::default();
        for _ in 0..from.count()? {
            let key = self.name(from)?;
            let value = self.name(from)?;
            match &**key {
                "name" => element.name = Arc::clone(value),
                "id" => element.id = value.parse().ok(),
                "class" => element.class = value.parse().ok(),
                "constantPool" => element.is_key = **value == *"true",
                "dimension" => element.is_list = **value != *"0",
                _ => {}
            }
        }
        let children = from.count()?;
        let mut inner = None;
        match (&*kind_of_element, class) {
            ("class", _) => {
                let wrong = from.wrong("a class without an id");
                let id = element.id.ok_or(wrong)?;
                let kind = kind(&element.name);
                inner = Some(Class { id, kind, name: element.name, fields: Vec::new() });
            }
            // A value of one that is a number or a string has no others in it.
            ("field", Some(outer)) if outer.kind == Kind::Fields => {
                let wrong = from.wrong("a field without a class");
                let Element { name, class, is_key, is_list, .. } = element;
                let class = class.ok_or(wrong)?;
                outer.fields.push(Field { name, class, is_key, is_list });
            }
            _ => {}
        }
        for _ in 0..children {
            self.element(from, inner.as_mut(), depth + 1)?;
        }
        if let Some(class) = inner {
            self.classes.insert(class.id, class);
        }
        Ok(())
    }
}

fn kind(name: &str) -> Kind {
    match name {
        "boolean" | "byte" => Kind::Byte,
        "short" => Kind::Int(16),
        "int" => Kind::Int(32),
        "char" | "long" => Kind::Int(64),
        "float" => Kind::Float,
        "double" => Kind::Double,
        "java.lang.String" => Kind::String,
        _ => Kind::Fields,
    }
}
