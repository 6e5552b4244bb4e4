//! Errors of the decoders.

/// The error that ends the decoding of a file. Other streams are not affected, and the next file of
/// the same stream is decoded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A string claims too many UTF-16 units.
    #[error("string of {0} UTF-16 units")]
    Units(u32),
    /// A phrase claims to be negative or too long.
    #[error("phrase of {0} bytes")]
    Phrase(i32),
    /// A record crosses the end of its phrase.
    #[error("record crosses the end of its phrase")]
    Crosses,
    /// An unknown version of calls.
    #[error("version {0} of calls")]
    CallsVersion(u32),
    /// A call names a thread that has not been introduced.
    #[error("thread {index} of {count}")]
    Thread {
        /// Index in the call.
        index: u32,
        /// Threads introduced so far.
        count: u32,
    },
    /// A call claims too many parameters or values.
    #[error("{0} parameters or values")]
    Claims(u32),
    /// An unknown type of a tag.
    #[error("tag of type {0}")]
    TagType(u8),
    /// An unknown version of params.
    #[error("version {0} of params")]
    ParamsVersion(u8),
    /// A token longer than `limits::TOKEN`.
    #[error("token too long")]
    Token,
}
