//! Rows of a table whose names are known.

use crate::contract::Peer;
use crate::model::{RowItem, TableId};
use crate::runtimes::bind;

/// Sums of counters in rows of fixed names, since the last report.
#[derive(Debug)]
pub(in crate::sources::mono::runtime) struct Fixed<const R: usize, const N: usize> {
    table: TableId,
    label: &'static str,
    names: [&'static str; R],
    items: [RowItem; N],
    sums: [[u64; N]; R],
    touched: bool,
    bound: bool,
}

impl<const R: usize, const N: usize> Fixed<R, N> {
    /// `label`: the instance label that has the name.
    pub(in crate::sources::mono::runtime) const fn new(
        table: TableId,
        label: &'static str,
        names: [&'static str; R],
        items: [RowItem; N],
    ) -> Self {
        Self { table, label, names, items, sums: [[0; N]; R], touched: false, bound: false }
    }

    /// Adds to a row.
    pub(in crate::sources::mono::runtime) fn add(&mut self, row: usize, more: [u64; N]) {
        if let Some(sums) = self.sums.get_mut(row) {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
            self.touched = true;
        }
    }

    /// All rows exist, those of 0 included.
    pub(in crate::sources::mono::runtime) fn start(&mut self, owner: &str, peer: &mut Peer) {
        if std::mem::replace(&mut self.bound, true) {
            return;
        }
        for (slot, name) in (0..).zip(self.names) {
            bind(self.table, owner, slot, (self.label, name), peer);
            for item in self.items {
                peer.row_add(slot, item, 0);
            }
        }
    }

    /// Reports the sums since the last report.
    pub(in crate::sources::mono::runtime) fn report(&mut self, owner: &str, peer: &mut Peer) {
        if !std::mem::take(&mut self.touched) {
            return;
        }
        self.start(owner, peer);
        for (slot, sums) in (0..).zip(&mut self.sums) {
            for (item, sum) in self.items.into_iter().zip(sums) {
                let more = std::mem::take(sum);
                if more > 0 {
                    peer.row_add(slot, item, more);
                }
            }
        }
    }
}
