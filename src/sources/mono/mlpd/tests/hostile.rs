//! Streams that are refused, and buffers that are bad.

use bytes::BytesMut;

use super::{captures, read, stream};
use crate::sources::mono::limits;
use crate::sources::mono::mlpd::{BadBuffer, Decoder, Event, MlpdError, Value, Visitor};

#[derive(Default)]
struct Seen {
    events: u64,
    items: u64,
    bad: Vec<(BadBuffer, u64)>,
    ends: u64,
    wide: u64,
}

impl Visitor for Seen {
    fn event(&mut self, _time: u64, event: Event<'_>) {
        *(if event.is_item() { &mut self.items } else { &mut self.events }) += 1;
        if let Event::Value { value: Value::Signed(i64::MIN) | Value::Unsigned(u64::MAX), .. } =
            event
        {
            self.wide += 1;
        }
    }

    fn bad(&mut self, reason: BadBuffer, lost: u64) {
        self.bad.push((reason, lost));
    }

    fn buffer_end(&mut self) {
        self.ends += 1;
    }
}

/// A header of this data version.
fn header(version: u8) -> Vec<u8> {
    let major = if version >= 17 { 3 } else { 2 };
    let mut bytes = [&b"\x01ZPM"[..], &[major, 0, version, 8], &[0; 8]].concat();
    bytes.extend(vec![0; if major >= 3 { 8 } else { 0 }]);
    bytes.extend([0; 14]);
    bytes.extend([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    bytes
}

fn buffer(events: &[u8]) -> Vec<u8> {
    let length = u32::try_from(events.len()).unwrap().to_le_bytes();
    [&b"\x01LPM"[..], &length, &[0; 40], events].concat()
}

fn seen(version: u8, events: &[u8]) -> Seen {
    let mut seen = Seen::default();
    let good = [10, 1, 0];
    let bytes = [header(version), buffer(events), buffer(&good)].concat();
    let (decoder, left, done) = read(&bytes, &mut seen);
    assert_eq!((done, left, decoder.between_buffers(), seen.ends), (Ok(()), 0, true, 2));
    seen.events -= 1;
    seen
}

#[test]
fn refused_streams() {
    let refused = |name: &str| {
        let (_, path) = captures().into_iter().find(|(n, _)| n == name).unwrap();
        read(&stream(&path), &mut Seen::default()).2.unwrap_err()
    };
    assert_eq!(refused("v-version-12"), MlpdError::Version(12));
    assert_eq!(refused("v-version-18"), MlpdError::Version(18));
    assert_eq!(refused("v-flags"), MlpdError::Flags(1));
    assert_eq!(refused("v-header-huge-string"), MlpdError::HeaderText(0x7fff_ffff));
    assert_eq!(refused("v-huge-length"), MlpdError::BufferLength(0xffff_fff0));
    assert_eq!(refused("v-two-headers"), MlpdError::SecondHeader(139));
    assert_eq!(refused("v-garbage-between"), MlpdError::NoBuffer(139));
    for cut in 0..4 {
        let (decoder, left, done) = read(&b"\x01ZPM"[..cut], &mut Seen::default());
        assert_eq!((decoder.header(), left, done), (None, cut, Ok(())));
    }
    assert_eq!(read(b"\x01ZQ", &mut Seen::default()).2, Err(MlpdError::Signature));
}

#[test]
fn an_error_stays() {
    let (mut decoder, mut seen) = (Decoder::default(), Seen::default());
    let mut input = BytesMut::from(&b"\x1f\x8b"[..]);
    assert_eq!(decoder.feed(&mut input, &mut seen), Err(MlpdError::Signature));
    input = BytesMut::from(&header(17)[..]);
    assert_eq!(decoder.feed(&mut input, &mut seen), Err(MlpdError::Signature));
}

#[test]
fn bad_buffers_lose_only_their_rest() {
    let sync = [10, 1, 0];
    for (events, reason) in [
        (&[0x1e, 1, 2][..], BadBuffer::UnknownEvent(0x1e)),
        (&[0x02 | 3 << 4, 1, 1, 1], BadBuffer::UnknownEvent(0x32)),
        (&[0x22, 1, 9, 1], BadBuffer::UnknownMetadata(9)),
        (&[0x09, 1], BadBuffer::UnknownEvent(9)),
        (&[0x47, 1, 1, 8, 0], BadBuffer::UnknownCounterType(8)),
        (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], BadBuffer::Number),
        (&[0x02, 1, 5, 1, b'a', b'b'], BadBuffer::Truncated),
        (&[0x31, 1, 9, 1, 1], BadBuffer::Truncated),
        (&[0x84, 1, 1, 0xff, 0x7f, 1], BadBuffer::Frames(0x3fff)),
        (&[0x36, 1, 0x80, 0x80, 0x80, 0x80, 0x10, 1, 1], BadBuffer::Truncated),
        (&[0x0a], BadBuffer::Truncated),
    ] {
        let seen = seen(17, &[&sync[..], events].concat());
        assert_eq!(seen.bad.len(), 1, "{reason}");
        assert_eq!(seen.bad[0].0, reason);
        assert!(seen.bad[0].1 <= events.len() as u64);
    }
}

#[test]
fn events_of_other_versions_are_unknown() {
    let vtable = [0x22, 1, 7, 1, 1, 1];
    let aot = [0x1a, 1, b'a', 0];
    let root = [0x56, 1, 1];
    let coverage = [0x29, 1, 1, 1, 1, 1, 1];
    let library = [0x27, 1, 1, 1, 1, 0];
    let old_monitor = [0x15, 1, 1];
    for (events, from, to) in [
        (&vtable[..], 15, 17),
        (&aot, 16, 17),
        (&root, 15, 17),
        (&coverage, 13, 15),
        (&library, 13, 15),
        (&old_monitor, 13, 13),
    ] {
        for version in 13..=17 {
            let seen = seen(version, events);
            let known = (from..=to).contains(&version);
            assert_eq!((seen.bad.len(), seen.events), (usize::from(!known), u64::from(known)));
        }
    }
}

#[test]
fn an_empty_buffer_ends_at_once() {
    let seen = seen(17, &[]);
    assert_eq!((seen.events, seen.bad.len()), (0, 0));
}

#[test]
fn values_have_all_64_bits() {
    let mut events = vec![0x47, 0, 1, 2];
    events.extend([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f, 2, 4]);
    events.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0]);
    let seen = seen(17, &events);
    assert_eq!((seen.wide, seen.items, seen.bad.len()), (2, 3, 0));
}

