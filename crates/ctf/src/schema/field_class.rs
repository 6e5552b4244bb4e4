//! Field classes (CTF 2, section 5.3; the types of CTF 1.8, chapter 4).

use std::sync::Arc;

use super::Scope;
use super::mappings::{IntegerRange, Mappings};
use crate::ByteOrder;
use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;

/// A field class with precomputed properties. Shared: named classes are used in many places.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldClass {
    kind: FieldClassKind,
    align: u64,
    depth: u64,
    least: u64,
    whole_bytes: bool,
}

/// The kinds of field classes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldClassKind {
    /// An integer, an enumeration, a boolean or a bit map, of fixed or variable length.
    Integer(Integer),
    /// A fixed-length floating-point number (IEEE 754).
    Float(Float),
    /// A null-terminated string.
    NullTerminatedString(Encoding),
    /// A static-length or dynamic-length string, in bytes. The value ends at the first NUL if it
    /// has one.
    SizedString(Length, Encoding),
    /// A static-length or dynamic-length BLOB, in bytes.
    Blob(Length, Roles),
    /// A static-length or dynamic-length array: length in elements, element class, minimum
    /// alignment in bits.
    Array(Length, Arc<FieldClass>, u64),
    /// A structure.
    Structure(Structure),
    /// A variant.
    Variant(Variant),
    /// An optional: location of the selector, values of the selector for which the field is present
    /// (`None`: a boolean selector that is true), class of the field.
    Optional(FieldLocation, Option<Vec<IntegerRange>>, Arc<FieldClass>),
}

/// The meaning of an integer's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerKind {
    /// An integer without a sign.
    Unsigned,
    /// An integer in two's complement.
    Signed,
    /// CTF 2: a boolean; 0 is false.
    Boolean,
    /// CTF 2: a bit array, or a bit map whose flags are the mappings.
    BitMap,
}

/// The preferred display base of an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DisplayBase {
    /// Base 2.
    Binary,
    /// Base 8.
    Octal,
    /// Base 10.
    #[default]
    Decimal,
    /// Base 16.
    Hexadecimal,
}

/// The encoding of a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 or ASCII.
    #[default]
    Utf8,
    /// UTF-16, least significant byte first.
    Utf16Le,
    /// UTF-16, most significant byte first.
    Utf16Be,
    /// UTF-32, least significant byte first.
    Utf32Le,
    /// UTF-32, most significant byte first.
    Utf32Be,
}

impl Encoding {
    /// Bytes of one code unit.
    #[must_use]
    #[inline]
    pub const fn unit(self) -> usize {
        match self {
            Self::Utf8 => 1,
            Self::Utf16Le | Self::Utf16Be => 2,
            Self::Utf32Le | Self::Utf32Be => 4,
        }
    }
}

/// The purpose for which the decoder itself uses an integer or a BLOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Role {
    /// The magic number of a packet, 0xC1FC1FC1.
    Magic,
    /// The UUID of the trace.
    Uuid,
    /// The id of the data stream class.
    StreamClass,
    /// The id of the data stream within its class.
    Stream,
    /// Total length of the packet, in bits.
    PacketSize,
    /// Length of the packet without padding, in bits.
    ContentSize,
    /// The clock at the end of the packet.
    End,
    /// The sequence number of the packet in its stream.
    Sequence,
    /// Events that the tracer has discarded since the start of the stream.
    Discarded,
    /// The id of the event record class.
    EventClass,
    /// A value of the default clock: it updates the clock.
    Clock,
}

/// A set of [`Role`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles(u16);

impl Roles {
    /// The set with one more role.
    #[must_use]
    pub const fn with(self, role: Role) -> Self {
        Self(self.0 | 1 << role as u8)
    }

    /// The set without a role.
    #[must_use]
    pub const fn without(self, role: Role) -> Self {
        Self(self.0 & !(1 << role as u8))
    }

