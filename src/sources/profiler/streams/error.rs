//! Errors of the decoders.

/// Why the rest of a stream's file cannot be read. Only the stream suffers, and only until it is
/// opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A string claims too many UTF-16 units.
    #[error("string of {0} UTF-16 units")]
    Units(u32),
    /// A phrase claims to be negative or too long.
    #[error("phrase of {0} bytes")]
    Phrase(i32),
    /// A record goes on behind the end of its phrase.
    #[error("record crosses the end of its phrase")]
    Crosses,
    /// A version of calls that is not known.
    #[error("version {0} of calls")]
    CallsVersion(u32),
    /// A call names a thread that has not been introduced.
    #[error("thread {index} of {count}")]
    Thread {
        /// Index that was used.
        index: u32,
        /// Threads introduced so far.
        count: u32,
    },
    /// A call claims too many parameters or values.
    #[error("{0} parameters or values")]
    Claims(u32),
    /// A tag of a type that no agent writes.
    #[error("tag of type {0}")]
    TagType(u8),
    /// A version of params that is not known.
    #[error("version {0} of params")]
    ParamsVersion(u8),
    /// A token longer than [`super::limits`] foresee.
    #[error("token too long")]
    Token,
}
