//! Decodes bodies: pure, no names and no sums.
//!
//! `unwrap` undoes encodings, [`definitions`] and [`mod@trace`] walk what is inside. The dialect
//! is chosen by the bytes, for each record anew.

mod body;
mod items;
mod trace;
mod unwrap;

pub use self::body::{
    Attribute, AttributeValue, Begin, ClassName, Dialect, Exception, FLAG_CLOSED, FLAG_ERROR,
    FLAG_OVERFLOW, FLAG_SENT, Frame, NONE, Record, Slice, TraceBody,
};
pub use self::trace::trace;
pub use self::unwrap::{Content, Encoding, Unwrapped, field, unwrap};

use self::items::Items;

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

/// What an agent defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition<'b> {
    /// A symbol: bytes of a text, perhaps not UTF-8; empty for null.
    Symbol {
        /// Its number.
        id: u32,
        /// Its text.
        text: &'b [u8],
    },
    /// A method, by symbol ids.
    Method {
        /// Its number.
        id: u32,
        /// Class.
        class: u32,
        /// Name.
        name: u32,
        /// JVM descriptor.
        signature: u32,
    },
    /// A fact about the agent (docs/protocols/zorka.md 9, 9). No real agent has them.
    Attribute {
        /// Its name.
        name: &'b [u8],
        /// Its value.
        text: &'b [u8],
    },
    /// An item with an unknown tag, which is skipped.
    Unknown,
}

/// Decodes a body of definitions in their order.
///
/// # Errors
///
/// The position of the first item that is wrong; all definitions before it have been given to
/// `define`.
pub fn definitions<'b>(
    body: &'b [u8],
    define: &mut impl FnMut(Definition<'b>),
) -> Result<(), BodyError> {
    let mut items = Items::new(body, 0);
    while items.peek().is_some() {
        let at = items.position();
        match items.tag()? {
            1 | 0x0c | 0x0d => define(symbol(&mut items, body)?),
            2 | 0x0e => define(method(&mut items)?),
            // A record of a trace.
            3 if items.peek() == Some(0x9f) => return Err(BodyError::new(ErrorKind::Tag, at)),
            3 | 0x0f => attributes(&mut items, body, define)?,
            4..=0x0b | 0x21..=0x26 => return Err(BodyError::new(ErrorKind::Tag, at)),
            _ => {
                items.skip()?;
                define(Definition::Unknown);
            }
        }
    }
    Ok(())
}

/// `[id, text]`, or `[id, text, type]` of legacy agents.
fn symbol<'b>(items: &mut Items<'b>, body: &'b [u8]) -> Result<Definition<'b>, BodyError> {
    let mut elements = items.array()?;
    let id = items.need(&mut elements)?.id()?;
    let text = items.need(&mut elements)?.optional_text()?;
    items.leave(elements)?;
    Ok(Definition::Symbol { id, text: text.map(|text| text.of(body)).unwrap_or_default() })
}

/// `[id, class, name, signature]`.
fn method<'b>(items: &mut Items<'_>) -> Result<Definition<'b>, BodyError> {
    let mut elements = items.array()?;
    let mut ids = [0; 4];
    for id in &mut ids {
        *id = items.need(&mut elements)?.id()?;
    }
    items.leave(elements)?;
    let [id, class, name, signature] = ids;
    Ok(Definition::Method { id, class, name, signature })
}

/// A map of names and texts; other values are skipped.
fn attributes<'b>(
    items: &mut Items<'b>,
    body: &'b [u8],
    define: &mut impl FnMut(Definition<'b>),
) -> Result<(), BodyError> {
    if matches!(items.first()?, 0x80..=0x9f) {
        return items.skip();
    }
    let mut pairs = items.map()?;
    while items.more(&mut pairs)? {
        let is_text = |items: &Items<'_>| items.peek().is_some_and(|byte| byte >> 5 == 3);
        if !is_text(items) {
            items.skip()?;
            items.skip()?;
            continue;
        }
        let name = items.text()?.of(body);
        if is_text(items) {
            define(Definition::Attribute { name, text: items.text()?.of(body) });
        } else {
            items.skip()?;
        }
    }
    Ok(())
}
