use std::cell::Cell;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::flags::POINT;
use crate::request::{Hold, RecordFilter};
use crate::{
    Delivery, HighRes, Limits, LowRes, Pmid, RECORD_MAX, ReadRequest, Records, Resolutions, Scalar,
    ValueType, check,
};

const LIMITS: Limits = Limits::new(1000, 1 << 20);
const BOTH: Resolutions = Resolutions { low: true, high: true };
const LOST: Pmid = Pmid(99);

fn request(limits: Limits) -> ReadRequest<'static> {
    ReadRequest::new(BOTH, limits, LOST)
}

/// Appends records whose only parameter is their sequence number, padded with `size` bytes of text.
fn append(s: &Stream, from: u64, n: u64, size: usize) {
    let mut batch = Batch::default();
    (from..from + n).for_each(|seq| pack(&mut batch, seq, size));
    s.append(&mut batch);
}

fn pack(batch: &mut Batch, seq: u64, size: usize) {
    batch.record(Stamp { sec: seq as i64, nsec: 1 }, POINT);
    batch.number(Pmid(1), ValueType::U64, seq);
    batch.text(Pmid(2), &"x".repeat(size));
}

/// The sequence numbers and the number of missed records of a delivery, checked to be the same in
/// both resolutions.
fn seen(d: &Delivery) -> (Vec<u64>, u64) {
    let numbers = |records: Vec<crate::Record<'_>>| {
        let mut seqs = Vec::new();
        let (mut missed, mut told) = (0, 0);
        for r in records {
            match (r.missed, r.params.first().map(|p| (p.pmid, p.value))) {
                (Some(n), _) => missed += u64::from(n),
                (None, Some((LOST, Scalar::U64(n)))) => told = n,
                (None, Some((_, Scalar::U64(seq)))) => {
                    assert_eq!(r.stamp.sec, seq as i64);
                    seqs.push(seq);
                }
                other => panic!("unexpected record {other:?}"),
            }
        }
        (seqs, missed, told)
    };
    let low = numbers(check::<LowRes>(d.low.as_deref().expect("wanted")).expect("sound"));
    let high = numbers(check::<HighRes>(d.high.as_deref().expect("wanted")).expect("sound"));
    assert_eq!(low.0, high.0);
    assert_eq!((low.1, high.1, high.2), (d.missed, d.missed, d.missed));
    assert_eq!(low.0.len(), d.records);
    (low.0, low.1)
}

#[test]
fn each_client_sees_every_record_once() {
    let s = Stream::new(&Budget::new(1 << 20));
    append(&s, 0, 3, 5);
    assert_eq!(seen(&s.read(1, &request(LIMITS))), (vec![0, 1, 2], 0));
    append(&s, 3, 2, 0);
    assert_eq!(seen(&s.read(2, &request(LIMITS))), (vec![0, 1, 2, 3, 4], 0));
    assert_eq!(seen(&s.read(1, &request(LIMITS))), (vec![3, 4], 0));
    assert_eq!(seen(&s.read(1, &request(LIMITS))), (vec![], 0));
    s.forget(1);
    assert_eq!(seen(&s.read(1, &request(LIMITS))).0.len(), 5);
    assert_eq!(s.stats().clients, 2);
}

#[test]
fn a_delivery_stops_at_its_caps_and_goes_on_with_the_next() {
    let s = Stream::new(&Budget::new(1 << 20));
    append(&s, 0, 10, 100);
    let three = Limits::new(3, 1 << 20);
    assert_eq!(seen(&s.read(1, &request(three))).0, vec![0, 1, 2]);
    let bytes = Limits::new(100, 400);
    assert_eq!(seen(&s.read(1, &request(bytes))).0, vec![3, 4]);
    let tiny = Limits::new(100, 1);
    assert_eq!(seen(&s.read(1, &request(tiny))).0, vec![5]);
}

