//! One queue of raw events, as created by `pmdaEventNewQueue`. A decoder packs the events for each
//! client that fetches. Unlike in libpcp_pmda, cursors outlive a fetch, missed events are counted,
//! and the end of a client releases its events (docs/protocols/pcp-events.md section 6 lists the
//! defects).

use super::arena::{Arena, Batch};
use super::error::QueueError;
use super::readers::{PATIENCE, Reader, Readers};
use super::reserve::Reserve;

/// The stored events [first, next) and their readers.
pub(super) struct Queue<T, F> {
    /// Unique among all queues, past ones included.
    pub(super) serial: u64,
    pub(super) name: String,
    pub(super) max_memory: usize,
    reserve: Reserve,
    events: Arena<T>,
    first: u64,
    pub(super) next: u64,
    /// Number of readers that have fetched.
    active: u32,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) readers: Readers<F>,
    pub(super) shutdown: bool,
}

/// A client's position at the beginning of a fetch.
pub(super) struct Unseen<F> {
    /// Sequence number of the first event that the client has not read, and of the first one that
    /// is left to the next fetch.
    pub(super) from: u64,
    pub(super) end: u64,
    pub(super) missed: u64,
    /// The client's filter, until the fetch ends.
    pub(super) filter: Option<F>,
}

impl<T: Copy, F> Queue<T, F> {
    pub(super) fn new(
        serial: u64,
        name: &str,
        max_memory: usize,
        reserve: Reserve,
    ) -> Result<Self, QueueError> {
        let mut copy = String::new();
        copy.try_reserve_exact(name.len()).map_err(|_| QueueError::NoMemory)?;
        copy.push_str(name);
        Ok(Self {
            serial,
            name: copy,
            max_memory,
            reserve,
            events: Arena::new(),
            first: 0,
            next: 0,
            active: 0,
            count: 0,
            bytes: 0,
            readers: Readers::default(),
            shutdown: false,
        })
    }

    /// Number of clients that have fetched and of expected ones.
    pub(super) fn clients(&self) -> u32 {
        self.reserve.len().saturating_add(self.active)
    }

    /// Bytes of the events stored.
    pub(super) const fn memory(&self) -> usize {
        self.events.bytes()
    }

    /// The oldest event (its number and size) if it must be dropped before one of `len` bytes fits.
    #[inline]
    pub(super) fn must_evict(&self, len: usize) -> Option<(u64, usize)> {
        let fits = len <= self.max_memory
            && self.events.charge().saturating_add(len.max(1)) <= self.max_memory;
        if fits || len > self.max_memory { None } else { self.events.oldest() }
    }

    /// Sequence number of the oldest stored event.
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

    /// Stores an event until all clients have read it or the memory is full; without clients it is
    /// only counted. `false`: the event is larger than the queue's memory, and all clients miss it.
    ///
    /// # Errors
    /// [`QueueError::NoMemory`]: the event is neither stored nor counted. Events that were dropped to
    /// make room stay dropped: their memory is what the new one usually takes, so it cannot be had
    /// before. Clients that had not read them miss them.
    #[inline]
    pub(super) fn append(&mut self, data: &[u8], time: T) -> Result<bool, QueueError> {
        let fits = self.events.charge().saturating_add(data.len().max(1)) <= self.max_memory
            || self.make_room(data.len());
        if fits && (self.active > 0 || !self.reserve.is_empty()) {
            self.events.push(self.next, data, time).map_err(|_| QueueError::NoMemory)?;
            self.next += 1;
        }
        self.count += 1;
        self.bytes += data.len() as u64;
        Ok(fits)
    }

    /// Drops the oldest events until one of `len` bytes fits. `false`: it is too large, and all
    /// clients miss it.
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

    /// As [`Queue::append`] for an event of unknown bytes, which can only be counted.
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

    /// The position of `context`, whose reader was looked for just now: its cursor, or the oldest
    /// event at the first fetch. `None` without access.
    #[inline(always)]
    pub(super) fn unseen(
        &mut self,
        context: i32,
        place: Result<usize, usize>,
    ) -> Result<Option<Unseen<F>>, QueueError> {
        let (first, end) = (self.first, self.next);
        let reader = self.readers.at(context, place)?;
        let expected = self.reserve.fetched(context);
        let cursor = *reader.cursor.get_or_insert_with(|| {
            self.active += 1;
            // An expected client has missed the events dropped since the queue was created.
            if expected { 0 } else { first }
        });
        if !reader.granted() {
            reader.refused = reader.refused.saturating_add(1);
            self.drop_read();
            return Ok(None);
        }
        reader.refused = 0;
        let missed = std::mem::take(&mut reader.missed);
        let from = cursor.max(first);
        let filter = reader.filter.take();
        reader.lent = filter.is_some();
        Ok(Some(Unseen { from, end, missed: missed + from - cursor, filter }))
    }

