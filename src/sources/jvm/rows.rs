//! The rows of a process: its collectors and pools, and the modes of its processor time.

use super::metrics as m;
use super::state::{Figures, POOLS};
use crate::contract::Peer;
use crate::model::{RowItem, TableId};

/// Slots of the modes of processor time.
pub(super) const USER: u32 = 0;
pub(super) const SYSTEM: u32 = 1;

/// A table, the label of its keys, and the cells of its rows.
struct Table<const N: usize> {
    table: TableId,
    label: &'static str,
    items: [RowItem; N],
}

const COLLECTORS: Table<2> =
    Table { table: m::COLLECTORS, label: "collector", items: [m::GC_COUNT, m::GC_TIME] };
const MEMORY: Table<3> =
    Table { table: m::POOLS, label: "pool", items: [m::POOL_USED, m::POOL_COMMITTED, m::POOL_MAX] };

/// The name of a row, and its cells.
type Row<const N: usize> = Option<(&'static str, [Option<u64>; N])>;

/// The rows that slots are bound to.
#[derive(Debug, Default)]
pub(super) struct Rows {
    collectors: [Option<&'static str>; 3],
    pools: [Option<&'static str>; POOLS],
    modes: bool,
}

impl<const N: usize> Table<N> {
    /// Shows these rows, and those alone. `bound`: the rows of the slots. All of a row that is there no longer goes
    /// before a slot gets another one, which may be the row of the slot before.
    fn show<const SLOTS: usize>(
        &self,
        bound: &mut [Option<&'static str>; SLOTS],
        instance: &str,
        rows: [Row<N>; SLOTS],
        peer: &mut Peer,
    ) {
        for ((slot, bound), row) in (0..).zip(&mut *bound).zip(&rows) {
            if bound.is_some() && *bound != row.map(|(name, _)| name) {
                *bound = None;
                self.items.into_iter().for_each(|item| peer.row_unset(slot, item));
            }
        }
        for ((slot, bound), row) in (0..).zip(bound).zip(rows) {
            let Some((name, values)) = row else { continue };
            if bound.replace(name).is_none() {
                peer.row_of_process(self.table, slot, instance, (self.label, name));
            }
            for (item, value) in self.items.into_iter().zip(values) {
                peer.row_show(slot, item, value);
            }
        }
    }
}

impl Rows {
    /// Shows collectors and pools.
    pub(super) fn read(&mut self, instance: &str, new: &Figures, peer: &mut Peer) {
        let collectors =
            new.collections.map(|one| one.map(|one| (one.row, [Some(one.count), one.time])));
        COLLECTORS.show(&mut self.collectors, instance, collectors, peer);
        MEMORY.show(&mut self.pools, instance, new.pools, peer);
    }

    /// Processor time of user and system in ns.
    pub(super) fn used(&mut self, instance: &str, (user, system): (u64, u64), peer: &mut Peer) {
        let known = std::mem::replace(&mut self.modes, true);
        for (slot, mode, time) in [(USER, "user", user), (SYSTEM, "system", system)] {
            if !known {
                peer.row_of_process(m::MODES, slot, instance, ("mode", mode));
            }
            peer.row_set(slot, m::CPU_TIME, time);
        }
    }
}
