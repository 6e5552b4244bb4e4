//! A bounded stream of packed records with absolute sequence numbers and a cursor for each client
//! context.
//!
//! ```text
//!   first                        next            sequence numbers; records [first, next) are stored
//!     |r r r r r r r r r r r r r r|
//!        ^ cursor of client A    ^ cursor of client B (has read everything)
//!  ^ cursor of client C: has missed first - cursor records
//! ```
//! Records are stored packed in high resolution: a delivery is an array header and at most two
//! copies, for any number of clients. A producer may leave the packing to the reads instead: see
//! [`Unpacked`]. Records of an idle stream may be compressed: see [`Stream::rest`]. A delivery in low
//! resolution converts the header of each record; only clients that request it pay for that. Only
//! filters examine single records.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::batch::Batch;
use crate::request::Client;
use crate::types::ids::Pmid;
use crate::types::stamp::Stamp;

mod later;
mod read;
mod resting;
mod slowest;
mod store;

pub use later::{Later, Unpacked};
use slowest::Slowest;
pub use slowest::{SLOWEST, SLOWEST_WINDOW};
use store::Store;

/// Minimum share of a stream in bytes, for any number of streams: a few records.
const SHARE_MIN: usize = 4 << 10;
/// Limit of the bytes returned by [`Stream::newest`], unless a single record is larger.
const NEWEST_BYTES: usize = 256 << 10;
/// Number of trims after which a stream that was watched once is not watched any more.
const WATCHED: u32 = 60;
/// The part of a stream's share that its slowest records may have.
const SLOWEST_PART: usize = 4;

/// A limit of memory for records, shared evenly by the streams that ever had one.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    streams: AtomicUsize,
    held: AtomicUsize,
}

impl Budget {
    /// A budget of `limit` bytes of records.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: AtomicUsize::new(limit),
            streams: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
        })
    }

    /// Changes the limit; a stream shrinks at its next append or trim.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Limit of records, in bytes.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes of records stored now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn share(&self) -> usize {
        self.share_of(self.streams.load(Ordering::Relaxed))
    }

    fn share_of(&self, streams: usize) -> usize {
        (self.limit() / streams.max(1)).max(SHARE_MIN)
    }
}

/// Counters and gauges of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamStats {
    /// Records ever appended.
    pub count: u64,
    /// Packed bytes (high resolution) ever appended.
    pub bytes: u64,
    /// Records dropped before all clients that were reading then had read them. A client that has not read for three of
    /// its intervals (of a minute to an hour) reads no more: it is told of what it has missed when it reads again, but
    /// nothing is lost by it. See [`Stream::trim`].
    pub lost: u64,
    /// Parameters cut or left out since their record would have exceeded [`crate::RECORD_MAX`].
    pub truncated: u64,
    /// Bytes of records stored now.
    pub memory: u64,
    /// Client contexts with a cursor.
    pub clients: u32,
}

/// A bounded stream of records that any number of clients read, each at its own speed.
///
/// ```
/// use pcp_event::{
///     Batch, Budget, Limits, Pmid, ReadRequest, Resolutions, Stamp, Stream, ValueType, flags,
/// };
///
/// let stream = Stream::new(&Budget::new(1 << 20));
/// let mut batch = Batch::default();
/// batch.record(Stamp { sec: 1_795_000_000, nsec: 7 }, flags::POINT);
/// batch.number(Pmid::new(60, 1, 0), ValueType::U64, 42);
/// stream.append(&mut batch);
///
/// // A PMDA reads in its fetch callback, once for each client context.
/// let context = 3;
/// let both = Resolutions { low: true, high: true };
/// let request = ReadRequest::new(both, Limits::new(1000, 1 << 20), Pmid::new(60, 1, 1));
/// assert_eq!(stream.read(context, &request).records, 1);
/// assert_eq!(stream.read(context, &request).records, 0, "each client reads a record once");
/// stream.forget(context);
/// ```
#[derive(Debug)]
pub struct Stream {
    inner: Mutex<Inner>,
    budget: Arc<Budget>,
    id: u64,
    /// Somebody reads the records: set at once, and cleared by a trim.
    watched: AtomicBool,
    /// It has a share of the budget: since its first record, so that empty streams take nothing from
    /// others.
    shares: AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    store: Store,
    newest: Stamp,
    bytes: u64,
    /// Value of `bytes` at the last trim.
    trimmed: u64,
    /// Value of `bytes` when the records were to rest.
    rested: u64,
    /// Nothing was appended between the last two trims.
    idle: bool,
    lost: u64,
    truncated: u64,
    clients: HashMap<u32, Client>,
    slowest: Option<Box<Slowest>>,
    /// Trims until the stream is not watched without a client.
    watched: u32,
}

