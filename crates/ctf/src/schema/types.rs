//! Types of fields ("field classes" of CTF 2).

use std::sync::Arc;

use super::Scope;
use super::labels::{Labels, Range};
use crate::Order;
use crate::error::{Fault, bounded, malformed};
use crate::limits;

/// A type, with what is often asked of it. Shared: named types are used in many places.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    shape: Shape,
    align: u64,
    depth: u64,
    least: u64,
    whole_bytes: bool,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Integers, enumerations, truth values, sets of bits.
    Integer(Integer),
    /// IEEE 754.
    Float(Float),
    /// Text up to a NUL.
    Text(Encoding),
    /// Text in so many bytes; it ends at the first NUL if there is one.
    Chars(Length, Encoding),
    /// So many bytes of anything.
    Blob(Length, Roles),
    /// So many elements. The number is its own minimum alignment.
    Array(Length, Arc<Type>, u64),
    /// Fields one after the other.
    Structure(Structure),
    /// One of several.
    Variant(Variant),
    /// There or not: where the selector is, for which of its values it is there (none: for true),
    /// what.
    Optional(Path, Option<Vec<Range>>, Arc<Type>),
}

/// What an integer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Without a sign.
    Unsigned,
    /// Two's complement.
    Signed,
    /// CTF 2: 0 is false.
    Boolean,
    /// CTF 2: bits without a value, or each with labels.
    Bits,
}

/// In which base a number should be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// 2
    Binary,
    /// 8
    Octal,
    /// 10
    #[default]
    Decimal,
    /// 16
    Hexadecimal,
}

/// Encoding of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 or ASCII.
    #[default]
    Utf8,
    /// Two bytes, least significant first.
    Utf16Le,
    /// Two bytes, most significant first.
    Utf16Be,
    /// Four bytes, least significant first.
    Utf32Le,
    /// Four bytes, most significant first.
    Utf32Be,
}

impl Encoding {
    /// Bytes of one code unit.
    #[must_use]
    pub const fn unit(self) -> usize {
        match self {
            Self::Utf8 => 1,
            Self::Utf16Le | Self::Utf16Be => 2,
            Self::Utf32Le | Self::Utf32Be => 4,
        }
    }
}

/// What the decoder itself makes of an integer or of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// 0xC1FC1FC1
    Magic,
    /// UUID of the trace.
    Uuid,
    /// Which stream class.
    StreamClass,
    /// Which stream of the class.
    Stream,
    /// Bits of the packet with its padding.
    PacketSize,
    /// Bits of the packet without padding.
    ContentSize,
    /// Clock at the end of the packet.
    End,
    /// Number of the packet in its stream.
    Sequence,
    /// Events that the tracer has discarded since the stream began.
    Discarded,
    /// Which event class.
    EventClass,
    /// The clock takes this value.
    Clock,
}

/// A set of [`Role`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles(u16);

impl Roles {
    /// With one more.
    #[must_use]
    pub const fn with(self, role: Role) -> Self {
        Self(self.0 | 1 << role as u8)
    }

    /// Without one.
    #[must_use]
    pub const fn without(self, role: Role) -> Self {
        Self(self.0 & !(1 << role as u8))
    }

    /// Whether it is in.
    #[must_use]
    pub const fn has(self, role: Role) -> bool {
        self.0 & 1 << role as u8 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// An integer.
#[derive(Clone, Debug, PartialEq)]
pub struct Integer {
    /// Bits, 1 to 64; 0: LEB128, seven bits in each byte.
    pub bits: u32,
    /// Alignment, bits.
    pub align: u64,
    /// What it stands for.
    pub number: Number,
    /// Byte order, if it is not the trace's.
    pub order: Option<Order>,
    /// CTF 2: the bit order is against the custom of the byte order: the value's bits have changed
    /// places, the first with the last.
    pub reversed: bool,
    /// How it should be shown.
    pub base: Base,
    /// CTF 1.8: arrays of it are text.
    pub text: bool,
    /// CTF 1.8: name of the clock that takes its value.
    pub clock: Option<Arc<str>>,
    /// Names of values.
    pub labels: Option<Arc<Labels>>,
    /// CTF 2: what the decoder makes of it.
    pub roles: Roles,
}

impl Integer {
    /// Unsigned, of so many bits; aligned to bytes if it is of whole ones (CTF 1.8, 4.1.5).
    #[must_use]
    pub fn new(bits: u32) -> Self {
        Self {
            bits,
            align: if bits.is_multiple_of(8) { 8 } else { 1 },
            number: Number::Unsigned,
            order: None,
            reversed: false,
            base: Base::Decimal,
            text: false,
            clock: None,
            labels: None,
            roles: Roles::default(),
        }
    }

    /// Whether negative values are possible.
    #[must_use]
    pub fn signed(&self) -> bool {
        self.number == Number::Signed
    }
}

/// A floating-point number.
#[derive(Clone, Debug, PartialEq)]
pub struct Float {
    /// 16, 32 or 64.
    pub bits: u32,
    /// Alignment, bits.
    pub align: u64,
    /// Byte order, if it is not the trace's.
    pub order: Option<Order>,
    /// As of [`Integer::reversed`].
    pub reversed: bool,
}

/// How many.
#[derive(Clone, Debug, PartialEq)]
pub enum Length {
    /// Always so many.
    Fixed(u64),
    /// As many as an earlier field says.
    Field(Path),
}

/// From where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An entry of the environment.
    Environment,
    /// The root of a dynamic scope.
    Scope(Scope),
    /// CTF 1.8: the nearest enclosing structure that has it, then earlier scopes.
    Nearest,
    /// CTF 2: so many structures up from the one that encloses the field.
    Up(u32),
}

/// The way to an earlier field, by names as the metadata has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Where it starts.
    pub origin: Origin,
    /// Names on the way.
    pub names: Vec<Arc<str>>,
}

