//! Decodes bodies: pure, no names and no sums.
//!
//! `unwrap` undoes encodings, [`definitions`] and [`mod@trace`] walk what is inside. The dialect
//! is chosen by the bytes, for each record anew.

mod item;
mod items;
mod trace;
mod unwrap;

pub use self::trace::trace;
pub use self::unwrap::{Content, Encoding, Unwrapped, field, unwrap};

use self::items::Items;
use super::limits;
use crate::model::HeapSize;

/// Bytes of the body, as start and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The first byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl Slice {
    /// The bytes.
    #[must_use]
    pub fn of(self, body: &[u8]) -> &[u8] {
        body.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// No record, no span.
pub const NONE: u32 = u32::MAX;

/// The layout of records (docs/protocols/zorka.md 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// M: zorka 1.90.7 to 2.0.3; times in ns.
    #[default]
    Modern,
    /// S: the header of the streaming tracer; never on the wire.
    Streaming,
    /// N: the order of the public note; times in ns.
    Note,
    /// L: zorka 1.90.1 to 1.90.6, words of 40 bits; times in ticks of 65,536 ns.
    Legacy,
    /// I: as L, with span ids.
    Interim,
}

/// A record: one call of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Position of the enclosing record; [`NONE`]: the root of a trace.
    pub parent: u32,
    /// Method id.
    pub method: u32,
    /// Entry: ns, or ticks of [`Dialect::Legacy`].
    pub start: i64,
    /// Duration in ns, 0 of a record that is not closed.
    pub duration: u64,
    /// Sum of the durations of direct children in ns.
    pub children: u64,
    /// Instrumented calls in the subtree, as the agent counts them.
    pub calls: u64,
    /// Position in [`TraceBody::spans`]; [`NONE`]: no span begins here.
    pub span: u32,
    /// Exceptions and references to exceptions in the record itself.
    pub exceptions: u16,
    /// The flags `FLAG_*` of the record's end, of all dialects in one form.
    pub flags: u8,
    /// The layout.
    pub dialect: Dialect,
}

/// Records were dropped by the agent.
pub const FLAG_OVERFLOW: u8 = 1;
/// The span ended in error.
pub const FLAG_ERROR: u8 = 2;
/// The span has been sent as a trace of its own.
pub const FLAG_SENT: u8 = 4;
/// The record has an end.
pub const FLAG_CLOSED: u8 = 8;

/// The begin of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// Position of its record.
    pub record: u32,
    /// Records around that.
    pub depth: u32,
    /// Symbol id of the trace type; 0: none.
    pub kind: u32,
    /// Wall clock in ms.
    pub clock: i64,
    /// Span id; 0: none.
    pub id: u64,
    /// Parent span id; 0: none.
    pub parent: u64,
}

/// An attribute of a record. Upward attributes stand at the record that they are for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attribute {
    /// Position of the record.
    pub record: u32,
    /// Symbol id of the name.
    pub name: u32,
    /// Value.
    pub value: AttributeValue,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttributeValue {
    /// Text: bytes of the body, perhaps not UTF-8.
    Text(Slice),
    /// Integer.
    Int(i64),
    /// Float of any width.
    Float(f64),
    /// Boolean.
    Bool(bool),
    /// Null or undefined.
    Null,
    /// Array, map or anything else: bytes of the body, well-formed CBOR.
    Other(Slice),
}

/// An exception that a record reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Position of the record.
    pub record: u32,
    /// The agent's number of the exception.
    pub id: i64,
    /// Class.
    pub class: ClassName,
    /// Message, if any.
    pub message: Option<Slice>,
    /// Number of stack frames.
    pub frames: u32,
    /// The first frame.
    pub first: Option<Frame>,
}

/// The class of an exception: a symbol id, or in the note's layout a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassName {
    /// Symbol id.
    Symbol(u32),
    /// Text.
    Text(Slice),
}

/// A stack frame, as symbol ids; 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Class.
    pub class: u32,
    /// Method.
    pub method: u32,
    /// File.
    pub file: u32,
    /// Line, a number and no symbol; 0: none.
    pub line: u32,
}

/// Everything in one trace body.
#[derive(Debug, Default)]
pub struct TraceBody {
    /// Records in the order of their starts: a parent precedes its children.
    pub records: Vec<Record>,
    /// Begins of spans, in the order of the body.
    pub spans: Vec<Begin>,
    /// Attributes, in the order of the body.
    pub attributes: Vec<Attribute>,
    /// Exceptions, in the order of the body.
    pub exceptions: Vec<Exception>,
    /// References to exceptions sent earlier.
    pub references: u32,
    /// Records without an end.
    pub unclosed: u32,
    /// Items with an unknown tag, which are skipped.
    pub unknown: u32,
    /// Items outside of a record, ends without a record, and upward attributes without a span of
    /// their type: they are ignored.
    pub stray: u32,
    /// Records that end before they start: their duration is 0.
    pub backwards: u32,
    /// Bytes at the start that belong to items which the agent has not sent
    /// (docs/protocols/zorka.md 6.2).
    pub skipped: u32,
    /// The enclosing span of each of `spans`, for upward attributes.
    enclosing: Vec<u32>,
}

crate::heap_size!(TraceBody { records, spans, attributes, exceptions, enclosing });

impl TraceBody {
    /// Empties the lists. Their memory is kept up to [`limits::KEPT`].
    pub fn clear(&mut self) {
        if self.heap_size() > limits::KEPT {
            *self = Self::default();
        }
        let Self { records, spans, attributes, exceptions, enclosing, .. } = self;
        records.clear();
        spans.clear();
        attributes.clear();
        exceptions.clear();
        enclosing.clear();
        let Self { references, unclosed, unknown, stray, backwards, skipped, .. } = self;
        (*references, *unclosed, *unknown) = (0, 0, 0);
        (*stray, *backwards, *skipped) = (0, 0, 0);
    }
}

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
