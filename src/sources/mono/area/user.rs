//! Metrics of the counters that programs define.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use mono_counters::numbers::{Numbers, Space};

use super::categories::{UserCounter, each};
use super::page::Page;
use crate::contract::Peer;
use crate::model::Value;
use crate::sources::mono::limits;
use crate::sources::mono::meter::{mapping::Mapping, spec::Description};

/// What Mono calls the section.
const SECTION: &str = "PerfCounters";
const CATEGORY: u32 = 0x8000;
const MONOTONIC: u32 = 1 << 28;
const LONG: u32 = 3;
const TIME: u32 = 2 << 24;

/// What Mono's number of a type means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number that goes up and down.
    Number,
    /// A sum.
    Sum,
    /// A sum of ticks of 100 ns.
    Time,
}

/// The order is that of docs/protocols/mono-shm.md 4.
fn kind(number: u8) -> Kind {
    match number {
        4..=10 | 14 | 23..=25 | 27 => Kind::Sum,
        12 | 13 | 15..=21 => Kind::Time,
        _ => Kind::Number,
    }
}

/// The counters of one process.
#[derive(Debug, Default)]
pub(super) struct UserCounters {
    known: HashMap<Box<str>, Known>,
    /// Those beyond the limit at the last reading.
    beyond: HashSet<Box<str>>,
    reading: u64,
    key: String,
}

#[derive(Debug)]
struct Known {
    slot: u32,
    scale: u32,
    monotonic: bool,
    value: Option<i64>,
    reading: u64,
}

impl UserCounters {
    /// Reports what has changed; `all`: everything, since another way has reported until now. Of
    /// more than [`limits::USER_COUNTERS`] names those that come later are counted only.
    pub(super) fn read(&mut self, page: Page<'_>, start: usize, all: bool, peer: &mut Peer) {
        self.reading += 1;
        let Self { known, reading, key, beyond } = self;
        let before = std::mem::take(beyond);
        let mut unshown = 0;
        each(page, start, &mut |counter| {
            if !name(key, &counter) {
                return;
            }
            if !known.contains_key(key.as_str()) {
                if known.len() >= limits::USER_COUNTERS {
                    unshown += u64::from(!before.contains(key.as_str()));
                    beyond.insert(key.as_str().into());
                    return;
                }
                let slot = u32::try_from(known.len()).unwrap_or(u32::MAX);
                known.insert(key.as_str().into(), define(key, counter.kind, slot, peer));
            }
            let Some(one) = known.get_mut(key.as_str()) else { return };
            one.reading = *reading;
            if one.value.replace(counter.value) != Some(counter.value) || all {
                let value = counter.value.wrapping_mul(one.scale.into());
                let value = match one.monotonic {
                    true => Value::U64(value.cast_unsigned()),
                    false => Value::I64(value),
                };
                peer.set_slot(one.slot, None, value);
            }
        });
        if unshown > 0 {
            peer.unshown(unshown);
        }
        for gone in known.values_mut().filter(|one| one.reading != *reading) {
            if gone.value.take().is_some() {
                peer.hide(gone.slot);
            }
        }
    }

    /// There are none.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Bytes allocated.
    pub(super) fn memory(&self) -> usize {
        let names = self.known.keys().chain(&self.beyond);
        let names: usize = names.map(|name| name.len()).sum();
        names
            + self.beyond.capacity() * size_of::<Box<str>>()
            + self.known.capacity() * (size_of::<Known>() + 24)
            + self.key.capacity()
    }
}

/// `CATEGORY/NAME`; `false` if there is no such name.
fn name(key: &mut String, counter: &UserCounter<'_>) -> bool {
    key.clear();
    let [category, name] = [counter.category, counter.name].map(String::from_utf8_lossy);
    if category.is_empty() || name.is_empty() {
        return false;
    }
    let base = if counter.second { "_base" } else { "" };
    let _ = write!(key, "{category}/{name}{base}");
    !key.chars().any(char::is_control)
}

fn define(key: &str, number: u8, slot: u32, peer: &mut Peer) -> Known {
    let (unit, variance) = match kind(number) {
        Kind::Number => (0, 0),
        Kind::Sum => (0, MONOTONIC),
        Kind::Time => (TIME, MONOTONIC),
    };
    let numbers = Numbers { category: CATEGORY, kind: LONG, unit, variance };
    let mapping = Mapping::of(Space::E3, numbers, key);
    let description = Description {
        space: Space::E3,
        numbers,
        category: SECTION.to_owned(),
        name: key.to_owned(),
        occurrence: 1,
    };
    peer.define(slot, &description.spec());
    Known { slot, scale: mapping.scale, monotonic: variance == MONOTONIC, value: None, reading: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Recorded;
    use crate::read::Order;
    use crate::sources::Source;
    use crate::sources::mono::Mono;

    /// A category with one counter, and its instance.
    fn page(name: &str, value: u64) -> Vec<u8> {
        let stanza = |kind: u8, body: &[u8]| {
            let length = (4 + body.len()).next_multiple_of(8);
            let mut bytes = vec![kind, 0];
            bytes.extend_from_slice(&u16::try_from(length).unwrap().to_le_bytes());
            bytes.extend_from_slice(body);
            bytes.resize(length, 0);
            bytes
        };
        let counter = [&1u16.to_le_bytes()[..], &[0; 6], b"Shop\0\0", &[1, 0], name.as_bytes()];
        let category = stanza(b'C', &[counter.concat(), vec![0, 0]].concat());
        let mut instance = [&0u32.to_le_bytes()[..], name.as_bytes()].concat();
        instance.resize((12 + name.len()).next_multiple_of(8) - 4, 0);
        instance.extend_from_slice(&value.to_le_bytes());
        [category, stanza(b'I', &instance), vec![0; 8]].concat()
    }

    #[test]
    fn names_of_a_process_are_bounded_and_the_rest_is_counted() {
        let (mut counters, mut seen) = (UserCounters::default(), Recorded::new(&Mono::TABLE));
        let mut read = |name: String, value| {
            let bytes = page(&name, value);
            let page = Page { bytes: &bytes, order: Order::Little };
            counters.read(page, 0, false, &mut seen);
            let log = seen.log();
            (log.specs.len(), log.unshown, counters.memory())
        };
        assert_eq!((read("a".into(), 1).0, read("a".into(), 2).0), (1, 1));
        for n in 1..limits::USER_COUNTERS {
            read(format!("name{n:06}"), 1);
        }
        let (defined, unshown, full) = read("a".into(), 3);
        assert_eq!((defined, unshown), (limits::USER_COUNTERS, 0));
        // One that stays is counted once.
        assert_eq!((read("b".into(), 1).1, read("b".into(), 2).1), (1, 1));
        let most = (0..10_000).map(|n| read(format!("other{n:06}"), 1).2).max();
        let (defined, unshown, _) = read("a".into(), 4);
        assert_eq!((defined, unshown), (limits::USER_COUNTERS, 10_001));
        assert!(most.unwrap() < full + 1024, "{most:?} after {full}");
    }
}
