//! Pairs of events of one thread: methods that are compiled, waits for locks, other waits. What the first
//! half tells is kept until the second one comes.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::system::{Summed, System, add};
use super::{At, Occurrence};
use crate::contract::{Histogram, Peer};
use crate::runtimes::{Layout, Open};
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::wire::clr::{Decoded, tier};

/// Nanoseconds in a microsecond.
pub(super) const US: u64 = 1000;
/// Flag of methods that were compiled, not loaded.
const JITTED: u32 = 8;
/// Source of waits by Monitor.Wait.
const MONITOR: u8 = 1;

const TIERS: Layout<1> = Layout { items: [m::JIT_TIER], label: "tier" };
const LOCKS: Layout<2> = Layout { items: [m::LOCK_TIME, m::LOCK_COUNT], label: "lock" };
const WAITS: Layout<1> = Layout { items: [m::WAIT_TIME], label: "wait" };
/// Waits for locks by length in us.
const CONTENTIONS: Histogram =
    Histogram { edges: &m::CONTENTION_EDGES, item: m::CONTENTIONS, names: m::contention_buckets };

/// A method that is being compiled.
#[derive(Clone, Copy, Debug)]
struct Compiling {
    at: u64,
    il_bytes: u32,
}

/// A wait for a lock that has begun.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    began: u64,
    lock: u64,
    owner: u64,
}

/// First halves.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// By thread and method.
    methods: Open<(u64, u64), Compiling>,
    /// By thread.
    locks: Open<u64, Wait>,
    /// Beginning and source by thread.
    waits: Open<u64, (u64, u8)>,
}

crate::heap_size!(Pairs { methods, locks, waits });

impl Pairs {
    /// The compilation of a method begins.
    pub(super) fn compile(&mut self, at: &At<'_>, method: u64, il_bytes: u32) {
        self.methods.begin((at.capture_thread, method), Compiling { at: at.time, il_bytes });
    }

    /// A method was loaded.
    pub(super) fn loaded<'a>(
        &mut self,
        at: &At<'_>,
        loaded: &Decoded<'a>,
        system: &mut System,
        peer: &mut Peer,
    ) -> Option<Occurrence<'a>> {
        let Decoded::MethodLoad { method, size, flags, namespace, name, signature, .. } = *loaded
        else {
            return None;
        };
        let began = self.methods.end(&(at.capture_thread, method));
        if flags & JITTED == 0 {
            return None;
        }
        add(m::JIT_CODE, size.into(), peer);
        system.sum(Summed::Methods, 1, peer);
        let duration = began.map(|began| at.time.saturating_sub(began.at));
        system.sum(Summed::JitTime, duration.unwrap_or_default(), peer);
        let hash = u64::from(flags >> 7 & 7);
        TIERS.count(&system.name, hash, [1], peer, |key| key.push_str(tier(flags)));
        let il_bytes = began.map(|began| began.il_bytes);
        Some(Occurrence::Method { namespace, name, signature, il_bytes, duration, flags })
    }

    /// A wait for a lock begins.
    pub(super) fn contend(&mut self, at: &At<'_>, lock: u64, owner: u64) {
        self.locks.begin(at.capture_thread, Wait { began: at.time, lock, owner });
    }

    /// A wait for a managed lock ends. `told`: its time in ns; `None`: the event does not have it.
    pub(super) fn locked(
        &mut self,
        at: &At<'_>,
        told: Option<u64>,
        process: &str,
        peer: &mut Peer,
    ) -> Option<Occurrence<'static>> {
        let wait = self.locks.end(&at.capture_thread);
        let measured = wait.map(|wait| at.time.saturating_sub(wait.began));
        let duration = told.or(measured)?;
        add(m::CONTENTION_TIME, duration, peer);
        peer.count_range(&CONTENTIONS, duration / US);
        let Wait { lock, owner, .. } = wait.unwrap_or_default();
        let hash = at.method.map_or(lock, |method| FixedState::default().hash_one(method));
        if hash != 0 {
            LOCKS.count(process, hash, [duration, 1], peer, |key| match at.method {
                Some(method) => key.push_str(method),
                None => key.push_str(&format!("lock@{lock:x}")),
            });
        }
        Some(Occurrence::Contention { duration, lock, owner })
    }

    /// Another wait begins.
    pub(super) fn wait(&mut self, at: &At<'_>, source: u8) {
        self.waits.begin(at.capture_thread, (at.time, source));
    }

    /// The wait of the thread ends.
    pub(super) fn waited(&mut self, at: &At<'_>, process: &str, peer: &mut Peer) {
        let Some((began, source)) = self.waits.end(&at.capture_thread) else { return };
        let (name, hash) = if source == MONITOR { ("monitor", 1) } else { ("other", 0) };
        let time = at.time.saturating_sub(began);
        WAITS.count(process, hash, [time], peer, |key| key.push_str(name));
    }

    /// Frees memory beyond what is open.
    pub(super) fn shrink(&mut self) {
        self.methods.shrink();
        self.locks.shrink();
        self.waits.shrink();
    }
}
