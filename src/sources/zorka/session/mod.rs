//! Agents and their sessions: who sends, under which name it is shown, which of its requests are
//! copies (docs/protocols/zorka.md 3, 7 and 10.2).

mod registry;

pub(super) use self::registry::{
    Refusal, Registration, Registry, SessionIds, clean, digits, live, visible,
};

use std::hash::{BuildHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::FixedState;

use super::limits::{self, NAME};
use super::meter::{Meter, Settings};
use super::names::Names;
use super::wire::{AttributeValue, Dialect, NONE, TraceBody};
use crate::contract::Peer;
use crate::contract::http::ConnectionId;
use crate::model::{Charge, HeapSize, Now, another_host};

/// How an agent makes itself known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It chooses the id of its session: zorka 1.90.7 and later.
    Modern,
    /// It registers and opens sessions: zorka 1.90.1 to 1.90.6.
    Legacy,
    /// A form has its host: the public note.
    Note,
}

/// One agent, shared by all its requests.
#[derive(Debug)]
pub(crate) struct Agent {
    /// Unique in the directory.
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    up: AtomicBool,
    retired: AtomicBool,
    state: Mutex<State>,
}

/// A trace that waits for one with the agent's name.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) now: Now,
    pub(crate) tables: u64,
    pub(crate) trace_id: Option<Box<str>>,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) base64: bool,
}

crate::heap_size!(Waiting { trace_id, bytes });

/// One session of an agent.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Unique in the agent.
    pub(crate) number: u64,
    pub(crate) key: Box<str>,
    pub(crate) names: Names,
    /// No trace has come since the reset: the next one may be a second attempt.
    pub(crate) fresh: bool,
    /// Time of the last request.
    pub(crate) used: Duration,
}

// Names have a charge of their own.
crate::heap_size!(Tables { key });

/// What an agent's lock protects.
pub(crate) struct State {
    pub(crate) facts: Facts,
    /// The name that it would have if it were the only one; empty: not known yet.
    pub(crate) wanted: String,
    /// The instance name; empty: none yet.
    pub(crate) shown: String,
    /// Digits that tell it apart from others of its name.
    pub(crate) digits: String,
    /// The address of its last request.
    pub(crate) from: Option<SocketAddr>,
    /// The address that its last connection has come to.
    pub(crate) to: Option<SocketAddr>,
    /// The word for its dialect in labels.
    pub(crate) dialect: &'static str,
    pub(crate) tables: Vec<Tables>,
    pub(crate) next: u64,
    pub(crate) settings: Settings,
    pub(crate) meter: Meter,
    pub(crate) peer: Option<Peer>,
    /// The peer has its instance.
    pub(crate) attached: bool,
    /// Time of the last try to have one.
    pub(crate) tried: Duration,
    pub(crate) requests: Recent<{ limits::REQUESTS }>,
    pub(crate) traces: Recent<{ limits::TRACES }>,
    pub(crate) trace_ids: Recent<{ limits::REQUESTS }>,
    pub(crate) waiting: Vec<Waiting>,
    /// The agent has been asked for its definitions since its last reset of its own.
    asked: bool,
    /// The next reset is the answer to that.
    forced: bool,
    /// Open connections and their numbers of requests.
    connections: Vec<(ConnectionId, u32)>,
    /// A connection had several requests: its end is that of the agent.
    keeps_alive: bool,
    /// Time of the last request.
    pub(crate) last: Duration,
    /// Requests and bytes of their bodies that the peer has not counted yet.
    pub(crate) heard: (u32, usize),
    /// Sessions opened since a time.
    opened: (Duration, u32),
    pub(crate) charge: Charge,
}

