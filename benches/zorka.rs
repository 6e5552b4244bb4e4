//! Bodies of Zorka agents: `cargo bench --bench zorka`. One core, no I/O.
//!
//! The body has one trace of 4096 records, a recursion 24 deep, as an agent with all methods traced
//! sends it (qa/corpus/zorka has the numbers of the recorded one).
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a bench")]

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use pmdaapm::contract::http::{ConnectionId, HttpService, Request};
use pmdaapm::model::{Now, TreeRules};
use pmdaapm::sources::zorka::Config;
use pmdaapm::sources::zorka::collector::Collector;
use pmdaapm::sources::zorka::wire::TraceBody;
use pmdaapm::sources::zorka::wire::{Content, definitions, trace, unwrap};
use pmdaapm::store::{Limits, Store};
use test_kit::{catalogue, zorka as kit};

const RECORDS: u32 = 4096;

fn main() {
    divan::main();
}

static FIB: LazyLock<kit::Fib> = LazyLock::new(|| kit::fib(RECORDS));

/// A body of the median length, and of the ordinary kind.
static USUAL: LazyLock<Vec<u8>> =
    LazyLock::new(|| std::fs::read(kit::corpus().join("raw/2.0.3-demo-02-trc.cbor")).unwrap());

static DEFINITIONS: LazyLock<Vec<u8>> =
    LazyLock::new(|| std::fs::read(kit::corpus().join("raw/2.0.3-demo-01-agd.cbor")).unwrap());

/// What any reader of these bytes must do: minicbor walks over them.
#[divan::bench]
fn skip(bencher: Bencher<'_, '_>) {
    let body = &FIB.body[..];
    bencher.counter(BytesCount::of_slice(body)).counter(ItemsCount::new(RECORDS)).bench_local(
        || {
            let mut decoder = minicbor::Decoder::new(black_box(body));
            while decoder.position() < body.len() {
                decoder.skip().unwrap();
            }
        },
    );
}

fn walk(bencher: Bencher<'_, '_>, body: &[u8]) {
    let mut out = TraceBody::default();
    trace(body, &mut out).unwrap();
    let records = out.records.len();
    bencher.counter(BytesCount::of_slice(body)).counter(ItemsCount::new(records)).bench_local(
        || {
            trace(black_box(body), &mut out).unwrap();
            black_box(&out);
        },
    );
}

/// Records, spans, attributes and exceptions, without accounting.
#[divan::bench]
fn records(bencher: Bencher<'_, '_>) {
    walk(bencher, &FIB.body);
}

/// A collector with a store, as in the PMDA.
struct Agent {
    collector: Collector,
    requests: u64,
}

impl Agent {
    fn new() -> Self {
        let store = Store::new(catalogue(), 400, Limits::default(), 32 << 20);
        let source = store.catalogue().id("zorka").unwrap();
        let maker = store.peer_maker(source, false);
        let memory = Arc::clone(&store.memory);
        let collector = Collector::new(&Config::default(), maker, memory, "").unwrap();
        Self { collector, requests: 0 }
    }

    fn send(&mut self, path: &str, body: &[u8]) -> u16 {
        self.requests += 1;
        let id = format!("{:032x}", self.requests);
        let headers = [
            ("x-zorka-session-id", &b"00d1e2f3a4b5c6d7"[..]),
            ("x-zorka-session-reset", if self.requests == 1 { b"true" } else { b"false" }),
            ("x-zorka-trace-id", id.as_bytes()),
        ];
        let request = Request {
            connection: ConnectionId(1),
            from: SocketAddr::from(([127, 0, 0, 1], 40_000)),
            to: SocketAddr::from(([127, 0, 0, 1], 8640)),
            method: "POST",
            path,
            headers: &headers,
            body,
            dropped: None,
        };
        self.collector.answer(Now::default(), &request).status
    }
}

fn collector(bencher: Bencher<'_, '_>, definitions: &[u8], body: &[u8], trees: bool) {
    let mut agent = Agent::new();
    agent.collector.set_trees(TreeRules { always: trees, ..TreeRules::default() });
    assert_eq!(agent.send("/agent/submit/agd", definitions), 202);
    assert_eq!(agent.send("/agent/submit/trc", body), 202);
    bencher.counter(BytesCount::of_slice(body)).bench_local(|| {
        assert_eq!(agent.send("/agent/submit/trc", black_box(body)), 202);
    });
}

/// Request to answer, all sums and event records of an agent in the store.
#[divan::bench]
fn counted(bencher: Bencher<'_, '_>) {
    collector(bencher, &FIB.definitions, &FIB.body, false);
}

/// The same while somebody reads trees.
#[divan::bench]
fn trees(bencher: Bencher<'_, '_>) {
    collector(bencher, &FIB.definitions, &FIB.body, true);
}

/// The same of a body of 274 bytes.
#[divan::bench]
fn counted_usual(bencher: Bencher<'_, '_>) {
    collector(bencher, &DEFINITIONS, &USUAL, false);
}

/// [`records`] of a body of 274 bytes.
#[divan::bench]
fn usual(bencher: Bencher<'_, '_>) {
    walk(bencher, &USUAL);
}

/// Definitions of a first trace.
#[divan::bench]
fn symbols(bencher: Bencher<'_, '_>) {
    let body = &DEFINITIONS[..];
    bencher.counter(BytesCount::of_slice(body)).bench_local(|| {
        definitions(black_box(body), &mut |definition| {
            black_box(definition);
        })
        .unwrap();
    });
}

/// Base64, as agents of 2018 send it.
#[divan::bench]
fn base64(bencher: Bencher<'_, '_>) {
    let path = kit::corpus().join("synth-encodings/trc.plain.b64");
    let wire = std::fs::read(path).unwrap();
    bencher
        .counter(BytesCount::of_slice(&wire))
        .bench_local(|| unwrap(Content::Trace, black_box(&wire), 1 << 20).unwrap().bytes.len());
}
