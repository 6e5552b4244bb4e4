//! The figures of one reading: collections, the heap and its pools, counters. Times are nanoseconds, sizes bytes.
//! `None`: the release or the collector does not have it, or has it wrong (docs/protocols/jvm-hsperfdata.md 3).

use super::super::metrics as m;
use super::super::wire::{Counter, Values};
use super::facts::{Collector, Facts};
use crate::model::MetricItem;

/// All figures of a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// By number of the collector; none of Shenandoah.
    pub(crate) collections: [Option<Collections>; 3],
    /// Of all collectors.
    pub(crate) pauses: Pauses,
    /// A row keeps its place while a JVM runs.
    pub(crate) pools: [Option<Pool>; POOLS],
    /// The values of the metrics of [`SHOWN`].
    pub(crate) values: [Option<u64>; SHOWN.len()],
}

/// What a metric has of a region.
enum Figure {
    /// A counter as it stands.
    Count(Counter),
    /// The same of ticks.
    Time(Counter),
    /// What several counters tell.
    Of(fn(&Told) -> Option<u64>),
}
use Figure::{Count, Of, Time};

/// Metrics of a process that come from its region alone.
const SHOWN: [(MetricItem, Figure); 26] = [
    (m::PAUSE_COUNT, Of(|told| told.pauses.count)),
    (m::PAUSE_TOTAL, Of(|told| told.pauses.total)),
    (m::PAUSE_LAST, Of(|told| told.pauses.last)),
    (m::GC_RUNNING, Of(|told| told.collecting.map(u64::from))),
    (m::GC_CPU, Time(Counter::GcCpuTime)),
    (m::HEAP_TOTAL, Of(|told| told.heap.total)),
    (m::HEAP_COMMITTED, Of(|told| told.heap.committed)),
    (m::HEAP_MAX, Of(|told| told.heap.max)),
    (m::SAFEPOINT_COUNT, Count(Counter::Safepoints)),
    (m::SAFEPOINT_TIME, Of(|told| told.safepoint_time)),
    (m::SAFEPOINT_SYNC, Time(Counter::SafepointSyncTime)),
    (m::VM_OPERATION, Time(Counter::VmOperationTime)),
    (m::LOCK_COUNT, Count(Counter::Contended)),
    (m::THREADS, Count(Counter::ThreadsLive)),
    (m::THREADS_DAEMON, Count(Counter::ThreadsDaemon)),
    (m::THREADS_PEAK, Count(Counter::ThreadsPeak)),
    (m::THREADS_CREATED, Count(Counter::ThreadsStarted)),
    (m::CLASSES, Of(|told| told.loaded?.checked_sub(told.unloaded?))),
    (m::CLASS_LOADED, Of(|told| told.loaded)),
    (m::CLASS_UNLOADED, Of(|told| told.unloaded)),
    (m::CLASS_TIME, Time(Counter::ClassTime)),
    (m::JIT_METHODS, Count(Counter::Compiles)),
    (m::JIT_BAILOUTS, Count(Counter::Bailouts)),
    (m::JIT_INVALIDATED, Count(Counter::Invalidates)),
    (m::JIT_TIME, Time(Counter::JitTime)),
    (m::JIT_CODE, Count(Counter::CodeBytes)),
];

/// What several counters tell.
struct Told {
    pauses: Pauses,
    /// Whether a collection is running.
    collecting: Option<bool>,
    heap: Heap,
    /// Time in which all threads stood still; that to stop them is another one.
    safepoint_time: Option<u64>,
    /// Classes, those of the CDS archive included.
    loaded: Option<u64>,
    unloaded: Option<u64>,
}

impl Figures {
    /// From the values of a region that has these facts.
    pub(super) fn new(values: Values<'_>, facts: &Facts) -> Self {
        let sum = |own, shared| {
            let shared = values.long(shared).unwrap_or_default();
            u64::try_from(values.long(own)?.checked_add(shared)?).ok()
        };
        let safepoint_time = safepoint_time(values, facts);
        let collections = collections(values, facts);
        let pauses = pauses(&collections, is_whole(values)).unwrap_or(match facts.collector {
            Some(Collector::Shenandoah | Collector::Zgc) => {
                let count = values.count(Counter::Safepoints);
                Pauses { count, total: safepoint_time, last: None }
            }
            _ => Pauses::default(),
        });
        let told = Told {
            pauses,
            collecting: values.text(Counter::Cause).map(|cause| cause != b"No GC"),
            heap: Heap::new(values, facts),
            safepoint_time,
            loaded: sum(Counter::ClassesLoaded, Counter::SharedLoaded),
            unloaded: sum(Counter::ClassesUnloaded, Counter::SharedUnloaded),
        };
        let value = |(_, figure)| match figure {
            Count(counter) => values.count(counter),
            Time(ticks) => facts.time(values, ticks),
            Of(figure) => figure(&told),
        };
        let pools = pools(values, facts);
        Self { collections, pauses, pools, values: SHOWN.map(value) }
    }

