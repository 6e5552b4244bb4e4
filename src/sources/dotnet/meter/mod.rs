//! The metrics of one process, from its events and counters (docs/protocols/dotnet.md 6). The peer keeps
//! sums; what is here waits for another event, for a counter, or for a second to pass.
//!
//! ```text
//!  Decoded, At ─▶ Meter ─▶ sums ─┬─▶ gc          collections and pauses matched
//!                   │            ├─▶ pairs       methods, locks, waits
//!  Counter ─────────┴─▶ system ◀─┴─▶ generations
//! ```

mod gc;
mod generations;
mod pairs;
mod sums;
mod system;
#[cfg(test)]
mod tests;

pub use system::Counter;

use std::time::Duration;

use super::metrics as m;
use super::wire::clr::{Decoded, Utf16};
use crate::contract::Peer;
use crate::meter::MergedLatency;
use crate::model::{MetricItem, Stamp};
use sums::Sums;
use system::System;

/// Time without an event after which memory is freed: most processes are idle.
const IDLE: Duration = Duration::from_secs(15);

/// The way in which the events come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Events of the runtime come: figures that exist as events and as counters are made of events.
    pub runtime_events: bool,
    /// No counters will come: figures that only counters have are made of events.
    pub no_counters: bool,
    /// Events come since the start of the process: what is loaded and compiled is known by them.
    pub from_start: bool,
}

/// Counts of counters. Events have them only on request.
const COUNTED: [MetricItem; 5] =
    [m::JIT_METHODS, m::JIT_IL_BYTES, m::JIT_TIME, m::ALLOC_BYTES, m::POOL_COMPLETED];
/// Those among them that are since the start of the process: a 0 before would look like a burst.
const TOTALS: usize = 2;

/// The metrics of one process. They go on when another session with it begins.
#[derive(Debug)]
pub struct Meter {
    system: System,
    /// None while the process is idle.
    sums: Option<Box<Sums>>,
    /// Assemblies loaded and not unloaded, by events.
    assemblies: u32,
    /// There were events since the last tick.
    active: bool,
    /// Monotonic clock of the last tick with events before it.
    last: Duration,
}

crate::heap_size!(Meter { system, sums });

impl Meter {
    /// A meter without values.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            system: System::new(settings),
            sums: None,
            assemblies: 0,
            active: false,
            last: Duration::ZERO,
        }
    }

    /// The peer is identified. `name`: the instance name.
    pub fn start(&mut self, name: &str, peer: &mut Peer) {
        self.system.start(name);
        peer.start_counters(m::METRICS);
        let Settings { no_counters, from_start, .. } = self.system.settings;
        let absent = match (no_counters, from_start) {
            (true, true) => 0,
            (true, false) => COUNTED.len(),
            (false, _) => TOTALS,
        };
        for item in COUNTED.into_iter().take(absent) {
            peer.unset(item);
        }
    }

    /// Another stream begins: what the one before left open will not end. Sums go on.
    pub fn stream(&mut self, settings: Settings, peer: &mut Peer) {
        let before = std::mem::replace(&mut self.system.settings, settings);
        let changes = settings.no_counters != before.no_counters && !settings.from_start;
        if changes && !self.system.name.is_empty() {
            for (number, item) in COUNTED.into_iter().enumerate() {
                if settings.no_counters {
                    peer.unset(item);
                } else if number >= TOTALS {
                    peer.add(item, 0);
                }
            }
        }
        self.system.reset();
        if let Some(sums) = &mut self.sums {
            sums.reset();
        }
    }

    /// Counts an event of the runtime.
    #[inline(always)]
    pub fn clr<'a>(
        &mut self,
        at: &At<'_>,
        event: &Decoded<'a>,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        self.active = true;
        match event {
            Decoded::Known => None,
            Decoded::WorkerStart { active, .. }
            | Decoded::WorkerStop { active, .. }
            | Decoded::WorkerWait { active, .. } => {
                self.system.pool_threads(*active, peer);
                None
            }
            Decoded::AssemblyLoad { name, .. } => {
                self.assemblies = self.assemblies.saturating_add(1);
                self.system.assemblies(self.assemblies, peer);
                Some(Occurrence::Assembly { name: *name })
            }
            Decoded::AssemblyUnload { .. } => {
                self.assemblies = self.assemblies.saturating_sub(1);
                self.system.assemblies(self.assemblies, peer);
                None
            }
            event => {
                let sums = match &mut self.sums {
                    Some(sums) => sums,
                    none => none.insert(Box::default()),
                };
                sums.event(at, event, &mut self.system, peer)
            }
        }
    }

    /// A counter of System.Runtime was reported: `value` is its mean, or its increment since its
    /// last report. `now`: the monotonic clock; `interval`: seconds that it covers.
    pub fn counter(
        &mut self,
        now: Duration,
        counter: Counter,
        value: f64,
        interval: f64,
        peer: &mut Peer,
    ) {
        // Most processes are idle: they need no sums for that.
        self.system.counter((now, interval), counter, value, peer);
    }

    /// A second has passed. `now`: the monotonic clock.
    /// `service`: pauses of all processes of the program, to which those of this one are added.
    pub fn tick(&mut self, now: Duration, service: Option<&MergedLatency>, peer: &mut Peer) {
        self.system.tick(now, peer);
        if std::mem::take(&mut self.active) {
            self.last = now;
        }
        let idle = now.saturating_sub(self.last) >= IDLE;
        if idle {
            self.system.generations.free(peer);
        }
        if let Some(sums) = &mut self.sums
            && sums.tick(now, service, idle)
        {
            self.sums = None;
        }
    }

    /// The stream has ended: gauges have no value until another one reports them.
    pub fn end(&mut self, peer: &mut Peer) {
        self.system.settle(peer);
        self.system.silence(peer);
    }
}

