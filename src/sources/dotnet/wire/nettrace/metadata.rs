//! Event types: their descriptions (docs/protocols/dotnet.md 3, "Metadata payload", and 4), and those of
//! a stream by their ids.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use super::bytes::Bytes;
use super::{ErrorKind, EventType, Field, FieldType};
use crate::model::HeapSize;
use crate::sources::dotnet::limits;
use crate::sources::dotnet::wire::Utf16;

/// Id and type of a description of versions 4 and 5.
pub(super) fn four(payload: &[u8]) -> Result<(u32, EventType), ErrorKind> {
    let mut b = Bytes::new(payload);
    let (id, mut event_type) = head4(&mut b).ok_or(ErrorKind::Truncated)?;
    let mut parser = Parser::new(&event_type)?;
    parser.list(&mut b, Form::Four, 0, &mut event_type.fields);
    // Without the end of the fields there is no start of the tags.
    while !parser.lost {
        let Some((length, kind)) = b.u32().zip(b.u8()) else { break };
        let Some(mut tag) = b.take(length as usize).map(Bytes::new) else { break };
        match kind {
            1 => event_type.opcode = tag.u8().unwrap_or(0),
            2 => {
                event_type.fields.clear();
                parser = Parser::new(&event_type)?;
                parser.list(&mut tag, Form::Five, 0, &mut event_type.fields);
            }
            _ => {}
        }
    }
    event_type.complete = parser.complete();
    Ok((id, event_type))
}

fn head4(b: &mut Bytes<'_>) -> Option<(u32, EventType)> {
    let meta_id = b.u32()?;
    let provider = text16(b.text16()?);
    let id = b.u32()?;
    let name = text16(b.text16()?);
    let (keywords, version, level) = (b.u64()?, b.u32()?, b.u32()?);
    Some((meta_id, event_type(provider, id, name, keywords, version, level)))
}

/// Id and type of a description of version 6.
pub(super) fn six(row: &[u8]) -> Result<(u32, EventType), ErrorKind> {
    let mut b = Bytes::new(row);
    let (id, mut event_type) = head6(&mut b).ok_or(ErrorKind::Truncated)?;
    let mut parser = Parser::new(&event_type)?;
    parser.list(&mut b, Form::Six, 0, &mut event_type.fields);
    event_type.complete = parser.complete();
    if !parser.lost {
        let options = b.u16().and_then(|n| b.take(n.into())).unwrap_or_default();
        options6(&mut Bytes::new(options), &mut event_type);
    }
    Ok((id, event_type))
}

fn head6(b: &mut Bytes<'_>) -> Option<(u32, EventType)> {
    let (meta_id, provider) = (b.var32()?, text8(b.text8()?));
    let (id, name) = (b.var32()?, text8(b.text8()?));
    Some((meta_id, event_type(provider, id, name, 0, 0, 0)))
}

/// Opcode, keywords, level, version; texts are skipped, an unknown kind ends the list.
fn options6(b: &mut Bytes<'_>, event_type: &mut EventType) -> Option<()> {
    loop {
        match b.u8()? {
            1 => event_type.opcode = b.u8()?,
            3 => event_type.keywords = b.u64()?,
            4 | 5 => _ = b.text8()?,
            6 => _ = (b.text8()?, b.text8()?),
            7 => _ = b.take(16)?,
            8 => event_type.level = b.u8()?.into(),
            9 => event_type.version = b.u8()?.into(),
            _ => return None,
        }
    }
}

fn event_type(
    provider: String,
    id: u32,
    name: String,
    keywords: u64,
    version: u32,
    level: u32,
) -> EventType {
    EventType {
        index: 0,
        provider: Arc::from(provider),
        id,
        version,
        level,
        keywords,
        name: name.into_boxed_str(),
        opcode: 0,
        fields: Vec::new(),
        complete: true,
    }
}

fn text16(text: Utf16<'_>) -> String {
    // One byte over the limit, so that the parser sees that it is over.
    text.to_string_within(limits::NAMES + 4)
}

fn text8(text: &[u8]) -> String {
    String::from_utf8_lossy(text.get(..limits::NAMES + 4).unwrap_or(text)).into_owned()
}

/// How fields are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Type, then name.
    Four,
    /// Size with itself (4 bytes), name, type.
    Five,
    /// Size without itself (2 bytes), name, type.
    Six,
}

