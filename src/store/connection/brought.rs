//! Values of dynamic metrics that come without a record: of peers and of rows.

use super::{Connection, Target};
use crate::model::{TableId, Value, ValueType};

impl Connection {
    /// Sets a dynamic metric.
    pub(super) fn value(&mut self, slot: u32, row: Option<u32>, value: &Value) {
        let Some(target) = self.target_of(slot) else { return };
        match (target.table, row, value) {
            (None, None, Value::Text(text)) if target.ty == ValueType::Text => {
                self.set_text(target.column, text);
            }
            (None, None, value) => {
                if let (Some(peer), Some(bits)) = (&self.peer, value.to_bits(target.ty)) {
                    peer.cells.set(target.column, bits);
                }
            }
            (Some(table), Some(row), value) => {
                let Some(bits) = value.to_bits(target.ty) else { return };
                self.change_row(table, row, target, |_| bits);
            }
            _ => {}
        }
    }

    /// Adds to a dynamic metric.
    pub(super) fn add(&mut self, slot: u32, row: Option<u32>, more: &Value) {
        let Some(target) = self.target_of(slot) else { return };
        let Some(more) = more.to_bits(target.ty) else { return };
        let sum = |before: Option<u64>| sum(target.ty, before.unwrap_or_default(), more);
        match (target.table, row) {
            (None, None) => {
                if let Some(peer) = &self.peer {
                    peer.cells.set(target.column, sum(peer.cells.get(target.column)));
                }
            }
            (Some(table), Some(row)) => self.change_row(table, row, target, sum),
            _ => {}
        }
    }

    /// Removes the value of a dynamic metric.
    pub(super) fn no_value(&mut self, slot: u32, row: Option<u32>) {
        let Some(target) = self.target_of(slot) else { return };
        match (target.table, row) {
            (None, None) => self.hide(slot),
            (Some(table), Some(row)) => {
                if let Some(bound) = self.bound(table, row) {
                    bound.row.brought.unset(target.column);
                }
            }
            _ => {}
        }
    }

    fn target_of(&self, slot: u32) -> Option<Target> {
        self.slots.get(slot as usize).copied().flatten()
    }

    /// Changes the value of a row. A first value becomes known to the PMDA thread, if there is
    /// memory for it.
    fn change_row(
        &mut self,
        table: TableId,
        slot: u32,
        target: Target,
        change: impl FnOnce(Option<u64>) -> u64,
    ) {
        let full = self.store.memory.is_full();
        let Some(row) = self.current_row(slot, table).map(|bound| &bound.row) else { return };
        if row.brought.change(target.column, !full, change) {
            let row = std::sync::Arc::clone(row);
            self.store.row_has(self.source, table, &row, target.column);
        }
    }
}

/// The sum of two numbers of a type, as bits.
fn sum(ty: ValueType, a: u64, b: u64) -> u64 {
    match ty {
        ValueType::F64 => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
        _ => a.wrapping_add(b),
    }
}

#[cfg(test)]
#[path = "brought_tests.rs"]
mod tests;
