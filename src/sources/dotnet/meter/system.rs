//! Counters of System.Runtime as metrics, and figures of events that give way to a counter
//! (docs/protocols/dotnet.md 7).

use std::time::Duration;

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
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deferred {
    pub(super) allocated: u64,
    pub(super) methods: u64,
    pub(super) il_bytes: u64,
    pub(super) jit_time: u64,
}

/// Figures that both events and counters have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AllAgreed {
    pub(super) exceptions: Agreed,
    pub(super) contentions: Agreed,
    /// Collections of generation 0, 1 and 2.
    pub(super) collections: [Agreed; 3],
}

/// Events of these figures since the last report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    pub(super) exceptions: u64,
    pub(super) contentions: u64,
    pub(super) collections: [u64; 3],
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
    Collections(usize),
    /// The size of a generation.
    Size(usize),
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

/// The counters of one process.
#[derive(Debug, Default)]
pub(super) struct System {
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
    /// Of this stream.
    pub(super) agreed: AllAgreed,
}

/// A counter of a generation.
#[derive(Clone, Copy, Debug)]
pub(super) enum OfGeneration {
    Collections(usize, u64),
    Size(usize, u64),
}

/// Adds an increment.
fn add(item: MetricItem, more: u64, peer: &mut Peer) {
    if more > 0 {
        peer.add(item, more);
    }
}

/// A counter's report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) now: Duration,
    pub(super) counter: Counter,
    pub(super) value: f64,
    pub(super) interval: f64,
}

impl System {
    /// The counter has come.
    pub(super) const fn has(&self, counter: Counter) -> bool {
        self.seen & 1 << counter as u32 != 0
    }

    /// A counter that has not come does not exist.
    pub(super) const fn is_complete(&self) -> bool {
        self.rounds >= ROUNDS || self.rounds == 0 && self.seconds >= WITHOUT
    }

    /// Another stream begins.
    pub(super) fn reset(&mut self) {
        (self.rounds, self.seconds) = (0, 0);
        self.agreed = AllAgreed::default();
    }

    /// A counter was reported. `events`: the runtime's events come. Returns what belongs to a
    /// generation.
    pub(super) fn report(
        &mut self,
        report: Report,
        events: bool,
        peer: &mut Peer,
    ) -> Option<OfGeneration> {
        let Report { now, counter, value, interval } = report;
        self.seen |= 1 << counter as u32;
        let first = *self.first.get_or_insert(counter);
        let level = interval >= SHORTEST;
        if level {
            self.last = (now, interval);
            self.rounds = self.rounds.saturating_add(u32::from(first == counter));
        }
        match counter.target() {
            Target::Percent(item) if level && value.is_finite() => {
                self.gauge(item, Value::F64(value), peer);
            }
            Target::Level(item, unit) if level => {
                self.gauge(item, Value::U64(whole(value * unit)), peer);
            }
            Target::Total(item) if level => {
                peer.set(item, whole(value));
            }
            Target::Sum(item, unit) => add(item, whole(value * unit), peer),
            Target::Event(item, unit) if !events => add(item, whole(value * unit), peer),
            Target::Size(generation) if level => return self.size(generation, whole(value)),
            Target::Exceptions => {
                self.agreed.exceptions.counter(whole(value));
                add(m::EXCEPTIONS, self.agreed.exceptions.take(), peer);
            }
            Target::Contentions => {
                self.agreed.contentions.counter(whole(value));
                add(m::CONTENTION_COUNT, self.agreed.contentions.take(), peer);
            }
            Target::Collections(generation) => {
                let of = self.agreed.collections.get_mut(generation)?;
                of.counter(whole(value));
                let more = of.take();
                return (more > 0).then_some(OfGeneration::Collections(generation, more));
            }
            _ => {}
        }
        None
    }

    /// The size of a generation, if it is another one than that of the last report.
    fn size(&mut self, generation: usize, size: u64) -> Option<OfGeneration> {
        let known = self.sizes.get_mut(generation)?;
        (known.replace(size) != Some(size)).then_some(OfGeneration::Size(generation, size))
    }

    fn gauge(&mut self, item: MetricItem, value: Value, peer: &mut Peer) {
        self.gauges |= 1 << item.get();
        peer.set(item, value);
    }

    /// A second has passed.
    pub(super) fn tick(&mut self, now: Duration, peer: &mut Peer) {
        self.seconds = self.seconds.saturating_add(1);
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
pub(super) struct Agreed {
    events: u64,
    counter: u64,
    shown: u64,
}

impl Agreed {
    /// Events have come.
    pub(super) const fn events(&mut self, more: u64) {
        self.events = self.events.saturating_add(more);
    }

    /// The counter has grown.
    pub(super) const fn counter(&mut self, more: u64) {
        self.counter = self.counter.saturating_add(more);
    }

    /// What is to be added to what was shown.
    pub(super) fn take(&mut self) -> u64 {
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
            agreed.events(*events);
            agreed.counter(*counter);
            sum += agreed.take();
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
