//! Named queues and the clients that read them: the calls of `pmdaEventNewQueue`,
//! `pmdaEventQueue…`, `pmdaEventNewClient`, `pmdaEventSetFilter`, `pmdaEventSetAccess`, for either
//! resolution.

mod arena;
mod fetch;
mod queue;
mod reserve;

use arena::Batch;
pub use fetch::Fetch;
pub use queue::QueueFilter;
use queue::{Queue, Unseen};
use reserve::Reserve;

use super::array::Array;
use super::layout::Resolution;
use crate::Stamp;

/// Why a call did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// No such queue, no such client, or no memory allowed (`-EINVAL`).
    #[error("no such queue or client, or an argument that makes no sense")]
    Invalid,
    /// A queue of this name exists (`-EEXIST`).
    #[error("a queue of this name exists")]
    Exists,
    /// No queue of this name (`-ESRCH`).
    #[error("no queue of this name")]
    NotFound,
}

/// Queues by handle (the lowest free number, as in C), clients by context. `T` is the time of an
/// event.
pub struct Queues<T = Stamp> {
    queues: Vec<Option<Queue<T>>>,
    clients: Vec<Option<i32>>,
    /// Memory of the last fetch, for the next.
    spare: Batch<T>,
    /// Queues ever made.
    made: u64,
}

/// One client's new records of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Events decoded into the array.
    pub events: usize,
    /// Events that this client will never see; the array ends with a MISSED record that says so.
    pub missed: u64,
}

/// What went with a client.
#[derive(Default)]
pub struct EndedClient {
    /// Handles of queues that are no more.
    pub queues: Vec<usize>,
    /// Its filters, and those of queues that are no more.
    pub filters: Vec<QueueFilter>,
}

impl<T: Copy> Default for Queues<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> std::fmt::Debug for Queues<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.queues.iter().flatten().map(|q| &q.name).collect();
        f.debug_struct("Queues").field("names", &names).field("clients", &self.clients).finish()
    }
}

/// Puts a value into the lowest free place.
fn lowest<V>(places: &mut Vec<Option<V>>, value: V) -> usize {
    match places.iter_mut().enumerate().find(|(_, p)| p.is_none()) {
        Some((i, place)) => {
            *place = Some(value);
            i
        }
        None => {
            places.push(Some(value));
            places.len() - 1
        }
    }
}

impl<T: Copy> Queues<T> {
    /// No queues, no clients.
    #[must_use]
    pub const fn new() -> Self {
        Self { queues: Vec::new(), clients: Vec::new(), spare: Batch::new(), made: 0 }
    }

    fn get(&self, handle: usize) -> Result<&Queue<T>, QueueError> {
        self.queues.get(handle).and_then(Option::as_ref).ok_or(QueueError::Invalid)
    }

    fn get_mut(&mut self, handle: usize) -> Result<&mut Queue<T>, QueueError> {
        self.queues.get_mut(handle).and_then(Option::as_mut).ok_or(QueueError::Invalid)
    }

    /// A queue that keeps at most `max_memory` bytes of events, oldest dropped first.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] without memory, [`QueueError::Exists`].
    pub fn new_queue(&mut self, name: &str, max_memory: usize) -> Result<usize, QueueError> {
        self.new_active_queue(name, max_memory, 0)
    }

