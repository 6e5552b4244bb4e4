//! Rows that a peer finds by what they count, and rows of a histogram.

use super::{Recipient, Update};
use crate::catalogue::OTHER;
use crate::model::{RowItem, TableId};

/// A row that [`Peer::count_row`](super::Peer::count_row) has not seen yet: it gets its name.
#[expect(missing_debug_implementations, reason = "a handle for one call")]
pub struct NewRow<'a> {
    pub(super) to: &'a mut dyn Recipient,
    pub(super) table: TableId,
    pub(super) slot: u32,
    pub(super) is_rest: bool,
}

impl NewRow<'_> {
    /// The row is that of all keys beyond the limit of one peer: it is named [`OTHER`].
    #[must_use]
    pub const fn is_rest(&self) -> bool {
        self.is_rest
    }

    /// Names the row of a table that all peers share, with its instance labels.
    pub fn named(self, key: &str, labels: &[(&'static str, &str)]) {
        if self.is_rest {
            self.bind(None, &[]);
        } else {
            self.bind(Some(key), labels);
        }
    }

    /// Names the row of a table of peers: `OWNER::KEY`, with the labels `process` and `label`.
    pub fn of_process(self, owner: &str, label: &'static str, key: &str) {
        let key = if self.is_rest { OTHER } else { key };
        let name = format!("{owner}::{key}");
        self.bind(Some(&name), &[("process", owner), (label, key)]);
    }

    fn bind(self, key: Option<&str>, labels: &[(&'static str, &str)]) {
        let Self { to, table, slot, .. } = self;
        to.update(Update::Row { table, slot, key });
        if !labels.is_empty() {
            to.update(Update::RowLabels { table, slot, labels });
        }
    }
}

/// Counts by ranges of a value, as rows that all peers of the source share.
#[derive(Clone, Copy, Debug)]
pub struct Histogram {
    /// Where the ranges begin, in ascending order; the first is 0 or the least value.
    pub edges: &'static [u64],
    /// The counter of a range.
    pub item: RowItem,
    /// The names of the ranges' rows, one for each edge.
    pub names: fn() -> Vec<String>,
}
