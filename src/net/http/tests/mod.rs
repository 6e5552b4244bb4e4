//! A toy service behind a real socket.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test")]

mod ends;
mod hostile;
mod requests;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{HttpLimits, HttpListen, HttpServer};
use crate::catalogue::testkit::{self, TOY};
use crate::model::Now;
use crate::net::connection_limit::ConnectionLimit;
use crate::net::listener::Listener;
use crate::net::peers::Peers;
use crate::net::throttle::SharedThrottle;
use crate::sources::http::{Answer, ConnectionId, Dropped, HttpService, Request};
use crate::store::{Limits, LogThrottle, Stat, Store};

/// Remembers requests. `/slow` is answered after half a second, `/text` and `/large` with a
/// body, `/stranger` does not identify the peer.
#[derive(Default)]
pub(super) struct Toy {
    pub(super) seen: Mutex<Vec<Seen>>,
    pub(super) closed: Mutex<Vec<u64>>,
    pub(super) ticks: AtomicUsize,
    /// Bodies are not kept.
    pub(super) forgets: bool,
}

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) connection: u64,
    pub(super) line: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) dropped: Option<Dropped>,
}

impl HttpService for Toy {
    fn admits(&self, from: SocketAddr) -> bool {
        from.ip().is_loopback()
    }

    fn rejects(&self, first: &[u8]) -> Option<&'static str> {
        (first.first() == Some(&0x21)).then_some("another protocol")
    }

    fn answer(&self, _: Now, request: &Request<'_>) -> Answer {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.seen.lock().unwrap().push(Seen {
            connection: request.connection.0,
            line: format!("{} {}", request.method, request.path),
            headers: request.headers.iter().map(|(n, v)| ((*n).to_owned(), text(v))).collect(),
            body: if self.forgets { Vec::new() } else { request.body.to_vec() },
            dropped: request.dropped,
        });
        let known = request.path != "/stranger";
        match request.path {
            "/slow" => Answer { delay: Duration::from_millis(500), known, ..Answer::of(202) },
            "/large" => Answer { body: vec![b'a'; 256 << 10], known, ..Answer::of(200) },
            "/text" => Answer {
                content_type: "text/plain",
                body: b"well".to_vec(),
                known,
                ..Answer::of(200)
            },
            _ => Answer { known, ..Answer::of(if request.method == "POST" { 202 } else { 405 }) },
        }
    }

    fn closed(&self, _: Now, connection: ConnectionId) {
        self.closed.lock().unwrap().push(connection.0);
    }

    fn tick(&self, _: Now) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
    }
}

/// A listener with its runtime.
pub(super) struct Running {
    pub(super) runtime: Runtime,
    pub(super) toy: Arc<Toy>,
    pub(super) store: Arc<Store>,
    pub(super) address: SocketAddr,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
}

/// Limits that tests need not wait for.
pub(super) fn short() -> HttpLimits {
    HttpLimits {
        arrive: Duration::from_millis(400),
        write: Duration::from_millis(400),
        idle: Duration::from_millis(100),
        sweep: Duration::from_millis(50),
        body: 1 << 20,
        dropped: 4 << 20,
        ..HttpLimits::default()
    }
}

pub(super) fn start(limits: HttpLimits) -> Running {
    start_with(limits, Toy::default(), Limits::default(), 100)
}

pub(super) fn start_with(limits: HttpLimits, toy: Toy, all: Limits, pending: usize) -> Running {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = Store::new(testkit::catalogue(), 400, all, 1 << 20);
    let toy = Arc::new(toy);
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let bound = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = bound.local_addr().unwrap();
    let peers = Peers::new(&store, TOY, "toy");
    let listen =
        HttpListen { address, peers: peers.clone(), service: Arc::clone(&toy) as _, limits };
    let server = Arc::new(HttpServer::new(listen));
    runtime.spawn(Arc::clone(&server).sweep(stop.clone()));
    runtime.spawn(Arc::clone(&server).tick(stop.clone()));
    let listener = Listener {
        address,
        peers,
        serve: server,
        limit: ConnectionLimit::new(1000, pending, 2),
        stop: stop.clone(),
        tasks: tasks.clone(),
        ends: SharedThrottle::default(),
    };
    runtime.spawn(Arc::new(listener).run(Some(bound), LogThrottle::default()));
    Running { runtime, toy, store, address, stop, tasks }
}

impl Running {
    pub(super) fn dial(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, rest: Vec::new() }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.toy.seen.lock().unwrap().clone()
    }

    /// Waits until it holds.
    pub(super) fn wait(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(start.elapsed() < Duration::from_secs(10), "never: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn stat(&self, stat: Stat) -> u64 {
        self.store.stats.get(stat)
    }

    /// Number of connections.
    pub(super) fn open(&self) -> u64 {
        self.stat(Stat::ConnectionCurrent)
    }

    /// Stops as the supervisor does; returns the time that it took.
    pub(super) fn stop(&self) -> Duration {
        let start = Instant::now();
        self.stop.cancel();
        self.tasks.close();
        self.runtime.block_on(self.tasks.wait());
        start.elapsed()
    }
}

/// A client that reads answers as an agent does.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    rest: Vec<u8>,
}

/// Status and body, and the head as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Client {
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(super) fn post(&mut self, path: &str, body: &[u8]) -> Reply {
        self.send(&post(path, body));
        self.reply().expect("an answer")
    }

    /// The next answer; `None`: the connection has ended without a reset.
    pub(super) fn reply(&mut self) -> Option<Reply> {
        loop {
            if let Some(end) = self.rest.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = String::from_utf8(self.rest[..end].to_vec()).unwrap();
                let length = head
                    .lines()
                    .find_map(|l| l.strip_prefix("Content-Length: "))
                    .map_or(0, |n| n.parse().unwrap());
                if self.rest.len() >= end + 4 + length {
                    let body = self.rest[end + 4..end + 4 + length].to_vec();
                    self.rest.drain(..end + 4 + length);
                    let status = head[9..12].parse().unwrap();
                    return Some(Reply { status, head, body });
                }
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer).expect("no reset") {
                0 => {
                    assert_eq!(self.rest, b"", "half an answer");
                    return None;
                }
                n => self.rest.extend_from_slice(&buffer[..n]),
            }
        }
    }

    /// The connection ends, with or without a reset.
    pub(super) fn ends(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(n) => n == 0,
            Err(e) => e.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// A request as the agents write it.
pub(super) fn post(path: &str, body: &[u8]) -> Vec<u8> {
    let mut all = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Toy-Session: 12\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    all.extend_from_slice(body);
    all
}
