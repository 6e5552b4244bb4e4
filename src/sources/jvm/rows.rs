//! What is shown of a reading: each figure that is not as before; the rows of collectors, pools and modes of
//! processor time.

use super::metrics as m;
use super::state::{Figures, POOLS};
use crate::contract::Peer;
use crate::model::{MetricItem, RowItem, TableId, Value};

/// Slots of the modes of processor time.
pub(super) const USER: u32 = 0;
pub(super) const SYSTEM: u32 = 1;

const COLLECTOR: [RowItem; 2] = [m::GC_COUNT, m::GC_TIME];
const POOL: [RowItem; 3] = [m::POOL_USED, m::POOL_COMMITTED, m::POOL_MAX];

/// A counter or gauge of the performance data, and whether its metric has 32 bits.
type Shown = (MetricItem, bool, fn(&Figures) -> Option<u64>);

const SHOWN: [Shown; 26] = [
    (m::PAUSE_COUNT, false, |f| f.pauses.count),
    (m::PAUSE_TOTAL, false, |f| f.pauses.total),
    (m::PAUSE_LAST, false, |f| f.pauses.last),
    (m::GC_RUNNING, true, |f| f.collecting.map(u64::from)),
    (m::GC_CPU, false, |f| f.gc_cpu_time),
    (m::HEAP_TOTAL, false, |f| f.heap.total),
    (m::HEAP_COMMITTED, false, |f| f.heap.committed),
    (m::HEAP_MAX, false, |f| f.heap.max),
    (m::SAFEPOINT_COUNT, false, |f| f.safepoints),
    (m::SAFEPOINT_TIME, false, |f| f.safepoint_time),
    (m::SAFEPOINT_SYNC, false, |f| f.sync_time),
    (m::VM_OPERATION, false, |f| f.vm_operation_time),
    (m::LOCK_COUNT, false, |f| f.contentions),
    (m::THREADS, true, |f| f.threads),
    (m::THREADS_DAEMON, true, |f| f.threads_daemon),
    (m::THREADS_PEAK, true, |f| f.threads_peak),
    (m::THREADS_CREATED, false, |f| f.threads_started),
    (m::CLASSES, false, |f| f.classes),
    (m::CLASS_LOADED, false, |f| f.classes_loaded),
    (m::CLASS_UNLOADED, false, |f| f.classes_unloaded),
    (m::CLASS_TIME, false, |f| f.class_load_time),
    (m::JIT_METHODS, false, |f| f.jit_methods),
    (m::JIT_BAILOUTS, false, |f| f.jit_bailouts),
    (m::JIT_INVALIDATED, false, |f| f.jit_invalidated),
    (m::JIT_TIME, false, |f| f.jit_time),
    (m::JIT_CODE, false, |f| f.jit_code_bytes),
];

/// Shows those that are not as before.
pub(super) fn show(old: Option<&Figures>, new: &Figures, peer: &mut Peer) {
    for (item, small, figure) in SHOWN {
        let (before, now) = (old.and_then(figure), figure(new));
        if before != now {
            peer.show(item, now.map(|value| sized(small, value)));
        }
    }
}

/// A value of a metric that has 32 bits, or 64.
pub(super) fn sized(small: bool, value: u64) -> Value {
    if small { Value::U32(u32::try_from(value).unwrap_or(u32::MAX)) } else { Value::U64(value) }
}

/// The rows that slots are bound to.
#[derive(Debug, Default)]
pub(super) struct Rows {
    collectors: [Option<&'static str>; 3],
    pools: [Option<&'static str>; POOLS],
    modes: bool,
}

/// One table: what its slots are bound to, and the label of its keys.
struct Slots<'a, const N: usize> {
    table: TableId,
    label: &'static str,
    items: [RowItem; N],
    bound: &'a mut [Option<&'static str>],
}

impl<const N: usize> Slots<'_, N> {
    /// Binds slots to rows. A row that is there no longer has no values; all of them go before a slot gets
    /// another one, which may be the row of the slot before.
    fn bind(&mut self, instance: &str, rows: &[Option<&'static str>], peer: &mut Peer) {
        for ((slot, bound), row) in (0..).zip(&mut *self.bound).zip(rows) {
            if bound.is_some() && bound != row {
                *bound = None;
                unset(slot, self.items, peer);
            }
        }
        for ((slot, bound), row) in (0..).zip(&mut *self.bound).zip(rows) {
            if let Some(name) = row.filter(|_| bound.is_none()) {
                *bound = Some(name);
                bind(instance, self.table, slot, (self.label, name), peer);
            }
        }
    }
}

impl Rows {
    /// Shows collectors and pools.
    pub(super) fn read(&mut self, instance: &str, new: &Figures, peer: &mut Peer) {
        self.collectors().bind(instance, &new.collections.map(|one| one.map(|one| one.row)), peer);
        self.pools().bind(instance, &new.pools.map(|pool| pool.map(|pool| pool.row)), peer);
        for (slot, one) in (0..).zip(&new.collections) {
            let Some(one) = one else { continue };
            set(slot, COLLECTOR, [Some(one.count), one.time], peer);
        }
        for (slot, pool) in (0..).zip(&new.pools) {
            let Some(pool) = pool else { continue };
            set(slot, POOL, [pool.used, pool.committed, pool.max], peer);
        }
    }

    /// Takes the values of collectors and pools away.
    pub(super) fn hide(&mut self, instance: &str, peer: &mut Peer) {
        self.collectors().bind(instance, &[None; 3], peer);
        self.pools().bind(instance, &[None; POOLS], peer);
    }

    /// Processor time of user and system in ns.
    pub(super) fn usage(&mut self, instance: &str, (user, system): (u64, u64), peer: &mut Peer) {
        let known = std::mem::replace(&mut self.modes, true);
        for (slot, mode, time) in [(USER, "user", user), (SYSTEM, "system", system)] {
            if !known {
                bind(instance, m::MODES, slot, ("mode", mode), peer);
            }
            peer.row_set(slot, m::CPU_TIME, time);
        }
    }

    fn collectors(&mut self) -> Slots<'_, 2> {
        let bound = &mut self.collectors;
        Slots { table: m::COLLECTORS, label: "collector", items: COLLECTOR, bound }
    }

    fn pools(&mut self) -> Slots<'_, 3> {
        Slots { table: m::POOLS, label: "pool", items: POOL, bound: &mut self.pools }
    }
}

fn bind(instance: &str, table: TableId, slot: u32, label: (&'static str, &str), peer: &mut Peer) {
    let key = format!("{instance}::{}", label.1);
    peer.row(table, slot, Some(&key));
    peer.row_labels(table, slot, &[("process", instance), label]);
}

fn set<const N: usize>(slot: u32, items: [RowItem; N], values: [Option<u64>; N], peer: &mut Peer) {
    for (item, value) in items.into_iter().zip(values) {
        peer.row_show(slot, item, value);
    }
}

fn unset<const N: usize>(slot: u32, items: [RowItem; N], peer: &mut Peer) {
    set(slot, items, [None; N], peer);
}
