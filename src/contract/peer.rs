//! One instance of a source: what a session says of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::rows::bind_of_process;
use super::sums::{Change, Sums};
use super::{
    Control, Held, Histogram, Identity, NewRow, ParamId, Recipient, Record, Refusal, SampleValue,
    Update,
};
use crate::events::{Batch, Later};
use crate::model::{
    Condition, ControlId, Departure, EventKindId, HeapSize, InDom, MetricDef, MetricItem,
    MetricSpec, Now, Pmid, RowItem, Semantics, Stamp, TableId, Value, ValueType,
};

/// A peer: its values, rows and records lead to the store. No call blocks on a peer or on PCP.
///
/// Metrics are named by the items of the source's table; dynamic metrics and rows by slots, which are the
/// session's own numbers: small, dense, never reused.
///
/// What is added, and what is set in rows, is kept until the session's call ends ([`Self::flush`]): the store is
/// told once.
pub struct Peer {
    to: Box<dyn Recipient>,
    sums: Sums,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peer").finish_non_exhaustive()
    }
}

/// Who it is, and how it does.
impl Peer {
    /// A peer of a recipient.
    #[must_use]
    pub fn new(recipient: impl Recipient + 'static) -> Self {
        Self { to: Box::new(recipient), sums: Sums::default() }
    }

    /// A peer whose recipient is told each count at once, for tests.
    #[must_use]
    pub(super) fn direct(recipient: impl Recipient + 'static) -> Self {
        Self { to: Box::new(recipient), sums: Sums::direct() }
    }

    #[inline]
    fn tell(&mut self, update: Update<'_>) {
        self.to.update(update);
    }

    /// The peer is identified. Of what was said before only counts are kept, and which keys slots have. It may be
    /// said again when more is known, when the peer was refused, or when it has ended and is back.
    pub fn is(&mut self, identity: Identity) {
        // What was counted is of its name of before, if it had one.
        self.sums.free(&mut *self.to);
        self.tell(Update::Identity(identity));
    }

    /// What is the matter with the peer from now on; a new connection begins sound.
    pub fn condition(&mut self, condition: Condition) {
        self.tell(Update::Condition(condition));
    }

    /// A complete message was read.
    pub fn message(&mut self) {
        self.tell(Update::Message);
    }

    /// A bad record or refused request that did not end the session.
    pub fn error(&mut self, what: &str) {
        self.tell(Update::Error(what));
    }

    /// Time between two samples, from which silence is detected.
    pub fn interval(&mut self, interval: Duration) {
        self.tell(Update::Interval(interval));
    }

    /// The answer to a control request: the value of the control's metric. What was said before it has reached the
    /// store when it does.
    pub fn answer(&mut self, control: ControlId, text: String) {
        self.flush();
        self.tell(Update::Answer { control, text });
    }
}

/// Static metrics.
impl Peer {
    /// Adds to a counter; the count continues when the same peer reconnects.
    #[inline(always)]
    pub fn add(&mut self, item: MetricItem, more: u64) {
        self.sums.add(item, more, &mut *self.to);
    }

    /// Sets a value; of numbers that are set several times in a turn, the last one is told.
    #[inline(always)]
    pub fn set(&mut self, item: MetricItem, value: impl Into<Value>) {
        self.sums.set(item, value.into(), &mut *self.to);
    }

    /// The peer no longer reports this metric.
    pub fn unset(&mut self, item: MetricItem) {
        self.sums.unset(item, &mut *self.to);
    }

    /// Sets a value, or removes it.
    pub fn show(&mut self, item: MetricItem, value: Option<impl Into<Value>>) {
        match value {
            Some(value) => self.set(item, value),
            None => self.unset(item),
        }
    }

    /// A value of which the largest of the last minute is shown.
    pub fn longest(&mut self, item: MetricItem, value: u64) {
        self.sums.longest(item, value, &mut *self.to);
    }

