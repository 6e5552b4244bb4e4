//! The figures of one reading: collections, the heap and its pools, counters. Times are nanoseconds, sizes bytes.
//! `None`: the release or the collector does not have it, or has it wrong (docs/protocols/jvm-hsperfdata.md 3).

use super::super::wire::{Counter, Values};
use super::facts::{Collector, Facts};

macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident $kind:ident $counter:ident,)*) => {
        /// All figures of a reading.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Figures {
            /// By number of the collector; none of Shenandoah.
            pub(crate) collections: [Option<Collections>; 3],
            /// Of all collectors.
            pub(crate) pauses: Pauses,
            /// Whether a collection is running.
            pub(crate) collecting: Option<bool>,
            pub(crate) heap: Heap,
            /// A row keeps its place while a JVM runs.
            pub(crate) pools: [Option<Pool>; POOLS],
            /// Time in which all threads stood still. With `sync_time`, how long the program was
            /// held up.
            pub(crate) safepoint_time: Option<u64>,
            /// Those of the CDS archive included, as the next two.
            pub(crate) classes_loaded: Option<u64>,
            pub(crate) classes_unloaded: Option<u64>,
            pub(crate) classes: Option<u64>,
            $($(#[$doc])* pub(crate) $name: Option<u64>,)*
        }

        impl Figures {
            /// From the values of a region that has these facts.
            pub(crate) fn new(values: Values<'_>, facts: &Facts) -> Self {
                Self { $($name: $kind(values, facts, Counter::$counter),)* ..derived(values, facts) }
            }
        }
    };
}

figures! {
    /// Platform threads of Java: no virtual ones, none of the JVM's own.
    threads count ThreadsLive,
    threads_daemon count ThreadsDaemon,
    threads_peak count ThreadsPeak,
    threads_started count ThreadsStarted,
    class_load_time time ClassTime,
    /// Compilations; without a compiler (-Xint) there is nothing of it but the time.
    jit_methods count Compiles,
    jit_bailouts count Bailouts,
    jit_invalidated count Invalidates,
    /// Machine code made so far, not that which is kept.
    jit_code_bytes count CodeBytes,
    /// Of all compiler threads.
    jit_time time JitTime,
    /// Safepoints of collections and of other operations.
    safepoints count Safepoints,
    /// Time from the wish to the moment that all threads stood still.
    sync_time time SafepointSyncTime,
    /// Time of the VM thread in its operations.
    vm_operation_time time VmOperationTime,
    /// Processor time of the collector's threads, as of the last collection; 22 and later.
    gc_cpu_time time GcCpuTime,
    /// Waits for monitors; up to 24.
    contentions count Contended,
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

fn count(values: Values<'_>, _: &Facts, counter: Counter) -> Option<u64> {
    values.count(counter)
}

fn time(values: Values<'_>, facts: &Facts, ticks: Counter) -> Option<u64> {
    facts.time(values, ticks)
}

/// The figures that are no counter as it stands.
fn derived(values: Values<'_>, facts: &Facts) -> Figures {
    let sum = |own, shared| {
        let shared = values.long(shared).unwrap_or_default();
        u64::try_from(values.long(own)?.checked_add(shared)?).ok()
    };
    let loaded = sum(Counter::ClassesLoaded, Counter::SharedLoaded);
    let unloaded = sum(Counter::ClassesUnloaded, Counter::SharedUnloaded);
    let safepoint_time = safepoint_time(values, facts);
    let collections = collections(values, facts);
    Figures {
        pauses: pauses(&collections, is_whole(values)).unwrap_or(match facts.collector {
            Some(Collector::Shenandoah | Collector::Zgc) => {
                let count = values.count(Counter::Safepoints);
                Pauses { count, total: safepoint_time, last: None }
            }
            _ => Pauses::default(),
        }),
        collections,
        collecting: values.text(Counter::Cause).map(|cause| cause != b"No GC"),
        heap: Heap::new(values, facts),
        pools: pools(values, facts),
        safepoint_time,
        classes_loaded: loaded,
        classes_unloaded: unloaded,
        classes: loaded.zip(unloaded).and_then(|(loaded, gone)| loaded.checked_sub(gone)),
        ..Figures::default()
    }
}

fn collections(values: Values<'_>, facts: &Facts) -> [Option<Collections>; 3] {
    use Counter as C;
    let time = |ticks| time(values, facts, ticks);
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
    let whole = time(values, facts, Counter::SafepointTime)?;
    match facts.release? {
        ..=12 => Some(whole.saturating_sub(time(values, facts, Counter::SafepointSyncTime)?)),
        _ => Some(whole),
    }
}

/// Rows at most: four spaces, metaspace and class space.
pub(crate) const POOLS: usize = 6;
/// Sizes are whole pages: G1 of 8 to 17 adds 8 or 24 bytes so that nothing is 0.
const PAGES: u64 = !0xfff;

/// The heap, in bytes (section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heap {
    /// In use. Of ZGC, and of Serial, Parallel and CMS from 25 on, as of the last collection.
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
