//! The heap and its pools (docs/protocols/jvm-hsperfdata.md 3.4).

use crate::sources::jvm::wire::{Counter, Values};

use super::facts::Facts;

/// Rows at most: four spaces, metaspace and class space.
pub(crate) const POOLS: usize = 6;
/// Sizes are whole pages: G1 of 8 to 17 adds 8 or 24 bytes so that nothing is 0.
const PAGES: u64 = !0xfff;

/// The heap, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heap {
    /// In use: as of the last collection, unless [`Facts::live_heap`].
    pub(crate) total: Option<u64>,
    /// Both survivor spaces included.
    pub(crate) committed: Option<u64>,
    /// -Xmx, or what the JVM has chosen.
    pub(crate) max: Option<u64>,
}

/// A part of the heap, or of the memory for classes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    /// `eden`, `survivor0`, `survivor1`, `old`; `young`, `old`; `heap`; `metaspace`, `class_space`.
    pub(crate) row: &'static str,
    /// Of the last two as of the last collection; of others as [`Heap::total`].
    pub(crate) used: Option<u64>,
    pub(crate) committed: Option<u64>,
    /// Only where it is not the whole heap.
    pub(crate) max: Option<u64>,
}

/// Capacity and limit of a generation.
const GENERATIONS: [(Counter, Counter); 2] =
    [(Counter::YoungCapacity, Counter::YoungMax), (Counter::OldCapacity, Counter::OldMax)];

/// Of a space: number of its generation, its row where there are three young ones, its counters.
const SPACES: [(usize, &str, [Counter; 3]); 4] = [
    (0, "eden", [Counter::EdenUsed, Counter::EdenCapacity, Counter::EdenMax]),
    (0, "survivor0", [Counter::Survivor0Used, Counter::Survivor0Capacity, Counter::Survivor0Max]),
    (0, "survivor1", [Counter::Survivor1Used, Counter::Survivor1Capacity, Counter::Survivor1Max]),
    (1, "old", [Counter::OldSpaceUsed, Counter::OldSpaceCapacity, Counter::OldSpaceMax]),
];

/// Whether all of the heap's counters are there. Where the region was full, sums would be of those
/// that found room.
pub(super) fn is_whole(values: Values<'_>) -> bool {
    let spaces = SPACES.iter().filter(|(_, _, [used, ..])| values.long(*used).is_some()).count();
    let told = [Counter::YoungSpaces, Counter::OldSpaces].map(|counter| values.count(counter));
    values.directory.prologue.overflow == 0
        || matches!(told, [Some(young), Some(old)] if young.checked_add(old) == Some(spaces as u64))
}

/// The spaces that are there: their generation's capacity, row, bytes in use and counters.
fn spaces(values: Values<'_>) -> impl Iterator<Item = (Counter, &'static str, u64, [Counter; 3])> {
    SPACES.into_iter().filter_map(move |(generation, row, counters)| {
        // ZGC that is not generational has generation 1 only.
        let &(capacity, _) = GENERATIONS.get(generation)?;
        values.long(capacity)?;
        let [used, ..] = counters;
        Some((capacity, row, values.count(used)?, counters))
    })
}

fn pages(values: Values<'_>, counter: Counter) -> Option<u64> {
    values.count(counter).map(|size| size & PAGES)
}

impl Heap {
    pub(super) fn new(values: Values<'_>, facts: &Facts) -> Self {
        let generations =
            || GENERATIONS.iter().filter(|(capacity, _)| values.long(*capacity).is_some());
        if generations().next().is_none() || !is_whole(values) {
            return Self::default();
        }
        let sum = |total: u64, more: Option<u64>| total.checked_add(more?);
        let mut maxima = generations().filter_map(|&(_, max)| pages(values, max));
        let parted = facts.collector.is_some_and(|kind| kind.is_parted(facts.release));
        Self {
            total: spaces(values).map(|(_, _, used, _)| Some(used)).try_fold(0, sum),
            committed: generations().map(|&(size, _)| pages(values, size)).try_fold(0, sum),
            max: if parted { maxima.try_fold(0, |a, b| sum(a, Some(b))) } else { maxima.max() },
        }
    }
}

/// The rows that there are.
pub(super) fn pools(values: Values<'_>, facts: &Facts) -> [Option<Pool>; POOLS] {
    let mut pools = [None; POOLS];
    let mut places = pools.iter_mut();
    let mut push = |pool| places.next().map(|place| *place = Some(pool));
    let three = values.long(Counter::YoungSpaces) == Some(3);
    let alone = spaces(values).count() == 1;
    let limited = facts.collector.is_some_and(|kind| kind.limits_spaces());
    for (generation, row, used, [_, capacity, max]) in spaces(values) {
        // The capacity of Shenandoah's only space is the maximum.
        let (row, capacity) = match row {
            _ if three => (row, capacity),
            _ if alone => ("heap", generation),
            "old" => (row, capacity),
            "eden" => ("young", capacity),
            _ => continue,
        };
        let max = if limited { pages(values, max) } else { None };
        if is_whole(values) {
            push(Pool { row, used: Some(used), committed: pages(values, capacity), max });
        }
    }
    // Their maxima are reserved address space, no limits.
    for (row, used, capacity) in [
        ("metaspace", Counter::MetaspaceUsed, Counter::MetaspaceCapacity),
        ("class_space", Counter::ClassSpaceUsed, Counter::ClassSpaceCapacity),
    ] {
        if let Some(used) = values.count(used) {
            push(Pool { row, used: Some(used), committed: values.count(capacity), max: None });
        }
    }
    pools
}
