//! Slots of tables: the rows bound to them.

use std::sync::Arc;

use super::bound_row::BoundRow;
use super::{Connection, SLOTS_MAX};
use crate::model::{RowItem, TableId, visible};

impl Connection {
    pub(super) fn bind_row(&mut self, table: TableId, slot: u32, key: Option<&str>) {
        let slot = slot as usize;
        let key = key.map(visible);
        let key = key.as_deref();
        if slot >= SLOTS_MAX || table.index() >= self.table.tables.len() {
            return;
        }
        if self.rows.len() <= table.index() {
            self.rows.resize_with(table.index() + 1, Vec::new);
        }
        let Some(rows) = self.rows.get_mut(table.index()) else { return };
        if rows.len() <= slot {
            // Grows by a quarter instead of doubling: there are many tables of few rows.
            rows.reserve_exact((slot + 1 - rows.len()).max(rows.len() / 4));
            rows.resize_with(slot + 1, || None);
        }
        let row = self.store.row(self.source, table, self.peer.as_ref(), key);
        if let Some(place) = rows.get_mut(slot) {
            *place = row.map(|row| BoundRow::new(row, key));
        }
    }

    /// Unbinds all slots of a table.
    pub(super) fn free_rows(&mut self, table: TableId) {
        if let Some(rows) = self.rows.get_mut(table.index()) {
            *rows = Vec::new();
        }
    }

    /// Removes the rows of the peer in a table of peers.
    pub(super) fn forget_rows(&mut self, table: TableId) {
        self.free_rows(table);
        if let Some(peer) = &self.peer {
            self.store.forget_rows(peer, table);
        }
    }

    pub(super) fn bound(&mut self, table: TableId, slot: u32) -> Option<&mut BoundRow> {
        self.rows.get_mut(table.index())?.get_mut(slot as usize)?.as_mut()
    }

    /// Sets a cell of a row that is no counter, or removes its value. Those of the rest would be
    /// values of several keys.
    pub(super) fn set_row(&mut self, slot: u32, item: RowItem, value: Option<u64>) {
        let now = self.now.monotonic;
        let Some(bound) = self.current_row(slot, item.table()) else { return };
        if bound.row.is_rest() {
            return;
        }
        match value {
            Some(value) => {
                bound.row.cells.set(item.get(), value);
                bound.row.refresh(now);
            }
            None => bound.row.cells.unset(item.get()),
        }
    }

    /// Makes the peer a member of a row.
    pub(super) fn join_row(&mut self, table: TableId, slot: u32) {
        if let Some(key) = self.bound(table, slot).and_then(|bound| bound.key().map(str::to_owned))
        {
            self.look_for_row(table, slot, &key);
        }
        let Some(row) = self.current_row(slot, table).map(|bound| Arc::clone(&bound.row)) else {
            return;
        };
        let Some(peer) = &self.peer else { return };
        if self.member.as_ref().is_none_or(|member| !Arc::ptr_eq(member, &row)) {
            self.store.join_row(peer, table, &row, self.now.monotonic);
            peer.set_service(&row.key);
            self.member = Some(row);
        }
    }

    /// Binds a slot to the row of its key, if that has one by now.
    fn look_for_row(&mut self, table: TableId, slot: u32, key: &str) {
        let row = self.store.row(self.source, table, self.peer.as_ref(), Some(key));
        if let (Some(row), Some(bound)) =
            (row.filter(|row| *row.key == *key), self.bound(table, slot))
        {
            bound.bind(row, key);
        }
    }

    /// Raises a cell of a row.
    pub(super) fn raise_row(&mut self, slot: u32, item: RowItem, value: u64) {
        if let Some(bound) = self.current_row(slot, item.table()) {
            bound.row.cells.raise(item.get(), value);
        }
    }

    /// The row of a slot; if it has lost its instance, the row that its key has now.
    pub(super) fn current_row(&mut self, slot: u32, table: TableId) -> Option<&BoundRow> {
        let bound =
            self.rows.get_mut(table.index())?.get_mut(slot as usize).and_then(Option::as_mut)?;
        if bound.row.gone() {
            let key = bound.row.key.clone();
            let row = self.store.row(self.source, table, self.peer.as_ref(), Some(&key))?;
            bound.bind(row, &key);
        }
        Some(bound)
    }

    /// Adds to a counter of a row. A key without a row may get one by it.
    pub(super) fn count_row(&mut self, slot: u32, item: RowItem, more: u64) {
        let table = item.table();
        let Some(bound) = self
            .rows
            .get_mut(table.index())
            .and_then(|r| r.get_mut(slot as usize))
            .and_then(Option::as_mut)
        else {
            return;
        };
        if bound.row.gone() {
            let key = bound.row.key.clone();
            let Some(row) = self.store.row(self.source, table, self.peer.as_ref(), Some(&key))
            else {
                return;
            };
            bound.bind(row, &key);
        }
        let ranks = || self.table.tables.get(table.index()).is_some_and(|def| def.score == item);
        if more > 0
            && let Some(key) = bound.key().filter(|_| ranks()).map(str::to_owned)
        {
            let (peer, now) = (self.peer.as_ref(), self.now.monotonic);
            let row = self.store.wait_for_row(self.source, table, peer, (&key, more), now);
            if let Some(row) = row {
                bound.bind(row, &key);
            }
        }
        bound.row.cells.add(item.get(), more);
    }
}
