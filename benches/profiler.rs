//! Decoding of Java profiler sessions: `cargo bench --bench profiler`. One
//! core, no I/O.
//!
//! `steady` is a capture of a JVM with 4000 calls/s (79249 calls), fed in reads of 64 KiB, as from
//! a socket.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    unreachable_pub,
    reason = "a bench"
)]

use std::sync::{Arc, LazyLock};

use bytes::BytesMut;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use pmdaapm::contract::Session as _;
use pmdaapm::model::{Departure, Now, TreeRules};
use pmdaapm::sources::profiler::{AgentSession, Options};
use pmdaapm::sources::profiler::{
    Block, Call, Dictionary, Interner, KnownWord, Observer, Opened, Pause, Settings, SharedState,
    StreamKind, Streams, TraceEvent, TraceKind,
};
use pmdaapm::store::{Limits, RequestQueue, Store};
use test_kit::{catalogue, profiler as kit};

const READ: usize = 64 << 10;
/// The command RCV_DATA.
const DATA: u8 = 2;

fn main() {
    divan::main();
}

struct Session {
    /// The requests of the agent.
    requests: Vec<u8>,
    calls: usize,
}

fn session(bytes: &[u8]) -> Session {
    of_script(&kit::script(bytes))
}

/// A session whose words come before all else.
fn words_first(bytes: &[u8]) -> Session {
    let mut script = kit::script(bytes);
    let words = script.iter().find(|op| op.opens("dictionary")).unwrap().handle;
    let opened = script.iter().position(|op| op.command == DATA).unwrap();
    script[opened..].sort_by_key(|op| op.command != DATA || op.handle != words);
    of_script(&script)
}

fn of_script(script: &[kit::Op]) -> Session {
    let requests = kit::play(script, Settings::default()).0;
    let mut sums = Sums::default();
    kit::talk(Settings::default(), [&requests[..]], &mut sums).1.unwrap();
    Session { requests, calls: sums.calls as usize }
}

static STEADY: LazyLock<Session> = LazyLock::new(|| session(&capture()));
/// In the capture a quarter of all calls comes before its words, because it is so short.
static NAMED: LazyLock<Session> = LazyLock::new(|| words_first(&capture()));

fn capture() -> Vec<u8> {
    kit::read(&kit::corpus().join("gen.duplex.gz"))
}

/// The start of a real pod: 942 words in 331 KB, 45 calls with many parameters.
static START: LazyLock<Session> =
    LazyLock::new(|| session(&kit::read(&kit::corpus().join("parser.test.protocol.gz"))));

/// An observer with the minimum that metrics need.
#[derive(Default)]
struct Sums {
    calls: u64,
    time: u64,
    cpu: u64,
    memory: u64,
    late: u64,
    enters: u64,
    exits: u64,
    tags: u64,
    blocks: u64,
    paused: u64,
    words: u64,
}

impl Observer for Sums {
    fn call(&mut self, call: &Call<'_>, words: &Dictionary) {
        self.calls += 1;
        self.time += call.duration_ms;
        self.cpu += call.cpu_ms;
        self.memory += call.memory;
        self.late += u64::from(!call.is_named(words));
        let is_error = |id| call.params.has(id);
        self.late += u64::from(words.id_of(KnownWord::Red).is_some_and(is_error));
    }

    fn trace_event(&mut self, _: &Block, event: &TraceEvent<'_>, _: &Dictionary) {
        match event.kind {
            TraceKind::Enter { .. } => self.enters += 1,
            TraceKind::Exit => self.exits += 1,
            TraceKind::Tag { .. } => self.tags += 1,
        }
    }

    fn trace_block_end(&mut self, _: &Block, _: u32) {
        self.blocks += 1;
    }

    fn pause(&mut self, pause: &Pause) {
        self.paused += u64::from(pause.duration_ms);
    }

    fn word(&mut self, _: u32, word: Option<&Arc<str>>, _: &Dictionary) {
        self.words += u64::from(word.is_some());
    }
}

/// A whole connection: commands, acks and all streams.
fn connection(bencher: Bencher<'_, '_>, session: &Session) {
    let interner = Arc::new(Interner::new(64 << 20));
    bencher
        .counter(BytesCount::of_slice(&session.requests))
        .counter(ItemsCount::new(session.calls))
        .bench_local(|| {
            let mut connection = pmdaapm::sources::profiler::Connection::new(
                Settings::default(),
                Arc::clone(&interner),
            );
            let (mut input, mut out, mut sums) =
                (BytesMut::with_capacity(2 * READ), BytesMut::new(), Sums::default());
            for read in session.requests.chunks(READ) {
                input.extend_from_slice(read);
                connection.feed(&mut input, &mut out, &mut sums).unwrap();
                black_box(&out);
                out.clear();
            }
            connection.close(&mut sums);
            assert_eq!(sums.calls as usize, session.calls);
            black_box((
                sums.time,
                sums.cpu,
                sums.memory,
                sums.late,
                sums.enters,
                sums.exits,
                sums.tags,
                sums.blocks,
            ));
            black_box((sums.paused, sums.words));
        });
}

#[divan::bench]
fn steady(bencher: Bencher<'_, '_>) {
    connection(bencher, &STEADY);
}

#[divan::bench]
fn start(bencher: Bencher<'_, '_>) {
    connection(bencher, &START);
}

