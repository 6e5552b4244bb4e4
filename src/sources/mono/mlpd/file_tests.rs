//! Zipped captures, and captures with holes.

use std::io::Write;

use bytes::BytesMut;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};

use super::FileDecoder;
use crate::model::HeapSize;
use crate::sources::mono::mlpd::tests::{captures, raw, stream};
use crate::sources::mono::mlpd::{BadBuffer, Buffer, Decoder, Event, MlpdError, Visitor};

/// Events by buffer, and holes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    buffers: Vec<(Buffer, u64)>,
    holes: Vec<u64>,
    bad: u64,
}

impl Visitor for Seen {
    fn buffer(&mut self, buffer: &Buffer) {
        self.buffers.push((*buffer, 0));
    }

    fn event(&mut self, _time: u64, event: Event<'_>) {
        self.buffers.last_mut().unwrap().1 += u64::from(!event.is_item());
    }

    fn bad(&mut self, _reason: BadBuffer, _lost: u64) {
        self.bad += 1;
    }

    fn hole(&mut self, bytes: u64) {
        self.holes.push(bytes);
    }
}

fn read(bytes: &[u8], piece: usize) -> (Seen, Result<(), MlpdError>) {
    let (mut file, mut seen, mut input) =
        (FileDecoder::default(), Seen::default(), BytesMut::new());
    for bytes in bytes.chunks(piece) {
        input.extend_from_slice(bytes);
        if let Err(error) = file.feed(&mut input, &mut seen) {
            return (seen, Err(error));
        }
    }
    (seen, Ok(()))
}

fn plain(bytes: &[u8]) -> Seen {
    let mut seen = Seen::default();
    Decoder::default().feed(&mut BytesMut::from(bytes), &mut seen).unwrap();
    seen
}

fn named(name: &str) -> Vec<u8> {
    stream(&captures().into_iter().find(|(n, _)| n == name).unwrap().1)
}

#[test]
fn zipped_captures_are_those_that_were_zipped() {
    for (name, path) in captures() {
        let Some(bytes) = raw(&path).filter(|bytes| bytes.starts_with(&[0x1f, 0x8b])) else {
            continue;
        };
        let mut wanted = plain(&stream(&path));
        if name == "m24-zip-killed" {
            // The stream decodes the cut buffer as far as it came.
            wanted.buffers.pop();
        }
        for piece in [100, 65_536] {
            assert_eq!(read(&bytes, piece), (wanted.clone(), Ok(())), "{name}");
        }
    }
}

/// A gzip stream of two members, with a name, and with zeros behind it.
#[test]
fn gzip_with_all_that_it_may_have() {
    let bytes = named("m10-threads");
    let (a, b) = bytes.split_at(50_000);
    let mut first = GzBuilder::new().filename("x").comment("y").extra(vec![1, 2, 3]);
    first = first.mtime(7);
    let mut first = first.write(Vec::new(), Compression::fast());
    first.write_all(a).unwrap();
    let mut second = GzEncoder::new(Vec::new(), Compression::best());
    second.write_all(b).unwrap();
    let zipped = [first.finish().unwrap(), second.finish().unwrap(), vec![0; 99]].concat();
    for piece in [1, 3000, zipped.len()] {
        assert_eq!(read(&zipped, piece), (plain(&bytes), Ok(())));
    }
    let mut broken = zipped.clone();
    broken[3000..3100].fill(0xee);
    let (seen, _) = read(&broken, 500);
    assert!(seen.buffers.len() < plain(&bytes).buffers.len());
    assert_eq!(read(&[0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0, 0], 1).1, Err(MlpdError::Gzip));
}

/// A gzip bomb gives its bytes in pieces, and none are kept.
#[test]
fn zeros_are_a_hole_and_not_kept() {
    let mut zip = GzEncoder::new(Vec::new(), Compression::best());
    zip.write_all(&named("v-empty")).unwrap();
    zip.write_all(&vec![0; 50 << 20]).unwrap();
    let zipped = zip.finish().unwrap();
    let (mut file, mut seen) = (FileDecoder::default(), Seen::default());
    file.feed(&mut BytesMut::from(&zipped[..]), &mut seen).unwrap();
    assert!(file.zipped() && file.heap_size() < 256 << 10, "{}", file.heap_size());
}