    /// Starts all counters of `metrics` at 0: a counter without a value would look like an unknown one.
    pub fn start_counters(&mut self, metrics: &[MetricDef]) {
        for metric in metrics.iter().filter(|m| m.sem == Semantics::Counter) {
            debug_assert_eq!(metric.indom, InDom::Peers, "{}", metric.name);
            self.add(MetricItem::new(metric.item), 0);
        }
    }
}

/// Dynamic metrics.
impl Peer {
    /// Binds a slot to this metric.
    pub fn define(&mut self, slot: u32, spec: &MetricSpec) {
        self.tell(Update::Define { slot, spec });
    }

    /// So many of the peer's metrics are not passed on, since no more can be shown.
    pub fn unshown(&mut self, more: u64) {
        self.tell(Update::Unshown(more));
    }

    /// The peer no longer reports this slot: its last value is removed.
    pub fn hide(&mut self, slot: u32) {
        self.tell(Update::Hide { slot });
    }

    /// Sets a metric of [`Place::Peers`](crate::model::Place) or, with the slot of a row in the metric's
    /// table, of [`Place::Rows`](crate::model::Place). Rows have numbers only. The value is in the metric's
    /// type or in one that is converted to it.
    #[inline]
    pub fn set_slot(&mut self, slot: u32, row: Option<u32>, value: Value) {
        self.tell(Update::Value { slot, row, value });
    }

    /// Adds to a number, as [`Self::set_slot`] sets it; a metric without a value starts at 0.
    #[inline]
    pub fn add_slot(&mut self, slot: u32, row: Option<u32>, more: Value) {
        self.tell(Update::Add { slot, row, more });
    }

    /// Removes the value that [`Self::set_slot`] or [`Self::add_slot`] set.
    pub fn unset_slot(&mut self, slot: u32, row: Option<u32>) {
        self.tell(Update::NoValue { slot, row });
    }

    /// Values of one moment: slots and their new values, in the peer's order. They are set, and one record
    /// is appended to event stream `kind`.
    pub fn sample(&mut self, kind: EventKindId, stamp: Stamp, values: &[(u32, SampleValue)]) {
        self.tell(Update::Sample { kind, stamp, values });
    }
}

/// Rows of tables.
impl Peer {
    /// Binds a slot of a table to the row of this key: the row's instance name, without blanks. In a table of
    /// peers it is `PEER::KEY`, with the peer's own name before it, which the session writes. `None`: the row
    /// `other`.
    pub fn row(&mut self, table: TableId, slot: u32, key: Option<&str>) {
        self.sums.flush_table(table, &mut *self.to);
        self.tell(Update::Row { table, slot, key });
    }

