//! Values of the fields that a stream describes (docs/protocols/dotnet.md 3, "Metadata payload").

use std::slice;

use super::bytes::Bytes;
use super::{Field, FieldType};
use crate::sources::dotnet::wire::Utf16;

/// A value.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Boolean.
    Bool(bool),
    /// Signed integers.
    I64(i64),
    /// Unsigned integers.
    U64(u64),
    /// Floats.
    F64(f64),
    /// A UTF-16 unit, or a UTF-8 one.
    Char(u16),
    /// Text, also an array of UTF-16 units.
    Text(Utf16<'a>),
    /// An array of UTF-8 units.
    Utf8(&'a [u8]),
    /// GUID: u32, u16, u16 (little-endian), 8 bytes.
    Guid(&'a [u8; 16]),
    /// 100 ns since 1601-01-01 UTC.
    Time(u64),
    /// Decimal.
    Decimal(&'a [u8; 16]),
    /// Fields.
    Object(Values<'a>),
    /// Elements.
    Array(Elements<'a>),
}

/// The values of a list of fields: an iterator over field and value. It ends at the first field
/// that the payload does not have whole.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    fields: slice::Iter<'a, Field>,
    walk: Walk<'a>,
}

/// The elements of an array: an iterator over values.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    kind: &'a FieldType,
    left: usize,
    walk: Walk<'a>,
}

/// A position in a payload.
#[derive(Clone, Copy, Debug)]
struct Walk<'a> {
    bytes: Bytes<'a>,
    /// The whole payload.
    payload: &'a [u8],
}

impl<'a> Values<'a> {
    /// The values of a payload.
    #[must_use]
    pub fn new(fields: &'a [Field], payload: &'a [u8]) -> Self {
        let walk = Walk { bytes: Bytes::new(payload), payload };
        Self { fields: fields.iter(), walk }
    }

    /// Bytes behind the last value.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.walk.bytes.rest()
    }

    /// Fields without a value so far: those that come, or after the end those that the payload
    /// lacks.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.fields.len()
    }

    /// The first value with a name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Option<Value<'a>> {
        self.find(|(field, _)| *field.name == *name).map(|(_, value)| value)
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = (&'a Field, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.fields.as_slice().first()?;
        let value = self.walk.value(&field.kind)?;
        self.fields.next();
        Some((field, value))
    }
}

impl Elements<'_> {
    /// Elements to come.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.left
    }

    /// No element to come.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        self.walk.value(self.kind)
    }
}

