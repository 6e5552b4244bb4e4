//! Tables of a source. A row has cells and is an instance of the table's domain; one peer adds to
//! it, or many do. Where there are more keys than rows, [`top`] says who has one, and what the others
//! add is in the row [`OTHER`]: of all peers, or `PEER::other` in a table of peers.
//!
//! A counter never falls: a key that gets a row again within [`kept::KEPT`] goes on from the row's values,
//! and what it has added meanwhile stays in the other row.

mod kept;
mod row;
mod top;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kept::Kept;
pub use row::Row;
use top::Top;

use super::peer::Peer;
use crate::catalogue::{OTHER, RowLayout, TableDef};

/// A change of the instances; the registry passes it to the PMDA thread.
#[derive(Debug)]
pub(super) enum RowChange {
    Join(Arc<Row>),
    Leave(Arc<Row>),
    /// A row has a value in a column of dynamic metrics.
    Has(Arc<Row>, u16),
}

/// The rows of one table.
#[derive(Debug)]
pub(super) struct Rows {
    layout: RowLayout,
    by_key: HashMap<Arc<str>, Arc<Row>>,
    /// By name of the peer in a table of peers that has a limit for each; else one, without a name.
    groups: HashMap<String, Group>,
    /// The last time that anybody told.
    now: Duration,
}

/// Keys that share a number of rows.
#[derive(Debug, Default)]
struct Group {
    top: Top,
    kept: Kept,
}

/// The rest of a peer's keys.
fn rest_of(peer: Option<&Arc<Peer>>) -> String {
    match peer {
        Some(peer) => format!("{}::{OTHER}", peer.name),
        None => OTHER.to_owned(),
    }
}

/// Most rows of a group; 0: keys are not ranked, and have a row while there is room.
const fn most(def: &TableDef) -> usize {
    if def.of_peer { def.per_peer } else { def.max }
}

impl Rows {
    pub(super) fn new(layout: RowLayout) -> Self {
        Self { layout, by_key: HashMap::new(), groups: HashMap::new(), now: Duration::ZERO }
    }

    /// The row of a key, made if there is room; else that of the rest, or `None` in a table of peers
    /// without a limit for each.
    pub(super) fn get(
        &mut self,
        def: &TableDef,
        peer: Option<&Arc<Peer>>,
        key: Option<&str>,
        changes: &mut Vec<RowChange>,
    ) -> Option<Arc<Row>> {
        if let Some(known) = key.and_then(|k| self.by_key.get(k)) {
            known.bring(peer);
            return Some(Arc::clone(known));
        }
        let owner = peer.filter(|_| def.of_peer);
        let Some(key) = key else { return self.rest(def, owner, changes) };
        if most(def) == 0 {
            return (self.by_key.len() < def.max).then(|| self.add(key, false, owner, changes));
        }
        if key == OTHER || owner.is_some() && key == rest_of(owner) {
            return self.rest(def, owner, changes);
        }
        let (now, item) = (self.now, def.score.get());
        let room = !def.of_peer || self.by_key.len() < def.max;
        if !self.groups.contains_key(group_of(owner)) {
            self.groups.insert(group_of(owner).to_owned(), Group::default());
        }
        let group = self.groups.get_mut(group_of(owner))?;
        if group.top.len() >= most(def) || !room {
            return self.rest(def, owner, changes);
        }
        let row = Row::new(key, false, owner, self.layout);
        row.bring(peer);
        let brought = group.kept.restore(&row);
        group.top.fill(Arc::clone(&row), item, now);
        self.by_key.insert(Arc::clone(&row.key), Arc::clone(&row));
        join(&row, brought, changes);
        Some(row)
    }

    /// The row of the keys without one; `None`: the table of peers is full.
    fn rest(
        &mut self,
        def: &TableDef,
        owner: Option<&Arc<Peer>>,
        changes: &mut Vec<RowChange>,
    ) -> Option<Arc<Row>> {
        if def.of_peer && (def.per_peer == 0 || owner.is_none()) {
            return None;
        }
        let key = rest_of(owner);
        let known = self.by_key.get(&*key).cloned();
        let room = !def.of_peer || self.by_key.len() < def.max;
        known.or_else(|| room.then(|| self.add(&key, true, owner, changes)))
    }

    fn add(
        &mut self,
        key: &str,
        rest: bool,
        owner: Option<&Arc<Peer>>,
        changes: &mut Vec<RowChange>,
    ) -> Arc<Row> {
        let row = Row::new(key, rest, owner, self.layout);
        self.by_key.insert(Arc::clone(&row.key), Arc::clone(&row));
        changes.push(RowChange::Join(Arc::clone(&row)));
        row
    }

