//! Bodies of Zorka agents: `cargo bench --bench zorka`. One core, no I/O.
//!
//! The body has one trace of 4096 records, a recursion 24 deep, as an agent with all methods traced
//! sends it (qa/corpus/zorka has the numbers of the recorded one).
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a bench")]

use std::sync::LazyLock;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use pmdaapm::sources::zorka::wire::body::TraceBody;
use pmdaapm::sources::zorka::wire::{Content, definitions, trace, unwrap};
use test_kit::zorka as kit;

const RECORDS: u32 = 4096;

fn main() {
    divan::main();
}

static FIB: LazyLock<Vec<u8>> = LazyLock::new(|| kit::fib(RECORDS).body);

/// A body of the median length, and of the ordinary kind.
static USUAL: LazyLock<Vec<u8>> =
    LazyLock::new(|| std::fs::read(kit::corpus().join("raw/2.0.3-demo-02-trc.cbor")).unwrap());

static DEFINITIONS: LazyLock<Vec<u8>> =
    LazyLock::new(|| std::fs::read(kit::corpus().join("raw/2.0.3-demo-01-agd.cbor")).unwrap());

/// What any reader of these bytes must do: minicbor walks over them.
#[divan::bench]
fn skip(bencher: Bencher<'_, '_>) {
    let body = &FIB[..];
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
    walk(bencher, &FIB);
}

/// The same of a body of 274 bytes.
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
