//! Events per second of `sources::lttng`: from the bytes that a relay daemon sends to packed
//! records in the stream of a store, compared with babeltrace2 and babeltrace 1 on the same traces
//! if they are installed:
//!
//! ```text
//! CTF_TRACES=/tmp/big-tick:/tmp/big-all cargo bench --bench lttng
//! ```
//!
//! Without CTF_TRACES a capture is read. A relay daemon within this process reads packets from
//! their files, in pieces as from a socket, and passes them to the whole collector. `records`:
//! every event becomes a record, and nobody reads them. `one_client`: a client fetches after each
//! reply, with the limits of the PMDA: 1,000 records. `all_read`: it fetches until it has all
//! records. `counted`: events are only counted. `two_threads`: two relay daemons,
//! with one half of the packets each, and their collectors.
//!
//! With `-- --ratio [ROUNDS]` this reader and the others run in turn, and the median ratio of the
//! rounds is printed. `--once records DIR` (or `client`, `read`, `counted`) reads once without
//! measuring, for perf, callgrind and peak memory. `--once sum DIR` prints the counts and a sum of
//! all bytes of all records, to compare with another version's.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a bench"
)]

#[path = "lttng_kit/peers.rs"]
mod peers;
#[path = "lttng_kit/relayd.rs"]
mod relayd;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pmdaapm::events::{self, ReadRequest, Resolutions};
use pmdaapm::model::{EventKindId, Now, Pmid, Stamp};
use pmdaapm::sources::lttng::viewer::{Pattern, Settings};
use pmdaapm::sources::lttng::{Collector, Protocol, RecordFilter};
use pmdaapm::store::{Limits, Store};
use relayd::{Recorded, Relayd};
use test_kit::catalogue;

/// Memory of all event streams.
const BUDGET: usize = 32 << 20;
/// Most bytes of one read from the socket.
const PIECE: usize = 256 << 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--once") {
        let (what, dir) = (arguments.next().unwrap(), arguments.next().unwrap());
        let recorded = Recorded::load(&dir);
        // Resets the peak: the packets were in memory to be counted.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        if what == "sum" {
            return sum(&recorded);
        }
        let records = match what.as_str() {
            "records" => collect(&recorded, RecordFilter::default()),
            "client" => one_client(&recorded),
            "read" => all_read(&recorded),
            _ => collect(&recorded, counted()),
        };
        println!("{dir}: {records} records; {}", peak());
        return;
    }
    match peers::rounds() {
        Some(rounds) => {
            let ours: [peers::Ours<Recorded>; 5] = [
                ("records", |recorded| {
                    black_box(collect(recorded, RecordFilter::default()));
                }),
                ("one client", |recorded| {
                    black_box(one_client(recorded));
                }),
                ("all read", |recorded| {
                    black_box(all_read(recorded));
                }),
                ("two threads", |recorded| {
                    black_box(collect_by_two(recorded));
                }),
                ("counted", |recorded| {
                    black_box(collect(recorded, counted()));
                }),
            ];
            peers::ratio(rounds, Recorded::load, &ours);
        }
        None => divan::main(),
    }
}

/// Prints a sum of the bytes of all records.
fn sum(recorded: &Recorded) {
    let store = Store::new(catalogue(), 400, Limits::default(), 2 << 30);
    connection(&store, recorded, 0, 1, RecordFilter::default(), |_| ());
    for peer in store.peers().iter() {
        let Some(stream) = peer.existing_stream(EventKindId::new(0)) else { continue };
        let mut sum = 0_u64;
        loop {
            let delivery = stream.read(1, &request(ALL));
            // The header of an array has the number of its records.
            for byte in delivery.high.iter().flat_map(|array| array.iter().skip(8)) {
                sum = (sum.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
            }
            if delivery.records == 0 {
                break;
            }
        }
        println!("{:?}, sum {sum:x}", stream.stats());
    }
}

/// Peak memory of this process.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default().to_owned()
}

fn counted() -> RecordFilter {
    RecordFilter { records: Vec::new(), ..RecordFilter::default() }
}

fn at(monotonic: Duration) -> Now {
    Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, monotonic }
}

/// A whole connection, until the relay daemon has no more replies.
fn connection(
    store: &Arc<Store>,
    recorded: &Recorded,
    share: usize,
    shares: usize,
    filter: RecordFilter,
    mut after_packet: impl FnMut(&Store),
) {
    let settings = Settings { patterns: vec![Pattern::parse("*").unwrap()], ..Settings::default() };
    let address = format!("127.0.0.1:{share}");
    let mut collector = Collector::new(
        &address,
        settings,
        filter,
        store.peer_maker(store.catalogue().id("lttng").unwrap(), false),
        Arc::default(),
    );
    let mut relayd = Relayd::new(recorded, share, shares);
    let (mut out, mut input, mut now) = (BytesMut::new(), BytesMut::new(), Duration::from_secs(1));
    let mut reply = Vec::new();
    collector.start(at(now), &mut out);
    while out.len() >= 16 {
        let (length, command) = (out.get_u64() as usize, out.get_u32());
        out.advance(4);
        relayd.reply(command, &out.split_to(length), &mut reply);
        input.extend_from_slice(&reply);
        collector.feed(at(now), &mut input, &mut out).unwrap();
    }
    let (mut reader, ()) = collector.due(at(now), || Some(())).remove(0);
    reader.start(at(now), &mut out);
    while !reader.is_over() {
        while out.len() >= 16 {
            let (length, command) = (out.get_u64() as usize, out.get_u32());
            out.advance(4);
            let body = out.split_to(length);
            relayd.reply(command, &body, &mut reply);
            // A read from a socket copies, too.
            let mut left = relayd.packet(&mut input, &reply, PIECE);
            reader.feed(at(now), &mut input, &mut out).unwrap();
            while left > 0 {
                left -= relayd.more(&mut input, left.min(PIECE));
                reader.feed(at(now), &mut input, &mut out).unwrap();
            }
            after_packet(store);
        }
        now = now.max(reader.next_wakeup().unwrap());
        reader.tick(at(now), &mut out).unwrap();
    }
    collector.ended(at(now), reader.close(at(now), "the end"));
}