    /// A key without a row adds to the cell that ranks it. Returns its row, if it has one now: that
    /// of another session, or the place of the least row. Counters of that row are kept.
    pub(super) fn wait(
        &mut self,
        def: &TableDef,
        peer: Option<&Arc<Peer>>,
        (key, more): (&str, u64),
        now: Duration,
        changes: &mut Vec<RowChange>,
    ) -> Option<Arc<Row>> {
        self.now = now.max(self.now);
        if let Some(known) = self.by_key.get(key) {
            known.bring(peer);
            return Some(Arc::clone(known));
        }
        let owner = peer.filter(|_| def.of_peer);
        let Self { by_key, groups, layout, .. } = self;
        let Group { top, kept } = groups.get_mut(group_of(owner))?;
        top.add(key, more, def.score.get(), now, |least| {
            let rest = by_key.get(&*rest_of(owner)).cloned();
            by_key.remove(&least.key);
            least.leave();
            if let Some(rest) = &rest {
                rest.members.fetch_add(least.members.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            }
            kept.keep(least, *layout, now);
            changes.push(RowChange::Leave(Arc::clone(least)));
            let row = Row::new(key, false, owner, *layout);
            row.bring(peer);
            let brought = kept.restore(&row);
            // Counters begin at 0 with the row, as they do for a first key.
            for item in (0..layout.cells).filter(|item| layout.is_counter(*item)) {
                if rest.as_ref().is_some_and(|rest| rest.cells.get(item).is_some()) {
                    row.cells.add(item, 0);
                }
            }
            by_key.insert(Arc::clone(&row.key), Arc::clone(&row));
            join(&row, brought, changes);
            row
        })
    }

    /// Forgets what was kept too long. Scores of the rows of a full shared table are brought up to date:
    /// so they tell when something was added, within a sweep. Those of a peer's are when more keys come
    /// than there are rows.
    pub(super) fn sweep(&mut self, def: &TableDef, now: Duration) {
        self.now = now.max(self.now);
        for group in self.groups.values_mut() {
            if !def.of_peer && group.top.len() >= def.max {
                group.top.refresh(def.score.get(), now);
            }
            group.top.forget(now);
            group.kept.forget(now);
        }
    }

    /// The row that counts the members of `row`: itself, or the rest if it is gone. Only rows that
    /// all peers share have members.
    fn of_members<'a>(&'a self, row: &'a Arc<Row>) -> &'a Arc<Row> {
        match self.by_key.get(OTHER) {
            Some(other) if row.gone() => other,
            _ => row,
        }
    }

    /// A connected peer becomes a member of a row. Returns the row that counts it.
    pub(super) fn enter(&self, row: &Arc<Row>) -> Arc<Row> {
        let row = self.of_members(row);
        row.members.fetch_add(1, Ordering::Relaxed);
        Arc::clone(row)
    }

    /// A member leaves. After the last one, values of a sliding period are shown until `until`.
    pub(super) fn exit(&self, row: &Arc<Row>, until: Duration) {
        let row = self.of_members(row);
        if row.members.fetch_sub(1, Ordering::Relaxed) == 1 {
            row.fades(until);
        }
    }

    /// Removes the rows of a peer.
    pub(super) fn forget_peer(&mut self, peer: &Arc<Peer>, changes: &mut Vec<RowChange>) {
        let of_peer = |row: &Arc<Row>| row.peer.as_ref().is_some_and(|p| Arc::ptr_eq(p, peer));
        let keys: Vec<Arc<str>> =
            self.by_key.values().filter(|r| of_peer(r)).map(|r| Arc::clone(&r.key)).collect();
        for row in keys.iter().filter_map(|k| self.by_key.remove(k)) {
            row.leave();
            changes.push(RowChange::Leave(row));
        }
        self.groups.remove(&peer.name);
    }

    /// Estimate of the bytes allocated.
    pub(super) fn memory(&self) -> usize {
        let rows = self.by_key.values();
        let groups = self.groups.iter();
        rows.map(|r| size_of::<Row>() + r.key.len() + r.cells.memory() + r.brought.memory() + 96)
            .sum::<usize>()
            + groups.map(|(name, g)| name.len() + g.top.memory() + g.kept.memory()).sum::<usize>()
    }
}

/// The group of a key in a table of peers with a limit for each, or in a shared table.
fn group_of(owner: Option<&Arc<Peer>>) -> &str {
    owner.map_or("", |peer| &peer.name)
}

fn join(row: &Arc<Row>, brought: Vec<u16>, changes: &mut Vec<RowChange>) {
    changes.push(RowChange::Join(Arc::clone(row)));
    changes.extend(brought.into_iter().map(|column| RowChange::Has(Arc::clone(row), column)));
}

#[cfg(test)]
mod tests;
