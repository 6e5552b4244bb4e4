//! Errors of streams.

/// Why the rest of a stream cannot be decoded. What came before counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} at byte {at} of the stream", self.kind.name())]
pub struct NettraceError {
    kind: ErrorKind,
    at: u64,
}

/// The kinds of [`NettraceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Not a nettrace stream, or a version other than 4, 5 and 6.
    Signature,
    /// Not an object, or not its end.
    Object,
    /// An object that needs a later reader.
    Version,
    /// A trace header that is absent, doubled or impossible.
    Header,
    /// A block or a name over its limit in `limits`.
    Size,
    /// A block that ends within an item.
    Truncated,
    /// An event of a type that the stream has not described.
    Type,
    /// Too many event types.
    Types,
}

impl ErrorKind {
    /// A few lower-case words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signature => "no known nettrace",
            Self::Object => "no object",
            Self::Version => "too new an object",
            Self::Header => "bad trace header",
            Self::Size => "too large an item",
            Self::Truncated => "truncated item",
            Self::Type => "unknown event type",
            Self::Types => "too many event types",
        }
    }
}

impl NettraceError {
    pub(super) const fn new(kind: ErrorKind, at: u64) -> Self {
        Self { kind, at }
    }

    /// Why.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Bytes from the start of the stream.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }
}