/// A whole connection as in the PMDA: metrics in the store's cells, rows and streams, and an
/// event record for each call and each chunk.
#[divan::bench]
fn collector(bencher: Bencher<'_, '_>) {
    as_in_the_pmda(bencher, &STEADY, false);
}

/// The same while somebody reads trees.
#[divan::bench]
fn trees(bencher: Bencher<'_, '_>) {
    as_in_the_pmda(bencher, &STEADY, true);
}

/// The same with calls whose words are known, as all are after the first seconds.
#[divan::bench]
fn named(bencher: Bencher<'_, '_>) {
    as_in_the_pmda(bencher, &NAMED, false);
}

/// The same while somebody reads trees.
#[divan::bench]
fn named_trees(bencher: Bencher<'_, '_>) {
    as_in_the_pmda(bencher, &NAMED, true);
}

fn as_in_the_pmda(bencher: Bencher<'_, '_>, session: &Session, trees: bool) {
    let store = Store::new(catalogue(), 400, Limits::default(), 32 << 20);
    let shared = Arc::new(SharedState::new(64 << 20));
    shared.set_trees(TreeRules { always: trees, ..TreeRules::default() });
    bencher
        .counter(BytesCount::of_slice(&session.requests))
        .counter(ItemsCount::new(session.calls))
        .bench_local(|| {
            let requests = Arc::new(RequestQueue::new(|| ()));
            let mut peer = store.peer_of(store.catalogue().id("profiler").unwrap(), &requests);
            let mut collector =
                AgentSession::new("127.0.0.1:9".into(), Options::default(), Arc::clone(&shared));
            let (mut input, mut out, now) =
                (BytesMut::with_capacity(2 * READ), BytesMut::new(), Now::default());
            for read in session.requests.chunks(READ) {
                input.extend_from_slice(read);
                // CLOSE ends the session.
                let _ = collector.feed(now, &mut input, &mut out, &mut peer);
                peer.flush();
                out.clear();
            }
            collector.close(now, &mut out, &mut peer);
            peer.finish(false, Departure::default());
        });
    let calls = store.peers().iter().filter_map(|p| p.cells.get(0)).sum::<u64>();
    assert!(
        calls > 0 && calls.is_multiple_of(session.calls as u64),
        "{calls} calls of {}",
        session.calls
    );
}

/// One stream of the steady session alone, in the recorded payloads.
#[divan::bench(args = ["calls", "trace", "xml"])]
fn stream(bencher: Bencher<'_, '_>, name: &str) {
    one_stream(bencher, &STEADY, name);
}

/// A dictionary. `false`: no other pod has its words; `true`: another pod has all of them.
#[divan::bench(args = [false, true])]
fn dictionary(bencher: Bencher<'_, '_>, shared: bool) {
    let payloads = payloads(&START, "dictionary");
    let interner = Arc::new(Interner::new(64 << 20));
    let _first = decode(&payloads, "dictionary", &interner);
    let bytes: usize = payloads.iter().map(Vec::len).sum();
    bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(942usize)).bench_local(|| {
        let interner =
            if shared { Arc::clone(&interner) } else { Arc::new(Interner::new(64 << 20)) };
        assert_eq!(decode(&payloads, "dictionary", &interner).dictionary().len(), 942);
    });
}

/// Recorded payloads of one stream's files.
fn payloads(session: &Session, name: &str) -> Vec<Vec<u8>> {
    use pmdaapm::sources::profiler::{Dialogue, Event};
    let mut transport = Dialogue::new(Settings::default());
    let (mut wanted, mut payloads) = (usize::MAX, Vec::new());
    let (mut input, mut out) = (BytesMut::from(&session.requests[..]), BytesMut::new());
    transport
        .feed(&mut input, &mut out, &mut |event| match event {
            Event::Opened(o) if o.name == name && !o.again => wanted = o.stream,
            // Only the first file, so that one decoder reads it.
            Event::Opened(o) if o.name == name => wanted = usize::MAX,
            Event::Data { stream, payload } if stream == wanted => payloads.push(payload.to_vec()),
            _ => {}
        })
        .unwrap();
    payloads
}

fn decode(payloads: &[Vec<u8>], name: &str, interner: &Arc<Interner>) -> Streams {
    let (mut pod, mut sums) = (Streams::new(Arc::clone(interner)), Sums::default());
    let kind = StreamKind::of(name);
    let opened = Opened {
        stream: 0,
        name,
        kind,
        handle: [1; 16],
        requested: 0,
        sequence: 0,
        reset: false,
        again: false,
        rotation_period_ms: 0,
        rotation_size: 0,
    };
    pod.open(&opened, &mut sums);
    payloads.iter().for_each(|p| pod.data(0, p, &mut sums));
    assert!(!pod.all()[0].is_corrupt());
    black_box((
        sums.calls,
        sums.time,
        sums.late,
        sums.enters,
        sums.exits,
        sums.tags,
        sums.blocks,
        sums.paused,
    ));
    pod
}

fn one_stream(bencher: Bencher<'_, '_>, session: &Session, name: &str) {
    let payloads = payloads(session, name);
    let interner = Arc::new(Interner::new(64 << 20));
    let bytes: usize = payloads.iter().map(Vec::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| decode(&payloads, name, &interner));
}
