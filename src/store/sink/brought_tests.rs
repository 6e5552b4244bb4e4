use std::sync::Arc;
use std::time::Duration;

use super::PeerSink;
use crate::catalogue::Stat;
use crate::catalogue::testkit::{self, SHOP, STREAM, ware};
use crate::contract::Sink;
use crate::contract::{Identity, ParamId, Update};
use crate::model::{Departure, Value};
use crate::store::{Change, Limits, RequestQueue, Row, Store};

fn store(limits: Limits) -> Arc<Store> {
    Store::new(testkit::catalogue(), 400, limits, 1 << 20)
}

/// A shop with a gauge at slot 0, a series at 1, a field at 2, and two rows.
fn shop(store: &Arc<Store>, name: &str) -> PeerSink {
    let mut sink = PeerSink::new(store, SHOP, &Arc::new(RequestQueue::new(|| ())));
    let id = Identity { name: name.into(), resumes: true, ..Identity::default() };
    sink.update(Update::Identity(id));
    for (slot, line) in (0..).zip(["gauge till.cash", "series till.count", "field till.cash"]) {
        sink.update(Update::Define { slot, spec: &ware(line) });
    }
    for slot in 0..2 {
        let key = format!("{name}::till={slot}");
        sink.update(Update::Row { table: STREAM, slot, key: Some(&key) });
    }
    sink
}

fn row(store: &Store, key: &str) -> Arc<Row> {
    store.row(SHOP, STREAM, None, Some(key)).expect("a known row")
}

const fn value(slot: u32, row: Option<u32>, value: f64) -> Update<'static> {
    Update::Value { slot, row, value: Value::F64(value) }
}

#[test]
fn peers_and_their_rows_have_values_of_their_own() {
    let store = store(Limits::default());
    let (mut a, mut b) = (shop(&store, "a"), shop(&store, "b"));
    let metric = |line| store.define(SHOP, &ware(line)).expect("known");
    let (gauge, series) = (metric("gauge till.cash"), metric("series till.count"));
    assert_eq!(store.stats.get(Stat::NamesRegistered), 3);
    a.update(value(0, None, 1.5));
    b.update(value(0, None, -7.0));
    a.update(value(1, Some(0), 3.9));
    b.update(value(1, Some(1), 8.0));
    for (slot, row) in [(0, None), (1, Some(0))] {
        a.update(Update::Add { slot, row, more: Value::U64(2) });
    }
    b.update(Update::Add { slot: 1, row: Some(0), more: Value::U64(4) });
    let cash = |sink: &PeerSink| sink.peer().expect("attached").cells.get(gauge.column());
    assert_eq!([cash(&a), cash(&b)].map(|c| c.map(f64::from_bits)), [Some(3.5), Some(-7.0)]);
    let counts = |name: &str| {
        [0, 1].map(|n| row(&store, &format!("{name}::till={n}")).brought.get(series.column()))
    };
    assert_eq!([counts("a"), counts("b")], [[Some(5), None], [Some(4), Some(8)]]);
    // What does not fit is ignored.
    a.update(value(0, Some(0), 9.0));
    a.update(value(1, None, 9.0));
    a.update(value(2, None, 9.0));
    a.update(value(1, Some(7), 9.0));
    a.update(value(9, Some(0), 9.0));
    a.update(Update::Value { slot: 1, row: Some(0), value: Value::Text("nine".into()) });
    assert_eq!((cash(&a).map(f64::from_bits), counts("a")), (Some(3.5), [Some(5), None]));
    for (slot, row) in [(0, None), (1, Some(0)), (1, Some(1)), (1, None)] {
        a.update(Update::NoValue { slot, row });
    }
    assert_eq!((cash(&a), counts("a")), (None, [None, None]));
    assert_eq!(counts("b"), [Some(4), Some(8)]);
    // Only a field is a parameter of records.
    assert!(a.param(ParamId::Slot(2)).is_some());
    assert!(a.param(ParamId::Slot(0)).is_none() && a.param(ParamId::Slot(1)).is_none());
}

#[test]
fn values_of_rows_survive_reconnects_and_go_with_their_peer() {
    let store = store(Limits::default());
    let mut sink = shop(&store, "a");
    let column = store.define(SHOP, &ware("series till.count")).expect("known").column();
    sink.update(value(1, Some(1), 8.0));
    let kept = row(&store, "a::till=1");
    sink.finish(false, Departure::default());
    // Another session numbers its slots anew.
    let mut again = PeerSink::new(&store, SHOP, &Arc::new(RequestQueue::new(|| ())));
    let id = Identity { name: "a".into(), resumes: true, ..Identity::default() };
    again.update(Update::Identity(id));
    again.update(Update::Define { slot: 77, spec: &ware("series till.count") });
    again.update(Update::Row { table: STREAM, slot: 5, key: Some("a::till=1") });
    again.update(Update::Add { slot: 77, row: Some(5), more: Value::U64(1) });
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
        let mut sink = shop(store, "a");
        for (slot, spec) in (10..).zip(&wares) {
            sink.update(Update::Define { slot, spec });
        }
        for slot in 0..rows {
            let key = format!("a::{slot}");
            sink.update(Update::Row { table: STREAM, slot, key: Some(&key) });
        }
        let before = held(store);
        for slot in 0..rows {
            (0..each).for_each(|n| sink.update(value(10 + (slot + n) % 400, Some(slot), 1.0)));
        }
        (sink, held(store) - before)
    };
    let (_sink, bytes) = fill(&store(Limits::default()), 5000, 3);
    assert!((5000 * 3 * 30..5000 * 3 * 60).contains(&bytes), "{bytes}");
    let small = store(Limits { memory: 2 << 20, ..Limits::default() });
    let (mut sink, _) = fill(&small, 5000, 3);
    assert!(small.memory.is_full());
    sink.update(value(1, Some(0), 1.0));
    let column = small.define(SHOP, &ware("series till.count")).expect("known").column();
    assert_eq!(row(&small, "a::0").brought.get(column), None);
}
