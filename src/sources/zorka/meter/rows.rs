//! Rows of one table to which an agent adds sums, by the hash of their keys.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::contract::Peer;
use crate::model::{RowItem, TableId};

/// A table, the metrics that are sums, and the most keys with a row of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<const N: usize> {
    pub(crate) table: TableId,
    pub(crate) items: [RowItem; N],
    pub(crate) max: usize,
}

/// What a new slot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The key.
    Key,
    /// All keys beyond the limit.
    Rest,
}

/// Slot of the row for the keys beyond the limit.
const REST: u32 = 0;

/// The rows of one table and their sums since the last report.
#[derive(Debug)]
pub(crate) struct Rows<const N: usize> {
    layout: Layout<N>,
    hasher: RandomState,
    slots: HashMap<u64, u32, RandomState>,
    /// By slot; that of all keys beyond the limit is the first.
    sums: Vec<[u64; N]>,
    touched: Vec<u32>,
    /// The row for keys beyond the limit is bound.
    rest: bool,
}

impl<const N: usize> Rows<N> {
    pub(crate) fn new(layout: Layout<N>) -> Self {
        Self {
            layout,
            hasher: RandomState::default(),
            slots: HashMap::default(),
            sums: Vec::new(),
            touched: Vec::new(),
            rest: false,
        }
    }

    /// The slot of a key. `bind` gives a new slot its row.
    pub(crate) fn slot(
        &mut self,
        key: &str,
        peer: &mut Peer,
        bind: impl FnOnce(u32, Of, &mut Peer),
    ) -> u32 {
        let hash = self.hasher.hash_one(key);
        if let Some(slot) = self.slots.get(&hash) {
            return *slot;
        }
        if self.sums.is_empty() {
            self.sums.push([0; N]);
        }
        let full = self.slots.len() >= self.layout.max;
        if full && std::mem::replace(&mut self.rest, true) {
            return REST;
        }
        let slot = if full { REST } else { u32::try_from(self.sums.len()).unwrap_or(REST) };
        bind(slot, if full { Of::Rest } else { Of::Key }, peer);
        for item in self.layout.items {
            peer.row_add(slot, item, 0);
        }
        if !full {
            self.sums.push([0; N]);
            self.slots.insert(hash, slot);
        }
        slot
    }

    /// Adds to the sums of a slot.
    pub(crate) fn add(&mut self, slot: u32, more: [u64; N]) {
        let Some(sums) = self.sums.get_mut(slot as usize) else { return };
        if *sums == [0; N] {
            self.touched.push(slot);
        }
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        for slot in self.touched.drain(..) {
            let sums = self.sums.get_mut(slot as usize).map(|s| std::mem::replace(s, [0; N]));
            for (item, more) in self.layout.items.into_iter().zip(sums.into_iter().flatten()) {
                if more > 0 {
                    peer.row_add(slot, item, more);
                }
            }
        }
    }

    /// Another key would get no row of its own.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= self.layout.max
    }

    /// Frees all slots; their rows stay in the store.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.report(peer);
        if !self.sums.is_empty() {
            peer.free_rows(self.layout.table);
            *self = Self::new(self.layout);
        }
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.slots.capacity() * (size_of::<(u64, u32)>() + 1)
            + self.sums.capacity() * size_of::<[u64; N]>()
            + self.touched.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Recorded;
    use crate::sources::Source;
    use crate::sources::zorka::Zorka;
    use crate::sources::zorka::metrics::{CLASS_COUNT, CLASS_RECEIVED, EXCEPTION_CLASSES};

    const LAYOUT: Layout<2> =
        Layout { table: EXCEPTION_CLASSES, items: [CLASS_COUNT, CLASS_RECEIVED], max: 3 };

    fn add(rows: &mut Rows<2>, key: &str, more: [u64; 2], seen: &mut Recorded) {
        let slot = rows.slot(key, seen, |slot, of, peer| {
            let key = (of == Of::Key).then_some(key);
            peer.row(EXCEPTION_CLASSES, slot, key);
        });
        rows.add(slot, more);
    }

    #[test]
    fn keys_beyond_the_limit_share_a_row_and_sums_are_exact() {
        let (mut rows, mut seen) = (Rows::new(LAYOUT), Recorded::new(&Zorka::TABLE));
        for n in 0..100 {
            add(&mut rows, &format!("k{}", n % 10), [1, n], &mut seen);
            if n % 7 == 0 {
                rows.report(&mut seen);
            }
        }
        assert!(rows.is_full());
        rows.clear(&mut seen);
        add(&mut rows, "k5", [1, 0], &mut seen);
        rows.report(&mut seen);
        let of = |key: &str| (seen.cell(CLASS_COUNT, key), seen.cell(CLASS_RECEIVED, key));
        assert_eq!(of("k0"), (Some(10), Some(450)));
        assert_eq!(of("other"), (Some(70), Some(4950 - 450 - 460 - 470)));
        assert_eq!(of("k5"), (Some(1), Some(0)));
    }
}
