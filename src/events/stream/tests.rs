use super::super::{Scalar, check};
use super::*;
use crate::model::ValueType;
use proptest::prelude::*;

const CAPS: Caps = Caps { records: 1000, bytes: 1 << 20 };
const BOTH: Want = Want { low: true, high: true };
const LOST: Pmid = Pmid(99);

/// Appends records whose only parameter is their sequence number, padded with `size` bytes of text.
fn append(s: &Stream, from: u64, n: u64, size: usize) {
    let mut batch = Batch::default();
    for seq in from..from + n {
        batch.record(Stamp { sec: seq as i64, nsec: 1 }, POINT);
        batch.number(Pmid(1), ValueType::U64, seq);
        batch.text(Pmid(2), &"x".repeat(size));
    }
    s.append(&mut batch);
}

/// The sequence numbers and the missed count that a delivery shows, checked to be the same in both resolutions.
fn seen(d: &Delivery) -> (Vec<u64>, u64) {
    let numbers = |records: Vec<crate::events::Record<'_>>| {
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
    assert_eq!(seen(&s.read(1, BOTH, CAPS, LOST)), (vec![0, 1, 2], 0));
    append(&s, 3, 2, 0);
    assert_eq!(seen(&s.read(2, BOTH, CAPS, LOST)), (vec![0, 1, 2, 3, 4], 0));
    assert_eq!(seen(&s.read(1, BOTH, CAPS, LOST)), (vec![3, 4], 0));
    assert_eq!(seen(&s.read(1, BOTH, CAPS, LOST)), (vec![], 0));
    s.forget(1);
    assert_eq!(seen(&s.read(1, BOTH, CAPS, LOST)).0.len(), 5);
    assert_eq!(s.stats().clients, 2);
}

#[test]
fn a_delivery_stops_at_its_caps_and_goes_on_with_the_next() {
    let s = Stream::new(&Budget::new(1 << 20));
    append(&s, 0, 10, 100);
    let three = Caps { records: 3, bytes: 1 << 20 };
    assert_eq!(seen(&s.read(1, BOTH, three, LOST)).0, vec![0, 1, 2]);
    let bytes = Caps { records: 100, bytes: 400 };
    assert_eq!(seen(&s.read(1, BOTH, bytes, LOST)).0, vec![3, 4]);
    let tiny = Caps { records: 100, bytes: 1 };
    assert_eq!(seen(&s.read(1, BOTH, tiny, LOST)).0, vec![5]);
}

#[test]
fn a_record_that_no_fetch_could_carry_is_counted_as_missed() {
    let s = Stream::new(&Budget::new(1 << 20));
    append(&s, 0, 1, 0);
    seen(&s.read(1, BOTH, CAPS, LOST));
    append(&s, 1, 1, RECORD_MAX);
    append(&s, 2, 1, 0);
    assert_eq!(seen(&s.read(1, BOTH, CAPS, LOST)), (vec![2], 1));
    assert_eq!((s.stats().count, s.stats().lost), (3, 1));
}

#[test]
fn memory_stays_within_the_share_and_is_given_back() {
    let budget = Budget::new(64 << 10);
    let s = Stream::new(&budget);
    append(&s, 0, 2000, 50);
    assert!(s.stats().memory <= 64 << 10);
    assert_eq!(budget.held() as u64, s.stats().memory);
    let other: Vec<_> = (0..15).map(|_| Stream::new(&budget)).collect();
    s.trim();
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
        1 => Just(Step::Trim),
    ]
}

proptest! {
    /// Against the obvious model: for each client, delivered + missed = appended since it joined, in order, nothing twice;
    /// `lost` grows by what the slowest client had not seen when it was dropped.
    #[test]
    fn delivered_plus_missed_is_appended(steps in prop::collection::vec(step(), 1..120)) {
        let s = Stream::new(&Budget::new(8 << 10));
        let mut next = 0u64;
        let mut expected: HashMap<u32, u64> = HashMap::new();
        for step in steps {
            match step {
                Step::Append(n, size) => { append(&s, next, n, size); next += n; }
                Step::Trim => s.trim(),
                Step::Forget(c) => { s.forget(c); expected.remove(&c); }
                Step::Read(c, records, bytes) => {
                    let d = s.read(c, BOTH, Caps { records, bytes }, LOST);
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
