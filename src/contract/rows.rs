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
    /// Names the row of a table that all peers share, with its instance labels.
    pub fn named(self, key: &str, labels: &[(&'static str, &str)]) {
        let Self { to, table, slot, is_rest } = self;
        if is_rest {
            bind(to, table, slot, None, &[]);
        } else {
            bind(to, table, slot, Some(key), labels);
        }
    }

    /// Names the row of a table of peers: `OWNER::KEY`, with the labels `process` and `label`.
    pub fn of_process(self, owner: &str, label: &'static str, key: &str) {
        let Self { to, table, slot, is_rest } = self;
        bind_of_process(to, table, slot, owner, (label, if is_rest { OTHER } else { key }));
    }
}

/// Binds a slot to the row `OWNER::KEY`. `label`: the instance label of the key, and the key.
pub(super) fn bind_of_process(
    to: &mut dyn Recipient,
    table: TableId,
    slot: u32,
    owner: &str,
    label: (&'static str, &str),
) {
    let key = format!("{owner}::{}", label.1);
    bind(to, table, slot, Some(&key), &[("process", owner), label]);
}

fn bind(
    to: &mut dyn Recipient,
    table: TableId,
    slot: u32,
    key: Option<&str>,
    labels: &[(&'static str, &str)],
) {
    to.update(Update::Row { table, slot, key });
    if !labels.is_empty() {
        to.update(Update::RowLabels { table, slot, labels });
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
