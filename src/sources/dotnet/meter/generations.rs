//! The rows of the generations of a heap: slots are numbers of generations, and a row is there as soon as it
//! has something.

use crate::contract::Peer;
use crate::model::RowItem;
use crate::sources::dotnet::metrics as m;

/// Rows by slot.
const NAMES: [&str; 6] = ["gen0", "gen1", "gen2", "loh", "poh", "background"];
/// Slot of background collections.
pub(super) const BACKGROUND: u32 = 5;
/// The counters of a generation.
const ITEMS: [RowItem; 4] = [m::GC_COUNT, m::GC_OWN, m::GC_TIME, m::HEAP_PROMOTED];

/// Which rows are bound: a bit for each.
#[derive(Debug, Default)]
pub(super) struct Generations(u8);

impl Generations {
    /// Adds to a counter of a row. `owner`: the instance.
    #[inline]
    pub(super) fn add(
        &mut self,
        owner: &str,
        slot: u32,
        item: RowItem,
        more: u64,
        peer: &mut Peer,
    ) {
        if more > 0 {
            self.need(owner, slot, peer);
            peer.row_add(slot, item, more);
        }
    }

    /// The size of a generation in bytes.
    #[inline]
    pub(super) fn size(&mut self, owner: &str, slot: u32, bytes: u64, peer: &mut Peer) {
        self.need(owner, slot, peer);
        peer.row_set(slot, m::HEAP_SIZE, bytes);
    }

    #[inline(always)]
    fn need(&mut self, owner: &str, slot: u32, peer: &mut Peer) {
        if self.0 & 1 << slot == 0 {
            self.bind(owner, slot, peer);
        }
    }

    #[cold]
    fn bind(&mut self, owner: &str, slot: u32, peer: &mut Peer) {
        self.0 |= 1 << slot;
        let Some(name) = NAMES.get(slot as usize) else { return };
        peer.row_of_process(m::GENERATIONS, slot, owner, ("generation", name));
        for item in counters(slot) {
            peer.row_add(slot, *item, 0);
        }
    }

    /// Frees the slots: an idle process needs none.
    pub(super) fn free(&mut self, peer: &mut Peer) {
        if std::mem::take(&mut self.0) != 0 {
            peer.free_rows(m::GENERATIONS);
        }
    }
}

/// The counters that a row has, those of 0 included.
const fn counters(slot: u32) -> &'static [RowItem] {
    match slot {
        0..=2 => &ITEMS,
        3 | 4 => &[m::HEAP_PROMOTED],
        _ => &[m::GC_TIME],
    }
}
