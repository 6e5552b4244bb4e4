//! One peer of one source: its cells, texts, event streams and life. Two instances speak of it: `<source>::<name>` in the
//! domain of all agents and `<name>` in the source's own.

use super::cells::Cells;
use super::life::Life;
use super::mailbox::Mailbox;
use crate::events::{Budget, Stream};
use crate::model::{Control, ControlVerb};
use crate::sources::{DYNAMIC_MAX, SOURCES};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Columns below this are the source's static metrics (column = item), the others dynamic ones.
pub(super) const STATIC_COLUMNS: u16 = 64;

/// Cells of `apm.agent.*`, by item number of that table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum AgentCell {
    /// 1 while connected
    Up = 0,
    /// connections ever
    Connects = 3,
    /// start of the newest connection, ms since 1970
    ConnectTime = 4,
    /// bytes read
    BytesIn = 6,
    /// bytes written
    BytesOut = 7,
    /// whole messages read
    Messages = 8,
    /// bad records and connections ended by a fault
    Errors = 9,
    /// event records
    Events = 10,
}

/// A peer. Shared by the task that talks to it and the PMDA thread.
#[derive(Debug)]
pub struct Peer {
    /// Position of its source in `SOURCES`.
    pub source: usize,
    /// Instance name in the source's domain.
    pub name: String,
    /// Values of the source's metrics.
    pub cells: Cells,
    /// Values of `apm.agent.*`.
    pub agent: Cells,
    /// Connected or not, fresh or stale.
    pub life: Life,
    streams: Box<[OnceLock<Stream>]>,
    words: Mutex<Words>,
    mailbox: Mutex<Option<Arc<Mailbox>>>,
}

/// What is text, and asked for seldom.
#[derive(Debug, Default)]
struct Words {
    texts: HashMap<u16, Arc<str>>,
    answers: HashMap<ControlVerb, Arc<str>>,
    labels: Vec<(Cow<'static, str>, String)>,
    address: String,
    process: Option<String>,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AgentCell {
    /// Item of the text `apm.agent.source`.
    pub const SOURCE: u16 = 1;
    /// Item of the text `apm.agent.peer`.
    pub const PEER: u16 = 2;
}

impl Peer {
    pub(super) fn new(source: usize, name: String, life: Life) -> Self {
        let kinds = SOURCES.get(source).map_or(0, |s| s.events.len());
        let peer = Self {
            source,
            name,
            cells: Cells::new(usize::from(STATIC_COLUMNS) + DYNAMIC_MAX),
            agent: Cells::new(16),
            life,
            streams: (0..kinds).map(|_| OnceLock::new()).collect(),
            words: Mutex::default(),
            mailbox: Mutex::default(),
        };
        use AgentCell::{BytesIn, BytesOut, Connects, Errors, Events, Messages, Up};
        for cell in [Up, Connects, BytesIn, BytesOut, Messages, Errors, Events] {
            peer.agent.set(cell as u16, 0);
        }
        peer
    }

    /// Instance name in the domain of all agents.
    #[must_use]
    pub fn agent_name(&self) -> String {
        format!("{}::{}", SOURCES.get(self.source).map_or("", |s| s.name), self.name)
    }

    /// Adds to a cell of `apm.agent.*`.
    pub fn count(&self, cell: AgentCell, more: u64) {
        self.agent.add(cell as u16, more);
    }

    /// The stream of an event kind of its source, made when first asked for; `None` for a kind that does not exist.
    pub fn stream(&self, kind: u8, budget: &Arc<Budget>) -> Option<&Stream> {
        self.streams.get(usize::from(kind)).map(|s| s.get_or_init(|| Stream::new(budget)))
    }

    /// The streams that exist.
    pub fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter_map(OnceLock::get)
    }

    /// The stream of a kind, if anything was ever appended or read.
    #[must_use]
    pub fn existing_stream(&self, kind: u8) -> Option<&Stream> {
        self.streams.get(usize::from(kind)).and_then(OnceLock::get)
    }

    /// Sets a text metric.
    pub fn set_text(&self, column: u16, text: &str) {
        lock(&self.words).texts.insert(column, text.into());
    }

    /// A text metric.
    #[must_use]
    pub fn text(&self, column: u16) -> Option<Arc<str>> {
        lock(&self.words).texts.get(&column).cloned()
    }

    /// Takes the value of one metric away.
    pub(super) fn hide(&self, column: u16) {
        self.cells.unset(column);
        lock(&self.words).texts.remove(&column);
    }

    /// Remembers the answer to a request.
    pub fn set_answer(&self, verb: ControlVerb, text: &str) {
        lock(&self.words).answers.insert(verb, text.into());
    }

    /// The last answer to requests of this kind; empty before the first.
    #[must_use]
    pub fn answer(&self, verb: ControlVerb) -> Arc<str> {
        lock(&self.words).answers.get(&verb).cloned().unwrap_or_default()
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
        lock(&self.words).texts.clear();
    }

    /// Requests go to `mailbox` from now on; an older connection is told that it is replaced.
    pub(super) fn set_mailbox(&self, mailbox: &Arc<Mailbox>) {
        if let Some(old) = lock(&self.mailbox).replace(Arc::clone(mailbox)) {
            old.post(Control::Replaced);
        }
    }

    /// The connection with this mailbox has ended.
    pub(super) fn clear_mailbox(&self, mailbox: &Arc<Mailbox>) {
        let mut current = lock(&self.mailbox);
        if current.as_ref().is_some_and(|m| Arc::ptr_eq(m, mailbox)) {
            *current = None;
        }
    }

    /// Sends a request to the task that talks to the peer; `false` when it is not connected or too busy.
    pub fn post(&self, request: Control) -> bool {
        let mailbox = lock(&self.mailbox).clone();
        mailbox.is_some_and(|m| m.post(request))
    }

    /// Bytes allocated for it, without event streams.
    #[must_use]
    pub fn memory(&self) -> usize {
        let words = lock(&self.words);
        let text: usize = words.texts.values().map(|t| t.len() + 48).sum();
        size_of::<Self>() + self.cells.memory() + self.agent.memory() + text + self.name.len()
    }
}
