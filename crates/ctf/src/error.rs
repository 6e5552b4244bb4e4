//! What can be wrong, by whose fault and where.

use std::sync::Arc;

/// The metadata cannot be used. What was declared before stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// It is not what the specification allows.
    #[error("metadata, byte {offset}, line {line}: {what}")]
    Malformed {
        /// Bytes of metadata text before the fault (packet headers do not count).
        offset: u64,
        /// Line of the text, from 1.
        line: u64,
        /// What was wrong.
        what: String,
    },
    /// Sound, but nothing that is decoded here.
    #[error("metadata, byte {offset}, line {line}: not supported: {what}")]
    Unsupported {
        /// Bytes of metadata text before it.
        offset: u64,
        /// Line of the text, from 1.
        line: u64,
        /// What it is.
        what: String,
    },
    /// It asks for more than a named limit.
    #[error("metadata, byte {offset}, line {line}: limit {limit} exceeded: {got} > {max}")]
    Limit {
        /// Bytes of metadata text before it.
        offset: u64,
        /// Line of the text, from 1.
        line: u64,
        /// Name of the limit.
        limit: &'static str,
        /// What was asked for.
        got: u64,
        /// What is allowed.
        max: u64,
    },
}

/// A fault of the metadata before it is known where in the text it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Malformed(String),
    Unsupported(String),
    Limit { limit: &'static str, got: u64, max: u64 },
}

impl Fault {
    pub(crate) fn at(self, offset: u64, line: u64) -> MetadataError {
        match self {
            Self::Malformed(what) => MetadataError::Malformed { offset, line, what },
            Self::Unsupported(what) => MetadataError::Unsupported { offset, line, what },
            Self::Limit { limit, got, max } => {
                MetadataError::Limit { offset, line, limit, got, max }
            }
        }
    }
}

/// `got` must not be above `max`.
pub(crate) fn bounded(limit: &'static str, got: u64, max: u64) -> Result<(), Fault> {
    if got > max { Err(Fault::Limit { limit, got, max }) } else { Ok(()) }
}

/// `Err(Fault::Malformed)` of a formatted text.
macro_rules! malformed {
    ($($arg:tt)*) => { Err($crate::error::Fault::Malformed(format!($($arg)*))) };
}
pub(crate) use malformed;

/// A packet cannot be decoded further. It costs the rest of this packet, not the stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packet, bit {bit}, field {field}: {wrong}")]
pub struct PacketError {
    /// Bits of the packet before the fault.
    pub bit: u64,
    /// Scope and name of the field: `event.fields.count`.
    pub field: Arc<str>,
    /// What was wrong.
    pub wrong: Wrong,
}

/// What can be wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The field goes beyond the content of the packet.
    #[error("{need} bits are needed, {left} are left")]
    Short {
        /// Bits of the field, as far as they are known.
        need: u64,
        /// Bits of content that are left.
        left: u64,
    },
    /// A string without its final NUL.
    #[error("string without an end")]
    Unterminated,
    /// The first word of the packet.
    #[error("magic number {0:#x}")]
    Magic(u64),
    /// No such class in the metadata.
    #[error("no stream class {0}")]
    StreamClass(u64),
    /// No such class in the metadata.
    #[error("no event class {0}")]
    EventClass(u64),
    /// The header does not say which class, and there is not exactly one.
    #[error("class not told and not the only one")]
    ClassNotTold,
    /// The content is larger than the packet, or the packet than what there is.
    #[error("size of {got} bits, of {max}")]
    Size {
        /// What the packet says.
        got: u64,
        /// What is possible.
        max: u64,
    },
    /// The size of the packet is not a whole number of bytes.
    #[error("{0} bits are not whole bytes")]
    NotBytes(u64),
    /// No option of the variant is selected by this value (bits of a signed one).
    #[error("no option for {0}")]
    Option(u64),
    /// Fields of different byte orders share a byte.
    #[error("another byte order within a byte")]
    MixedOrder,
    /// An integer of variable length that is longer than 64 bits.
    #[error("more than 64 bits")]
    Long,
    /// An event without a single bit would come again for ever.
    #[error("event without a bit")]
    Empty,
    /// More than [`crate::limits::WORK_FOR_BIT`].
    #[error("too many empty fields")]
    Work,
}
