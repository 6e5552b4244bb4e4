//! The layout of an event's payload as data.

use super::cursor::{Cursor, Short};

/// The type of a field, as docs/protocols/dotnet.md 5 names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// 8 bits, unsigned
    U1,
    /// 16 bits, unsigned
    U2,
    /// 32 bits, unsigned
    U4,
    /// 64 bits, unsigned
    U8,
    /// 64 bits, floating point
    F8,
    /// a pointer: 32 or 64 bits
    P,
    /// UTF-16 with a NUL
    S,
    /// a GUID
    G,
    /// 32 bits and as many numbers of 32 bits
    Ns,
    /// 32 bits and ten pointers for each
    Gens,
    /// 32 bits and as many bytes
    B,
}

/// A field of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its type.
    pub ty: FieldType,
    /// The event's version from which on it exists.
    pub since: u32,
}

/// The layout of an event. Versions append fields.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Event id.
    pub id: u32,
    /// Name without version.
    pub name: &'static str,
    /// The oldest version of this layout; older ones are not known.
    pub first: u32,
    /// Fields, packed in this order.
    pub fields: &'static [Field],
}

impl Layout {
    /// The fields of a version.
    pub fn of(&self, version: u32) -> impl Iterator<Item = FieldType> + '_ {
        self.fields.iter().filter(move |field| field.since <= version).map(|field| field.ty)
    }

    /// Bytes that a payload has beyond its layout.
    ///
    /// # Errors
    /// The payload is shorter.
    pub fn beyond(&self, version: u32, pointer_size: u32, payload: &[u8]) -> Result<usize, Short> {
        let mut rest = Cursor::new(payload, pointer_size);
        for ty in self.of(version) {
            match ty {
                FieldType::U1 => rest.u1().map(drop),
                FieldType::U2 => rest.u2().map(drop),
                FieldType::U4 => rest.u4().map(drop),
                FieldType::U8 | FieldType::F8 => rest.u8().map(drop),
                FieldType::P => rest.p().map(drop),
                FieldType::S => rest.s().map(drop),
                FieldType::G => rest.g().map(drop),
                FieldType::Ns => rest.ns().map(drop),
                FieldType::Gens => rest.ps(10).map(drop),
                FieldType::B => rest.b().map(drop),
            }?;
        }
        Ok(rest.left())
    }
}