impl HeapSize for State {
    fn heap_size(&self) -> usize {
        [&self.wanted, &self.shown, &self.digits].map(|text| text.heap_size()).iter().sum::<usize>()
            + self.facts.heap_size()
            + self.tables.heap_size()
            + self.tables.iter().map(HeapSize::heap_size).sum::<usize>()
            + self.requests.heap_size()
            + self.traces.heap_size()
            + self.trace_ids.heap_size()
            + self.connections.heap_size()
            + self.meter.heap_size()
            + self.peer.as_ref().map_or(0, |peer| peer.held().own)
            + self.waiting.heap_size()
            + self.waiting.iter().map(HeapSize::heap_size).sum::<usize>()
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("shown", &self.shown).finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent without sessions. `charge`: of 0 bytes.
    pub(crate) fn new(
        number: u64,
        kind: Kind,
        now: Now,
        settings: Settings,
        charge: Charge,
    ) -> Self {
        let state = State {
            facts: Facts::default(),
            wanted: String::new(),
            shown: String::new(),
            digits: String::new(),
            from: None,
            to: None,
            dialect: "",
            tables: Vec::new(),
            next: 0,
            settings,
            meter: Meter::new(settings),
            peer: None,
            attached: false,
            tried: now.monotonic,
            requests: Recent::default(),
            traces: Recent::default(),
            trace_ids: Recent::default(),
            waiting: Vec::new(),
            asked: false,
            forced: false,
            connections: Vec::new(),
            keeps_alive: false,
            last: now.monotonic,
            heard: (0, 0),
            opened: (now.monotonic, 0),
            charge,
        };
        Self {
            number,
            kind,
            up: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// The agent's lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is there, as far as is known.
    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    pub(crate) fn set_up(&self, up: bool) {
        self.up.store(up, Ordering::Release);
    }

    /// Another agent has its place: its sessions are not valid any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }
}

impl State {
    /// The position of a session.
    pub(crate) fn find(&self, number: u64) -> Option<usize> {
        self.tables.iter().position(|tables| tables.number == number)
    }

    /// The name by what is known now.
    pub(crate) fn best_name(&self) -> String {
        let address = self.from.map(|from| from.ip().to_canonical().to_string());
        let key = self.tables.first().map_or("", |tables| &tables.key);
        self.facts.name(&address.unwrap_or_default(), key)
    }

    /// Adds a session; returns its number and the key of the one that has to go.
    pub(crate) fn add(&mut self, now: Now, key: &str, names: Names) -> (u64, Option<Box<str>>) {
        let oldest = self.tables.iter().enumerate().min_by_key(|(_, tables)| tables.used);
        let dropped = oldest
            .map(|(at, _)| at)
            .filter(|_| self.tables.len() >= limits::AGENT_SESSIONS)
            .map(|at| self.tables.remove(at).key);
        let number = self.next;
        self.next += 1;
        let used = now.monotonic;
        self.tables.push(Tables { number, key: key.into(), names, fresh: true, used });
        (number, dropped)
    }

    /// The agent defines everything anew.
    pub(crate) const fn reset(&mut self) {
        self.asked = self.forced;
        self.forced = false;
    }

    /// Whether the agent is to be asked for its definitions: once between two resets of its own.
    pub(crate) const fn ask(&mut self) -> bool {
        let ask = !self.asked;
        if ask {
            self.asked = true;
            self.forced = true;
        }
        ask
    }

    /// A request has come; `true`: the first one over this connection.
    pub(crate) fn seen(&mut self, now: Now, from: SocketAddr, connection: ConnectionId) -> bool {
        self.last = now.monotonic;
        self.from = Some(from);
        if let Some((_, requests)) = self.connections.iter_mut().find(|(id, _)| *id == connection) {
            *requests = requests.saturating_add(1);
            self.keeps_alive = true;
            return false;
        }
        if self.connections.len() >= limits::CONNECTIONS {
            self.connections.remove(0);
        }
        self.connections.push((connection, 1));
        true
    }

    /// A connection has ended; `true`: the agent has gone with it.
    pub(crate) fn closed(&mut self, connection: ConnectionId) -> bool {
        let before = self.connections.len();
        self.connections.retain(|(id, _)| *id != connection);
        self.connections.len() < before && self.keeps_alive && self.connections.is_empty()
    }

    /// The agent has no connection, and none that it had tells more.
    pub(crate) const fn has_no_connection(&self) -> bool {
        self.connections.is_empty()
    }

    /// Counts an opened session; `true`: too many.
    pub(crate) fn opens(&mut self, now: Now) -> bool {
        if now.monotonic.saturating_sub(self.opened.0) >= limits::OPENING {
            self.opened = (now.monotonic, 0);
        }
        self.opened.1 = self.opened.1.saturating_add(1);
        self.opened.1 > limits::OPENED
    }
}

/// What is known of an agent beside its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) service: String,
    pub(crate) host: String,
    pub(crate) pid: String,
    pub(crate) app: String,
    pub(crate) env: String,
}

crate::heap_size!(Facts { service, host, pid, app, env });

impl Facts {
    /// Takes over what the attributes of a body say; `false`: nothing.
    pub(crate) fn learn(&mut self, body: &TraceBody, bytes: &[u8], names: &Names) -> bool {
        let mut found = false;
        for attribute in &body.attributes {
            let Some(name) = names.symbol(attribute.name) else { continue };
            let Some(name) = name.strip_prefix("local.") else { continue };
            let field = match name {
                "service" => &mut self.service,
                "host" | "hostname" => &mut self.host,
                "pid" => &mut self.pid,
                "app" => &mut self.app,
                "env" => &mut self.env,
                _ => continue,
            };
            let value = match attribute.value {
                AttributeValue::Text(text) => clean(&String::from_utf8_lossy(text.of(bytes)), NAME),
                AttributeValue::Int(n) => n.to_string(),
                _ => continue,
            };
            // The text of an environment variable that is not set.
            if value.is_empty() || value == "null" {
                continue;
            }
            found = true;
            if field.is_empty() {
                *field = value;
            }
        }
        found
    }

    /// Nothing more can change the agent's name.
    pub(crate) const fn is_complete(&self) -> bool {
        !self.service.is_empty() && !self.host.is_empty()
    }

    /// The name of an agent that has not registered: `service/host`, or `host/digits`.
    pub(crate) fn name(&self, address: &str, session: &str) -> String {
        let host = if self.host.is_empty() { address } else { &self.host };
        match self.service.as_str() {
            "" => format!("{host}/{}", digits(session)),
            service => format!("{service}/{host}"),
        }
    }

    /// The service of an agent with this name.
    pub(crate) fn service<'a>(&'a self, name: &'a str) -> &'a str {
        [&*self.service, &*self.app].into_iter().find(|service| !service.is_empty()).unwrap_or(name)
    }

    /// Its host, as it says; that of its address may be a proxy's.
    pub(crate) fn host(&self, address: &str) -> Option<String> {
        let said = Some(&self.host).filter(|host| !host.is_empty());
        said.cloned().or_else(|| another_host(address))
    }

    /// Labels of the instance of an agent with this name.
    pub(crate) fn labels<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (&'static str, String)> {
        let Self { pid, app, env, .. } = self;
        let service = self.service(name);
        let all = [("app", &**app), ("env", env), ("service", service), ("pid", pid)];
        all.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k, v.to_owned()))
    }
}

