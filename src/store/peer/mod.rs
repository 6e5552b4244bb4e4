//! One peer of one source: its cells, texts, event streams and liveness. It is two instances:
//! `<source>::<name>` in the domain of all agents and `<name>` in its source's domain.

mod cells;
mod health;
mod liveness;
mod request_queue;
mod twin;
mod ways;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

pub use cells::Cells;
use health::Health;
pub use liveness::Liveness;
pub(super) use liveness::Turn;
pub use request_queue::RequestQueue;
use twin::Twin;
pub use twin::{Ends, Share};
pub(super) use ways::Beside;
use ways::Ways;

use super::held::Held;
use crate::catalogue::{AgentCell, Catalogue, DYNAMIC_MAX};
use crate::contract::Control;
use crate::events::Stream;
use crate::model::{
    Charge, Condition, ControlId, Departure, EventKindId, Memory, MetricDef, Now, Purpose,
    STATIC_ITEMS, Semantics, SourceId, cut,
};

/// A peer. Shared by the task of its connection and the PMDA thread.
#[derive(Debug)]
pub struct Peer {
    /// Its source.
    pub source: SourceId,
    /// The name of its source.
    protocol: &'static str,
    /// Instance name in the source's domain.
    pub name: String,
    /// Whether it was there before the PMDA.
    pub(super) origin: Origin,
    /// Values of the source's metrics.
    pub cells: Cells,
    /// Values of `apm.agent.*`.
    pub agent: Cells,
    /// Connected or not, fresh or stale.
    pub liveness: Liveness,
    health: Mutex<Health>,
    streams: Box<[OnceLock<Box<Stream>>]>,
    words: Mutex<Words>,
    /// Memory charges of cells and texts.
    charged: Mutex<Option<Charged>>,
    requests: Mutex<Ways>,
    twin: Twin,
    /// The dynamic metrics that it brings.
    names: Mutex<Held>,
    /// Clients have got records of it.
    read: AtomicBool,
    /// It has left the registry.
    forgotten: AtomicBool,
}

/// Where a peer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was known in an earlier run of the PMDA.
    Restored,
    /// It connected so early that it may have been there before the PMDA.
    Early,
    /// It came while the PMDA ran: all that it has counted was counted in this time.
    New,
}

/// Texts and other rarely read data.
#[derive(Debug, Default)]
struct Words {
    texts: HashMap<u16, Arc<str>>,
    /// Bytes of the texts, with [`TEXT_COST`] for each.
    bytes: usize,
    answers: HashMap<ControlId, Arc<str>>,
    labels: Vec<(Cow<'static, str>, String)>,
    address: String,
    process: Option<String>,
    service: Option<Arc<str>>,
}

#[derive(Debug)]
struct Charged {
    cells: Charge,
    texts: Charge,
}

/// The label of the host of a peer that is on another one.
pub const HOST: &str = "host";
/// Most bytes of a text; a longer one is cut and ends with [`MORE`].
pub(super) const TEXT_MAX: usize = 1024;
/// The end of a text that was cut.
pub(super) const MORE: &str = "…";
/// Bytes of overhead of a text.
const TEXT_COST: usize = 64;

/// The result of setting a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Whole,
    Cut,
    /// `limits.memory` left no room: the metric has no value.
    Dropped,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Peer {
    pub(super) fn new(
        catalogue: &Catalogue,
        source: SourceId,
        name: String,
        origin: Origin,
        liveness: Liveness,
    ) -> Self {
        let kinds = catalogue.source(source).map_or(0, |s| s.events.len());
        let peer = Self {
            source,
            protocol: catalogue.name(source),
            name,
            origin,
            cells: Cells::new(usize::from(STATIC_ITEMS) + DYNAMIC_MAX),
            agent: Cells::new(16),
            liveness,
            health: Mutex::default(),
            streams: (0..kinds).map(|_| OnceLock::new()).collect(),
            words: Mutex::default(),
            charged: Mutex::default(),
            requests: Mutex::default(),
            twin: Twin::default(),
            names: Mutex::default(),
            read: AtomicBool::new(false),
            forgotten: AtomicBool::new(false),
        };
        use AgentCell::{BytesIn, BytesOut, Connects, Errors, Events, Lost, Messages, Up};
        for cell in [Up, Connects, BytesIn, BytesOut, Messages, Errors, Events, Lost] {
            peer.agent.set(cell as u16, 0);
        }
        peer
    }

    /// The name of its source.
    #[must_use]
    pub const fn protocol(&self) -> &'static str {
        self.protocol
    }

