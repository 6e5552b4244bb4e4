//! A peer that keeps what is said of it, for the tests of a source: no test needs a recipient of its own.

mod log;

use std::collections::{BTreeMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use log::Slots;
pub use log::{Log, RecordedEvent};

use super::{
    Control, Held, Identity, ParamId, Params, Peer, PeerMaker, Recipient, Refusal, Update,
};
use crate::catalogue::SourceTable;
use crate::events::{Batch, Later};
use crate::model::{
    Departure, EventKindId, MetricItem, Now, Pmid, RowItem, TableId, Value, ValueType,
};

/// A peer whose values, rows and records are kept as the store would keep them. It is used where a
/// [`Peer`] is.
#[derive(Debug)]
pub struct Recorded {
    peer: Peer,
    log: Arc<RwLock<Log>>,
}

impl Recorded {
    /// A peer of a source.
    #[must_use]
    pub fn new(table: &SourceTable) -> Self {
        let log = Arc::new(RwLock::new(Log::new(*table)));
        Self { peer: handle(&log), log }
    }

    /// Keeps each call as a line.
    #[must_use]
    pub fn with_lines(self) -> Self {
        self.log_mut().has_lines = true;
        self
    }

    /// One more peer that is kept in the same log.
    #[must_use]
    pub fn peer(&self) -> Peer {
        handle(&self.log)
    }

    /// One more peer, which keeps what it counts until the end of a call, as those of the store.
    #[must_use]
    pub fn peer_with_sums(&self) -> Peer {
        Peer::new(Handle::new(&self.log))
    }

    /// Makes such peers.
    #[must_use]
    pub fn maker(&self) -> PeerMaker {
        let log = Arc::clone(&self.log);
        PeerMaker::new(move || handle(&log))
    }

    /// All that was said.
    pub fn log(&self) -> RwLockReadGuard<'_, Log> {
        self.log.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, to change it: what it answers, or to forget what is known.
    pub fn log_mut(&self) -> RwLockWriteGuard<'_, Log> {
        self.log.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last identity.
    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        self.log().identities.last().cloned()
    }

    /// A static metric.
    #[must_use]
    pub fn value(&self, item: MetricItem) -> Option<Value> {
        self.log().values.get(&item).cloned()
    }

    /// A static metric that is a whole number; 0: it has no value.
    #[must_use]
    pub fn count(&self, item: MetricItem) -> u64 {
        self.log().count(item)
    }

    /// A static metric that is a whole number.
    #[must_use]
    pub fn number(&self, item: MetricItem) -> Option<u64> {
        self.value(item)?.to_bits(ValueType::U64)
    }

    /// A static metric that is a text.
    #[must_use]
    pub fn text(&self, item: MetricItem) -> Option<String> {
        match self.value(item) {
            Some(Value::Text(text)) => Some(text.into()),
            _ => None,
        }
    }

    /// A cell of a row. Rows of a peer are named without the peer.
    #[must_use]
    pub fn cell(&self, item: RowItem, key: &str) -> Option<u64> {
        self.log().rows.get(&(item, key.to_owned())).copied()
    }

    /// A metric of all rows that have it, by key.
    #[must_use]
    pub fn rows(&self, item: RowItem) -> BTreeMap<String, u64> {
        let log = self.log();
        let of = log.rows.iter().filter(|((of, _), _)| *of == item);
        of.map(|((_, key), value)| (key.clone(), *value)).collect()
    }

    /// The same of rows that are not 0.
    #[must_use]
    pub fn counted(&self, item: RowItem) -> BTreeMap<String, u64> {
        let mut rows = self.rows(item);
        rows.retain(|_, value| *value > 0);
        rows
    }

    /// All records.
    #[must_use]
    pub fn records(&self) -> Vec<RecordedEvent> {
        self.log().events.clone()
    }

    /// The records of a kind.
    #[must_use]
    pub fn events(&self, kind: EventKindId) -> Vec<RecordedEvent> {
        self.log().events.iter().filter(|event| event.kind == kind).cloned().collect()
    }
}

impl Deref for Recorded {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.peer
    }
}

impl DerefMut for Recorded {
    fn deref_mut(&mut self) -> &mut Peer {
        &mut self.peer
    }
}

/// What a peer counts is told at once: a test looks at it between its calls.
fn handle(log: &Arc<RwLock<Log>>) -> Peer {
    Peer::direct(Handle::new(log))
}

