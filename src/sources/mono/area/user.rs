//! Metrics of the counters that programs define.

use std::collections::HashMap;
use std::fmt::Write;

use mono_counters::numbers::{Numbers, Space};

use super::categories::{UserCounter, each};
use super::page::Page;
use crate::model::{Update, Value};
use crate::sources::Sink;
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
    /// Reports what has changed; `all`: everything, since another way has reported until now.
    pub(super) fn read(&mut self, page: Page<'_>, start: usize, all: bool, sink: &mut dyn Sink) {
        self.reading += 1;
        let Self { known, reading, key, .. } = self;
        each(page, start, &mut |counter| {
            if !name(key, &counter) {
                return;
            }
            if !known.contains_key(key.as_str()) {
                let slot = u32::try_from(known.len()).unwrap_or(u32::MAX);
                known.insert(key.as_str().into(), define(key, counter.kind, slot, sink));
            }
            let Some(one) = known.get_mut(key.as_str()) else { return };
            one.reading = *reading;
            if one.value.replace(counter.value) != Some(counter.value) || all {
                let value = counter.value.wrapping_mul(one.scale.into());
                let value = match one.monotonic {
                    true => Value::U64(value.cast_unsigned()),
                    false => Value::I64(value),
                };
                sink.update(Update::Value { slot: one.slot, row: None, value });
            }
        });
        for gone in known.values_mut().filter(|one| one.reading != *reading) {
            if gone.value.take().is_some() {
                sink.update(Update::Hide { slot: gone.slot });
            }
        }
    }

    /// There are none.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Bytes allocated.
    pub(super) fn memory(&self) -> usize {
        let names: usize = self.known.keys().map(|name| name.len()).sum();
        names + self.known.capacity() * (size_of::<Known>() + 24) + self.key.capacity()
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

fn define(key: &str, number: u8, slot: u32, sink: &mut dyn Sink) -> Known {
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
    sink.update(Update::Define { slot, spec: &description.spec() });
    Known { slot, scale: mapping.scale, monotonic: variance == MONOTONIC, value: None, reading: 0 }
}