/// Where each buffer of a stream starts, and where the stream ends.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let seen = plain(bytes);
    let mut starts = vec![bytes.len()];
    for (buffer, _) in seen.buffers.iter().rev() {
        starts.push(starts.last().unwrap() - buffer.length as usize - 48);
    }
    starts.reverse();
    starts
}

/// Without bytes from within one buffer to within another, as a full disk does it: all others are
/// decoded, and nothing of those two is.
#[test]
fn a_hole_costs_the_buffers_that_it_touches() {
    for name in ["m02-exception", "m04-monitor", "m09-domains"] {
        let bytes = named(name);
        let (starts, all) = (starts(&bytes), plain(&bytes));
        let (last, mut torn_at) = (all.buffers.len() - 2, 0);
        for n in 0..60 {
            // Positions that look random and are the same in each run.
            let (a, b) = ((n * 37) % last, ((n * 37) % last + n * n % 9).min(last));
            let from = starts[a] + 1 + (n * 131) % (starts[a + 1] - starts[a] - 1);
            let to = starts[b] + (n * 71) % (starts[b + 1] - starts[b]);
            // Without bytes up to its end a buffer is still being written.
            let written = bytes.len() + from >= starts[a + 1] + to;
            // A torn buffer of a few bytes can look like a whole one.
            let short = all.buffers[a].0.length < 100;
            if to <= from || short || !written {
                continue;
            }
            torn_at += 1;
            let torn = [&bytes[..from], &bytes[to..]].concat();
            // A hole that ends with a buffer leaves the next one whole.
            let resumed = if to == starts[b] { b } else { b + 1 };
            let mut wanted = all.clone();
            wanted.buffers.drain(a..resumed);
            wanted.holes.push((starts[resumed] - starts[a] - (to - from)) as u64);
            for piece in [5000, torn.len()] {
                let (seen, done) = read(&torn, piece);
                assert_eq!((&seen.holes, done), (&wanted.holes, Ok(())), "{name} {from}-{to}");
                assert!(seen == wanted, "{name} {from}-{to}");
            }
        }
        assert!(torn_at > 10, "{name}: {torn_at}");
    }
}

#[test]
fn vectors() {
    let (seen, done) = read(&named("v-garbage-between"), 1000);
    assert_eq!((seen.buffers.len(), seen.holes, done), (2, vec![25], Ok(())));
    let (seen, done) = read(&named("v-two-headers"), 1000);
    assert_eq!((seen.buffers.len(), done), (1, Err(MlpdError::SecondHeader(139))));
    let (seen, done) = read(&named("v-huge-length"), 1000);
    assert_eq!((seen.buffers.len(), done), (0, Ok(())));
    assert_eq!(read(b"G", 1).1, Err(MlpdError::Signature));
    for (name, path) in captures() {
        let bytes = stream(&path);
        let (mut seen, mut input) = (Seen::default(), BytesMut::from(&bytes[..]));
        if Decoder::default().feed(&mut input, &mut seen).is_ok() && input.is_empty() {
            for piece in [1, 777, 70_000] {
                if piece == 1 && bytes.len() > 2000 || name.starts_with("v-cut") {
                    continue;
                }
                let mut seen = seen.clone();
                if name == "m24-zip-killed" {
                    seen.buffers.pop();
                }
                assert!(read(&bytes, piece) == (seen, Ok(())), "{name} in pieces of {piece}");
            }
        }
    }
}

/// A buffer too long to be kept is decoded as it comes.
#[test]
fn long_buffers_are_not_kept() {
    let mut bytes = named("v-empty");
    let count = 400_000_usize;
    let mut events = vec![0x31, 0];
    // 400,000 in three bytes.
    events.extend([0x80, 0xb5, 0x18]);
    events.extend([0x81, 0x01].repeat(count));
    let length = u32::try_from(events.len()).unwrap().to_le_bytes();
    for _ in 0..2 {
        bytes.extend([&b"\x01LPM"[..], &length, &[0; 40], &events].concat());
    }
    let (mut file, mut seen, mut input) =
        (FileDecoder::default(), Seen::default(), BytesMut::new());
    for piece in bytes.chunks(4099) {
        input.extend_from_slice(piece);
        file.feed(&mut input, &mut seen).unwrap();
        assert!(file.heap_size() < 32 << 10, "{}", file.heap_size());
    }
    assert_eq!((seen.buffers.len(), seen.buffers[1].1, seen.bad), (2, 1, 0));
    assert!(seen.holes.is_empty() && file.decoder().between_buffers());
}