    /// Whether the set contains a role.
    #[must_use]
    #[inline]
    pub const fn has(self, role: Role) -> bool {
        self.0 & 1 << role as u8 != 0
    }

    /// Whether the set is empty.
    #[must_use]
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// An integer class.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Integer {
    /// Length in bits, 1 to 64; 0: variable length (LEB128).
    pub bits: u32,
    /// Alignment in bits.
    pub align: u64,
    /// The meaning of the bits.
    pub kind: IntegerKind,
    /// Byte order; `None`: that of the trace.
    pub order: Option<ByteOrder>,
    /// CTF 2: the bit order is not the usual one for the byte order, so the bits of the value are
    /// reversed.
    pub reversed: bool,
    /// Preferred display base.
    pub base: DisplayBase,
    /// CTF 1.8: arrays of this class are strings.
    pub text: bool,
    /// CTF 1.8: name of the clock that the value updates.
    pub clock: Option<Arc<str>>,
    /// Names of values, or of the bits of a bit map.
    pub mappings: Option<Arc<Mappings>>,
    /// Purposes for which the decoder uses the value.
    pub roles: Roles,
}

impl Integer {
    /// An unsigned integer of `bits` bits, aligned to a byte if it has whole bytes (CTF 1.8,
    /// section 4.1.5).
    #[must_use]
    pub fn new(bits: u32) -> Self {
        Self {
            bits,
            align: if bits.is_multiple_of(8) { 8 } else { 1 },
            kind: IntegerKind::Unsigned,
            order: None,
            reversed: false,
            base: DisplayBase::Decimal,
            text: false,
            clock: None,
            mappings: None,
            roles: Roles::default(),
        }
    }

    /// Whether negative values are possible.
    #[must_use]
    pub fn signed(&self) -> bool {
        self.kind == IntegerKind::Signed
    }
}

/// A floating-point number class.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Float {
    /// Length in bits: 16, 32 or 64.
    pub bits: u32,
    /// Alignment in bits.
    pub align: u64,
    /// Byte order; `None`: that of the trace.
    pub order: Option<ByteOrder>,
    /// As [`Integer::reversed`].
    pub reversed: bool,
}

/// The length of a string, BLOB or array.
#[derive(Clone, Debug, PartialEq)]
pub enum Length {
    /// A length given in the metadata.
    Static(u64),
    /// The value of an earlier field.
    Dynamic(FieldLocation),
}

/// The start of a [`FieldLocation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationOrigin {
    /// An entry of the environment.
    Environment,
    /// The root structure of a scope.
    Scope(Scope),
    /// CTF 1.8: the nearest enclosing structure with the first name, then earlier scopes.
    Nearest,
    /// CTF 2: a number of structures up from the one that encloses the field.
    Up(u32),
}

/// A field location: the path to an earlier field, by the names of the metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldLocation {
    /// The start of the path.
    pub origin: LocationOrigin,
    /// Names from the origin on; at least one.
    pub names: Vec<Arc<str>>,
}

/// A named member of a structure, or option of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Name in the metadata; field locations use it.
    pub raw: Arc<str>,
    /// Name for display: without the underscore that CTF 1.8 tracers put in front.
    pub name: Arc<str>,
    /// Class of the field.
    pub class: Arc<FieldClass>,
}

/// A structure class.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Structure {
    /// Members in the order of decoding.
    pub members: Vec<Member>,
    /// Minimum alignment in bits.
    pub align: u64,
}

/// A variant class.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Variant {
    /// Location of the selector.
    pub selector: FieldLocation,
    /// The options.
    pub options: Vec<Member>,
    /// CTF 2: values of the selector for each option. `None` (CTF 1.8): the mappings of the
    /// selector with the name of the option.
    pub ranges: Option<Vec<Vec<IntegerRange>>>,
}

