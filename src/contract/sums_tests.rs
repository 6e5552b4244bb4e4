//! A peer that keeps sums and one whose recipient is told at once end with the same.

use std::time::Duration;

use crate::catalogue::SourceTable;
use crate::catalogue::test_kit::{
    self, BUCKET, BUCKET_COUNT, BUCKET_MAX, STREAM, STREAM_BYTES, STREAM_DELAY,
};
use crate::contract::{Histogram, Identity, Peer, Recorded, Refusal};
use crate::model::{ControlId, Departure, MetricItem, Now, Value};

const ITEM: MetricItem = MetricItem::new(0);
const EDGES: [u64; 2] = [0, 1];
const HISTOGRAM: Histogram =
    Histogram { edges: &EDGES, item: BUCKET_COUNT, names: || vec!["0-1".into(), "1-inf".into()] };

fn table() -> SourceTable {
    *test_kit::catalogue().source(test_kit::SHOP).unwrap()
}

fn at(seconds: u64) -> Now {
    Now { monotonic: Duration::from_secs(seconds), ..Now::default() }
}

fn identity(name: &str) -> Identity {
    Identity { name: name.into(), ..Identity::default() }
}

/// Counts in the row of a key.
fn count(peer: &mut Peer, owner: &str, key: u64, more: u64) {
    peer.count_row(&[STREAM_BYTES], key, [more], |row| {
        row.of_process(owner, "stream", &key.to_string());
    });
}

#[test]
fn sums_are_told_once_a_turn() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.is(identity("p"));
    let before = seen.log().updates;
    (0..1000).for_each(|n| peer.add(ITEM, n));
    assert_eq!((seen.count(ITEM), seen.log().updates), (0, before));
    peer.flush();
    assert_eq!((seen.count(ITEM), seen.log().updates), (499_500, before + 1));
    peer.flush();
    assert_eq!(seen.log().updates, before + 1, "nothing is told twice");
    peer.add(ITEM, 0);
    peer.finish(false, Departure::regular("test"));
    assert_eq!(seen.log().updates, before + 2, "a counter of 0 exists");
}

#[test]
fn what_an_answer_tells_of_is_there_before_it() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.is(identity("p"));
    peer.add(ITEM, 7);
    assert_eq!(seen.count(ITEM), 0);
    peer.answer(ControlId::new(0), "done: 7".to_owned());
    assert_eq!(seen.count(ITEM), 7);
    assert_eq!(seen.log().answers.len(), 1);
}

#[test]
fn the_last_number_of_a_turn_is_told() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.is(identity("p"));
    let before = seen.log().updates;
    (0..1000_u64).for_each(|n| peer.set(ITEM, n));
    peer.flush();
    assert_eq!((seen.value(ITEM), seen.log().updates), (Some(Value::U64(999)), before + 1));
    peer.add(ITEM, 1);
    peer.set(ITEM, 1.5);
    peer.flush();
    assert_eq!(seen.value(ITEM), Some(Value::F64(1.5)));
    peer.set(ITEM, 2_u32);
    peer.add(ITEM, 3);
    peer.flush();
    assert_eq!(seen.value(ITEM), Some(Value::U64(5)), "in the order in which they were said");
    peer.set(ITEM, 7_u64);
    peer.unset(ITEM);
    peer.flush();
    assert_eq!(seen.value(ITEM), None);
}

#[test]
fn what_is_unset_does_not_come_back() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.is(identity("p"));
    peer.add(ITEM, 7);
    peer.unset(ITEM);
    peer.flush();
    assert_eq!(seen.value(ITEM), None);
    peer.add(ITEM, 2);
    peer.flush();
    assert_eq!(seen.count(ITEM), 2, "it begins anew");
}

#[test]
fn what_is_counted_before_the_identity_counts() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.add(ITEM, 1);
    peer.flush();
    peer.add(ITEM, 2);
    peer.is(identity("p"));
    peer.flush();
    assert_eq!(seen.count(ITEM), 3);
}

#[test]
fn what_is_counted_while_there_is_no_room_does_not_count() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    seen.log_mut().refuses = Some(Refusal::Instances);
    peer.is(identity("p"));
    peer.add(ITEM, 1);
    peer.flush();
    seen.log_mut().refuses = None;
    peer.is(identity("p"));
    peer.add(ITEM, 2);
    peer.flush();
    assert_eq!(seen.count(ITEM), 2);
}

