//! A decoded body, and how a walk over its bytes fills it: the open records and spans are an explicit chain.

use super::items::Items;
use super::{BodyError, ErrorKind};
use crate::model::HeapSize;
use crate::sources::zorka::limits;

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

/// Clock ticks of legacy agents: 40 bits, each 65,536 ns.
pub(super) const TICKS: u64 = (1 << 40) - 1;
const TICK_BITS: u32 = 16;

/// The state of a walk.
pub(super) struct Walk<'a> {
    pub(super) out: &'a mut TraceBody,
    /// The innermost open record.
    pub(super) record: u32,
    /// The innermost open span.
    pub(super) span: u32,
    /// Open records.
    pub(super) depth: u32,
    /// Breaks to come of records that have ended.
    pub(super) breaks: u32,
}

#[allow(clippy::cast_possible_truncation, reason = "lists have limits below 2^32")]
pub(super) const fn position(length: usize) -> u32 {
    length as u32
}

impl<'a> Walk<'a> {
    pub(super) fn new(out: &'a mut TraceBody) -> Self {
        Self { out, record: NONE, span: NONE, depth: 0, breaks: 0 }
    }

    /// The body ends.
    pub(super) fn end(self) {
        self.out.unclosed += self.depth;
    }

    /// The innermost open record.
    pub(super) fn current(&mut self) -> Option<&mut Record> {
        self.out.records.get_mut(self.record as usize)
    }

    /// A record starts.
    pub(super) fn open(
        &mut self,
        at: usize,
        method: u32,
        start: i64,
        dialect: Dialect,
    ) -> Result<(), BodyError> {
        let number = self.out.records.len();
        if number >= limits::RECORDS {
            return Err(BodyError::new(ErrorKind::Size, at));
        }
        if self.depth as usize >= limits::OPEN_RECORDS {
            return Err(BodyError::new(ErrorKind::Nesting, at));
        }
        self.out.records.push(Record {
            parent: self.record,
            method,
            start,
            span: NONE,
            dialect,
            ..Record::default()
        });
        self.record = position(number);
        self.depth += 1;
        Ok(())
    }

    /// Ends the innermost record.
    pub(super) fn close(&mut self, stop: i64, calls: u64, flags: Option<i64>) {
        let Some(record) = self.current() else {
            self.out.stray += 1;
            return;
        };
        let is_legacy = matches!(record.dialect, Dialect::Legacy | Dialect::Interim);
        let elapsed = stop.wrapping_sub(record.start);
        record.calls = calls;
        if let Some(flags) = flags {
            record.flags = normal(record.dialect, flags);
        }
        record.flags |= FLAG_CLOSED;
        let is_backwards = !is_legacy && stop < record.start;
        record.duration = if is_legacy {
            (elapsed.cast_unsigned() & TICKS) << TICK_BITS
        } else if is_backwards {
            0
        } else {
            elapsed.cast_unsigned()
        };
        let (duration, parent) = (record.duration, record.parent);
        self.leave();
        if let Some(parent) = self.out.records.get_mut(parent as usize) {
            parent.children = parent.children.saturating_add(duration);
        }
        self.out.backwards += u32::from(is_backwards);
    }

    /// The record around the innermost one is the innermost one again.
    pub(super) fn leave(&mut self) {
        let Some(&mut Record { parent, span, .. }) = self.current() else { return };
        if span != NONE {
            self.span = self.out.enclosing.get(span as usize).copied().unwrap_or(NONE);
        }
        self.record = parent;
        self.depth -= 1;
    }

    /// A break: the array of a record that has ended, or of one without an end.
    pub(super) fn close_array(&mut self) {
        if self.breaks > 0 {
            self.breaks -= 1;
        } else if self.record != NONE {
            self.out.unclosed += 1;
            self.leave();
        }
    }

    /// The begin of a span in the innermost record.
    pub(super) const fn begins(&self, kind: u32, clock: i64, id: u64, parent: u64) -> Begin {
        let depth = self.depth.saturating_sub(1);
        Begin { record: self.record, depth, kind, clock, id, parent }
    }

    /// A span begins in the innermost record.
    pub(super) fn span(&mut self, at: usize, begin: Begin) -> Result<(), BodyError> {
        let (number, enclosing) = (self.out.spans.len(), self.span);
        let Some(record) = self.current() else {
            self.out.stray += 1;
            return Ok(());
        };
        // A second begin in a record replaces the first.
        if record.span != NONE {
            let old = record.span as usize;
            if let Some(span) = self.out.spans.get_mut(old) {
                *span = begin;
            }
            return Ok(());
        }
        if number >= limits::SPANS {
            return Err(BodyError::new(ErrorKind::Size, at));
        }
        record.span = position(number);
        self.span = position(number);
        self.out.spans.push(begin);
        self.out.enclosing.push(enclosing);
        Ok(())
    }

    /// The record of the nearest span of a type; 0: of any type.
    pub(super) fn upward(&self, kind: u32) -> u32 {
        let mut span = self.span;
        for _ in 0..limits::UPWARD {
            match self.out.spans.get(span as usize) {
                Some(begin) if kind == 0 || begin.kind == kind => return begin.record,
                Some(_) => span = self.out.enclosing.get(span as usize).copied().unwrap_or(NONE),
                None => break,
            }
        }
        NONE
    }

    /// Adds an attribute, unless it has no record.
    pub(super) fn add(&mut self, items: &Items<'_>, attribute: Attribute) -> Result<(), BodyError> {
        if attribute.record == NONE {
            self.out.stray += 1;
        } else if self.out.attributes.len() >= limits::ATTRIBUTES {
            return Err(BodyError::new(ErrorKind::Size, items.position()));
        } else {
            self.out.attributes.push(attribute);
        }
        Ok(())
    }

    /// The innermost record has an exception or a reference to one; `false`: there is no record.
    pub(super) fn refer(&mut self) -> bool {
        match self.current() {
            Some(record) => {
                record.exceptions = record.exceptions.saturating_add(1);
                true
            }
            None => {
                self.out.stray += 1;
                false
            }
        }
    }

    /// Adds an exception of the innermost record.
    pub(super) fn raise(
        &mut self,
        items: &Items<'_>,
        exception: Exception,
    ) -> Result<(), BodyError> {
        if self.out.exceptions.len() >= limits::EXCEPTIONS {
            return Err(BodyError::new(ErrorKind::Size, items.position()));
        }
        if self.refer() {
            self.out.exceptions.push(exception);
        }
        Ok(())
    }
}

/// The flags of a record's end in our own form.
#[inline]
pub(super) fn normal(dialect: Dialect, flags: i64) -> u8 {
    const ERROR: u32 = 12 - FLAG_ERROR.trailing_zeros();
    const SENT: u32 = 13 - FLAG_SENT.trailing_zeros();
    const { assert!(FLAG_OVERFLOW == 1) }
    let [flags, ..] = if dialect == Dialect::Note {
        // The note knows only errors.
        ((flags & 1) << FLAG_ERROR.trailing_zeros()).to_le_bytes()
    } else {
        let overflow = flags & i64::from(FLAG_OVERFLOW);
        let error = flags >> ERROR & i64::from(FLAG_ERROR);
        let sent = flags >> SENT & i64::from(FLAG_SENT);
        (overflow | error | sent).to_le_bytes()
    };
    flags
}