/// Checks an alignment: a power of two within the limit.
pub(crate) fn alignment(bits: u64) -> Result<u64, DeclarationError> {
    bounded("alignment", bits, limits::ALIGNMENT)?;
    if bits.is_power_of_two() {
        Ok(bits)
    } else {
        malformed!("alignment of {bits} bits is no power of two")
    }
}

impl FieldClass {
    /// Checks a field class, except for properties that depend on other classes.
    pub(crate) fn new(kind: FieldClassKind) -> Result<Arc<Self>, DeclarationError> {
        let unit = |e: &Encoding| 8 * e.unit() as u64;
        let in_bytes = |length: &Length, unit: u64| match length {
            Length::Static(n) => n.saturating_mul(unit),
            Length::Dynamic(_) => 0,
        };
        let (align, depth, least, whole_bytes) = match &kind {
            FieldClassKind::Integer(i) if i.bits == 0 => (alignment(i.align.max(8))?, 0, 8, true),
            FieldClassKind::Integer(i) if i.bits > 64 => {
                return Err(DeclarationError::Unsupported(format!("integer of {} bits", i.bits)));
            }
            FieldClassKind::Integer(i) => {
                (alignment(i.align)?, 0, u64::from(i.bits), i.bits % 8 == 0)
            }
            FieldClassKind::Float(f) if !matches!(f.bits, 16 | 32 | 64) => {
                return Err(DeclarationError::Unsupported(format!(
                    "floating-point number of {} bits",
                    f.bits
                )));
            }
            FieldClassKind::Float(f) => (alignment(f.align)?, 0, u64::from(f.bits), true),
            FieldClassKind::NullTerminatedString(encoding) => (8, 0, unit(encoding), true),
            FieldClassKind::SizedString(length, _) | FieldClassKind::Blob(length, _) => {
                (8, 0, in_bytes(length, 8), true)
            }
            FieldClassKind::Array(length, element, align) => {
                let align = alignment((*align).max(1))?.max(element.align);
                (align, element.depth + 1, in_bytes(length, element.least), element.whole_bytes)
            }
            FieldClassKind::Structure(s) => {
                let fields = || s.members.iter().map(|f| &f.class);
                let align = fields().map(|t| t.align).fold(alignment(s.align.max(1))?, u64::max);
                let least = fields().fold(0, |sum: u64, t| sum.saturating_add(t.least));
                (align, 1 + deepest(fields()), least, fields().all(|t| t.whole_bytes))
            }
            FieldClassKind::Variant(v) => {
                let options = || v.options.iter().map(|f| &f.class);
                let least = options().map(|t| t.least).min().unwrap_or(0);
                (1, 1 + deepest(options()), least, options().all(|t| t.whole_bytes))
            }
            FieldClassKind::Optional(_, _, inner) => (1, inner.depth + 1, 0, inner.whole_bytes),
        };
        bounded("depth of types", depth, limits::DEPTH)?;
        Ok(Arc::new(Self { kind, align, depth, least, whole_bytes }))
    }

    /// The kind, with its properties.
    #[must_use]
    pub const fn kind(&self) -> &FieldClassKind {
        &self.kind
    }

    /// Alignment in bits, a power of two.
    #[must_use]
    pub const fn align(&self) -> u64 {
        self.align
    }

    /// Minimum number of bits of a value, without padding.
    #[must_use]
    pub const fn least(&self) -> u64 {
        self.least
    }

    /// Whether a value that starts at a byte also ends at one.
    #[must_use]
    pub const fn whole_bytes(&self) -> bool {
        self.whole_bytes
    }

    /// Members of a structure.
    #[must_use]
    pub fn structure(&self) -> Option<&Structure> {
        if let FieldClassKind::Structure(structure) = &self.kind { Some(structure) } else { None }
    }
}

fn deepest<'a>(types: impl Iterator<Item = &'a Arc<FieldClass>>) -> u64 {
    types.map(|t| t.depth).max().unwrap_or(0)
}