/// Reads lists of fields within limits.
struct Parser {
    fields: usize,
    names: usize,
    /// A type is unknown: no field from there on has a known place.
    unknown: bool,
    /// The end of the list was not found, for a limit or for missing bytes.
    lost: bool,
    /// Types of elements around the one that is read.
    elements: usize,
}

impl Parser {
    fn new(event_type: &EventType) -> Result<Self, ErrorKind> {
        let names = limits::NAMES
            .checked_sub(event_type.provider.len() + event_type.name.len())
            .ok_or(ErrorKind::Size)?;
        Ok(Self { fields: limits::FIELDS, names, unknown: false, lost: false, elements: 0 })
    }

    const fn complete(&self) -> bool {
        !self.unknown && !self.lost
    }

    fn list(&mut self, b: &mut Bytes<'_>, form: Form, depth: usize, out: &mut Vec<Field>) {
        if self.fields_of(b, form, depth, out).is_none() {
            self.lost = true;
        }
    }

    fn fields_of(
        &mut self,
        b: &mut Bytes<'_>,
        form: Form,
        depth: usize,
        out: &mut Vec<Field>,
    ) -> Option<()> {
        let count = if form == Form::Six { b.u16()?.into() } else { b.u32()? };
        for _ in 0..count {
            self.fields = self.fields.checked_sub(1)?;
            let known = self.complete();
            let (name, kind) = match form {
                Form::Four => {
                    let kind = self.kind(b, form, depth);
                    (self.name16(b)?, kind)
                }
                Form::Five | Form::Six => {
                    let size = if form == Form::Six {
                        usize::from(b.u16()?)
                    } else {
                        (b.u32()? as usize).checked_sub(4)?
                    };
                    let mut b = Bytes::new(b.take(size)?);
                    let name =
                        if form == Form::Six { self.name8(&mut b)? } else { self.name16(&mut b)? };
                    (name, self.kind(&mut b, form, depth))
                }
            };
            if let Some(kind) = kind.filter(|_| known) {
                out.push(Field { name, kind });
            }
            if self.lost {
                return None;
            }
        }
        Some(())
    }

    fn name16(&mut self, b: &mut Bytes<'_>) -> Option<Box<str>> {
        let text = b.text16()?.to_string_within(self.names + 1);
        self.name(text)
    }

    fn name8(&mut self, b: &mut Bytes<'_>) -> Option<Box<str>> {
        let text = String::from_utf8_lossy(b.text8()?).into_owned();
        self.name(text)
    }

    fn name(&mut self, text: String) -> Option<Box<str>> {
        self.names = self.names.checked_sub(text.len())?;
        Some(text.into_boxed_str())
    }

    /// The type of a field. `None`: unknown.
    fn kind(&mut self, b: &mut Bytes<'_>, form: Form, depth: usize) -> Option<FieldType> {
        let kind = self.known_kind(b, form, depth);
        self.unknown |= kind.is_none();
        kind
    }

    fn known_kind(&mut self, b: &mut Bytes<'_>, form: Form, depth: usize) -> Option<FieldType> {
        if depth >= limits::DEPTH {
            self.lost = true;
            return None;
        }
        let code = if form == Form::Six { b.u8()?.into() } else { b.u32()? };
        match code {
            1 => {
                let mut fields = Vec::new();
                self.list(b, form, depth + 1, &mut fields);
                Some(FieldType::Object(fields))
            }
            // In the list of version 4 an array is a code without its elements' type.
            19 if form != Form::Four => {
                Some(FieldType::Array(Box::new(self.element(b, form, depth)?)))
            }
            22 if form == Form::Six => {
                let element = self.element(b, form, depth)?;
                Some(FieldType::Fixed(Box::new(element), b.u16()?))
            }
            // Not of elements: each could point to all of the payload.
            24 if form == Form::Six && self.elements == 0 => {
                Some(FieldType::RelLoc(Box::new(self.element(b, form, depth)?)))
            }
            25 if form == Form::Six && self.elements == 0 => {
                Some(FieldType::DataLoc(Box::new(self.element(b, form, depth)?)))
            }
            code => leaf(code),
        }
    }

