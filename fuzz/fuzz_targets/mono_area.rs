//! Shared areas of Mono: a process writes anything into its page, at any time. A page is refused,
//! the same way each time, or read: sums never go back, a metric is defined before it has a value,
//! with a name that can be shown; a page without a change brings nothing; memory and the number of
//! metrics have bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pmdaapm::contract::Recorded;
use pmdaapm::model::{HeapSize, MetricItem, Semantics};
use pmdaapm::sources::Source;
use pmdaapm::sources::mono::Mono;
use pmdaapm::sources::mono::fuzzing::Reader;

const PAGES: [&[u8]; 2] = [
    include_bytes!("../../qa/corpus/mono/shm/shm-counters.bin"),
    include_bytes!("../../qa/corpus/mono/shm/shm12-instances.bin"),
];
/// The most metrics of one process, as src/sources/mono/limits.rs has it.
const METRICS: usize = 2048;

/// Names can be shown, and there are not too many.
fn check(seen: &Recorded) {
    let log = seen.log();
    assert!(log.specs.len() <= METRICS);
    for spec in log.specs.values() {
        assert!(!spec.path.is_empty() && !spec.key.contains(char::is_control));
        assert!(
            spec.path.split('.').all(|node| {
                let bytes = node.as_bytes();
                bytes.first().is_some_and(u8::is_ascii_alphabetic)
                    && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
            }),
            "{}",
            spec.path
        );
    }
}

/// The sums of counters of 32 bits. Completed items are a number of 64 bits, which the page has.
fn sums(seen: &Recorded) -> Vec<(MetricItem, u64)> {
    let counters = Mono::TABLE.metrics.iter().filter(|metric| {
        metric.sem == Semantics::Counter && !metric.name.ends_with("completed")
    });
    let items = counters.map(|metric| MetricItem::new(metric.item));
    items.map(|item| (item, seen.count(item))).collect()
}

/// The next page: that of before with changes, each a position, a length and bytes.
fn change(page: &mut [u8], data: &mut &[u8]) {
    let Some((&count, rest)) = data.split_first() else { return };
    *data = rest;
    for _ in 0..1 + (count & 3) {
        let [low, high, length, rest @ ..] = *data else { break };
        let (bytes, rest) = rest.split_at(usize::from(length & 63).min(rest.len()));
        *data = rest;
        let at = usize::from(u16::from_le_bytes([*low, *high])) % page.len();
        let end = (at + bytes.len()).min(page.len());
        page[at..end].copy_from_slice(&bytes[..end - at]);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, mut data)) = data.split_first() else { return };
    let mut page = PAGES[usize::from(how & 1)].to_vec();
    if how & 2 != 0 {
        // Also pages of other sizes.
        page = data.to_vec();
        page.resize(if how & 4 != 0 { 4096 } else { data.len().max(1) }, 0);
    }
    let pid = page.get(4..8).map_or(1, |pid| u32::from_le_bytes(pid.try_into().unwrap()));
    let (mut reader, mut seen) = (Reader::new(pid), Recorded::new(&Mono::TABLE));
    reader.start(&mut seen);
    for _ in 0..16 {
        let before = sums(&seen);
        let read = reader.read(how & 0x80 != 0, &page, &mut seen);
        for ((item, before), (_, now)) in before.iter().zip(sums(&seen)) {
            assert!(now >= *before, "{item:?}: {before}, then {now}");
        }
        check(&seen);
        let updates = seen.log().updates;
        assert_eq!(reader.read(how & 0x80 != 0, &page, &mut seen), read);
        let more = seen.log().updates - updates;
        assert!(more == usize::from(read.is_ok()), "{more} updates of the same page");
        assert!(reader.heap_size() < 1 << 20, "{} bytes", reader.heap_size());
        if data.is_empty() {
            break;
        }
        change(&mut page, &mut data);
    }
});