    /// Metrics of a process and their values.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (MetricItem, Option<u64>)> {
        SHOWN.into_iter().map(|(item, _)| item).zip(self.values)
    }
}

/// A collector. Of ZGC and of concurrent cycles the count is of pauses, not of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collections {
    /// `young`, `full`, `concurrent`, or `major` of generational ZGC.
    pub(crate) row: &'static str,
    /// Raised when a collection begins.
    pub(crate) count: u64,
    /// Raised when it ends.
    pub(crate) time: Option<u64>,
    /// Begin and end of the last one since the start of the JVM. While one is running the end is
    /// that of the one before.
    pub(crate) last: Option<(u64, u64)>,
}

impl Collections {
    /// Length of the last collection. `None`: there was none, or one is running.
    pub(crate) fn pause(&self) -> Option<u64> {
        self.last.filter(|_| self.count > 0).and_then(|(begin, end)| end.checked_sub(begin))
    }
}

/// Pauses. With Shenandoah and ZGC of 11, all safepoints: the counters of the former count phases
/// several times, the latter has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pauses {
    pub(crate) count: Option<u64>,
    pub(crate) total: Option<u64>,
    /// Length of the newest one.
    pub(crate) last: Option<u64>,
}

fn collections(values: Values<'_>, facts: &Facts) -> [Option<Collections>; 3] {
    use Counter as C;
    let time = |ticks| facts.time(values, ticks);
    let of = |row, name, count, took, begin, end| {
        let count = values.count(count)?;
        let name = values.text(name).unwrap_or_default();
        let major = row == "concurrent" && memchr::memmem::find(name, b"major").is_some();
        let row = if major { "major" } else { row };
        Some(Collections { row, count, time: time(took), last: time(begin).zip(time(end)) })
    };
    if facts.collector == Some(Collector::Shenandoah) {
        return [None; 3];
    }
    [
        of("young", C::Name0, C::Count0, C::Time0, C::Entry0, C::Exit0),
        of("full", C::Name1, C::Count1, C::Time1, C::Entry1, C::Exit1),
        of("concurrent", C::Name2, C::Count2, C::Time2, C::Entry2, C::Exit2),
    ]
}

/// `None`: there are no collectors. Where the region was full, not all of them may be there.
fn pauses(collections: &[Option<Collections>; 3], whole: bool) -> Option<Pauses> {
    let own = || collections.iter().flatten();
    own().next()?;
    let sum = |total: u64, more: Option<u64>| total.checked_add(more?).filter(|_| whole);
    let newest = own().filter(|one| one.pause().is_some());
    let newest = newest.max_by_key(|one| one.last.map(|(_, end)| end));
    Some(Pauses {
        count: own().map(|one| Some(one.count)).try_fold(0, sum),
        total: own().map(|one| one.time).try_fold(0, sum),
        last: newest.and_then(Collections::pause),
    })
}

/// Up to 12 the time at safepoints includes that of stopping the threads, later it does not. Of an
/// unknown release nobody can tell.
fn safepoint_time(values: Values<'_>, facts: &Facts) -> Option<u64> {
    let whole = facts.time(values, Counter::SafepointTime)?;
    match facts.release? {
        ..=12 => Some(whole.saturating_sub(facts.time(values, Counter::SafepointSyncTime)?)),
        _ => Some(whole),
    }
}

/// Rows at most: four spaces, metaspace and class space.
pub(crate) const POOLS: usize = 6;
/// Sizes are whole pages: G1 of 8 to 17 adds 8 or 24 bytes so that nothing is 0.
const PAGES: u64 = !0xfff;

/// The heap, in bytes (section 3.4).
#[derive(Default)]
struct Heap {
    /// In use. Of ZGC, and of Serial, Parallel and CMS from 25 on, as of the last collection.
    total: Option<u64>,
    /// Both survivor spaces included.
    committed: Option<u64>,
    /// -Xmx, or what the JVM has chosen.
    max: Option<u64>,
}

/// A part of the heap, or of the memory for classes: `eden`, `survivor0`, `survivor1`, `old`; `young`, `old`; `heap`;
/// `metaspace`, `class_space`. Bytes that are used, those of the last two as of the last collection, and of others as
/// [`Heap::total`]; committed; and at most, where that is not the whole heap.
pub(crate) type Pool = (&'static str, [Option<u64>; 3]);

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
fn is_whole(values: Values<'_>) -> bool {
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
    fn new(values: Values<'_>, facts: &Facts) -> Self {
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
fn pools(values: Values<'_>, facts: &Facts) -> [Option<Pool>; POOLS] {
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
            push((row, [Some(used), pages(values, capacity), max]));
        }
    }
    // Their maxima are reserved address space, no limits.
    for (row, used, capacity) in [
        ("metaspace", Counter::MetaspaceUsed, Counter::MetaspaceCapacity),
        ("class_space", Counter::ClassSpaceUsed, Counter::ClassSpaceCapacity),
    ] {
        if let Some(used) = values.count(used) {
            push((row, [Some(used), values.count(capacity), None]));
        }
    }
    pools
}
