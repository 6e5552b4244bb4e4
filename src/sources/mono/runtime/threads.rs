//! What a process has loaded: threads, domains, assemblies and classes.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::contract::{Counters, Peer};
use crate::model::{MetricItem, Value};
use crate::sources::mono::limits::LIVE_THREADS;
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::Act;

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
struct Gauge {
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

    const fn act(&mut self, act: Act) {
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
    domains: Gauge,
    assemblies: Gauge,
    classes: Gauge,
    /// When the first of the profiler's threads ended: the program ends.
    ending: Option<u64>,
}

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

    pub(super) const fn domain(&mut self, act: Act) {
        self.domains.act(act);
    }

    pub(super) const fn assembly(&mut self, act: Act) {
        self.assemblies.act(act);
    }

    pub(super) const fn class(&mut self, act: Act) {
        self.classes.act(act);
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

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.live.capacity() * (size_of::<(u64, Thread)>() + 1)
    }
}
