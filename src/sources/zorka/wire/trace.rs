//! Bodies of traces: a flat walk with the open records as an explicit chain
//! (docs/protocols/zorka.md 5.2, 6.2 and 10.4).

use super::items::{BREAK, Items};
use super::{
    Attribute, Begin, BodyError, Dialect, ErrorKind, Exception, FLAG_CLOSED, FLAG_ERROR,
    FLAG_OVERFLOW, FLAG_SENT, NONE, Record, TraceBody,
};
use crate::sources::zorka::limits;

/// Bytes of a record of the local tracer, about.
const RECORD_BYTES: usize = 24;

/// Decodes a body of traces into `out`.
///
/// # Errors
///
/// The first item that is wrong; `out` has everything before it.
pub fn trace(body: &[u8], out: &mut TraceBody) -> Result<(), BodyError> {
    out.clear();
    if u32::try_from(body.len()).is_err() {
        return Err(BodyError::new(ErrorKind::Size, 0));
    }
    out.records.reserve((body.len() / RECORD_BYTES).min(limits::RECORDS));
    let mut result = walk(body, 0, out);
    if result.is_err() && out.records.is_empty() {
        // A body that begins in the middle of an item.
        if let Some(start) = resume(body) {
            out.clear();
            out.skipped = u32::try_from(start).unwrap_or(u32::MAX);
            result = walk(body, start, out);
        }
    }
    result
}

/// Where the first legacy record begins: 1.90.6 sends only the last piece of a long trace.
pub(super) fn resume(body: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(body, b"\xc8\x9f")
        .find(|at| matches!(body.get(at + 2..at + 4), Some([0xca | 0xcb, 0x48])))
}

fn walk(body: &[u8], start: usize, out: &mut TraceBody) -> Result<(), BodyError> {
    let mut walk = Walk::new(out);
    let result = items(body, start, &mut walk);
    walk.end();
    result
}

fn items(body: &[u8], mut at: usize, walk: &mut Walk<'_>) -> Result<(), BodyError> {
    loop {
        at = walk.usual(body, at)?;
        let Some(first) = body.get(at) else { return Ok(()) };
        if *first == BREAK {
            walk.close_array();
            at += 1;
        } else {
            let mut items = Items::new(body, at);
            walk.item(&mut items)?;
            at = items.position();
        }
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

/// First bytes of the items, the lowest first: tag, array, a number of 8 bytes.
const START: u32 = 0x1b_9f_c3;
const END: u32 = 0x1b_82_c4;
const FLAGGED_END: u32 = 0x1b_83_c4;

/// A number of at most 16 bits, the bytes behind it, and the number of its own bytes.
#[inline]
const fn small(bytes: u64) -> Option<(u32, u64, usize)> {
    let [first, a, b, ..] = bytes.to_le_bytes();
    match first {
        0..=0x17 => Some((first as u32, bytes >> 8, 1)),
        0x18 => Some((a as u32, bytes >> 16, 2)),
        0x19 => Some((u16::from_be_bytes([a, b]) as u32, bytes >> 24, 3)),
        _ => None,
    }
}

impl Walk<'_> {
    /// Reads the usual items from `at` on; returns the position of the first other one. A start is
    /// `c3 9f time method`, an end `c4 82 time calls ff` or `c4 83 time calls flags ff`.
    pub(super) fn usual(&mut self, body: &[u8], mut at: usize) -> Result<usize, BodyError> {
        let TraceBody { records, backwards, .. } = &mut *self.out;
        let (mut innermost, mut depth) = (self.record, self.depth);
        let result = loop {
            // The longest item has 18 bytes.
            let Some((item, _)) = body.get(at..).and_then(<[u8]>::split_first_chunk::<19>) else {
                break Ok(at);
            };
            let &[tag, form, size, a, b, c, d, e, f, g, h, ref numbers @ ..] = item;
            // With `a`, so that it is one word of the body.
            let head = u32::from_le_bytes([tag, form, size, a]) & 0xff_ffff;
            let time = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
            let numbers = u64::from_le_bytes(*numbers);
            match head {
                START => {
                    let Some((method, _, length)) = small(numbers) else { break Ok(at) };
                    let number = records.len();
                    if number >= limits::RECORDS {
                        break Err(BodyError::new(ErrorKind::Size, at));
                    }
                    if depth as usize >= limits::OPEN_RECORDS {
                        break Err(BodyError::new(ErrorKind::Nesting, at));
                    }
                    records.push(Record {
                        parent: innermost,
                        method,
                        start: time,
                        span: NONE,
                        ..Record::default()
                    });
                    innermost = position(number);
                    depth += 1;
                    at += 11 + length;
                }
                END | FLAGGED_END => {
                    let Some((calls, mut rest, mut length)) = small(numbers) else { break Ok(at) };
                    let mut flags = FLAG_CLOSED;
                    if head == FLAGGED_END {
                        let Some((more, behind, bytes)) = small(rest) else { break Ok(at) };
                        flags |= normal(Dialect::Modern, more.into());
                        (rest, length) = (behind, length + bytes);
                    }
                    let Some(record) = records.get_mut(innermost as usize) else { break Ok(at) };
                    let plain = record.dialect == Dialect::Modern && record.span == NONE;
                    if !plain || rest & 0xff != 0xff {
                        break Ok(at);
                    }
                    let is_backwards = time < record.start;
                    *backwards += u32::from(is_backwards);
                    let elapsed = time.wrapping_sub(record.start).cast_unsigned();
                    let duration = if is_backwards { 0 } else { elapsed };
                    record.duration = duration;
                    record.calls = calls.into();
                    record.flags = flags;
                    innermost = record.parent;
                    depth -= 1;
                    if let Some(parent) = records.get_mut(innermost as usize) {
                        parent.children = parent.children.saturating_add(duration);
                    }
                    at += 12 + length;
                }
                _ => break Ok(at),
            }
        };
        (self.record, self.depth) = (innermost, depth);
        result
    }
}