    /// Binds a slot of a table of peers to the row `OWNER::KEY`, with the labels `process` and that of the key.
    /// `label`: the instance label of the key, and the key.
    pub fn row_of_process(
        &mut self,
        table: TableId,
        slot: u32,
        owner: &str,
        label: (&'static str, &str),
    ) {
        self.sums.flush_table(table, &mut *self.to);
        bind_of_process(&mut *self.to, table, slot, owner, label);
    }

    /// Instance labels of a row, beside those of its domain: label names, as in `pmLookupLabels(3)`, and
    /// values. They replace earlier ones.
    pub fn row_labels(&mut self, table: TableId, slot: u32, labels: &[(&'static str, &str)]) {
        self.tell(Update::RowLabels { table, slot, labels });
    }

    /// The peer is a member of a row in a shared table while it is connected: it counts in the row's metric
    /// of [`ValueSource::Members`](crate::model::ValueSource). A peer is a member of one row of a table;
    /// the session repeats this about once a second, since the row may have lost or got its instance.
    pub fn row_member(&mut self, table: TableId, slot: u32) {
        // What it counts may give the row an instance.
        self.sums.flush_table(table, &mut *self.to);
        self.tell(Update::RowMember { table, slot });
    }

    /// Adds to a cell of a row.
    #[inline(always)]
    pub fn row_add(&mut self, slot: u32, item: RowItem, more: u64) {
        self.sums.row(slot, item, more, Change::Add, &mut *self.to);
    }

    /// Adds to counters of the row of a key, in a table whose slots are all numbered by this. `hash` is of the
    /// key; `bind` names the row when it is new here. The first item ranks the rows.
    #[inline]
    pub fn count_row<const N: usize>(
        &mut self,
        items: &[RowItem; N],
        hash: u64,
        more: [u64; N],
        bind: impl FnOnce(NewRow<'_>),
    ) {
        self.sums.count_row(items, hash, more, &mut *self.to, bind);
    }

    /// Adds to counters of a row; a 0 adds nothing.
    #[inline(always)]
    pub fn row_add_all<const N: usize>(&mut self, slot: u32, items: &[RowItem; N], more: [u64; N]) {
        self.sums.row_add_all(slot, items, more, &mut *self.to);
    }

    /// Adds 1 to the range of a value.
    pub fn count_range(&mut self, histogram: &Histogram, value: u64) {
        self.count_ranges(histogram, value, 1);
    }

    /// The same for so many values of one range.
    pub fn count_ranges(&mut self, histogram: &Histogram, value: u64, more: u64) {
        let Histogram { edges, item, names } = *histogram;
        let table = item.table();
        if self.sums.binds(table, &*self.to) {
            for (slot, key) in (0..).zip(names()) {
                self.tell(Update::Row { table, slot, key: Some(&key) });
            }
        }
        let range = edges.partition_point(|edge| *edge <= value).saturating_sub(1);
        self.row_add(u32::try_from(range).unwrap_or_default(), item, more);
    }

    /// Sets a cell of a row, one that is no counter, to the bits of a value in the type of its metric. The
    /// rows of a shared table have many writers, which must agree on the value, and
    /// [`OTHER`](crate::catalogue::OTHER) has none.
    #[inline(always)]
    pub fn row_set(&mut self, slot: u32, item: RowItem, value: u64) {
        self.sums.row(slot, item, value, Change::Set, &mut *self.to);
    }

    /// Raises a cell of a row, of an unsigned type, to this value if it is lower or has none. A row that
    /// loses its instance raises the cell of the row `other`.
    pub fn row_max(&mut self, slot: u32, item: RowItem, value: u64) {
        self.sums.row(slot, item, value, Change::Raise, &mut *self.to);
    }

    /// Removes the value of a cell of a row, as [`Self::row_set`] sets it.
    pub fn row_unset(&mut self, slot: u32, item: RowItem) {
        self.sums.row_unset(slot, item, &mut *self.to);
    }

    /// Sets a cell of a row, or removes its value.
    pub fn row_show(&mut self, slot: u32, item: RowItem, value: Option<u64>) {
        match value {
            Some(value) => self.row_set(slot, item, value),
            None => self.row_unset(slot, item),
        }
    }

    /// Unbinds all slots of a table: the session numbers them anew.
    pub fn free_rows(&mut self, table: TableId) {
        self.sums.flush_table(table, &mut *self.to);
        self.sums.forget_table(table);
        self.tell(Update::FreeRows { table });
    }

    /// Removes the rows of the peer in a table of peers, and unbinds all slots. A row of the same key begins
    /// at 0.
    pub fn forget_rows(&mut self, table: TableId) {
        self.sums.flush_table(table, &mut *self.to);
        self.sums.forget_table(table);
        self.tell(Update::ForgetRows { table });
    }
}

/// Records of events.
impl Peer {
    /// One event with the parameters that `write` adds. Its record reaches the stream when the session's call
    /// ends. Where a peer may cause many, [`Rate`](super::Rate) says which ones have a record.
    #[inline]
    pub fn record(
        &mut self,
        kind: EventKindId,
        stamp: Stamp,
        flags: u32,
        write: impl FnOnce(&mut Record<'_>),
    ) {
        let mut write = Some(write);
        self.to.record(kind, &mut |batch, params| {
            batch.record(stamp, flags);
            if let Some(write) = write.take() {
                write(&mut Record::newest(batch, params));
            }
        });
    }

    /// The newest record of a batch that the source keeps, for [`Self::append`].
    #[must_use]
    pub fn newest<'r>(&'r self, batch: &'r mut Batch) -> Record<'r> {
        Record::newest(batch, &*self.to)
    }

    /// The parameter metric and its type, for records that the source packs itself; `None` if there is no
    /// room for such a metric, or no peer yet.
    #[must_use]
    pub fn param(&self, id: ParamId) -> Option<(Pmid, ValueType)> {
        self.to.param(id)
    }

    /// The records of a kind that wait for the end of the session's call, for one more that the source
    /// packs itself; `None`: the source has no such kind.
    #[inline]
    pub fn batch(&mut self, kind: EventKindId) -> Option<&mut Batch> {
        self.to.batch(kind)
    }

    /// Appends records that the source has packed to the event stream `kind`; the batch is then empty.
    pub fn append(&mut self, kind: EventKindId, records: &mut Batch) {
        self.to.append(kind, records);
    }

    /// Whether [`Self::append_later`] takes records of a kind for which `own` bytes are kept, and `shared`
    /// bytes that other records may need too.
    #[must_use]
    pub fn keeps(&self, kind: EventKindId, own: usize, shared: usize) -> bool {
        self.to.keeps(kind, own, shared)
    }

    /// Appends records that are packed when somebody reads them to the event stream `kind`.
    pub fn append_later(&mut self, kind: EventKindId, records: Later) {
        self.to.append_later(kind, records);
    }

    /// Whether somebody reads the records of a kind, for records that are made only then. The first one is
    /// made in any case: a reader comes to a stream that is there.
    #[must_use]
    pub fn is_watched(&self, kind: EventKindId) -> bool {
        self.to.is_watched(kind)
    }
}

/// For who drives it: `net`, or a source whose connections report several peers.
impl Peer {
    /// Sets the time of what follows; what was said before has ended one piece of work.
    pub fn at(&mut self, now: Now) {
        self.flush();
        self.set_now(now);
    }

    /// Sets the time of what follows.
    pub fn set_now(&mut self, now: Now) {
        self.sums.set_now(now.monotonic);
        self.to.set_now(now);
    }

    /// Ends the session's call: what was counted reaches the store, and the records of [`Self::record`] their
    /// streams.
    pub fn flush(&mut self) {
        self.sums.flush(&mut *self.to);
        self.to.flush();
    }

    /// Counts the bytes of the peer's connection.
    pub fn count_io(&mut self, read: usize, written: usize) {
        self.to.count_io(read, written);
    }

    /// Bytes that are used for it here, and as `shared` those in the store.
    #[must_use]
    pub fn held(&self) -> Held {
        let Held { own, shared } = self.to.held();
        Held { own: own + self.sums.heap_size(), shared }
    }

    /// The peer's name among the agents; `None`: it is not shown, or not yet.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.to.name()
    }

    /// The limit that turned the peer away, or that it has reached since: the connection must be closed,
    /// or its identity said again later.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.to.refusal()
    }

    /// A limit turned the peer away: what is reported is dropped. The identity may be said again.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.refusal().is_some() && !self.to.is_shown()
    }

    /// Requests of users to this peer since the last call, oldest first.
    #[must_use]
    pub fn requests(&mut self) -> Vec<Control> {
        self.to.requests()
    }

    /// Ends the peer's connection. `fault`: the peer caused the end by a fault.
    pub fn finish(&mut self, fault: bool, departure: Departure) {
        self.sums.free(&mut *self.to);
        self.to.finish(fault, departure);
    }

    /// Ends the peer's connection without a fault.
    pub fn end(&mut self, departure: Departure) {
        self.finish(false, departure);
    }
}

/// Makes the peers that a connection reports, or that a source finds: `net::Peers::maker` has it. Who made a
/// peer ends it: one that is dropped without an end counts as a fault of the PMDA.
#[derive(Clone)]
pub struct PeerMaker(Arc<dyn Fn() -> Peer + Send + Sync>);

impl fmt::Debug for PeerMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PeerMaker").finish_non_exhaustive()
    }
}

impl PeerMaker {
    /// `make` makes one more.
    pub fn new(make: impl Fn() -> Peer + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// One more peer.
    #[must_use]
    pub fn make(&self) -> Peer {
        (self.0)()
    }
}
