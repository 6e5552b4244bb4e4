//! Counters of System.Runtime as metrics, and figures that both events and counters tell: which of the two
//! counts (docs/protocols/dotnet.md 7).

use std::time::Duration;

use foldhash::fast::RandomState;

use super::Settings;
use super::generations::Generations;
use crate::contract::Peer;
use crate::model::{MetricItem, Value};
use crate::sources::dotnet::metrics as m;

/// Bytes in the runtime's MB.
const MB: f64 = 1e6;
/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;
/// Reports of shorter intervals have no means: .NET Core 3.1 sends some counters twice.
const SHORTEST: f64 = 0.1;
/// Intervals without a report after which gauges have no value.
const SILENCE: f64 = 3.0;
/// Reports of one counter after which a counter that has not come does not exist.
const ROUNDS: u32 = 2;
/// Seconds without any counter after which none will come.
const WITHOUT: u32 = 10;

/// Sums of events that exist as counters too. They wait until it is known that the counter does not
/// come: it counts the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Summed {
    Allocated,
    Methods,
    IlBytes,
    JitTime,
}

impl Summed {
    const ALL: [Self; 4] = [Self::Allocated, Self::Methods, Self::IlBytes, Self::JitTime];

    const fn figure(self) -> (Counter, MetricItem) {
        match self {
            Self::Allocated => (Counter::Allocated, m::ALLOC_BYTES),
            Self::Methods => (Counter::Methods, m::JIT_METHODS),
            Self::IlBytes => (Counter::IlBytes, m::JIT_IL_BYTES),
            Self::JitTime => (Counter::JitTime, m::JIT_TIME),
        }
    }
}

/// The metric of a counter.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A level, as it is or multiplied by a factor.
    Percent(MetricItem),
    Level(MetricItem, f64),
    /// An increment, multiplied by a factor.
    Sum(MetricItem, f64),
    /// An increment that counts only if the runtime's events do not come.
    Event(MetricItem, f64),
    /// A total since the start of the process.
    Total(MetricItem),
    /// Exceptions, waits for locks and collections of a generation, which events tell too.
    Exceptions,
    Contentions,
    Collections(u32),
    /// The size of a generation.
    Size(u32),
}

/// Rows `Variant "name" metric`, each with its unit, become [`Counter`].
macro_rules! counters {
    ($(#[doc = $unit:literal] $variant:ident $name:literal $target:expr;)*) => {
        /// A counter of System.Runtime.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Counter {
            $(#[doc = $unit] $variant,)*
        }

        impl Counter {
            /// The counter of a name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$variant,)*
                    _ => return None,
                })
            }

            const fn target(self) -> Target {
                match self {
                    $(Self::$variant => $target,)*
                }
            }
        }
    };
}

