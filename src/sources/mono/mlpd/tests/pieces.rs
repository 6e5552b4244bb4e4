//! A stream in pieces, or cut, is the whole stream so far.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::BytesMut;

use super::{captures, read, stream};
use crate::model::HeapSize;
use crate::sources::mono::mlpd::{BadBuffer, Buffer, Decoder, Event, Header, MlpdError, Visitor};

/// A sum of all that is handed over.
#[derive(Default)]
pub(super) struct Sum {
    hasher: DefaultHasher,
    calls: u64,
}

impl Sum {
    fn add(&mut self, what: impl Hash) {
        what.hash(&mut self.hasher);
        self.calls += 1;
    }

    pub(super) fn state(&self) -> (u64, u64) {
        (self.hasher.finish(), self.calls)
    }
}

impl Visitor for Sum {
    fn header(&mut self, header: &Header) {
        self.add((1, format!("{header:?}")));
    }

    fn buffer(&mut self, b: &Buffer) {
        self.add((2, b.thread, b.time, b.pointer, b.object, b.method, b.length));
    }

    fn event(&mut self, time: u64, event: Event<'_>) {
        self.add((3, time, format!("{event:?}")));
    }

    fn bad(&mut self, reason: BadBuffer, lost: u64) {
        self.add((4, format!("{reason}"), lost));
    }

    fn buffer_end(&mut self) {
        self.add(5);
    }
}

type Outcome = ((u64, u64), u64, Result<(), MlpdError>);

fn whole(bytes: &[u8]) -> Outcome {
    let mut sum = Sum::default();
    let (decoder, _, done) = read(bytes, &mut sum);
    (sum.state(), decoder.offset(), done)
}

/// Feeds pieces that end at `ends`.
fn pieces(bytes: &[u8], ends: impl Iterator<Item = usize>) -> Outcome {
    let (mut decoder, mut input, mut sum) = (Decoder::default(), BytesMut::new(), Sum::default());
    let mut start = 0;
    for end in ends.chain([bytes.len()]) {
        input.extend_from_slice(&bytes[start..end]);
        start = end;
        if let Err(error) = decoder.feed(&mut input, &mut sum) {
            return (sum.state(), decoder.offset(), Err(error));
        }
        assert!(decoder.heap_size() < 64 << 10);
    }
    (sum.state(), decoder.offset(), Ok(()))
}

/// Small enough to be formatted often.
fn small() -> impl Iterator<Item = (String, Vec<u8>)> {
    let streams = captures().into_iter().map(|(name, path)| (name, stream(&path)));
    streams.filter(|(_, bytes)| bytes.len() < 101_000)
}

#[test]
fn byte_by_byte_is_the_same() {
    for (name, bytes) in small() {
        assert_eq!(pieces(&bytes, 0..bytes.len()), whole(&bytes), "{name}");
    }
}

#[test]
fn two_pieces_cut_at_every_position_are_the_same() {
    for (name, bytes) in small() {
        let wanted = whole(&bytes);
        let step = if bytes.len() < 2_000 { 1 } else { bytes.len() / 3 };
        for cut in (0..bytes.len()).step_by(step) {
            assert_eq!(pieces(&bytes, [cut].into_iter()), wanted, "{name} cut at {cut}");
        }
    }
}

#[test]
fn pieces_of_each_size_are_the_same() {
    for (name, path) in captures() {
        let bytes = stream(&path);
        let wanted = whole(&bytes);
        for size in [1000, 65_536] {
            let ends = (0..bytes.len()).step_by(size);
            assert_eq!(pieces(&bytes, ends), wanted, "{name} in pieces of {size}");
        }
    }
}

/// A prefix gives a prefix of what the whole gives: nothing is handed over early and corrected.
#[test]
fn a_cut_stream_gives_what_was_whole() {
    for (name, bytes) in small() {
        let (mut steady, mut input, mut sum) =
            (Decoder::default(), BytesMut::new(), Sum::default());
        let step = if bytes.len() < 2_000 { 1 } else { bytes.len() / 3 };
        let mut start = 0;
        for cut in (0..bytes.len()).step_by(step) {
            input.extend_from_slice(&bytes[start..cut]);
            start = cut;
            let done = steady.feed(&mut input, &mut sum);
            assert_eq!(whole(&bytes[..cut]), (sum.state(), steady.offset(), done), "{name} {cut}");
        }
    }
}
