//! A sink for tests: values by name.

use std::collections::HashMap;

use crate::catalogue::OTHER;
use crate::contract::Sink;
use crate::contract::Update;
use crate::model::{MetricItem, RowItem, TableId, Value};
use crate::sources::zorka::metrics as m;

/// The values that updates result in.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    counts: HashMap<u16, u64>,
    sets: HashMap<u16, String>,
    slots: HashMap<(usize, u32), String>,
    rows: HashMap<(RowItem, String), u64>,
    labels: HashMap<String, String>,
    /// Updates so far.
    pub(crate) updates: usize,
}

impl Seen {
    /// A counter.
    pub(crate) fn count(&self, item: MetricItem) -> u64 {
        self.counts.get(&item.get()).copied().unwrap_or_default()
    }

    /// A value that was set.
    pub(crate) fn set(&self, item: MetricItem) -> Option<&str> {
        self.sets.get(&item.get()).map(String::as_str)
    }

    /// The value of a row.
    pub(crate) fn row(&self, item: RowItem, key: &str) -> Option<u64> {
        self.rows.get(&(item, key.to_owned())).copied()
    }

    /// All rows of a metric.
    pub(crate) fn rows(&self, item: RowItem) -> impl Iterator<Item = (&str, u64)> {
        self.rows.iter().filter(move |((i, _), _)| *i == item).map(|((_, k), v)| (k.as_str(), *v))
    }

    /// The label `statement` of a row.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    fn key(&self, table: TableId, slot: u32) -> String {
        // The store binds the row of the service.
        let of_service = || (table == m::SERVICES).then(|| "the service".to_owned());
        self.slots.get(&(table.index(), slot)).cloned().or_else(of_service).expect("a bound slot")
    }
}

impl Sink for Seen {
    fn update(&mut self, update: Update<'_>) {
        self.updates += 1;
        match update {
            Update::Count { item, more } => *self.counts.entry(item.get()).or_default() += more,
            Update::Set { item, value } => {
                let text = match value {
                    Value::I64(n) => n.to_string(),
                    Value::U64(n) => n.to_string(),
                    Value::Text(text) => text.to_string(),
                    other => format!("{other:?}"),
                };
                self.sets.insert(item.get(), text);
            }
            Update::Row { table, slot, key } => {
                let key = key.unwrap_or(OTHER);
                assert!(!key.contains(char::is_whitespace) && !key.is_empty(), "{key:?}");
                self.slots.insert((table.index(), slot), key.to_owned());
            }
            Update::RowLabels { table, slot, labels } => {
                let key = self.key(table, slot);
                for (_, value) in labels {
                    self.labels.insert(key.clone(), (*value).to_owned());
                }
            }
            Update::RowCount { slot, item, more } => {
                let key = self.key(item.table(), slot);
                *self.rows.entry((item, key)).or_default() += more;
            }
            Update::RowSet { slot, item, value } => {
                let key = self.key(item.table(), slot);
                self.rows.insert((item, key), value);
            }
            Update::RowMax { slot, item, value } => {
                let key = self.key(item.table(), slot);
                let max = self.rows.entry((item, key)).or_default();
                *max = value.max(*max);
            }
            Update::RowUnset { slot, item } => {
                let key = self.key(item.table(), slot);
                self.rows.remove(&(item, key));
            }
            Update::FreeRows { table } => self.slots.retain(|(of, _), _| *of != table.index()),
            _ => {}
        }
    }
}