fn records(store: &Store) -> u64 {
    store
        .peers()
        .iter()
        .filter_map(|p| Some(p.existing_stream(EventKindId::new(0))?.stats().count))
        .sum()
}

fn collect(recorded: &Recorded, filter: RecordFilter) -> u64 {
    let store = Store::new(catalogue(), 400, Limits::default(), BUDGET);
    connection(&store, recorded, 0, 1, filter, |_| ());
    records(&store)
}

/// Bytes of one delivery, as of the PMDA.
const DELIVERY: usize = 8 << 20;
/// The limits of the PMDA for a client that fetches at least once a second.
const ONE_CLIENT: events::Limits =
    events::Limits { rate: 1 << 20, ..events::Limits::new(1000, DELIVERY) };
/// No limit of the records.
const ALL: events::Limits = events::Limits::new(usize::MAX, DELIVERY);

/// A client's request of records in high resolution.
fn request(limits: events::Limits) -> ReadRequest<'static> {
    ReadRequest::new(Resolutions { low: false, high: true }, limits, Pmid::new(400, 0, 0))
}

/// Reads with one client that fetches `times` after each packet, or until there are no more records.
/// Returns the number of records that it got.
fn deliver(recorded: &Recorded, limits: events::Limits, times: usize) -> u64 {
    let store = Store::new(catalogue(), 400, Limits::default(), BUDGET);
    let request = request(limits);
    let mut got = 0;
    connection(&store, recorded, 0, 1, RecordFilter::default(), |store| {
        for peer in store.peers().iter() {
            let Some(stream) = peer.existing_stream(EventKindId::new(0)) else { continue };
            got += (0..times)
                .map(|_| black_box(stream.read(1, &request)).records as u64)
                .take_while(|records| *records > 0)
                .sum::<u64>();
        }
    });
    got
}

fn one_client(recorded: &Recorded) -> u64 {
    deliver(recorded, ONE_CLIENT, 1)
}

fn all_read(recorded: &Recorded) -> u64 {
    deliver(recorded, ALL, usize::MAX)
}

fn collect_by_two(recorded: &Recorded) -> u64 {
    let store = Store::new(catalogue(), 400, Limits::default(), BUDGET);
    std::thread::scope(|scope| {
        for share in 0..2 {
            let store = &store;
            scope.spawn(move || {
                connection(store, recorded, share, 2, RecordFilter::default(), |_| ());
            });
        }
    });
    records(&store)
}

fn measure(
    bencher: Bencher<'_, '_>,
    dir: &str,
    run: impl Fn(&Recorded) -> u64,
    expected: impl Fn(&Recorded) -> u64,
) {
    let recorded = Recorded::load(dir);
    assert_eq!(run(&recorded), expected(&recorded), "records of {dir}");
    bencher.counter(ItemsCount::new(recorded.events)).bench_local(|| run(black_box(&recorded)));
}

#[divan::bench(args = peers::dirs(), sample_count = 5, sample_size = 1)]
fn a_records(bencher: Bencher<'_, '_>, dir: &str) {
    measure(
        bencher,
        dir,
        |recorded| collect(recorded, RecordFilter::default()),
        |recorded| recorded.events,
    );
}

#[divan::bench(args = peers::dirs(), sample_count = 5, sample_size = 1)]
fn b_two_threads(bencher: Bencher<'_, '_>, dir: &str) {
    measure(bencher, dir, collect_by_two, |recorded| recorded.events);
}

#[divan::bench(args = peers::dirs(), sample_count = 5, sample_size = 1)]
fn c_counted(bencher: Bencher<'_, '_>, dir: &str) {
    measure(bencher, dir, |recorded| collect(recorded, counted()), |_| 0);
}

#[divan::bench(args = peers::dirs(), sample_count = 5, sample_size = 1)]
fn f_all_read(bencher: Bencher<'_, '_>, dir: &str) {
    measure(bencher, dir, all_read, |recorded| recorded.events);
}

#[divan::bench(args = peers::dirs(), sample_count = 3, sample_size = 1)]
fn d_babeltrace2(bencher: Bencher<'_, '_>, dir: &str) {
    peers::peer(bencher, peers::BABELTRACE2, dir, |dir| Recorded::load(dir).events);
}

#[divan::bench(args = peers::dirs(), sample_count = 3, sample_size = 1)]
fn e_babeltrace1(bencher: Bencher<'_, '_>, dir: &str) {
    peers::peer(bencher, peers::BABELTRACE1, dir, |dir| Recorded::load(dir).events);
}
