//! Open records and spans, and what they leave in the lists.

use crate::sources::zorka::limits;
use crate::sources::zorka::wire::body::{
    Attribute, Begin, Dialect, Exception, FLAG_CLOSED, FLAG_ERROR, FLAG_OVERFLOW, FLAG_SENT, NONE,
    Record, TraceBody,
};
use crate::sources::zorka::wire::error::{BodyError, ErrorKind};
use crate::sources::zorka::wire::items::Items;

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

    /// The innermost record reports an exception or a reference to one.
    pub(super) fn reported(&mut self) -> bool {
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
    pub(super) fn report(
        &mut self,
        items: &Items<'_>,
        exception: Exception,
    ) -> Result<(), BodyError> {
        if self.out.exceptions.len() >= limits::EXCEPTIONS {
            return Err(BodyError::new(ErrorKind::Size, items.position()));
        }
        if self.reported() {
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