counters! {
    /// percent of all processors
    CpuUsage "cpu-usage" Target::Percent(m::CPU_USAGE);
    /// 10^6 bytes
    WorkingSet "working-set" Target::Level(m::WORKING_SET, MB);
    /// 10^6 bytes
    HeapSize "gc-heap-size" Target::Level(m::HEAP_TOTAL, MB);
    /// collections of generation 0 in the interval, higher ones included
    Gen0Count "gen-0-gc-count" Target::Collections(0);
    /// the same for generation 1
    Gen1Count "gen-1-gc-count" Target::Collections(1);
    /// the same for generation 2
    Gen2Count "gen-2-gc-count" Target::Collections(2);
    /// 10^6 bytes
    Gen0Budget "gen-0-gc-budget" Target::Level(m::BUDGET0, MB);
    /// threads
    PoolThreads "threadpool-thread-count" Target::Level(m::POOL_THREADS, 1.0);
    /// contentions in the interval
    Contentions "monitor-lock-contention-count" Target::Contentions;
    /// work items
    PoolQueue "threadpool-queue-length" Target::Level(m::POOL_QUEUE, 1.0);
    /// work items in the interval
    PoolCompleted "threadpool-completed-items-count" Target::Sum(m::POOL_COMPLETED, 1.0);
    /// bytes in the interval
    Allocated "alloc-rate" Target::Sum(m::ALLOC_BYTES, 1.0);
    /// timers
    Timers "active-timer-count" Target::Level(m::TIMERS, 1.0);
    /// percent
    Fragmentation "gc-fragmentation" Target::Percent(m::FRAGMENTATION);
    /// 10^6 bytes
    Committed "gc-committed" Target::Level(m::HEAP_COMMITTED, MB);
    /// exceptions in the interval
    Exceptions "exception-count" Target::Exceptions;
    /// percent
    TimeInGc "time-in-gc" Target::Percent(m::TIME_IN_GC);
    /// milliseconds in the interval
    PauseTime "total-pause-time-by-gc" Target::Event(m::PAUSE_TOTAL, MS);
    /// bytes
    Gen0Size "gen-0-size" Target::Size(0);
    /// bytes
    Gen1Size "gen-1-size" Target::Size(1);
    /// bytes
    Gen2Size "gen-2-size" Target::Size(2);
    /// bytes
    LohSize "loh-size" Target::Size(3);
    /// bytes
    PohSize "poh-size" Target::Size(4);
    /// assemblies
    Assemblies "assembly-count" Target::Level(m::ASSEMBLIES, 1.0);
    /// bytes since the start of the process
    IlBytes "il-bytes-jitted" Target::Total(m::JIT_IL_BYTES);
    /// methods since the start of the process
    Methods "methods-jitted-count" Target::Total(m::JIT_METHODS);
    /// milliseconds in the interval
    JitTime "time-in-jit" Target::Sum(m::JIT_TIME, MS);
}

/// The counters of one process, and what else its figures are made of.
#[derive(Debug)]
pub(super) struct System {
    pub(super) settings: Settings,
    /// The instance.
    pub(super) name: Box<str>,
    /// Of types: their rows are found by it as long as the process is there.
    pub(super) hasher: RandomState,
    pub(super) generations: Generations,
    /// Counters that have come, a bit for each.
    seen: u32,
    /// Gauges that have a value, a bit for each item.
    gauges: u128,
    /// Reports of the counter that came first.
    rounds: u32,
    first: Option<Counter>,
    /// Seconds of this stream.
    seconds: u32,
    /// The monotonic clock at the last report, and the interval that it covers in seconds.
    last: (Duration, f64),
    /// The last sizes of generations.
    sizes: [Option<u64>; 5],
    /// Sizes of generations come with the runtime's events.
    has_sizes: bool,
    /// Threads of the pool that events told in this stream.
    pool_threads: Option<u32>,
    /// Sums of events that wait, by [`Summed`].
    waiting: [u64; Summed::ALL.len()],
    /// Of this stream.
    agreed: AllAgreed,
}

crate::heap_size!(System { name });

/// Figures that both events and counters have.
#[derive(Clone, Copy, Debug, Default)]
struct AllAgreed {
    exceptions: Agreed,
    contentions: Agreed,
    /// Collections of generation 0, 1 and 2.
    collections: [Agreed; 3],
}

/// Adds what there is.
#[inline(always)]
pub(super) fn add(item: MetricItem, more: u64, peer: &mut Peer) {
    if more > 0 {
        peer.add(item, more);
    }
}

