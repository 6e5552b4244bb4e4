//! Applies one session's updates to the store: cells, event records, counts, log lines.

mod bound_row;
mod brought;
mod maker;
mod redacted;
mod rows;
mod served;
mod told;
mod totals;
mod values;

use std::cell::Cell;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;

use bound_row::BoundRow;
use served::Served;

use super::held::Held;
use super::log_throttle::LogThrottle;
use super::peer::{Peer, RequestQueue};
use super::registry::{Store, duration};
use super::rows::Row;
use crate::catalogue::{AgentCell, PARAM_CLUSTER, SourceTable, Stat};
use crate::contract::{Control, Held as HeldBytes, ParamId, Params, Recipient, Refusal, Update};
use crate::events::{Batch, Later, Stream};
use crate::model::{Departure, EventKindId, Now, Pmid, SourceId, TableId, ValueType};

/// Most slots of one session: the most counters that an agent can announce.
const SLOTS_MAX: usize = 32_768;
/// Most bytes of records that are kept until the session's call ends.
const BATCH_MAX: usize = 256 << 10;

thread_local! {
    /// Empty batches for the next call with records: a session has none between its calls.
    static SPARE: Cell<Vec<Batch>> = const { Cell::new(Vec::new()) };
}

/// The destination of a slot's values.
#[derive(Clone, Copy, Debug)]
struct Target {
    column: u16,
    ty: ValueType,
    /// See [`Target::param`].
    param: Option<NonZeroU32>,
    /// The table whose rows have its values.
    table: Option<TableId>,
    /// This connection has sent a value for the slot.
    seen: bool,
    /// The column of the sum of all peers of the group; never the first, which is static.
    total: Option<NonZeroU16>,
}

/// Thousands of connections have some hundred each.
const _: () = assert!(size_of::<Option<Target>>() == 12);

impl Target {
    /// The parameter of records that has its values. No PMID is 0.
    fn param(self) -> Option<Pmid> {
        self.param.map(|pmid| Pmid(pmid.get()))
    }
}

/// One connection of a peer, which counts as connected until [`Connection::finish`] or, after a
/// panic, the drop.
#[derive(Debug)]
pub(super) struct Connection {
    store: Arc<Store>,
    source: SourceId,
    /// The table of the source.
    table: SourceTable,
    requests: Arc<RequestQueue>,
    peer: Option<Arc<Peer>>,
    slots: Vec<Option<Target>>,
    /// Records and samples by kind, until the session's call ends.
    events: Vec<Batch>,
    /// By table, as far as one has slots.
    rows: Vec<Vec<Option<BoundRow>>>,
    /// The row that this connection has made its peer a member of.
    member: Option<Arc<Row>>,
    /// The service of the peer, if the store adds to it.
    served: Option<Box<Served>>,
    throttle: LogThrottle,
    /// The dynamic metrics that were defined before the peer was known.
    names: Held,
    refused: bool,
    /// `limits.memory` leaves no room for the peer.
    full: bool,
    /// Bytes read are in `apm.self.ingest.bytes` already.
    ingest_counted: bool,
    /// Bytes of the peer's cells at their last charge.
    cells: usize,
    /// Time of the present call; the driver sets it.
    now: Now,
}

impl Connection {
    /// A connection to `source`.
    ///
    /// # Panics
    /// The source is of another catalogue than the store's.
    #[must_use]
    pub(super) fn new(store: &Arc<Store>, source: SourceId, requests: &Arc<RequestQueue>) -> Self {
        let table = *store.catalogue().source(source).expect("an id of the store's catalogue");
        Self {
            store: Arc::clone(store),
            source,
            requests: Arc::clone(requests),
            peer: None,
            slots: Vec::new(),
            events: Vec::new(),
            rows: Vec::new(),
            table,
            member: None,
            served: None,
            throttle: LogThrottle::default(),
            names: Held::default(),
            refused: false,
            full: false,
            ingest_counted: false,
            cells: 0,
            now: Now::default(),
        }
    }

    /// Appends the records of a kind to their stream.
    fn deliver(&mut self, kind: EventKindId) {
        let Some(batch) = self.events.get_mut(kind.index()) else { return };
        if batch.is_empty() {
            return;
        }
        let mut records = std::mem::take(batch);
        self.append(kind, &mut records);
        // The memory is used again.
        if let Some(batch) = self.events.get_mut(kind.index()) {
            *batch = records;
        }
    }

    /// Sets whether `apm.self.ingest.bytes` has the bytes read already.
    const fn set_ingest_counted(&mut self, counted: bool) {
        self.ingest_counted = counted;
    }

