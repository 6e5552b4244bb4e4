//! What each event of the runtime adds to, in a process that is not idle.

use std::hash::BuildHasher;
use std::time::Duration;

use super::gc::{Collections, Known, Start};
use super::generations::BACKGROUND;
use super::pairs::{Pairs, US};
use super::system::{Summed, System, add, whole};
use super::{At, Occurrence};
use crate::contract::{Histogram, Peer};
use crate::meter::{Latency, MergedLatency};
use crate::model::{HeapSize, Value};
use crate::runtimes::Layout;
use crate::sources::dotnet::limits::TEXT;
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::wire::clr::{Decoded, Utf16, gc_reason, pause_mode, pool_reason};

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
/// Longer pauses count as an hour in percentiles, in us.
const LONGEST: u64 = 3_600_000_000;

const REASONS: Layout<1> = Layout { items: [m::GC_REASON], label: "reason" };
const EXCEPTIONS: Layout<1> = Layout { items: [m::EXCEPTION_TYPE], label: "type" };
const ALLOCATIONS: Layout<2> =
    Layout { items: [m::ALLOC_TYPE_BYTES, m::ALLOC_TYPE_SAMPLES], label: "type" };
const ADJUSTMENTS: Layout<1> = Layout { items: [m::ADJUSTMENT], label: "reason" };
/// Pauses by length in us.
const PAUSES: Histogram =
    Histogram { edges: &m::PAUSE_EDGES, item: m::PAUSES, names: m::pause_buckets };

/// What is open in a process that is not idle, and its pauses of the last minute.
#[derive(Debug, Default)]
pub(super) struct Sums {
    collections: Collections,
    pairs: Pairs,
    /// In us, on their way to those of the program.
    pauses: Latency<LONGEST>,
    /// End of the last pause.
    restarted: Option<u64>,
    /// Allocations are sampled by bytes: ticks do not count.
    sampled: bool,
    /// The mode that was reported: server, concurrent, pause mode.
    mode: Option<(bool, bool, u32)>,
}

crate::heap_size!(Sums { collections, pairs, pauses });

