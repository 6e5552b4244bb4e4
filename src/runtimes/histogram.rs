//! A histogram that all processes share.

use crate::contract::Peer;
use crate::meter::bucket_of;
use crate::model::RowItem;

/// Nanoseconds in a microsecond.
const US: u64 = 1000;

/// Durations by the ranges that begin at `edges`, in us, since the last report.
#[derive(Debug)]
pub(crate) struct Histogram<const N: usize> {
    edges: &'static [u64; N],
    item: RowItem,
    names: fn() -> Vec<String>,
    sums: [u64; N],
    touched: bool,
    /// The rows are bound.
    bound: bool,
}

impl<const N: usize> Histogram<N> {
    pub(crate) const fn new(
        edges: &'static [u64; N],
        item: RowItem,
        names: fn() -> Vec<String>,
    ) -> Self {
        Self { edges, item, names, sums: [0; N], touched: false, bound: false }
    }

    /// Adds a duration in ns.
    #[inline]
    pub(crate) fn add(&mut self, duration: u64) {
        if let Some(sum) = self.sums.get_mut(bucket_of(self.edges, duration / US)) {
            *sum += 1;
            self.touched = true;
        }
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        if !std::mem::take(&mut self.touched) {
            return;
        }
        let table = self.item.table();
        if !std::mem::replace(&mut self.bound, true) {
            for (slot, key) in (0..).zip((self.names)()) {
                peer.row(table, slot, Some(&key));
            }
        }
        for (slot, sum) in (0..).zip(&mut self.sums) {
            let more = std::mem::take(sum);
            if more > 0 {
                peer.row_add(slot, self.item, more);
            }
        }
    }
}
