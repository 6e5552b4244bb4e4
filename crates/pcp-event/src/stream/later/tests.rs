//! A stream of unpacked records beside one of packed records: their readers get the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::flags::POINT;
use crate::{Budget, Delivery, Limits, Pmid, ReadRequest, Resolutions, ValueType};

/// Records with numbers from `first` on, and a text of so many bytes in each.
#[derive(Debug)]
struct Numbers {
    first: u64,
    sizes: Vec<usize>,
}

fn pack(batch: &mut Batch, seq: u64, size: usize) {
    batch.record(Stamp { sec: seq.cast_signed(), nsec: 1 }, POINT);
    batch.number(Pmid(1), ValueType::U64, seq);
    batch.text(Pmid(2), &"x".repeat(size));
}

impl Unpacked for Numbers {
    fn memory(&self) -> usize {
        self.sizes.len()
    }

    fn pack(&self, from: u64, records: usize, bytes: usize, batch: &mut Batch) {
        let from = usize::try_from(from).expect("small");
        for (seq, size) in (self.first..).zip(&self.sizes).skip(from).take(records) {
            pack(batch, seq, *size);
            if batch.size() >= bytes {
                break;
            }
        }
    }
}

/// Appends records, packed to one stream and unpacked to the other if there is one.
fn append(packed: &Stream, unpacked: Option<&Stream>, sizes: &[usize]) {
    let first = packed.stats().count;
    let mut batch = Batch::default();
    (first..).zip(sizes).for_each(|(seq, size)| pack(&mut batch, seq, *size));
    if let Some(stream) = unpacked {
        stream.append_later(Later {
            count: sizes.len() as u64,
            bytes: batch.size() as u64,
            truncated: batch.truncated(),
            newest: batch.newest().unwrap_or_default(),
            records: Box::new(Numbers { first, sizes: sizes.to_vec() }),
        });
    }
    packed.append(&mut batch);
}

fn request(limits: Limits, low: bool, high: bool) -> ReadRequest<'static> {
    ReadRequest::new(Resolutions { low, high }, limits, Pmid(99))
}

/// All that a delivery says.
fn told(delivery: &Delivery) -> (Option<Vec<u8>>, Option<Vec<u8>>, usize, u64, usize) {
    let bytes = |array: &Option<crate::EventArray>| array.as_deref().map(<[u8]>::to_vec);
    let Delivery { records, missed, scanned, .. } = *delivery;
    (bytes(&delivery.low), bytes(&delivery.high), records, missed, scanned)
}

#[derive(Clone, Debug)]
enum Step {
    Packed(Vec<usize>),
    Unpacked(Vec<usize>),
    Read { client: u32, records: usize, bytes: usize, low: bool, high: bool, odd: bool },
    Newest(usize),
    Rest,
}

