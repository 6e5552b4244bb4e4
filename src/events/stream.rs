//! A bounded stream of packed records with absolute sequence numbers and a cursor for each client context.
//!
//! ```text
//!   first                        next            sequence numbers; records [first, next) are held
//!     |r r r r r r r r r r r r r r|
//!        ^ cursor of client A    ^ cursor of client B (has seen everything)
//!  ^ cursor of client C: has missed first - cursor records
//! ```
//! Records are held packed in both resolutions, so that a delivery is a header and at most two copies, however many clients
//! read. A record is exactly 8 bytes shorter in low resolution, so one table of ends serves both.

use super::array::Array;
use super::batch::{Batch, Packed};
use super::client::{Caps, Client, Delivery, Want};
use super::flags::POINT;
use super::layout::{HighRes, LowRes, Resolution};
use crate::model::{Pmid, Stamp, Value};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SHORTER: u64 = (HighRes::RECORD_HEADER - LowRes::RECORD_HEADER) as u64;
/// A stream keeps at least this much, however many streams share the budget: a few records.
const SHARE_MIN: usize = 4 << 10;
/// A record beyond this is dropped and counted as lost: it could not be delivered within a fetch's bytes.
const RECORD_MAX: usize = 512 << 10;

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
        Arc::new(Self { limit: AtomicUsize::new(limit), streams: AtomicUsize::new(0), held: AtomicUsize::new(0) })
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
}

#[derive(Debug, Default)]
struct Inner {
    high: VecDeque<u8>,
    low: VecDeque<u8>,
    /// Absolute offset in the high-resolution bytes at which each held record ends.
    ends: VecDeque<u64>,
    /// Absolute offset of the first held byte.
    start: u64,
    /// Sequence number of the first held record.
    first: u64,
    newest: Stamp,
    /// Room for one low-resolution record header.
    head: Vec<u8>,
    bytes: u64,
    lost: u64,
    clients: HashMap<u32, Client>,
}

