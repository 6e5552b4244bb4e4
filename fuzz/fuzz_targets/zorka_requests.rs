//! Requests to the Zorka collector: any endpoint, header and body, over some connections, with time
//! passing. Answers are valid, counters never go back, sessions and memory are bounded.
#![no_main]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pmdaapm::contract::Recorded;
use pmdaapm::contract::http::{ConnectionId, HttpService, Request};
use pmdaapm::model::{Memory, MetricItem, Now, Semantics, Stamp};
use pmdaapm::sources::Source;
use pmdaapm::sources::zorka::collector::Collector;
use pmdaapm::sources::zorka::{Config, Zorka};

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

/// The counters of all agents.
fn counts(seen: &Recorded) -> Vec<u64> {
    let counters = Zorka::TABLE.metrics.iter().filter(|metric| metric.sem == Semantics::Counter);
    counters.map(|metric| seen.count(MetricItem::new(metric.item))).collect()
}

fn can_be_shown(name: &str) -> bool {
    let wrong = |c: char| c.is_whitespace() || c.is_control();
    !name.is_empty() && name.len() < 300 && !name.contains(wrong)
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
    let seen = Recorded::new(&Zorka::TABLE);
    let collector = Collector::new(&Config::default(), seen.maker(), Arc::clone(&memory), "")
        .expect("no state");
    let mut now = Now { monotonic: Duration::from_secs(1), wall: Stamp { sec: 1, nsec: 0 } };
    let mut session: Vec<u8> = Vec::new();
    while !data.is_empty() {
        let what = byte(&mut data);
        let connection = ConnectionId(u64::from(what >> 4));
        let before = counts(&seen);
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
                    to: SocketAddr::from(([127, 0, 0, 1], 8640)),
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
        assert!(before.iter().zip(counts(&seen)).all(|(before, now)| *before <= now));
        let log = seen.log();
        assert!(log.identities.iter().all(|id| can_be_shown(&id.name)));
        drop(log);
        assert!(memory.used() <= LIMIT);
    }
    if let Some(state) = collector.take_state() {
        let again = Collector::new(&Config::default(), seen.maker(), memory, &state);
        assert!(again.is_ok(), "its own state");
    }
});
