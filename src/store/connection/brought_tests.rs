use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::Stat;
use crate::catalogue::test_kit::{self, SHOP, STREAM, ware};
use crate::contract::{Identity, ParamId, Peer};
use crate::model::{Departure, Value};
use crate::store::{Change, Limits, RequestQueue, Row, Store};

fn store(limits: Limits) -> Arc<Store> {
    Store::new(test_kit::catalogue(), 400, limits, 1 << 20)
}

/// A shop with a gauge at slot 0, a series at 1, a field at 2, and two rows.
fn shop(store: &Arc<Store>, name: &str) -> Peer {
    let mut session = store.peer_of(SHOP, &Arc::new(RequestQueue::new(|| ())));
    let id = Identity { name: name.into(), resumes: true, ..Identity::default() };
    session.is(id);
    for (slot, line) in (0..).zip(["gauge till.cash", "series till.count", "field till.cash"]) {
        session.define(slot, &ware(line));
    }
    for slot in 0..2 {
        let key = format!("{name}::till={slot}");
        session.row(STREAM, slot, Some(&key));
    }
    session
}

fn row(store: &Store, key: &str) -> Arc<Row> {
    store.row(SHOP, STREAM, None, Some(key)).expect("a known row")
}

#[test]
fn peers_and_their_rows_have_values_of_their_own() {
    let store = store(Limits::default());
    let (mut a, mut b) = (shop(&store, "a"), shop(&store, "b"));
    let metric = |line| store.define(SHOP, &ware(line)).expect("known");
    let (gauge, series) = (metric("gauge till.cash"), metric("series till.count"));
    assert_eq!(store.stats.get(Stat::NamesRegistered), 3);
    a.set_slot(0, None, Value::F64(1.5));
    b.set_slot(0, None, Value::F64(-7.0));
    a.set_slot(1, Some(0), Value::F64(3.9));
    b.set_slot(1, Some(1), Value::F64(8.0));
    for (slot, row) in [(0, None), (1, Some(0))] {
        a.add_slot(slot, row, Value::U64(2));
    }
    b.add_slot(1, Some(0), Value::U64(4));
    let cash = |name: &str| {
        let peer = store.peers().into_iter().find(|peer| peer.name == name);
        peer.expect("attached").cells.get(gauge.column())
    };
    assert_eq!([cash("a"), cash("b")].map(|c| c.map(f64::from_bits)), [Some(3.5), Some(-7.0)]);
    let counts = |name: &str| {
        [0, 1].map(|n| row(&store, &format!("{name}::till={n}")).brought.get(series.column()))
    };
    assert_eq!([counts("a"), counts("b")], [[Some(5), None], [Some(4), Some(8)]]);
    // What does not fit is ignored.
    a.set_slot(0, Some(0), Value::F64(9.0));
    a.set_slot(1, None, Value::F64(9.0));
    a.set_slot(2, None, Value::F64(9.0));
    a.set_slot(1, Some(7), Value::F64(9.0));
    a.set_slot(9, Some(0), Value::F64(9.0));
    a.set_slot(1, Some(0), Value::Text("nine".into()));
    assert_eq!((cash("a").map(f64::from_bits), counts("a")), (Some(3.5), [Some(5), None]));
    for (slot, row) in [(0, None), (1, Some(0)), (1, Some(1)), (1, None)] {
        a.unset_slot(slot, row);
    }
    assert_eq!((cash("a"), counts("a")), (None, [None, None]));
    assert_eq!(counts("b"), [Some(4), Some(8)]);
    // Only a field is a parameter of records.
    assert!(a.param(ParamId::Slot(2)).is_some());
    assert!(a.param(ParamId::Slot(0)).is_none() && a.param(ParamId::Slot(1)).is_none());
}

#[test]
fn values_of_rows_survive_reconnects_and_go_with_their_peer() {
    let store = store(Limits::default());
    let mut session = shop(&store, "a");
    let column = store.define(SHOP, &ware("series till.count")).expect("known").column();
    session.set_slot(1, Some(1), Value::F64(8.0));
    let kept = row(&store, "a::till=1");
    session.finish(false, Departure::default());
    // Another session numbers its slots anew.
    let mut again = store.peer_of(SHOP, &Arc::new(RequestQueue::new(|| ())));
    let id = Identity { name: "a".into(), resumes: true, ..Identity::default() };
    again.is(id);
    again.define(77, &ware("series till.count"));
    again.row(STREAM, 5, Some("a::till=1"));
    again.add_slot(77, Some(5), Value::U64(1));
    assert_eq!(kept.brought.get(column), Some(9));
    again.finish(false, Departure::default());
    store.take_changes();
    store.sweep(Duration::from_secs(25 * 3600));
    assert!(kept.gone());
    let left = |c: &Change| matches!(c, Change::LeaveRow(_, _, row) if Arc::ptr_eq(row, &kept));
    assert!(store.take_changes().iter().any(left));
    assert!(row(&store, "a::till=1").brought.get(column).is_none());
}

#[test]
fn memory_is_for_the_values_of_a_row_and_has_a_limit() {
    let held = |store: &Store| {
        store.sweep(Duration::ZERO);
        store.memory_stat(Stat::MemoryRegistry).expect("a size")
    };
    let wares: Vec<_> = (0..400).map(|n| ware(&format!("series w{n}.count"))).collect();
    let fill = |store: &Arc<Store>, rows: u32, each: u32| {
        let mut session = shop(store, "a");
        for (slot, spec) in (10..).zip(&wares) {
            session.define(slot, spec);
        }
        for slot in 0..rows {
            let key = format!("a::{slot}");
            session.row(STREAM, slot, Some(&key));
        }
        let before = held(store);
        for slot in 0..rows {
            (0..each)
                .for_each(|n| session.set_slot(10 + (slot + n) % 400, Some(slot), Value::F64(1.0)));
        }
        (session, held(store) - before)
    };
    let (_sink, bytes) = fill(&store(Limits::default()), 5000, 3);
    assert!((5000 * 3 * 30..5000 * 3 * 60).contains(&bytes), "{bytes}");
    let small = store(Limits { memory: 2 << 20, ..Limits::default() });
    let (mut session, _) = fill(&small, 5000, 3);
    assert!(small.memory.is_full());
    session.set_slot(1, Some(0), Value::F64(1.0));
    let column = small.define(SHOP, &ware("series till.count")).expect("known").column();
    assert_eq!(row(&small, "a::0").brought.get(column), None);
}