/// Hashes live only in memory: their function may change.
const STATE: FixedState = FixedState::with_seed(0x7a6f_726b_6100);

/// A request: its trace id and body as they came.
pub(crate) fn of_request(trace_id: &[u8], body: &[u8]) -> u64 {
    STATE.hash_one((trace_id, body))
}

/// The traces of a body, without what a second attempt changes: ids of traces, spans and methods.
/// `None`: nothing to recognise them by.
pub(crate) fn of_traces(body: &TraceBody, names: &Names) -> Option<u64> {
    let mut hasher = STATE.build_hasher();
    let mut known = false;
    body.records.len().hash(&mut hasher);
    for record in body.records.iter().filter(|r| r.parent == NONE) {
        record.duration.hash(&mut hasher);
        if record.dialect == Dialect::Modern {
            // The clock of the JVM, which a second attempt does not change.
            record.start.hash(&mut hasher);
            known = true;
        }
        if let Some(method) = names.get_method(record.method) {
            for id in [method.class, method.name] {
                names.symbol(id).hash(&mut hasher);
            }
        }
        if let Some(span) = body.spans.get(record.span as usize) {
            span.clock.hash(&mut hasher);
            names.symbol(span.kind).hash(&mut hasher);
            known = true;
        }
    }
    known.then(|| hasher.finish())
}

/// A ring of at most `N` hashes; it allocates as it fills.
#[derive(Debug, Default)]
pub(crate) struct Recent<const N: usize> {
    hashes: Vec<u64>,
    next: usize,
}

crate::heap_size!([const N: usize] Recent<N> { hashes });

impl<const N: usize> Recent<N> {
    pub(crate) fn contains(&self, hash: u64) -> bool {
        self.hashes.contains(&hash)
    }

    /// Adds a hash; the oldest goes if there are `N`.
    pub(crate) fn push(&mut self, hash: u64) {
        if self.hashes.len() < N {
            return self.hashes.push(hash);
        }
        if let Some(place) = self.hashes.get_mut(self.next) {
            *place = hash;
        }
        self.next = (self.next + 1) % N;
    }
}

#[cfg(test)]
#[path = "tests/session.rs"]
mod tests;