impl<'a> Walk<'a> {
    /// The next value. `None`, and no step: it is not there whole.
    fn value(&mut self, kind: &'a FieldType) -> Option<Value<'a>> {
        let mut next = *self;
        let value = next.step(kind)?;
        *self = next;
        Some(value)
    }

    fn step(&mut self, kind: &'a FieldType) -> Option<Value<'a>> {
        let here = *self;
        let b = &mut self.bytes;
        Some(match kind {
            FieldType::Bool => Value::Bool(b.u32()? != 0),
            FieldType::Bool8 => Value::Bool(b.u8()? != 0),
            FieldType::Char => Value::Char(b.u16()?),
            FieldType::Char8 => Value::Char(b.u8()?.into()),
            FieldType::I8 => Value::I64(b.u8()?.cast_signed().into()),
            FieldType::U8 => Value::U64(b.u8()?.into()),
            FieldType::I16 => Value::I64(b.u16()?.cast_signed().into()),
            FieldType::U16 => Value::U64(b.u16()?.into()),
            FieldType::I32 => Value::I64(b.u32()?.cast_signed().into()),
            FieldType::U32 => Value::U64(b.u32()?.into()),
            FieldType::I64 => Value::I64(b.u64()?.cast_signed()),
            FieldType::U64 => Value::U64(b.u64()?),
            FieldType::VarI64 => {
                let v = b.var64()?;
                Value::I64((v >> 1).cast_signed() ^ -(v & 1).cast_signed())
            }
            FieldType::VarU64 => Value::U64(b.var64()?),
            FieldType::F32 => Value::F64(f32::from_bits(b.u32()?).into()),
            FieldType::F64 => Value::F64(f64::from_bits(b.u64()?)),
            FieldType::Decimal => Value::Decimal(b.chunk()?),
            FieldType::Time => Value::Time(b.u64()?),
            FieldType::Guid => Value::Guid(b.chunk()?),
            FieldType::Text => Value::Text(b.text16()?),
            FieldType::Object(fields) => {
                let values = Values { fields: fields.iter(), walk: here };
                self.skip(kind)?;
                Value::Object(values)
            }
            FieldType::Array(element) => {
                let count = b.u16()?.into();
                self.elements(element, count)?
            }
            FieldType::Fixed(element, count) => self.elements(element, (*count).into())?,
            FieldType::RelLoc(element) => {
                let place = b.u32()?;
                Walk { bytes: located(b.rest(), place)?, ..here }.all(element)?
            }
            FieldType::DataLoc(element) => {
                let place = b.u32()?;
                Walk { bytes: located(self.payload, place)?, ..here }.all(element)?
            }
        })
    }

    /// So many elements from here.
    fn elements(&mut self, kind: &'a FieldType, count: usize) -> Option<Value<'a>> {
        let here = *self;
        if let Some(size) = size(kind) {
            // Elements without bytes would be a loop that costs the peer nothing.
            let count = if size == 0 { 0 } else { count };
            let raw = self.bytes.take(size.checked_mul(count)?)?;
            match kind {
                FieldType::Char => return Some(Value::Text(Utf16::new(raw))),
                FieldType::Char8 => return Some(Value::Utf8(raw)),
                _ => return Some(Value::Array(Elements { kind, left: count, walk: here })),
            }
        } else {
            for _ in 0..count {
                self.skip(kind)?;
            }
        }
        Some(Value::Array(Elements { kind, left: count, walk: here }))
    }

    /// As many elements as there are bytes.
    fn all(mut self, kind: &'a FieldType) -> Option<Value<'a>> {
        let count = self.bytes.len().checked_div(size(kind)?)?;
        self.elements(kind, count)
    }

    fn skip(&mut self, kind: &'a FieldType) -> Option<()> {
        let b = &mut self.bytes;
        match kind {
            FieldType::Text => _ = b.text16()?,
            FieldType::VarI64 | FieldType::VarU64 => _ = b.var64()?,
            FieldType::Object(fields) => {
                for field in fields {
                    self.skip(&field.kind)?;
                }
            }
            FieldType::Array(element) => {
                let count = b.u16()?;
                self.skip_elements(element, count)?;
            }
            FieldType::Fixed(element, count) => self.skip_elements(element, *count)?,
            leaf => _ = b.take(size(leaf)?)?,
        }
        Some(())
    }

    fn skip_elements(&mut self, kind: &'a FieldType, count: u16) -> Option<()> {
        match size(kind) {
            Some(size) => _ = self.bytes.take(size.checked_mul(count.into())?)?,
            None => {
                for _ in 0..count {
                    self.skip(kind)?;
                }
            }
        }
        Some(())
    }
}

/// Length << 16 | offset.
fn located(from: &[u8], place: u32) -> Option<Bytes<'_>> {
    let (start, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
    from.get(start..start + length).map(Bytes::new)
}

/// Bytes of each value of a type. `None`: they differ.
fn size(kind: &FieldType) -> Option<usize> {
    Some(match kind {
        FieldType::Bool8 | FieldType::Char8 | FieldType::I8 | FieldType::U8 => 1,
        FieldType::Char | FieldType::I16 | FieldType::U16 => 2,
        FieldType::Bool
        | FieldType::I32
        | FieldType::U32
        | FieldType::F32
        | FieldType::RelLoc(_)
        | FieldType::DataLoc(_) => 4,
        FieldType::I64 | FieldType::U64 | FieldType::F64 | FieldType::Time => 8,
        FieldType::Decimal | FieldType::Guid => 16,
        FieldType::Object(fields) => {
            fields.iter().try_fold(0_usize, |sum, f| sum.checked_add(size(&f.kind)?))?
        }
        FieldType::Fixed(element, count) => size(element)?.checked_mul((*count).into())?,
        FieldType::VarI64 | FieldType::VarU64 | FieldType::Text | FieldType::Array(_) => {
            return None;
        }
    })
}
