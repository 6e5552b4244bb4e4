//! A bounded stream of packed records with absolute sequence numbers and a cursor for each client
//! context.
//!
//! ```text
//!   first                        next            sequence numbers; records [first, next) are held
//!     |r r r r r r r r r r r r r r|
//!        ^ cursor of client A    ^ cursor of client B (has seen everything)
//!  ^ cursor of client C: has missed first - cursor records
//! ```
//! Records are held packed in high resolution, so that a delivery is a header and at most two
//! copies, however many clients read. A delivery in low resolution writes another header for each
//! record: who asks for it pays for it, and neither the producers nor the memory of the others.
//! Only a filter looks at single records.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::batch::Batch;
use super::client::{Client, Delivery, ReadRequest};
use super::ring::Ring;
use crate::Stamp;

mod reading;

/// A stream keeps at least this much, however many streams share the budget: a few records.
const SHARE_MIN: usize = 4 << 10;
/// Most bytes of the newest records, but for a single one.
const NEWEST_BYTES: usize = 256 << 10;

/// Memory that all streams of the PMDA share evenly (`events.memory`).
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    streams: AtomicUsize,
    held: AtomicUsize,
}

impl Budget {
    /// `limit` bytes of packed records in all.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: AtomicUsize::new(limit),
            streams: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
        })
    }

    /// Changes the limit; streams shrink when they are next appended to or trimmed.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Bytes of packed records that may be held.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes of packed records held now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn share(&self) -> usize {
        (self.limit() / self.streams.load(Ordering::Relaxed).max(1)).max(SHARE_MIN)
    }
}

/// Counters and gauges of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Records ever appended.
    pub count: u64,
    /// Packed bytes (high resolution) ever appended.
    pub bytes: u64,
    /// Records dropped before some client that was reading had seen them.
    pub lost: u64,
    /// Parameters cut or left out, because their record would have been larger than
    /// [`super::RECORD_MAX`].
    pub truncated: u64,
    /// Bytes held now.
    pub memory: u64,
    /// Contexts with a cursor.
    pub clients: u32,
}

/// The stream of one event kind and instance.
#[derive(Debug)]
pub struct Stream {
    inner: Mutex<Inner>,
    budget: Arc<Budget>,
    id: u64,
}

#[derive(Debug, Default)]
struct Inner {
    ring: Ring,
    newest: Stamp,
    bytes: u64,
    /// `bytes` when it was trimmed last.
    trimmed: u64,
    lost: u64,
    truncated: u64,
    clients: HashMap<u32, Client>,
}

impl Stream {
    /// An empty stream that takes its share of `budget`.
    #[must_use]
    pub fn new(budget: &Arc<Budget>) -> Self {
        budget.streams.fetch_add(1, Ordering::Relaxed);
        static STREAMS: AtomicU64 = AtomicU64::new(0);
        let id = STREAMS.fetch_add(1, Ordering::Relaxed);
        Self { inner: Mutex::default(), budget: Arc::clone(budget), id }
    }

    /// A number that no other stream of this process has or had.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the records of a batch and empties it. The oldest records make room; loss is counted
    /// per client.
    pub fn append(&self, batch: &mut Batch) {
        batch.seal();
        let share = self.budget.share();
        self.change(|inner| {
            inner.bytes += batch.bytes.len() as u64;
            inner.truncated += batch.truncated;
            inner.newest = batch.newest().unwrap_or(inner.newest);
            inner.ring.append(batch, share);
        });
        batch.clear();
    }

    /// Gives up what is over the share: for streams that nothing is appended to. Those also give up
    /// what they only reserve.
    pub fn trim(&self) {
        let share = self.budget.share();
        self.change(|inner| {
            inner.ring.drop_oldest(0, share);
            if inner.trimmed == inner.bytes {
                inner.ring.fit();
            }
            inner.trimmed = inner.bytes;
        });
    }

    /// Accounts for what `change` drops, and for the memory it takes or gives back.
    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        let (held, first) = (inner.ring.held(), inner.ring.first());
        change(&mut inner);
        inner.count_lost(first);
        let now = inner.ring.held();
        if now > held {
            self.budget.held.fetch_add(now - held, Ordering::Relaxed);
        } else if now < held {
            self.budget.held.fetch_sub(held - now, Ordering::Relaxed);
        }
    }

    /// Delivers to context `ctx` what it has not yet seen, and moves its cursor. A context not seen
    /// before starts at the oldest record held. The order is: (high resolution: a POINT record
    /// with the missed count in parameter `lost`), the records, a MISSED record. It is last
    /// because libpcp's one-line summary counts it once more for each record behind
    /// it; the records it speaks of are older than those delivered.
    ///
    /// With a filter, records that it refuses are passed over: they are neither delivered nor
    /// missed. The stream is locked for a piece at a time, and not while a filter looks.
    pub fn read(&self, ctx: u32, request: &ReadRequest<'_>) -> Delivery {
        reading::read(self, ctx, request)
    }

    /// Forgets a context.
    pub fn forget(&self, ctx: u32) {
        self.lock().clients.remove(&ctx);
    }

    /// Counters and gauges at this moment.
    #[must_use]
    pub fn stats(&self) -> StreamStats {
        let inner = self.lock();
        StreamStats {
            count: inner.ring.next(),
            bytes: inner.bytes,
            lost: inner.lost,
            truncated: inner.truncated,
            memory: inner.ring.held() as u64,
            clients: u32::try_from(inner.clients.len()).unwrap_or(u32::MAX),
        }
    }

    /// A copy of the newest `n` records, packed in high resolution, oldest first; fewer if they
    /// have more than 256 KiB.
    #[must_use]
    pub fn newest(&self, n: usize) -> Vec<u8> {
        self.newest_numbered(n).1
    }

    /// As [`Self::newest`], and the number of the oldest of them: records are numbered from 0 on.
    #[must_use]
    pub fn newest_numbered(&self, n: usize) -> (u64, Vec<u8>) {
        let inner = self.lock();
        let next = inner.ring.next();
        let mut from = inner.ring.first().max(next.saturating_sub(n as u64));
        while from + 1 < next
            && inner.ring.slices(from, next).iter().map(|s| s.len()).sum::<usize>() > NEWEST_BYTES
        {
            from += 1;
        }
        (from, inner.ring.slices(from, next).concat())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let held = self.lock().ring.held();
        self.budget.held.fetch_sub(held, Ordering::Relaxed);
        self.budget.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inner {
    /// Records from `first` on are gone: lost to the slowest client that was reading, if it had not
    /// seen them.
    fn count_lost(&mut self, first: u64) {
        let now = self.ring.first();
        if now > first
            && let Some(slowest) = self.clients.values().map(|c| c.cursor).min()
        {
            self.lost += now.saturating_sub(slowest.max(first));
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "test"
)]
mod tests;
