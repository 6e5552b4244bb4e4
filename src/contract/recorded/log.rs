//! What was said of peers, by what it is said of.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::catalogue::{OTHER, SourceTable};
use crate::contract::{Control, Identity, ParamId, Params, Refusal, SampleValue, Update};
use crate::events::{Batch, HighRes, Later, Records, Stream};
use crate::model::{
    Condition, ControlId, Departure, EventKindId, MetricItem, MetricSpec, ParamItem, Place, Pmid,
    RowItem, Stamp, TableId, Value, ValueType,
};

/// The row of the service, which the store binds.
const SERVICE: &str = "the service";
/// Parameters of dynamic metrics have clusters from this on, so many in each.
const DYNAMIC: u16 = 1;
const DYNAMIC_ITEMS: u32 = 1024;

/// The keys of slots.
pub(super) type Slots = BTreeMap<(TableId, u32), String>;

/// A record of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    /// The kind of events.
    pub kind: EventKindId,
    /// Time of the event.
    pub stamp: Stamp,
    /// `PM_EVENT_FLAG_*`.
    pub flags: u32,
    /// Names of parameters, and values in words.
    pub params: Vec<(String, String)>,
}

impl RecordedEvent {
    /// The value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(of, _)| of == name).map(|(_, value)| &**value)
    }

    /// Names of its parameters.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.params.iter().map(|(name, _)| &**name).collect()
    }
}

/// What was said of all peers of a [`Recorded`](super::Recorded).
#[derive(Debug)]
pub struct Log {
    pub(super) table: SourceTable,
    /// Each identity in turn.
    pub identities: Vec<Identity>,
    /// Names of the peers that are connected.
    pub shown: BTreeSet<String>,
    /// Static metrics.
    pub values: BTreeMap<MetricItem, Value>,
    /// Cells of rows, by metric and key.
    pub rows: BTreeMap<(RowItem, String), u64>,
    /// Instance labels of rows, by table and key.
    pub row_labels: BTreeMap<(TableId, String), Vec<(String, String)>>,
    /// Dynamic metrics by slot.
    pub specs: BTreeMap<u32, MetricSpec>,
    /// Values of dynamic metrics, by path and key of the row, or none.
    pub metrics: BTreeMap<(String, Option<String>), Value>,
    /// Values of [`Peer::sample`](crate::contract::Peer::sample), each call's in its order.
    pub samples: Vec<Vec<(u32, SampleValue)>>,
    /// Records, also those that the source has packed.
    pub events: Vec<RecordedEvent>,
    /// How many batches of records were kept to be packed later, if [`Self::keeps`].
    pub later: u64,
    /// Takes the records in place of [`Self::events`].
    pub stream: Option<Stream>,
    /// Metrics that are not passed on.
    pub unshown: u64,
    /// Conditions in turn.
    pub conditions: Vec<Condition>,
    /// Errors in turn.
    pub errors: Vec<String>,
    /// Whole messages.
    pub messages: u64,
    /// Answers to requests.
    pub answers: Vec<(ControlId, String)>,
    /// How connections ended.
    pub ended: Vec<Departure>,
    /// Calls so far that changed something.
    pub updates: usize,
    /// Bytes of the largest batch that the source has packed.
    pub largest_batch: usize,
    /// Each of these calls as a line, if [`Recorded::with_lines`](super::Recorded::with_lines).
    pub lines: Vec<String>,
    pub(super) has_lines: bool,
    /// Those of the peer that speaks.
    pub(super) slots: Slots,
    /// [`Peer::batch`](crate::contract::Peer::batch) has batches, which its `flush` unpacks.
    pub packs: bool,
    /// [`Peer::keeps`](crate::contract::Peer::keeps) says yes.
    pub keeps: bool,
    /// [`Peer::is_watched`](crate::contract::Peer::is_watched) says yes.
    pub watched: bool,
    /// Parameters of dynamic metrics that there is room for.
    pub room: usize,
    /// [`Peer::refusal`](crate::contract::Peer::refusal) says this from the next identity on.
    pub refuses: Option<Refusal>,
    /// Requests for [`Peer::requests`](crate::contract::Peer::requests).
    pub requests: VecDeque<Control>,
}

