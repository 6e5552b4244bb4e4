//! Named queues of raw events and the clients that read them: the calls of `pmdaEventNewQueue`,
//! `pmdaEventQueue…`, `pmdaEventNewClient`, `pmdaEventSetFilter`, `pmdaEventSetAccess`, for either
//! resolution.

mod arena;
mod error;
mod fetch;
mod queue;
mod readers;
mod records;
mod reserve;

pub use error::QueueError;
pub use fetch::Fetch;
use fetch::reader;
use queue::Queue;
pub use readers::QueueFilter;
pub use records::Fetched;
use reserve::Reserve;

use crate::types::stamp::Stamp;

/// Named queues and the clients that read them. A queue has a handle, the lowest free number as in
/// C; a client is identified by its context. `T` is the time of an event.
///
/// ```
/// use pcp_event::{Array, ArrayError, HighRes, Pmid, QueueError, Queues, Stamp, flags};
///
/// #[derive(Debug)]
/// enum Error { Queue(QueueError), Array(ArrayError) }
/// impl From<QueueError> for Error {
///     fn from(error: QueueError) -> Self { Self::Queue(error) }
/// }
///
/// let mut queues = Queues::<Stamp>::new();
/// let lines = queues.new_queue("lines", 64 << 10)?;
/// let context = 3;
/// queues.new_client(context)?;
/// queues.set_access(context, lines, true)?;
///
/// let mut array = Array::<HighRes>::new();
/// let now = Stamp { sec: 1_795_000_000, nsec: 0 };
/// for expected in [0, 1] {
///     let fetched = queues.records(lines, context, &mut array, now, |array, line, time| {
///         array.add_record(*time, flags::POINT).map_err(Error::Array)?;
///         array.add_text(Pmid::new(60, 1, 0), line).map_err(Error::Array)
///     })?;
///     assert_eq!(fetched.events, expected, "events are kept from a client's first fetch on");
///     queues.append(lines, b"a line of a log", now)?;
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct Queues<T = Stamp, F = QueueFilter> {
    queues: Vec<Option<Queue<T, F>>>,
    clients: Vec<Option<i32>>,
    /// The last fetch, whose memory the next reuses.
    spare: Option<Box<Fetch<T, F>>>,
    /// The same of [`Queues::records`]. Not in a box, which cannot be refused without memory.
    spare_of_records: Option<Fetch<T, F>>,
    /// Number of queues ever created.
    made: u64,
}

/// What goes with a client.
#[derive(Debug)]
#[non_exhaustive]
pub enum Gone<F = QueueFilter> {
    /// A filter: the client's, or another one of a queue that is removed.
    Filter(F),
    /// A queue, by its handle.
    Queue(usize),
}

impl<T: Copy, F> Default for Queues<T, F> {
    fn default() -> Self {
        Self::none()
    }
}

impl<T, F> std::fmt::Debug for Queues<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.queues.iter().flatten().map(|q| &q.name).collect();
        f.debug_struct("Queues").field("names", &names).field("clients", &self.clients).finish()
    }
}

/// The lowest free entry and its index.
fn lowest<V>(places: &mut Vec<Option<V>>) -> Result<(usize, &mut Option<V>), QueueError> {
    let at = places.iter().position(Option::is_none).unwrap_or(places.len());
    if at == places.len() {
        places.try_reserve(1).map_err(|_| QueueError::NoMemory)?;
        places.push(None);
    }
    places.get_mut(at).map(|place| (at, place)).ok_or(QueueError::Invalid)
}

impl<T: Copy> Queues<T> {
    /// No queues, no clients; filters are [`QueueFilter`]s. [`Self::default`] is for filters of
    /// another type.
    #[must_use]
    pub const fn new() -> Self {
        Self::none()
    }
}

impl<T: Copy, F> Queues<T, F> {
    const fn none() -> Self {
        Self {
            queues: Vec::new(),
            clients: Vec::new(),
            spare: None,
            spare_of_records: None,
            made: 0,
        }
    }

    fn get(&self, handle: usize) -> Result<&Queue<T, F>, QueueError> {
        self.queues.get(handle).and_then(Option::as_ref).ok_or(QueueError::Invalid)
    }

