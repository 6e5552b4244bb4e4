//! Values: of fields of events and constants. Nothing is decoded before it is asked for, and a constant is
//! looked up each time.

use std::borrow::Cow;

use crate::chunk::Chunk;
use crate::cursor::{Cursor, Raw};
use crate::metadata::{Class, Field, Kind};
use crate::{Error, limits};

/// A value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'c> {
    /// There is none: no such field, null, or a constant that the chunk does not have.
    Null,
    /// boolean, byte, short, char, int, long; those that are unsigned as if they were signed.
    Int(i64),
    /// float, double.
    Float(f64),
    /// A string.
    Text(Text<'c>),
    /// Of a class with fields.
    Record(Record<'c>),
    /// Any number of values.
    List(List<'c>),
}

/// A string.
#[derive(Clone, Copy, Debug)]
pub struct Text<'c>(Raw<'c>);

/// The key of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub(crate) class: u64,
    pub(crate) key: u64,
}

/// An event, a constant or a value with fields.
#[derive(Clone, Copy, Debug)]
pub struct Record<'c> {
    pub(crate) chunk: &'c Chunk<'c>,
    pub(crate) class: &'c Class,
    pub(crate) from: Cursor<'c>,
}

/// Any number of values.
#[derive(Clone, Copy, Debug)]
pub struct List<'c> {
    chunk: &'c Chunk<'c>,
    field: &'c Field,
    from: Cursor<'c>,
    left: u64,
}

impl<'c> Text<'c> {
    /// The text, at most [`limits::TEXT`] characters of it.
    #[must_use]
    pub fn get(self) -> Cow<'c, str> {
        self.0.text().unwrap_or_default()
    }
}

impl<'c> Value<'c> {
    /// The integer that it is.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        if let Self::Int(value) = self { Some(*value) } else { None }
    }

    /// The text that it is, or that a record has which is nothing else but a text, as symbols and names.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'c, str>> {
        match self {
            Self::Text(text) => Some(text.get()),
            Self::Record(record) => match record.class.fields() {
                // No deeper: a constant can refer to itself.
                [only] => match record.value(only)? {
                    Self::Text(text) => Some(text.get()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// The record that it is.
    #[must_use]
    pub fn record(&self) -> Option<Record<'c>> {
        if let Self::Record(record) = self { Some(*record) } else { None }
    }

    /// The list that it is.
    #[must_use]
    pub fn list(&self) -> Option<List<'c>> {
        if let Self::List(list) = self { Some(*list) } else { None }
    }
}

impl<'c> Record<'c> {
    /// Its class.
    #[must_use]
    pub fn class(&self) -> &'c Class {
        self.class
    }

    /// The value of a field. The constant that it refers to is looked up.
    #[must_use]
    pub fn get(&self, field: &str) -> Value<'c> {
        let at = self.field(field);
        at.and_then(|(from, field)| value(self.chunk, from, field)).unwrap_or(Value::Null)
    }

    /// The key that a field has: equal keys are equal constants.
    #[must_use]
    pub fn key(&self, field: &str) -> Option<Key> {
        let (mut from, field) = self.field(field)?;
        let is_key = field.is_key && !field.is_list;
        is_key.then_some(Key { class: field.class, key: from.int().ok()? })
    }

    /// All fields with their values.
    pub fn fields(&self) -> impl Iterator<Item = (&'c str, Value<'c>)> {
        let (mut from, chunk) = (self.from, self.chunk);
        self.class.fields().iter().map_while(move |field| {
            let at = from;
            skip(chunk, &mut from, field, 0).ok()?;
            Some((field.name(), value(chunk, at, field).unwrap_or(Value::Null)))
        })
    }

    /// Where a field is.
    fn field(&self, name: &str) -> Option<(Cursor<'c>, &'c Field)> {
        let mut from = self.from;
        for field in self.class.fields() {
            if field.name() == name {
                return Some((from, field));
            }
            skip(self.chunk, &mut from, field, 0).ok()?;
        }
        None
    }

    /// The value of its first field.
    fn value(&self, field: &'c Field) -> Option<Value<'c>> {
        value(self.chunk, self.from, field)
    }
}

