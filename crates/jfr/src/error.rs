//! What can be wrong with a chunk.

/// An error in a chunk, with the byte of the chunk at which it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It does not begin with `FLR`.
    #[error("no chunk of Flight Recorder")]
    Magic,
    /// It is of another version, or its integers are not compressed.
    #[error("version {0}.{1} with features {2:#x} is not supported")]
    Version(u16, u16, u32),
    /// It has no end yet, or less bytes than it says.
    #[error("the chunk is not complete")]
    Incomplete,
    /// It breaks a rule of the format.
    #[error("byte {at}: {what}")]
    Malformed {
        /// Byte of the chunk.
        at: usize,
        /// The rule.
        what: &'static str,
    },
    /// It exceeds one of the [limits](crate::limits).
    #[error("more than {max} {what}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        max: u64,
    },
}