    fn get_mut(&mut self, handle: usize) -> Result<&mut Queue<T, F>, QueueError> {
        self.queues.get_mut(handle).and_then(Option::as_mut).ok_or(QueueError::Invalid)
    }

    /// Creates a queue of at most `max_memory` bytes of events; the oldest are dropped first.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] for 0 bytes of memory, [`QueueError::Exists`],
    /// [`QueueError::NoMemory`].
    pub fn new_queue(&mut self, name: &str, max_memory: usize) -> Result<usize, QueueError> {
        self.new_active_queue(name, max_memory, 0)
    }

    /// Creates a queue that keeps events from the start for `clients` expected clients. Events are
    /// kept for each presently known client until it fetches or ends, or until there were 16
    /// fetches for each of `clients`; a later first fetch reports the events dropped since as
    /// missed. Any fetch of an unknown client counts for an expected client that is not known. When
    /// the last client context ends, no more clients are expected.
    ///
    /// # Errors
    /// As [`Queues::new_queue`].
    pub fn new_active_queue(
        &mut self,
        name: &str,
        max_memory: usize,
        clients: u32,
    ) -> Result<usize, QueueError> {
        if max_memory == 0 {
            return Err(QueueError::Invalid);
        }
        if self.handle(name).is_ok() {
            return Err(QueueError::Exists);
        }
        let reserve = Reserve::new(clients, self.clients.iter().flatten().copied())?;
        let queue = Queue::new(self.made + 1, name, max_memory, reserve)?;
        let (handle, place) = lowest(&mut self.queues)?;
        self.made += 1;
        *place = Some(queue);
        Ok(handle)
    }

    /// The handle of a queue.
    ///
    /// # Errors
    /// [`QueueError::NotFound`].
    pub fn handle(&self, name: &str) -> Result<usize, QueueError> {
        self.find(|queue| queue == name)
    }

    /// As [`Queues::handle`] for a name that is told by `is`.
    ///
    /// # Errors
    /// [`QueueError::NotFound`].
    pub fn find(&self, mut is: impl FnMut(&str) -> bool) -> Result<usize, QueueError> {
        let found = self.queues.iter().position(|q| q.as_ref().is_some_and(|q| is(&q.name)));
        found.ok_or(QueueError::NotFound)
    }

    /// Appends an event, and drops the oldest ones to make room. `false`: it is larger than the queue's
    /// memory, and all clients miss it. An empty event counts as one byte of memory.
    ///
    /// # Errors
    /// [`QueueError::Invalid`]; [`QueueError::NoMemory`]: the event is neither stored nor counted, but
    /// the oldest ones may have been dropped to make room, and clients that had not read them miss
    /// them.
    #[inline]
    pub fn append(&mut self, handle: usize, data: &[u8], time: T) -> Result<bool, QueueError> {
        self.get_mut(handle)?.append(data, time)
    }

    /// Counts an event of `len` bytes that cannot be delivered. `false`: it is larger than the
    /// queue's memory, and all clients miss it.
    ///
    /// # Errors
    /// [`QueueError::Invalid`], also if the event would fit and a client expects it.
    pub fn count_event(&mut self, handle: usize, len: usize) -> Result<bool, QueueError> {
        self.get_mut(handle)?.count_event(len)
    }

    /// Sequence number and bytes of the oldest event, if it must be dropped before one of `len`
    /// bytes can be appended.
    #[must_use]
    pub fn must_evict(&self, handle: usize, len: usize) -> Option<(u64, usize)> {
        self.get(handle).ok()?.must_evict(len)
    }

    /// Sequence number of the oldest stored event.
    #[must_use]
    pub fn oldest(&self, handle: usize) -> Option<u64> {
        self.get(handle).ok()?.oldest()
    }

    /// Sequence number of the event appended last.
    #[must_use]
    pub fn newest(&self, handle: usize) -> Option<u64> {
        self.get(handle).ok()?.newest()
    }

    /// Drops the oldest event of a queue; clients that have not read it miss it.
    pub fn drop_oldest(&mut self, handle: usize) {
        if let Ok(queue) = self.get_mut(handle) {
            queue.drop_oldest();
        }
    }

