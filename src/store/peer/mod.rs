//! One peer of one source: its cells, texts, event streams and liveness. Two instances speak of it:
//! `<source>::<name>` in the domain of all agents and `<name>` in the source's own.

mod cells;
mod liveness;
mod request_queue;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub use cells::Cells;
pub use liveness::Liveness;
pub(super) use liveness::Turn;
pub use request_queue::RequestQueue;

use crate::catalogue::{AgentCell, Catalogue, DYNAMIC_MAX};
use crate::events::{Budget, Stream};
use crate::model::{
    Charge, Control, ControlId, EventKindId, Memory, Purpose, STATIC_ITEMS, SourceId,
};

/// A peer. Shared by the task that talks to it and the PMDA thread.
#[derive(Debug)]
pub struct Peer {
    /// Its source.
    pub source: SourceId,
    /// The name of its source.
    protocol: &'static str,
    /// Instance name in the source's domain.
    pub name: String,
    /// Values of the source's metrics.
    pub cells: Cells,
    /// Values of `apm.agent.*`.
    pub agent: Cells,
    /// Connected or not, fresh or stale.
    pub liveness: Liveness,
    streams: Box<[OnceLock<Stream>]>,
    words: Mutex<Words>,
    /// What it has of the budget: cells and texts.
    charged: Mutex<Option<Charged>>,
    requests: Mutex<Option<Arc<RequestQueue>>>,
}

