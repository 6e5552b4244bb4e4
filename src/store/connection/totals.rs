//! Sums of the counters of peers by group.

use std::sync::Arc;

use super::Connection;
use crate::catalogue::AgentCell;
use crate::model::{MetricSpec, TableId};
use crate::store::dynamic_metric::DynamicMetric;
use crate::store::peer::{Origin, Peer};

/// Slot of the row of the peer's group.
const SLOT: u32 = 0;

impl Connection {
    /// The column of the sums of a metric; `None`: there are none.
    pub(super) fn total_of(&self, metric: &DynamicMetric, spec: &MetricSpec) -> Option<u16> {
        let totals = self.table.totals?;
        // Peers may describe the same metric differently, but hardly ever do.
        let kind = |spec: &MetricSpec| (spec.place, spec.ty, spec.sem, spec.units);
        let same = kind(&metric.spec) == kind(spec);
        let known = metric.total.get().filter(|_| same).copied();
        known.or_else(|| {
            let column = self.store.define(self.source, &(totals.of)(spec)?)?.column();
            same.then(|| metric.total.get_or_init(|| column));
            Some(column)
        })
    }

    /// Counts a peer that came since the start of the PMDA, at its first connection.
    pub(super) fn count_start(&mut self, table: TableId, slot: u32) {
        let Some(totals) = self.table.totals.filter(|t| t.table == table && slot == SLOT) else {
            return;
        };
        let first = |p: &Arc<Peer>| p.agent.get(AgentCell::Connects as u16) == Some(1);
        let new = |p: &Arc<Peer>| (p.origin != Origin::Restored && first(p)).into();
        let more = self.peer.as_ref().map_or(0, new);
        self.count_row(SLOT, totals.starts, more);
    }

    /// Adds what the counters of a sample grew by: columns of sums, and by how much.
    pub(super) fn add_totals(&mut self, grown: &[(u16, u64)]) {
        let table = self.table.totals.filter(|_| !grown.is_empty()).map(|totals| totals.table);
        let bound = table.and_then(|table| Some((table, self.current_row(SLOT, table)?)));
        if let Some((table, row)) = bound.map(|(table, bound)| (table, Arc::clone(&bound.row))) {
            let full = self.store.memory.is_full();
            for &(column, more) in grown {
                let sum = |before: Option<u64>| before.unwrap_or_default().wrapping_add(more);
                if row.brought.change(column, !full, sum) {
                    self.store.row_has(self.source, table, &row, column);
                }
            }
        }
    }
}

/// What a counter grew by, which is an integer; `None`: nothing, and its sum is known. The first
/// value of a peer that was there before the PMDA counts nothing. One that goes down has begun anew.
pub(super) fn growth(origin: Origin, before: Option<u64>, now: u64) -> Option<u64> {
    match before {
        Some(before) if before == now => None,
        Some(before) => Some(now.checked_sub(before).unwrap_or(now)),
        None if origin == Origin::New => Some(now),
        None => Some(0),
    }
}
