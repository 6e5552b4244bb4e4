//! Sums of a process that is not idle.

use super::gc::{Collections, Known, Start};
use super::heap::{Heap, Pauses};
use super::rows::{Jit, Locks, Types, Waits};
use super::system::{Counter, Deferred, System, Told, whole};
use super::{At, Occurrence};
use crate::contract::{Counters, Peer};
use crate::model::{HeapSize, MetricItem, Value};
use crate::runtimes::{Layout, Rows};
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::wire::clr::{Decoded, Utf16, pause_mode, pool_reason};

/// Bytes that a sample of allocations stands for on average (AllocationSampled).
const SAMPLED: f64 = 102_400.0;
/// Flags of exceptions.
const INNER: u16 = 1;
const NESTED: u16 = 2;
const RETHROWN: u16 = 4;
/// Kind of allocations of large objects.
const LARGE: u32 = 1;
/// Reason of adjustments of the pool: work waits and no thread is free.
const STARVATION: u32 = 6;
/// Flag of background collections in the mechanisms of a collection.
const CONCURRENT: u32 = 1;
/// Pause modes in which background collections may happen.
const INTERACTIVE: u32 = 1;
const SUSTAINED: u32 = 3;

/// Gauges that events of collections have.
const GAUGES: [MetricItem; 4] = [m::PINNED, m::HANDLES, m::FINALIZATION, m::MEMORY_LOAD];

const EXCEPTIONS: Layout<1> =
    Layout { table: m::EXCEPTION_TYPES, items: [m::EXCEPTION_TYPE], label: "type" };
const ALLOCATIONS: Layout<2> = Layout {
    table: m::ALLOC_TYPES,
    items: [m::ALLOC_TYPE_BYTES, m::ALLOC_TYPE_SAMPLES],
    label: "type",
};
const ADJUSTMENTS: Layout<1> =
    Layout { table: m::ADJUSTMENTS, items: [m::ADJUSTMENT], label: "reason" };

/// Sums of a process that is not idle.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) figures: Counters,
    pub(super) heap: Heap,
    pub(super) pauses: Pauses,
    collections: Collections,
    exceptions: Types<1>,
    allocations: Types<2>,
    locks: Locks,
    adjustments: Rows<1>,
    jit: Jit,
    waits: Waits,
    deferred: Deferred,
    told: Told,
    /// Sizes of generations come with the runtime's events.
    pub(super) has_sizes: bool,
    /// An unreported number of threads of the pool.
    pub(super) pool_threads: Option<u32>,
    /// Unreported values of [`GAUGES`].
    gauges: [Option<u64>; GAUGES.len()],
    /// An unreported size of the heap after a collection.
    size: Option<u64>,
    /// An unreported share of the time in collections, in percent.
    share: Option<f64>,
    /// End of the last pause.
    restarted: Option<u64>,
    /// Allocations are sampled by bytes: ticks do not count.
    sampled: bool,
    /// The mode that was reported: server, concurrent, pause mode.
    mode: Option<(bool, bool, u32)>,
    assemblies: u32,
}

crate::heap_size!(Sums {
    heap,
    pauses,
    collections,
    exceptions,
    allocations,
    locks,
    adjustments,
    jit,
    waits
});

impl Default for Sums {
    fn default() -> Self {
        Self {
            figures: Counters::default(),
            heap: Heap::default(),
            pauses: Pauses::default(),
            collections: Collections::default(),
            exceptions: Types::new(EXCEPTIONS),
            allocations: Types::new(ALLOCATIONS),
            locks: Locks::default(),
            adjustments: Rows::new(ADJUSTMENTS),
            jit: Jit::default(),
            waits: Waits::default(),
            deferred: Deferred::default(),
            told: Told::default(),
            has_sizes: false,
            pool_threads: None,
            gauges: [None; GAUGES.len()],
            size: None,
            share: None,
            restarted: None,
            sampled: false,
            mode: None,
            assemblies: 0,
        }
    }
}