impl Stream {
    /// An empty stream that takes its share of `budget`.
    #[must_use]
    pub fn new(budget: &Arc<Budget>) -> Self {
        budget.streams.fetch_add(1, Ordering::Relaxed);
        Self { inner: Mutex::default(), budget: Arc::clone(budget) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the records of a batch and empties it. The oldest records make room; loss is counted per client.
    pub fn append(&self, batch: &mut Batch) {
        batch.seal();
        let share = self.budget.share();
        let mut inner = self.lock();
        let held = inner.held();
        let mut start = 0;
        for packed in &batch.records {
            if let Some(bytes) = batch.bytes.get(start..packed.end) {
                inner.push(bytes, packed, share);
            }
            start = packed.end;
        }
        self.account(held, inner.held());
        drop(inner);
        batch.clear();
    }

    /// Gives up what is over the share: for streams that nothing is appended to.
    pub fn trim(&self) {
        let share = self.budget.share();
        let mut inner = self.lock();
        let held = inner.held();
        inner.make_room(0, share);
        self.account(held, inner.held());
    }

    fn account(&self, before: usize, after: usize) {
        if after >= before {
            self.budget.held.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.budget.held.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Delivers to context `ctx` what it has not yet seen, within `caps`, and moves its cursor. A context not seen before
    /// starts at the oldest record held. The order is: (high resolution: a POINT record with the missed count in parameter
    /// `lost`), the records, a MISSED record. It is last because libpcp's one-line summary counts it once more for each
    /// record behind it; the records it speaks of are older than those delivered.
    pub fn read(&self, ctx: u32, want: Want, caps: Caps, lost: Pmid) -> Delivery {
        self.lock().read(ctx, want, caps, lost)
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
            count: inner.next(),
            bytes: inner.bytes,
            lost: inner.lost,
            memory: inner.held() as u64,
            clients: u32::try_from(inner.clients.len()).unwrap_or(u32::MAX),
        }
    }

    /// A copy of the newest `n` records, packed in high resolution, oldest first.
    #[must_use]
    pub fn newest(&self, n: usize) -> Vec<u8> {
        let inner = self.lock();
        let from = inner.next() - (n.min(inner.ends.len()) as u64);
        let mut out = Vec::new();
        let [a, b] = inner.slices::<HighRes>(from, inner.next());
        out.extend_from_slice(a);
        out.extend_from_slice(b);
        out
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let held = self.lock().held();
        self.budget.held.fetch_sub(held, Ordering::Relaxed);
        self.budget.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Differences of absolute numbers are lengths of what is in memory.
fn length(difference: u64) -> usize {
    usize::try_from(difference).unwrap_or(usize::MAX)
}

impl Inner {
    /// Sequence number of the next record to come, which is also the number of records ever appended.
    fn next(&self) -> u64 {
        self.first + self.ends.len() as u64
    }

    fn held(&self) -> usize {
        self.high.len() + self.low.len() + self.ends.len() * size_of::<u64>()
    }

    fn push(&mut self, record: &[u8], packed: &Packed, share: usize) {
        self.bytes += record.len() as u64;
        self.newest = packed.stamp;
        if record.len() > RECORD_MAX {
            // It takes its sequence number and is gone at once, so that every reader's arithmetic counts it.
            self.make_room(usize::MAX, share);
            self.count_lost(self.first, self.first + 1);
            self.first += 1;
            return;
        }
        self.make_room(2 * record.len() + size_of::<u64>(), share);
        // By a quarter and not by doubling: what rings reserve and do not use would be most of the memory of a large fleet.
        for ring in [&mut self.high, &mut self.low] {
            if ring.capacity() - ring.len() < record.len() {
                ring.reserve_exact(record.len().max(ring.len() / 4));
            }
        }
        let end = self.start + self.high.len() as u64 + record.len() as u64;
        self.high.extend(record);
        self.head.clear();
        LowRes::put_header(&mut self.head, packed.stamp, packed.flags, packed.nparams);
        self.low.extend(&self.head);
        self.low.extend(record.get(HighRes::RECORD_HEADER..).unwrap_or_default());
        self.ends.push_back(end);
    }

    /// Drops the oldest records until `more` bytes fit into `share`, or nothing is left.
    fn make_room(&mut self, more: usize, share: usize) {
        let (mut dropped, mut held, mut end) = (0, self.held(), self.start);
        while held.saturating_add(more) > share
            && let Some(next_end) = self.ends.pop_front()
        {
            held -= length((next_end - end) * 2 - SHORTER) + size_of::<u64>();
            end = next_end;
            dropped += 1;
        }
        if dropped == 0 {
            return;
        }
        let high = length(end - self.start);
        self.high.drain(..high);
        self.low.drain(..high - length(dropped * SHORTER));
        self.count_lost(self.first, self.first + dropped);
        self.start = end;
        self.first += dropped;
        // A ring that grew under an older, larger share gives the memory back.
        if self.high.capacity() > 2 * share {
            self.high.shrink_to(share);
            self.low.shrink_to(share);
        }
    }

    /// Records [from, to) are gone: lost to the slowest client that was reading, if it had not seen them.
    fn count_lost(&mut self, from: u64, to: u64) {
        if let Some(slowest) = self.clients.values().map(|c| c.cursor).min() {
            self.lost += to.saturating_sub(slowest.max(from));
        }
    }

    /// Absolute offset at which record `seq` starts, in the bytes of resolution `R`.
    fn offset<R: Resolution>(&self, seq: u64) -> usize {
        let index = length(seq - self.first);
        let high = match index.checked_sub(1) {
            Some(before) => self.ends.get(before).map_or(0, |end| end - self.start),
            None => 0,
        };
        let shorter = (HighRes::RECORD_HEADER - R::RECORD_HEADER) * index;
        length(high) - shorter
    }

    fn slices<R: Resolution>(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let ring = if R::RECORD_HEADER == HighRes::RECORD_HEADER { &self.high } else { &self.low };
        let (from, to) = (self.offset::<R>(from), self.offset::<R>(to));
        let (a, b) = ring.as_slices();
        let part = |s: &'_ [u8], base: usize| (from.saturating_sub(base).min(s.len()), to.saturating_sub(base).min(s.len()));
        let ((a0, a1), (b0, b1)) = (part(a, 0), part(b, a.len()));
        [a.get(a0..a1).unwrap_or_default(), b.get(b0..b1).unwrap_or_default()]
    }

    fn read(&mut self, ctx: u32, want: Want, caps: Caps, lost: Pmid) -> Delivery {
        let cursor = self.clients.get(&ctx).map_or(self.first, |c| c.cursor);
        let from = cursor.max(self.first);
        let missed = from - cursor;
        let base = self.offset::<HighRes>(from);
        let mut to = self.next().min(from.saturating_add(caps.records as u64));
        if self.offset::<HighRes>(to) - base > caps.bytes {
            let index = length(from - self.first);
            let limit = self.start + (base + caps.bytes) as u64;
            let fitting = self.ends.range(index..).take_while(|end| **end <= limit).count();
            // One record always goes, else a large one would block the stream.
            to = to.min(from + fitting.max(1) as u64);
        }
        self.clients.insert(ctx, Client { cursor: to });
        Delivery {
            low: want.low.then(|| self.pack::<LowRes>(from, to, missed, None)),
            high: want.high.then(|| self.pack::<HighRes>(from, to, missed, Some(lost))),
            records: length(to - from),
            missed,
        }
    }

    fn pack<R: Resolution>(&self, from: u64, to: u64, missed: u64, lost: Option<Pmid>) -> Vec<u8> {
        let parts = self.slices::<R>(from, to);
        let mut array = Array::<R>::with_capacity(parts[0].len() + parts[1].len() + 128);
        if let Some(pmid) = lost.filter(|_| missed > 0) {
            let told = array.add_record(self.newest, POINT).and_then(|()| array.add_param(pmid, &Value::U64(missed)));
            debug_assert_eq!(told, Ok(()));
        }
        let added = array.add_packed(parts, i32::try_from(to - from).unwrap_or(i32::MAX));
        debug_assert_eq!(added, Ok(()), "the caps are far below ARRAY_MAX");
        let mut left = missed;
        while left > 0 {
            let count = i32::try_from(left).unwrap_or(i32::MAX);
            if array.add_missed(self.newest, count).is_err() {
                break;
            }
            left -= u64::from(count.unsigned_abs());
        }
        array.into_bytes()
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "test")]
mod tests;