/// The recipient of one peer.
#[derive(Debug)]
struct Handle {
    log: Arc<RwLock<Log>>,
    refusal: Option<Refusal>,
    is_shown: bool,
    name: Option<String>,
    batches: Vec<Batch>,
    /// Slots of metrics in this connection.
    defined: HashSet<u32>,
    slots: Slots,
}

impl Handle {
    fn new(log: &Arc<RwLock<Log>>) -> Self {
        Self {
            log: Arc::clone(log),
            refusal: None,
            is_shown: false,
            name: None,
            batches: Vec::new(),
            defined: HashSet::new(),
            slots: Slots::new(),
        }
    }

    fn log(&self) -> RwLockWriteGuard<'_, Log> {
        self.log.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Params for Handle {
    fn param(&self, id: ParamId) -> Option<(Pmid, ValueType)> {
        self.log().param(id)
    }
}

impl Recipient for Handle {
    fn update(&mut self, update: Update<'_>) {
        if let Update::Identity(identity) = &update {
            // What a peer shows belongs to its name.
            let before = self.name.replace(identity.name.clone());
            let mut log = self.log();
            if let Some(before) = before {
                if before != identity.name || !identity.resumes {
                    log.forget();
                }
                log.shown.remove(&before);
            }
            let refuses = log.refuses;
            if refuses.is_none() {
                log.shown.insert(identity.name.clone());
            }
            drop(log);
            self.defined.clear();
            (self.refusal, self.is_shown) = (refuses, refuses.is_none());
        }
        if let Update::Define { slot, .. } = &update {
            assert!(self.defined.insert(*slot), "slot {slot} is defined twice");
        }
        if self.refusal.is_some() {
            return;
        }
        let mut slots = std::mem::take(&mut self.slots);
        let mut log = self.log();
        log.updates += 1;
        if log.has_lines {
            log.line(&update);
        }
        // Slots belong to a peer.
        std::mem::swap(&mut log.slots, &mut slots);
        log.update(update);
        std::mem::swap(&mut log.slots, &mut slots);
        drop(log);
        self.slots = slots;
    }

    fn row_cells(&self, table: TableId) -> (u16, u16) {
        let of = self.log().table;
        (of.row_layout(table).cells, of.score(table))
    }

    fn record(&mut self, kind: EventKindId, write: &mut dyn FnMut(&mut Batch, &dyn Params)) {
        if self.refusal.is_some() {
            return;
        }
        let mut log = self.log();
        log.updates += 1;
        let mut batch = Batch::default();
        write(&mut batch, &*log);
        log.take(kind, &mut batch);
    }

    fn batch(&mut self, kind: EventKindId) -> Option<&mut Batch> {
        let log = self.log();
        if !log.packs || kind.index() >= log.table.events.len() {
            return None;
        }
        drop(log);
        if self.batches.len() <= kind.index() {
            self.batches.resize_with(kind.index() + 1, Batch::default);
        }
        self.batches.get_mut(kind.index())
    }

    fn append(&mut self, kind: EventKindId, records: &mut Batch) {
        self.log().take(kind, records);
    }

    fn keeps(&self, _: EventKindId, _: usize, _: usize) -> bool {
        self.log().keeps
    }

    fn append_later(&mut self, _: EventKindId, records: Later) {
        self.log().take_later(records);
    }

    fn is_watched(&self, _: EventKindId) -> bool {
        self.log().watched
    }

    fn set_now(&mut self, _: Now) {}

    fn flush(&mut self) {
        let mut batches = std::mem::take(&mut self.batches);
        for (kind, batch) in (0..).zip(&mut batches) {
            self.log().take(EventKindId::new(kind), batch);
        }
    }

    fn count_io(&mut self, _: usize, _: usize) {}

    fn held(&self) -> Held {
        Held::default()
    }

    fn name(&self) -> Option<String> {
        self.name.clone()
    }

    fn is_shown(&self) -> bool {
        self.is_shown
    }

    fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    fn requests(&mut self) -> Vec<Control> {
        self.log().requests.drain(..).collect()
    }

    fn finish(&mut self, _: bool, departure: Departure) {
        let mut log = self.log();
        if let Some(name) = &self.name {
            log.shown.remove(name);
        }
        if log.has_lines {
            log.lines.push(format!("end {}", departure.why));
        }
        log.ended.push(departure);
    }
}
