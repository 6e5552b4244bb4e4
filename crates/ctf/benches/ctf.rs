//! Events a second of `ctf`, beside babeltrace2 and babeltrace 1 on the same traces when they are
//! installed:
//!
//! ```text
//! CTF_TRACES=/tmp/big-tick:/tmp/big-all cargo bench -p ctf
//! ```
//!
//! Without CTF_TRACES the largest available capture is used. Every field of every event is decoded
//! and added to a sum, of texts the length and the last byte. `streams`: one stream after the other,
//! from memory. `files`: the same, and every packet is read from its file. `merged`: in time order,
//! from memory. `threads`: a thread for each trace and processor, each with its share of the packets.
//! `lent` and `cloned`: the records of a session, from files in time order.
//!
//! With `-- --ratio [ROUNDS]` ours and the others run alternately, and the medians of CPU time, of
//! time, and of the rounds' ratios are printed. The others read the files, which are in the page
//! cache, and decode every field, too.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

use std::fs::File;
use std::io::Read;

use ctf::fs::{Session, StreamFiles, TraceFiles};
use ctf::{
    DiscardTracker, Discarded, Event, EventVisitor, Merge, MergeVisitor, NodeId, Packed, Packet,
    PacketError, Stream, Trace, Visitor,
};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

/// Bytes in which the size of a packet is.
const PREFIX: usize = 4096;

#[path = "../../../benches/lttng_kit/peers.rs"]
mod peers;

fn main() {
    match peers::rounds() {
        Some(rounds) => {
            let ours: [peers::Ours<Vec<Loaded>>; 6] = [
                ("streams", |traces| {
                    black_box(streams(traces));
                }),
                ("files", |traces| {
                    black_box(files(traces));
                }),
                ("merged", |traces| {
                    black_box(merged(traces));
                }),
                ("threads", |traces| {
                    black_box(threads(traces));
                }),
                ("lent", |traces| {
                    black_box(lent(traces));
                }),
                ("cloned", |traces| {
                    black_box(cloned(traces));
                }),
            ];
            peers::ratio(rounds, load, &ours);
        }
        None => divan::main(),
    }
}

/// A trace, the files of its streams and their bytes.
struct Loaded {
    /// All traces; of the first one only.
    session: Option<Session>,
    trace: Trace,
    files: Vec<StreamFiles>,
    streams: Vec<Vec<u8>>,
}

fn load(dir: &str) -> Vec<Loaded> {
    let session = Session::open(dir).unwrap();
    let whole = |stream: &StreamFiles| {
        stream.paths.iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
    };
    let load = |files: &TraceFiles| Loaded {
        session: None,
        trace: files.trace.clone(),
        files: files.streams.clone(),
        streams: files.streams.iter().map(whole).collect(),
    };
    let mut traces: Vec<Loaded> = session.traces().iter().map(load).collect();
    if let Some(first) = traces.first_mut() {
        first.session = Some(session);
    }
    traces
}

/// Adds up all values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    sum: u64,
    events: usize,
}

impl<'a> Visitor<'a> for Sum {
    #[inline]
    fn unsigned(&mut self, _: NodeId, value: u64) {
        self.sum = self.sum.wrapping_add(value);
    }

    #[inline]
    fn signed(&mut self, _: NodeId, value: i64) {
        self.sum = self.sum.wrapping_add(value.cast_unsigned());
    }

    #[inline]
    fn float(&mut self, _: NodeId, value: f64) {
        self.sum = self.sum.wrapping_add(value.to_bits());
    }

    #[inline]
    fn string(&mut self, _: NodeId, value: &'a [u8]) {
        let last = value.last().copied().unwrap_or_default();
        self.sum = self.sum.wrapping_add(value.len() as u64 * 257 + u64::from(last));
    }

    #[inline]
    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.string(node, value);
    }

    #[inline]
    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        items.each(node.next(), self);
    }
}

impl<'t, 'a> MergeVisitor<'t, 'a> for Sum {
    fn packet(&mut self, _: usize, _: &Packet<'t, 'a>, _: Discarded) {}

    fn fault(&mut self, _: usize, fault: &PacketError) {
        panic!("{fault}");
    }

    #[inline]
    fn event(&mut self, _: usize, event: &Event<'t>, nanoseconds: Option<i128>) {
        self.sum = self.sum.wrapping_add(event.cycles ^ u64::from(nanoseconds.is_some()));
    }

    #[inline]
    fn done(&mut self, _: usize) {
        self.events += 1;
    }
}

impl<'t> EventVisitor<'t, '_> for Sum {
    #[inline]
    fn event(&mut self, event: &Event<'t>) -> bool {
        MergeVisitor::event(self, 0, event, Some(0));
        true
    }

    #[inline]
    fn done(&mut self) {
        MergeVisitor::done(self, 0);
    }
}

/// Reads a packet. Returns its size in bytes and the stream's clock after it.
fn packet(trace: &Trace, bytes: &[u8], clock: u64, sum: &mut Sum) -> (usize, u64) {
    let mut packet = Packet::open(trace, bytes, clock).unwrap();
    packet.read(sum).unwrap();
    (usize::try_from(packet.info().packet_bits / 8).unwrap(), packet.clock())
}

fn stream(trace: &Trace, bytes: &[u8]) -> Sum {
    let (mut sum, mut at, mut clock) = (Sum::default(), 0, 0);
    while at < bytes.len() {
        let (size, after) = packet(trace, &bytes[at..], clock, &mut sum);
        (at, clock) = (at + size, after);
    }
    sum
}

