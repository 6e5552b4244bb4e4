//! Requests to the Zorka collector: any endpoint, header and body, over some connections, with time
//! passing. Answers are valid, counters never go back, sessions and memory are bounded.
#![no_main]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pmdaapm::contract::Update;
use pmdaapm::model::{Departure, Memory, Now, Stamp};
use pmdaapm::contract::http::{ConnectionId, HttpService, Request};
use pmdaapm::sources::zorka::Config;
use pmdaapm::sources::zorka::collector::Collector;
use pmdaapm::contract::{OwnSink, Sink, Sinks};

const LIMIT: usize = 64 << 20;
/// Words that agents use, so that dialogues come about.
const WORDS: [&[u8]; 8] = [
    b"0123456789abcdef",
    b"true",
    b"{\"name\":\"a\",\"app\":\"b\",\"env\":\"c\",\"rkey\":\"zorka\"}",
    b"{\"id\":\"1\",\"authkey\":\"ABCDEFGH\"}",
    b"\xc1\x82\x01\x61a\xc1\x82\x02\x6dlocal.service\xc2\x84\x01\x01\x01\x01",
    b"\xc3\x9f\x01\x01\xc5\x83\x01\x01\x01\xc6\x82\x02\x61s\xc4\x82\x09\x01\xff",
    b"\xc8\x9f\xca\x48\0\0\x01\0\0\0\0\0\xcc\x48\0\0\x01\0\0\0\0\x05\xff",
    b"host=a&data=w4EBYWE%3D",
];
const PATHS: [&str; 8] = [
    "/agent/submit/trc",
    "/agent/submit/agd",
    "/agent/session",
    "/agent/register",
    "/submit/agent",
    "/submit/trace",
    "/healthz",
    "/x",
];

#[derive(Default)]
struct Seen {
    counts: HashMap<u16, u64>,
    names: Vec<String>,
}

struct Peer {
    seen: Arc<Mutex<Seen>>,
    named: bool,
}

impl Sink for Peer {
    fn update(&mut self, update: Update<'_>) {
        let mut seen = self.seen.lock().unwrap();
        match update {
            Update::Identity(id) => {
                assert!(!self.named, "named twice: {}", id.name);
                assert!(!id.name.is_empty() && id.name.len() < 300);
                assert!(!id.name.contains(|c: char| c.is_whitespace() || c.is_control()));
                self.named = true;
                seen.names.push(id.name);
            }
            Update::Count { item, more } => {
                assert!(self.named);
                let count = seen.counts.entry(item.get()).or_default();
                *count = count.checked_add(more).expect("a plausible count");
            }
            Update::Row { key: Some(key), .. } => assert!(!key.is_empty()),
            _ => {}
        }
    }
}

impl OwnSink for Peer {
    fn at(&mut self, _: Now) {}
    fn read(&mut self, _: usize) {}
    fn end(&mut self, _: Departure) {
        assert!(std::mem::take(&mut self.named));
    }
}

struct Peers(Arc<Mutex<Seen>>);

impl Sinks for Peers {
    fn open(&self) -> Box<dyn OwnSink> {
        Box::new(Peer { seen: Arc::clone(&self.0), named: false })
    }
}

fn take<'a>(data: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (head, tail) = data.split_at(n.min(data.len()));
    *data = tail;
    head
}

fn byte(data: &mut &[u8]) -> u8 {
    take(data, 1).first().copied().unwrap_or_default()
}

/// A word of [`WORDS`], the session that was opened last, or bytes of the input.
fn word(data: &mut &[u8], session: &[u8]) -> Vec<u8> {
    match byte(data) {
        n @ 0..8 => WORDS[usize::from(n)].to_vec(),
        8 => session.to_vec(),
        n => take(data, usize::from(n)).to_vec(),
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut data = data;
    let memory = Arc::new(Memory::default());
    memory.set_limits(LIMIT, LIMIT / 4, LIMIT / 4);
    let seen = Arc::new(Mutex::new(Seen::default()));
    let collector = Collector::new(
        &Config::default(),
        Arc::new(Peers(Arc::clone(&seen))),
        Arc::clone(&memory),
        "",
    )
    .expect("no state");
    let mut now = Now { monotonic: Duration::from_secs(1), wall: Stamp { sec: 1, nsec: 0 } };
    let mut session: Vec<u8> = Vec::new();
    while !data.is_empty() {
        let what = byte(&mut data);
        let connection = ConnectionId(u64::from(what >> 4));
        let before = seen.lock().unwrap().counts.clone();
        match what & 15 {
            12 => collector.closed(now, connection),
            13..=15 => {
                now.monotonic += Duration::from_secs(1 << (byte(&mut data) % 20));
                collector.tick(now);
            }
            path => {
                let some = byte(&mut data);
                let names = [
                    "x-zorka-session-id",
                    "x-zorka-session-uuid",
                    "x-zorka-session-reset",
                    "x-zorka-trace-id",
                ];
                let names = names.iter().enumerate().filter(|(bit, _)| some >> bit & 1 != 0);
                let headers: Vec<_> =
                    names.map(|(_, name)| (*name, word(&mut data, &session))).collect();
                let headers: Vec<(&str, &[u8])> =
                    headers.iter().map(|(name, value)| (*name, &value[..])).collect();
                let body = word(&mut data, &session);
                let request = Request {
                    connection,
                    from: SocketAddr::from(([127, 0, 0, 1], 1)),
                    method: if some & 0x80 == 0 { "POST" } else { "GET" },
                    path: PATHS[usize::from(path) % PATHS.len()],
                    headers: &headers,
                    body: &body,
                    dropped: None,
                };
                let answer = collector.answer(now, &request);
                assert!(
                    matches!(answer.status, 200 | 201 | 202 | 400 | 401 | 404 | 405 | 412),
                    "{}",
                    answer.status
                );
                assert!(answer.delay <= Duration::from_secs(1));
                if let Some(key) = answer.body.strip_prefix(b"{\"session\":\"") {
                    session = key[..key.len() - 2].to_vec();
                }
            }
        }
        let now = seen.lock().unwrap();
        assert!(before.iter().all(|(item, count)| now.counts.get(item) >= Some(count)));
        assert!(memory.used() <= LIMIT);
    }
    if let Some(state) = collector.take_state() {
        let again = Collector::new(&Config::default(), Arc::new(Peers(seen)), memory, &state);
        assert!(again.is_ok(), "its own state");
    }
});
