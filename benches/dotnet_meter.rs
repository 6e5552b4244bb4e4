//! Metrics of .NET runtime events: `cargo bench --bench dotnet_meter`. One core, no I/O, into a
//! store as in the PMDA.
//!
//! The events are those of captures of .NET 9 (qa/corpus/dotnet), without their frames.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench")]

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use bytes::BytesMut;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pmdaapm::contract::{Identity, Peer};
use pmdaapm::sources::dotnet::meter::{At, Meter, Settings};
use pmdaapm::sources::dotnet::wire::clr;
use pmdaapm::sources::dotnet::wire::nettrace::{Event, Reader, Visitor};
use pmdaapm::store::{Limits, RequestQueue, Store};
use test_kit::catalogue;

/// Events of a batch: 100 ms at 10,000 events a second.
const BATCH: usize = 1000;

fn main() {
    divan::main();
}

struct Row {
    id: u32,
    version: u32,
    at: At<'static>,
    payload: Vec<u8>,
}

#[derive(Default)]
struct Rows(Vec<Row>);

impl Visitor for Rows {
    fn event(&mut self, event: &Event<'_>) {
        let Event { time, thread, capture_thread, event_type, payload, .. } = *event;
        if *event_type.provider == *clr::RUNTIME {
            let at = At { time, thread, capture_thread, ..At::default() };
            let (id, version) = (event_type.id, event_type.version);
            self.0.push(Row { id, version, at, payload: payload.to_vec() });
        }
    }
}

/// The runtime's events of captures.
fn rows(captures: &[&str]) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet");
    let mut rows = Rows::default();
    for name in captures {
        let file = File::open(folder.join(format!("{name}.s2c.gz"))).unwrap();
        let mut bytes = Vec::new();
        flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).unwrap();
        let begin = bytes.windows(8).position(|w| w == b"Nettrace").unwrap();
        Reader::new().feed(&mut BytesMut::from(bytes.get(begin..).unwrap()), &mut rows).unwrap();
    }
    rows.0
}

fn peer() -> Peer {
    let store = Store::new(catalogue(), 400, Limits::default(), 32 << 20);
    let source = store.catalogue().id("dotnet").unwrap();
    let mut peer = store.peer_of(source, &Arc::new(RequestQueue::new(|| ())));
    let name = "workload:1".to_owned();
    peer.is(Identity { name, ..Identity::default() });
    peer
}

/// Decodes and counts events; each item is an event.
fn count(bencher: Bencher<'_, '_>, captures: &[&str]) {
    let rows = rows(captures);
    let mut peer = peer();
    let mut meter =
        Meter::new(Settings { runtime_events: true, no_counters: false, from_start: false });
    meter.start("workload:1", &mut peer);
    bencher.counter(ItemsCount::new(rows.len())).bench_local(|| {
        for batch in rows.chunks(BATCH) {
            for row in batch {
                let Row { id, version, at, payload } = black_box(row);
                let decoded = clr::decode(*id, *version, 8, payload).unwrap();
                black_box(meter.clr(at, &decoded, &mut peer));
            }
            peer.flush();
        }
    });
}

/// Collections, exceptions, waits for locks and the thread pool: the default session.
#[divan::bench]
fn mixed(bencher: Bencher<'_, '_>) {
    count(bencher, &["gc-exc-9", "default-9", "background-gc-9"]);
}

/// Collections and samples of allocations by type.
#[divan::bench]
fn allocations(bencher: Bencher<'_, '_>) {
    count(bencher, &["alloc-9"]);
}

/// Compiled methods.
#[divan::bench]
fn methods(bencher: Bencher<'_, '_>) {
    count(bencher, &["jit-9"]);
}
