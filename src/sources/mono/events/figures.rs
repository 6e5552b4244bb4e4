//! Figures of one process without rows of its own: what it has loaded, counters since its start, and
//! what it adds to the sums of its program.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use crate::contract::Peer;
use crate::heap_size;
use crate::model::{MetricItem, RowItem};
use crate::sources::mono::limits::LIVE_THREADS;
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::Act;
use crate::sources::mono::process::{PROGRAM_ROW, Sum, Tally};

/// Metrics of one process that wait for the end of a flush: it may be that of its identity.
#[derive(Debug)]
pub(super) struct Figures {
    /// Sums since the last flush.
    sums: BTreeMap<MetricItem, u64>,
    /// Values, and whether they are told.
    values: BTreeMap<MetricItem, (u64, bool)>,
    /// Whether this way feeds the values that other ways have too.
    feeds: [(MetricItem, bool); 2],
}

heap_size!(Figures { sums, values });

impl Default for Figures {
    fn default() -> Self {
        let feeds = [(m::EXCEPTIONS, true), (m::JIT_METHODS, true)];
        Self { sums: BTreeMap::new(), values: BTreeMap::new(), feeds }
    }
}

impl Figures {
    /// Adds to a counter.
    pub(super) fn add(&mut self, item: MetricItem, more: u64) {
        if more > 0 {
            let sum = self.sums.entry(item).or_default();
            *sum = sum.wrapping_add(more);
        }
    }

    /// Sets a value.
    pub(super) fn set(&mut self, item: MetricItem, value: u64) {
        let of = self.values.entry(item).or_default();
        if of.0 != value {
            *of = (value, false);
        }
    }

    /// Whether this way feeds exceptions and compiled methods: the one that begins to feed them
    /// sets its own value.
    pub(super) const fn feeds(&mut self, exceptions: bool, methods: bool) {
        self.feeds = [(m::EXCEPTIONS, exceptions), (m::JIT_METHODS, methods)];
    }

    /// A flush has been read, or a part of it: tells what has changed.
    pub(super) fn settle(&mut self, peer: &mut Peer) {
        while let Some((item, more)) = self.sums.pop_first() {
            peer.add(item, more);
        }
        for (item, (value, told)) in &mut self.values {
            let feeds = !self.feeds.contains(&(*item, false));
            if feeds && !*told {
                peer.set(*item, *value);
            }
            *told = feeds;
        }
    }
}

/// Begins the names of the profiler's own threads.
const PROFILER: &[u8] = b"Profiler ";
/// The thread that the program began with: it has it, and has not made it.
const MAIN: &[u8] = b"Main";
/// Threads of the runtime: no program made them.
const OWN: [&[u8]; 2] = [b"Finalizer", b"Domain unloader"];
/// Ticks after which a thread without a name is one of the program.
const NAMELESS: u8 = 2;

/// What is known of a live thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    /// No name yet, for so many ticks: it may be the runtime's.
    Nameless(u8),
    /// The program's.
    Counted,
    /// The runtime's.
    Own,
    /// The profiler's.
    Profiler,
}

/// Figures of what is loaded and not unloaded.
const LOADED: [MetricItem; 3] = [m::DOMAINS, m::ASSEMBLIES, m::CLASSES];

/// Threads, domains, assemblies and classes of one process.
#[derive(Debug, Default)]
pub(super) struct Threads {
    live: HashMap<u64, Thread, RandomState>,
    /// As [`LOADED`]. May be negative within a flush: the buffer of the thread that unloads may
    /// come before that of the one that loaded.
    loaded: [i64; LOADED.len()],
    /// When the first of the profiler's threads ended: the program ends.
    ending: Option<u64>,
}

heap_size!(Threads { live });

impl Threads {
    /// One of [`LOADED`] more, or one less.
    pub(super) fn act(&mut self, item: MetricItem, act: Act) {
        let more = match act {
            Act::Load => 1,
            Act::Unload => -1,
            Act::Name => 0,
        };
        let all = LOADED.iter().zip(&mut self.loaded);
        all.filter(|(of, _)| **of == item).for_each(|(_, count)| *count += more);
    }

    /// A thread began, ended or got a name.
    pub(super) fn thread(
        &mut self,
        time: u64,
        act: Act,
        id: u64,
        name: &[u8],
        figures: &mut Figures,
    ) {
        match act {
            Act::Load if self.live.len() < LIVE_THREADS => {
                self.live.insert(id, Thread::Nameless(0));
            }
            Act::Load => {}
            Act::Name => {
                let Some(thread) = self.live.get_mut(&id) else { return };
                let named = if name.starts_with(PROFILER) {
                    Thread::Profiler
                } else if OWN.contains(&name) {
                    Thread::Own
                } else {
                    Thread::Counted
                };
                let made = named == Thread::Counted && name != MAIN;
                if matches!(thread, Thread::Nameless(_)) && made {
                    figures.add(m::THREADS_CREATED, 1);
                }
                // A thread of the program may call itself otherwise later.
                if matches!(thread, Thread::Nameless(_)) || named == Thread::Profiler {
                    *thread = named;
                }
            }
            Act::Unload => match self.live.remove(&id) {
                Some(Thread::Nameless(_)) => figures.add(m::THREADS_CREATED, 1),
                Some(Thread::Profiler) => {
                    self.ending = Some(self.ending.map_or(time, |ending| ending.min(time)));
                }
                _ => {}
            },
        }
    }