impl System {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            name: Box::default(),
            hasher: RandomState::default(),
            generations: Generations::default(),
            seen: 0,
            gauges: 0,
            rounds: 0,
            first: None,
            seconds: 0,
            last: (Duration::ZERO, 0.0),
            sizes: [None; 5],
            has_sizes: false,
            pool_threads: None,
            waiting: [0; Summed::ALL.len()],
            agreed: AllAgreed::default(),
        }
    }

    /// The process is an instance of this name: it has no rows yet.
    pub(super) fn start(&mut self, name: &str) {
        (self.name, self.generations) = (name.into(), Generations::default());
        self.sizes = [None; 5];
    }

    /// The counter has come.
    const fn has(&self, counter: Counter) -> bool {
        self.seen & 1 << counter as u32 != 0
    }

    /// A counter that has not come does not exist.
    const fn is_complete(&self) -> bool {
        self.rounds >= ROUNDS || self.rounds == 0 && self.seconds >= WITHOUT
    }

    /// Another stream begins.
    pub(super) fn reset(&mut self) {
        (self.rounds, self.seconds, self.pool_threads) = (0, 0, None);
        self.agreed = AllAgreed::default();
    }

    /// A counter was reported at a time, of an interval in seconds.
    pub(super) fn counter(
        &mut self,
        (now, interval): (Duration, f64),
        counter: Counter,
        value: f64,
        peer: &mut Peer,
    ) {
        self.seen |= 1 << counter as u32;
        let first = *self.first.get_or_insert(counter);
        let level = interval >= SHORTEST;
        if level {
            self.last = (now, interval);
            self.rounds = self.rounds.saturating_add(u32::from(first == counter));
        }
        let events = self.settings.runtime_events;
        match counter.target() {
            Target::Percent(item) if level && value.is_finite() => {
                self.gauge(item, Value::F64(value), peer);
            }
            Target::Level(item, unit) if level => {
                self.gauge(item, Value::U64(whole(value * unit)), peer);
            }
            Target::Total(item) if level => peer.set(item, whole(value)),
            Target::Sum(item, unit) => add(item, whole(value * unit), peer),
            Target::Event(item, unit) if !events => add(item, whole(value * unit), peer),
            Target::Size(generation) if level && !self.has_sizes => {
                self.size(generation, whole(value), peer);
            }
            Target::Exceptions => {
                add(m::EXCEPTIONS, self.agreed.exceptions.counter(whole(value)), peer);
            }
            Target::Contentions => {
                add(m::CONTENTION_COUNT, self.agreed.contentions.counter(whole(value)), peer);
            }
            Target::Collections(generation) => {
                let of = self.agreed.collections.get_mut(generation as usize);
                let more = of.map_or(0, |of| of.counter(whole(value)));
                self.generations.add(&self.name, generation, m::GC_COUNT, more, peer);
            }
            _ => {}
        }
    }

    /// The size of a generation, if it is another one than before.
    fn size(&mut self, generation: u32, size: u64, peer: &mut Peer) {
        let Some(known) = self.sizes.get_mut(generation as usize) else { return };
        if known.replace(size) != Some(size) {
            self.generations.size(&self.name, generation, size, peer);
        }
    }

    /// Events tell the sizes of all generations.
    pub(super) fn sizes(&mut self, sizes: [u64; 5], peer: &mut Peer) {
        self.has_sizes = true;
        (0..).zip(sizes).for_each(|(generation, size)| self.size(generation, size, peer));
        let all = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
        self.without_counters(m::HEAP_TOTAL, all, peer);
    }

    /// Events tell a gauge that counters tell better.
    pub(super) fn without_counters(
        &self,
        item: MetricItem,
        value: impl Into<Value>,
        peer: &mut Peer,
    ) {
        if self.settings.no_counters {
            peer.set(item, value);
        }
    }

    /// Events tell how many assemblies are loaded.
    pub(super) fn assemblies(&self, loaded: u32, peer: &mut Peer) {
        if self.settings.from_start {
            self.without_counters(m::ASSEMBLIES, u64::from(loaded), peer);
        }
    }

    /// Events tell the threads of the pool, most of them the same as before.
    pub(super) fn pool_threads(&mut self, threads: u32, peer: &mut Peer) {
        let counts = self.settings.no_counters || !self.has(Counter::PoolThreads);
        if counts && self.pool_threads.replace(threads) != Some(threads) {
            peer.set(m::POOL_THREADS, u64::from(threads));
        }
    }

    /// Events tell exceptions.
    pub(super) fn exceptions(&mut self, more: u64, peer: &mut Peer) {
        add(m::EXCEPTIONS, self.agreed.exceptions.events(more), peer);
    }

    /// Events tell waits for locks.
    pub(super) fn contentions(&mut self, more: u64, peer: &mut Peer) {
        add(m::CONTENTION_COUNT, self.agreed.contentions.events(more), peer);
    }

    /// Events tell collections of a generation, those of higher ones included.
    pub(super) fn collections(&mut self, generation: u32, more: u64, peer: &mut Peer) {
        let of = self.agreed.collections.get_mut(generation as usize);
        let more = of.map_or(0, |of| of.events(more));
        self.generations.add(&self.name, generation, m::GC_COUNT, more, peer);
    }

    /// Events tell a figure that may have a counter.
    pub(super) fn sum(&mut self, of: Summed, more: u64, peer: &mut Peer) {
        let (counter, item) = of.figure();
        if self.settings.no_counters {
            add(item, more, peer);
        } else if !self.has(counter)
            && let Some(sum) = self.waiting.get_mut(of as usize)
        {
            *sum = sum.wrapping_add(more);
        }
    }

    /// Counts what waits if its counter does not come, and forgets it if it does.
    pub(super) fn settle(&mut self, peer: &mut Peer) {
        for (at, (counter, item)) in Summed::ALL.map(Summed::figure).into_iter().enumerate() {
            let (has, only_events) = (self.has(counter), self.settings.no_counters);
            if (has || only_events || self.is_complete())
                && let Some(sum) = self.waiting.get_mut(at)
            {
                let more = std::mem::take(sum);
                add(item, if only_events || !has { more } else { 0 }, peer);
            }
        }
    }

    fn gauge(&mut self, item: MetricItem, value: Value, peer: &mut Peer) {
        self.gauges |= 1 << item.get();
        peer.set(item, value);
    }

    /// A second has passed.
    pub(super) fn tick(&mut self, now: Duration, peer: &mut Peer) {
        self.seconds = self.seconds.saturating_add(1);
        self.settle(peer);
        let (last, interval) = self.last;
        if self.gauges != 0 && now.saturating_sub(last).as_secs_f64() > SILENCE * interval.max(1.0)
        {
            self.silence(peer);
        }
    }

    /// Gauges have no value until they are reported again.
    pub(super) fn silence(&mut self, peer: &mut Peer) {
        let mut left = std::mem::take(&mut self.gauges);
        while left != 0 {
            if let Ok(item) = u16::try_from(left.trailing_zeros()) {
                peer.unset(MetricItem::new(item));
            }
            left &= left - 1;
        }
    }
}