    /// Copies events from number `from` on; `false` without such events.
    #[inline(always)]
    pub(super) fn copy(&self, from: u64, to: &mut Batch<T>) -> Result<bool, QueueError> {
        self.events.copy(from, to).map_err(|_| QueueError::NoMemory)
    }

    /// Ends a fetch of `context`, which has read everything before `seq`; `missed` events are still
    /// to be reported. Drops the events that all clients have read. Returns the filter if the
    /// client has ended or was given another one meanwhile.
    #[inline(always)]
    pub(super) fn read_until(
        &mut self,
        context: i32,
        seq: u64,
        missed: u64,
        filter: Option<F>,
    ) -> Option<F> {
        let Some(reader) = self.readers.get_mut(context) else { return filter };
        let Some(cursor) = &mut reader.cursor else { return filter };
        *cursor = seq;
        reader.missed += missed;
        let unused = if std::mem::take(&mut reader.lent) {
            std::mem::replace(&mut reader.filter, filter)
        } else {
            filter
        };
        self.drop_read();
        unused
    }

    /// Changes a client's access. After a grant the client receives all stored events, and has
    /// missed none.
    pub(super) fn grant<R>(
        &mut self,
        context: i32,
        change: impl FnOnce(&mut Reader<F>) -> Result<R, QueueError>,
    ) -> Result<R, QueueError> {
        let first = self.first;
        let reader = self.readers.entry(context)?;
        let before = reader.granted();
        let done = change(reader)?;
        if reader.granted()
            && !before
            && let Some(cursor) = &mut reader.cursor
        {
            *cursor = first.max(*cursor);
        }
        Ok(done)
    }

    /// Removes a client. Returns its filter, and whether the queue can be removed too.
    pub(super) fn leave(&mut self, context: i32) -> (Option<F>, bool) {
        let expected = self.reserve.leave(context);
        let reader = self.readers.remove(context);
        if let Some(reader) = &reader {
            self.active -= u32::from(reader.cursor.is_some());
        }
        if expected || reader.is_some() {
            self.drop_read();
        }
        let gone = reader.is_some() && self.shutdown && self.active == 0;
        (reader.and_then(|r| r.filter), gone)
    }

    /// Called when no client is left: no more clients are expected, if any has fetched.
    pub(super) fn deserted(&mut self) {
        self.reserve.deserted();
        self.drop_read();
    }

    /// Expects no more clients. `true`: there are no clients, and the queue can be removed.
    pub(super) fn close(&mut self) -> bool {
        self.shutdown = true;
        self.reserve.end();
        self.active == 0
    }

    /// Takes the filters of all clients when the queue is removed.
    pub(super) fn take_filters(&mut self) -> impl Iterator<Item = F> {
        self.readers.values_mut().filter_map(|reader| reader.filter.take())
    }

    /// Sequence number of the first event not read by a client other than `context`; at most
    /// `first` if that is not read.
    #[inline]
    pub(super) fn first_unread(&self, context: Option<i32>) -> u64 {
        if !self.reserve.is_empty() {
            return 0;
        }
        // Events are kept for clients without access only as long as no other client reads.
        let (mut waits, mut slowest) = (false, u64::MAX);
        let mut reads = false;
        for (other, reader) in self.readers.iter() {
            let Some(cursor) = reader.cursor.filter(|_| Some(other) != context) else { continue };
            waits |= reader.refused < PATIENCE;
            if reader.granted() {
                (reads, slowest) = (true, slowest.min(cursor));
                // Usually another client has not read the oldest event yet.
                if cursor <= self.first {
                    break;
                }
            }
        }
        if reads || !waits { slowest } else { 0 }
    }

    /// Drops the events that all clients have read.
    #[inline]
    fn drop_read(&mut self) {
        if self.readers.is_one_behind(self.first) {
            return;
        }
        let until = self.first_unread(None).min(self.next);
        if until > self.first {
            self.events.drop_before(until);
            self.first = until;
        }
    }
}