impl Sums {
    /// Counts an event.
    #[inline(always)]
    pub(super) fn event<'a>(
        &mut self,
        owner: &str,
        at: &At<'_>,
        event: &Decoded<'a>,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        match *event {
            Decoded::Exception { kind, message, hresult, flags, .. } => {
                self.told.exceptions += 1;
                self.figures.add(m::INNER, (flags & INNER != 0).into());
                self.figures.add(m::NESTED, (flags & NESTED != 0).into());
                self.figures.add(m::RETHROWN, (flags & RETHROWN != 0).into());
                self.exceptions.add(owner, kind, [1], peer);
                Some(Occurrence::Exception { kind, message, hresult, flags })
            }
            Decoded::CatchStart { .. } => {
                self.figures.add(m::CAUGHT, 1);
                None
            }
            Decoded::AllocationTick { amount, kind, amount64, type_name, .. } => {
                let bytes = if amount64 == 0 { amount.into() } else { amount64 };
                (!self.sampled).then(|| self.allocation(owner, type_name, kind, bytes, peer))
            }
            Decoded::AllocationSampled { kind, type_name, object_size, .. } => {
                self.sampled = true;
                Some(self.allocation(owner, type_name, kind, estimate(object_size), peer))
            }
            Decoded::ContentionStart { flags: 0, lock, owner, .. } => {
                self.locks.begin(at, lock, owner);
                None
            }
            Decoded::ContentionStop { flags: 0, duration, .. } => {
                let told = (duration > 0.0).then(|| whole(duration));
                self.told.contentions += 1;
                self.locks.end(owner, at, told, &mut self.figures, peer)
            }
            Decoded::WaitStart { source, .. } => {
                self.waits.begin(at, source);
                None
            }
            Decoded::WaitStop { .. } => {
                self.waits.end(owner, at, peer);
                None
            }
            Decoded::JittingStarted { method, il_size, .. } => {
                self.jit.begin(at, method, il_size, &mut self.deferred);
                None
            }
            Decoded::MethodLoad { .. } => {
                let Self { jit, figures, deferred, .. } = self;
                jit.end(owner, at, event, figures, deferred, peer)
            }
            _ => {
                let mut known = Known::default();
                if self.collection(owner, at, event, &mut known, peer) {
                    self.known(&known)
                } else {
                    self.rare(owner, event, peer)
                }
            }
        }
    }

    fn allocation<'a>(
        &mut self,
        owner: &str,
        kind: Utf16<'a>,
        size: u32,
        bytes: u64,
        peer: &mut Peer,
    ) -> Occurrence<'a> {
        self.deferred.allocated += bytes;
        self.figures.add(m::ALLOC_LARGE, if size == LARGE { bytes } else { 0 });
        self.allocations.add(owner, kind, [bytes, 1], peer);
        Occurrence::Allocation { kind, bytes }
    }

    /// Events of collections and pauses, and what they make known; false: the event is another
    /// one.
    fn collection(
        &mut self,
        owner: &str,
        at: &At<'_>,
        event: &Decoded<'_>,
        known: &mut Known,
        peer: &mut Peer,
    ) -> bool {
        let thread = at.capture_thread;
        match *event {
            Decoded::SuspendBegin { reason, .. } => {
                self.collections.suspend(at.time, thread, reason);
            }
            Decoded::SuspendEnd { .. } => {
                let suspension = self.collections.suspended(at.time, thread);
                self.figures.add(m::SUSPENSION, suspension.unwrap_or_default());
            }
            Decoded::RestartEnd { .. } => {
                *known = self.collections.restarted(at.time, thread);
                if let Some(pause) = known.pause {
                    let since = self.restarted.replace(at.time);
                    self.share = since.and_then(|since| share(pause, at.time, since));
                }
            }
            Decoded::GcStart { count, depth, reason, kind, .. } => {
                self.figures.add(m::GC_BACKGROUND, (kind == 1).into());
                self.figures.add(m::GC_FOREGROUND, (kind == 2).into());
                self.told.collections.iter_mut().take(depth as usize + 1).for_each(|n| *n += 1);
                self.heap.collection(owner, depth, reason, peer);
                let start = Start { number: count, generation: depth, reason, kind };
                *known = self.collections.start(at.time, start);
            }
            Decoded::GcEnd { count, .. } => *known = self.collections.end(at.time, thread, count),
            Decoded::HeapStats {
                size0,
                promoted0,
                size1,
                promoted1,
                size2,
                promoted2,
                size3,
                promoted3,
                finalization_count,
                pinned,
                handles,
                size4,
                promoted4,
                ..
            } => {
                let sizes = [size0, size1, size2, size3, size4];
                self.has_sizes = true;
                for (generation, size) in sizes.into_iter().enumerate() {
                    self.heap.size(generation, size);
                }
                self.size = Some(sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size)));
                let [of_pinned, of_handles, of_finalization, _] = &mut self.gauges;
                *of_pinned = Some(pinned.into());
                *of_handles = Some(handles.into());
                *of_finalization = Some(finalization_count);
                let promoted = [promoted0, promoted1, promoted2, promoted3, promoted4];
                *known = self.collections.statistics(thread, sizes, promoted);
            }
            _ => return false,
        }
        true
    }

    /// Counts what a collection's event made known.
    fn known<'a>(&mut self, known: &Known) -> Option<Occurrence<'a>> {
        if let Some(pause) = known.pause {
            self.pauses.add(pause, &mut self.figures);
        }
        if let Some(end) = known.end {
            self.heap.time(end.generation, end.background, end.duration);
        }
        for (generation, bytes) in known.survivors.into_iter().flatten().enumerate() {
            self.heap.promoted(generation, bytes);
        }
        known.gc.map(Occurrence::Gc)
    }

    /// Events that come a few times a second at most.
    fn rare<'a>(
        &mut self,
        owner: &str,
        event: &Decoded<'a>,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        let mut set = |item, value| peer.set(item, value);
        match *event {
            Decoded::Unknown => self.figures.add(m::UNKNOWN, 1),
            Decoded::FinalizersEnd { count, .. } => self.figures.add(m::FINALIZED, count.into()),
            Decoded::ThreadCreated { .. } => self.figures.add(m::THREADS_CREATED, 1),
            Decoded::PoolSample { throughput, .. } => {
                set(m::POOL_THROUGHPUT, Value::F64(throughput));
            }
            Decoded::PoolLimits { min_workers, max_workers, .. } => {
                set(m::POOL_MIN, Value::U64(min_workers.into()));
                set(m::POOL_MAX, Value::U64(max_workers.into()));
            }
            Decoded::BackgroundJitStart { pending, .. }
            | Decoded::BackgroundJitStop { pending, .. } => {
                set(m::JIT_PENDING, Value::U64(pending.into()));
            }
            Decoded::PoolAdjustment { throughput, target, reason, .. } => {
                set(m::POOL_TARGET, Value::U64(target.into()));
                self.figures.add(m::STARVATION, (reason == STARVATION).into());
                let name = |key: &mut String| key.push_str(pool_reason(reason));
                self.adjustments.add(owner, reason.into(), [1], peer, name);
                return Some(Occurrence::Adjustment { target, throughput, reason });
            }
            Decoded::GlobalHeap { heaps, mechanisms, pause_mode, memory_load, .. } => {
                let [.., of_load] = &mut self.gauges;
                *of_load = Some(memory_load.into());
                self.mode(heaps > 1, mechanisms & CONCURRENT != 0, pause_mode, peer);
            }
            _ => {}
        }
        None
    }

    fn mode(&mut self, server: bool, concurrent: bool, mode: u32, peer: &mut Peer) {
        let before = self.mode.is_some_and(|(_, concurrent, _)| concurrent);
        let may = mode == INTERACTIVE || mode == SUSTAINED;
        let now = Some((server, concurrent || may || before, mode));
        if std::mem::replace(&mut self.mode, now) == now {
            return;
        }
        let kind = if server { "server" } else { "workstation" };
        let concurrent = if concurrent || may || before { "concurrent" } else { "not concurrent" };
        let text = format!("{kind}, {concurrent}, {}", pause_mode(mode));
        peer.set(m::GC_MODE, Value::Text(text.into()));
    }

    /// Figures of events that exist as counters too: most count if no counter does.
    pub(super) fn settle(
        &mut self,
        no_counters: bool,
        system: &mut System,
        assemblies: Option<u32>,
        peer: &mut Peer,
    ) {
        let Told { exceptions, contentions, collections } = std::mem::take(&mut self.told);
        let agreed = &mut system.agreed;
        for (of, item, more) in [
            (&mut agreed.exceptions, m::EXCEPTIONS, exceptions),
            (&mut agreed.contentions, m::CONTENTION_COUNT, contentions),
        ] {
            of.events(more);
            self.figures.add(item, of.take());
        }
        for (generation, (of, more)) in agreed.collections.iter_mut().zip(collections).enumerate() {
            of.events(more);
            let more = of.take();
            if more > 0 {
                self.heap.count(generation, more);
            }
        }
        let counts = |counter| no_counters || system.is_complete() && !system.has(counter);
        let Deferred { allocated, methods, il_bytes, jit_time } = &mut self.deferred;
        for (counter, item, sum) in [
            (Counter::Allocated, m::ALLOC_BYTES, allocated),
            (Counter::Methods, m::JIT_METHODS, methods),
            (Counter::IlBytes, m::JIT_IL_BYTES, il_bytes),
            (Counter::JitTime, m::JIT_TIME, jit_time),
        ] {
            if counts(counter) {
                self.figures.add(item, std::mem::take(sum));
            } else if system.has(counter) {
                *sum = 0;
            }
        }
        if let Some(threads) = self.pool_threads.take()
            && (no_counters || !system.has(Counter::PoolThreads))
        {
            let value = Value::U64(threads.into());
            peer.set(m::POOL_THREADS, value);
        }
        let (size, share) = (self.size.take(), self.share.take());
        if !no_counters {
            return;
        }
        if let Some(size) = size {
            peer.set(m::HEAP_TOTAL, size);
        }
        if let Some(share) = share {
            peer.set(m::TIME_IN_GC, share);
        }
        if let Some(assemblies) = assemblies
            && self.assemblies != assemblies
        {
            self.assemblies = assemblies;
            let value = Value::U64(assemblies.into());
            peer.set(m::ASSEMBLIES, value);
        }
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, owner: &str, peer: &mut Peer) {
        self.figures.report(peer);
        for (item, value) in GAUGES.into_iter().zip(&mut self.gauges) {
            if let Some(value) = value.take() {
                peer.set(item, value);
            }
        }
        self.heap.report(owner, peer);
        self.pauses.report(peer);
        self.exceptions.report(peer);
        self.allocations.report(peer);
        self.locks.report(peer);
        self.adjustments.report(peer);
        self.jit.report(peer);
        self.waits.report(peer);
    }

    /// Another stream begins: what the one before left open will not end.
    pub(super) fn reset(&mut self) {
        self.collections.reset();
        self.locks.reset();
        self.jit.reset();
        self.waits.reset();
        (self.restarted, self.sampled) = (None, false);
    }

    /// Frees what an idle process does not need; percentiles have a minute.
    pub(super) fn clear(&mut self, owner: &str, peer: &mut Peer) {
        self.collections.shrink();
        self.heap.clear(owner, peer);
        self.pauses.clear(peer);
        self.exceptions.clear(peer);
        self.allocations.clear(peer);
        self.locks.clear(peer);
        self.adjustments.clear(peer);
        self.jit.clear(peer);
        self.waits.clear(peer);
    }

    /// Nothing would be lost with this value.
    pub(super) fn is_empty(&self) -> bool {
        self.heap_size() == self.pauses.heap_size() && self.pauses.is_silent()
    }
}

/// Bytes that a sampled allocation of a size stands for.
fn estimate(size: u64) -> u64 {
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    let size = size as f64;
    whole(size / -(-size / SAMPLED).exp_m1())
}

/// A pause as percentage of the time since the end of the one before.
fn share(pause: u64, now: u64, since: u64) -> Option<f64> {
    let time = now.checked_sub(since).filter(|time| *time > 0)?;
    #[allow(clippy::cast_precision_loss, reason = "percent")]
    Some((pause as f64 / time as f64 * 100.0).min(100.0))
}
