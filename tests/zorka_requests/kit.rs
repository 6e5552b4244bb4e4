//! A collector with a store, and agents that talk to it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pmdaapm::contract::http::{Answer, ConnectionId, HttpService, Request};
use pmdaapm::model::{InDom, Now, SourceId, Stamp};
use pmdaapm::sources::Source;
use pmdaapm::sources::zorka::collector::Collector;
use pmdaapm::sources::zorka::{Config, Zorka};
use pmdaapm::store::{Change, Limits, Peer, Row, Store};

pub struct World {
    pub store: Arc<Store>,
    source: SourceId,
    pub collector: Collector,
    pub now: Mutex<Now>,
    rows: Mutex<Vec<(InDom, Arc<Row>)>>,
}

/// The path of a submission.
pub const AGD: &str = "/agent/submit/agd";
pub const TRC: &str = "/agent/submit/trc";

impl World {
    pub fn new() -> Self {
        Self::with(&Config::default(), "")
    }

    pub fn with(config: &Config, state: &str) -> Self {
        Self::limited(config, state, Limits::default())
    }

    pub fn limited(config: &Config, state: &str, limits: Limits) -> Self {
        let store = Store::new(pmdaapm::sources::catalogue(), 400, limits, 1 << 20);
        let source = store.catalogue().id("zorka").unwrap();
        let maker = store.peer_maker(source, false);
        let collector = Collector::new(config, maker, Arc::clone(&store.memory), state)
            .unwrap()
            .known_as(["Web1.example.com".to_owned(), "Web1".to_owned()]);
        let now = Now {
            wall: Stamp { sec: 1_795_000_000, nsec: 0 },
            monotonic: Duration::from_secs(1000),
        };
        Self { store, source, collector, now: Mutex::new(now), rows: Mutex::default() }
    }

    /// A new collector with the same store, as after a restart with its state files.
    pub fn restart(&mut self, state: &str) {
        let maker = self.store.peer_maker(self.source, false);
        self.collector =
            Collector::new(&Config::default(), maker, Arc::clone(&self.store.memory), state)
                .unwrap();
    }

    pub fn now(&self) -> Now {
        *self.now.lock().unwrap()
    }

    /// Lets time pass, second by second at first.
    pub fn wait(&self, seconds: u64) {
        for n in 0..seconds.min(5) {
            let step = if n == 4 { seconds - 4 } else { 1 };
            let mut now = self.now.lock().unwrap();
            now.monotonic += Duration::from_secs(step);
            now.wall.sec += step as i64;
            let at = *now;
            drop(now);
            self.collector.tick(at);
        }
    }

    pub fn send(
        &self,
        connection: u64,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let headers: Vec<(String, &[u8])> =
            headers.iter().map(|(k, v)| (k.to_lowercase(), v.as_bytes())).collect();
        let headers: Vec<(&str, &[u8])> = headers.iter().map(|(k, v)| (k.as_str(), *v)).collect();
        let request = Request {
            connection: ConnectionId(connection),
            from: SocketAddr::from(([10, 0, 0, 7], 40_000 + (connection % 20_000) as u16)),
            to: SocketAddr::from(([127, 0, 0, 1], 8640)),
            method: "POST",
            path,
            headers: &headers,
            body,
            dropped: None,
        };
        self.collector.answer(self.now(), &request)
    }

    pub fn close(&self, connection: u64) {
        self.collector.closed(self.now(), ConnectionId(connection));
    }

    /// All agents by name.
    pub fn peers(&self) -> BTreeMap<String, Arc<Peer>> {
        self.store.peers().into_iter().map(|peer| (peer.name.clone(), peer)).collect()
    }

    pub fn names(&self) -> Vec<String> {
        self.peers().into_keys().collect()
    }

    pub fn is_up(&self, name: &str) -> bool {
        self.peers()[name].liveness.up()
    }

    /// A metric of an agent.
    pub fn value(&self, agent: &str, metric: &str) -> u64 {
        let def = Zorka::TABLE.metrics.iter().find(|m| m.name == metric).expect(metric);
        let peers = self.peers();
        let peer = peers.get(agent).unwrap_or_else(|| panic!("no {agent}: {:?}", peers.keys()));
        peer.cells.get(def.item).unwrap_or_else(|| panic!("no value of {metric}"))
    }

    /// All rows of a metric.
    pub fn rows(&self, metric: &str) -> BTreeMap<String, u64> {
        let mut rows = self.rows.lock().unwrap();
        for change in self.store.take_changes() {
            if let Change::JoinRow(_, table, row) = change {
                rows.push((InDom::Table(table), row));
            }
        }
        let def = Zorka::TABLE.row_metrics.iter().find(|m| m.name == metric).expect(metric);
        let of_table = rows.iter().filter(|(indom, _)| *indom == def.indom);
        of_table
            .filter_map(|(_, row)| Some((row.key.to_string(), row.cells.get(def.item)?)))
            .collect()
    }

    pub fn row(&self, metric: &str, key: &str) -> u64 {
        self.rows(metric).get(key).copied().unwrap_or_default()
    }

