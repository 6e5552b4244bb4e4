//! Errors of bodies.

/// Why a body, or its rest, cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} at byte {at}", self.kind.name())]
pub struct BodyError {
    kind: ErrorKind,
    at: usize,
}

/// The kinds of [`BodyError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Neither CBOR nor any known encoding of it.
    Encoding,
    /// Not base64.
    Base64,
    /// Not what its gzip, zlib or LZ4 header promises.
    Decompress,
    /// The body ends within an item.
    Truncated,
    /// An item of the wrong endpoint, or without a tag.
    Tag,
    /// Too many items, one inside the other.
    Nesting,
    /// A limit of `limits` on lengths or numbers.
    Size,
    /// An item that differs from the form of its tag.
    Malformed,
}

impl ErrorKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Encoding,
        Self::Base64,
        Self::Decompress,
        Self::Truncated,
        Self::Tag,
        Self::Nesting,
        Self::Size,
        Self::Malformed,
    ];

    /// One lower-case word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encoding => "encoding",
            Self::Base64 => "base64",
            Self::Decompress => "decompress",
            Self::Truncated => "truncated",
            Self::Tag => "tag",
            Self::Nesting => "nesting",
            Self::Size => "size",
            Self::Malformed => "malformed",
        }
    }
}

impl BodyError {
    pub(crate) const fn new(kind: ErrorKind, at: usize) -> Self {
        Self { kind, at }
    }

    /// Why.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Position in the decoded body in bytes: the item that is wrong, or the end of the body.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }
}
