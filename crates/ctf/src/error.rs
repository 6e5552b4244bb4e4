//! Errors of metadata and of packets, with their positions.

use std::sync::Arc;

/// An error in the metadata. What was declared before it stays valid.
///
/// `offset` counts bytes of metadata text before the error, without the headers of metadata
/// packets; `line` counts from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The text breaks a rule of the specification.
    #[error("metadata, byte {offset}, line {line}: {message}")]
    Malformed {
        /// Byte of the text.
        offset: u64,
        /// Line of the text.
        line: u64,
        /// The rule that is broken.
        message: String,
    },
    /// The text is valid, but needs a feature that this crate does not decode.
    #[error("metadata, byte {offset}, line {line}: not supported: {feature}")]
    Unsupported {
        /// Byte of the text.
        offset: u64,
        /// Line of the text.
        line: u64,
        /// The feature.
        feature: String,
    },
    /// The text exceeds one of the [limits](crate::limits).
    #[error("metadata, byte {offset}, line {line}: limit {limit} exceeded: {got} > {max}")]
    Limit {
        /// Byte of the text.
        offset: u64,
        /// Line of the text.
        line: u64,
        /// Name of the limit.
        limit: &'static str,
        /// The requested value.
        got: u64,
        /// The largest value allowed.
        max: u64,
    },
    /// The metadata is complete, but its last declaration is not, or an event record class belongs
    /// to a data stream class that does not exist. Only [`Trace::from_metadata`] reports this.
    ///
    /// [`Trace::from_metadata`]: crate::Trace::from_metadata
    #[error("metadata ends within a declaration")]
    Incomplete,
}

/// An error of one declaration, before its position in the metadata is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeclarationError {
    Malformed(String),
    Unsupported(String),
    Limit { limit: &'static str, got: u64, max: u64 },
}

impl DeclarationError {
    pub(crate) fn at(self, offset: u64, line: u64) -> MetadataError {
        match self {
            Self::Malformed(message) => MetadataError::Malformed { offset, line, message },
            Self::Unsupported(feature) => MetadataError::Unsupported { offset, line, feature },
            Self::Limit { limit, got, max } => {
                MetadataError::Limit { offset, line, limit, got, max }
            }
        }
    }
}

/// Checks that `got` is at most `max`.
pub(crate) fn bounded(limit: &'static str, got: u64, max: u64) -> Result<(), DeclarationError> {
    if got > max { Err(DeclarationError::Limit { limit, got, max }) } else { Ok(()) }
}

/// `Err(DeclarationError::Malformed)` with a formatted message.
macro_rules! malformed {
    ($($arg:tt)*) => { Err($crate::error::DeclarationError::Malformed(format!($($arg)*))) };
}
pub(crate) use malformed;

/// An error in a packet. The rest of the packet is lost, but later packets can be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packet, bit {bit}, field {field}: {violation}")]
#[non_exhaustive]
pub struct PacketError {
    /// Bits of the packet before the error.
    pub bit: u64,
    /// Scope and name of the field: `event.fields.count`.
    pub field: Arc<str>,
    /// The rule that the packet breaks.
    pub violation: Violation,
}

impl PacketError {
    /// Whether the bytes end within a field. With more bytes, the packet may be valid.
    #[must_use]
    pub const fn is_short(&self) -> bool {
        matches!(self.violation, Violation::Short { .. } | Violation::Unterminated)
    }
}

/// The ways in which a packet can contradict its metadata or the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The field extends beyond the content of the packet.
    #[error("{need} bits are needed, {left} are left")]
    Short {
        /// Bits of the field, as far as known.
        need: u64,
        /// Bits of content that are left.
        left: u64,
    },
    /// A null-terminated string has no NUL.
    #[error("string without an end")]
    Unterminated,
    /// The magic number of the packet header is wrong.
    #[error("magic number {0:#x}")]
    Magic(u64),
    /// The metadata has no data stream class with this id.
    #[error("no stream class {0}")]
    StreamClass(u64),
    /// The metadata has no event record class with this id.
    #[error("no event class {0}")]
    EventClass(u64),
    /// The header has no class id, and the metadata does not have exactly one class.
    #[error("no class id, and not exactly one class")]
    NoClassId,
    /// The content is larger than the packet, or the packet larger than the available bytes.
    #[error("size of {got} bits, of {max}")]
    Size {
        /// Bits required by the packet.
        got: u64,
        /// Largest possible number of bits.
        max: u64,
    },
    /// The size of the packet in bits is not a whole number of bytes.
    #[error("{0} bits are not whole bytes")]
    NotBytes(u64),
    /// The selector of a variant has a value (the bits of a signed one) that selects no option.
    #[error("no option for {0}")]
    Option(u64),
    /// Two fields share a byte but have different byte orders.
    #[error("another byte order within a byte")]
    MixedOrder,
    /// A variable-length integer has more than 64 bits.
    #[error("more than 64 bits")]
    Long,
    /// An event of 0 bits would be repeated for ever.
    #[error("event without a bit")]
    Empty,
    /// The packet needs more operations than [`WORK_FOR_BIT`](crate::limits::WORK_FOR_BIT) allows.
    #[error("too many empty fields")]
    Work,
}