/// A named member of a structure or option of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name in the metadata, by which paths go.
    pub raw: Arc<str>,
    /// Name to be shown.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Arc<Type>,
}

/// A structure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// In order of decoding.
    pub fields: Vec<Field>,
    /// Minimum alignment, bits.
    pub align: u64,
}

/// A variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Where its selector is.
    pub selector: Path,
    /// What there may be.
    pub options: Vec<Field>,
    /// CTF 2: values of the selector for each option. In CTF 1.8 its labels say it.
    pub ranges: Option<Vec<Vec<Range>>>,
}

/// A power of two of a reasonable size.
pub(crate) fn alignment(bits: u64) -> Result<u64, Fault> {
    bounded("alignment", bits, limits::ALIGNMENT)?;
    if bits.is_power_of_two() {
        Ok(bits)
    } else {
        malformed!("alignment of {bits} bits is no power of two")
    }
}

impl Type {
    /// Checks what can be checked of a type by itself.
    pub(crate) fn new(shape: Shape) -> Result<Arc<Self>, Fault> {
        let unit = |e: &Encoding| 8 * e.unit() as u64;
        let in_bytes = |length: &Length, unit: u64| match length {
            Length::Fixed(n) => n.saturating_mul(unit),
            Length::Field(_) => 0,
        };
        let (align, depth, least, whole_bytes) = match &shape {
            Shape::Integer(i) if i.bits == 0 => (alignment(i.align.max(8))?, 0, 8, true),
            Shape::Integer(i) if i.bits > 64 => {
                return Err(Fault::Unsupported(format!("integer of {} bits", i.bits)));
            }
            Shape::Integer(i) => (alignment(i.align)?, 0, u64::from(i.bits), i.bits % 8 == 0),
            Shape::Float(f) if !matches!(f.bits, 16 | 32 | 64) => {
                return Err(Fault::Unsupported(format!(
                    "floating-point number of {} bits",
                    f.bits
                )));
            }
            Shape::Float(f) => (alignment(f.align)?, 0, u64::from(f.bits), true),
            Shape::Text(encoding) => (8, 0, unit(encoding), true),
            Shape::Chars(length, _) | Shape::Blob(length, _) => (8, 0, in_bytes(length, 8), true),
            Shape::Array(length, element, align) => {
                let align = alignment((*align).max(1))?.max(element.align);
                (align, element.depth + 1, in_bytes(length, element.least), element.whole_bytes)
            }
            Shape::Structure(s) => {
                let fields = || s.fields.iter().map(|f| &f.ty);
                let align = fields().map(|t| t.align).fold(alignment(s.align.max(1))?, u64::max);
                let least = fields().fold(0, |sum: u64, t| sum.saturating_add(t.least));
                (align, 1 + deepest(fields()), least, fields().all(|t| t.whole_bytes))
            }
            Shape::Variant(v) => {
                let options = || v.options.iter().map(|f| &f.ty);
                let least = options().map(|t| t.least).min().unwrap_or(0);
                (1, 1 + deepest(options()), least, options().all(|t| t.whole_bytes))
            }
            Shape::Optional(_, _, inner) => (1, inner.depth + 1, 0, inner.whole_bytes),
        };
        bounded("depth of types", depth, limits::DEPTH)?;
        Ok(Arc::new(Self { shape, align, depth, least, whole_bytes }))
    }

    /// What it is.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Alignment, bits: a power of two.
    #[must_use]
    pub const fn align(&self) -> u64 {
        self.align
    }

    /// Bits that a value has at the very least, padding not counted.
    #[must_use]
    pub const fn least(&self) -> u64 {
        self.least
    }

    /// A value that starts at a byte ends at one.
    #[must_use]
    pub const fn whole_bytes(&self) -> bool {
        self.whole_bytes
    }

    /// Members, if it is a structure.
    #[must_use]
    pub fn structure(&self) -> Option<&Structure> {
        if let Shape::Structure(structure) = &self.shape { Some(structure) } else { None }
    }
}

fn deepest<'a>(types: impl Iterator<Item = &'a Arc<Type>>) -> u64 {
    types.map(|t| t.depth).max().unwrap_or(0)
}
