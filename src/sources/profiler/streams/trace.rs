//! The stream `trace` (docs/protocols/java-profiler.md B.6): the time of the JVM's start, then
//! blocks. A block has the id of its thread, the time of its buffer, and events:
//!
//! | event | low 2 bits of its first byte | then |
//! |---|---|---|
//! | ENTER | 0 | varint method |
//! | EXIT | 1 | |
//! | TAG | 2 | varint parameter, byte type; 0, 2: string; 1, 3: varint file, varint offset |
//! | end of the block | 3 | |
//!
//! Bits 2..=6 are the low bits of a distance in ms: to the event before, or to the start of the JVM
//! for the first event of a block. If bit 7 is set, a varint with the bits from 5 on follows. The
//! distance is a signed 32-bit number.

use super::Output;
use super::record::{Block, Observer, Reference, TagValue, TraceEvent, TraceKind};
use super::scan::{DecodeError, Machine, Numbers, Scan, TextReader};
use crate::sources::profiler::dictionary::{Dictionary, Text};
use crate::sources::profiler::limits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Header,
    Block,
    Event,
    /// The string of a tag.
    Text {
        param: u32,
        indexed: bool,
    },
}

/// Decodes one file.
#[derive(Debug)]
pub(crate) struct TraceReader {
    expect: Expect,
    jvm_start_ms: i64,
    block: Block,
    /// Number of events in the block so far, and time of the last one.
    events: u32,
    time_ms: i64,
    text: TextReader,
}

impl TraceReader {
    /// A reader of one file; `file` is its sequence + 1.
    pub(crate) fn new(file: u32) -> Self {
        let block = Block { file, ..Block::default() };
        Self {
            expect: Expect::Header,
            jvm_start_ms: 0,
            block,
            events: 0,
            time_ms: 0,
            text: TextReader::default(),
        }
    }
}

impl Machine for TraceReader {
    fn step<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError> {
        loop {
            match self.expect {
                Expect::Header => {
                    let Some(start) = scan.u64() else { return Ok(()) };
                    self.jvm_start_ms = start.cast_signed();
                    self.expect = Expect::Block;
                }
                Expect::Block => {
                    let mut token = *scan;
                    let (Some(thread), Some(start)) = (token.u64(), token.u64()) else {
                        return Ok(());
                    };
                    self.block = Block {
                        offset: scan.offset(),
                        thread,
                        start_ms: start.cast_signed(),
                        ..self.block
                    };
                    (self.events, self.time_ms) = (0, self.jvm_start_ms);
                    *scan = token;
                    out.observer.trace_block(&self.block);
                    self.expect = Expect::Event;
                }
                Expect::Event => {
                    if !self.events(scan, out)? {
                        return Ok(());
                    }
                }
                Expect::Text { param, indexed } => {
                    let Some(text) = self.text.take(scan) else { return Ok(()) };
                    let value =
                        if indexed { TagValue::Indexed(text) } else { TagValue::Inline(text) };
                    let kind = TraceKind::Tag { param, value };
                    out.event(
                        &self.block,
                        &TraceEvent { index: self.events, time_ms: self.time_ms, kind },
                    );
                    self.text.end();
                    self.events = self.events.saturating_add(1);
                    self.expect = Expect::Event;
                }
            }
        }
    }

    fn at_boundary(&self) -> bool {
        matches!(self.expect, Expect::Header | Expect::Block)
    }
}