#[test]
fn a_delivery_grows_with_the_time_since_the_one_before() {
    let s = Stream::new(&Budget::new(4 << 20));
    append(&s, 0, 10_000, 10);
    let after = |seconds: f64, limits| ReadRequest {
        now: Duration::from_secs_f64(seconds),
        ..request(limits)
    };
    let three = Limits::new(3, 1 << 20);
    assert_eq!(
        seen(&s.read(1, &after(1000.0, three))).0,
        vec![0, 1, 2],
        "a new client has not waited"
    );
    assert_eq!(s.read(1, &after(1010.0, three)).records, 30);
    assert_eq!(s.read(1, &after(1010.1, three)).records, 3);
    assert_eq!(s.read(1, &after(1011.6, three)).records, 4);
    assert_eq!(s.read(1, &after(1.0, three)).records, 3, "a clock that goes back");
    let bytes = Limits { rate: 200, ..Limits::new(10_000, 1000) };
    let size = s.newest(1).len();
    assert_eq!(s.read(1, &after(2.0, bytes)).records, 200 / size);
    assert_eq!(s.read(1, &after(5.0, bytes)).records, 600 / size);
    assert_eq!(s.read(1, &after(500.0, bytes)).records, 1000 / size);
}

#[test]
fn a_filter_ends_when_it_is_told_to_and_goes_on_where_it_was() {
    let s = Stream::new(&Budget::new(4 << 20));
    append(&s, 0, 5000, 100);
    let looked = Cell::new(0);
    let none = |_: &[u8]| {
        looked.set(looked.get() + 1);
        false
    };
    let request =
        ReadRequest { filter: Some(&none), may_continue: Some(&|| false), ..request(LIMITS) };
    let first = s.read(1, &request);
    assert_eq!((first.records, first.missed), (0, 0));
    assert!((1..1000).contains(&looked.get()), "a piece: {}", looked.get());
    for _ in 0..20 {
        s.read(1, &request);
    }
    assert_eq!(looked.get(), 5000, "each record once");
}

