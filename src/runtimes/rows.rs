//! Rows of one table to which a process adds sums, by the hash of their keys.

use std::collections::HashMap;
use std::fmt::Write;

use foldhash::fast::RandomState;

use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::model::{RowItem, TableId};

/// Bytes of the key of a row behind the name of the process.
const KEY: usize = 250;

/// Keys of one table that have slots at the same time. When there are more, all are bound anew: which of
/// them have rows of their own is the store's decision.
const SLOTS: usize = 1000;

/// A table and the metrics that are sums; the first of them ranks the rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<const N: usize> {
    pub(crate) table: TableId,
    pub(crate) items: [RowItem; N],
    /// The instance label that has the key.
    pub(crate) label: &'static str,
}

impl<const N: usize> Layout<N> {
    /// Adds to the sums of the row of a key. `name` writes the key for its row.
    #[inline]
    #[allow(dead_code, reason = "sources move to it one by one")]
    pub(crate) fn count(
        &self,
        owner: &str,
        hash: u64,
        more: [u64; N],
        peer: &mut Peer,
        name: impl FnOnce(&mut String),
    ) {
        peer.count_row(&self.items, hash, more, |row| {
            let mut key = String::new();
            name(&mut key);
            row.of_process(owner, self.label, &clean(&key));
        });
    }
}

/// Slot of the row for the keys beyond [`SLOTS`], until the next report.
const REST: u32 = 0;

/// The rows of one table and their sums since the last report.
#[derive(Debug)]
pub(crate) struct Rows<const N: usize> {
    layout: Layout<N>,
    /// The slots of keys by their hashes.
    slots: HashMap<u64, u32, RandomState>,
    /// By slot; that of all keys beyond the limit is the first. None: the slot is not bound.
    sums: Vec<Option<[u64; N]>>,
    touched: Vec<u32>,
}

impl<const N: usize> Rows<N> {
    pub(crate) fn new(layout: Layout<N>) -> Self {
        Self { layout, slots: HashMap::default(), sums: Vec::new(), touched: Vec::new() }
    }

    /// Adds to the sums of the row of a key. `name` writes the key for its row.
    #[inline]
    pub(crate) fn add(
        &mut self,
        owner: &str,
        hash: u64,
        more: [u64; N],
        peer: &mut Peer,
        name: impl FnOnce(&mut String),
    ) {
        let slot = match self.slots.get(&hash) {
            Some(slot) => *slot,
            None => self.next(hash),
        };
        if self.sums.get(slot as usize).is_none_or(Option::is_none) {
            self.bind(owner, slot, peer, name);
        }
        if let Some(Some(sums)) = self.sums.get_mut(slot as usize) {
            if *sums == [0; N] {
                self.touched.push(slot);
            }
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        }
    }

    /// The slot of a new key.
    fn next(&mut self, hash: u64) -> u32 {
        if self.slots.len() >= SLOTS {
            return REST;
        }
        let slot = u32::try_from(self.slots.len() + 1).unwrap_or(REST);
        self.slots.insert(hash, slot);
        slot
    }

    /// Binds a slot to its row.
    fn bind(&mut self, owner: &str, slot: u32, peer: &mut Peer, name: impl FnOnce(&mut String)) {
        let at = slot as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, None);
        }
        let Some(sums) = self.sums.get_mut(at) else { return };
        *sums = Some([0; N]);
        let mut key = String::new();
        if slot == REST {
            key.push_str(OTHER)
        } else {
            name(&mut key)
        }
        bind(self.layout.table, owner, slot, (self.layout.label, &clean(&key)), peer);
        for item in self.layout.items {
            peer.row_add(slot, item, 0);
        }
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        if self.slots.len() < SLOTS {
            self.send(peer);
        } else {
            self.clear(peer);
        }
    }

    fn send(&mut self, peer: &mut Peer) {
        for slot in self.touched.drain(..) {
            let Some(Some(sums)) = self.sums.get_mut(slot as usize) else { continue };
            let sums = std::mem::replace(sums, [0; N]);
            for (item, more) in self.layout.items.into_iter().zip(sums) {
                if more > 0 {
                    peer.row_add(slot, item, more);
                }
            }
        }
    }

    /// Frees what an idle process does not need; the rows stay in the store.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.send(peer);
        if !self.sums.is_empty() {
            peer.free_rows(self.layout.table);
            *self = Self::new(self.layout);
        }
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.slots.capacity() * (size_of::<(u64, u32)>() + 1)
            + self.sums.capacity() * size_of::<Option<[u64; N]>>()
            + self.touched.capacity() * size_of::<u32>()
    }
}

crate::heap_size!([const N: usize] Rows<N> { slots, sums, touched });

/// Binds a slot to the row `OWNER::KEY`. `label`: the instance label of the key, and the key.
pub(crate) fn bind(
    table: TableId,
    owner: &str,
    slot: u32,
    label: (&'static str, &str),
    peer: &mut Peer,
) {
    let mut key = String::with_capacity(owner.len() + 2 + label.1.len());
    let _ = write!(key, "{owner}::{}", label.1);
    peer.row(table, slot, Some(&key));
    peer.row_labels(table, slot, &[("process", owner), label]);
}

/// A text without blanks and control characters, at most [`KEY`] bytes; `#` if it is empty.
pub(crate) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(KEY));
    for c in text.chars() {
        let c = if c.is_whitespace() || c.is_control() { '_' } else { c };
        if clean.len() + c.len_utf8() > KEY {
            break;
        }
        clean.push(c);
    }
    if clean.is_empty() {
        clean.push('#');
    }
    clean
}
