//! The stream `trace` (spec B.6): the time of the JVM's start, then blocks: id of the thread, time of the buffer, events.
//!
//! | event | low 2 bits of its first byte | what follows |
//! |---|---|---|
//! | ENTER | 0 | varint method |
//! | EXIT | 1 | |
//! | TAG | 2 | varint parameter, byte type; 0, 2: string; 1, 3: varint file, varint offset |
//! | end of the block | 3 | |
//!
//! Bits 2..=6 are the milliseconds since the event before, or since the start of the JVM for the first of a block. With bit 7
//! a varint follows with more of them, from bit 5 on; the sum is a signed 32-bit number.

use super::limits;
use super::record::{Block, Corrupt, Reference, TagValue, TraceEvent, TraceKind};
use super::resume::Machine;
use super::scan::Scan;
use super::text::Reader;

/// Takes events.
pub(super) trait Visitor {
    /// A block begins.
    fn block(&mut self, block: &Block);
    /// An event of the block.
    fn event(&mut self, block: &Block, event: &TraceEvent<'_>);
    /// The block is over.
    fn block_end(&mut self, block: &Block, events: u32);
}

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

/// Reads one file.
#[derive(Debug)]
pub(super) struct Trace {
    expect: Expect,
    jvm_start_ms: i64,
    block: Block,
    /// Events of the block, and the time of the last.
    events: u32,
    time_ms: i64,
    text: Reader,
}

/// What the first bytes of an event say.
enum Head {
    Short,
    End,
    Enter(u32),
    Exit,
    Tag(u32, u8, u32),
    Refer(u32, u8, Reference),
}

impl Trace {
    /// `file`: its sequence + 1.
    pub(super) fn new(file: u32) -> Self {
        let block = Block { file, ..Block::default() };
        Self { expect: Expect::Header, jvm_start_ms: 0, block, events: 0, time_ms: 0, text: Reader::default() }
    }
}

impl<V: Visitor + ?Sized> Machine<V> for Trace {
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), Corrupt> {
        loop {
            match self.expect {
                Expect::Header => {
                    let Some(start) = scan.u64() else { return Ok(()) };
                    self.jvm_start_ms = start.cast_signed();
                    self.expect = Expect::Block;
                }
                Expect::Block => {
                    let mut token = *scan;
                    let (Some(thread), Some(start)) = (token.u64(), token.u64()) else { return Ok(()) };
                    self.block = Block { offset: scan.offset(), thread, start_ms: start.cast_signed(), ..self.block };
                    (self.events, self.time_ms) = (0, self.jvm_start_ms);
                    *scan = token;
                    visitor.block(&self.block);
                    self.expect = Expect::Event;
                }
                Expect::Event => {
                    if !self.events(scan, visitor)? {
                        return Ok(());
                    }
                }
                Expect::Text { param, indexed } => {
                    let Some(text) = self.text.take(scan) else { return Ok(()) };
                    let value = if indexed { TagValue::Indexed(text) } else { TagValue::Inline(text) };
                    let kind = TraceKind::Tag { param, value };
                    visitor.event(&self.block, &TraceEvent { index: self.events, time_ms: self.time_ms, kind });
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

impl Trace {
    /// Reads events until the next is not whole (`false`), is a string, or the block is over.
    #[inline]
    fn events<V: Visitor + ?Sized>(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<bool, Corrupt> {
        loop {
            let mut token = *scan;
            let (head, distance) = head(&mut token)?;
            let kind = match head {
                Head::Short => return Ok(false),
                Head::End => {
                    *scan = token;
                    visitor.block_end(&self.block, self.events);
                    self.expect = Expect::Block;
                    return Ok(true);
                }
                Head::Enter(method) => TraceKind::Enter { method },
                Head::Exit => TraceKind::Exit,
                Head::Refer(param, 1, reference) => TraceKind::Tag { param, value: TagValue::Xml(reference) },
                Head::Refer(param, _, reference) => TraceKind::Tag { param, value: TagValue::Sql(reference) },
                Head::Tag(param, kind, units) => {
                    *scan = token;
                    self.time_ms = self.time_ms.wrapping_add(distance.into());
                    self.text.begin(units, limits::TEXT)?;
                    self.expect = Expect::Text { param, indexed: kind == 2 };
                    return Ok(true);
                }
            };
            *scan = token;
            self.time_ms = self.time_ms.wrapping_add(distance.into());
            visitor.event(&self.block, &TraceEvent { index: self.events, time_ms: self.time_ms, kind });
            self.events = self.events.saturating_add(1);
        }
    }
}

/// The next event up to its string, and its distance in time.
#[inline(always)]
fn head(token: &mut Scan<'_>) -> Result<(Head, i32), Corrupt> {
    const SHORT: (Head, i32) = (Head::Short, 0);
    let Some(first) = token.u8() else { return Ok(SHORT) };
    if first & 3 == 3 {
        return Ok((Head::End, 0));
    }
    let mut distance = u32::from(first >> 2 & 0x1f);
    if first & 0x80 != 0 {
        let Some(more) = token.varint() else { return Ok(SHORT) };
        distance |= more << 5;
    }
    let distance = distance.cast_signed();
    if first & 3 == 1 {
        return Ok((Head::Exit, distance));
    }
    let Some(id) = token.varint() else { return Ok(SHORT) };
    if first & 3 == 0 {
        return Ok((Head::Enter(id), distance));
    }
    let Some(kind) = token.u8() else { return Ok(SHORT) };
    let head = match kind {
        0 | 2 => token.varint().map(|units| Head::Tag(id, kind, units)),
        1 | 3 => token.varint().zip(token.varint()).map(|(file, offset)| Head::Refer(id, kind, Reference { file, offset })),
        other => return Err(Corrupt::TagType(other)),
    };
    Ok(head.map_or(SHORT, |head| (head, distance)))
}
