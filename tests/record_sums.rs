//! The bytes of the event records of captures never change unnoticed: a faster way to pack them is
//! the same way. `tests/record_sums.txt` has a line for each capture and kind of events: number of
//! records, their bytes in high resolution, CRC-32 of these.
//!
//! `RECORD_SUMS=write cargo test --test record_sums` writes the file, for a change that is meant.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test"
)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use flate2::Crc;
use flate2::read::MultiGzDecoder;
use pmdaapm::contract::Identity;
use pmdaapm::contract::http::{ConnectionId, HttpService, Request};
use pmdaapm::contract::{Peer, Session};
use pmdaapm::events::{Limits, Pmid, ReadRequest, Resolutions};
use pmdaapm::model::{Departure, EventKindId, Now, SourceId, Stamp};
use pmdaapm::sources::dotnet::stream::{Parts, Stream as DotnetStream, Ticks};
use pmdaapm::sources::mono::{Inspector, Origin, Settings, Stream as MonoStream};
use pmdaapm::sources::profiler::{
    AgentSession, Options, Settings as ProfilerSettings, SharedState,
};
use pmdaapm::sources::zorka::collector::Collector;
use pmdaapm::sources::{dotnet, zorka};
use pmdaapm::store::{self, RequestQueue, Store};
use test_kit::{catalogue, dotnet as dotnet_kit, profiler as profiler_kit, zorka as zorka_kit};

/// Bytes fed at once.
const PIECE: usize = 16 << 10;
/// Bytes of a `pmHighResEventArray` before its records.
const HEADER: usize = 8;
/// The parameter of missed records, of which there are none.
const LOST: Pmid = Pmid(0);

const NOW: Now =
    Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, monotonic: Duration::from_secs(1000) };

/// When the captures of the Java profiler were over: their pauses are not of the future.
const LATER: Now = Now { wall: Stamp { sec: 1_795_300_000, nsec: 0 }, ..NOW };

fn after(now: Now, second: usize) -> Now {
    let seconds = Duration::from_secs(second as u64);
    Now {
        wall: Stamp { sec: now.wall.sec + second as i64, ..now.wall },
        monotonic: now.monotonic + seconds,
    }
}

/// The streams of a store, read to their ends again and again.
struct Recorder {
    store: Arc<Store>,
    source: SourceId,
    /// Of each kind of events: records read and their bytes.
    kinds: Vec<(u64, Crc)>,
}

impl Recorder {
    fn new(source: &str) -> Self {
        let store = Store::new(catalogue(), 400, store::Limits::default(), 256 << 20);
        let source = store.catalogue().id(source).unwrap();
        Self { store, source, kinds: Vec::new() }
    }

    fn peer(&self) -> Peer {
        self.store.peer_of(self.source, &Arc::new(RequestQueue::new(|| ())))
    }

    /// Reads what is new.
    fn read(&mut self) {
        let high = Resolutions { low: false, high: true };
        let request = ReadRequest::new(high, Limits::new(usize::MAX, usize::MAX), LOST);
        self.kinds.resize_with(16, Default::default);
        for peer in self.store.peers() {
            for (id, (taken, sum)) in self.kinds.iter_mut().enumerate() {
                let Some(stream) = peer.existing_stream(EventKindId::new(id as u8)) else {
                    continue;
                };
                let delivery = stream.read(1, &request);
                assert_eq!(delivery.missed, 0, "the ring was too small");
                *taken += delivery.records as u64;
                sum.update(&delivery.high.unwrap()[HEADER..]);
            }
        }
    }

    /// A line for each kind that has records.
    fn lines(&self, capture: &str, lines: &mut String) {
        for (id, (count, sum)) in self.kinds.iter().enumerate().filter(|(_, kind)| kind.0 > 0) {
            writeln!(lines, "{capture} {id} {count} {} {:08x}", sum.amount(), sum.sum()).unwrap();
        }
    }
}

/// Feeds a session in pieces, with a second after the last.
fn talk(recorder: &mut Recorder, now: Now, mut session: impl Session, bytes: &[u8]) {
    let mut peer = recorder.peer();
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    for piece in bytes.chunks(PIECE) {
        input.extend_from_slice(piece);
        let fed = session.feed(now, &mut input, &mut out, &mut peer);
        peer.flush();
        recorder.read();
        if fed.is_err() {
            break;
        }
    }
    for second in 1..5 {
        let _ = session.tick(after(now, second), &mut out, &mut peer);
        peer.flush();
        recorder.read();
    }
    session.close(after(now, 5), &mut out, &mut peer);
    peer.flush();
    recorder.read();
    peer.finish(false, Departure::default());
}

/// Files of a folder by name, that end so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    files.sort();
    assert!(!files.is_empty(), "no file {end} in {}", folder.display());
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn mono(lines: &mut String) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/mono");
    let origin = || Origin { address: "file:/x".into(), fallback: "x".into(), ..Origin::default() };
    for path in files(&corpus, ".bin") {
        let mut recorder = Recorder::new("mono");
        let session = Inspector::new(origin(), Settings::default());
        talk(&mut recorder, NOW, session, &fs::read(&path).unwrap());
        recorder.lines(&format!("mono/{}", name(&path)), lines);
    }
    for path in [files(&corpus.join("mlpd"), ".mlpd"), files(&corpus.join("mlpd"), ".gz")].concat()
    {
        let mut bytes = Vec::new();
        if path.extension().is_some_and(|end| end == "gz") {
            MultiGzDecoder::new(File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
        } else {
            bytes = fs::read(&path).unwrap();
        }
        let mut recorder = Recorder::new("mono");
        let settings = Settings { one_way: true, ..Settings::default() };
        let session = MonoStream::new(origin(), settings, || 0);
        talk(&mut recorder, NOW, session, &bytes);
        recorder.lines(&format!("mono/{}", name(&path)), lines);
    }
}

