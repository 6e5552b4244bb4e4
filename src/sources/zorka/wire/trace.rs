//! Bodies of traces: a flat walk, item by item, whatever their dialect (docs/protocols/zorka.md 5.2, 6.2 and
//! 10.4).

use super::body::{TICKS, Walk, normal, position};
use super::items::{BREAK, Elements, Items};
use super::{
    Attribute, BodyError, ClassName, Dialect, ErrorKind, Exception, FLAG_CLOSED, FLAG_ERROR, Frame,
    NONE, Record, TraceBody,
};
use crate::sources::zorka::limits;

/// Bytes of a record of the local tracer, about.
const RECORD_BYTES: usize = 24;

/// Ids of methods have at most 24 bits: a larger second number of a record is its time
/// (docs/protocols/zorka.md 10.4).
const METHOD_MAX: u64 = (1 << 24) - 1;

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
    fn usual(&mut self, body: &[u8], mut at: usize) -> Result<usize, BodyError> {
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

impl Walk<'_> {
    /// Reads the item at the position of `items`, which is no break.
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
                self.refer();
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
        self.breaks += 1;
        Ok(())
    }

    /// `[time, calls, flags?]`.
    fn modern_end(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        let stop = items.need(&mut elements)?.int()?;
        let calls = items.need(&mut elements)?.count()?;
        let flags = if items.more(&mut elements)? { items.int()? } else { 0 };
        items.leave(elements)?;
        self.close(stop, calls, Some(flags));
        self.breaks += 1;
        Ok(())
    }

    /// `[clock, type, span id?, parent id?]`.
    fn begin(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let at = items.position();
        let mut elements = items.array()?;
        let clock = items.need(&mut elements)?.int()?;
        let kind = items.need(&mut elements)?.id()?;
        let (id, parent) = span_ids(items, elements)?;
        self.span(at, self.begins(kind, clock, id, parent))
    }

    /// `[clock, type]`, or in the interim layout `[clock, span id?, parent id?]`.
    fn legacy_begin(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let at = items.position();
        let mut elements = items.array()?;
        let (clock, mut kind) = (items.need(&mut elements)?.int()?, 0);
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
        self.span(at, self.begins(kind, clock, ids.0, ids.1))
    }

    /// `[name, value]`, or `[type, name, value]` for the nearest span of that type.
    fn attribute(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        let first = items.need(&mut elements)?.id()?;
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
        let kind = items.need(&mut elements)?.id()?;
        items.need(&mut elements)?;
        self.map(items, self.upward(kind))?;
        items.leave(elements)
    }

    /// `[id, class, message, cause, stack, attributes?]`.
    fn exception(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        let id = items.need(&mut elements)?.int()?;
        let class = ClassName::Symbol(items.need(&mut elements)?.id()?);
        let message = items.need(&mut elements)?.optional_text()?;
        items.need(&mut elements)?.skip()?;
        items.need(&mut elements)?;
        let (frames, first) = stack(items)?;
        items.leave(elements)?;
        self.raise(items, Exception { record: self.record, id, class, message, frames, first })
    }

    /// The note's `[id, class name, message, cause, stack frames...]`.
    fn note_exception(&mut self, items: &mut Items<'_>) -> Result<(), BodyError> {
        let mut elements = items.array()?;
        let id = items.need(&mut elements)?.int()?;
        items.need(&mut elements)?;
        let class = if matches!(items.first()?, 0x60..=0x7b) {
            ClassName::Text(items.text()?)
        } else {
            ClassName::Symbol(items.id()?)
        };
        let message = items.need(&mut elements)?.optional_text()?;
        let mut frames: u32 = 0;
        if items.more(&mut elements)? {
            items.skip()?;
            while items.more(&mut elements)? {
                items.skip()?;
                frames = frames.saturating_add(1);
            }
        }
        let record = self.record;
        self.raise(items, Exception { record, id, class, message, frames, first: None })
    }
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
            *number = u32::try_from(items.need(&mut frame)?.int()?).unwrap_or(0);
        }
        items.leave(frame)?;
        let [class, method, file, line] = numbers;
        first = Some(Frame { class, method, file, line });
    }
    Ok((frames, first))
}
