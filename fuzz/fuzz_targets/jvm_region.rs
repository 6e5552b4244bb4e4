//! Regions of JVMs: a process writes anything into its file, at any time, and makes it as long as it likes. A region is
//! refused, and then nothing of it is shown, or read, and then names can be shown and rows are bound before they have
//! values; a region without a change says nothing new, one of the other byte order the same; memory has a bound.
#![no_main]

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::sync::OnceLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pmdaapm::contract::Recorded;
use pmdaapm::model::{HeapSize, MetricItem, RowItem, Value};
use pmdaapm::sources::Source;
use pmdaapm::sources::jvm::Jvm;
use pmdaapm::sources::jvm::test_kit::{MEMORY, Process};

const CAPTURES: [&[u8]; 6] = [
    include_bytes!("../../qa/corpus/jvm/captures/jdk8-parallel-loaded.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk11-shenandoah-loaded.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk17-g1-loaded.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk21-parallel-start.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk25-zgc-loaded.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk28-g1-loaded.hsperf.gz"),
];

/// What is shown: the name, values and cells.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    identity: Option<String>,
    /// How often it was introduced.
    identities: usize,
    values: BTreeMap<MetricItem, Value>,
    cells: BTreeMap<(RowItem, String), u64>,
    starts: u64,
}

impl Shown {
    fn of(seen: &Recorded) -> Self {
        let log = seen.log();
        let identity = log.identities.last().map(|identity| identity.name.clone());
        if let Some(name) = &identity {
            can_be_shown(name);
        }
        for value in log.values.values() {
            if let Value::Text(text) = value {
                assert!(!text.contains(char::is_control), "{text:?}");
            }
        }
        let of_peer = |item: &RowItem| Jvm::TABLE.tables[item.table().index()].of_peer;
        let (cells, sums): (BTreeMap<_, _>, BTreeMap<_, _>) =
            log.rows.clone().into_iter().partition(|((item, _), _)| of_peer(item));
        let identities = log.identities.len();
        Self { identity, identities, values: log.values.clone(), cells, starts: sums.values().sum() }
    }

    /// Metrics with numbers.
    fn numbers(&self) -> impl Iterator<Item = &MetricItem> {
        self.values
            .iter()
            .filter(|(_, value)| !matches!(value, Value::Text(_)))
            .map(|(item, _)| item)
    }
}

fn recorded() -> Recorded {
    Recorded::new(&Jvm::TABLE)
}

fn can_be_shown(name: &str) {
    let wrong = |c: char| c.is_control() || c.is_whitespace();
    assert!(!name.is_empty() && !name.contains(wrong), "{name:?}");
}

/// Each capture in both byte orders: the same is shown of them.
fn bases() -> &'static [[Vec<u8>; 2]] {
    static BASES: OnceLock<Vec<[Vec<u8>; 2]>> = OnceLock::new();
    BASES.get_or_init(|| {
        let pair = |packed: &[u8]| {
            let mut little = Vec::new();
            flate2::read::GzDecoder::new(packed).read_to_end(&mut little).unwrap();
            let both = [little.clone(), turned(&little)];
            let [shown, other] = both.each_ref().map(|region| {
                let (mut process, mut seen) = (Process::new(7, "java", None), recorded());
                process.tick(region, Duration::from_secs(2), &mut seen).unwrap();
                Shown::of(&seen)
            });
            assert!(shown == other && shown.numbers().count() > 15 && shown.cells.len() > 2);
            both
        };
        CAPTURES.into_iter().map(pair).collect()
    })
}

/// A whole little-endian region as a JVM of a big-endian machine has it.
fn turned(region: &[u8]) -> Vec<u8> {
    let mut big = region.to_vec();
    let int = |at: usize| u32::from_le_bytes(region[at..at + 4].try_into().unwrap()) as usize;
    let mut turn = |at: usize, size: usize| big[at..at + size].reverse();
    [(8, 4), (12, 4), (16, 8), (24, 4), (28, 4)].into_iter().for_each(|(at, size)| turn(at, size));
    let mut at = int(24);
    for _ in 0..int(28) {
        [0, 4, 8, 16].into_iter().for_each(|part| turn(at + part, 4));
        if region[at + 12] == b'J' {
            turn(at + int(at + 16), 8);
        }
        at += int(at);
    }
    big[4] = 0;
    big
}

/// The next region: that of before with changes, each a position, a length and bytes; or another length.
fn change(region: &mut Vec<u8>, data: &mut &[u8]) {
    let Some((&count, rest)) = data.split_first() else { return };
    *data = rest;
    if count & 0x80 != 0 {
        let [low, high, rest @ ..] = *data else { return };
        *data = rest;
        region.resize(usize::from(u16::from_le_bytes([*low, *high])), 0);
    }
    for _ in 0..1 + (count & 3) {
        let [low, high, length, rest @ ..] = *data else { break };
        let (bytes, rest) = rest.split_at(usize::from(length & 63).min(rest.len()));
        *data = rest;
        let at = usize::from(u16::from_le_bytes([*low, *high])).min(region.len());
        let end = (at + bytes.len()).min(region.len());
        region[at..end].copy_from_slice(&bytes[..end - at]);
    }
}

/// What is known without a region.
fn without() -> &'static HashSet<MetricItem> {
    static ITEMS: OnceLock<HashSet<MetricItem>> = OnceLock::new();
    ITEMS.get_or_init(|| {
        let mut seen = recorded();
        Process::new(7, "java", None).unread(&mut seen);
        let seen = Shown::of(&seen);
        assert!(seen.cells.is_empty());
        seen.numbers().copied().collect()
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, mut data)) = data.split_first() else { return };
    let mut region = match bases().get(usize::from(how & 7)) {
        Some(both) => both[usize::from(how >> 3 & 1)].clone(),
        // The input is the region.
        None => std::mem::take(&mut data).to_vec(),
    };
    let service = (how & 0x10 != 0).then_some("shop\u{7}\u{a0} of all");
    let (mut process, mut peer) = (Process::new(7, "java", service), recorded());
    if how & 0x20 != 0 {
        change(&mut region, &mut data);
    }
    for second in 0..16 {
        let age = Duration::from_secs(second);
        let read = process.tick(&region, age, &mut peer);
        let before = Shown::of(&peer);
        let again = process.tick(&region, age, &mut peer);
        let seen = Shown::of(&peer);
        if [&read, &again].into_iter().any(|read| read.as_ref().is_err_and(String::is_empty)) {
            // What its name is made of is not complete: what comes is waited for.
            change(&mut region, &mut data);
            continue;
        }
        match &read {
            Ok(()) => assert!(seen.identity.is_some()),
            Err(_) => {
                assert!(seen.cells.is_empty(), "{read:?}: {seen:?}");
                assert!(seen.numbers().all(|item| without().contains(item)), "{read:?}: {seen:?}");
            }
        }
        assert_eq!(again, read);
        if seen.identities == before.identities {
            assert_eq!(seen, before, "another reading of the same");
        } else {
            // Its name or its labels have changed with the region: it has a new instance, for good.
            assert_eq!(process.tick(&region, age, &mut peer), read);
            assert_eq!(Shown::of(&peer), seen, "another reading of the same by its new name");
        }
        assert!(process.heap_size() <= MEMORY, "{} bytes", process.heap_size());
        assert!(seen.starts <= 1, "{} starts", seen.starts);
        if data.is_empty() {
            break;
        }
        change(&mut region, &mut data);
    }
});
