//! The collector: requests and the time in, answers out (docs/protocols/zorka.md 10).
//!
//! ```text
//! answer ─▶ Endpoint ─┬▶ legacy: register, session ─▶ Registry
//!                     └▶ submit: unwrap, decode ─▶ decide ─▶ account ─▶ Meter ─▶ the agent's peer
//! closed, tick ─▶ agents: they come and go
//! ```
//! An agent's lock is held while its body is counted, and never across I/O.

mod agents;
mod legacy;
mod submit;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use subtle::ConstantTimeEq;

use self::agents::Directory;
use super::limits::{HOST_SHOWN, PAUSE};
use super::meter::Settings;
use super::records::Allowed;
use super::session::{Agent, Kind, Registry};
use super::{Config, metrics as m};
use crate::contract::http::{Answer, ConnectionId, HttpService, Request};
use crate::contract::{Peer, PeerMaker};
use crate::meter::{MergedLatencies, SlowCalls};
use crate::model::{Charge, Memory, Now, Purpose, RowItem, TreeRules};

/// The first bytes of the protocol that zorka spoke before HTTP (docs/protocols/zorka.md 1).
const ZICO: [u8; 4] = [0x21, 0xc0, 0xba, 0xbe];

/// The collector of Zorka agents.
pub struct Collector {
    config: RwLock<Arc<Config>>,
    /// Attributes in event records.
    allowed: RwLock<Arc<Allowed>>,
    maker: PeerMaker,
    memory: Arc<Memory>,
    latencies: MergedLatencies,
    slow: Arc<SlowCalls>,
    directory: Directory,
    registry: Mutex<Registry>,
    ids: Mutex<super::session::SessionIds>,
    counts: Counts,
    /// Names of this host, in lower case.
    own_names: Vec<String>,
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collector")
            .field("directory", &self.directory.len())
            .finish_non_exhaustive()
    }
}

impl Collector {
    /// A collector without sessions. `state`: what [`take_state`](Self::take_state) gave earlier;
    /// empty at the first start.
    ///
    /// # Errors
    /// The state is damaged.
    pub fn new(
        config: &Config,
        maker: PeerMaker,
        memory: Arc<Memory>,
        state: &str,
    ) -> Result<Self, String> {
        Ok(Self {
            config: RwLock::new(Arc::new(config.clone())),
            allowed: RwLock::new(Arc::new(Allowed::new(&config.attributes))),
            counts: Counts::new(&maker),
            maker,
            latencies: MergedLatencies::new(&memory),
            slow: Arc::new(SlowCalls::new(&memory)),
            memory,
            directory: Directory::default(),
            registry: Mutex::new(Registry::parse(state)?),
            ids: Mutex::default(),
            own_names: Vec::new(),
        })
    }

    /// Agents may call this host by these names.
    #[must_use]
    pub fn known_as(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.own_names = names.into_iter().map(|name| name.to_ascii_lowercase()).collect();
        self
    }

    /// Sets which spans have trees from now on.
    pub fn set_trees(&self, rules: TreeRules) {
        self.slow.set_rules(rules);
    }

