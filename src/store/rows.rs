//! Tables of a source. A row has cells and is an instance of the table's domain; one peer adds to
//! it, or many do.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::brought::Brought;
use super::peer::{Cells, Peer};
use crate::catalogue::{OTHER, RowLayout, TableDef};

/// Most keys that wait for a place in a full table, as a multiple of its rows.
const CANDIDATES: usize = 4;

/// A row of a table.
#[derive(Debug)]
pub struct Row {
    /// Instance name. The table and the ids' book share it.
    pub key: Arc<str>,
    /// Values by item number.
    pub cells: Cells,
    /// Values of dynamic metrics by column.
    pub brought: Brought,
    /// The peer that it belongs to, in a table of peers.
    pub peer: Option<Arc<Peer>>,
    labels: Mutex<Labels>,
    /// See [`Row::gone`].
    gone: AtomicBool,
    /// Connected peers that are members. Changed under the lock of the table only.
    members: AtomicU64,
    /// Until this time, in ns of the monotonic clock, values of a sliding period are shown: in a
    /// shared table.
    until: AtomicU64,
}

/// Time for which a shared row shows values of a sliding period after they were set.
const RECENT: Duration = Duration::from_secs(60);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Names and values.
type Labels = Vec<(&'static str, String)>;

impl Row {
    fn new(key: &str, peer: Option<&Arc<Peer>>, layout: RowLayout) -> Arc<Self> {
        Arc::new(Self {
            key: key.into(),
            cells: Cells::new(layout.cells.into()),
            brought: Brought::default(),
            peer: peer.cloned(),
            labels: Mutex::default(),
            gone: AtomicBool::new(false),
            members: AtomicU64::new(0),
            until: AtomicU64::new(0),
        })
    }

    /// Sets the instance labels. They need not outlive the PMDA: a row is made at its first event,
    /// together with its labels.
    pub(super) fn set_labels(&self, labels: &[(&'static str, &str)]) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        *self.labels.lock().unwrap_or_else(PoisonError::into_inner) = labels;
    }

    /// Instance labels.
    #[must_use]
    pub fn labels(&self) -> Labels {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Values of a sliding period may still be shown: those of a peer's row while the peer is
    /// neither silent nor gone (`Liveness::fresh`), those of a shared row for a minute, and for
    /// `stale` after its last member has gone.
    #[must_use]
    pub fn fresh(&self, now: Duration, stale: Duration) -> bool {
        match &self.peer {
            Some(peer) => peer.liveness.fresh(now, stale),
            None => nanos(now) < self.until.load(Ordering::Relaxed),
        }
    }

    /// A value of a sliding period was set.
    pub(super) fn refresh(&self, now: Duration) {
        self.until.store(nanos(now + RECENT), Ordering::Relaxed);
    }

    /// Connected peers that are members of the row.
    #[must_use]
    pub fn members(&self) -> u64 {
        self.members.load(Ordering::Relaxed)
    }

    /// The row was removed: another key has its place, or its peer is forgotten. Later additions
    /// belong to [`OTHER`].
    #[must_use]
    pub fn gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// A change of the instances; the registry passes it to the PMDA thread.
#[derive(Debug)]
pub(super) enum RowChange {
    Join(Arc<Row>),
    Leave(Arc<Row>),
}

/// The rows of one table.
#[derive(Debug)]
pub(super) struct Rows {
    layout: RowLayout,
    by_key: HashMap<Arc<str>, Arc<Row>>,
    /// Scores of keys without a row, counted since the last [`Rows::promote`].
    waiting: HashMap<String, u64>,
}

impl Rows {
    pub(super) fn new(layout: RowLayout) -> Self {
        Self { layout, by_key: HashMap::new(), waiting: HashMap::new() }
    }

    /// The row of a key, made if there is room; else [`OTHER`], or `None` in a table of peers.
    pub(super) fn get(
        &mut self,
        def: &TableDef,
        peer: Option<&Arc<Peer>>,
        key: Option<&str>,
        changes: &mut Vec<RowChange>,
    ) -> Option<Arc<Row>> {
        if let Some(known) = key.and_then(|k| self.by_key.get(k)) {
            return Some(Arc::clone(known));
        }
        let room = self.by_key.len() < def.max;
        let key = match key {
            Some(key) if room => key,
            Some(_) | None if def.of_peer => return None,
            _ => OTHER,
        };
        Some(self.add(key, peer.filter(|_| def.of_peer), changes))
    }

    fn add(
        &mut self,
        key: &str,
        peer: Option<&Arc<Peer>>,
        changes: &mut Vec<RowChange>,
    ) -> Arc<Row> {
        if let Some(known) = self.by_key.get(key) {
            return Arc::clone(known);
        }
        let row = Row::new(key, peer, self.layout);
        self.by_key.insert(Arc::clone(&row.key), Arc::clone(&row));
        changes.push(RowChange::Join(Arc::clone(&row)));
        row
    }

    /// Adds to the score of a key without a row.
    pub(super) fn wait(&mut self, def: &TableDef, key: &str, more: u64) {
        if let Some(score) = self.waiting.get_mut(key) {
            *score += more;
        } else if self.waiting.len() < CANDIDATES * def.max {
            self.waiting.insert(key.into(), more);
        }
    }

    /// Gives the rows with the lowest scores to waiting keys with higher scores. Counters and
    /// members of such a row are added to those of [`OTHER`]; values of a sliding period end; other
    /// values raise those of [`OTHER`].
    pub(super) fn promote(&mut self, def: &TableDef, changes: &mut Vec<RowChange>) {
        if self.waiting.is_empty() {
            return;
        }
        let score = |row: &Row| row.cells.get(def.score.get()).unwrap_or_default();
        let mut waiting: Vec<(u64, String)> = self.waiting.drain().map(|(k, s)| (s, k)).collect();
        waiting.sort_unstable_by(|a, b| b.cmp(a));
        // Rows made here have no score yet, and are not among those that lose their places.
        let mut least: Vec<(u64, Arc<Row>)> = self
            .by_key
            .values()
            .filter(|r| *r.key != *OTHER)
            .map(|r| (score(r), Arc::clone(r)))
            .collect();
        least.sort_unstable_by(|(a, x), (b, y)| (a, &x.key).cmp(&(b, &y.key)));
        for ((more, key), (less, least)) in waiting.into_iter().zip(least).take(def.max / 8 + 1) {
            if less >= more {
                break;
            }
            let other = self.add(OTHER, None, changes);
            self.by_key.remove(&least.key);
            least.gone.store(true, Ordering::Relaxed);
            other.members.fetch_add(least.members.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            for item in 0..self.layout.cells {
                match least.cells.get(item) {
                    Some(value) if self.layout.is_counter(item) => other.cells.add(item, value),
                    Some(value) if !self.layout.is_recent(item) => other.cells.raise(item, value),
                    _ => {}
                }
            }
            changes.push(RowChange::Leave(least));
            self.add(&key, None, changes);
        }
    }

    /// The row that counts the members of `row`: itself, or [`OTHER`] if it is gone.
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
            row.until.fetch_min(nanos(until), Ordering::Relaxed);
        }
    }

    /// Removes the rows of a peer.
    pub(super) fn forget_peer(&mut self, peer: &Arc<Peer>, changes: &mut Vec<RowChange>) {
        let of_peer = |row: &Arc<Row>| row.peer.as_ref().is_some_and(|p| Arc::ptr_eq(p, peer));
        let keys: Vec<Arc<str>> =
            self.by_key.values().filter(|r| of_peer(r)).map(|r| Arc::clone(&r.key)).collect();
        for row in keys.iter().filter_map(|k| self.by_key.remove(k)) {
            row.gone.store(true, Ordering::Relaxed);
            changes.push(RowChange::Leave(row));
        }
    }

    /// Estimate of the bytes allocated.
    pub(super) fn memory(&self) -> usize {
        self.by_key
            .values()
            .map(|r| size_of::<Row>() + r.key.len() + r.cells.memory() + r.brought.memory() + 96)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::InDomDef;
    use crate::model::{RowItem, TableId};

    const DEF: TableDef = TableDef {
        name: "method",
        cluster: 66,
        indom: InDomDef { serial: 9, oneline: "", help: "" },
        of_peer: false,
        max: 3,
        score: RowItem::new(TableId::new(0), 2),
        initial: Vec::new,
    };

    /// Item 2 is a counter, 3 is not, 4 is of a sliding period.
    const LAYOUT: RowLayout = RowLayout { cells: 5, counters: 1 << 2, recent: 1 << 4 };

    #[test]
    fn a_row_goes_with_its_peer_and_not_with_one_whose_name_begins_alike() {
        use crate::catalogue::testkit;
        use crate::store::{Limits, Store};
        let store = Store::new(testkit::catalogue(), 400, Limits::default(), 1 << 20);
        let peer = |name| {
            store
                .restore_peer(
                    testkit::TOY,
                    name,
                    std::time::Duration::ZERO,
                    std::time::Duration::ZERO,
                )
                .expect("room")
        };
        let (short, long) = (peer("host/s"), peer("host/s::x"));
        let def = TableDef { of_peer: true, ..DEF };
        let (mut rows, mut changes) = (Rows::new(LAYOUT), Vec::new());
        for (peer, key) in [(&short, "host/s::a"), (&long, "host/s::x::a")] {
            rows.get(&def, Some(peer), Some(key), &mut changes).expect("room");
        }
        rows.forget_peer(&short, &mut changes);
        assert_eq!(rows.by_key.keys().map(|k| &**k).collect::<Vec<_>>(), ["host/s::x::a"]);
        assert!(matches!(&changes[..], [_, _, RowChange::Leave(row)] if *row.key == *"host/s::a"));
    }

    #[test]
    fn places_go_to_those_with_most_and_nothing_is_lost() {
        let (mut rows, mut changes) = (Rows::new(LAYOUT), Vec::new());
        for (key, score) in [("a", 10), ("b", 50), ("c", 30)] {
            rows.get(&DEF, None, Some(key), &mut changes).expect("room").cells.add(2, score);
        }
        let other = rows.get(&DEF, None, Some("d"), &mut changes).expect("the rest");
        assert_eq!(&*other.key, OTHER);
        other.cells.add(2, 40);
        rows.wait(&DEF, "d", 40);
        rows.wait(&DEF, "e", 5);
        let a = rows.get(&DEF, None, Some("a"), &mut changes).expect("known");
        other.cells.raise(3, 6);
        a.cells.raise(3, 9);
        a.cells.set(4, 9);
        let member = rows.enter(&a);
        assert_eq!((a.members(), other.members()), (1, 0));
        rows.promote(&DEF, &mut changes);
        assert!(a.gone());
        assert_eq!((a.members(), other.members(), other.cells.get(4)), (0, 1, None));
        assert!(Arc::ptr_eq(&rows.enter(&a), &other));
        rows.exit(&member, Duration::ZERO);
        assert_eq!((a.members(), other.members()), (0, 1));
        assert_eq!((other.cells.get(2), other.cells.get(3)), (Some(50), Some(9)));
        let d = rows.get(&DEF, None, Some("d"), &mut changes).expect("a row of its own");
        assert_eq!((&*d.key, d.cells.get(2)), ("d", None));
        let all: u64 = rows.by_key.values().filter_map(|r| r.cells.get(2)).sum();
        assert_eq!(all, 10 + 50 + 30 + 40);
        assert_eq!(&*rows.get(&DEF, None, Some("e"), &mut changes).expect("the rest").key, OTHER);
    }

    #[test]
    fn a_row_made_for_a_waiting_key_is_not_given_to_the_next() {
        let def = TableDef { max: 24, ..DEF };
        let (mut rows, mut changes) = (Rows::new(LAYOUT), Vec::new());
        for n in 0..24 {
            let row = rows.get(&def, None, Some(&format!("old{n}")), &mut changes).expect("room");
            row.cells.add(2, 1 + n);
        }
        for n in 0..6 {
            rows.wait(&def, &format!("new{n}"), 50 + n);
        }
        rows.promote(&def, &mut changes);
        let mut new: Vec<_> =
            rows.by_key.keys().filter(|k| k.starts_with("new")).map(|k| &**k).collect();
        new.sort();
        assert_eq!(new, ["new2", "new3", "new4", "new5"], "an eighth and one at a time");
        let gone = changes.iter().filter(|c| matches!(c, RowChange::Leave(_))).count();
        assert_eq!((gone, rows.by_key.len()), (4, 25));
    }
}