#[test]
fn more_keys_than_slots_are_bound_anew() {
    let (told, kept) = (Recorded::new(&table()), Recorded::new(&table()));
    let mut peers = [told.peer(), kept.peer_with_sums()];
    peers.iter_mut().for_each(|peer| peer.is(identity("p")));
    let mut random = 1_u64;
    for second in 0..3000 {
        for peer in &mut peers {
            peer.at(at(second / 50));
        }
        for _ in 0..5 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (random >> 33) % 1500;
            peers.iter_mut().for_each(|peer| count(peer, "p", key, key + 1));
            peers.iter_mut().for_each(|peer| peer.count_range(&HISTOGRAM, key % 3));
        }
    }
    for mut peer in peers {
        peer.finish(false, Departure::regular("test"));
    }
    let sum = |seen: &Recorded| seen.rows(STREAM_BYTES).values().sum::<u64>();
    assert_eq!(sum(&told), sum(&kept));
    assert_eq!(told.rows(BUCKET_COUNT), kept.rows(BUCKET_COUNT));
    assert!(kept.rows(STREAM_BYTES).len() > 1000, "{}", kept.rows(STREAM_BYTES).len());
}

#[test]
fn an_idle_peer_has_no_memory_and_its_rows_stay() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.at(at(1));
    count(&mut peer, "p", 7, 3);
    peer.at(at(2));
    assert!(peer.held().own > 0);
    peer.at(at(16));
    peer.at(at(18));
    peer.at(at(18));
    assert_eq!(peer.held().own, 0);
    count(&mut peer, "p", 7, 4);
    peer.flush();
    assert_eq!(seen.counted(STREAM_BYTES), [("7".into(), 7)].into());
}

#[test]
fn an_idle_table_has_no_memory_while_another_one_is_told_of() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.at(at(1));
    peer.is(identity("p"));
    (0..100).for_each(|key| count(&mut peer, "p", key, 3));
    peer.row(BUCKET_COUNT.table(), 0, Some("0-1"));
    peer.flush();
    let before = peer.held().own;
    for second in 2..20 {
        peer.at(at(second));
        peer.row_set(0, BUCKET_MAX, second);
    }
    peer.flush();
    assert!(peer.held().own < before / 2, "{before}, {}", peer.held().own);
    count(&mut peer, "p", 7, 4);
    peer.flush();
    assert_eq!(seen.counted(STREAM_BYTES).get("7"), Some(&7));
}

#[test]
fn rows_follow_the_name() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.is(identity("a"));
    count(&mut peer, "a", 7, 3);
    peer.is(identity("b"));
    count(&mut peer, "b", 7, 4);
    peer.flush();
    assert_eq!(seen.counted(STREAM_BYTES), [("7".into(), 4)].into());
}

#[test]
fn slots_that_lead_elsewhere_take_their_sums_along() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.row(STREAM, 0, Some("p::a"));
    peer.row_add(0, STREAM_BYTES, 1);
    peer.row(STREAM, 0, Some("p::b"));
    peer.row_add(0, STREAM_BYTES, 2);
    peer.free_rows(STREAM);
    peer.row(STREAM, 0, Some("p::c"));
    peer.row_add(0, STREAM_BYTES, 4);
    peer.flush();
    let rows = [("a".into(), 1), ("b".into(), 2), ("c".into(), 4)];
    assert_eq!(seen.counted(STREAM_BYTES), rows.into());
}

#[test]
fn the_longest_is_of_the_last_minute() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    let mut longest = |second: u64, value: Option<u64>| {
        peer.at(at(second));
        value.into_iter().for_each(|value| peer.longest(ITEM, value));
        peer.flush();
        seen.number(ITEM)
    };
    assert_eq!(longest(5, Some(40)), Some(40));
    assert_eq!(longest(21, Some(30)), Some(40));
    assert_eq!(longest(59, None), Some(40));
    assert_eq!(longest(61, None), Some(30));
    assert_eq!(longest(81, None), None);
    assert_eq!(longest(82, Some(1)), Some(1));
    assert_eq!(longest(9_000_000, Some(2)), Some(2));
}

#[test]
fn values_of_rows_are_told_once() {
    let seen = Recorded::new(&table());
    let mut peer = seen.peer_with_sums();
    peer.is(identity("p"));
    peer.row(STREAM, 0, Some("p::a"));
    peer.row(BUCKET, 0, Some("x"));
    let before = seen.log().updates;
    for value in [4, 9, 7] {
        peer.row_set(0, STREAM_DELAY, value);
        peer.row_max(0, BUCKET_MAX, value);
    }
    assert_eq!(seen.log().updates, before);
    peer.flush();
    assert_eq!(seen.log().updates, before + 2);
    assert_eq!((seen.cell(STREAM_DELAY, "a"), seen.cell(BUCKET_MAX, "x")), (Some(7), Some(9)));
    peer.row_set(0, STREAM_DELAY, 1);
    peer.row_unset(0, STREAM_DELAY);
    peer.row_max(0, BUCKET_MAX, 3);
    peer.flush();
    assert_eq!((seen.cell(STREAM_DELAY, "a"), seen.cell(BUCKET_MAX, "x")), (None, Some(9)));
    // What was raised before goes too, and later values begin without it.
    peer.row_max(0, BUCKET_MAX, 12);
    peer.row_unset(0, BUCKET_MAX);
    peer.row_max(0, BUCKET_MAX, 2);
    peer.flush();
    assert_eq!(seen.cell(BUCKET_MAX, "x"), Some(2));
}