    /// The name of a queue and its limit of memory in bytes.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn name_and_limit(&self, handle: usize) -> Result<(&str, usize), QueueError> {
        self.get(handle).map(|queue| (queue.name.as_str(), queue.max_memory))
    }

    /// Sequence number of the first event not read by a client other than `context`; `u64::MAX` for
    /// none.
    #[must_use]
    pub fn first_unread(&self, handle: usize, context: i32) -> u64 {
        self.get(handle).map_or(u64::MAX, |queue| queue.first_unread(Some(context)))
    }

    /// Length of the table of queues, with free entries.
    #[must_use]
    pub const fn queue_slots(&self) -> usize {
        self.queues.len()
    }

    /// Whether the queue is removed when its last client ends.
    #[must_use]
    pub fn is_shut_down(&self, handle: usize) -> bool {
        self.get(handle).is_ok_and(|queue| queue.shutdown)
    }

    /// Whether the client has fetched from the queue.
    #[must_use]
    pub fn is_active(&self, handle: usize, context: i32) -> bool {
        self.get(handle)
            .is_ok_and(|queue| queue.readers.get(context).is_some_and(|r| r.cursor.is_some()))
    }

    /// Number of clients of a queue: those that have fetched, and expected ones.
    ///
    /// # Errors
    /// [`QueueError::Invalid`], as the other gauges.
    pub fn queue_clients(&self, handle: usize) -> Result<u32, QueueError> {
        Ok(self.get(handle)?.clients())
    }

    /// Events ever appended.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn counter(&self, handle: usize) -> Result<u64, QueueError> {
        Ok(self.get(handle)?.count)
    }

    /// Bytes ever appended.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn bytes(&self, handle: usize) -> Result<u64, QueueError> {
        Ok(self.get(handle)?.bytes)
    }

    /// Bytes of stored events.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn memory(&self, handle: usize) -> Result<usize, QueueError> {
        Ok(self.get(handle)?.memory())
    }

    /// Removes a queue at once (`true`), or when its last client ends. `gone` gets the filters of a
    /// queue that is removed.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn shutdown(&mut self, handle: usize, gone: impl FnMut(F)) -> Result<bool, QueueError> {
        let queue = self.get_mut(handle)?;
        if !queue.close() {
            return Ok(false);
        }
        queue.take_filters().for_each(gone);
        if let Some(place) = self.queues.get_mut(handle) {
            *place = None;
        }
        Ok(true)
    }

    /// Adds a client context and returns its index in the table of clients. A known context keeps
    /// its index.
    ///
    /// # Errors
    /// [`QueueError::NoMemory`].
    pub fn new_client(&mut self, context: i32) -> Result<usize, QueueError> {
        if let Some(known) = self.client(context) {
            return Ok(known);
        }
        let (slot, place) = lowest(&mut self.clients)?;
        *place = Some(context);
        Ok(slot)
    }

    /// Removes a client context. Drops events that only this client had not read, and removes
    /// queues that were shut down and waited for this client. `gone` gets what is removed.
    pub fn end_client(&mut self, context: i32, mut gone: impl FnMut(Gone<F>)) {
        let Some(place) = self.clients.iter_mut().find(|c| **c == Some(context)) else { return };
        *place = None;
        let last = self.clients() == 0;
        for (handle, place) in self.queues.iter_mut().enumerate() {
            let Some(queue) = place else { continue };
            let (filter, ends) = queue.leave(context);
            filter.into_iter().for_each(|filter| gone(Gone::Filter(filter)));
            if ends {
                queue.take_filters().for_each(|filter| gone(Gone::Filter(filter)));
                *place = None;
                gone(Gone::Queue(handle));
            } else if last {
                queue.deserted();
            }
        }
    }

    /// Index of a client in the table of clients.
    #[must_use]
    pub fn client(&self, context: i32) -> Option<usize> {
        self.clients.iter().position(|c| *c == Some(context))
    }

    /// Length of the table of clients, with free entries.
    #[must_use]
    pub const fn client_slots(&self) -> usize {
        self.clients.len()
    }

    /// Number of client contexts.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.clients.iter().flatten().count()
    }

    fn known(&mut self, context: i32, handle: usize) -> Result<&mut Queue<T, F>, QueueError> {
        if !self.clients.contains(&Some(context)) {
            return Err(QueueError::Invalid);
        }
        self.get_mut(handle)
    }

    /// Sets or removes a client's filter of a queue, and grants access to the queue. Returns the
    /// previous filter. `filter` is called only if client and queue exist; its error is returned.
    ///
    /// # Errors
    /// [`QueueError::Invalid`], [`QueueError::NoMemory`].
    pub fn set_filter(
        &mut self,
        context: i32,
        handle: usize,
        filter: impl FnOnce() -> Result<Option<F>, QueueError>,
    ) -> Result<Option<F>, QueueError> {
        self.known(context, handle)?.grant(context, |reader| {
            let old = reader.set_filter(filter()?);
            reader.access = true;
            Ok(old)
        })
    }

    /// Grants or revokes a client's access to a queue. A client without access receives, consumes
    /// and misses nothing.
    ///
    /// # Errors
    /// [`QueueError::Invalid`], [`QueueError::NoMemory`].
    pub fn set_access(
        &mut self,
        context: i32,
        handle: usize,
        allow: bool,
    ) -> Result<(), QueueError> {
        self.known(context, handle)?.grant(context, |reader| {
            reader.access = allow;
            Ok(())
        })
    }

    /// Begins a fetch; `None`: the client has no access. `memory` is for a fetch while no earlier
    /// one's memory can be used again.
    ///
    /// # Errors
    /// [`QueueError::Invalid`]; [`QueueError::NoMemory`]: as if the call had not been made, or as
    /// if nothing was appended yet.
    #[inline(always)]
    pub fn begin(
        &mut self,
        handle: usize,
        context: i32,
        memory: impl FnOnce() -> Option<Box<Fetch<T, F>>>,
    ) -> Result<Option<Box<Fetch<T, F>>>, QueueError> {
        let Self { queues, clients, spare, .. } = self;
        let (queue, reader) = reader(queues, clients, handle, context)?;
        if spare.is_none() {
            *spare = Some(memory().ok_or(QueueError::NoMemory)?);
        }
        let Some(mut fetch) = spare.take() else { return Ok(None) };
        let begun = fetch.begin(handle, queue, reader);
        if begun == Ok(true) {
            return Ok(Some(fetch));
        }
        *spare = Some(fetch).filter(|fetch| fetch.batch.is_small());
        begun.map(|_| None)
    }

    /// As [`Self::begin`] in memory that the caller has. `false`: the client has no access.
    fn begin_in(
        &mut self,
        fetch: &mut Fetch<T, F>,
        handle: usize,
        context: i32,
    ) -> Result<bool, QueueError> {
        let (queue, reader) = reader(&mut self.queues, &self.clients, handle, context)?;
        fetch.begin(handle, queue, reader)
    }

    /// Copies more events into a fetch whose events have all been taken. `false`: there are no
    /// more; events dropped meanwhile are missed.
    ///
    /// # Errors
    /// [`QueueError::NoMemory`]: the events are left to the next fetch.
    pub fn more(&mut self, fetch: &mut Fetch<T, F>) -> Result<bool, QueueError> {
        match self.get(fetch.handle) {
            Ok(queue) if queue.serial == fetch.queue => fetch.copy(queue),
            _ => Ok(fetch.miss_rest()),
        }
    }

    /// Ends a fetch: moves the client's cursor after the events taken. Returns the filter if the
    /// client has ended or was given another filter meanwhile.
    #[inline(always)]
    pub fn finish(&mut self, mut fetch: Box<Fetch<T, F>>) -> Option<F> {
        let unused = self.finish_in(&mut fetch);
        if fetch.batch.is_small() {
            self.spare = Some(fetch);
        }
        unused
    }

    /// As [`Self::finish`] in memory that the caller keeps.
    #[inline(always)]
    fn finish_in(&mut self, fetch: &mut Fetch<T, F>) -> Option<F> {
        let filter = fetch.filter.take();
        fetch.batch.clear();
        // A client that has ended is no reader any more.
        match self.get_mut(fetch.handle) {
            Ok(queue) if queue.serial == fetch.queue => {
                queue.read_until(fetch.context, fetch.next, fetch.missed, filter)
            }
            _ => filter,
        }
    }
}

#[cfg(test)]
mod tests;