impl Stream {
    /// An empty stream, limited to its share of `budget`.
    #[must_use]
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self::over(budget, None)
    }

    /// As [`Self::new`]; the stream also keeps copies of the slowest records of the last minutes,
    /// by a parameter of type U64, in at most a quarter of its share: see [`Self::slowest`].
    #[must_use]
    pub fn with_slowest(budget: &Arc<Budget>, duration: Pmid) -> Self {
        Self::over(budget, Some(Slowest::new(duration)))
    }

    fn over(budget: &Arc<Budget>, slowest: Option<Slowest>) -> Self {
        static STREAMS: AtomicU64 = AtomicU64::new(0);
        let id = STREAMS.fetch_add(1, Ordering::Relaxed);
        let slowest = slowest.map(Box::new);
        let inner = Mutex::new(Inner { slowest, ..Inner::default() });
        let (budget, no) = (Arc::clone(budget), || AtomicBool::new(false));
        Self { inner, budget, id, watched: no(), shares: no() }
    }

    /// The share of the budget, which is for records that come now.
    fn share(&self) -> usize {
        if !self.shares.load(Ordering::Relaxed) && !self.shares.swap(true, Ordering::Relaxed) {
            self.budget.streams.fetch_add(1, Ordering::Relaxed);
        }
        self.budget.share()
    }

    /// A number unique among all present and past streams of this process.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the records of a batch and empties it. The oldest records are dropped to make room;
    /// losses are counted for each client.
    pub fn append(&self, batch: &mut Batch) {
        self.append_at(batch, Duration::ZERO);
    }

    /// As [`Self::append`], with the time of arrival by a clock that never goes back, for a stream
    /// [`Self::with_slowest`].
    pub fn append_at(&self, batch: &mut Batch, now: Duration) {
        batch.seal();
        let share = self.share();
        self.change(|inner| {
            inner.bytes += batch.bytes.len() as u64;
            inner.truncated += batch.truncated;
            inner.newest = batch.newest().unwrap_or(inner.newest);
            if let Some(slowest) = &mut inner.slowest {
                slowest.take(batch, inner.store.next(), now, share / SLOWEST_PART);
            }
            inner.store.append(batch, share.saturating_sub(inner.copied()));
        });
        batch.clear();
    }

    /// Drops records over the stream's share and copies of too old ones, and frees reserved memory
    /// if nothing was appended since the last trim. For idle streams, whose share may have shrunk.
    /// Clients that have stopped reading are no readers from here on, so this is to be called every
    /// few seconds, with the clock of [`crate::ReadRequest::now`].
    pub fn trim(&self, now: Duration) {
        let share = self.budget.share();
        self.change(|inner| {
            if let Some(slowest) = &mut inner.slowest {
                slowest.expire_at(now);
                slowest.fit(share / SLOWEST_PART);
            }
            inner.store.drop_oldest(share.saturating_sub(inner.copied()));
            inner.idle = inner.trimmed == inner.bytes;
            if inner.idle {
                inner.store.fit();
            }
            inner.trimmed = inner.bytes;
            inner.clients.values_mut().for_each(|client| client.lapse(now));
            inner.watched = inner.watched.saturating_sub(1);
            let watched = inner.watched > 0 || !inner.clients.is_empty();
            self.watched.store(watched, Ordering::Relaxed);
        });
    }

    /// Compresses the records, and the slowest, if nothing was appended since the last trim but one,
    /// once: they are there for readers as before, and the next append finds them as they were.
    /// Returns the bytes that were compressed: each takes some ns.
    pub fn rest(&self) -> usize {
        let mut bytes = 0;
        self.change(|inner| {
            if inner.idle && inner.trimmed == inner.bytes {
                bytes = inner.slowest.as_mut().map_or(0, |slowest| slowest.rest());
                if inner.rested != inner.bytes {
                    inner.rested = inner.bytes;
                    bytes += inner.store.rest();
                }
            }
        });
        bytes
    }

    /// Somebody shows the records without a cursor of a client, as [`Self::newest`] does.
    pub fn watch(&self) {
        self.lock().watched = WATCHED;
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Whether there is a client with a cursor, or was a call of [`Self::watch`] no more than 60
    /// trims ago. A producer may leave out records that nobody watches.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Runs `change`, and accounts for the records dropped and for the memory allocated or freed by
    /// it.
    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        let (held, first) = (inner.held(), inner.store.first());
        change(&mut inner);
        inner.count_lost(first);
        let now = inner.held();
        if now > held {
            self.budget.held.fetch_add(now - held, Ordering::Relaxed);
        } else if now < held {
            self.budget.held.fetch_sub(held - now, Ordering::Relaxed);
        }
    }

    /// Gives a client context its cursor before it reads, at the oldest stored record, if it has none:
    /// it misses what is dropped from now on. For a client that has asked for records before there was
    /// the stream. `now`: as [`crate::ReadRequest::now`].
    pub fn admit(&self, ctx: u32, now: Duration) {
        let mut inner = self.lock();
        let cursor = inner.store.first();
        inner.clients.entry(ctx).or_insert(Client::new(cursor, now));
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Removes a client context; a PMDA calls this in its end-of-context callback.
    pub fn forget(&self, ctx: u32) {
        self.lock().clients.remove(&ctx);
    }

    /// Counters and gauges at this moment.
    #[must_use]
    pub fn stats(&self) -> StreamStats {
        let inner = self.lock();
        StreamStats {
            count: inner.store.next(),
            bytes: inner.bytes,
            lost: inner.lost,
            truncated: inner.truncated,
            memory: inner.held() as u64,
            clients: u32::try_from(inner.clients.len()).unwrap_or(u32::MAX),
        }
    }

    /// A number that changes with the slowest records; `None`: the stream keeps none.
    #[must_use]
    pub fn slowest_changes(&self, now: Duration) -> Option<u64> {
        let mut changes = None;
        self.change(|inner| {
            if let Some(slowest) = &mut inner.slowest {
                slowest.expire_at(now);
                changes = Some(slowest.changes());
            }
        });
        changes
    }

    /// A copy of the [`SLOWEST`] slowest records of the last [`SLOWEST_WINDOW`], or of up to 30 s
    /// more, packed in high resolution, the slowest first; with [`Self::slowest_changes`]. They may
    /// have left the ring; records without a duration are not among them.
    #[must_use]
    pub fn slowest(&self, now: Duration) -> Option<(u64, Vec<u8>)> {
        let changes = self.slowest_changes(now)?;
        let inner = self.lock();
        inner.slowest.as_ref().map(|slowest| (changes, slowest.packed()))
    }

    /// A copy of the newest `n` records, packed in high resolution, oldest first; fewer if these
    /// exceed 256 KiB. [`crate::Records::packed`] decodes them.
    #[must_use]
    pub fn newest(&self, n: usize) -> Vec<u8> {
        self.lock().store.newest(n, NEWEST_BYTES)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let held = self.lock().held();
        self.budget.held.fetch_sub(held, Ordering::Relaxed);
        if *self.shares.get_mut() {
            self.budget.streams.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Inner {
    /// Bytes of the copies of the slowest records.
    fn copied(&self) -> usize {
        self.slowest.as_ref().map_or(0, |slowest| slowest.held())
    }

    /// Bytes of all records.
    fn held(&self) -> usize {
        self.store.held() + self.copied()
    }

    /// Counts the dropped records from number `first` on that the slowest reader had not read.
    fn count_lost(&mut self, first: u64) {
        let now = self.store.first();
        if now > first
            && let Some(slowest) = self.clients.values().filter(|c| c.reads).map(|c| c.cursor).min()
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
