//! Hostile agents and a good one, over HTTP to the whole collector: memory stays within its limit,
//! every request is answered, and the good agent is not disturbed.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pmdaapm::net::{Peers, Supervisor};
use pmdaapm::sources::foreign::ForeignReaders;
use pmdaapm::sources::zorka::{Config, Zorka};
use pmdaapm::sources::{Context, Running, Source};
use pmdaapm::store::{Limits, Stat, Store};
use test_kit::zorka as kit;

const MIB: usize = 1 << 20;
const AGD: &str = "/agent/submit/agd";
const TRC: &str = "/agent/submit/trc";

struct Collector {
    store: Arc<Store>,
    address: SocketAddr,
    supervisor: Supervisor,
    _running: Box<dyn Running<Config>>,
}

fn start(name: &str, limits: Limits) -> Collector {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let store = Store::new(pmdaapm::sources::catalogue(), 400, limits, 8 * MIB);
    let supervisor = Supervisor::start(1000, 1000, |_| ()).unwrap();
    let state_dir = std::env::temp_dir().join(format!("apm-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&state_dir).unwrap();
    let context = Context {
        peers: Peers::new(&store, store.catalogue().id("zorka").unwrap(), "zorka"),
        net: supervisor.net().clone(),
        state_dir,
        foreign: ForeignReaders::default(),
        host: pmdaapm::host::Host::new("/proc".into()),
    };
    let config = Config { listen: Some(address), ..Config::default() };
    let running = Zorka::start(config, context).unwrap();
    Collector { store, address, supervisor, _running: running }
}

struct Agent(TcpStream);

impl Agent {
    fn dial(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(stream)
    }

    /// Sends a request and returns the status of the answer.
    fn post(&mut self, path: &str, headers: &str, body: &[u8]) -> u16 {
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n");
        // The answer may come before the end.
        let _ = self.0.write_all(head.as_bytes()).and_then(|()| self.0.write_all(body));
        let (mut answer, mut n) = ([0; 512], 0);
        while !answer[..n].windows(4).any(|w| w == b"\r\n\r\n") {
            match self.0.read(&mut answer[n..]).unwrap() {
                0 => panic!("no answer to {path} with {length} bytes"),
                more => n += more,
            }
        }
        std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap()
    }
}

fn session(id: u64) -> String {
    format!("X-Zorka-Session-ID: {id:016x}\r\nX-Zorka-Session-Reset: false\r\n")
}

/// Definitions of as many symbols, from a number on, with texts of 100 bytes.
fn symbols(from: u32, count: u32) -> Vec<u8> {
    let mut body = Vec::new();
    for id in from..from + count {
        body.extend_from_slice(&[0xc1, 0x82, 0x1a]);
        body.extend_from_slice(&id.to_be_bytes());
        body.extend_from_slice(&[0x78, 100]);
        body.extend(format!("{id:0100}").into_bytes());
    }
    body
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An agent that goes on as long as the others: the slowest answer, and those that were not 202.
fn good(address: SocketAddr, ends: &AtomicBool) -> (Vec<Duration>, u64) {
    let requests = kit::capture(&kit::corpus().join("real-2.0.3/demo-local.jsonl"));
    let mut agent = Agent::dial(address);
    let (mut times, mut refused) = (Vec::new(), 0);
    for round in 0_u64.. {
        for (n, request) in requests.iter().enumerate() {
            if round > 0 && request.path != TRC {
                continue;
            }
            let trace = format!("X-Zorka-Trace-ID: {round:016x}{n:016x}\r\n");
            let reset = round == 0 && n == 0;
            let headers = format!(
                "X-Zorka-Session-ID: 00000000600d600d\r\nX-Zorka-Session-Reset: {reset}\r\n{trace}"
            );
            let start = Instant::now();
            refused += u64::from(agent.post(&request.path, &headers, &request.body) != 202);
            times.push(start.elapsed());
            std::thread::sleep(Duration::from_millis(1));
        }
        if ends.load(Ordering::Relaxed) {
            break;
        }
    }
    times.sort_unstable();
    (times, refused)
}

/// What the hostile agents do while a good one works. Returns the slowest answers of the good one.
fn disturb(name: &str, memory: usize, hostile: impl Fn(SocketAddr, u64) + Sync, agents: u64) {
    let limits = Limits { memory, peer_memory: memory / 4, ..Limits::default() };
    let collector = start(name, limits);
    let (ends, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    let address = collector.address;
    let (times, refused) = std::thread::scope(|scope| {
        let good = scope.spawn(|| good(address, &ends));
        let hostile = &hostile;
        let others: Vec<_> =
            (0..agents).map(|n| scope.spawn(move || hostile(address, n))).collect();
        let watch = scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                let used = collector.store.memory_stat(Stat::MemoryTotal).unwrap();
                peak.fetch_max(used, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let failed = others.into_iter().filter_map(|other| other.join().err()).count();
        ends.store(true, Ordering::Relaxed);
        watch.join().unwrap();
        assert_eq!(failed, 0, "hostile agents without an answer");
        good.join().unwrap()
    });
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    eprintln!(
        "{name}: memory at most {} KiB; the good agent's {} answers: p50 {:?}, p99 {:?}, max {:?}",
        peak.load(Ordering::Relaxed) / 1024,
        times.len(),
        at(50),
        at(99),
        at(100)
    );
    assert_eq!(refused, 0, "requests of the good agent");
    assert!(peak.load(Ordering::Relaxed) <= memory as u64, "memory {}", peak.into_inner());
    assert_eq!(collector.store.stats.get(Stat::Panics), 0);
    collector.supervisor.stop();
}

#[test]
fn symbol_floods_over_many_sessions() {
    let flood = symbols(0, 5000);
    disturb(
        "symbols",
        64 * MIB,
        |address, n| {
            let mut agent = Agent::dial(address);
            for part in 0..40_u64 {
                // A new session each time.
                let id = session(0x1000_0000 + n * 1000 + part);
                let reset = id.replace("false", "true");
                let status = agent.post(AGD, &reset, &flood);
                assert!(status == 202 || status == 401, "{status}");
            }
        },
        16,
    );
}

#[test]
fn bombs_and_nests() {
    let bomb = deflated(&vec![0xc1; 50 << 20]);
    assert!(bomb.len() < 60_000, "{}", bomb.len());
    let deep = [0xc3, 0x9f].repeat(20_000);
    let open = [&[0xc3, 0x9f, 0x01, 0x01][..]].concat().repeat(100_000);
    let arrays = [&[0xc1][..], &[0x81].repeat(20_000)].concat();
    let bodies = [bomb, deep, open, arrays];
    disturb(
        "bombs",
        64 * MIB,
        |address, n| {
            let mut agent = Agent::dial(address);
            for (part, body) in bodies.iter().enumerate() {
                for path in [AGD, TRC] {
                    let id = session(0x2000_0000 + n * 1000 + part as u64).replace("false", "true");
                    let status = agent.post(path, &id, body);
                    assert!([202, 401, 412].contains(&status), "{part}: {status}");
                }
            }
        },
        8,
    );
}

#[test]
fn large_bodies_on_two_hundred_connections() {
    let body =
        [&[0xc1, 0x82, 0x01, 0x5a, 0x00, 0xff, 0xff, 0x00][..], &vec![0x41; 16 * MIB - 8]].concat();
    disturb(
        "large",
        64 * MIB,
        |address, n| {
            let mut agent = Agent::dial(address);
            let id = session(0x3000_0000 + n).replace("false", "true");
            let status = agent.post(AGD, &id, &body);
            assert!([202, 401, 413, 503].contains(&status), "{status}");
        },
        200,
    );
}