impl Log {
    pub(super) const fn new(table: SourceTable) -> Self {
        Self {
            table,
            identities: Vec::new(),
            shown: BTreeSet::new(),
            values: BTreeMap::new(),
            rows: BTreeMap::new(),
            row_labels: BTreeMap::new(),
            specs: BTreeMap::new(),
            metrics: BTreeMap::new(),
            samples: Vec::new(),
            events: Vec::new(),
            later: 0,
            stream: None,
            unshown: 0,
            conditions: Vec::new(),
            errors: Vec::new(),
            messages: 0,
            answers: Vec::new(),
            ended: Vec::new(),
            updates: 0,
            largest_batch: 0,
            lines: Vec::new(),
            has_lines: false,
            slots: Slots::new(),
            packs: false,
            keeps: false,
            watched: true,
            room: usize::MAX,
            refuses: None,
            requests: VecDeque::new(),
        }
    }

    pub(super) fn count(&self, item: MetricItem) -> u64 {
        self.values.get(&item).and_then(|value| value.to_bits(ValueType::U64)).unwrap_or_default()
    }

    fn is_of_peer(&self, table: TableId) -> bool {
        self.table.tables.get(table.index()).is_some_and(|def| def.of_peer)
    }

    /// Forgets what was of one peer.
    pub(super) fn forget(&mut self) {
        self.values.clear();
        self.metrics.clear();
        let mut rows = std::mem::take(&mut self.rows);
        rows.retain(|(item, _), _| !self.is_of_peer(item.table()));
        self.rows = rows;
    }

    /// The key of a slot. The store binds the row of the service.
    fn key(&self, table: TableId, slot: u32) -> String {
        let of_service = || {
            let services = self.table.service.as_ref();
            services.is_some_and(|services| services.table == table).then(|| SERVICE.to_owned())
        };
        self.slots.get(&(table, slot)).cloned().or_else(of_service).expect("a bound slot")
    }

    fn cell(&mut self, slot: u32, item: RowItem) -> &mut u64 {
        let key = self.key(item.table(), slot);
        self.rows.entry((item, key)).or_default()
    }

    fn metric(&self, slot: u32, row: Option<u32>) -> (String, Option<String>) {
        let spec = self.specs.get(&slot).expect("a defined slot");
        let key = row.map(|row| self.key(table(spec.place).expect("a metric of rows"), row));
        (spec.path.clone(), key)
    }

    fn name(&self, id: ParamId) -> String {
        match id {
            ParamId::Item(item) => {
                let def = self.table.params.iter().find(|param| param.item == item);
                def.expect("a parameter of the source").name.to_owned()
            }
            ParamId::Slot(slot) => self.specs.get(&slot).expect("a defined slot").path.clone(),
        }
    }

    fn name_of(&self, pmid: Pmid) -> String {
        self.name(match pmid.cluster().checked_sub(DYNAMIC) {
            None => ParamId::Item(ParamItem::new(pmid.item())),
            Some(n) => ParamId::Slot(u32::from(n) * DYNAMIC_ITEMS + u32::from(pmid.item())),
        })
    }

    pub(super) fn take(&mut self, kind: EventKindId, batch: &mut Batch) {
        self.largest_batch = self.largest_batch.max(batch.size());
        if let Some(stream) = &self.stream {
            return stream.append(batch);
        }
        for record in Records::<HighRes>::packed(batch.packed()) {
            let record = record.expect("a whole record");
            let params = record.params.iter();
            let params =
                params.map(|param| (self.name_of(param.pmid), param.value.to_string())).collect();
            let (stamp, flags) = (record.stamp, record.flags);
            self.events.push(RecordedEvent { kind, stamp, flags, params });
        }
        batch.clear();
    }

    pub(super) fn take_later(&mut self, records: Later) {
        self.later += 1;
        if let Some(stream) = &self.stream {
            stream.append_later(records);
        }
    }

    /// An update in words.
    pub(super) fn line(&mut self, update: &Update<'_>) {
        self.lines.push(match update {
            Update::Identity(id) => format!("identity {} resumes={}", id.name, id.resumes),
            Update::Define { slot, spec } => format!("define {slot} {}", spec.key),
            Update::Hide { slot } => format!("hide {slot}"),
            Update::Count { item, more } => format!("count {} {more}", item.get()),
            Update::Set { item, value } => format!("set {} {value:?}", item.get()),
            Update::Sample { values, .. } => {
                let values: Vec<_> =
                    values.iter().map(|(slot, v)| format!("{slot}={v:?}")).collect();
                format!("sample {}", values.join(" "))
            }
            Update::RowCount { slot, item, more } => {
                format!("row {}.{} {slot} {more}", item.table().index(), item.get())
            }
            Update::Interval(interval) => format!("interval {interval:?}"),
            Update::Message => "message".into(),
            Update::Error(what) => format!("error {what}"),
            Update::Answer { control, text } => {
                let name = self.table.controls.get(control.index()).map_or("unknown", |c| c.name);
                format!("answer {name} {text}")
            }
            other => format!("{other:?}"),
        });
    }

