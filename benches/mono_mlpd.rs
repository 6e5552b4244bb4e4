//! Streams of Mono's log profiler: `cargo bench --bench mono_mlpd`. One core, no I/O.
//!
//! The streams have millions of events in the shapes of captures: the buffer of a capture in
//! which most events are of one kind, again and again. `-- --once alloc` decodes one once, for perf
//! and callgrind.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a bench"
)]

use std::fs::File;
use std::io::Read;
use std::sync::LazyLock;

use bytes::BytesMut;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use flate2::read::GzDecoder;
use pmdaapm::sources::mono::mlpd::{Buffer, Decoder, Event, Visitor};

/// Events of a stream, at least.
const EVENTS: u64 = 2_000_000;
/// Most bytes of one read from the socket.
const PIECE: usize = 64 << 10;
/// Bytes of a buffer's header.
const HEAD: usize = 48;

const KINDS: [&str; 4] = ["alloc", "calls", "throws", "samples"];

static STREAMS: LazyLock<[Stream; 4]> = LazyLock::new(|| {
    [
        stream("m07-alloc", |e| matches!(e, Event::Alloc { .. })),
        stream("m08-calls", |e| {
            matches!(e, Event::Enter { .. } | Event::Leave { .. } | Event::ExceptionLeave { .. })
        }),
        stream("m02-exception", |e| matches!(e, Event::Throw { .. } | Event::Clause { .. })),
        stream("m06-sample", |e| matches!(e, Event::Hit { .. })),
    ]
});

struct Stream {
    bytes: Vec<u8>,
    events: u64,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--once") {
        let stream = named(&arguments.next().unwrap_or_default());
        println!("{} events, {} bytes", decode(&stream.bytes).0, stream.bytes.len());
        return;
    }
    divan::main();
}

fn named(name: &str) -> &'static Stream {
    let at = KINDS.iter().position(|kind| *kind == name).unwrap_or(0);
    &STREAMS[at]
}

/// Which buffers have mostly such events.
struct Buffers<F> {
    of_kind: F,
    offset: usize,
    /// Start, end, events of the kind and all.
    found: Vec<(usize, usize, u64, u64)>,
}

impl<F: Fn(&Event<'_>) -> bool> Visitor for Buffers<F> {
    fn buffer(&mut self, buffer: &Buffer) {
        let end = self.offset + HEAD + buffer.length as usize;
        self.found.push((self.offset, end, 0, 0));
        self.offset = end;
    }

    fn event(&mut self, _time: u64, event: Event<'_>) {
        let of_kind = u64::from((self.of_kind)(&event));
        let (_, _, kind, all) = self.found.last_mut().unwrap();
        *kind += of_kind;
        *all += 1;
    }
}

fn stream(name: &str, of_kind: fn(&Event<'_>) -> bool) -> Stream {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/qa/corpus/mono/mlpd");
    let mut capture = Vec::new();
    let file = File::open(format!("{folder}/{name}.mlpd.gz")).unwrap();
    GzDecoder::new(file).read_to_end(&mut capture).unwrap();
    let header = capture.windows(4).position(|w| w == b"\x01LPM").unwrap();
    let mut buffers = Buffers { of_kind, offset: header, found: Vec::new() };
    Decoder::default().feed(&mut BytesMut::from(&capture[..]), &mut buffers).unwrap();
    // The buffer with the most events of the kind beyond those of other kinds.
    let of =
        |(_, _, kind, all): &(usize, usize, u64, u64)| 2 * kind.cast_signed() - all.cast_signed();
    let (start, end, kind, once) = buffers.found.into_iter().max_by_key(of).unwrap();
    assert!(kind > 100, "{name} has no such buffer");
    let mut stream = Stream { bytes: capture[..header].to_vec(), events: 0 };
    while stream.events < EVENTS {
        stream.bytes.extend_from_slice(&capture[start..end]);
        stream.events += once;
    }
    stream
}

/// Reads each event.
#[derive(Default)]
struct Sum {
    events: u64,
    sum: u64,
}

impl Visitor for Sum {
    #[inline]
    fn event(&mut self, time: u64, event: Event<'_>) {
        self.events += 1;
        self.sum = self.sum.wrapping_add(match event {
            Event::Alloc { vtable, object, size, frames } => {
                time ^ vtable ^ object ^ size ^ frames.len() as u64
            }
            Event::Enter { method } | Event::Leave { method } => time ^ method,
            Event::Throw { object, frames } => object ^ frames.last().copied().unwrap_or(0),
            Event::Hit { thread, frames, .. } => thread ^ frames.len() as u64,
            _ => time,
        });
    }
}

/// Decodes a stream in the pieces of reads.
fn decode(bytes: &[u8]) -> (u64, u64) {
    let (mut decoder, mut sum) = (Decoder::default(), Sum::default());
    let mut input = BytesMut::with_capacity(2 * PIECE);
    for piece in bytes.chunks(PIECE) {
        input.extend_from_slice(piece);
        decoder.feed(&mut input, &mut sum).unwrap();
    }
    assert!(input.is_empty() && decoder.between_buffers());
    (sum.events, sum.sum)
}

#[divan::bench(args = KINDS)]
fn events(bencher: Bencher<'_, '_>, name: &str) {
    let stream = named(name);
    bencher
        .counter(BytesCount::of_slice(&stream.bytes))
        .counter(ItemsCount::new(stream.events))
        .bench_local(|| black_box(decode(black_box(&stream.bytes))));
}
