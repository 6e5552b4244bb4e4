//! Writes nettrace as runtimes do: blocks of 100 KiB, compressed headers (docs/protocols/dotnet.md
//! 3).

use std::collections::HashMap;

use bytes::BytesMut;
use pmdaapm::sources::dotnet::wire::nettrace::{Event, Ips, Reader, Visitor};

/// Bytes of the events of a block.
const BLOCK: usize = 100 << 10;
/// Ticks between two events of a thread, at most: pauses of the capture are left out.
const STEP: u64 = 100_000;
/// A sequence point comes after so many blocks, as after 10 MB of buffers.
const POINT: usize = 100;

/// A stream of `events` events, those of a capture again and again: same types, payloads and runs
/// of threads; time goes on, and no number is lost.
#[must_use]
pub fn repeat(capture: &[u8], events: usize) -> Vec<u8> {
    let mut template = Template::default();
    Reader::new().feed(&mut BytesMut::from(capture), &mut template).unwrap();
    let mut writer = Writer { out: capture[..header_end(capture)].to_vec() };
    let (mut stacks, mut first) = (Vec::new(), None);
    for (name, body) in objects(capture) {
        match name {
            b"MetadataBlock" => writer.block("MetadataBlock", body),
            b"StackBlock" if !template.points_before_events => {
                first.get_or_insert_with(|| u32::from_le_bytes(body[..4].try_into().unwrap()));
                stacks.push(body);
            }
            _ => {}
        }
    }
    let write_stacks = |writer: &mut Writer| {
        stacks.iter().for_each(|body| writer.block("StackBlock", body));
    };
    write_stacks(&mut writer);

    let mut sequences = HashMap::<u64, u32>::new();
    let mut clock = template.rows.first().map_or(0, |row| row.time);
    let mut rows = template.rows.iter().cycle().take(events);
    let mut previous = clock;
    let mut blocks = 0;
    loop {
        let mut body = Vec::with_capacity(BLOCK + 4096);
        let mut last = Row::default();
        let mut last_number = 0_u32;
        let mut bounds = None;
        while body.len() < BLOCK {
            let Some(row) = rows.next() else { break };
            let number = sequences.entry(row.capture_thread).or_default();
            *number += 1;
            clock += row.time.saturating_sub(previous).clamp(100, STEP);
            previous = row.time;
            let (low, _) = bounds.unwrap_or((clock, clock));
            bounds = Some((low, clock));
            let row = Row { time: clock, number: *number, ..row.clone() };
            row.encode(&last, last_number, &mut body);
            last_number = row.number;
            last = row;
        }
        let Some((low, high)) = bounds else { break };
        let mut block = vec![20, 0, 1, 0];
        block.extend(low.to_le_bytes());
        block.extend(high.to_le_bytes());
        block.extend(body);
        writer.block("EventBlock", &block);
        blocks += 1;
        if blocks % POINT == 0 {
            writer.point(clock, &sequences);
            write_stacks(&mut writer);
        }
    }
    writer.point(clock, &sequences);
    writer.out.push(1);
    writer.out
}

/// A row of a block of events.
#[derive(Clone, Debug, Default)]
struct Row {
    metadata: u32,
    number: u32,
    capture_thread: u64,
    thread: u64,
    stack: u32,
    time: u64,
    activity: [u8; 16],
    related: [u8; 16],
    sorted: bool,
    payload: Vec<u8>,
}

impl Row {
    fn encode(&self, last: &Self, last_number: u32, out: &mut Vec<u8>) {
        let at = out.len();
        out.push(0);
        let mut flags = if self.sorted { 64 } else { 0 };
        if self.metadata != last.metadata {
            flags |= 1;
            var(self.metadata.into(), out);
        }
        let step = self.number.wrapping_sub(last_number).wrapping_sub(1);
        if step != 0 || self.capture_thread != last.capture_thread {
            flags |= 2;
            var(step.into(), out);
            var(self.capture_thread, out);
            var(u32::MAX.into(), out);
        }
        if self.thread != last.thread {
            flags |= 4;
            var(self.thread, out);
        }
        if self.stack != last.stack {
            flags |= 8;
            var(self.stack.into(), out);
        }
        var(self.time.wrapping_sub(last.time), out);
        if self.activity != last.activity {
            flags |= 16;
            out.extend(self.activity);
        }
        if self.related != last.related {
            flags |= 32;
            out.extend(self.related);
        }
        if self.payload.len() != last.payload.len() {
            flags |= 128;
            var(self.payload.len() as u64, out);
        }
        out[at] = flags;
        out.extend_from_slice(&self.payload);
    }
}

fn var(mut value: u64, out: &mut Vec<u8>) {
    while value >= 128 {
        out.push((value & 127 | 128) as u8);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The rows of a capture up to its first sequence point.
#[derive(Default)]
struct Template {
    rows: Vec<Row>,
    points: usize,
    points_before_events: bool,
}

impl Visitor for Template {
    fn event(&mut self, event: &Event<'_>) {
        self.points_before_events |= self.points > 0;
        if self.points > 0 {
            return;
        }
        self.rows.push(Row {
            // Runtimes count metadata from 1 in the order in which they send it.
            metadata: event.event_type.index + 1,
            number: 0,
            capture_thread: event.capture_thread,
            thread: event.thread,
            stack: event.stack,
            time: event.time,
            activity: *event.activity,
            related: *event.related,
            sorted: event.sorted,
            payload: event.payload.to_vec(),
        });
    }

    fn stack(&mut self, _: u32, _: Ips<'_>) {}

    fn point(&mut self) {
        self.points += 1;
    }
}

struct Writer {
    out: Vec<u8>,
}

impl Writer {
    fn block(&mut self, name: &str, body: &[u8]) {
        self.out.extend([5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0]);
        self.out.extend((name.len() as u32).to_le_bytes());
        self.out.extend(name.as_bytes());
        self.out.push(6);
        self.out.extend((body.len() as u32).to_le_bytes());
        self.out.resize(self.out.len().next_multiple_of(4), 0);
        self.out.extend_from_slice(body);
        self.out.push(6);
    }

    fn point(&mut self, time: u64, sequences: &HashMap<u64, u32>) {
        let mut body = time.to_le_bytes().to_vec();
        body.extend((sequences.len() as u32).to_le_bytes());
        for (thread, number) in sequences {
            body.extend(thread.to_le_bytes());
            body.extend(number.to_le_bytes());
        }
        self.block("SPBlock", &body);
    }
}

/// Magic, name of the serializer, object header of 21 bytes, 48 bytes, end tag.
fn header_end(capture: &[u8]) -> usize {
    assert_eq!(&capture[8 + 24 + 15..][..5], b"Trace");
    8 + 24 + 15 + 5 + 1 + 48 + 1
}

/// Names and bodies of the blocks.
fn objects(capture: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize;
    let mut at = header_end(capture);
    while capture.get(at) == Some(&5) {
        let length = word(at + 11);
        let name = &capture[at + 15..at + 15 + length];
        let size_at = at + 15 + length + 1;
        let start = (size_at + 4).next_multiple_of(4);
        let end = start + word(size_at);
        found.push((name, &capture[start..end]));
        at = end + 1;
    }
    found
}