fn step() -> impl Strategy<Value = Step> {
    let sizes = || prop::collection::vec(prop_oneof![20 => 0..80usize, 1 => 0..90_000usize], 0..50);
    let read = (0..3u32, 1..300usize, 1..200_000usize, any::<bool>(), any::<bool>(), any::<bool>());
    prop_oneof![
        1 => sizes().prop_map(Step::Packed),
        3 => sizes().prop_map(Step::Unpacked),
        5 => read.prop_map(|(client, records, bytes, low, high, odd)| {
            Step::Read { client, records, bytes, low, high, odd }
        }),
        1 => (0..200usize).prop_map(Step::Newest),
        2 => Just(Step::Rest),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// With memory for all records nobody can tell the streams apart.
    #[test]
    fn readers_get_the_bytes_of_packed_records(steps in prop::collection::vec(step(), 1..30)) {
        let (packed, unpacked) = (Stream::new(&Budget::new(1 << 30)), Stream::new(&Budget::new(1 << 30)));
        for step in steps {
            match step {
                Step::Packed(sizes) => {
                    let mut batch = Batch::default();
                    let next = packed.stats().count;
                    (next..).zip(&sizes).for_each(|(seq, size)| pack(&mut batch, seq, *size));
                    unpacked.append(&mut batch);
                    append(&packed, None, &sizes);
                }
                Step::Unpacked(sizes) => append(&packed, Some(&unpacked), &sizes),
                Step::Read { client, records, bytes, low, high, odd } => {
                    let is_odd = |record: &[u8]| record.len() % 8 == 4;
                    let mut request = request(Limits::new(records, bytes), low, high);
                    request.filter = odd.then_some(&is_odd);
                    request.limits.filter_bytes = 300_000;
                    let both = [&packed, &unpacked].map(|s| told(&s.read(client, &request)));
                    prop_assert!(both[0] == both[1], "{:?} {:?}", both[0].2, both[1].2);
                }
                Step::Newest(n) => prop_assert!(packed.newest(n) == unpacked.newest(n)),
                Step::Rest => {
                    (0..2).for_each(|_| unpacked.trim(Duration::ZERO));
                    unpacked.rest();
                }
            }
            let (mut a, mut b) = (packed.stats(), unpacked.stats());
            (a.memory, b.memory) = (0, 0);
            prop_assert_eq!(a, b);
        }
    }

    /// Also when memory ends each client gets or misses every record, in order.
    #[test]
    fn delivered_plus_missed_is_appended(steps in prop::collection::vec(step(), 1..80)) {
        let budget = Budget::new(6 << 10);
        let stream = Stream::new(&budget);
        let numbers = Stream::new(&Budget::new(1 << 30));
        let mut cursors = std::collections::HashMap::new();
        for step in steps {
            match step {
                Step::Unpacked(sizes) => append(&numbers, Some(&stream), &sizes),
                Step::Packed(sizes) => {
                    let mut batch = Batch::default();
                    let next = numbers.stats().count;
                    (next..).zip(&sizes).for_each(|(seq, size)| pack(&mut batch, seq, *size));
                    stream.append(&mut batch);
                    append(&numbers, None, &sizes);
                }
                Step::Newest(_) => stream.trim(Duration::ZERO),
                Step::Rest => _ = stream.rest(),
                Step::Read { client, records, bytes, .. } => {
                    let delivery = stream.read(client, &request(Limits::new(records, bytes), false, true));
                    let high = delivery.high.as_deref().expect("wanted");
                    let seqs: Vec<u64> = crate::check::<crate::HighRes>(high)
                        .expect("sound")
                        .iter()
                        .filter(|r| r.missed.is_none() && r.params.first().is_some_and(|p| p.pmid == Pmid(1)))
                        .map(|r| r.stamp.sec.cast_unsigned())
                        .collect();
                    let first = seqs.first().copied();
                    if let (Some(cursor), Some(first)) = (cursors.get(&client), first) {
                        prop_assert_eq!(cursor + delivery.missed, first);
                    }
                    prop_assert!(seqs.windows(2).all(|two| two[0] + 1 == two[1]));
                    let cursor = cursors.get(&client).map(|cursor| cursor + delivery.missed);
                    let cursor = seqs.last().map(|last| last + 1).or(cursor);
                    cursor.and_then(|cursor| cursors.insert(client, cursor));
                }
            }
            prop_assert_eq!(stream.stats().count, numbers.stats().count);
            prop_assert_eq!(stream.stats().memory, budget.held() as u64);
            prop_assert!(budget.held() <= 6 << 10, "{}", budget.held());
        }
    }
}

#[test]
fn unpacked_records_are_dropped_at_once_and_counted() {
    let budget = Budget::new(4 << 10);
    let (stream, numbers) = (Stream::new(&budget), Stream::new(&Budget::new(1 << 30)));
    append(&numbers, Some(&stream), &[0; 1000]);
    assert_eq!(stream.read(1, &request(Limits::new(10, 1 << 20), true, false)).records, 10);
    for _ in 0..4 {
        append(&numbers, Some(&stream), &[0; 1000]);
    }
    let stats = stream.stats();
    assert_eq!((stats.count, stats.lost), (5000, 1990), "two of five are gone");
    let delivery = stream.read(1, &request(Limits::new(10, 1 << 20), true, true));
    assert_eq!((delivery.records, delivery.missed), (10, 1990));
    drop(stream);
    assert_eq!(budget.held(), 0);
}

#[test]
fn a_read_packs_no_more_than_it_delivers() {
    #[derive(Debug)]
    struct Counted(Numbers, Arc<AtomicUsize>);
    impl Unpacked for Counted {
        fn memory(&self) -> usize {
            self.0.memory()
        }
        fn pack(&self, from: u64, records: usize, bytes: usize, batch: &mut Batch) {
            self.0.pack(from, records, bytes, batch);
            self.1.fetch_add(batch.len(), Ordering::Relaxed);
        }
    }
    let packed = Arc::new(AtomicUsize::new(0));
    let stream = Stream::new(&Budget::new(1 << 20));
    let records = Counted(Numbers { first: 0, sizes: vec![100; 50_000] }, Arc::clone(&packed));
    let newest = Stamp::default();
    stream.append_later(Later {
        records: Box::new(records),
        count: 50_000,
        bytes: 1,
        truncated: 0,
        newest,
    });
    let packed_by = |request: &ReadRequest<'_>| {
        let before = packed.load(Ordering::Relaxed);
        let records = stream.read(1, request).records;
        (records, packed.load(Ordering::Relaxed) - before)
    };
    assert_eq!(packed_by(&request(Limits::new(100, 1 << 20), true, false)), (100, 100));
    let (records, count) = packed_by(&request(Limits::new(10_000, 300_000), true, false));
    assert!(count - records < 8, "one more for each piece: {records} {count}");
    let none = |_: &[u8]| false;
    let mut filtered = request(Limits::new(10_000, 1 << 20), true, false);
    filtered.filter = Some(&none);
    filtered.limits.filter_bytes = 100_000;
    let (records, count) = packed_by(&filtered);
    assert!(records == 0 && (500..800).contains(&count), "100,000 bytes of records: {count}");
}