    /// Bytes used.
    fn memory(&self) -> usize {
        let rows: usize =
            self.rows.iter().map(|r| r.capacity() * size_of::<Option<BoundRow>>()).sum();
        let batches: usize = self.events.iter().map(Batch::memory).sum();
        let served = self.served.as_ref().map_or(0, |served| served.memory());
        size_of::<Self>()
            + self.slots.capacity() * size_of::<Option<Target>>()
            + rows
            + batches
            + served
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.peer.is_some() {
            self.finish(true, Departure::lost("an internal error of the PMDA"));
        }
    }
}

/// The records of a kind that are not in their stream yet; `None` if the source has no such kind.
#[inline]
fn batch<'a>(
    events: &'a mut Vec<Batch>,
    source: &SourceTable,
    kind: EventKindId,
) -> Option<&'a mut Batch> {
    let at = kind.index();
    if at >= source.events.len() {
        return None;
    }
    if events.is_empty() {
        *events = SPARE.take();
    }
    if events.len() <= at {
        events.resize_with(at + 1, Batch::default);
    }
    events.get_mut(at)
}

/// Parameters of the source and of dynamic metrics.
struct Known<'a> {
    source: &'a SourceTable,
    domain: u32,
    slots: &'a [Option<Target>],
}

impl Params for Known<'_> {
    fn param(&self, id: ParamId) -> Option<(Pmid, ValueType)> {
        match id {
            ParamId::Item(item) => {
                // The catalogue checks that items are numbered from 1 without gaps.
                let def = self.source.params.get(usize::from(item.get()).checked_sub(1)?)?;
                let cluster = self.source.cluster + PARAM_CLUSTER;
                Some((Pmid::new(self.domain, cluster, item.get()), def.ty))
            }
            ParamId::Slot(slot) => {
                let target = self.slots.get(slot as usize).copied().flatten()?;
                Some((target.param()?, target.ty))
            }
        }
    }
}

impl Params for Connection {
    fn param(&self, id: ParamId) -> Option<(Pmid, ValueType)> {
        let domain = self.store.domain();
        Known { source: &self.table, domain, slots: &self.slots }.param(id)
    }
}

impl Connection {
    /// Applies what has texts, which may be seen.
    fn apply(&mut self, update: Update<'_>) {
        match update {
            Update::Identity(id) => self.introduce(id),
            Update::Define { slot, spec } => self.define(slot, spec),
            Update::Value { slot, row, value } => self.value(slot, row, &value),
            Update::Set { item, value } => self.set(item, &value),
            Update::Row { table, slot, key } => {
                self.bind_row(table, slot, key);
                self.count_start(table, slot);
                if self.served.is_some() {
                    self.serve_bind(table, slot, key);
                }
            }
            Update::RowLabels { table, slot, labels } => {
                if let Some(bound) = self.bound(table, slot) {
                    bound.set_labels(labels);
                }
            }
            Update::Sample { kind, stamp, values } => self.sample(kind, stamp, values),
            Update::Condition(condition) => {
                if let Some(peer) = &self.peer {
                    peer.set_condition(condition);
                }
            }
            Update::Error(what) => self.report_error(what),
            Update::Answer { control, text } => self.answer(control, &text),
            _ => debug_assert!(false, "it has no text"),
        }
    }
}

impl Recipient for Connection {
    fn update(&mut self, update: Update<'_>) {
        match update {
            Update::Unshown(more) => self.unshown(more),
            Update::Hide { slot } => self.hide(slot),
            Update::Add { slot, row, more } => self.add(slot, row, &more),
            Update::NoValue { slot, row } => self.no_value(slot, row),
            Update::Unset { item } => self.peer.iter().for_each(|p| p.cells.unset(item.get())),
            Update::RowMember { table, slot } => self.join_row(table, slot),
            Update::RowCount { slot, item, more } => {
                self.count_row(slot, item, more);
                if self.served.is_some() {
                    self.serve_row(slot, item, more, false);
                }
            }
            Update::RowSet { slot, item, value } => {
                self.set_row(slot, item, Some(value));
                if self.served.is_some() {
                    self.serve_row(slot, item, value, true);
                }
            }
            Update::RowMax { slot, item, value } => self.raise_row(slot, item, value),
            Update::RowUnset { slot, item } => self.set_row(slot, item, None),
            Update::FreeRows { table } => {
                self.free_rows(table);
                self.serve_free(table);
            }
            Update::ForgetRows { table } => self.forget_rows(table),
            Update::Count { item, more } => {
                if let Some(peer) = &self.peer {
                    peer.cells.add(item.get(), more);
                    if self.served.is_some() {
                        self.serve_count(item, more);
                    }
                }
            }
            Update::Interval(interval) => {
                if let Some(peer) = &self.peer {
                    peer.liveness.set_interval(interval);
                }
            }
            Update::Message => self.message(),
            texts => match self.store.redacts() {
                None => self.apply(texts),
                Some(limits) => self.update_redacted(texts, &limits.redact),
            },
        }
    }