    /// When the program began to end.
    pub(super) const fn ending(&self) -> Option<u64> {
        self.ending
    }

    /// A second has passed: threads that have no name for long will not get one.
    pub(super) fn tick(&mut self, figures: &mut Figures) {
        for thread in self.live.values_mut() {
            if let Thread::Nameless(ticks) = thread {
                *ticks = ticks.saturating_add(1);
                if *ticks >= NAMELESS {
                    *thread = Thread::Counted;
                    figures.add(m::THREADS_CREATED, 1);
                }
            }
        }
    }

    /// A flush has been read, or a part of it.
    pub(super) fn settle(&self, figures: &mut Figures) {
        let live = self.live.values().filter(|thread| **thread == Thread::Counted).count();
        figures.set(m::THREADS, live as u64);
        for (item, count) in LOADED.into_iter().zip(self.loaded) {
            figures.set(item, u64::try_from(count).unwrap_or_default());
        }
    }
}

/// Nanoseconds in Mono's unit of time.
const TICK: u64 = 100;

/// Counters of the section JIT that are metrics with a name of their own, and what one is.
const JIT: [(&str, MetricItem, u64); 3] = [
    ("Compiled methods", m::JIT_METHODS, 1),
    ("Total time spent JITting", m::JIT_TIME, TICK),
    ("Native code size", m::JIT_CODE, 1),
];

/// The metric that is made from a counter of the section JIT, and by how much a value of the
/// counter is to be multiplied.
pub(crate) fn jit_item(category: &str, name: &str) -> Option<(MetricItem, u64)> {
    let mut all = JIT.iter().filter(|_| category == "JIT");
    all.find(|(counter, ..)| *counter == name).map(|(_, item, scale)| (*item, *scale))
}

/// The sums, in the order of their positions, and which of them other ways have a part of.
const SUMS: [(RowItem, Option<Sum>); 6] = [
    (m::PROGRAM_GC_COUNT, Some(Sum::Collections)),
    (m::PROGRAM_PAUSE_COUNT, None),
    (m::PROGRAM_PAUSE_TOTAL, None),
    (m::PROGRAM_EXCEPTIONS, Some(Sum::Exceptions)),
    (m::PROGRAM_CONTENTION_COUNT, None),
    (m::PROGRAM_CONTENTION_TIME, None),
];

/// Sums of this process.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// The program is known.
    known: bool,
    /// `None`: the process is seen by this stream only.
    tally: Option<Tally>,
    sums: [u64; SUMS.len()],
    told: [u64; SUMS.len()],
}

impl Program {
    /// The program is known.
    pub(super) fn is(&mut self, tally: Option<Tally>) {
        (self.known, self.tally) = (true, tally);
    }

    /// Adds to a sum.
    pub(super) fn add(&mut self, item: RowItem, more: u64) {
        let at = SUMS.iter().position(|(of, _)| *of == item);
        if let Some(sum) = at.and_then(|at| self.sums.get_mut(at)) {
            *sum = sum.wrapping_add(more);
        }
    }

    /// A flush has been read, or a part of it: tells what the sums have grown by.
    pub(super) fn settle(&mut self, peer: &mut Peer) {
        if !self.known {
            return;
        }
        for ((item, shared), (sum, told)) in
            SUMS.into_iter().zip(self.sums.iter().zip(&mut self.told))
        {
            let before = std::mem::replace(told, *sum);
            let more = match self.tally.as_ref().zip(shared) {
                _ if before == *sum => continue,
                Some((tally, shared)) => tally.of_stream(shared, *sum),
                None => sum.wrapping_sub(before),
            };
            if more > 0 {
                peer.row_add(PROGRAM_ROW, item, more);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Recorded;
    use crate::sources::Source;
    use crate::sources::mono::Mono;

    #[test]
    fn the_way_that_begins_to_feed_sets_its_total() {
        let mut figures = Figures::default();
        let told = |figures: &mut Figures| {
            let mut seen = Recorded::new(&Mono::TABLE);
            figures.settle(&mut seen);
            let items: Vec<_> = seen.log().values.keys().copied().collect();
            items.into_iter().map(|item| (item, seen.count(item))).collect::<Vec<_>>()
        };
        figures.set(m::EXCEPTIONS, 7);
        figures.set(m::JIT_TIME, 5);
        figures.add(m::FINALIZED, 0);
        figures.feeds(false, false);
        assert_eq!(told(&mut figures), [(m::JIT_TIME, 5)]);
        figures.feeds(true, false);
        assert_eq!(told(&mut figures), [(m::EXCEPTIONS, 7)]);
        assert_eq!(told(&mut figures), []);
        figures.feeds(false, false);
        assert_eq!(told(&mut figures), []);
        figures.feeds(true, true);
        assert_eq!(told(&mut figures), [(m::EXCEPTIONS, 7)]);
    }
}
