//! Waits for locks.

use foldhash::fast::FixedState;
use std::hash::BuildHasher;

use super::occurrence::{At, Occurrence};
use crate::contract::{Counters, Peer};
use crate::runtimes::{Histogram, Layout, Open, Rows};
use crate::sources::dotnet::metrics as m;

const LAYOUT: Layout<2> =
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

impl Default for Locks {
    fn default() -> Self {
        Self {
            open: Open::default(),
            histogram: Histogram::new(&m::CONTENTION_EDGES, m::CONTENTIONS, m::contention_buckets),
            rows: Rows::new(LAYOUT),
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

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.open.memory() + self.rows.memory()
    }
}
