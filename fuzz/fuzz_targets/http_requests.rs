//! Any bytes on a connection of the HTTP listener, through a real socket of loopback. Each request
//! that the service saw has one answer of the right form, in order; bodies have a bound; the
//! connection ends when the peer has ended its side; whole and in pieces the service sees the same.
//! With the first byte above 127 Zorka's collector answers, else a service that tells what it saw.
#![no_main]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pmdaapm::contract::Recorded;
use pmdaapm::contract::http::{Answer, ConnectionId, HttpService, Request};
use pmdaapm::model::{Listening, Now, SourceId};
use pmdaapm::net::{HttpLimits, HttpListen, Peers, Supervisor};
use pmdaapm::sources::Source;
use pmdaapm::sources::catalogue;
use pmdaapm::sources::zorka::collector::Collector;
use pmdaapm::sources::zorka::{Config, Zorka};
use pmdaapm::store::{Limits, Store};

const BODY: usize = 256;
const HEAD: usize = 8192;
/// Time after which a connection hangs.
const HANGS: Duration = Duration::from_secs(20);

/// A request as the service saw it, with its answer's status and length.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    line: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    dropped: bool,
    answer: (u16, usize),
}

struct Service {
    zorka: Option<Collector>,
    seen: Mutex<Vec<Seen>>,
}

impl HttpService for Service {
    fn admits(&self, from: SocketAddr) -> bool {
        from.ip().is_loopback()
    }

    fn rejects(&self, _: &[u8]) -> Option<&'static str> {
        None
    }

    fn answer(&self, now: Now, request: &Request<'_>) -> Answer {
        assert!(
            request.body.len() <= BODY && (request.dropped.is_none() || request.body.is_empty())
        );
        let head: usize =
            request.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        assert!(head <= HEAD && request.headers.len() <= 100);
        assert!(request.headers.iter().all(|(name, _)| *name == name.to_ascii_lowercase()));
        assert!(request.path.starts_with('/') || !request.path.contains(' '), "{}", request.path);
        let answer = match &self.zorka {
            Some(collector) => Answer { delay: Duration::ZERO, ..collector.answer(now, request) },
            None => Answer {
                content_type: "text/plain",
                body: vec![b'a'; request.body.len()],
                known: true,
                ..Answer::of(if request.method == "POST" { 202 } else { 405 })
            },
        };
        assert!((200..600).contains(&answer.status));
        self.seen.lock().unwrap().push(Seen {
            line: format!("{} {}", request.method, request.path),
            headers: request.headers.iter().map(|(n, v)| ((*n).to_owned(), v.to_vec())).collect(),
            body: request.body.to_vec(),
            dropped: request.dropped.is_some(),
            answer: (answer.status, answer.body.len()),
        });
        answer
    }

    fn closed(&self, now: Now, connection: ConnectionId) {
        if let Some(collector) = &self.zorka {
            collector.closed(now, connection);
        }
    }

    fn tick(&self, now: Now) {
        if let Some(collector) = &self.zorka {
            collector.tick(now);
        }
    }
}

struct Served {
    _supervisor: Supervisor,
    services: [(SocketAddr, Arc<Service>); 2],
}

static LISTENING: LazyLock<Served> = LazyLock::new(|| {
    let supervisor = Supervisor::start(1000, 1000, |_| std::process::exit(0)).unwrap();
    let store = Store::new(catalogue(), 400, Limits::default(), 1 << 20);
    let services = [false, true].map(|of_zorka| {
        let memory = Arc::clone(&store.memory);
        let zorka = of_zorka.then(|| {
            // The store would keep agents of all inputs.
            let peers = Recorded::new(&Zorka::TABLE).maker();
            Collector::new(&Config::default(), peers, memory, "").unwrap()
        });
        let service = Arc::new(Service { zorka, seen: Mutex::default() });
        // A free port; the listener tries again if somebody was quicker.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        supervisor.net().listen_http(HttpListen {
            places: vec![Listening::Plain(address)],
            peers: Peers::new(&store, SourceId::new(0), "fuzz"),
            service: service.clone(),
            limits: HttpLimits { head: HEAD, body: BODY, dropped: 1024, ..HttpLimits::default() },
        });
        (address, service)
    });
    Served { _supervisor: supervisor, services }
});

/// What came back, and whether the connection ended without a reset.
fn talk(address: SocketAddr, bytes: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(HANGS)).unwrap();
    let sent = bytes.chunks(piece.max(1)).all(|part| stream.write_all(part).is_ok());
    let _ = stream.shutdown(Shutdown::Write);
    let mut answers = Vec::new();
    match stream.read_to_end(&mut answers) {
        Ok(_) => (answers, sent),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            panic!("the connection hangs after {} bytes", answers.len())
        }
        Err(_) => (answers, false),
    }
}

/// The answers are those of the requests, then at most one to what is none.
fn check(mut answers: &[u8], seen: &[Seen], whole: bool) {
    let mut seen = seen.iter();
    while !answers.is_empty() {
        let end = answers.windows(4).position(|w| w == b"\r\n\r\n");
        let Some(end) = end else { return assert!(!whole, "half a head") };
        let head = std::str::from_utf8(&answers[..end]).expect("a head in ASCII");
        answers = &answers[end + 4..];
        let status: u16 = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        assert!(head.starts_with("HTTP/1."), "{head}");
        if status == 100 {
            continue;
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.expect("a length").parse().unwrap();
        let Some(request) = seen.next() else {
            assert!(matches!(status, 400 | 414 | 431) && length == 0, "{head}");
            assert!(answers.is_empty(), "an answer behind the last");
            return;
        };
        assert_eq!((status, length), request.answer, "{request:?}");
        if !request.line.starts_with("HEAD ") {
            if answers.len() < length {
                return assert!(!whole, "half a body");
            }
            answers = &answers[length..];
        }
    }
    assert!(!whole || seen.next().is_none(), "a request without an answer");
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, bytes)) = data.split_first() else { return };
    let (address, service) = &LISTENING.services[usize::from(how >> 7)];
    let run = |piece: usize| {
        let (answers, whole) = talk(*address, bytes, piece);
        let seen = std::mem::take(&mut *service.seen.lock().unwrap());
        check(&answers, &seen, whole);
        seen
    };
    let seen = run(bytes.len());
    // At most 64 pieces: each is a packet.
    let parts = run(usize::from(how & 0x7f).max(bytes.len() / 64 + 1));
    if service.zorka.is_none() {
        assert_eq!(parts, seen);
    }
});