    /// Applies a new configuration.
    pub fn reconfigure(&self, config: &Config) {
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config.clone());
        let allowed = Arc::new(Allowed::new(&config.attributes));
        *self.allowed.write().unwrap_or_else(PoisonError::into_inner) = allowed;
    }

    /// The registered agents as text, if they have changed since the last call.
    pub fn take_state(&self) -> Option<String> {
        self.registry().take_changes()
    }

    /// The text could not be written: the next call of [`take_state`](Self::take_state) gives it
    /// again.
    pub fn keep_state(&self) {
        self.registry().keep_changes();
    }

    fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn allowed(&self) -> Arc<Allowed> {
        Arc::clone(&self.allowed.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> Settings {
        let config = self.config();
        Settings {
            signatures: config.signatures,
            statements: config.statements,
            stacks: config.stacks,
        }
    }

    fn new_agent(&self, now: Now, kind: Kind) -> Arc<Agent> {
        let charge = Charge::new(Arc::clone(&self.memory), Purpose::Definitions);
        let settings = self.settings();
        self.directory.add(|number| Agent::new(number, kind, now, settings, charge))
    }

    /// Why a request is not of an agent: a web page may make any browser send requests to us.
    fn foreign(&self, request: &Request<'_>) -> Option<String> {
        if request.is_of_browser() {
            return Some("it comes from a browser (Origin or Sec-Fetch-*)".to_owned());
        }
        let config = self.config();
        // Who may connect is listed: no browser that a foreign page can use is there.
        if !config.allow.is_empty() {
            return None;
        }
        let listed = |name: &str| config.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
        let known = |name: &str| self.own_names.iter().any(|own| own == name) || listed(name);
        let name: String = request.foreign_host(known)?.chars().take(HOST_SHOWN).collect();
        Some(format!(
            "its Host {name:?} is no address, no name of this host and not in zorka.hosts"
        ))
    }

    /// The request has `zorka.token`, if there is one.
    fn may_ask(&self, request: &Request<'_>) -> bool {
        let config = self.config();
        config.token.is_empty()
            || request
                .bearer()
                .is_some_and(|token| bool::from(token.ct_eq(config.token.as_bytes())))
    }

    fn reply(&self, now: Now, endpoint: Endpoint, request: &Request<'_>) -> Reply {
        match (endpoint, request.method) {
            (Endpoint::Other, _) => Reply::of(404, Outcome::NotFound),
            (Endpoint::Health, "GET" | "HEAD") => Reply::of(200, Outcome::Accepted),
            (Endpoint::Health, _) => Reply::of(405, Outcome::Method),
            (_, method) if method != "POST" => Reply::of(405, Outcome::Method),
            (Endpoint::Register, _) => self.register(now, request),
            (Endpoint::Session, _) => self.open_session(now, request),
            (Endpoint::Definitions, _) => self.definitions(now, request),
            (Endpoint::Traces, _) => self.traces(now, request),
        }
    }
}

impl Drop for Collector {
    /// Without this the end of a peer would count as a fault of its agent.
    fn drop(&mut self) {
        self.end();
    }
}

impl HttpService for Collector {
    fn admits(&self, from: SocketAddr) -> bool {
        let config = self.config();
        config.allow.is_empty() || config.allow.iter().any(|network| network.contains(from.ip()))
    }

    fn rejects(&self, first: &[u8]) -> Option<&'static str> {
        if !first.is_empty() && first.iter().zip(ZICO).all(|(byte, zico)| *byte == zico) {
            return Some(
                "a Zorka agent that speaks the old binary protocol; in its zorka.properties, \
                 tracer.net.protocol = cbor and tracer.net.http.url = http://HOST:8640 are needed",
            );
        }
        first.starts_with(&[0x16, 0x03]).then_some(
            "an agent that speaks TLS; its URL needs http, or the port of zorka.tls_listen",
        )
    }

    fn answer(&self, now: Now, request: &Request<'_>) -> Answer {
        let endpoint = Endpoint::of(request.path);
        let reply = match self.foreign(request) {
            None if !self.may_ask(request) => {
                self.counts.error(
                    now,
                    &format!(
                        "a request from {} is refused: it is without zorka.token",
                        request.from
                    ),
                );
                Reply::unauthorized()
            }
            Some(why) => {
                self.counts
                    .error(now, &format!("a request from {} is refused: {why}", request.from));
                Reply::forbidden(&why)
            }
            None => self.reply(now, endpoint, request),
        };
        self.counts.request(now, endpoint, reply.outcome);
        reply.answer
    }

    fn closed(&self, now: Now, connection: ConnectionId) {
        self.leave(now, connection);
    }

    fn tick(&self, now: Now) {
        self.each_second(now);
    }
}

/// What a path is for (docs/protocols/zorka.md 10.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Register,
    Session,
    Definitions,
    Traces,
    Health,
    Other,
}