/// The rest of a TAG behind its distance.
enum Tag {
    Refer(u32, TagValue<'static>),
    /// Parameter, whether it is indexed, and the units of the string.
    String(u32, bool, u32),
}

impl TraceReader {
    /// Reads events. `false`: the next event is not whole. `true`: the state has changed, to a
    /// string that arrives in pieces or to the end of the block.
    #[inline]
    fn events<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<bool, DecodeError> {
        let (mut index, mut time_ms) = (self.events, self.time_ms);
        let result = loop {
            if !out.observer.wants_trace_events() {
                let count = out.short_events(&self.block, scan, &mut time_ms, index);
                index = index.saturating_add(count);
            }
            let mut token = *scan;
            let Some(first) = token.u8() else { break Ok(false) };
            let mut distance = u32::from(first >> 2 & 0x1f);
            if first & 0x80 != 0 && first & 3 != 3 {
                let Some(more) = token.varint() else { break Ok(false) };
                distance |= more << 5;
            }
            let at_ms = time_ms.wrapping_add(distance.cast_signed().into());
            let kind = match first & 3 {
                0 => match token.varint() {
                    Some(method) => TraceKind::Enter { method },
                    None => break Ok(false),
                },
                1 => TraceKind::Exit,
                2 => match tag(&mut token) {
                    Ok(Some(Tag::Refer(param, value))) => TraceKind::Tag { param, value },
                    Ok(Some(Tag::String(param, indexed, units))) => {
                        match whole(&mut token, units) {
                            Some(text) if indexed => {
                                TraceKind::Tag { param, value: TagValue::Indexed(text) }
                            }
                            Some(text) => TraceKind::Tag { param, value: TagValue::Inline(text) },
                            None => {
                                (*scan, time_ms) = (token, at_ms);
                                self.expect = Expect::Text { param, indexed };
                                break self.text.begin(units, limits::TEXT).map(|()| true);
                            }
                        }
                    }
                    Ok(None) => break Ok(false),
                    Err(wrong) => break Err(wrong),
                },
                _ => {
                    *scan = token;
                    out.observer.trace_block_end(&self.block, index);
                    self.expect = Expect::Block;
                    break Ok(true);
                }
            };
            (*scan, time_ms) = (token, at_ms);
            out.event(&self.block, &TraceEvent { index, time_ms, kind });
            index = index.saturating_add(1);
        };
        (self.events, self.time_ms) = (index, time_ms);
        result
    }
}

/// Reads a TAG up to its string; `None` when it is not whole.
#[inline(always)]
fn tag(token: &mut Scan<'_>) -> Result<Option<Tag>, DecodeError> {
    let (Some(param), Some(kind)) = (token.varint(), token.u8()) else { return Ok(None) };
    let refer =
        |token: &mut Scan<'_>| Some(Reference { file: token.varint()?, offset: token.varint()? });
    Ok(match kind {
        0 | 2 => token.varint().map(|units| Tag::String(param, kind == 2, units)),
        1 => refer(token).map(|at| Tag::Refer(param, TagValue::Xml(at))),
        3 => refer(token).map(|at| Tag::Refer(param, TagValue::Sql(at))),
        other => return Err(DecodeError::TagType(other)),
    })
}

/// A whole string; `None` if it is longer than [`limits::TEXT`] or comes in pieces.
#[inline(always)]
fn whole<'a>(token: &mut Scan<'a>, units: u32) -> Option<Text<'a>> {
    let length = 2 * units as usize;
    let all = units <= limits::TEXT && length <= token.rest().len();
    all.then(|| Text::new(token.up_to(length), units))
}

/// Receives the events of [`ShortEvents`].
pub trait StepVisitor {
    /// The events that follow are at this time.
    fn time(&mut self, time_ms: i64);
    /// The thread entered a method.
    fn enter(&mut self, method: u32, at: EventPlace);
    /// The thread left the innermost method; `left`: bytes behind the event.
    fn exit(&mut self, left: usize);
    /// A parameter of the innermost method, without its value.
    fn tag(&mut self, param: u32);
}

/// Where an event is.
#[derive(Clone, Copy, Debug)]
pub struct EventPlace {
    /// Number of the event in its block.
    pub index: u32,
    /// Bytes of [`ShortEvents`] behind it.
    pub left: usize,
}

/// How many events of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// ENTER.
    pub enters: u32,
    /// EXIT.
    pub exits: u32,
    /// TAG.
    pub tags: u32,
}

impl StepCounts {
    /// Number of all events.
    #[must_use]
    pub const fn all(self) -> u32 {
        self.enters.wrapping_add(self.exits).wrapping_add(self.tags)
    }
}

/// The events of a block up to one that is not usual: a tag whose value may be a number with a meaning, an event
/// with large numbers, or the last 7 bytes.
#[derive(Debug)]
pub struct ShortEvents<'a> {
    pub(super) rest: &'a [u8],
    pub(super) time_ms: i64,
    pub(super) counts: StepCounts,
    /// Events of the block before.
    index: u32,
    words: &'a Dictionary,
}