    /// The type of elements, known to its end.
    fn element(&mut self, b: &mut Bytes<'_>, form: Form, depth: usize) -> Option<FieldType> {
        self.elements += 1;
        let kind = self.kind(b, form, depth + 1);
        self.elements -= 1;
        kind.filter(|_| self.complete())
    }
}

const fn leaf(code: u32) -> Option<FieldType> {
    Some(match code {
        3 => FieldType::Bool,
        4 => FieldType::Char,
        5 => FieldType::I8,
        6 => FieldType::U8,
        7 => FieldType::I16,
        8 => FieldType::U16,
        9 => FieldType::I32,
        10 => FieldType::U32,
        11 => FieldType::I64,
        12 => FieldType::U64,
        13 => FieldType::F32,
        14 => FieldType::F64,
        15 => FieldType::Decimal,
        16 => FieldType::Time,
        17 => FieldType::Guid,
        18 => FieldType::Text,
        20 => FieldType::VarI64,
        21 => FieldType::VarU64,
        23 => FieldType::Char8,
        26 => FieldType::Bool8,
        _ => return None,
    })
}

/// Ids below this are positions in a list: runtimes count from 1.
const DENSE: usize = 4 * limits::EVENT_TYPES;

/// Event types of a stream.
#[derive(Debug, Default)]
pub(super) struct Types {
    all: Vec<EventType>,
    /// Id → index + 1.
    dense: Vec<u32>,
    sparse: HashMap<u32, u32, RandomState>,
    providers: HashSet<Arc<str>, RandomState>,
    /// Bytes of all types.
    bytes: usize,
}

impl HeapSize for Types {
    fn heap_size(&self) -> usize {
        self.bytes
            + self.dense.heap_size()
            + self.sparse.heap_size()
            + self.providers.allocation_size()
    }
}

impl Types {
    /// The type with an id.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&EventType> {
        let index = self.index(id)?;
        self.all.get(index as usize)
    }

    #[inline]
    fn index(&self, id: u32) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(index) => index.checked_sub(1),
            None if (id as usize) < DENSE => None,
            None => self.sparse.get(&id).copied(),
        }
    }

    /// Adds a type, or replaces the one with this id.
    pub(super) fn define(
        &mut self,
        id: u32,
        mut event_type: EventType,
    ) -> Result<&EventType, ErrorKind> {
        self.bytes += bytes(&event_type);
        if self.bytes > limits::TYPES {
            return Err(ErrorKind::Types);
        }
        event_type.provider = Arc::clone(
            self.providers.get_or_insert_with(&*event_type.provider, |p: &str| Arc::from(p)),
        );
        let index = match self.index(id) {
            Some(index) => index,
            None => self.add(id)?,
        };
        event_type.index = index;
        match self.all.get_mut(index as usize) {
            Some(old) => {
                self.bytes -= bytes(old);
                *old = event_type;
            }
            None => self.all.push(event_type),
        }
        self.all.get(index as usize).ok_or(ErrorKind::Types)
    }

    /// The index of a new id.
    fn add(&mut self, id: u32) -> Result<u32, ErrorKind> {
        let index = u32::try_from(self.all.len()).map_err(|_| ErrorKind::Types)?;
        if self.all.len() >= limits::EVENT_TYPES {
            return Err(ErrorKind::Types);
        }
        let at = id as usize;
        if at < DENSE {
            if self.dense.len() <= at {
                self.dense.resize(at + 1, 0);
            }
            if let Some(entry) = self.dense.get_mut(at) {
                *entry = index + 1;
            }
        } else {
            self.sparse.insert(id, index);
        }
        Ok(index)
    }

    /// Number of types.
    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    /// Forgets all types.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Bytes of one type.
fn bytes(event_type: &EventType) -> usize {
    size_of::<EventType>()
        + event_type.provider.len()
        + event_type.name.len()
        + event_type.fields.iter().map(field).sum::<usize>()
}

fn field(field: &Field) -> usize {
    size_of::<Field>() + field.name.len() + inner(&field.kind)
}

fn inner(kind: &FieldType) -> usize {
    match kind {
        FieldType::Object(fields) => fields.iter().map(field).sum(),
        FieldType::Array(element)
        | FieldType::Fixed(element, _)
        | FieldType::RelLoc(element)
        | FieldType::DataLoc(element) => size_of::<FieldType>() + inner(element),
        _ => 0,
    }
}
