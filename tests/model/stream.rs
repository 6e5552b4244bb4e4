//! A long test of a stream against a simple model: for every client, delivered + missed = appended
//! since it joined, in order and nothing twice, while clients join, leave and stall at random. 10^8
//! records in an optimised build, as in qa/check.

use std::collections::BTreeMap;

use pmdaapm::events::{
    Batch, Budget, HighRes, Limits, LowRes, ReadRequest, Records, Resolution, Resolutions, Scalar,
    Stream, flags,
};
use pmdaapm::model::{Pmid, Stamp, ValueType};

use super::random::Random;

const RECORDS: u64 = if cfg!(debug_assertions) { 1_000_000 } else { 100_000_000 };
const SEEDS: u64 = 4;
const LOST: Pmid = Pmid(99);

/// First sequence number, count of records from it on without a gap, and sum of the MISSED records.
fn seen<R: Resolution>(array: &[u8]) -> (Option<u64>, u64, u64) {
    let (mut first, mut count, mut missed) = (None, 0, 0);
    for record in Records::<R>::packed(&array[8..]).map(|r| r.expect("sound")) {
        if let Some(n) = record.missed {
            missed += u64::from(n);
            continue;
        }
        match record.params.first().map(|p| (p.pmid, p.value)) {
            Some((LOST, Scalar::U64(_))) => {}
            Some((_, Scalar::U64(seq))) => {
                assert_eq!(seq, *first.get_or_insert(seq) + count, "a gap within a delivery");
                count += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    (first, count, missed)
}

/// Returns appended, delivered and missed, over all clients.
fn run(seed: u64, records: u64) -> (u64, u64, u64) {
    let mut random = Random(seed);
    let stream = Stream::new(&Budget::new(256 << 10));
    let mut batch = Batch::default();
    // The sequence number that each client must see next.
    let mut clients: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut next, mut delivered, mut missed) = (0, 0, 0);
    while next < records {
        for _ in 0..=random.below(300) {
            batch.record(Stamp { sec: 1, nsec: 1 }, flags::POINT);
            batch.number(Pmid(1), ValueType::U64, next);
            next += 1;
        }
        stream.append(&mut batch);
        let client = u32::try_from(random.below(8)).expect("small");
        match random.below(100) {
            0 => {
                stream.forget(client);
                clients.remove(&client);
            }
            // The higher the number of a client, the longer it stalls.
            n if n > 12 * u64::from(client) => {
                let high = random.below(3) > 0;
                let limits = Limits::new(usize::try_from(1 + random.below(1000)).unwrap(), 1 << 20);
                let delivery = stream.read(
                    client,
                    &ReadRequest::new(Resolutions { low: !high, high }, limits, LOST),
                );
                let (first, count, told) = match (delivery.low, delivery.high) {
                    (Some(low), None) => seen::<LowRes>(&low),
                    (None, Some(high)) => seen::<HighRes>(&high),
                    other => panic!("{other:?}"),
                };
                assert_eq!((count, told), (delivery.records as u64, delivery.missed));
                let at = clients.get(&client).copied();
                let from = first.unwrap_or(next);
                assert_eq!(from, at.unwrap_or(from) + told, "client {client}");
                assert!(at.is_some() || told == 0, "a new client has missed nothing");
                clients.insert(client, from + count);
                delivered += count;
                missed += told;
            }
            _ => {}
        }
    }
    assert_eq!(stream.stats().count, next);
    (next, delivered, missed)
}

#[test]
fn delivered_plus_missed_is_appended_for_every_client() {
    let runs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (1..=SEEDS).map(|seed| scope.spawn(move || run(seed, RECORDS / SEEDS))).collect();
        threads.into_iter().map(|t| t.join().expect("no panic")).collect()
    });
    for (appended, delivered, missed) in &runs {
        println!("{appended} appended, {delivered} delivered, {missed} missed");
        assert!(
            *delivered > appended / 4 && *missed > appended / 100,
            "the test has lost its point"
        );
    }
    assert!(runs.iter().map(|r| r.0).sum::<u64>() >= RECORDS);
}