fn profiler(lines: &mut String) {
    let corpus = profiler_kit::corpus();
    for path in [files(&corpus, ".duplex"), files(&corpus, ".gz")].concat() {
        let script = profiler_kit::script(&profiler_kit::read(&path));
        let requests = profiler_kit::play(&script, ProfilerSettings::default()).0;
        let mut recorder = Recorder::new("profiler");
        let shared = Arc::new(SharedState::new(64 << 20));
        let session = AgentSession::new("127.0.0.1:9".into(), Options::default(), shared);
        talk(&mut recorder, LATER, session, &requests);
        recorder.lines(&format!("profiler/{}", name(&path)), lines);
    }
}

/// Definitions and traces of one agent, in the order of their names, and a large trace.
fn zorka(lines: &mut String) {
    let raw = files(&zorka_kit::corpus().join("raw"), ".cbor");
    let of = |agent: &str| {
        let bodies = raw.iter().filter(|path| name(path).starts_with(agent));
        bodies.map(|path| (name(path).contains("-agd"), fs::read(path).unwrap())).collect()
    };
    let fib = zorka_kit::fib(4096);
    let agents: [(&str, Vec<_>); 4] = [
        ("1.90.6-demo", of("1.90.6-demo")),
        ("1.90.6-streaming", of("1.90.6-streaming")),
        ("2.0.3-demo", of("2.0.3-demo")),
        ("fib", vec![(true, fib.definitions), (false, fib.body)]),
    ];
    for (agent, bodies) in agents {
        let mut recorder = Recorder::new("zorka");
        let maker = recorder.store.peer_maker(recorder.source, false);
        let memory = Arc::clone(&recorder.store.memory);
        let collector = Collector::new(&zorka::Config::default(), maker, memory, "").unwrap();
        for (request, (definitions, body)) in bodies.iter().enumerate() {
            let id = format!("{request:032x}");
            let headers = [
                ("x-zorka-session-id", &b"00d1e2f3a4b5c6d7"[..]),
                ("x-zorka-session-reset", if request == 0 { b"true" } else { b"false" }),
                ("x-zorka-trace-id", id.as_bytes()),
            ];
            let request = Request {
                connection: ConnectionId(1),
                from: SocketAddr::from(([127, 0, 0, 1], 40_000)),
                to: SocketAddr::from(([127, 0, 0, 1], 8640)),
                method: "POST",
                path: if *definitions { "/agent/submit/agd" } else { "/agent/submit/trc" },
                headers: &headers,
                body,
                dropped: None,
            };
            assert_eq!(collector.answer(NOW, &request).status, 202);
            recorder.read();
        }
        for second in 1..5 {
            collector.tick(after(NOW, second));
            recorder.read();
        }
        recorder.lines(&format!("zorka/{agent}"), lines);
    }
}

fn dotnet(lines: &mut String) {
    for path in files(&dotnet_kit::corpus(), ".s2c.gz") {
        let capture = name(&path);
        let bytes = dotnet_kit::stream(capture.strip_suffix(".s2c.gz").unwrap());
        let mut recorder = Recorder::new("dotnet");
        let kinds = ["gc", "exception", "contention"].map(str::to_owned).to_vec();
        let config = dotnet::Config {
            records: kinds,
            records_rate: 1_000_000,
            contention_record: 0,
            ..dotnet::Config::default()
        };
        let mut peer = recorder.peer();
        let identity = Identity { name: "capture:1".into(), ..Identity::default() };
        peer.is(identity);
        let mut parts = Parts::new(&config, Box::new(()));
        parts.start("capture:1", &mut peer);
        parts.stream("", "", true, &mut peer);
        let (mut input, mut stream) = (BytesMut::new(), DotnetStream::default());
        for piece in bytes.chunks(PIECE) {
            input.extend_from_slice(piece);
            let fed = stream.feed(NOW, Ticks(0), &mut input, &mut parts, &mut peer);
            stream.report(&mut parts, &mut peer);
            peer.flush();
            recorder.read();
            if fed.is_err() {
                break;
            }
        }
        parts.quiet(&mut peer);
        peer.flush();
        recorder.read();
        recorder.lines(&format!("dotnet/{capture}"), lines);
    }
}

#[test]
fn records_of_captures_keep_their_bytes() {
    let mut lines = String::new();
    for source in [mono, profiler, zorka, dotnet] {
        source(&mut lines);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record_sums.txt");
    if std::env::var_os("RECORD_SUMS").is_some_and(|value| value == "write") {
        return fs::write(file, lines).unwrap();
    }
    let recorded = fs::read_to_string(file).unwrap();
    for (line, recorded) in lines.lines().zip(recorded.lines()) {
        assert_eq!(line, recorded);
    }
    assert_eq!(lines.lines().count(), recorded.lines().count());
}
