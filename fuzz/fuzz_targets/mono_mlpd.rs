//! A Mono process sends any bytes as a log profiler's stream, in any pieces. What is handed over
//! and the error do not depend on the pieces; events are within buffers and no longer than they
//! are; the incomplete rest and the memory are bounded; after an error nothing comes. The same
//! bytes as a file, with gzip and holes: no more buffers than there are signatures.
#![no_main]

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use pmdaapm::model::HeapSize;
use pmdaapm::sources::mono::mlpd::{
    BadBuffer, Buffer, Decoder, Event, FileDecoder, Header, MlpdError, Visitor,
};

/// A sum of all that is handed over.
#[derive(Default)]
struct Sum {
    hasher: DefaultHasher,
    headers: u32,
    buffers: u64,
    open: bool,
    bad: bool,
    events: u64,
    /// Items that the last event still has.
    items: Option<u64>,
    /// Bytes that the events of the open buffer have at least.
    bytes: u64,
    length: u64,
}

impl Visitor for Sum {
    fn header(&mut self, header: &Header) {
        assert!((13..=17).contains(&header.version));
        self.headers += 1;
        assert_eq!(self.headers, 1);
        format!("{header:?}").hash(&mut self.hasher);
    }

    fn buffer(&mut self, buffer: &Buffer) {
        assert!(self.headers == 1 && !self.open && buffer.length <= 16 << 20);
        self.buffers += 1;
        (self.open, self.bad, self.bytes) = (true, false, 0);
        self.length = buffer.length.into();
        format!("{buffer:?}").hash(&mut self.hasher);
    }

    fn event(&mut self, time: u64, event: Event<'_>) {
        assert!(self.open && !self.bad);
        (time, format!("{event:?}")).hash(&mut self.hasher);
        if event.is_item() {
            let left = self.items.expect("an event with items");
            self.items = match event {
                Event::Value { .. } => Some(left),
                Event::SampleEnd => None,
                _ => Some(left.checked_sub(1).expect("no more items than said")),
            };
            self.bytes += 1;
        } else {
            self.events += 1;
            self.bytes += 2;
            self.items = match event {
                Event::Moves { count } | Event::Roots { count } | Event::Counters { count } => {
                    Some(count)
                }
                Event::Sample => Some(0),
                _ => None,
            };
        }
        let (text, frames) = match event {
            Event::Class { name, .. } | Event::Method { name, .. } => (name.len(), 0),
            Event::Alloc { frames, .. } | Event::Throw { frames, .. } => (0, frames.len()),
            Event::Hit { ips, frames, .. } => (0, frames.len() + ips.len()),
            _ => (0, 0),
        };
        assert!(text <= 64 << 10 && frames <= 2048);
        self.bytes += (text + frames) as u64;
        assert!(self.bytes <= self.length, "no more than the buffer has");
    }

    fn bad(&mut self, reason: BadBuffer, lost: u64) {
        assert!(self.open && !self.bad && lost <= self.length);
        self.bad = true;
        (format!("{reason}"), lost).hash(&mut self.hasher);
    }

    fn buffer_end(&mut self) {
        assert!(self.open);
        self.open = false;
        7.hash(&mut self.hasher);
    }
}

type Outcome = (u64, u64, u64, Result<(), MlpdError>, bool);

fn decode(data: &[u8], piece: usize) -> Outcome {
    let (mut decoder, mut input, mut sum) = (Decoder::default(), BytesMut::new(), Sum::default());
    let mut done = Ok(());
    for bytes in data.chunks(piece) {
        input.extend_from_slice(bytes);
        done = decoder.feed(&mut input, &mut sum);
        if done.is_err() {
            break;
        }
        assert!(input.len() < 1 << 20, "an item is bounded");
        assert!(decoder.heap_size() < 1 << 20);
    }
    assert_eq!(decoder.events(), sum.events);
    if let Err(error) = done {
        let before = sum.hasher.finish();
        assert_eq!(decoder.feed(&mut input, &mut sum), Err(error));
        assert_eq!(sum.hasher.finish(), before);
    }
    (sum.hasher.finish(), decoder.offset(), sum.buffers, done, decoder.between_buffers())
}

fn file(data: &[u8], piece: usize) {
    let (mut file, mut input, mut sum) = (FileDecoder::default(), BytesMut::new(), Sum::default());
    for bytes in data.chunks(piece) {
        input.extend_from_slice(bytes);
        if file.feed(&mut input, &mut sum).is_err() {
            break;
        }
        assert!(file.heap_size() < 2 << 20);
    }
    if !file.zipped() {
        let signatures = data.windows(4).filter(|w| w == b"\x01LPM").count() as u64;
        assert!(sum.buffers <= signatures);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, data)) = data.split_first() else { return };
    let piece = usize::from(*piece).max(1);
    let whole = decode(data, data.len().max(1));
    assert_eq!(decode(data, piece), whole);
    file(data, data.len().max(1));
    file(data, piece);
});
