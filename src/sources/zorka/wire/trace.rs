//! Bodies of traces: a flat walk with the open records as an explicit chain
//! (docs/protocols/zorka.md 5.2, 6.2 and 10.4).

use super::body::{
    Attribute, Begin, ClassName, Dialect, Exception, FLAG_CLOSED, FLAG_ERROR, FLAG_OVERFLOW,
    FLAG_SENT, Frame, NONE, Record, TraceBody,
};
use super::error::{BodyError, ErrorKind};
use super::items::{BREAK, Elements, Items};
use crate::sources::zorka::limits;

/// Clock ticks of legacy agents: 40 bits, each 65,536 ns.
const TICKS: u64 = (1 << 40) - 1;
const TICK_BITS: u32 = 16;
/// Ids of methods have at most 24 bits: a larger second number of a record is its time
/// (docs/protocols/zorka.md 10.4).
const METHOD_MAX: u64 = (1 << 24) - 1;
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
    let mut walk = Walk { out, record: NONE, span: NONE, depth: 0, breaks: 0 };
    let mut items = Items::new(body, 0);
    let mut result = walk.items(&mut items);
    if result.is_err() && walk.out.records.is_empty() {
        // A body that begins in the middle of an item.
        if let Some(start) = resume(body) {
            walk.out.clear();
            walk.out.skipped = u32::try_from(start).unwrap_or(u32::MAX);
            result = walk.items(&mut Items::new(body, start));
        }
    }
    walk.out.unclosed += walk.depth;
    result
}

/// Where the first legacy record begins: 1.90.6 sends only the last piece of a long trace.
pub(super) fn resume(body: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(body, b"\xc8\x9f")
        .find(|at| matches!(body.get(at + 2..at + 4), Some([0xca | 0xcb, 0x48])))
}

struct Walk<'a> {
    out: &'a mut TraceBody,
    /// The innermost open record.
    record: u32,
    /// The innermost open span.
    span: u32,
    /// Open records.
    depth: u32,
    /// Breaks to come of records that have ended.
    breaks: u32,
}

#[allow(clippy::cast_possible_truncation, reason = "lists have limits below 2^32")]
const fn position(length: usize) -> u32 {
    length as u32
}