    /// Instance name in the domain of all agents.
    #[must_use]
    pub fn agent_name(&self) -> String {
        format!("{}::{}", self.protocol, self.name)
    }

    /// The dynamic metrics that it brings.
    pub(super) fn names(&self) -> MutexGuard<'_, Held> {
        lock(&self.names)
    }

    /// A client gets records of it, and may know the parameters that it brings. Returns whether that is new.
    pub fn was_read(&self) -> bool {
        let new = !self.is_read() && !self.read.swap(true, Ordering::Relaxed);
        if new {
            self.names().were_in_records();
        }
        new
    }

    pub(super) fn is_read(&self) -> bool {
        self.read.load(Ordering::Relaxed)
    }

    /// It has left the registry, and brings nothing any more.
    pub(super) fn forget(&self) {
        self.forgotten.store(true, Ordering::Relaxed);
        drop(std::mem::take(&mut *self.names()));
    }

    /// It is no instance any more.
    #[must_use]
    pub fn is_forgotten(&self) -> bool {
        self.forgotten.load(Ordering::Relaxed)
    }

    /// Adds to a cell of `apm.agent.*`.
    pub fn count(&self, cell: AgentCell, more: u64) {
        self.agent.add(cell as u16, more);
    }

    /// What is the matter with it, while it is connected.
    pub(super) fn set_condition(&self, condition: Condition) {
        lock(&self.health).set(condition);
    }

    /// A connection has begun.
    pub(super) fn attached(&self, now: Now) {
        lock(&self.health).attached(now.wall.sec, self.messages());
    }

    /// The last connection has ended.
    pub fn departed(&self, departure: Departure, now: Now) {
        lock(&self.health).departed(departure, now.wall.sec);
    }

    fn messages(&self) -> u64 {
        self.agent.get(AgentCell::Messages as u16).unwrap_or_default()
    }

    /// `apm.agent.state`: how the peer is, in words.
    #[must_use]
    pub fn state(&self, now: Duration, stale: Duration) -> Cow<'static, str> {
        lock(&self.health).state(&self.liveness, self.messages(), now, stale)
    }

    /// `apm.agent.since`: since when the peer is connected, or gone.
    #[must_use]
    pub fn since(&self) -> Option<String> {
        lock(&self.health).since()
    }

    /// How its last connection ended, for the state file.
    #[must_use]
    pub fn departure(&self) -> Departure {
        lock(&self.health).departure().clone()
    }

    /// The stream of an event kind, made at the first call; `None` for an unknown kind.
    pub(super) fn stream(
        &self,
        kind: EventKindId,
        make: impl FnOnce() -> Stream,
    ) -> Option<&Stream> {
        self.streams.get(kind.index()).map(|s| &**s.get_or_init(|| Box::new(make())))
    }

    /// The streams that exist.
    pub fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter_map(OnceLock::get).map(|stream| &**stream)
    }

    /// Whether it was connected at any time of this run: its streams exist, if only as no records.
    #[must_use]
    pub fn was_attached(&self) -> bool {
        self.agent.get(AgentCell::Connects as u16) > Some(0)
    }

    /// The stream of a kind, if anything was ever appended or read.
    #[must_use]
    pub fn existing_stream(&self, kind: EventKindId) -> Option<&Stream> {
        self.streams.get(kind.index()).and_then(OnceLock::get).map(|stream| &**stream)
    }

    /// Sets a text metric if there is memory for the text.
    pub(super) fn set_text(&self, column: u16, text: &str, memory: &Arc<Memory>) -> Kept {
        let long = text.len() > TEXT_MAX;
        let kept: Arc<str> =
            if long { format!("{}{MORE}", cut(text, TEXT_MAX)).into() } else { text.into() };
        let mut words = lock(&self.words);
        let old = words.texts.remove(&column).map_or(0, |old| old.len() + TEXT_COST);
        let bytes = words.bytes - old + kept.len() + TEXT_COST;
        if !self.charge(memory, |charged| charged.texts.resize(bytes, bytes)) {
            words.bytes -= old;
            return Kept::Dropped;
        }
        words.bytes = bytes;
        words.texts.insert(column, kept);
        if long { Kept::Cut } else { Kept::Whole }
    }

    fn charge<T>(&self, memory: &Arc<Memory>, change: impl FnOnce(&mut Charged) -> T) -> T {
        let new = |purpose| Charge::new(Arc::clone(memory), purpose);
        let mut charged = lock(&self.charged);
        change(charged.get_or_insert_with(|| Charged {
            cells: new(Purpose::Registry),
            texts: new(Purpose::Texts),
        }))
    }

    /// Charges the allocated cells; `false` if there is no room.
    pub(super) fn charge_cells(&self, memory: &Arc<Memory>) -> bool {
        let bytes = size_of::<Self>() + self.cells.memory() + self.agent.memory() + self.name.len();
        self.charge(memory, |charged| {
            let room = charged.cells.resize(bytes, bytes);
            // The cells stay allocated until the peer is forgotten.
            charged.cells.set(bytes);
            room
        })
    }

    /// Charged bytes of texts and cells.
    #[must_use]
    pub fn charged(&self) -> usize {
        lock(&self.charged).as_ref().map_or(0, |c| c.cells.bytes() + c.texts.bytes())
    }

    /// Drops the texts of a disconnected peer, which are not shown any more.
    pub(super) fn forget_texts(&self) {
        let mut words = lock(&self.words);
        (words.texts, words.bytes) = (HashMap::new(), 0);
        if let Some(charged) = lock(&self.charged).as_mut() {
            charged.texts.set(0);
        }
    }

    /// The value of a text metric.
    #[must_use]
    pub fn text(&self, column: u16) -> Option<Arc<str>> {
        lock(&self.words).texts.get(&column).cloned()
    }

    /// Removes the value of one metric.
    pub(super) fn hide(&self, column: u16) {
        self.cells.unset(column);
        let mut words = lock(&self.words);
        if let Some(old) = words.texts.remove(&column) {
            words.bytes -= old.len() + TEXT_COST;
        }
    }

    /// Sets the answer of a control.
    pub fn set_answer(&self, control: ControlId, text: &str) {
        lock(&self.words).answers.insert(control, text.into());
    }

    /// The newest answer of a control; empty before the first.
    #[must_use]
    pub fn answer(&self, control: ControlId) -> Arc<str> {
        lock(&self.words).answers.get(&control).cloned().unwrap_or_default()
    }

    /// Sets the address and the instance labels. `beside`: others of the same process are connected,
    /// whose labels stay; those of a better way are not changed.
    pub(super) fn introduce(
        &self,
        address: String,
        labels: Vec<(&'static str, String)>,
        beside: Beside,
    ) {
        let mut words = lock(&self.words);
        let labels = labels.into_iter().map(|(k, v)| (k.into(), v)).collect();
        let (mut kept, more) = match beside {
            Beside::Alone => (labels, Vec::new()),
            Beside::Better => (labels, std::mem::take(&mut words.labels)),
            Beside::Worse => (std::mem::take(&mut words.labels), labels),
        };
        for (name, value) in more {
            if kept.iter().all(|(other, _)| *other != name) {
                kept.push((name, value));
            }
        }
        words.labels = kept;
        if beside != Beside::Worse {
            words.address = address;
        }
    }

    /// How a connection of this process by this way stands to those that there are.
    pub(super) fn beside(&self, process: Option<&String>, way: u8) -> Beside {
        if process.is_none() || !self.liveness.up() || self.process().as_ref() != process {
            return Beside::Alone;
        }
        match lock(&self.requests).best_way() {
            Some(best) if best < way => Beside::Worse,
            Some(_) => Beside::Better,
            None => Beside::Alone,
        }
    }

    /// Sets the address and the instance labels of a peer restored from the state file.
    pub fn remember(&self, address: String, labels: Vec<(Cow<'static, str>, String)>) {
        let mut words = lock(&self.words);
        words.address = address;
        words.labels = labels;
    }

    /// Tells processes of this name apart, if the protocol can: see [`crate::contract::Identity`].
    #[must_use]
    pub fn process(&self) -> Option<String> {
        lock(&self.words).process.clone()
    }

    /// Sets [`Peer::process`]; returns the previous value.
    pub(super) fn set_process(&self, process: Option<String>) -> Option<String> {
        std::mem::replace(&mut lock(&self.words).process, process)
    }

    /// The row that the peer is a member of, its service or program: SOURCE::NAME.
    #[must_use]
    pub fn service(&self) -> Option<Arc<str>> {
        lock(&self.words).service.clone()
    }

    /// Sets [`Peer::service`].
    pub(super) fn set_service(&self, name: &str) {
        lock(&self.words).service = Some(format!("{}::{name}", self.protocol).into());
    }

    /// Address or file.
    #[must_use]
    pub fn address(&self) -> String {
        lock(&self.words).address.clone()
    }

    /// Instance labels that it came with, which last longer than the PMDA.
    #[must_use]
    pub fn own_labels(&self) -> Vec<(Cow<'static, str>, String)> {
        lock(&self.words).labels.clone()
    }

    /// Instance labels, with those of [`Peer::linked`].
    #[must_use]
    pub fn labels(&self) -> Vec<(Cow<'static, str>, String)> {
        let mut labels = self.own_labels();
        self.add_links(&mut labels);
        labels
    }

    /// Removes all values of the source's metrics: another process now has this name.
    pub(super) fn forget_values(&self) {
        self.cells.clear(0);
        self.forget_texts();
    }

    /// Removes what those of the source's metrics that do not count say: another process of this name continues the
    /// counters, and has not said anything else.
    pub(super) fn forget_present(&self, metrics: &[MetricDef]) {
        let present = metrics.iter().filter(|metric| metric.sem != Semantics::Counter);
        present.for_each(|metric| self.cells.unset(metric.item));
        self.forget_texts();
    }

    /// Sends requests to `requests` from now on; an older connection of the same way, or all if
    /// `others` are of another process, get [`Control::Replaced`].
    pub(super) fn set_requests(&self, way: u8, others: bool, requests: &Arc<RequestQueue>) {
        lock(&self.requests).enter(way, others, requests);
    }

    /// Removes the queue of an ended connection, unless a newer connection has replaced it.
    pub(super) fn clear_requests(&self, requests: &Arc<RequestQueue>) {
        lock(&self.requests).leave(requests);
    }

    /// Queues a request for the best of the peer's connections; `false` if the peer is not
    /// connected or its queue is full.
    pub fn post(&self, request: Control) -> bool {
        let requests = lock(&self.requests).best();
        requests.is_some_and(|m| m.post(request))
    }

    /// Queues a request for each of the peer's connections.
    pub fn post_all(&self, request: &Control) {
        for requests in lock(&self.requests).all() {
            requests.post(request.clone());
        }
    }
}