/// A buffer at its limit with one event: roots come one by one, and little is kept.
#[test]
fn the_longest_event_is_not_kept() {
    let count = limits::MLPD_BUFFER / 4;
    let mut events = vec![0x36, 0];
    let mut left = count;
    while left > 0x7f {
        events.push(u8::try_from(left & 0x7f).unwrap() | 0x80);
        left >>= 7;
    }
    events.push(u8::try_from(left).unwrap());
    events.extend(vec![1; 2 * count as usize]);
    let bytes = [header(17), buffer(&events)].concat();
    let (mut decoder, mut input, mut seen) = (Decoder::default(), BytesMut::new(), Seen::default());
    for piece in bytes.chunks(1001) {
        input.extend_from_slice(piece);
        decoder.feed(&mut input, &mut seen).unwrap();
        assert!(input.len() < 100, "an item is short");
    }
    assert_eq!((seen.events, seen.items, seen.ends), (1, u64::from(count), 1));
}

/// The longest name, byte by byte: its start is not looked at again for each byte.
#[test]
fn long_names_cost_their_length() {
    let mut events = vec![0x02, 1, 5, 1];
    events.extend(vec![b'x'; limits::MLPD_TEXT]);
    events.push(0);
    let bytes = [header(17), buffer(&events.repeat(4))].concat();
    let (mut decoder, mut input, mut seen) = (Decoder::default(), BytesMut::new(), Seen::default());
    for byte in bytes {
        input.extend_from_slice(&[byte]);
        decoder.feed(&mut input, &mut seen).unwrap();
    }
    assert_eq!((seen.events, seen.bad.len(), seen.ends), (4, 0, 1));
}
