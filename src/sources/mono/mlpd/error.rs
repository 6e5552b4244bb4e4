//! What can be wrong with a stream, and with one buffer of it.

/// Why the rest of a stream cannot be decoded. What came before counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MlpdError {
    /// The stream does not begin as one of the log profiler.
    #[error("no log profiler stream")]
    Signature,
    /// A data version other than 13 to 17.
    #[error("data version {0}, not 13 to 17")]
    Version(u8),
    /// Flags of the header that are not defined.
    #[error("header with flags {0:#x}")]
    Flags(u32),
    /// A text of the header over its limit, in bytes.
    #[error("header text of {0} bytes")]
    HeaderText(u32),
    /// No buffer where one must begin, at this byte of the stream.
    #[error("no buffer at byte {0} of the stream")]
    NoBuffer(u64),
    /// A second header where a buffer must begin, at this byte: another process wrote there.
    #[error("another header at byte {0} of the stream")]
    SecondHeader(u64),
    /// A broken gzip stream.
    #[error("broken gzip stream")]
    Gzip,
    /// A buffer over its limit, in bytes.
    #[error("buffer of {0} bytes")]
    BufferLength(u32),
}

/// Why the rest of one buffer cannot be decoded. The next buffer can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBuffer {
    /// An event ends behind the buffer.
    #[error("an event ends behind its buffer")]
    Truncated,
    /// This first byte of an event means none in this data version.
    #[error("unknown event {0:#04x}")]
    UnknownEvent(u8),
    /// This kind of metadata means none in this data version.
    #[error("unknown metadata {0}")]
    UnknownMetadata(u8),
    /// A value of a counter of this unknown type, whose length is unknown.
    #[error("counter of type {0}")]
    UnknownCounterType(u64),
    /// A number of more than ten bytes.
    #[error("number without end")]
    Number,
    /// A text that does not end in the buffer, or is over its limit.
    #[error("text without end")]
    Text,
    /// A backtrace over its limit.
    #[error("backtrace of {0} frames")]
    Frames(u64),
}

/// Why an item cannot be decoded now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The item is not whole.
    Short,
    Bad(BadBuffer),
}

impl From<BadBuffer> for Stop {
    fn from(bad: BadBuffer) -> Self {
        Self::Bad(bad)
    }
}
