//! Figures of one process without rows of its own: what it has loaded, counters since its start, and
//! what it adds to the sums of its program.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::contract::{Counters, Peer};
use crate::heap_size;
use crate::model::{MetricItem, RowItem, Value};
use crate::sources::mono::limits::LIVE_THREADS;
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::Act;
use crate::sources::mono::process::{Sum, Tally};

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

/// A value that is reported when it has changed.
#[derive(Debug)]
pub(super) struct Gauge {
    item: MetricItem,
    /// May be negative within a flush: the buffer of the thread that unloads may come before that
    /// of the one that loaded.
    value: i64,
    reported: Option<i64>,
}

impl Gauge {
    const fn new(item: MetricItem) -> Self {
        Self { item, value: 0, reported: None }
    }

    /// One more, or one less.
    pub(super) const fn act(&mut self, act: Act) {
        self.value = match act {
            Act::Load => self.value.saturating_add(1),
            Act::Unload => self.value.saturating_sub(1),
            Act::Name => self.value,
        };
    }

    fn report(&mut self, peer: &mut Peer) {
        if self.reported.replace(self.value) != Some(self.value) {
            let value = u64::try_from(self.value).unwrap_or_default();
            peer.set(self.item, Value::U64(value));
        }
    }
}

/// Threads, domains, assemblies and classes of one process.
#[derive(Debug)]
pub(super) struct Threads {
    live: HashMap<u64, Thread, RandomState>,
    threads: Gauge,
    pub(super) domains: Gauge,
    pub(super) assemblies: Gauge,
    pub(super) classes: Gauge,
    /// When the first of the profiler's threads ended: the program ends.
    ending: Option<u64>,
}

heap_size!(Threads { live });

impl Default for Threads {
    fn default() -> Self {
        Self {
            live: HashMap::default(),
            threads: Gauge::new(m::THREADS),
            domains: Gauge::new(m::DOMAINS),
            assemblies: Gauge::new(m::ASSEMBLIES),
            classes: Gauge::new(m::CLASSES),
            ending: None,
        }
    }
}

impl Threads {
    /// A thread began, ended or got a name.
    pub(super) fn thread(
        &mut self,
        time: u64,
        act: Act,
        id: u64,
        name: &[u8],
        figures: &mut Counters,
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
    pub(super) fn tick(&mut self, figures: &mut Counters) {
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

    /// Reports what has changed.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        let live = self.live.values().filter(|thread| **thread == Thread::Counted).count();
        self.threads.value = i64::try_from(live).unwrap_or(i64::MAX);
        for gauge in [&mut self.threads, &mut self.domains, &mut self.assemblies, &mut self.classes]
        {
            gauge.report(peer);
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

/// Those that other ways count too come first, in the order of [`Totals::feeds`].
const ITEMS: [MetricItem; 4] = [m::EXCEPTIONS, m::JIT_METHODS, m::JIT_TIME, m::JIT_CODE];

/// Totals and what of them is reported.
#[derive(Debug)]
pub(super) struct Totals {
    values: [Option<u64>; ITEMS.len()],
    reported: [Option<u64>; ITEMS.len()],
    /// This way feeds exceptions, and methods.
    pub(super) feeds: [bool; 2],
}

impl Default for Totals {
    fn default() -> Self {
        Self { values: [None; ITEMS.len()], reported: [None; ITEMS.len()], feeds: [true; 2] }
    }
}

impl Totals {
    /// The total is this now.
    pub(super) fn set(&mut self, item: MetricItem, value: u64) {
        let at = ITEMS.iter().position(|of| *of == item);
        if let Some(of) = at.and_then(|at| self.values.get_mut(at)) {
            *of = Some(value);
        }
    }

    /// Reports what has changed.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        let feeds = self.feeds.into_iter().chain(std::iter::repeat(true));
        let of = self.values.iter().zip(&mut self.reported).zip(feeds);
        for (item, ((value, reported), feeds)) in ITEMS.into_iter().zip(of) {
            if !feeds {
                *reported = None;
            } else if let Some(value) = value.filter(|value| *reported != Some(*value)) {
                *reported = Some(value);
                peer.set(item, value);
            }
        }
    }
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
    /// Slot of the program's row; `None`: the program is not known.
    slot: Option<u32>,
    /// `None`: the process is seen by this stream only.
    tally: Option<Tally>,
    sums: [u64; SUMS.len()],
    reported: [u64; SUMS.len()],
}

impl Program {
    /// The program is known.
    pub(super) fn is(&mut self, slot: u32, tally: Option<Tally>) {
        (self.slot, self.tally) = (Some(slot), tally);
    }

    /// Adds to a sum.
    pub(super) fn add(&mut self, item: RowItem, more: u64) {
        let at = SUMS.iter().position(|(of, _)| *of == item);
        if let Some(sum) = at.and_then(|at| self.sums.get_mut(at)) {
            *sum = sum.wrapping_add(more);
        }
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        let Some(slot) = self.slot else { return };
        for ((item, shared), (sum, reported)) in
            SUMS.into_iter().zip(self.sums.iter().zip(&mut self.reported))
        {
            let before = std::mem::replace(reported, *sum);
            let more = match self.tally.as_ref().zip(shared) {
                _ if before == *sum => continue,
                Some((tally, shared)) => tally.of_stream(shared, *sum),
                None => sum.wrapping_sub(before),
            };
            if more > 0 {
                peer.row_add(slot, item, more);
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
        let mut totals = Totals::default();
        let report = |totals: &mut Totals| {
            let mut seen = Recorded::new(&Mono::TABLE);
            totals.report(&mut seen);
            let items: Vec<_> = seen.log().values.keys().copied().collect();
            items.into_iter().map(|item| (item, seen.count(item))).collect::<Vec<_>>()
        };
        totals.set(m::EXCEPTIONS, 7);
        totals.set(m::JIT_TIME, 5);
        totals.feeds = [false, false];
        assert_eq!(report(&mut totals), [(m::JIT_TIME, 5)]);
        totals.feeds = [true, false];
        assert_eq!(report(&mut totals), [(m::EXCEPTIONS, 7)]);
        assert_eq!(report(&mut totals), []);
        totals.feeds = [false, false];
        assert_eq!(report(&mut totals), []);
        totals.feeds = [true, true];
        assert_eq!(report(&mut totals), [(m::EXCEPTIONS, 7)]);
    }
}
