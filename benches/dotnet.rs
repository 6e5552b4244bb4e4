//! Streams of .NET runtimes: `cargo bench --bench dotnet`. One core, no I/O.
//!
//! The streams have a million events in the shapes of captures: `ticks`, an application's own
//! events of three threads; `mixed`, garbage collections, exceptions and locks with stacks.
//! `-- --once ticks` decodes one once, for perf and callgrind.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a bench")]

use std::sync::LazyLock;

use bytes::BytesMut;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use pmdaapm::sources::dotnet::nettrace::{Event, EventType, Reader, Visitor};
use test_kit::dotnet as kit;

const EVENTS: usize = 1_000_000;
/// Most bytes of one read from the socket.
const PIECE: usize = 256 << 10;

static TICKS: LazyLock<Vec<u8>> = LazyLock::new(|| kit::repeat(&kit::stream("ticks-9"), EVENTS));
static MIXED: LazyLock<Vec<u8>> = LazyLock::new(|| kit::repeat(&kit::stream("gc-exc-9"), EVENTS));

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--once") {
        let bytes = named(&arguments.next().unwrap_or_default());
        let counts = decode(bytes);
        println!("{} events, {} bytes", counts.events(), bytes.len());
        return;
    }
    divan::main();
}

fn named(name: &str) -> &'static [u8] {
    match name {
        "mixed" => &MIXED,
        _ => &TICKS,
    }
}

/// Events by type: what every user of a stream does first.
#[derive(Default)]
struct Counts {
    by_type: Vec<(u64, u64)>,
}

impl Counts {
    fn events(&self) -> u64 {
        self.by_type.iter().map(|(events, _)| events).sum()
    }
}

impl Visitor for Counts {
    fn event_type(&mut self, event_type: &EventType) {
        self.by_type.resize(event_type.index as usize + 1, (0, 0));
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Some((events, bytes)) = self.by_type.get_mut(event.event_type.index as usize) {
            *events += 1;
            *bytes += event.payload.len() as u64 ^ event.time;
        }
    }
}

/// Decodes a stream in the pieces of reads.
fn decode(bytes: &[u8]) -> Counts {
    let (mut reader, mut counts) = (Reader::new(), Counts::default());
    let mut input = BytesMut::with_capacity(2 * PIECE);
    for piece in bytes.chunks(PIECE) {
        input.extend_from_slice(piece);
        reader.feed(&mut input, &mut counts).unwrap();
    }
    assert!(reader.ended() && reader.losses().lost() == 0);
    counts
}

#[divan::bench(args = ["ticks", "mixed"])]
fn events(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = named(name);
    bencher
        .counter(BytesCount::of_slice(bytes))
        .counter(ItemsCount::new(EVENTS))
        .bench_local(|| black_box(decode(black_box(bytes))));
}