/// A value as a whole number; 0 if it is negative or none.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; NaN is 0")]
pub(super) fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A figure of one stream that the runtime both counts and tells by events.
///
/// The counter is exact: it has what events leave out (`throw;` since .NET 9, whatever was lost).
/// Events are at once, and last until the end of the stream. Both only grow, so the greater one is
/// shown. Neither the order in which they come nor an interval that is cut anywhere else matters.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    events: u64,
    counter: u64,
    shown: u64,
}

impl Agreed {
    /// Events have come. What is to be added to what was shown.
    fn events(&mut self, more: u64) -> u64 {
        self.events = self.events.saturating_add(more);
        self.rise()
    }

    /// The counter has grown. What is to be added to what was shown.
    fn counter(&mut self, more: u64) -> u64 {
        self.counter = self.counter.saturating_add(more);
        self.rise()
    }

    fn rise(&mut self) -> u64 {
        let most = self.events.max(self.counter);
        most.saturating_sub(std::mem::replace(&mut self.shown, most))
    }
}

#[cfg(test)]
mod tests {
    use super::Agreed;

    /// `(events, counter)` of each step, and all that was shown.
    fn shown(steps: &[(u64, u64)]) -> Vec<u64> {
        let (mut agreed, mut sum) = (Agreed::default(), 0);
        let step = |(events, counter): &(u64, u64)| {
            sum += agreed.events(*events) + agreed.counter(*counter);
            sum
        };
        steps.iter().map(step).collect()
    }

    #[test]
    fn the_counter_has_what_events_leave_out_and_events_are_sooner() {
        assert_eq!(shown(&[(3, 0), (2, 0), (0, 5), (4, 0)]), [3, 5, 5, 9], "they agree");
        assert_eq!(shown(&[(7, 0), (0, 14), (1, 0), (0, 2)]), [7, 14, 14, 16], "rethrown");
        assert_eq!(shown(&[(0, 4), (4, 0)]), [4, 4], "the counter came first");
        // A day of intervals that are cut within a batch of events.
        let mut steps = Vec::new();
        for n in 0..86_400 {
            steps.push((10, if n % 2 == 0 { 9 } else { 11 }));
        }
        assert_eq!(shown(&steps).last(), Some(&864_000));
    }
}
