//! Sums by name: types of exceptions and objects, tiers of methods, locks and other waits.

use std::hash::BuildHasher;

use foldhash::fast::{FixedState, RandomState};

use super::system::Deferred;
use super::{At, Occurrence};
use crate::contract::{Counters, Peer};
use crate::runtimes::{Histogram, Layout, Open, Rows};
use crate::sources::dotnet::limits::TEXT;
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::wire::clr::{Decoded, Utf16, tier};

/// Rows of a table by type.
#[derive(Debug)]
pub(super) struct Types<const N: usize> {
    hasher: RandomState,
    rows: Rows<N>,
}

crate::heap_size!([const N: usize] Types<N> { rows });

impl<const N: usize> Types<N> {
    pub(super) fn new(layout: Layout<N>) -> Self {
        Self { hasher: RandomState::default(), rows: Rows::new(layout) }
    }

    /// Adds to the sums of a type.
    #[inline]
    pub(super) fn add(&mut self, owner: &str, kind: Utf16<'_>, more: [u64; N], peer: &mut Peer) {
        let hash = self.hasher.hash_one(kind.bytes());
        self.rows.add(owner, hash, more, peer, |key| kind.push_to(key, TEXT));
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        self.rows.report(peer);
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, peer: &mut Peer) {
        self.rows.clear(peer);
    }
}

/// Flag of methods that were compiled, not loaded.
const JITTED: u32 = 8;

const TIERS: Layout<1> = Layout { table: m::TIERS, items: [m::JIT_TIER], label: "tier" };

/// A method that is being compiled.
#[derive(Clone, Copy, Debug)]
struct Started {
    at: u64,
    il_bytes: u32,
}

/// Compiled methods of one process.
#[derive(Debug)]
pub(super) struct Jit {
    /// By thread and method.
    open: Open<(u64, u64), Started>,
    tiers: Rows<1>,
}

crate::heap_size!(Jit { open, tiers });

impl Default for Jit {
    fn default() -> Self {
        Self { open: Open::default(), tiers: Rows::new(TIERS) }
    }
}

impl Jit {
    /// The compilation of a method begins.
    pub(super) fn begin(
        &mut self,
        at: &At<'_>,
        method: u64,
        il_bytes: u32,
        deferred: &mut Deferred,
    ) {
        deferred.il_bytes += u64::from(il_bytes);
        self.open.begin((at.capture_thread, method), Started { at: at.time, il_bytes });
    }

    /// A method was loaded.
    pub(super) fn end<'a>(
        &mut self,
        owner: &str,
        at: &At<'_>,
        loaded: &Decoded<'a>,
        figures: &mut Counters,
        deferred: &mut Deferred,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        let Decoded::MethodLoad { method, size, flags, namespace, name, signature, .. } = *loaded
        else {
            return None;
        };
        let started = self.open.end(&(at.capture_thread, method));
        if flags & JITTED == 0 {
            return None;
        }
        figures.add(m::JIT_CODE, size.into());
        deferred.methods += 1;
        let duration = started.map(|started| at.time.saturating_sub(started.at));
        deferred.jit_time += duration.unwrap_or_default();
        let hash = u64::from(flags >> 7 & 7);
        self.tiers.add(owner, hash, [1], peer, |key| key.push_str(tier(flags)));
        let il_bytes = started.map(|started| started.il_bytes);
        Some(Occurrence::Method { namespace, name, signature, il_bytes, duration, flags })
    }

    /// Another stream begins.
    pub(super) fn reset(&mut self) {
        self.open = Open::default();
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        self.tiers.report(peer);
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, peer: &mut Peer) {
        self.open.shrink();
        self.tiers.clear(peer);
    }
}

const LOCKS: Layout<2> =
    Layout { table: m::LOCKS, items: [m::LOCK_TIME, m::LOCK_COUNT], label: "lock" };

/// A wait that has begun.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    began: u64,
    lock: u64,
    owner: u64,
}

/// Waits for locks of one process.
#[derive(Debug)]
pub(super) struct Locks {
    /// By thread.
    open: Open<u64, Wait>,
    histogram: Histogram<{ m::CONTENTION_EDGES.len() }>,
    rows: Rows<2>,
}

crate::heap_size!(Locks { open, rows });

impl Default for Locks {
    fn default() -> Self {
        Self {
            open: Open::default(),
            histogram: Histogram::new(&m::CONTENTION_EDGES, m::CONTENTIONS, m::contention_buckets),
            rows: Rows::new(LOCKS),
        }
    }
}

impl Locks {
    /// A wait begins.
    pub(super) fn begin(&mut self, at: &At<'_>, lock: u64, owner: u64) {
        self.open.begin(at.capture_thread, Wait { began: at.time, lock, owner });
    }

    /// A wait of a managed lock ends. `told`: its time in ns; `None`: the event does not have it.
    pub(super) fn end(
        &mut self,
        owner: &str,
        at: &At<'_>,
        told: Option<u64>,
        figures: &mut Counters,
        peer: &mut Peer,
    ) -> Option<Occurrence<'static>> {
        let wait = self.open.end(&at.capture_thread);
        let measured = wait.map(|wait| at.time.saturating_sub(wait.began));
        let duration = told.or(measured)?;
        figures.add(m::CONTENTION_TIME, duration);
        self.histogram.add(duration);
        let wait = wait.unwrap_or_default();
        let name = |key: &mut String| match at.method {
            Some(method) => key.push_str(method),
            None => key.push_str(&format!("lock@{:x}", wait.lock)),
        };
        let hash = match at.method {
            Some(method) => FixedState::default().hash_one(method),
            None => wait.lock,
        };
        if hash != 0 {
            self.rows.add(owner, hash, [duration, 1], peer, name);
        }
        Some(Occurrence::Contention { duration, lock: wait.lock, owner: wait.owner })
    }

    /// Another stream begins.
    pub(super) fn reset(&mut self) {
        self.open = Open::default();
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        self.histogram.report(peer);
        self.rows.report(peer);
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, peer: &mut Peer) {
        self.open.shrink();
        self.histogram.clear(peer);
        self.rows.clear(peer);
    }
}

const WAITS: Layout<1> = Layout { table: m::WAITS, items: [m::WAIT_TIME], label: "wait" };
/// Source of waits by Monitor.Wait.
const MONITOR: u8 = 1;

/// Waits of one process.
#[derive(Debug)]
pub(super) struct Waits {
    /// Beginning and source by thread.
    open: Open<u64, (u64, u8)>,
    rows: Rows<1>,
}

crate::heap_size!(Waits { open, rows });

impl Default for Waits {
    fn default() -> Self {
        Self { open: Open::default(), rows: Rows::new(WAITS) }
    }
}

impl Waits {
    /// A wait begins.
    pub(super) fn begin(&mut self, at: &At<'_>, source: u8) {
        self.open.begin(at.capture_thread, (at.time, source));
    }

    /// The wait of the thread ends.
    pub(super) fn end(&mut self, owner: &str, at: &At<'_>, peer: &mut Peer) {
        let Some((began, source)) = self.open.end(&at.capture_thread) else { return };
        let time = at.time.saturating_sub(began);
        let name = if source == MONITOR { "monitor" } else { "other" };
        let hash = u64::from(source == MONITOR);
        self.rows.add(owner, hash, [time], peer, |key| key.push_str(name));
    }

    /// Another stream begins.
    pub(super) fn reset(&mut self) {
        self.open = Open::default();
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        self.rows.report(peer);
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, peer: &mut Peer) {
        self.open.shrink();
        self.rows.clear(peer);
    }
}