/// What is text, and asked for seldom.
#[derive(Debug, Default)]
struct Words {
    texts: HashMap<u16, Arc<str>>,
    /// Bytes of the texts, with what each costs besides.
    bytes: usize,
    answers: HashMap<ControlId, Arc<str>>,
    labels: Vec<(Cow<'static, str>, String)>,
    address: String,
    process: Option<String>,
}

#[derive(Debug)]
struct Charged {
    cells: Charge,
    texts: Charge,
}

/// Bytes of a text that are kept; of a longer one its beginning, and [`MORE`].
pub(super) const TEXT_MAX: usize = 1024;
/// The end of a text that was cut.
pub(super) const MORE: &str = "…";
/// Bytes that a text costs besides its own.
const TEXT_COST: usize = 64;

/// What became of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Whole,
    Cut,
    /// There was no memory for it: the metric has no value.
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
        liveness: Liveness,
    ) -> Self {
        let kinds = catalogue.source(source).map_or(0, |s| s.events.len());
        let peer = Self {
            source,
            protocol: catalogue.name(source),
            name,
            cells: Cells::new(usize::from(STATIC_ITEMS) + DYNAMIC_MAX),
            agent: Cells::new(16),
            liveness,
            streams: (0..kinds).map(|_| OnceLock::new()).collect(),
            words: Mutex::default(),
            charged: Mutex::default(),
            requests: Mutex::default(),
        };
        use AgentCell::{BytesIn, BytesOut, Connects, Errors, Events, Messages, Up};
        for cell in [Up, Connects, BytesIn, BytesOut, Messages, Errors, Events] {
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

    /// Adds to a cell of `apm.agent.*`.
    pub fn count(&self, cell: AgentCell, more: u64) {
        self.agent.add(cell as u16, more);
    }

    /// The stream of an event kind of its source, made when first asked for; `None` for a kind that
    /// does not exist.
    pub fn stream(&self, kind: EventKindId, budget: &Arc<Budget>) -> Option<&Stream> {
        self.streams.get(kind.index()).map(|s| s.get_or_init(|| Stream::new(budget)))
    }

    /// The streams that exist.
    pub fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter_map(OnceLock::get)
    }

    /// The stream of a kind, if anything was ever appended or read.
    #[must_use]
    pub fn existing_stream(&self, kind: EventKindId) -> Option<&Stream> {
        self.streams.get(kind.index()).and_then(OnceLock::get)
    }

    /// Sets a text metric, as far as there is memory for it.
    pub(super) fn set_text(&self, column: u16, text: &str, memory: &Arc<Memory>) -> Kept {
        let cut = (text.len() > TEXT_MAX)
            .then(|| (0..=TEXT_MAX).rev().find_map(|end| text.get(..end)).unwrap_or_default());
        let kept: Arc<str> =
            cut.map_or_else(|| text.into(), |start| format!("{start}{MORE}").into());
        let mut words = lock(&self.words);
        let old = words.texts.remove(&column).map_or(0, |old| old.len() + TEXT_COST);
        let bytes = words.bytes - old + kept.len() + TEXT_COST;
        if !self.charge(memory, |charged| charged.texts.resize(bytes, bytes)) {
            words.bytes -= old;
            return Kept::Dropped;
        }
        words.bytes = bytes;
        words.texts.insert(column, kept);
        if cut.is_some() { Kept::Cut } else { Kept::Whole }
    }

    fn charge<T>(&self, memory: &Arc<Memory>, change: impl FnOnce(&mut Charged) -> T) -> T {
        let new = |purpose| Charge::new(Arc::clone(memory), purpose);
        let mut charged = lock(&self.charged);
        change(charged.get_or_insert_with(|| Charged {
            cells: new(Purpose::Registry),
            texts: new(Purpose::Texts),
        }))
    }

    /// Charges the cells that it has; `false`: there is no room for them.
    pub(super) fn charge_cells(&self, memory: &Arc<Memory>) -> bool {
        let bytes = size_of::<Self>() + self.cells.memory() + self.agent.memory() + self.name.len();
        self.charge(memory, |charged| {
            let room = charged.cells.resize(bytes, bytes);
            // They are there, and stay until the peer is forgotten.
            charged.cells.set(bytes);
            room
        })
    }

    /// Bytes of its texts and cells that are charged.
    #[must_use]
    pub fn charged(&self) -> usize {
        lock(&self.charged).as_ref().map_or(0, |c| c.cells.bytes() + c.texts.bytes())
    }

    /// Forgets its texts: it is gone, and they are not shown any more.
    pub(super) fn forget_texts(&self) {
        let mut words = lock(&self.words);
        (words.texts, words.bytes) = (HashMap::new(), 0);
        if let Some(charged) = lock(&self.charged).as_mut() {
            charged.texts.set(0);
        }
    }

    /// A text metric.
    #[must_use]
    pub fn text(&self, column: u16) -> Option<Arc<str>> {
        lock(&self.words).texts.get(&column).cloned()
    }

    /// Takes the value of one metric away.
    pub(super) fn hide(&self, column: u16) {
        self.cells.unset(column);
        let mut words = lock(&self.words);
        if let Some(old) = words.texts.remove(&column) {
            words.bytes -= old.len() + TEXT_COST;
        }
    }

    /// Remembers the answer to a request.
    pub fn set_answer(&self, control: ControlId, text: &str) {
        lock(&self.words).answers.insert(control, text.into());
    }

    /// The last answer to requests of this kind; empty before the first.
    #[must_use]
    pub fn answer(&self, control: ControlId) -> Arc<str> {
        lock(&self.words).answers.get(&control).cloned().unwrap_or_default()
    }

    /// Where it is, and how it is labelled.
    pub fn introduce(&self, address: String, labels: Vec<(&'static str, String)>) {
        let mut words = lock(&self.words);
        words.address = address;
        words.labels = labels.into_iter().map(|(k, v)| (k.into(), v)).collect();
    }

    /// The same for one that an earlier run knew.
    pub fn remember(&self, address: String, labels: Vec<(Cow<'static, str>, String)>) {
        let mut words = lock(&self.words);
        words.address = address;
        words.labels = labels;
    }

    /// Which process of its name it is, if its protocol tells.
    #[must_use]
    pub fn process(&self) -> Option<String> {
        lock(&self.words).process.clone()
    }

    /// Changes that; what it was before.
    pub(super) fn set_process(&self, process: Option<String>) -> Option<String> {
        std::mem::replace(&mut lock(&self.words).process, process)
    }

    /// Address or file.
    #[must_use]
    pub fn address(&self) -> String {
        lock(&self.words).address.clone()
    }

    /// Instance labels.
    #[must_use]
    pub fn labels(&self) -> Vec<(Cow<'static, str>, String)> {
        lock(&self.words).labels.clone()
    }

    /// Takes all values of the source's metrics away: another process has this name now.
    pub(super) fn forget_values(&self) {
        self.cells.clear(0);
        self.forget_texts();
    }

    /// Requests go to `requests` from now on; an older connection is told that it is replaced.
    pub(super) fn set_requests(&self, requests: &Arc<RequestQueue>) {
        if let Some(old) = lock(&self.requests).replace(Arc::clone(requests)) {
            old.post(Control::Replaced);
        }
    }

    /// The connection with this requests has ended.
    pub(super) fn clear_requests(&self, requests: &Arc<RequestQueue>) {
        let mut current = lock(&self.requests);
        if current.as_ref().is_some_and(|m| Arc::ptr_eq(m, requests)) {
            *current = None;
        }
    }

    /// Sends a request to the task that talks to the peer; `false` when it is not connected or too
    /// busy.
    pub fn post(&self, request: Control) -> bool {
        let requests = lock(&self.requests).clone();
        requests.is_some_and(|m| m.post(request))
    }
}
