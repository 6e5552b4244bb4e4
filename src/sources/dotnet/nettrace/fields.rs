//! Types of events and of their fields.

use std::sync::Arc;

/// A type of events, as the stream describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventType {
    /// Position among the types of the stream, from 0 without gaps.
    pub index: u32,
    /// Name of the provider.
    pub provider: Arc<str>,
    /// Id of the event at its provider.
    pub id: u32,
    /// Version of the payload.
    pub version: u32,
    /// Level: 1 critical to 5 verbose; 0 always.
    pub level: u32,
    /// Keywords.
    pub keywords: u64,
    /// Name; empty for native runtime events (docs/protocols/dotnet.md 3).
    pub name: Box<str>,
    /// Opcode; 0: none.
    pub opcode: u8,
    /// Fields; none for native runtime events and for unsupported parameters.
    pub fields: Vec<Field>,
    /// `fields` are all there are. False: a type is unknown, or a limit was reached.
    pub complete: bool,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name; empty for the object around EventCounters.
    pub name: Box<str>,
    /// Type.
    pub kind: FieldType,
}

/// Types of fields (docs/protocols/dotnet.md 3, 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Fields.
    Object(Vec<Field>),
    /// 4 bytes.
    Bool,
    /// 1 byte.
    Bool8,
    /// A UTF-16 unit.
    Char,
    /// A UTF-8 unit.
    Char8,
    /// 1 byte, signed.
    I8,
    /// 1 byte.
    U8,
    /// 2 bytes, signed.
    I16,
    /// 2 bytes.
    U16,
    /// 4 bytes, signed.
    I32,
    /// 4 bytes.
    U32,
    /// 8 bytes, signed.
    I64,
    /// 8 bytes.
    U64,
    /// 1 to 10 bytes, signed (zigzag).
    VarI64,
    /// 1 to 10 bytes.
    VarU64,
    /// 4 bytes.
    F32,
    /// 8 bytes.
    F64,
    /// 16 bytes.
    Decimal,
    /// 8 bytes: 100 ns since 1601-01-01 UTC.
    Time,
    /// 16 bytes.
    Guid,
    /// UTF-16 up to a NUL.
    Text,
    /// Number of elements (2 bytes) and elements.
    Array(Box<Self>),
    /// So many elements.
    Fixed(Box<Self>, u16),
    /// 4 bytes: length << 16 | offset from behind these bytes.
    RelLoc(Box<Self>),
    /// 4 bytes: length << 16 | offset in the payload.
    DataLoc(Box<Self>),
}