impl<'c> Iterator for List<'c> {
    type Item = Value<'c>;

    fn next(&mut self) -> Option<Value<'c>> {
        self.left = self.left.checked_sub(1)?;
        let at = self.from;
        skip_one(self.chunk, &mut self.from, self.field, 0).ok()?;
        Some(one(self.chunk, at, self.field).unwrap_or(Value::Null))
    }
}

/// The value of a field that begins at `from`.
fn value<'c>(chunk: &'c Chunk<'c>, mut from: Cursor<'c>, field: &'c Field) -> Option<Value<'c>> {
    if !field.is_list {
        return one(chunk, from, field);
    }
    let left = from.count().ok()?;
    Some(Value::List(List { chunk, field, from, left }))
}

/// A value of a field.
fn one<'c>(chunk: &'c Chunk<'c>, mut from: Cursor<'c>, field: &Field) -> Option<Value<'c>> {
    if field.is_key {
        let key = Key { class: field.class, key: from.int().ok()? };
        return Some(chunk.constant(key));
    }
    of_class(chunk, from, chunk.class(field.class)?, true)
}

/// The value of a class that begins at `from`. `keys`: a string may be the key of another.
pub(crate) fn of_class<'c>(
    chunk: &'c Chunk<'c>,
    mut from: Cursor<'c>,
    class: &'c Class,
    keys: bool,
) -> Option<Value<'c>> {
    Some(match class.kind {
        Kind::Byte => Value::Int(from.byte().ok()?.cast_signed().into()),
        Kind::Int(bits) => {
            let unused = 64 - bits;
            Value::Int((from.int().ok()? << unused).cast_signed() >> unused)
        }
        Kind::Float => {
            let bytes = from.take(4).ok()?.try_into().ok()?;
            Value::Float(f32::from_be_bytes(bytes).into())
        }
        Kind::Double => Value::Float(f64::from_be_bytes(from.take(8).ok()?.try_into().ok()?)),
        Kind::String => match from.string().ok()? {
            Raw::Null => Value::Null,
            Raw::Key(key) if keys => chunk.string(Key { class: class.id, key }),
            Raw::Key(_) => Value::Null,
            raw => Value::Text(Text(raw)),
        },
        Kind::Fields => Value::Record(Record { chunk, class, from }),
    })
}

/// Goes behind a field.
fn skip(chunk: &Chunk<'_>, from: &mut Cursor<'_>, field: &Field, depth: u32) -> Result<(), Error> {
    let count = if field.is_list { from.count()? } else { 1 };
    for _ in 0..count {
        skip_one(chunk, from, field, depth)?;
    }
    Ok(())
}

fn skip_one(
    chunk: &Chunk<'_>,
    from: &mut Cursor<'_>,
    field: &Field,
    depth: u32,
) -> Result<(), Error> {
    if field.is_key {
        chunk.walks(1);
        return from.int().map(|_| ());
    }
    let class = chunk.class(field.class).ok_or_else(|| from.wrong("a class that is unknown"))?;
    skip_class(chunk, from, class, depth + 1)
}

/// Goes behind a value of a class, which takes a byte at least. How much is walked has a limit for the whole chunk.
pub(crate) fn skip_class(
    chunk: &Chunk<'_>,
    from: &mut Cursor<'_>,
    class: &Class,
    depth: u32,
) -> Result<(), Error> {
    let begin = from.at;
    match class.kind {
        Kind::Byte => from.byte().map(|_| ()),
        Kind::Int(_) => from.int().map(|_| ()),
        Kind::Float => from.take(4).map(|_| ()),
        Kind::Double => from.take(8).map(|_| ()),
        Kind::String => from.string().map(|_| ()),
        Kind::Fields if depth > limits::DEPTH => Err(from.wrong("values are too deep")),
        Kind::Fields if class.fields().is_empty() => Err(from.wrong("a value without fields")),
        Kind::Fields => class.fields().iter().try_for_each(|field| skip(chunk, from, field, depth)),
    }?;
    if chunk.walks(from.at - begin) {
        Ok(())
    } else {
        Err(Error::Limit { what: "bytes to walk for each byte of a chunk", max: limits::STEPS })
    }
}
