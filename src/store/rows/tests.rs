use super::*;
use crate::catalogue::InDomDef;
use crate::model::{RowItem, TableId};

mod model;

const DEF: TableDef = TableDef {
    name: "method",
    cluster: 66,
    indom: InDomDef { serial: 9, oneline: "", help: "" },
    of_peer: false,
    max: 3,
    per_peer: 0,
    score: RowItem::new(TableId::new(0), 2),
    initial: Vec::new,
};

/// Item 2 is a counter, 3 is not, 4 is of a sliding period.
const LAYOUT: RowLayout = RowLayout { cells: 5, counters: 1 << 2, recent: 1 << 4 };

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// A table, and what became of its rows.
struct World {
    def: TableDef,
    rows: Rows,
    changes: Vec<RowChange>,
}

impl World {
    fn new(def: TableDef) -> Self {
        Self { def, rows: Rows::new(LAYOUT), changes: Vec::new() }
    }

    /// A key adds, as a session does. Returns the name of the row that has it.
    fn add(&mut self, peer: Option<&Arc<Peer>>, key: &str, more: u64, now: Duration) -> Arc<str> {
        let Self { def, rows, changes } = self;
        let mut row = rows.get(def, peer, Some(key), changes).expect("its own or the rest");
        if row.is_rest() {
            row = rows.wait(def, peer, (key, more), now, changes).unwrap_or(row);
        }
        row.cells.add(2, more);
        Arc::clone(&row.key)
    }

    fn value(&self, key: &str) -> Option<u64> {
        self.rows.by_key.get(key).and_then(|row| row.cells.get(2))
    }
}

fn peers(names: &[&str]) -> Vec<Arc<Peer>> {
    use crate::catalogue::test_kit;
    use crate::store::{Limits, Store};
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let peer = |name: &&str| {
        store.restore_peer(test_kit::TOY, name, Duration::ZERO, Duration::ZERO).expect("room")
    };
    names.iter().map(peer).collect()
}

#[test]
fn a_row_goes_with_its_peer_and_not_with_one_whose_name_begins_alike() {
    let peers = peers(&["host/s", "host/s::x"]);
    let def = TableDef { of_peer: true, ..DEF };
    let (mut rows, mut changes) = (Rows::new(LAYOUT), Vec::new());
    for (peer, key) in peers.iter().zip(["host/s::a", "host/s::x::a"]) {
        rows.get(&def, Some(peer), Some(key), &mut changes).expect("room");
    }
    rows.forget_peer(&peers[0], &mut changes);
    assert_eq!(rows.by_key.keys().map(|k| &**k).collect::<Vec<_>>(), ["host/s::x::a"]);
    assert!(matches!(&changes[..], [_, _, RowChange::Leave(row)] if *row.key == *"host/s::a"));
}

#[test]
fn a_place_goes_to_a_key_that_adds_more_and_no_counter_falls() {
    let mut w = World::new(DEF);
    for (key, more) in [("a", 10), ("b", 50), ("c", 30)] {
        w.add(None, key, more, secs(0));
    }
    assert_eq!(&*w.add(None, "d", 14, secs(1)), OTHER, "not half as much again");
    let a = Arc::clone(&w.rows.by_key["a"]);
    a.cells.set(4, 9);
    assert_eq!(w.rows.enter(&a).members(), 1);
    assert_eq!(&*w.add(None, "d", 26, secs(1)), "d");
    assert!(a.gone());
    // What it added before stays where it was counted, and what `a` had is no jump of the rest.
    assert_eq!((w.value("d"), w.value(OTHER), w.value("a")), (Some(26), Some(14), None));
    // The rest has its member now.
    let other = Arc::clone(&w.rows.by_key[OTHER]);
    assert_eq!((a.members(), other.members(), other.cells.get(4)), (0, 1, None));
    w.rows.exit(&a, Duration::ZERO);
    assert_eq!((a.members(), other.members()), (0, 0));
    // `a` comes back: at first what it adds is the rest's, then its counter goes on.
    assert_eq!(&*w.add(None, "a", 1, secs(2)), OTHER);
    assert_eq!(&*w.add(None, "a", 90, secs(2)), "a");
    assert_eq!((w.value("a"), w.value("c"), w.value(OTHER)), (Some(100), None, Some(15)));
    w.rows.sweep(&DEF, secs(2) + kept::KEPT);
    w.add(None, "c", 1000, secs(4000));
    assert_eq!(w.value("c"), Some(1000), "after an hour");
    let gone = w.changes.iter().filter(|c| matches!(c, RowChange::Leave(_))).count();
    assert_eq!((gone, w.rows.by_key.len()), (3, 4));
}

