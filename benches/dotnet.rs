//! Streams of .NET runtimes: `cargo bench --bench dotnet`. One core, no I/O.
//!
//! The streams have a million events in the shapes of captures: `ticks`, an application's own
//! events of three threads; `mixed`, garbage collections, exceptions and locks with stacks.
//! `-- --once ticks` decodes one once, for perf and callgrind; `--once records-ticks` makes its
//! records.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a bench")]

use std::sync::{Arc, LazyLock};

use bytes::BytesMut;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use pmdaapm::contract::{Identity, Peer};
use pmdaapm::model::{Now, Stamp};
use pmdaapm::sources::dotnet::Config;
use pmdaapm::sources::dotnet::stream::{Parts, Stream, Ticks};
use pmdaapm::sources::dotnet::wire::nettrace::{Event, EventType, Reader, Visitor};
use pmdaapm::store::{Limits, RequestQueue, Store};
use test_kit::{catalogue, dotnet as kit};

const EVENTS: usize = 1_000_000;
/// Most bytes of one read from the socket.
const PIECE: usize = 256 << 10;

static TICKS: LazyLock<Vec<u8>> = LazyLock::new(|| kit::repeat(&kit::stream("ticks-9"), EVENTS));
static MIXED: LazyLock<Vec<u8>> = LazyLock::new(|| kit::repeat(&kit::stream("gc-exc-9"), EVENTS));

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--once") {
        let name = arguments.next().unwrap_or_default();
        if let Some(name) = name.strip_prefix("records-") {
            return println!("{} records", Reading::new(true).read(named(name)));
        }
        let bytes = named(&name);
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

/// A process in a store, as in the PMDA.
struct Reading {
    store: Arc<Store>,
    peer: Peer,
    parts: Parts,
}

impl Reading {
    /// `records`: all events become records.
    fn new(records: bool) -> Self {
        let kinds = if records { &["gc", "exception", "contention"][..] } else { &[] };
        let config = Config {
            records: kinds.iter().map(|&kind| kind.to_owned()).collect(),
            records_rate: if records { 1_000_000 } else { 1 },
            contention_record: 0,
            ..Config::default()
        };
        let store = Store::new(catalogue(), 400, Limits::default(), 32 << 20);
        let source = store.catalogue().id("dotnet").unwrap();
        let mut peer = store.peer_of(source, &Arc::new(RequestQueue::new(|| ())));
        let name = "bench:1".to_owned();
        peer.is(Identity { name, ..Identity::default() });
        let mut parts = Parts::new(&config, Box::new(()));
        parts.start("bench:1", &mut peer);
        Self { store, peer, parts }
    }

    /// Reads a whole stream; returns the number of records.
    fn read(&mut self, bytes: &[u8]) -> usize {
        let now = Now { wall: Stamp { sec: 1_800_000_000, nsec: 0 }, ..Now::default() };
        let mut input = BytesMut::with_capacity(2 * PIECE);
        let mut stream = Stream::default();
        self.parts.stream("", "", true, &mut self.peer);
        for piece in bytes.chunks(PIECE) {
            input.extend_from_slice(piece);
            stream.feed(now, Ticks(0), &mut input, &mut self.parts, &mut self.peer).unwrap();
            stream.report(&mut self.parts, &mut self.peer);
            self.peer.flush();
        }
        self.parts.quiet(&mut self.peer);
        self.store.peers().first().map_or(0, |peer| {
            (0..9)
                .filter_map(|kind| peer.existing_stream(pmdaapm::model::EventKindId::new(kind)))
                .map(|stream| usize::try_from(stream.stats().count).unwrap())
                .sum()
        })
    }
}

fn read(bencher: Bencher<'_, '_>, name: &str, records: bool) {
    let bytes = named(name);
    // A new process each time: the rate goes by the times of events, which come again.
    bencher
        .counter(ItemsCount::new(EVENTS))
        .with_inputs(|| Reading::new(records))
        .bench_local_refs(|reading| black_box(reading.read(black_box(bytes))));
}

/// From bytes to metrics; a record a second.
#[divan::bench(args = ["ticks", "mixed"])]
fn metrics(bencher: Bencher<'_, '_>, name: &str) {
    read(bencher, name, false);
}

/// From bytes to metrics and records in their streams.
#[divan::bench(args = ["ticks", "mixed"])]
fn records(bencher: Bencher<'_, '_>, name: &str) {
    read(bencher, name, true);
}