impl Sums {
    /// Counts an event.
    #[inline(always)]
    pub(super) fn event<'a>(
        &mut self,
        at: &At<'_>,
        event: &Decoded<'a>,
        system: &mut System,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        match *event {
            Decoded::Exception { kind, message, hresult, flags, .. } => {
                system.exceptions(1, peer);
                for (flag, item) in
                    [(INNER, m::INNER), (NESTED, m::NESTED), (RETHROWN, m::RETHROWN)]
                {
                    add(item, (flags & flag != 0).into(), peer);
                }
                let hash = system.hasher.hash_one(kind.bytes());
                EXCEPTIONS.count(&system.name, hash, [1], peer, |key| kind.push_to(key, TEXT));
                Some(Occurrence::Exception { kind, message, hresult, flags })
            }
            Decoded::CatchStart { .. } => {
                peer.add(m::CAUGHT, 1);
                None
            }
            Decoded::AllocationTick { amount, kind, amount64, type_name, .. } => {
                let bytes = if amount64 == 0 { amount.into() } else { amount64 };
                (!self.sampled).then(|| allocation(type_name, kind, bytes, system, peer))
            }
            Decoded::AllocationSampled { kind, type_name, object_size, .. } => {
                self.sampled = true;
                Some(allocation(type_name, kind, estimate(object_size), system, peer))
            }
            Decoded::ContentionStart { flags: 0, lock, owner, .. } => {
                self.pairs.contend(at, lock, owner);
                None
            }
            Decoded::ContentionStop { flags: 0, duration, .. } => {
                let told = (duration > 0.0).then(|| whole(duration));
                system.contentions(1, peer);
                self.pairs.locked(at, told, &system.name, peer)
            }
            Decoded::WaitStart { source, .. } => {
                self.pairs.wait(at, source);
                None
            }
            Decoded::WaitStop { .. } => {
                self.pairs.waited(at, &system.name, peer);
                None
            }
            Decoded::JittingStarted { method, il_size, .. } => {
                system.sum(Summed::IlBytes, il_size.into(), peer);
                self.pairs.compile(at, method, il_size);
                None
            }
            Decoded::MethodLoad { .. } => self.pairs.loaded(at, event, system, peer),
            _ => self.collection(at, event, system, peer),
        }
    }

    /// Events of collections and pauses, and what they make known; others are rare.
    fn collection<'a>(
        &mut self,
        at: &At<'_>,
        event: &Decoded<'a>,
        system: &mut System,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        let thread = at.capture_thread;
        let mut known = Known::default();
        match *event {
            Decoded::SuspendBegin { reason, .. } => {
                self.collections.suspend(at.time, thread, reason);
            }
            Decoded::SuspendEnd { .. } => {
                let suspension = self.collections.suspended(at.time, thread);
                add(m::SUSPENSION, suspension.unwrap_or_default(), peer);
            }
            Decoded::RestartEnd { .. } => {
                self.collections.restarted(at.time, thread, &mut known);
                if let Some(pause) = known.pause {
                    let since = self.restarted.replace(at.time);
                    if let Some(share) = since.and_then(|since| share(pause, at.time, since)) {
                        system.without_counters(m::TIME_IN_GC, share, peer);
                    }
                }
            }
            Decoded::GcStart { count, depth, reason, kind, .. } => {
                add(m::GC_BACKGROUND, (kind == 1).into(), peer);
                add(m::GC_FOREGROUND, (kind == 2).into(), peer);
                for generation in 0..=depth.min(2) {
                    system.collections(generation, 1, peer);
                }
                let System { name, generations, .. } = system;
                generations.add(name, depth.min(2), m::GC_OWN, 1, peer);
                REASONS.count(name, reason.into(), [1], peer, |key| {
                    key.push_str(gc_reason(reason));
                });
                let start = Start { number: count, generation: depth, reason, kind };
                self.collections.start(at.time, start, &mut known);
            }
            Decoded::GcEnd { count, .. } => {
                self.collections.end(at.time, thread, count, &mut known);
            }
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
                system.sizes(sizes, peer);
                peer.set(m::PINNED, u64::from(pinned));
                peer.set(m::HANDLES, u64::from(handles));
                peer.set(m::FINALIZATION, finalization_count);
                let promoted = [promoted0, promoted1, promoted2, promoted3, promoted4];
                self.collections.statistics(thread, sizes, promoted, &mut known);
            }
            _ => return self.rare(event, system, peer),
        }
        self.known(&known, system, peer)
    }

    /// Counts what a collection's event made known.
    fn known<'a>(
        &mut self,
        known: &Known,
        system: &mut System,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        if let Some(pause) = known.pause {
            peer.add(m::PAUSE_TOTAL, pause);
            peer.add(m::PAUSE_COUNT, 1);
            peer.set(m::PAUSE_LAST, pause);
            peer.longest(m::PAUSE_MAX, pause);
            peer.count_range(&PAUSES, pause / US);
            self.pauses.record(pause / US);
        }
        let System { name, generations, .. } = system;
        if let Some(end) = known.end {
            let row = if end.background { BACKGROUND } else { end.generation.min(2) };
            generations.add(name, row, m::GC_TIME, end.duration, peer);
        }
        if let Some(survivors) = known.survivors {
            for (generation, bytes) in (0..).zip(survivors) {
                generations.add(name, generation, m::HEAP_PROMOTED, bytes, peer);
            }
        }
        known.gc.map(Occurrence::Gc)
    }

    /// Events that come a few times a second at most.
    fn rare<'a>(
        &mut self,
        event: &Decoded<'a>,
        system: &System,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        match *event {
            Decoded::Unknown => peer.add(m::UNKNOWN, 1),
            Decoded::FinalizersEnd { count, .. } => add(m::FINALIZED, count.into(), peer),
            Decoded::ThreadCreated { .. } => peer.add(m::THREADS_CREATED, 1),
            Decoded::PoolSample { throughput, .. } => peer.set(m::POOL_THROUGHPUT, throughput),
            Decoded::PoolLimits { min_workers, max_workers, .. } => {
                peer.set(m::POOL_MIN, u64::from(min_workers));
                peer.set(m::POOL_MAX, u64::from(max_workers));
            }
            Decoded::BackgroundJitStart { pending, .. }
            | Decoded::BackgroundJitStop { pending, .. } => {
                peer.set(m::JIT_PENDING, u64::from(pending));
            }
            Decoded::PoolAdjustment { throughput, target, reason, .. } => {
                peer.set(m::POOL_TARGET, u64::from(target));
                add(m::STARVATION, (reason == STARVATION).into(), peer);
                let name = |key: &mut String| key.push_str(pool_reason(reason));
                ADJUSTMENTS.count(&system.name, reason.into(), [1], peer, name);
                return Some(Occurrence::Adjustment { target, throughput, reason });
            }
            Decoded::GlobalHeap { heaps, mechanisms, pause_mode, memory_load, .. } => {
                peer.set(m::MEMORY_LOAD, u64::from(memory_load));
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

    /// Another stream begins: what the one before left open will not end.
    pub(super) fn reset(&mut self) {
        self.collections.reset();
        self.pairs = Pairs::default();
        (self.restarted, self.sampled) = (None, false);
    }

    /// A second has passed. `service`: pauses of the program. True: the process is idle, and nothing would be
    /// lost with this value.
    pub(super) fn tick(
        &mut self,
        now: Duration,
        service: Option<&MergedLatency>,
        idle: bool,
    ) -> bool {
        self.pauses.changed(now, service);
        if idle {
            self.collections.shrink();
            self.pairs.shrink();
        }
        idle && self.pauses.is_empty() && self.heap_size() == 0
    }
}

fn allocation<'a>(
    kind: Utf16<'a>,
    size: u32,
    bytes: u64,
    system: &mut System,
    peer: &mut Peer,
) -> Occurrence<'a> {
    system.sum(Summed::Allocated, bytes, peer);
    add(m::ALLOC_LARGE, if size == LARGE { bytes } else { 0 }, peer);
    let hash = system.hasher.hash_one(kind.bytes());
    ALLOCATIONS.count(&system.name, hash, [bytes, 1], peer, |key| kind.push_to(key, TEXT));
    Occurrence::Allocation { kind, bytes }
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
