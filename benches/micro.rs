//! The inner loops: event streams and the Mono decoder. `cargo bench --bench micro`.

use bytes::{Buf, BytesMut};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use pmdaapm::contract::{Peer, PeerMaker, Session};
use pmdaapm::events::{self, Batch, Budget, ReadRequest, Resolutions, Stream, flags};
use pmdaapm::model::{Now, Pmid, Stamp, ValueType};
use pmdaapm::sources::mono;
use pmdaapm::store::{Limits, Store};
use test_kit::catalogue;

mod mono_kit;

use mono_kit::{CAPTURE, session};

const CAPTURED_VALUES: usize = 1225;
const STAMP: Stamp = Stamp { sec: 1_795_000_000, nsec: 123_456_789 };
const MEMORY: usize = 32 << 20;

fn main() {
    divan::main();
}

/// The record of docs/protocols/pcp-figures.md section 1: U32, U64, DOUBLE, a STRING of 24 bytes,
/// 64.
fn put_record(batch: &mut Batch, n: u64) {
    batch.record(STAMP, flags::POINT);
    batch.number(Pmid(1), ValueType::U32, n & 0xffff_ffff);
    batch.number(Pmid(2), ValueType::U64, n);
    batch.number(Pmid(3), ValueType::F64, 0.25_f64.to_bits());
    batch.text(Pmid(4), black_box("twenty-four bytes of text"[..24].as_ref()));
    batch.number(Pmid(5), ValueType::I64, n);
}

/// Packing alone: the cost to a session of each record of a read.
#[divan::bench(args = [1, 100], sample_size = 100)]
fn pack(bencher: Bencher<'_, '_>, records: u64) {
    let mut batch = Batch::default();
    bencher.counter(ItemsCount::new(records)).bench_local(|| {
        (0..records).for_each(|n| put_record(&mut batch, black_box(n)));
        batch.clear();
    });
}

/// Packing and appending to a stream that is full, so that every record also drops one.
#[divan::bench(args = [1, 100], sample_size = 100)]
fn append(bencher: Bencher<'_, '_>, records: u64) {
    let stream = Stream::new(&Budget::new(1 << 20));
    let mut batch = Batch::default();
    (0..10_000).for_each(|n| put_record(&mut batch, n));
    stream.append(&mut batch);
    bencher.counter(ItemsCount::new(records)).bench_local(|| {
        (0..records).for_each(|n| put_record(&mut batch, black_box(n)));
        stream.append(&mut batch);
    });
}

/// 1000 records for a context that has seen none of them.
#[divan::bench(args = ["low", "high", "both"], sample_size = 10)]
fn read_1000(bencher: Bencher<'_, '_>, resolution: &str) {
    const RECORDS: usize = 1000;
    let stream = Stream::new(&Budget::new(MEMORY));
    let mut batch = Batch::default();
    (0..RECORDS as u64).for_each(|n| put_record(&mut batch, n));
    stream.append(&mut batch);
    let want = Resolutions { low: resolution != "high", high: resolution != "low" };
    let limits = events::Limits::new(RECORDS, 1 << 20);
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        let delivery = stream.read(1, &ReadRequest::new(want, limits, Pmid(9)));
        assert_eq!(delivery.records, RECORDS);
        stream.forget(1);
    });
}

/// A turn of the driver: its end brings what was counted to the store.
fn feed(session: &mut mono::Inspector, bytes: &[u8], peer: &mut Peer) {
    let (mut input, mut out) = (BytesMut::from(bytes), BytesMut::new());
    let result = session.feed(Now { wall: STAMP, ..Now::default() }, &mut input, &mut out, peer);
    peer.flush();
    assert!(result.is_ok() && input.is_empty(), "{result:?}, {} bytes left", input.len());
}

/// Makes peers of a store.
fn maker() -> PeerMaker {
    let store = Store::new(catalogue(), 400, Limits::default(), MEMORY);
    store.peer_maker(catalogue().id("mono").expect("built in"), false)
}

/// Bytes of Hello at the front of the capture.
fn hello() -> usize {
    let mut rest = CAPTURE;
    rest.advance(3);
    for _ in 0..rest.get_u16_le() {
        rest.advance(4);
        let name = rest.get_u32_le() as usize;
        rest.advance(name + 3 * 4 + 2);
    }
    CAPTURE.len() - rest.len()
}

/// A whole connection: detection, Hello with 185 names, 22 samples.
#[divan::bench]
fn mono_connection(bencher: Bencher<'_, '_>) {
    let maker = maker();
    bencher
        .counter(BytesCount::of_slice(CAPTURE))
        .with_inputs(|| (session(9), maker.make()))
        .bench_local_values(|(mut session, mut peer)| feed(&mut session, CAPTURE, &mut peer));
}

/// The samples of a connection that is under way.
#[divan::bench(sample_size = 10)]
fn mono_samples(bencher: Bencher<'_, '_>) {
    let (mut session, mut peer) = (session(9), maker().make());
    let (hello, samples) = CAPTURE.split_at(hello());
    let mut call = |bytes| feed(&mut session, bytes, &mut peer);
    // Fed before the measurement, so that the dialect and the peer are known.
    call(hello);
    call(samples);
    bencher
        .counter(BytesCount::of_slice(samples))
        .counter(ItemsCount::new(CAPTURED_VALUES))
        .bench_local(|| call(samples));
}
