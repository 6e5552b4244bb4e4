//! Rows of the tables of sources.

use std::sync::Arc;
use std::time::Duration;

use super::{Change, Store, Table, lock};
use crate::catalogue::TableDef;
use crate::model::{SourceId, TableId};
use crate::store::peer::Peer;
use crate::store::rows::{Row, RowChange, Rows};

impl Store {
    /// Changes the rows of a table and queues the changes for the PMDA thread.
    pub(super) fn change_rows<T>(
        &self,
        source: SourceId,
        table: TableId,
        change: impl FnOnce(&TableDef, &mut Rows, &mut Vec<RowChange>) -> T,
    ) -> Option<T> {
        let def = self.catalogue.table(source, table)?;
        let mut rows = lock(self.rows.get(source.index())?.get(table.index())?);
        let mut changes = Vec::new();
        let result = change(def, &mut rows, &mut changes);
        for change in changes {
            self.queue(match change {
                RowChange::Join(row) => Change::JoinRow(source, table, row),
                RowChange::Leave(row) => Change::LeaveRow(source, table, row),
                RowChange::Has(row, column) => Change::RowHas(source, table, row, column),
            });
        }
        Some(result)
    }

    /// The row of a key: its own, the rest (see `store::rows`), or `None` if there is no
    /// room. In a table of peers it belongs to `peer` and is removed with it.
    pub fn row(
        &self,
        source: SourceId,
        table: TableId,
        peer: Option<&Arc<Peer>>,
        key: Option<&str>,
    ) -> Option<Arc<Row>> {
        self.change_rows(source, table, |def, rows, changes| rows.get(def, peer, key, changes))
            .flatten()
    }

    /// Removes the rows of a peer in a table of peers.
    pub(in crate::store) fn forget_rows(&self, peer: &Arc<Peer>, table: TableId) {
        self.change_rows(peer.source, table, |def, rows, changes| {
            if def.of_peer {
                rows.forget_peer(peer, changes);
            }
        });
    }

    /// Tells the PMDA thread of a row's first value in a column.
    pub(in crate::store) fn row_has(
        &self,
        source: SourceId,
        table: TableId,
        row: &Arc<Row>,
        column: u16,
    ) {
        self.queue(Change::RowHas(source, table, Arc::clone(row), column));
    }

    /// A key without a row adds to the cell that ranks rows. Returns its row, if it has one now.
    pub(in crate::store) fn wait_for_row(
        &self,
        source: SourceId,
        table: TableId,
        peer: Option<&Arc<Peer>>,
        added: (&str, u64),
        now: Duration,
    ) -> Option<Arc<Row>> {
        self.change_rows(source, table, |def, rows, changes| {
            rows.wait(def, peer, added, now, changes)
        })
        .flatten()
    }

    /// A connected peer is a member of a row in a shared table, and of no other row of the table.
    pub(in crate::store) fn join_row(
        &self,
        peer: &Arc<Peer>,
        table: TableId,
        row: &Arc<Row>,
        now: Duration,
    ) {
        // Under this lock no other connection of the peer ends.
        let Some(mut peers) = self.table(peer.source) else { return };
        let memberships = peers.memberships.entry(peer.name.clone()).or_default();
        self.change_rows(peer.source, table, |def, rows, _| {
            let known = memberships.iter_mut().find(|(of, _)| *of == table);
            match known {
                _ if def.of_peer => {}
                Some((_, before)) if Arc::ptr_eq(before, row) => {}
                Some((_, before)) => {
                    rows.exit(before, now);
                    *before = rows.enter(row);
                }
                None => memberships.push((table, rows.enter(row))),
            }
        });
    }

    /// The last connection of a peer has ended.
    pub(super) fn end_memberships(&self, peers: &mut Table, peer: &Peer, now: Duration) {
        let until = now + self.limits().stale;
        for (table, row) in peers.memberships.remove(&peer.name).into_iter().flatten() {
            self.change_rows(peer.source, table, |_, rows, _| rows.exit(&row, until));
        }
    }

    /// Makes the rows that always exist.
    pub fn initial_rows(&self) {
        for (source, s) in self.catalogue.sources() {
            for (n, def) in (0..).zip(s.tables) {
                let table = TableId::new(n);
                for key in (def.initial)() {
                    self.row(source, table, None, Some(&key));
                }
            }
        }
    }
}