impl Walk<'_> {
    fn items(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        while let Some(byte) = items.peek() {
            if byte == BREAK {
                items.advance(1);
                self.close_array();
            } else {
                self.item(items)?;
            }
        }
        Ok(())
    }

    fn item(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let at = items.position();
        let tag = items.tag()?;
        let next = items.first()?;
        match (tag, next) {
            (3, 0x9f) => self.modern(items),
            (3, 0x82) => self.streaming(items),
            // The record begins with its prolog.
            (8, 0x9f) => {
                items.advance(1);
                Ok(())
            }
            (0x0a | 0x0b, 0x40..=0x5b) => self.prolog(items, tag == 0x0b),
            (0x0c | 0x0d, 0x40..=0x5b) => self.epilog(items, tag == 0x0d),
            (4, 0x80..=0x9f) => self.modern_end(items),
            (5, 0x80..=0x9f) => self.begin(items),
            (0x21, 0x80..=0x9f) => self.legacy_begin(items),
            (6, 0x80..=0x9f) => self.attribute(items),
            (9, 0xa0..=0xbf) => self.map(items, self.record),
            (0x26, 0x80..=0x9f) => self.upward_map(items),
            (7 | 0x22, 0x80..=0x9f) => self.exception(items),
            (0x0b, 0x80..=0x9f) => self.note_exception(items),
            (8 | 0x23, 0x00..=0x3b) => {
                items.int()?;
                self.reported();
                self.out.references += 1;
                Ok(())
            }
            (0x0f | 0x25, 0x00..=0x3b) => {
                let flags = items.int()?;
                let is_error = flags & if tag == 0x0f { 8 } else { 1 } != 0;
                match self.current() {
                    Some(record) if is_error => record.flags |= FLAG_ERROR,
                    Some(record) => record.flags &= !FLAG_ERROR,
                    None => self.out.stray += 1,
                }
                Ok(())
            }
            (0x0e, 0xa0..=0xbf) => items.skip(),
            // Definitions belong to the other endpoint.
            (1 | 2, _) => Err(BodyError::new(ErrorKind::Tag, at)),
            (3..=0x0f | 0x21..=0x23 | 0x25 | 0x26, _) => Err(items.malformed()),
            _ => {
                items.skip()?;
                self.out.unknown += 1;
                Ok(())
            }
        }
    }

    fn current(&mut self) -> Option<&mut Record> {
        self.out.records.get_mut(self.record as usize)
    }

    fn open(
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

    /// `9f time method`, or the note's `9f method time`.
    fn modern(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let at = items.position();
        items.advance(1);
        let (first, second) = (items.int()?, items.int()?);
        let is_note = first.unsigned_abs() <= METHOD_MAX && second.unsigned_abs() > METHOD_MAX;
        let (start, method, dialect) =
            if is_note { (second, first, Dialect::Note) } else { (first, second, Dialect::Modern) };
        let method = method.try_into().map_err(|_| BodyError::new(ErrorKind::Malformed, at))?;
        self.open(at, method, start, dialect)
    }

    /// `82 method time`; the items of the record follow the array.
    fn streaming(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let at = items.position();
        items.advance(1);
        let (method, start) = (items.id()?, items.int()?);
        self.open(at, method, start, Dialect::Streaming)
    }

    /// A word of 40 bits of time and 24 bits of method.
    fn prolog(&mut self, items: &mut Items<'_>, is_little: bool) -> Result<(), BodyError> {
        let at = items.position();
        let (word, _) = words(items, is_little)?;
        let method = u32::try_from(word >> 40).unwrap_or(u32::MAX);
        self.open(at, method, (word & TICKS).cast_signed(), Dialect::Legacy)
    }

    /// A word of 40 bits of time and 24 bits of calls; a second word has all bits of the calls.
    fn epilog(&mut self, items: &mut Items<'_>, is_little: bool) -> Result<(), BodyError> {
        let (word, calls) = words(items, is_little)?;
        let calls = calls.unwrap_or(word >> 40);
        self.close((word & TICKS).cast_signed(), calls, None);
        Ok(())
    }

    /// `[time, calls, flags?]`.
    fn modern_end(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        items.need(&mut elements)?;
        let stop = items.int()?;
        items.need(&mut elements)?;
        let calls = items.count()?;
        let flags = if items.more(&mut elements)? { items.int()? } else { 0 };
        items.leave(elements)?;
        self.close(stop, calls, Some(flags));
        Ok(())
    }

    /// Ends the innermost record.
    fn close(&mut self, stop: i64, calls: u64, flags: Option<i64>) {
        self.breaks += 1;
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
    fn leave(&mut self) {
        let Some(&mut Record { parent, span, .. }) = self.current() else { return };
        if span != NONE {
            self.span = self.out.enclosing.get(span as usize).copied().unwrap_or(NONE);
        }
        self.record = parent;
        self.depth -= 1;
    }

    /// A break: the array of a record that has ended, or of one without an end.
    fn close_array(&mut self) {
        if self.breaks > 0 {
            self.breaks -= 1;
        } else if self.record != NONE {
            self.out.unclosed += 1;
            self.leave();
        }
    }

    /// `[clock, type, span id?, parent id?]`.
    fn begin(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let at = items.position();
        let mut elements = items.array()?;
        items.need(&mut elements)?;
        let clock = items.int()?;
        items.need(&mut elements)?;
        let kind = items.id()?;
        let (id, parent) = span_ids(items, elements)?;
        self.span(at, Begin { record: self.record, kind, clock, id, parent })
    }

    /// `[clock, type]`, or in the interim layout `[clock, span id?, parent id?]`.
    fn legacy_begin(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let at = items.position();
        let mut elements = items.array()?;
        items.need(&mut elements)?;
        let (clock, mut kind) = (items.int()?, 0);
        let mut ids = (0, 0);
        let mut is_interim = true;
        if items.more(&mut elements)? {
            if items.peek() == Some(0xc6) {
                kind = items.id()?;
                is_interim = false;
            } else {
                let second = items.int()?;
                let (parent, _) = span_ids(items, elements)?;
                is_interim = second.unsigned_abs() > METHOD_MAX || second < 0 || parent != 0;
                if is_interim {
                    ids = (second.cast_unsigned(), parent);
                } else {
                    kind = u32::try_from(second).unwrap_or(0);
                }
            }
        }
        if let Some(record) = self.current().filter(|_| is_interim) {
            record.dialect = Dialect::Interim;
        }
        self.span(at, Begin { record: self.record, kind, clock, id: ids.0, parent: ids.1 })
    }

    fn span(&mut self, at: usize, begin: Begin) -> Result<(), BodyError> {
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

    /// `[name, value]`, or `[type, name, value]` for the nearest span of that type.
    fn attribute(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        items.need(&mut elements)?;
        let first = items.id()?;
        items.need(&mut elements)?;
        let second = items.clone();
        let mut value = items.value()?;
        let (mut record, mut name) = (self.record, first);
        if items.more(&mut elements)? {
            name = { second }.id()?;
            value = items.value()?;
            record = self.upward(first);
        }
        items.leave(elements)?;
        self.add(items, Attribute { record, name, value })
    }

    /// `{name: value}`.
    fn map(&mut self, items: &mut Items<'_>, record: u32) -> Result<(), BodyError> {
        let mut pairs = items.map()?;
        while items.more(&mut pairs)? {
            let (name, value) = (items.id()?, items.value()?);
            self.add(items, Attribute { record, name, value })?;
        }
        Ok(())
    }

    /// `[type, {name: value}]`.
    fn upward_map(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        items.need(&mut elements)?;
        let kind = items.id()?;
        items.need(&mut elements)?;
        self.map(items, self.upward(kind))?;
        items.leave(elements)
    }

    /// The record of the nearest span of a type; 0: of any type.
    fn upward(&self, kind: u32) -> u32 {
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

    fn add(&mut self, items: &Items<'_>, attribute: Attribute) -> Result<(), BodyError> {
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
    fn reported(&mut self) -> bool {
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

    /// `[id, class, message, cause, stack, attributes?]`.
    fn exception(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        items.need(&mut elements)?;
        let id = items.int()?;
        items.need(&mut elements)?;
        let class = ClassName::Symbol(items.id()?);
        items.need(&mut elements)?;
        let message = items.optional_text()?;
        items.need(&mut elements)?;
        items.skip()?;
        items.need(&mut elements)?;
        let (frames, first) = stack(items)?;
        items.leave(elements)?;
        self.report(items, Exception { record: self.record, id, class, message, frames, first })
    }

    /// The note's `[id, class name, message, cause, stack frames...]`.
    fn note_exception(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        items.need(&mut elements)?;
        let id = items.int()?;
        items.need(&mut elements)?;
        let class = if matches!(items.first()?, 0x60..=0x7b) {
            ClassName::Text(items.text()?)
        } else {
            ClassName::Symbol(items.id()?)
        };
        items.need(&mut elements)?;
        let message = items.optional_text()?;
        let mut frames: u32 = 0;
        if items.more(&mut elements)? {
            items.skip()?;
            while items.more(&mut elements)? {
                items.skip()?;
                frames = frames.saturating_add(1);
            }
        }
        let record = self.record;
        self.report(items, Exception { record, id, class, message, frames, first: None })
    }

    fn report(&mut self, items: &Items<'_>, exception: Exception) -> Result<(), BodyError> {
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
fn normal(dialect: Dialect, flags: i64) -> u8 {
    let (error, overflow) = if dialect == Dialect::Note { (1, 0) } else { (0x1000, 1) };
    let mut normal = 0;
    for (bit, flag) in [(error, FLAG_ERROR), (overflow, FLAG_OVERFLOW), (0x2000, FLAG_SENT)] {
        if flags & bit != 0 {
            normal |= flag;
        }
    }
    normal
}

/// One or two words of 64 bits.
fn words(items: &mut Items<'_>, is_little: bool) -> Result<(u64, Option<u64>), BodyError> {
    let wrong = items.malformed();
    let bytes = items.bytes()?;
    let word = |bytes: &[u8; 8]| {
        if is_little { u64::from_le_bytes(*bytes) } else { u64::from_be_bytes(*bytes) }
    };
    match bytes.as_chunks() {
        ([first], []) => Ok((word(first), None)),
        ([first, second], []) => Ok((word(first), Some(word(second)))),
        _ => Err(wrong),
    }
}

/// The optional rest of a begin.
fn span_ids(items: &mut Items<'_>, mut elements: Elements) -> Result<(u64, u64), BodyError> {
    let mut ids = [0; 2];
    for id in &mut ids {
        if items.more(&mut elements)? {
            *id = items.int()?.cast_unsigned();
        }
    }
    items.leave(elements)?;
    let [id, parent] = ids;
    Ok((id, parent))
}

/// An array of `[class, method, file, line]`, or null.
fn stack(items: &mut Items<'_>) -> Result<(u32, Option<Frame>), BodyError> {
    if matches!(items.first()?, 0xf6 | 0xf7) {
        items.advance(1);
        return Ok((0, None));
    }
    let (mut frames, mut first) = (0_u32, None);
    let mut elements = items.array()?;
    while items.more(&mut elements)? {
        frames = frames.saturating_add(1);
        if first.is_some() {
            items.skip()?;
            continue;
        }
        let mut frame = items.array()?;
        let mut numbers = [0; 4];
        for number in &mut numbers {
            items.need(&mut frame)?;
            *number = u32::try_from(items.int()?).unwrap_or(0);
        }
        items.leave(frame)?;
        let [class, method, file, line] = numbers;
        first = Some(Frame { class, method, file, line });
    }
    Ok((frames, first))
}