    pub fn label(&self, agent: &str, label: &str) -> Option<String> {
        let labels = self.peers()[agent].labels();
        labels.into_iter().find(|(name, _)| name == label).map(|(_, value)| value)
    }
}

/// A CBOR item: header of a major type with a small or 64-bit argument.
fn head(out: &mut Vec<u8>, major: u8, n: u64) {
    if n < 24 {
        out.push(major << 5 | n as u8);
    } else {
        out.push(major << 5 | 27);
        out.extend_from_slice(&n.to_be_bytes());
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    head(out, 3, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Definitions in the modern layout: symbols, and methods of symbols.
pub fn definitions(symbols: &[(u64, &str)], methods: &[(u64, u64, u64, u64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (id, name) in symbols {
        out.extend_from_slice(&[0xc1, 0x82]);
        head(&mut out, 0, *id);
        text(&mut out, name);
    }
    for (id, class, name, signature) in methods {
        out.extend_from_slice(&[0xc2, 0x84]);
        [*id, *class, *name, *signature].iter().for_each(|n| head(&mut out, 0, *n));
    }
    out
}

/// A trace of one record in the modern layout.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    pub method: u64,
    pub start: u64,
    pub duration: u64,
    /// Symbol of the type.
    pub kind: u64,
    pub clock: u64,
    pub span: u64,
    pub attributes: &'a [(u64, &'a str)],
}

impl Trace<'_> {
    pub fn body(&self) -> Vec<u8> {
        let mut out = vec![0xc3, 0x9f];
        head(&mut out, 0, self.start);
        head(&mut out, 0, self.method);
        out.extend_from_slice(&[0xc5, 0x83]);
        [self.clock, self.kind, self.span].iter().for_each(|n| head(&mut out, 0, *n));
        for (name, value) in self.attributes {
            out.extend_from_slice(&[0xc6, 0x82]);
            head(&mut out, 0, *name);
            text(&mut out, value);
        }
        out.extend_from_slice(&[0xc4, 0x83]);
        [self.start + self.duration, 1, 0x2108].iter().for_each(|n| head(&mut out, 0, *n));
        out.push(0xff);
        out
    }
}

/// The symbols of [`Modern`]: the type, its method, and the attributes of the name.
pub const SYMBOLS: [(u64, &str); 7] = [
    (1, "http"),
    (2, "com.x.Shop"),
    (3, "order"),
    (4, "local.service"),
    (5, "local.host"),
    (6, "local.pid"),
    (7, "()V"),
];

/// An agent of 1.90.7 or later.
pub struct Modern<'w> {
    pub world: &'w World,
    pub session: String,
    pub connection: u64,
    pub service: &'static str,
    pub host: &'static str,
    /// It has sent its definitions.
    pub defined: bool,
    sent: u64,
}

impl<'w> Modern<'w> {
    pub fn new(world: &'w World, session: &str, service: &'static str, host: &'static str) -> Self {
        let connection = session.bytes().fold(0, |n, b| (n * 31 + u64::from(b)) % 20_000);
        let session = session.to_owned();
        Self { world, session, connection, service, host, defined: false, sent: 0 }
    }

    pub fn submit(&self, path: &str, reset: bool, id: &str, body: &[u8]) -> u16 {
        let reset = if reset { "true" } else { "false" };
        let mut headers =
            vec![("X-Zorka-Session-ID", &*self.session), ("X-Zorka-Session-Reset", reset)];
        if !id.is_empty() {
            headers.push(("X-Zorka-Trace-ID", id));
        }
        self.world.send(self.connection, path, &headers, body).status
    }

    /// All definitions, with a reset.
    pub fn define(&mut self) -> u16 {
        self.defined = true;
        self.submit(AGD, true, "", &definitions(&SYMBOLS, &[(1, 2, 3, 7)]))
    }

    /// The next trace, of `duration` ns.
    pub fn next(&mut self, duration: u64) -> Vec<u8> {
        self.sent += 1;
        self.attempt(duration, 1)
    }

    /// The same trace with the ids of another attempt.
    pub fn attempt(&self, duration: u64, attempt: u64) -> Vec<u8> {
        Trace {
            method: 1,
            start: 1_000_000 * self.sent,
            duration,
            kind: 1,
            clock: 1_795_000_000_000 + self.sent,
            span: 1000 * self.sent + attempt,
            attributes: &[(4, self.service), (5, self.host), (6, "1")],
        }
        .body()
    }

    /// Sends a trace as an agent does: again, with all definitions, after an error. Returns the
    /// numbers of requests.
    pub fn trace(&mut self, duration: u64) -> u32 {
        if !self.defined {
            self.define();
        }
        self.sent += 1;
        for attempt in 1..=11 {
            let id = format!("{:016x}{:016x}", self.sent, attempt);
            if self.submit(TRC, false, &id, &self.attempt(duration, u64::from(attempt))) < 300 {
                return attempt;
            }
            assert!(self.define() < 300);
        }
        panic!("a trace is lost");
    }
}
