//! One queue of events as they came, not yet packed: what `pmdaEventNewQueue` makes. A decoder
//! packs them for each client when it fetches. Unlike libpcp_pmda's, cursors outlive a fetch, what
//! was missed is counted, and a client that ends gives up its claim (specs/pcp-events.md section 6
//! lists the defects).

use std::collections::HashMap;

use super::QueueError;
use super::arena::{Arena, Batch};
use super::reserve::Reserve;

/// Says which events a client wants: `true` for those. It gets a copy of the event, whose last byte
/// is a NUL that is not part of it.
pub type QueueFilter = Box<dyn FnMut(&mut [u8]) -> bool + Send>;

/// Fetches without access after which a client does not hold events back any more.
const PATIENCE: u32 = 16;

/// A client's interest in a queue.
#[derive(Default)]
pub(super) struct Reader {
    /// Sequence number of the first event not yet seen; `None` before the first fetch.
    pub(super) cursor: Option<u64>,
    /// Events missed and not yet told.
    pub(super) missed: u64,
    pub(super) access: bool,
    filter: Option<QueueFilter>,
    /// A fetch has the filter.
    lent: bool,
    /// Fetches without access.
    refused: u32,
}

impl Reader {
    /// A filter stands for access: it decides on each event itself (as in C).
    const fn granted(&self) -> bool {
        self.access || self.filter.is_some() || self.lent
    }

    /// Another filter, or none; the one that was there, if no fetch has it.
    pub(super) fn set_filter(&mut self, filter: Option<QueueFilter>) -> Option<QueueFilter> {
        self.lent = false;
        std::mem::replace(&mut self.filter, filter)
    }
}

/// The events [first, next), those that are held, and who reads them.
pub(super) struct Queue<T> {
    /// No other queue has or had it.
    pub(super) serial: u64,
    pub(super) name: String,
    pub(super) max_memory: usize,
    reserve: Reserve,
    events: Arena<T>,
    first: u64,
    next: u64,
    /// Readers that have fetched.
    active: u32,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) readers: HashMap<i32, Reader, foldhash::fast::RandomState>,
    pub(super) shutdown: bool,
}

/// Where a client is, when it begins to fetch.
pub(super) struct Unseen {
    /// Sequence number of the first event that it has not seen, and of the first that comes with
    /// the next fetch.
    pub(super) from: u64,
    pub(super) end: u64,
    pub(super) missed: u64,
    /// The client's filter, until the fetch ends.
    pub(super) filter: Option<QueueFilter>,
}

impl<T: Copy> Queue<T> {
    pub(super) fn new(serial: u64, name: &str, max_memory: usize, reserve: Reserve) -> Self {
        Self {
            serial,
            name: name.into(),
            max_memory,
            reserve,
            events: Arena::new(),
            first: 0,
            next: 0,
            active: 0,
            count: 0,
            bytes: 0,
            readers: HashMap::default(),
            shutdown: false,
        }
    }

    fn active(&self) -> impl Iterator<Item = (i32, &Reader, u64)> {
        self.readers.iter().filter_map(|(context, r)| Some((*context, r, r.cursor?)))
    }

    /// Clients that have fetched, and those that were announced when the queue was made and are
    /// still expected.
    pub(super) fn clients(&self) -> u32 {
        self.reserve.len().saturating_add(self.active)
    }

    /// Bytes of the events held.
    pub(super) const fn memory(&self) -> usize {
        self.events.bytes()
    }

    /// The oldest event (its number and size) if it must go before one of `len` bytes fits.
    #[inline]
    pub(super) fn must_evict(&self, len: usize) -> Option<(u64, usize)> {
        let fits = len <= self.max_memory
            && self.events.charge().saturating_add(len.max(1)) <= self.max_memory;
        if fits || len > self.max_memory { None } else { self.events.oldest() }
    }