impl<'a> ShortEvents<'a> {
    /// `time_ms`: the time of the event before `rest`; `index`: the number of events before.
    pub(super) const fn new(
        rest: &'a [u8],
        time_ms: i64,
        index: u32,
        words: &'a Dictionary,
    ) -> Self {
        let counts = StepCounts { enters: 0, exits: 0, tags: 0 };
        Self { rest, time_ms, counts, index, words }
    }

    /// The bytes that have not been read.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The time of the event before [`Self::rest`].
    #[must_use]
    pub const fn time_ms(&self) -> i64 {
        self.time_ms
    }

    /// How many have been read.
    #[must_use]
    pub const fn counts(&self) -> StepCounts {
        self.counts
    }

    /// Reads them.
    #[inline(always)]
    pub fn read(&mut self, visitor: &mut impl StepVisitor) {
        let (mut rest, mut now_ms) = (self.rest, self.time_ms);
        let StepCounts { mut enters, mut exits, mut tags } = self.counts;
        visitor.time(now_ms);
        while let Some(first) = rest.first_chunk() {
            let word = u64::from_le_bytes(*first);
            let kind = word & 0x83;
            if kind == 1 {
                (_, rest) = rest.split_at(1);
                pass(word, &mut now_ms, visitor);
                exits = exits.wrapping_add(1);
                visitor.exit(rest.len());
                continue;
            }
            // The end of a block, or a long distance.
            if kind & 0x81 != 0 {
                break;
            }
            let Some((id, behind)) = short_id(word >> 8) else { break };
            if kind == 0 {
                (_, rest) = rest.split_at(1 + behind);
                pass(word, &mut now_ms, visitor);
                let before = enters.wrapping_add(exits).wrapping_add(tags);
                let index = self.index.wrapping_add(before);
                enters = enters.wrapping_add(1);
                visitor.enter(id, EventPlace { index, left: rest.len() });
                continue;
            }
            let Some(after) = tag_length(word >> (8 + 8 * behind))
                .and_then(|length| rest.get(1 + behind + length..))
            else {
                break;
            };
            if !self.words.is_plain(id)
                && rest
                    .len()
                    .checked_sub(after.len() + 1)
                    .and_then(|at| rest.get(at))
                    .is_none_or(u8::is_ascii_digit)
            {
                // The low byte of the last character of a string, which may be a number.
                break;
            }
            rest = after;
            pass(word, &mut now_ms, visitor);
            tags = tags.wrapping_add(1);
            visitor.tag(id);
        }
        (self.rest, self.time_ms) = (rest, now_ms);
        self.counts = StepCounts { enters, exits, tags };
    }
}

/// Adds the distance of an event, which is in its first byte. Most are 0.
#[inline(always)]
fn pass(word: u64, now_ms: &mut i64, visitor: &mut impl StepVisitor) {
    if word & 0x7c != 0 {
        *now_ms = now_ms.wrapping_add((word >> 2 & 0x1f).cast_signed());
        visitor.time(*now_ms);
    }
}

/// The id at the low byte, and its length; `None` if that is more than two bytes.
#[inline(always)]
const fn short_id(word: u64) -> Option<(u32, usize)> {
    let low = (word & 0x7f) as u32;
    if word & 0x80 == 0 {
        Some((low, 1))
    } else if word & 0x8000 == 0 {
        Some((low | (word >> 1 & 0x3f80) as u32, 2))
    } else {
        None
    }
}

/// Bytes of a tag from its type on, which is in the low byte; `None` for an unknown type, or a long
/// string or number of a file.
#[inline(always)]
const fn tag_length(tag: u64) -> Option<usize> {
    if tag & 0x80fc != 0 {
        return None;
    }
    if tag & 1 == 0 {
        return Some(2 + 2 * (tag >> 8 & 0x7f) as usize);
    }
    // The last byte of the offset is the first without its high bit.
    let last = !(tag >> 16) & 0x80_8080;
    if last == 0 { None } else { Some(3 + last.trailing_zeros() as usize / 8) }
}
