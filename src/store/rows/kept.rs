//! Counters of rows that lost their place: a key that gets a row again goes on from them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;

use super::row::Row;
use crate::catalogue::RowLayout;

/// Counters are kept for so long.
pub(super) const KEPT: Duration = Duration::from_secs(3600);
/// Most keys of a group whose counters are kept; the oldest goes first, and begins at 0 if it comes again.
const KEYS: usize = 1024;

/// The counters of one row.
#[derive(Debug)]
struct Values {
    at: Duration,
    cells: Box<[(u16, u64)]>,
    /// Sums of dynamic metrics by column.
    brought: Box<[(u16, u64)]>,
}

/// Counters by key.
#[derive(Debug, Default)]
pub(super) struct Kept(HashMap<Arc<str>, Values, RandomState>);

impl Kept {
    /// Keeps the counters of a row that leaves.
    pub(super) fn keep(&mut self, row: &Row, layout: RowLayout, now: Duration) {
        if self.0.len() >= KEYS {
            let oldest = self.0.iter().min_by_key(|(_, values)| values.at);
            if let Some(oldest) = oldest.map(|(key, _)| Arc::clone(key)) {
                self.0.remove(&oldest);
            }
        }
        let counters = (0..layout.cells).filter(|item| layout.is_counter(*item));
        let cells = counters.filter_map(|item| Some((item, row.cells.get(item)?))).collect();
        let columns = row.brought.columns().into_iter();
        let brought =
            columns.filter_map(|column| Some((column, row.brought.get(column)?))).collect();
        self.0.insert(Arc::clone(&row.key), Values { at: now, cells, brought });
    }

    /// Gives a new row the counters of its key. Returns the columns of dynamic metrics.
    pub(super) fn restore(&mut self, row: &Row) -> Vec<u16> {
        let Some(Values { cells, brought, .. }) = self.0.remove(&row.key) else {
            return Vec::new();
        };
        cells.iter().for_each(|(item, value)| row.cells.add(*item, *value));
        for (column, value) in &brought {
            row.brought.change(*column, true, |_| *value);
        }
        brought.iter().map(|(column, _)| *column).collect()
    }

    /// Forgets counters that were kept too long.
    pub(super) fn forget(&mut self, now: Duration) {
        self.0.retain(|_, values| now.saturating_sub(values.at) < KEPT);
        if self.0.is_empty() {
            self.0.shrink_to_fit();
        }
    }

    /// Estimate of the bytes allocated.
    pub(super) fn memory(&self) -> usize {
        let values = self
            .0
            .iter()
            .map(|(key, values)| key.len() + 16 * (values.cells.len() + values.brought.len()));
        self.0.capacity() * (size_of::<(Arc<str>, Values)>() + 1) + values.sum::<usize>()
    }
}