impl Endpoint {
    /// By the path's end: agents may be configured with a prefix.
    pub(super) fn of(path: &str) -> Self {
        const PATHS: [(&str, Endpoint); 7] = [
            ("/agent/submit/trc", Endpoint::Traces),
            ("/agent/submit/agd", Endpoint::Definitions),
            ("/agent/session", Endpoint::Session),
            ("/agent/register", Endpoint::Register),
            ("/submit/trace", Endpoint::Traces),
            ("/submit/agent", Endpoint::Definitions),
            ("/healthz", Endpoint::Health),
        ];
        PATHS.iter().find(|(end, _)| path.ends_with(end)).map_or(Self::Other, |(_, is)| *is)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Session => "session",
            Self::Definitions => "agd",
            Self::Traces => "trc",
            Self::Health => "healthz",
            Self::Other => "other",
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Accepted,
    /// Accepted and not counted: it had come before.
    Duplicate,
    /// Accepted; its body has a fault.
    Faulty,
    /// Accepted; its body was dropped because of a limit.
    Dropped,
    /// The session is not known.
    Unknown,
    /// The agent is asked for all definitions.
    Undefined,
    /// The key does not allow it, it is without the token, of a browser or for another host.
    Refused,
    /// No JSON, or a part is missing.
    Malformed,
    /// Another method than POST.
    Method,
    NotFound,
}

impl Outcome {
    const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Faulty => "faulty",
            Self::Dropped => "dropped",
            Self::Unknown => "unknown",
            Self::Undefined => "undefined",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
            Self::Method => "method",
            Self::NotFound => "not_found",
        }
    }
}

/// An answer and its reason.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) answer: Answer,
    pub(super) outcome: Outcome,
}

impl Reply {
    /// An answer without a body.
    pub(super) fn of(status: u16, outcome: Outcome) -> Self {
        Self { answer: Answer::of(status), outcome }
    }

    /// A text for who looks at it; slowly, as some agents repeat it without a pause.
    pub(super) fn forbidden(why: &str) -> Self {
        let mut reply = Self::of(403, Outcome::Refused);
        reply.answer.content_type = "text/plain; charset=utf-8";
        reply.answer.body = format!("refused: {why}\n").into_bytes();
        reply.answer.delay = PAUSE;
        reply
    }

    /// As slowly, and without a word about the token.
    fn unauthorized() -> Self {
        let mut reply = Self::of(401, Outcome::Refused);
        reply.answer.delay = PAUSE;
        reply
    }

    /// What a submitted body gets, whatever is in it: an error would only make the agent repeat it
    /// (docs/protocols/zorka.md 7).
    pub(super) fn accepted(outcome: Outcome) -> Self {
        let mut reply = Self::of(202, outcome);
        reply.answer.known = true;
        reply
    }

    /// JSON.
    pub(super) fn json(status: u16, value: &serde_json::Value) -> Self {
        let body = value.to_string().into_bytes();
        let answer = Answer {
            status,
            content_type: "application/json",
            body,
            known: true,
            ..Answer::default()
        };
        Self { answer, outcome: Outcome::Accepted }
    }
}

/// Counts requests and faults of all agents.
pub(super) struct Counts(Mutex<Peer>);

impl Counts {
    fn new(maker: &PeerMaker) -> Self {
        Self(Mutex::new(maker.make()))
    }

    /// Counts a request.
    fn request(&self, now: Now, endpoint: Endpoint, outcome: Outcome) {
        let number = (endpoint as u64) << 32 | outcome as u64;
        self.count(now, m::REQUEST_COUNT, number, || {
            format!("{}::{}", endpoint.name(), outcome.name())
        });
    }

    /// Counts a body by the kind of its fault.
    pub(super) fn fault(&self, now: Now, (number, name): (u32, &str)) {
        self.count(now, m::REQUEST_ERRORS, number.into(), || name.to_owned());
    }

    fn count(&self, now: Now, item: RowItem, number: u64, key: impl FnOnce() -> String) {
        let mut peer = self.at(now);
        peer.count_row(&[item], number, [1], |row| row.named(&key(), &[]));
        peer.flush();
    }

    /// Counts and logs a fault of who is no agent.
    fn error(&self, now: Now, what: &str) {
        self.at(now).error(what);
    }

    fn at(&self, now: Now) -> MutexGuard<'_, Peer> {
        let mut peer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        peer.at(now);
        peer
    }
}

#[cfg(test)]
#[path = "tests/collector.rs"]
mod tests;
