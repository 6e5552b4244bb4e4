//! A sink for tests: values by name.

use std::collections::BTreeMap;

use crate::contract::Sink;
use crate::contract::Update;
use crate::model::{MetricItem, RowItem, TableId, Value};

/// The values that updates result in.
#[derive(Debug, Default)]
pub(super) struct Seen {
    values: BTreeMap<u16, Value>,
    slots: BTreeMap<(usize, u32), String>,
    rows: BTreeMap<(RowItem, String), u64>,
    pub(super) updates: usize,
}

impl Seen {
    /// A value.
    pub(super) fn get(&self, item: MetricItem) -> Option<&Value> {
        self.values.get(&item.get())
    }

    /// A counter or a whole number.
    pub(super) fn count(&self, item: MetricItem) -> u64 {
        match self.get(item) {
            Some(Value::U64(n)) => *n,
            None => 0,
            other => panic!("{other:?}"),
        }
    }

    /// The value of a row of the process `p:1`, or of a shared table.
    pub(super) fn row(&self, item: RowItem, key: &str) -> Option<u64> {
        let of_peer = self.rows.get(&(item, format!("p:1::{key}")));
        of_peer.or_else(|| self.rows.get(&(item, key.to_owned()))).copied()
    }

    /// All rows of a metric with a value other than 0.
    pub(super) fn rows(&self, item: RowItem) -> BTreeMap<String, u64> {
        let of = self.rows.iter().filter(|((i, _), value)| *i == item && **value > 0);
        of.map(|((_, key), n)| (key.strip_prefix("p:1::").unwrap_or(key).to_owned(), *n)).collect()
    }

    fn key(&self, table: TableId, slot: u32) -> String {
        self.slots.get(&(table.index(), slot)).cloned().expect("a bound slot")
    }
}

impl Sink for Seen {
    fn update(&mut self, update: Update<'_>) {
        self.updates += 1;
        match update {
            Update::Count { item, more } => {
                let sum = self.count(item) + more;
                self.values.insert(item.get(), Value::U64(sum));
            }
            Update::Set { item, value } => drop(self.values.insert(item.get(), value)),
            Update::Unset { item } => drop(self.values.remove(&item.get())),
            Update::Row { table, slot, key } => {
                let key = key.expect("rows of processes have keys");
                assert!(!key.contains(char::is_whitespace), "{key:?}");
                self.slots.insert((table.index(), slot), key.to_owned());
            }
            Update::RowCount { slot, item, more } => {
                let key = self.key(item.table(), slot);
                *self.rows.entry((item, key)).or_default() += more;
            }
            Update::RowSet { slot, item, value } => {
                let key = self.key(item.table(), slot);
                self.rows.insert((item, key), value);
            }
            Update::FreeRows { table } => self.slots.retain(|(of, _), _| *of != table.index()),
            _ => {}
        }
    }
}
