//! Regions of JVMs: a process writes anything into its file, at any time, and makes it as long as it likes. A region is
//! refused, and then nothing of it is shown, or read, and then names can be shown and rows are bound before they have
//! values; a region without a change says nothing new, one of the other byte order the same; memory has a bound.
#![no_main]

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::OnceLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pmdaapm::contract::{Sink, Update};
use pmdaapm::model::{MetricItem, RowItem, TableId, Value};
use pmdaapm::sources::jvm::fuzzing::{MEMORY, Process};

const CAPTURES: [&[u8]; 6] = [
    include_bytes!("../../qa/corpus/jvm/captures/jdk8-parallel-loaded.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk11-shenandoah-loaded.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk17-g1-loaded.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk21-parallel-start.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk25-zgc-loaded.hsperf.gz"),
    include_bytes!("../../qa/corpus/jvm/captures/jdk28-g1-loaded.hsperf.gz"),
];

/// What is shown.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    identity: Option<String>,
    values: HashMap<MetricItem, Value>,
    bound: HashSet<(TableId, u32)>,
    cells: HashMap<(u32, RowItem), u64>,
    starts: u64,
}

impl Sink for Seen {
    fn update(&mut self, update: Update<'_>) {
        match update {
            Update::Identity(identity) => {
                can_be_shown(&identity.name);
                let starts = self.starts;
                *self = Self { identity: Some(identity.name), starts, ..Self::default() };
            }
            Update::Set { item, value } => {
                if let Value::Text(text) = &value {
                    assert!(!text.contains(char::is_control), "{text:?}");
                }
                self.values.insert(item, value);
            }
            Update::Unset { item } => drop(self.values.remove(&item)),
            Update::Row { table, slot, key } => {
                can_be_shown(key.expect("a key"));
                self.bound.insert((table, slot));
            }
            Update::RowSet { slot, item, value } => {
                assert!(self.bound.contains(&(item.table(), slot)), "{item:?} {slot}");
                self.cells.insert((slot, item), value);
            }
            Update::RowUnset { slot, item } => drop(self.cells.remove(&(slot, item))),
            Update::RowCount { more, .. } => self.starts += more,
            _ => {}
        }
    }
}

impl Seen {
    /// Metrics with numbers.
    fn numbers(&self) -> impl Iterator<Item = &MetricItem> {
        self.values
            .iter()
            .filter(|(_, value)| !matches!(value, Value::Text(_)))
            .map(|(item, _)| item)
    }
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
                let (mut process, mut seen) = (Process::new(7, "java", None), Seen::default());
                process.tick(region, Duration::from_secs(2), &mut seen).unwrap();
                seen
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
        let mut seen = Seen::default();
        Process::new(7, "java", None).unread(&mut seen);
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
    let (mut process, mut seen) = (Process::new(7, "java", service), Seen::default());
    if how & 0x20 != 0 {
        change(&mut region, &mut data);
    }
    for second in 0..16 {
        let age = Duration::from_secs(second);
        let read = process.tick(&region, age, &mut seen);
        let before = seen.clone();
        let again = process.tick(&region, age, &mut seen);
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
        if seen.identity == before.identity {
            assert_eq!(seen, before, "another reading of the same");
        } else {
            // Its name has changed with the region: it has a new instance, for good.
            let before = seen.clone();
            assert_eq!(process.tick(&region, age, &mut seen), read);
            assert_eq!(seen, before, "another reading of the same by its new name");
        }
        assert!(process.memory() <= MEMORY, "{} bytes", process.memory());
        assert!(seen.starts <= 1, "{} starts", seen.starts);
        if data.is_empty() {
            break;
        }
        change(&mut region, &mut data);
    }
});
