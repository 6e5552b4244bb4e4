//! A stream in pieces, or cut, is the whole stream so far.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::BytesMut;

use super::{captures, read, stream};
use crate::sources::dotnet::wire::nettrace::{
    Event, EventType, Header, Ips, Reader, Values, Visitor,
};

/// A sum of all that is handed over, and the sums after each event.
#[derive(Default)]
struct Sum {
    hasher: DefaultHasher,
    calls: u64,
}

impl Sum {
    fn add(&mut self, what: impl Hash) {
        what.hash(&mut self.hasher);
        self.calls += 1;
    }

    fn state(&self) -> (u64, u64) {
        (self.hasher.finish(), self.calls)
    }
}

impl Visitor for Sum {
    fn header(&mut self, header: &Header) {
        self.add((1, header.ticks, header.utc.sec, header.frequency));
    }

    fn event_type(&mut self, t: &EventType) {
        self.add((2, t.index, &*t.provider, t.id, t.version, &*t.name, t.fields.len()));
    }

    fn event(&mut self, e: &Event<'_>) {
        let values = Values::new(&e.event_type.fields, e.payload).count();
        self.add((3, e.event_type.index, e.time, e.thread, e.capture_thread, e.stack, e.sorted));
        self.add((e.sequence, e.payload, e.activity, e.related, values));
    }

    fn stack(&mut self, id: u32, ips: Ips<'_>) {
        self.add((4, id, ips.iter().collect::<Vec<_>>()));
    }

    fn point(&mut self) {
        self.add(5);
    }

    fn lost(&mut self, events: u64) {
        self.add((6, events));
    }
}

fn whole(bytes: &[u8]) -> (u64, u64) {
    let mut sum = Sum::default();
    read(bytes, &mut sum).1.unwrap();
    sum.state()
}

/// Feeds pieces that end at `ends`.
fn pieces(bytes: &[u8], ends: impl Iterator<Item = usize>) -> (u64, u64) {
    let (mut reader, mut input, mut sum) = (Reader::new(), BytesMut::new(), Sum::default());
    let mut start = 0;
    for end in ends.chain([bytes.len()]) {
        input.extend_from_slice(&bytes[start..end]);
        start = end;
        reader.feed(&mut input, &mut sum).unwrap();
        assert!(input.len() < reader.needs().max(64), "a whole item was left");
    }
    sum.state()
}

#[test]
fn byte_by_byte_is_the_same() {
    for name in captures() {
        let bytes = stream(&name);
        assert_eq!(pieces(&bytes, 0..bytes.len()), whole(&bytes), "{name}");
    }
}

/// Positions to cut at: all of a small stream, else a few.
fn cuts(bytes: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let step = if bytes.len() < 4_000 { 1 } else { bytes.len() / 29 };
    (0..bytes.len()).step_by(step)
}

#[test]
fn a_cut_stream_gives_what_was_whole_and_goes_on() {
    for name in captures() {
        let bytes = stream(&name);
        let (mut steady, mut input, mut sum) = (Reader::new(), BytesMut::new(), Sum::default());
        let mut start = 0;
        for cut in cuts(&bytes) {
            input.extend_from_slice(&bytes[start..cut]);
            start = cut;
            steady.feed(&mut input, &mut sum).unwrap();
            let mut fresh = Sum::default();
            let (reader, done) = read(&bytes[..cut], &mut fresh);
            assert_eq!(done, Ok(()));
            assert_eq!(fresh.state(), sum.state(), "{name} cut at {cut}");
            assert_eq!(reader.losses(), steady.losses());
            assert!(!reader.ended());
        }
    }
}

#[test]
fn what_follows_the_end_stays() {
    let mut bytes = stream("types-9");
    bytes.extend_from_slice(b"next");
    let (mut reader, mut input) = (Reader::new(), BytesMut::from(&bytes[..]));
    reader.feed(&mut input, &mut Sum::default()).unwrap();
    assert!(reader.ended());
    assert_eq!(&input[..], b"next");
}