#[test]
fn what_is_held_back_is_delivered_later() {
    let s = Stream::new(&Budget::new(1 << 20));
    append(&s, 0, 10, 50);
    let (any, looked) = (Cell::new(true), Cell::new(0));
    let fifth = |record: &[u8]| {
        looked.set(looked.get() + 1);
        Records::<HighRes>::packed(record).flatten().all(|r| r.stamp.sec == 4)
    };
    let all = |_: &[u8]| true;
    let hold = Some(Hold { any: &|| any.get(), record: &fifth });
    for filter in [None, Some(&all as RecordFilter<'_>)] {
        let ctx = 1 + u32::from(filter.is_some());
        let held = ReadRequest { hold, filter, ..request(LIMITS) };
        any.set(true);
        assert_eq!(seen(&s.read(ctx, &held)), (vec![0, 1, 2, 3], 0));
        assert_eq!(seen(&s.read(ctx, &held)), (vec![], 0), "it is still held");
        any.set(false);
        looked.set(0);
        assert_eq!(seen(&s.read(ctx, &held)), ((4..10).collect(), 0));
        assert_eq!(looked.get(), 0, "nobody looks when none is held");
    }
}

#[test]
fn what_is_dropped_while_a_filter_looks_is_missed_exactly() {
    let s = Stream::new(&Budget::new(512 << 10));
    append(&s, 0, 1000, 200);
    let flood = Cell::new(true);
    let all = |_: &[u8]| {
        if flood.take() {
            append(&s, 1000, 3000, 200);
        }
        true
    };
    let request = ReadRequest { filter: Some(&all), ..request(Limits::new(10_000, 1 << 20)) };
    let (first, none) = seen(&s.read(1, &request));
    assert!(none == 0 && first.len() < 1000 && first[0] == 0);
    let (then, missed) = seen(&s.read(1, &request));
    assert_eq!(then[0], first.len() as u64 + missed);
    assert_eq!((then.last(), s.stats().lost), (Some(&3999), missed));
}

#[test]
fn a_record_larger_than_a_delivery_is_cut_and_one_larger_than_the_memory_is_missed() {
    let s = Stream::new(&Budget::new(4 << 20));
    append(&s, 0, 1, 0);
    seen(&s.read(1, &request(LIMITS)));
    append(&s, 1, 1, 3 * RECORD_MAX);
    append(&s, 2, 1, 0);
    let d = s.read(1, &request(LIMITS));
    assert_eq!(seen(&d), (vec![1, 2], 0));
    assert!(d.high.is_some_and(|a| a.len() < RECORD_MAX + 200));
    assert_eq!((s.stats().count, s.stats().lost, s.stats().truncated), (3, 0, 1));

    let s = Stream::new(&Budget::new(1 << 20));
    append(&s, 0, 1, 0);
    seen(&s.read(1, &request(LIMITS)));
    let mut batch = Batch::default();
    for (seq, size) in [(1, 10), (2, RECORD_MAX), (3, 10)] {
        pack(&mut batch, seq, size);
    }
    // 512 KiB and one more record exceed the 512 KiB share of this stream.
    s.budget.set_limit(512 << 10);
    s.append(&mut batch);
    assert_eq!(seen(&s.read(1, &request(LIMITS))), (vec![3], 2));
    assert_eq!((s.stats().count, s.stats().lost), (4, 2));
}

#[test]
fn who_was_there_before_the_first_record_is_told_of_all_that_is_dropped() {
    let s = Stream::new(&Budget::new(8 << 10));
    assert_eq!((s.stats(), seen(&s.read(1, &request(LIMITS)))), Default::default());
    s.admit(2, Duration::ZERO);
    append(&s, 0, 1000, 30);
    let (all, missed) = seen(&s.read(2, &request(LIMITS)));
    assert!(missed > 800, "{missed}");
    assert_eq!((all.len() as u64 + missed, s.stats().lost), (1000, missed));
    assert_eq!(seen(&s.read(1, &request(LIMITS))), (all, missed));
    // Who has a cursor keeps it, and who comes later has missed nothing.
    s.admit(1, Duration::ZERO);
    s.admit(3, Duration::ZERO);
    assert_eq!(seen(&s.read(1, &request(LIMITS))), (vec![], 0));
    assert_eq!(seen(&s.read(3, &request(LIMITS))).1, 0);
}

#[test]
fn nothing_is_lost_by_a_client_that_has_stopped_reading() {
    let s = Stream::new(&Budget::new(8 << 10));
    let second = Duration::from_secs;
    let read = |at| seen(&s.read(1, &ReadRequest { now: second(at), ..request(LIMITS) }));
    let mut next = 0;
    // 100 records at a time, of which fewer fit; what that adds to `lost`.
    let mut lost_at = |at| {
        s.trim(second(at));
        let before = s.stats().lost;
        append(&s, next, 100, 200);
        next += 100;
        s.stats().lost - before
    };
    assert_eq!(lost_at(0), 0, "nobody has read");
    read(1);
    assert!(lost_at(2) > 0 && lost_at(181) == 100, "three intervals of a minute");
    assert_eq!((lost_at(182), lost_at(3600)), (0, 0), "it has read once");
    // It is told of all, and reads again: the hour is its interval now.
    assert!(read(3601).1 > 300);
    assert!(lost_at(3602) > 0 && lost_at(4 * 3600) == 100);
    assert_eq!(lost_at(4 * 3600 + 2), 0);
    // Who reads is not touched by one that does not.
    s.read(2, &ReadRequest { now: second(15_000), ..request(LIMITS) });
    assert!(lost_at(15_001) > 0);
    s.forget(2);
    assert_eq!(lost_at(15_002), 0);
    // Two reads in a row make it no faster: half of what its interval was is left.
    read(18_000);
    read(18_001);
    assert!(lost_at(18_002) > 0 && lost_at(18_000 + 3600) == 100);
    assert_eq!(lost_at(18_002 + 3 * 3600), 0);
}

#[test]
fn a_filtered_record_is_neither_delivered_nor_missed() {
    let s = Stream::new(&Budget::new(20 << 10));
    let odd = |record: &[u8]| {
        let record = Records::<HighRes>::packed(record).next().expect("one").expect("sound");
        matches!(record.params[0].value, Scalar::U64(n) if n % 2 == 1)
    };
    let filtered =
        |records| ReadRequest { filter: Some(&odd), ..request(Limits::new(records, 1 << 20)) };
    append(&s, 0, 10, 30);
    assert_eq!(seen(&s.read(1, &filtered(100))), (vec![1, 3, 5, 7, 9], 0));
    assert_eq!(seen(&s.read(1, &filtered(100))), (vec![], 0));
    assert_eq!(seen(&s.read(2, &filtered(2))), (vec![1, 3], 0));
    assert_eq!(seen(&s.read(2, &filtered(0))), (vec![], 0));
    assert_eq!(seen(&s.read(2, &request(LIMITS))), (vec![4, 5, 6, 7, 8, 9], 0));
    // The ring wraps: records in two pieces are delivered whole, and records dropped unread are
    // missed.
    append(&s, 10, 1000, 30);
    let (seqs, missed) = seen(&s.read(1, &filtered(1000)));
    assert_eq!(missed, 1010 - 10 - seqs.len() as u64 * 2);
    assert!(seqs.iter().all(|n| n % 2 == 1) && seqs.last() == Some(&1009));
    // Only delivered bytes count, not examined ones.
    let bytes = ReadRequest { filter: Some(&odd), ..request(Limits::new(100, 200)) };
    assert_eq!(seen(&s.read(3, &bytes)).0.len(), 2);
}

#[test]
fn memory_stays_within_the_share_and_is_given_back() {
    let budget = Budget::new(64 << 10);
    let s = Stream::new(&budget);
    append(&s, 0, 2000, 50);
    assert!(s.stats().memory <= 64 << 10);
    assert_eq!(budget.held() as u64, s.stats().memory);
    let other: Vec<_> = (0..15).map(|_| Stream::new(&budget)).collect();
    s.trim(Duration::ZERO);
    assert!(s.stats().memory > 32 << 10, "empty streams have no share: {:?}", s.stats());
    other.iter().for_each(|other| append(other, 0, 1, 0));
    s.trim(Duration::ZERO);
    assert!(s.stats().memory <= 4 << 10, "{:?}", s.stats());
    drop(other);
    drop(s);
    assert_eq!(budget.held(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Append(u64, usize),
    Read(u32, usize, usize),
    Forget(u32),
    Trim,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..60u64, 0..200usize).prop_map(|(n, size)| Step::Append(n, size)),
        4 => (0..4u32, 1..40usize, 1..3000usize).prop_map(|(c, n, b)| Step::Read(c, n, b)),
        1 => (0..4u32).prop_map(Step::Forget),
        2 => Just(Step::Trim),
    ]
}

proptest! {
    /// Against a simple model: for each client, delivered + missed = appended since it joined, in
    /// order, without duplicates; `lost` grows by the dropped records that the slowest client had
    /// not read.
    #[test]
    fn delivered_plus_missed_is_appended(steps in prop::collection::vec(step(), 1..120)) {
        let s = Stream::new(&Budget::new(8 << 10));
        let mut next = 0u64;
        // This one was there before the first record.
        s.admit(3, Duration::ZERO);
        let mut expected: HashMap<u32, u64> = HashMap::from([(3, 0)]);
        for step in steps {
            match step {
                Step::Append(n, size) => { append(&s, next, n, size); next += n; }
                Step::Trim => { s.trim(Duration::ZERO); s.rest(); }
                Step::Forget(c) => { s.forget(c); expected.remove(&c); }
                Step::Read(c, records, bytes) => {
                    let d = s.read(c, &request(Limits::new(records, bytes)));
                    let (seqs, missed) = seen(&d);
                    let cursor = expected.get(&c).copied();
                    if let Some(first) = seqs.first() {
                        prop_assert!(seqs.windows(2).all(|w| w[1] == w[0] + 1));
                        match cursor {
                            Some(at) => prop_assert_eq!(*first, at + missed),
                            None => prop_assert_eq!(missed, 0),
                        }
                        expected.insert(c, seqs[seqs.len() - 1] + 1);
                    } else {
                        prop_assert!(cursor.is_none_or(|at| at + missed == next));
                        expected.insert(c, next);
                    }
                }
            }
            prop_assert_eq!(s.stats().count, next);
            prop_assert_eq!(s.stats().clients as usize, expected.len());
        }
    }
}

#[test]
fn a_stream_is_watched_while_there_is_a_client_or_a_reader_of_the_newest() {
    let s = Stream::new(&Budget::new(1 << 20));
    append(&s, 0, 3, 5);
    let trim = |times: u32| (0..times).for_each(|_| s.trim(Duration::ZERO));
    assert!(!s.is_watched(), "new");
    s.read(1, &request(LIMITS));
    assert!(s.is_watched());
    trim(500);
    assert!(s.is_watched(), "the client has a cursor");
    s.forget(1);
    trim(1);
    assert!(!s.is_watched());
    s.watch();
    trim(WATCHED - 1);
    assert!(s.is_watched());
    trim(1);
    assert!(!s.is_watched());
}

#[test]
fn records_at_rest_are_small_and_the_same() {
    let budget = Budget::new(64 << 10);
    let (s, awake) = (Stream::new(&budget), Stream::new(&budget));
    [&s, &awake].iter().for_each(|s| append(s, 0, 300, 50));
    s.read(1, &request(Limits::new(20, 1 << 20)));
    let before = (s.stats(), budget.held());
    assert_eq!(s.rest(), 0, "appended since the last trim");
    s.trim(Duration::ZERO);
    s.trim(Duration::ZERO);
    let bytes = s.rest();
    assert_eq!(bytes as u64, before.0.memory);
    assert_eq!(s.rest(), 0, "once");
    assert!(4 * s.stats().memory < before.0.memory, "{:?}", s.stats());
    assert_eq!(StreamStats { memory: before.0.memory, ..s.stats() }, before.0);
    assert_eq!(budget.held() as u64, s.stats().memory + awake.stats().memory);
    assert_eq!([s.newest(50), s.newest(1000)], [awake.newest(50), awake.newest(1000)]);
    assert_eq!(seen(&s.read(1, &request(Limits::new(50, 1 << 20)))).0, Vec::from_iter(20..70));
    assert_eq!(seen(&s.read(2, &request(LIMITS))).0, Vec::from_iter(0..300));
    // The next record finds them as they were; the oldest are dropped one by one.
    [&s, &awake].iter().for_each(|s| append(s, 300, 40, 50));
    assert_eq!(s.newest(1000), awake.newest(1000));
    assert_eq!(s.stats().memory, awake.stats().memory);
    s.trim(Duration::ZERO);
    s.trim(Duration::ZERO);
    assert!(s.rest() > 0);
    // A smaller share is for what is compressed.
    let others: Vec<_> = (0..6).map(|_| Stream::new(&budget)).collect();
    others.iter().for_each(|other| append(other, 0, 1, 0));
    s.trim(Duration::ZERO);
    assert_eq!(s.newest(1000), awake.newest(1000));
    drop((others, s));
    assert_eq!(budget.held() as u64, awake.stats().memory);
}

#[test]
fn records_that_do_not_become_small_stay() {
    let s = Stream::new(&Budget::new(1 << 20));
    let mut state = 1_u64;
    let mut batch = Batch::default();
    for seq in 0..200 {
        batch.record(Stamp { sec: seq, nsec: 1 }, POINT);
        for param in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            batch.number(Pmid(param), ValueType::U64, state ^ state >> 29);
        }
    }
    let bytes = batch.packed().to_vec();
    s.append(&mut batch);
    s.trim(Duration::ZERO);
    s.trim(Duration::ZERO);
    s.rest();
    assert_eq!(s.newest(200), bytes);
}