#[test]
fn a_row_that_took_a_place_keeps_it_a_minute_unless_far_more_comes() {
    let mut w = World::new(DEF);
    (0..3).for_each(|n| drop(w.add(None, &format!("old{n}"), 1, secs(0))));
    for n in 0..3 {
        assert_eq!(&*w.add(None, &format!("new{n}"), 10, secs(5)), format!("new{n}"));
    }
    assert_eq!(&*w.add(None, "more", 40, secs(6)), OTHER);
    assert_eq!(&*w.add(None, "far", 81, secs(6)), "far");
    assert_eq!(&*w.add(None, "more", 1, secs(66)), "more");
}

#[test]
fn idle_rows_give_way_to_a_key_that_adds_steadily() {
    let mut w = World::new(DEF);
    (0..3).for_each(|n| drop(w.add(None, &format!("old{n}"), 100, secs(0))));
    // 4 a second: as much as the old ones had after some 25 s, half as much again after 36.
    let row = (1..40).find(|s| &*w.add(None, "new", 4, secs(*s)) == "new");
    assert!((24..=27).contains(&row.expect("it gets a row")), "{row:?}");
    // Keys that come once are compared with what is left of the scores.
    let mut w = World::new(DEF);
    let once = |s: &u64| &*w.add(None, &format!("once{s}"), 1, secs(*s)) != OTHER;
    let taken = (0..3600).filter(once).count();
    assert!((3..=40).contains(&taken), "{taken}");
}

#[test]
fn rows_of_forgotten_peers_go_first() {
    let mut peers = peers(&["dead", "live"]);
    let mut w = World::new(DEF);
    for (key, peer) in [("dead/1", 0), ("dead/2", 0), ("live/1", 1)] {
        w.add(Some(&peers[peer]), key, if peer == 0 { 1_000_000 } else { 1 }, secs(0));
    }
    w.rows.sweep(&DEF, secs(5));
    assert_eq!(&*w.add(Some(&peers[1]), "live/2", 1, secs(30)), OTHER);
    peers[0].forget();
    let live = peers.pop();
    for n in 2..4 {
        let key = format!("live/{n}");
        assert_eq!(*w.add(live.as_ref(), &key, 1, secs(31)), *key);
    }
    assert_eq!(&*w.add(live.as_ref(), "live/4", 1, secs(33)), OTHER, "live ones are compared");
    assert!(w.value("live/1").is_some() && w.value("dead/1").is_none());
}

#[test]
fn each_peer_has_its_rows_and_its_rest() {
    let peers = peers(&["a:1", "b:2"]);
    let mut w = World::new(TableDef { of_peer: true, per_peer: 2, max: 7, ..DEF });
    let key = |n: usize, k: &str| format!("{}::{k}", ["a:1", "b:2"][n]);
    for k in ["x", "y", "z", "z"] {
        for n in [0, 1] {
            w.add(Some(&peers[n]), &key(n, k), if n == 0 { 1 } else { 10 }, secs(1));
        }
    }
    assert_eq!((w.value("a:1::other"), w.value("b:2::other")), (Some(1), Some(10)));
    assert_eq!((w.value("a:1::z"), w.value("a:1::x")), (Some(1), None), "a second one is enough");
    let rest = w.rows.by_key["a:1::other"].clone();
    rest.set_labels(&[("process", "a:1"), ("lock", "z")]);
    let label = |(name, value): (&'static str, &str)| (name, value.to_owned());
    assert_eq!(rest.labels(), [("process", "a:1"), ("lock", OTHER)].map(label));
    // The session may name the rest itself.
    assert_eq!(&*w.add(Some(&peers[0]), "a:1::other", 5, secs(1)), "a:1::other");
    assert_eq!(w.value("a:1::other"), Some(6));
    w.rows.forget_peer(&peers[0], &mut w.changes);
    assert_eq!(w.rows.by_key.len(), 3);
    assert_eq!(&*w.add(Some(&peers[0]), "a:1::x", 1, secs(2)), "a:1::x");
    assert_eq!(w.value("a:1::x"), Some(1), "a peer that comes again begins anew");
}