    /// Sequence number of the oldest event that is held.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.events.oldest().map(|(seq, _)| seq)
    }

    /// Sequence number of the event appended last, if there were clients.
    pub(super) const fn newest(&self) -> Option<u64> {
        self.next.checked_sub(1)
    }

    /// Drops the oldest event.
    pub(super) fn drop_oldest(&mut self) {
        if let Some((seq, _)) = self.events.oldest() {
            self.events.drop_oldest();
            self.first = seq + 1;
        }
    }

    /// Keeps an event until all clients have seen it or memory runs out. Without clients it is
    /// counted only. One that is larger than the queue may be is missed by all clients:
    /// `false`.
    #[inline]
    pub(super) fn append(&mut self, data: &[u8], time: T) -> bool {
        self.count += 1;
        self.bytes += data.len() as u64;
        if self.events.charge().saturating_add(data.len().max(1)) > self.max_memory
            && !self.make_room(data.len())
        {
            return false;
        }
        if self.active > 0 || self.reserve.len() > 0 {
            self.events.push(self.next, data, time);
            self.next += 1;
        }
        true
    }

    /// Drops what is in the way of an event; `false` when it is too large, and missed by all
    /// clients.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, len: usize) -> bool {
        while self.must_evict(len).is_some() {
            self.drop_oldest();
        }
        let fits = len <= self.max_memory;
        self.next += u64::from(!fits && self.clients() > 0);
        fits
    }

    /// As [`Queue::append`] for an event that is only counted, which it must be.
    pub(super) fn count_event(&mut self, len: usize) -> Result<bool, QueueError> {
        let fits = len <= self.max_memory;
        if fits && self.clients() > 0 {
            return Err(QueueError::Invalid);
        }
        self.count += 1;
        self.bytes += len as u64;
        self.next += u64::from(self.clients() > 0);
        Ok(fits)
    }

    /// Where `context` is: at its cursor, or at the oldest event at its first fetch; `None` without
    /// access.
    pub(super) fn unseen(&mut self, context: i32) -> Option<Unseen> {
        let (first, end) = (self.first, self.next);
        let expected = self.reserve.fetched(context);
        let reader = self.readers.entry(context).or_default();
        let cursor = *reader.cursor.get_or_insert_with(|| {
            self.active += 1;
            // One that was expected from the start has missed what had to go meanwhile.
            if expected { 0 } else { first }
        });
        if !reader.granted() {
            reader.refused = reader.refused.saturating_add(1);
            self.give_up();
            return None;
        }
        reader.refused = 0;
        let missed = std::mem::take(&mut reader.missed);
        let from = cursor.max(first);
        let filter = reader.filter.take();
        reader.lent = filter.is_some();
        Some(Unseen { from, end, missed: missed + from - cursor, filter })
    }

    /// Copies events from number `from` on; `false` when there are none.
    pub(super) fn copy(&self, from: u64, to: &mut Batch<T>) -> bool {
        self.events.copy(from, to)
    }

    /// A fetch of `context` ends: it has seen everything before `seq`, and has missed what it was
    /// not told. Events that all have seen are given up. The filter comes back if there is
    /// another, or the client has ended meanwhile.
    pub(super) fn seen(
        &mut self,
        context: i32,
        seq: u64,
        missed: u64,
        filter: Option<QueueFilter>,
    ) -> Option<QueueFilter> {
        let Some(reader) = self.readers.get_mut(&context) else { return filter };
        let Some(cursor) = &mut reader.cursor else { return filter };
        *cursor = seq;
        reader.missed += missed;
        let unused = if std::mem::take(&mut reader.lent) {
            std::mem::replace(&mut reader.filter, filter)
        } else {
            filter
        };
        self.give_up();
        unused
    }

    /// Access comes late: what is held is for this client too, and nothing is missed.
    pub(super) fn grant(&mut self, context: i32, change: impl FnOnce(&mut Reader)) {
        let first = self.first;
        let reader = self.readers.entry(context).or_default();
        let before = reader.granted();
        change(reader);
        if reader.granted()
            && !before
            && let Some(cursor) = &mut reader.cursor
        {
            *cursor = first.max(*cursor);
        }
    }

    /// A client has ended; its filter, and `true` when the queue may go too.
    pub(super) fn leave(&mut self, context: i32) -> (Option<QueueFilter>, bool) {
        let expected = self.reserve.leave(context);
        let reader = self.readers.remove(&context);
        if let Some(reader) = &reader {
            self.active -= u32::from(reader.cursor.is_some());
        }
        if expected || reader.is_some() {
            self.give_up();
        }
        let gone = reader.is_some() && self.shutdown && self.active == 0;
        (reader.and_then(|r| r.filter), gone)
    }

    /// No client is left at all: a queue that has been read is not waited for any more.
    pub(super) fn deserted(&mut self) {
        self.reserve.deserted();
        self.give_up();
    }

    /// No more clients are expected; `true` when there are none and the queue may go.
    pub(super) fn close(&mut self) -> bool {
        self.shutdown = true;
        self.reserve.end();
        self.active == 0
    }

    /// The filters of clients that have not fetched, when the queue goes.
    pub(super) fn take_filters(&mut self) -> Vec<QueueFilter> {
        self.readers.values_mut().filter_map(|reader| reader.filter.take()).collect()
    }

    /// Sequence number of the first event that somebody other than `context` has still to see.
    pub(super) fn first_unread(&self, context: Option<i32>) -> u64 {
        if self.reserve.len() > 0 {
            return 0;
        }
        // Clients without access wait for it, if nobody reads meanwhile; without any client nobody
        // will ask.
        let (mut waits, mut slowest) = (false, None);
        for (_, reader, cursor) in self.active().filter(|(other, ..)| Some(*other) != context) {
            waits |= reader.refused < PATIENCE;
            if reader.granted() {
                slowest = Some(slowest.unwrap_or(cursor).min(cursor));
            }
        }
        slowest.unwrap_or(if waits { 0 } else { u64::MAX })
    }

    fn give_up(&mut self) {
        let until = self.first_unread(None).min(self.next);
        if until > self.first {
            self.events.drop_before(until);
            self.first = until;
        }
    }
}