    pub(super) fn update(&mut self, update: Update<'_>) {
        match update {
            Update::Identity(identity) => self.identities.push(identity),
            Update::Define { slot, spec } => drop(self.specs.insert(slot, spec.clone())),
            Update::Unshown(more) => self.unshown += more,
            Update::Hide { slot } => {
                if let Some(spec) = self.specs.get(&slot) {
                    self.metrics.remove(&(spec.path.clone(), None));
                }
            }
            Update::Value { slot, row, value } => {
                drop(self.metrics.insert(self.metric(slot, row), value))
            }
            Update::Add { slot, row, more } => {
                let ty = self.specs.get(&slot).expect("a defined slot").ty;
                let sum = self.metrics.entry(self.metric(slot, row));
                let sum = sum.or_insert_with(|| Value::from_bits(0, ty).expect("a number"));
                *sum = added(sum, &more, ty).expect("numbers");
            }
            Update::NoValue { slot, row } => drop(self.metrics.remove(&self.metric(slot, row))),
            Update::Set { item, value } => drop(self.values.insert(item, value)),
            Update::Count { item, more } => {
                let sum = self.count(item).wrapping_add(more);
                self.values.insert(item, Value::U64(sum));
            }
            Update::Sample { values, .. } => self.samples.push(values.to_vec()),
            Update::Unset { item } => drop(self.values.remove(&item)),
            Update::Row { table, slot, key } => {
                let key = key.unwrap_or(OTHER);
                let wrong = |c: char| c.is_whitespace() || c.is_control();
                assert!(!key.is_empty() && !key.contains(wrong), "{key:?}");
                let of_peer = self.is_of_peer(table).then(|| key.split_once("::")).flatten();
                let key = of_peer.map_or(key, |(_, key)| key);
                self.slots.insert((table, slot), key.to_owned());
            }
            Update::RowLabels { table, slot, labels } => {
                let labels = labels.iter().map(|(n, value)| ((*n).to_owned(), (*value).to_owned()));
                self.row_labels.insert((table, self.key(table, slot)), labels.collect());
            }
            Update::RowMember { .. } | Update::Interval(_) => {}
            Update::RowCount { slot, item, more } => {
                let cell = self.cell(slot, item);
                *cell = cell.wrapping_add(more);
            }
            Update::RowSet { slot, item, value } => *self.cell(slot, item) = value,
            Update::RowMax { slot, item, value } => {
                let cell = self.cell(slot, item);
                *cell = value.max(*cell);
            }
            Update::RowUnset { slot, item } => {
                let key = self.key(item.table(), slot);
                self.rows.remove(&(item, key));
            }
            Update::FreeRows { table } => self.slots.retain(|(of, _), _| *of != table),
            Update::ForgetRows { table } => {
                self.slots.retain(|(of, _), _| *of != table);
                self.rows.retain(|(item, _), _| item.table() != table);
            }
            Update::Condition(condition) => self.conditions.push(condition),
            Update::Message => self.messages += 1,
            Update::Error(what) => self.errors.push(what.to_owned()),
            Update::Answer { control, text } => self.answers.push((control, text)),
        }
    }
}

impl Params for Log {
    fn param(&self, id: ParamId) -> Option<(Pmid, ValueType)> {
        match id {
            ParamId::Item(item) => {
                let def = self.table.params.iter().find(|param| param.item == item)?;
                Some((Pmid::new(1, 0, item.get()), def.ty))
            }
            ParamId::Slot(slot) => {
                let spec = self.specs.get(&slot)?;
                // The first ones have room.
                if self.specs.range(..slot).count() >= self.room {
                    return None;
                }
                let cluster = u16::try_from(slot / DYNAMIC_ITEMS).ok()? + DYNAMIC;
                Some((Pmid::new(1, cluster, u16::try_from(slot % DYNAMIC_ITEMS).ok()?), spec.ty))
            }
        }
    }
}

/// The sum of two numbers, in a type.
fn added(sum: &Value, more: &Value, ty: ValueType) -> Option<Value> {
    let [sum, more] = [sum.to_bits(ty)?, more.to_bits(ty)?];
    let bits = match ty {
        ValueType::F64 => (f64::from_bits(sum) + f64::from_bits(more)).to_bits(),
        _ => sum.wrapping_add(more),
    };
    Value::from_bits(bits, ty)
}

fn table(place: Place) -> Option<TableId> {
    match place {
        Place::Rows(_, table) => Some(table),
        _ => None,
    }
}