    fn row_cells(&self, table: TableId) -> (u16, u16) {
        (self.table.row_layout(table).cells, self.table.score(table))
    }

    fn record(&mut self, kind: EventKindId, write: &mut dyn FnMut(&mut Batch, &dyn Params)) {
        let domain = self.store.domain();
        let Some(batch) = batch(&mut self.events, &self.table, kind) else { return };
        write(batch, &Known { source: &self.table, domain, slots: &self.slots });
        if batch.size() > BATCH_MAX {
            self.deliver(kind);
        }
    }

    fn batch(&mut self, kind: EventKindId) -> Option<&mut Batch> {
        if self.events.get(kind.index()).is_some_and(|batch| batch.size() > BATCH_MAX) {
            self.deliver(kind);
        }
        batch(&mut self.events, &self.table, kind)
    }

    fn append(&mut self, kind: EventKindId, records: &mut Batch) {
        let Some(peer) = &self.peer else { return records.clear() };
        if let Some(limits) = self.store.redacts() {
            records.change_texts(|text| limits.redact.text(text));
        }
        let count = records.len() as u64;
        if let Some(stream) = self.store.stream(peer, kind, self.now.monotonic) {
            stream.append_at(records, self.now.monotonic);
            peer.count(AgentCell::Events, count);
        }
    }

    fn keeps(&self, kind: EventKindId, own: usize, shared: usize) -> bool {
        let Some(peer) = &self.peer else { return false };
        let most = match peer.existing_stream(kind) {
            Some(stream) => stream.later_max(),
            None if duration(&self.table, kind).is_none() => self.store.budget.later_max(),
            None => 0,
        };
        // What is shared counts for each, so it must be the smaller part.
        own / 2 >= shared && own + shared <= most
    }

    fn append_later(&mut self, kind: EventKindId, records: Later) {
        if self.store.redacts().is_some() {
            return self.append_redacted(kind, &records);
        }
        let Some(peer) = &self.peer else { return };
        if let Some(stream) = self.store.stream(peer, kind, self.now.monotonic) {
            peer.count(AgentCell::Events, records.count);
            stream.append_later(records);
        }
    }

    fn is_watched(&self, kind: EventKindId) -> bool {
        let stream = self.peer.as_ref().and_then(|peer| peer.existing_stream(kind));
        let waits = self.events.get(kind.index()).is_some_and(|batch| !batch.is_empty());
        stream.map_or(!waits, Stream::is_watched)
    }

    fn set_now(&mut self, now: Now) {
        self.now = now;
    }

    fn flush(&mut self) {
        if self.served.is_some() {
            self.deliver_service(false);
        }
        if let Some(peer) = &self.peer
            && self.cells != peer.cells.memory()
        {
            self.cells = peer.cells.memory();
            self.full |= !peer.charge_cells(&self.store.memory);
        }
        if !self.events.is_empty() {
            (0..).take(self.events.len()).for_each(|kind| self.deliver(EventKindId::new(kind)));
            let batches = std::mem::take(&mut self.events);
            if batches.iter().map(Batch::memory).sum::<usize>() <= BATCH_MAX {
                SPARE.set(batches);
            }
        }
    }

    fn count_io(&mut self, read: usize, written: usize) {
        if !self.ingest_counted {
            self.store.stats.add(Stat::IngestBytes, read as u64);
        }
        if let Some(peer) = &self.peer {
            peer.count(AgentCell::BytesIn, read as u64);
            peer.count(AgentCell::BytesOut, written as u64);
        }
    }

    fn held(&self) -> HeldBytes {
        let shared = self.peer.as_ref().map_or(0, |peer| peer.charged());
        HeldBytes { own: self.memory(), shared }
    }

    fn name(&self) -> Option<String> {
        self.peer.as_ref().map(|peer| peer.agent_name())
    }

    fn is_shown(&self) -> bool {
        self.peer.is_some()
    }

    fn refusal(&self) -> Option<Refusal> {
        match (self.refused, self.full) {
            (true, _) => Some(Refusal::Instances),
            (_, true) => Some(Refusal::Memory),
            _ => None,
        }
    }

    fn requests(&mut self) -> Vec<Control> {
        self.requests.take()
    }

    fn finish(&mut self, fault: bool, departure: Departure) {
        if fault {
            self.error();
        }
        self.deliver_service(true);
        self.flush();
        (self.served, self.member) = (None, None);
        if let Some(peer) = self.peer.take() {
            let departure = match self.store.redacts() {
                Some(limits) => redacted::departure(departure, &limits.redact),
                None => departure,
            };
            self.store.detach(&peer, &self.requests, departure, self.now);
        }
    }
}

#[cfg(test)]
mod tests;