/// Time and place of an event.
#[derive(Clone, Copy, Debug, Default)]
pub struct At<'a> {
    /// Time in ns since an arbitrary start: only differences within a stream count.
    pub time: u64,
    /// Wall clock.
    pub stamp: Stamp,
    /// Thread, as the process sees it.
    pub thread: u64,
    /// The thread that wrote the event: pairs of events are of the same one.
    pub capture_thread: u64,
    /// Method that waits, if stacks and methods are known: it names the lock.
    pub method: Option<&'a str>,
}

/// A finished garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gc {
    /// Number, as the runtime counts.
    pub number: u32,
    /// Generation that was collected.
    pub generation: u32,
    /// See [`gc_reason`](crate::sources::dotnet::wire::clr::gc_reason).
    pub reason: u32,
    /// See [`gc_type`](crate::sources::dotnet::wire::clr::gc_type).
    pub kind: u32,
    /// Sum of its pauses in ns; `None`: no pause counts for it.
    pub pause: Option<u64>,
    /// Time from start to end in ns.
    pub duration: u64,
    /// When it had ended, as [`At::time`]: its end if it was a background one, else the end of the pause that it was in.
    pub ended: u64,
    /// Sizes in bytes, if the stream has them.
    pub heap: Option<HeapChange>,
}

/// Sizes of the heap around a collection in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapChange {
    /// After the collection before; `None`: it was not seen.
    pub before: Option<u64>,
    /// After the collection.
    pub after: u64,
    /// Survivors of the generations that were collected.
    pub promoted: u64,
}

/// An event, or the end of a pair of events, of which a record can be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Occurrence<'a> {
    /// The end of a garbage collection.
    Gc(Gc),
    /// An exception.
    Exception {
        /// Type with namespace.
        kind: Utf16<'a>,
        /// Message: personal data.
        message: Utf16<'a>,
        /// HRESULT.
        hresult: u32,
        /// 1 inner, 2 nested, 4 rethrown, 8 corrupted state, 16 CLS compliant.
        flags: u16,
    },
    /// The end of a wait for a lock.
    Contention {
        /// Time of the wait in ns.
        duration: u64,
        /// The lock's number; 0: unknown.
        lock: u64,
        /// Thread that held the lock when the wait began; 0: unknown.
        owner: u64,
    },
    /// An adjustment of the thread pool.
    Adjustment {
        /// Threads that the pool wants.
        target: u32,
        /// Work items completed a second.
        throughput: f64,
        /// See [`pool_reason`](crate::sources::dotnet::wire::clr::pool_reason).
        reason: u32,
    },
    /// An assembly was loaded.
    Assembly {
        /// Full name.
        name: Utf16<'a>,
    },
    /// A method was compiled.
    Method {
        /// Type with namespace.
        namespace: Utf16<'a>,
        /// Name without type.
        name: Utf16<'a>,
        /// Signature.
        signature: Utf16<'a>,
        /// Bytes of IL, if its start was seen.
        il_bytes: Option<u32>,
        /// Time to compile in ns, if its start was seen.
        duration: Option<u64>,
        /// Its flags: see [`tier`](crate::sources::dotnet::wire::clr::tier).
        flags: u32,
    },
    /// A sample of allocations.
    Allocation {
        /// Type of the object with namespace.
        kind: Utf16<'a>,
        /// Bytes that the sample stands for.
        bytes: u64,
    },
}