fn streams(traces: &[Loaded]) -> Sum {
    let mut whole = Sum::default();
    for loaded in traces {
        for bytes in &loaded.streams {
            let sum = stream(&loaded.trace, bytes);
            whole = Sum { sum: whole.sum.wrapping_add(sum.sum), events: whole.events + sum.events };
        }
    }
    whole
}

fn files(traces: &[Loaded]) -> Sum {
    let (mut sum, mut bytes) = (Sum::default(), Vec::new());
    for loaded in traces {
        for path in loaded.files.iter().flat_map(|stream| &stream.paths) {
            let (mut file, mut clock, mut here) = (File::open(path).unwrap(), 0, 0);
            let mut fill = |bytes: &mut Vec<u8>, mut here: usize, wanted: usize| {
                bytes.resize(wanted.max(bytes.len()), 0);
                while here < wanted {
                    match file.read(&mut bytes[here..wanted]).unwrap() {
                        0 => break,
                        read => here += read,
                    }
                }
                here
            };
            loop {
                here = fill(&mut bytes, here, PREFIX);
                if here == 0 {
                    break;
                }
                let size = Packet::size(&loaded.trace, &bytes[..here]).unwrap().unwrap();
                let size = usize::try_from(size).unwrap();
                here = fill(&mut bytes, here, size);
                (_, clock) = packet(&loaded.trace, &bytes[..here], clock, &mut sum);
                bytes.copy_within(size..here, 0);
                here -= size;
            }
        }
    }
    sum
}

fn merged(traces: &[Loaded]) -> Sum {
    let streams =
        traces.iter().flat_map(|l| l.streams.iter().map(|bytes| Stream::new(&l.trace, bytes)));
    let (mut merge, mut sum) = (Merge::new(streams.collect()), Sum::default());
    merge.run(&mut sum);
    sum
}

/// Records that are used again; the number of them.
fn lent(traces: &[Loaded]) -> usize {
    let mut count = 0;
    for session in traces.iter().filter_map(|loaded| loaded.session.as_ref()) {
        let mut records = session.records();
        while let Some(record) = records.read().unwrap() {
            black_box(record);
            count += 1;
        }
    }
    count
}

/// Records of their own; the number of them.
fn cloned(traces: &[Loaded]) -> usize {
    let mut count = 0;
    for session in traces.iter().filter_map(|loaded| loaded.session.as_ref()) {
        // Not by `flat_map`, which moves each record once more.
        for record in session.records() {
            black_box(record.unwrap());
            count += 1;
        }
    }
    count
}

/// Offset and length of each packet. Any order of decoding works, since each has its clock.
fn packets(trace: &Trace, bytes: &[u8]) -> Vec<(usize, usize)> {
    let (mut all, mut at, mut losses) = (Vec::new(), 0, DiscardTracker::default());
    while at < bytes.len() {
        let packet = Packet::open(trace, &bytes[at..], 0).unwrap();
        losses.packet(packet.info());
        let length = usize::try_from(packet.info().packet_bits / 8).unwrap();
        all.push((at, length));
        at += length;
    }
    all
}

fn threads(traces: &[Loaded]) -> Sum {
    let mut jobs = Vec::new();
    for loaded in traces {
        for bytes in &loaded.streams {
            jobs.extend(
                packets(&loaded.trace, bytes)
                    .into_iter()
                    .map(|(at, length)| (&loaded.trace, &bytes[at..at + length])),
            );
        }
    }
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let share = jobs.len().div_ceil(workers).max(1);
    std::thread::scope(|scope| {
        let work = |jobs: &[(&Trace, &[u8])]| {
            jobs.iter().map(|(trace, bytes)| stream(trace, bytes)).fold(Sum::default(), |a, b| {
                Sum { sum: a.sum.wrapping_add(b.sum), events: a.events + b.events }
            })
        };
        let running: Vec<_> =
            jobs.chunks(share).map(|jobs| scope.spawn(move || work(jobs))).collect();
        running.into_iter().map(|t| t.join().unwrap()).fold(Sum::default(), |a, b| Sum {
            sum: a.sum.wrapping_add(b.sum),
            events: a.events + b.events,
        })
    })
}

fn measure(bencher: Bencher<'_, '_>, dir: &str, read: fn(&[Loaded]) -> Sum) {
    let traces = load(dir);
    let expected = streams(&traces);
    assert_eq!(read(&traces), expected);
    bencher.counter(ItemsCount::new(expected.events)).bench_local(|| read(black_box(&traces)));
}

#[divan::bench(args = peers::dirs(), sample_count = 5, sample_size = 1)]
fn a_streams(bencher: Bencher<'_, '_>, dir: &str) {
    measure(bencher, dir, streams);
}

#[divan::bench(args = peers::dirs(), sample_count = 5, sample_size = 1)]
fn b_merged(bencher: Bencher<'_, '_>, dir: &str) {
    measure(bencher, dir, merged);
}

#[divan::bench(args = peers::dirs(), sample_count = 5, sample_size = 1)]
fn c_threads(bencher: Bencher<'_, '_>, dir: &str) {
    measure(bencher, dir, threads);
}

fn events(dir: &str) -> u64 {
    streams(&load(dir)).events as u64
}

#[divan::bench(args = peers::dirs(), sample_count = 3, sample_size = 1)]
fn d_babeltrace2(bencher: Bencher<'_, '_>, dir: &str) {
    peers::peer(bencher, peers::BABELTRACE2, dir, events);
}

#[divan::bench(args = peers::dirs(), sample_count = 3, sample_size = 1)]
fn e_babeltrace1(bencher: Bencher<'_, '_>, dir: &str) {
    peers::peer(bencher, peers::BABELTRACE1, dir, events);
}