    /// A queue that keeps events from the start, as `clients` clients are there but have not
    /// fetched yet. Those that are known now are waited for until they fetch, end, or the queue
    /// has been fetched from 16 times for each of `clients`; what they have missed then is told
    /// when they come. Of others, who are not known, each fetch is taken to be one. Nobody is
    /// waited for any more when the last client of all ends.
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
        let reserve = Reserve::new(clients, self.clients.iter().flatten().copied());
        self.made += 1;
        Ok(lowest(&mut self.queues, Queue::new(self.made, name, max_memory, reserve)))
    }

    /// The handle of a queue.
    ///
    /// # Errors
    /// [`QueueError::NotFound`].
    pub fn handle(&self, name: &str) -> Result<usize, QueueError> {
        let found = self.queues.iter().position(|q| q.as_ref().is_some_and(|q| q.name == name));
        found.ok_or(QueueError::NotFound)
    }

    /// Appends an event. One that is larger than the queue may be is missed by all clients:
    /// `false`. One without bytes counts as one against the memory of the queue.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    #[inline]
    pub fn append(&mut self, handle: usize, data: &[u8], time: T) -> Result<bool, QueueError> {
        Ok(self.get_mut(handle)?.append(data, time))
    }

    /// Counts an event of `len` bytes that nobody can be given: `false`. It is missed by all
    /// clients, if it is larger than the queue may be; [`QueueError::Invalid`] if it is not and
    /// clients expect it.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn count_event(&mut self, handle: usize, len: usize) -> Result<bool, QueueError> {
        self.get_mut(handle)?.count_event(len)
    }

    /// Sequence number and bytes of the oldest event, if it must go before one of `len` bytes can
    /// be appended.
    #[must_use]
    pub fn must_evict(&self, handle: usize, len: usize) -> Option<(u64, usize)> {
        self.get(handle).ok()?.must_evict(len)
    }

    /// Sequence number of the oldest event that is held.
    #[must_use]
    pub fn oldest(&self, handle: usize) -> Option<u64> {
        self.get(handle).ok()?.oldest()
    }

    /// Sequence number of the event appended last.
    #[must_use]
    pub fn newest(&self, handle: usize) -> Option<u64> {
        self.get(handle).ok()?.newest()
    }

    /// Drops the oldest event of a queue. Those who have not seen it have missed it.
    pub fn drop_oldest(&mut self, handle: usize) {
        if let Ok(queue) = self.get_mut(handle) {
            queue.drop_oldest();
        }
    }

    /// The name of a queue and the most bytes that it holds.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn name_and_limit(&self, handle: usize) -> Result<(&str, usize), QueueError> {
        self.get(handle).map(|queue| (queue.name.as_str(), queue.max_memory))
    }

    /// Sequence number of the first event that clients other than `context` have still to see; the
    /// largest number for none.
    #[must_use]
    pub fn first_unread(&self, handle: usize, context: i32) -> u64 {
        self.get(handle).map_or(u64::MAX, |queue| queue.first_unread(Some(context)))
    }

    /// Places in the table of queues.
    #[must_use]
    pub const fn queue_slots(&self) -> usize {
        self.queues.len()
    }

    /// `true` for a queue that goes when its last client ends.
    #[must_use]
    pub fn is_shut_down(&self, handle: usize) -> bool {
        self.get(handle).is_ok_and(|queue| queue.shutdown)
    }

    /// `true` when the client has fetched from the queue.
    #[must_use]
    pub fn is_active(&self, handle: usize, context: i32) -> bool {
        self.get(handle)
            .is_ok_and(|queue| queue.readers.get(&context).is_some_and(|r| r.cursor.is_some()))
    }

    /// Clients of a queue: those that have fetched, and those it was made with.
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

    /// Bytes of events held.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn memory(&self, handle: usize) -> Result<usize, QueueError> {
        Ok(self.get(handle)?.memory())
    }

    /// Removes a queue: at once, or when its last client ends. `Some`: it has gone, with these
    /// filters.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn shutdown(&mut self, handle: usize) -> Result<Option<Vec<QueueFilter>>, QueueError> {
        let queue = self.get_mut(handle)?;
        if !queue.close() {
            return Ok(None);
        }
        let filters = queue.take_filters();
        if let Some(place) = self.queues.get_mut(handle) {
            *place = None;
        }
        Ok(Some(filters))
    }

    /// A client context begins; its number in the table of clients. Known contexts keep theirs.
    pub fn new_client(&mut self, context: i32) -> usize {
        match self.clients.iter().position(|c| *c == Some(context)) {
            Some(known) => known,
            None => lowest(&mut self.clients, context),
        }
    }

    /// A client context ends: events that only it had not seen are given up, and queues that waited
    /// for it to shut down.
    pub fn end_client(&mut self, context: i32) -> EndedClient {
        let mut ended = EndedClient::default();
        let Some(place) = self.clients.iter_mut().find(|c| **c == Some(context)) else {
            return ended;
        };
        *place = None;
        let last = self.clients() == 0;
        for (handle, place) in self.queues.iter_mut().enumerate() {
            let Some(queue) = place else { continue };
            let (filter, gone) = queue.leave(context);
            ended.filters.extend(filter);
            if gone {
                ended.filters.extend(queue.take_filters());
                *place = None;
                ended.queues.push(handle);
            } else if last {
                queue.deserted();
            }
        }
        ended
    }

    /// Number of a client in the table of clients.
    #[must_use]
    pub fn client(&self, context: i32) -> Option<usize> {
        self.clients.iter().position(|c| *c == Some(context))
    }

    /// Places in the table of clients.
    #[must_use]
    pub const fn client_slots(&self) -> usize {
        self.clients.len()
    }

    /// Number of client contexts.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.clients.iter().flatten().count()
    }

    fn known(&mut self, context: i32, handle: usize) -> Result<&mut Queue<T>, QueueError> {
        if !self.clients.contains(&Some(context)) {
            return Err(QueueError::Invalid);
        }
        self.get_mut(handle)
    }

    /// Sets or removes a client's filter of a queue, and grants it access. Returns the filter that
    /// was there. `filter` is only called, and a filter made, when client and queue exist.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn set_filter(
        &mut self,
        context: i32,
        handle: usize,
        filter: impl FnOnce() -> Option<QueueFilter>,
    ) -> Result<Option<QueueFilter>, QueueError> {
        let mut old = None;
        self.known(context, handle)?.grant(context, |reader| {
            old = reader.set_filter(filter());
            reader.access = true;
        });
        Ok(old)
    }

    /// Grants or takes a client's access to a queue. Without, it gets nothing, consumes nothing and
    /// misses nothing.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn set_access(
        &mut self,
        context: i32,
        handle: usize,
        allow: bool,
    ) -> Result<(), QueueError> {
        self.known(context, handle)?.grant(context, |reader| reader.access = allow);
        Ok(())
    }

    /// Begins a fetch; `None` when the client has no access.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn begin(&mut self, handle: usize, context: i32) -> Result<Option<Fetch<T>>, QueueError> {
        let queue = self.known(context, handle)?;
        let Some(unseen) = queue.unseen(context) else { return Ok(None) };
        let Unseen { from, end, missed, filter } = unseen;
        let queue = queue.serial;
        let batch = std::mem::replace(&mut self.spare, Batch::new());
        let mut fetch = Fetch { handle, queue, context, batch, next: from, end, missed, filter };
        self.more(&mut fetch);
        Ok(Some(fetch))
    }

    /// Gets more events for a fetch whose events have all been taken; `false` when there are none,
    /// and what was dropped meanwhile is missed.
    pub fn more(&mut self, fetch: &mut Fetch<T>) -> bool {
        let found = fetch.next < fetch.end
            && self.get(fetch.handle).is_ok_and(|queue| {
                let copied =
                    queue.serial == fetch.queue && queue.copy(fetch.next, &mut fetch.batch);
                fetch.batch.cut(fetch.end);
                copied && fetch.batch.seq().is_some()
            });
        if !found {
            fetch.missed += fetch.end - fetch.next;
            fetch.next = fetch.end;
        }
        found
    }

    /// Ends a fetch: moves the cursor behind what was taken from it. A client that has ended or has
    /// a new filter meanwhile stays so. Returns the filter, if it is not needed any more.
    pub fn finish(&mut self, fetch: Fetch<T>) -> Option<QueueFilter> {
        if fetch.batch.is_small() {
            self.spare = fetch.batch;
            self.spare.clear();
        }
        match self.known(fetch.context, fetch.handle) {
            Ok(queue) if queue.serial == fetch.queue => {
                queue.seen(fetch.context, fetch.next, fetch.missed, fetch.filter)
            }
            _ => fetch.filter,
        }
    }

    /// Decodes what a client has not seen into `array`, which is reset first. `decode` adds records
    /// for one event; what it had added when it fails is taken back, and the event is passed
    /// over. A count of missed events for which the array has no room is told with the next
    /// call.
    ///
    /// # Errors
    /// Of `decode`, if nothing was decoded before: else the rest comes with the next call, which
    /// then fails at once.
    pub fn records<R: Resolution, E: From<QueueError>>(
        &mut self,
        handle: usize,
        context: i32,
        array: &mut Array<R>,
        now: Stamp,
        mut decode: impl FnMut(&mut Array<R>, &[u8], &T) -> Result<(), E>,
    ) -> Result<Fetched, E> {
        array.reset();
        let Some(mut fetch) = self.begin(handle, context)? else { return Ok(Fetched::default()) };
        let mut filter = fetch.filter.take();
        let (mut events, mut failed, mut going) = (0, None, true);
        while going {
            let Some((event, time)) = fetch.next() else {
                going = self.more(&mut fetch);
                continue;
            };
            if filter.as_mut().is_some_and(|keeps| !keeps(event)) {
                continue;
            }
            let mark = array.checkpoint();
            let data = event.split_last().map_or(&[][..], |(_, data)| data);
            if let Err(e) = decode(array, data, &time) {
                array.rollback(mark);
                if events > 0 {
                    fetch.put_back();
                } else {
                    failed = Some(e);
                }
                break;
            }
            events += 1;
        }
        let missed = match failed {
            None => fetch.report_missed(|count| array.add_missed(now, count)),
            Some(_) => 0,
        };
        fetch.filter = filter;
        self.finish(fetch);
        failed.map_or(Ok(Fetched { events, missed }), Err)
    }
}

#[cfg(test)]
mod tests;
