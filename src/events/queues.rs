//! Named queues and the clients that read them: the calls of `pmdaEventNewQueue`, `pmdaEventQueue…`, `pmdaEventNewClient`,
//! `pmdaEventSetFilter`, `pmdaEventSetAccess`, for either resolution.

use super::array::{Array, ArrayError};
use super::layout::Resolution;
use super::queue::{Event, Queue, QueueFilter};
use crate::model::Stamp;
use std::sync::Arc;

/// Why a call did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// No such queue, no such client, an empty name, or no memory allowed (`-EINVAL`).
    #[error("no such queue or client, or an argument that makes no sense")]
    Invalid,
    /// A queue of this name exists (`-EEXIST`).
    #[error("a queue of this name exists")]
    Exists,
    /// No queue of this name (`-ESRCH`).
    #[error("no queue of this name")]
    NotFound,
}

/// Queues by handle (the lowest free number, as in C), clients by context. `T` is the time of an event.
pub struct Queues<T = Stamp> {
    queues: Vec<Option<Queue<T>>>,
    clients: Vec<Option<i32>>,
}

/// A fetch between [`Queues::begin`] and [`Queues::finish`]: the events to decode, and the client's filter, taken out.
/// Neither queue nor client is borrowed meanwhile, so a decoder may call whatever it likes.
pub struct Fetch<T> {
    handle: usize,
    context: i32,
    events: std::vec::IntoIter<Arc<Event<T>>>,
    next: u64,
    missed: u64,
    filter: Option<QueueFilter>,
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
pub struct Ended {
    /// Handles of queues that are no more.
    pub queues: Vec<usize>,
    /// Its filters.
    pub filters: Vec<QueueFilter>,
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self { queues: Vec::new(), clients: Vec::new() }
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

impl<T> Queues<T> {
    fn get(&self, handle: usize) -> Result<&Queue<T>, QueueError> {
        self.queues.get(handle).and_then(Option::as_ref).ok_or(QueueError::Invalid)
    }

    fn get_mut(&mut self, handle: usize) -> Result<&mut Queue<T>, QueueError> {
        self.queues.get_mut(handle).and_then(Option::as_mut).ok_or(QueueError::Invalid)
    }

    /// A queue that keeps at most `max_memory` bytes of events, oldest dropped first.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] without a name or memory, [`QueueError::Exists`].
    pub fn new_queue(&mut self, name: &str, max_memory: usize) -> Result<usize, QueueError> {
        self.new_active_queue(name, max_memory, 0)
    }

    /// A queue that keeps events from the start, as `clients` clients are there but have not fetched yet.
    ///
    /// # Errors
    /// As [`Queues::new_queue`].
    pub fn new_active_queue(&mut self, name: &str, max_memory: usize, clients: u32) -> Result<usize, QueueError> {
        if name.is_empty() || max_memory == 0 {
            return Err(QueueError::Invalid);
        }
        if self.handle(name).is_ok() {
            return Err(QueueError::Exists);
        }
        Ok(lowest(&mut self.queues, Queue::new(name, max_memory, clients)))
    }

    /// The handle of a queue.
    ///
    /// # Errors
    /// [`QueueError::NotFound`].
    pub fn handle(&self, name: &str) -> Result<usize, QueueError> {
        let found = self.queues.iter().position(|q| q.as_ref().is_some_and(|q| q.name == name));
        found.ok_or(QueueError::NotFound)
    }

    /// Appends an event. One that is larger than the queue may be is missed by all clients.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn append(&mut self, handle: usize, data: &[u8], time: T) -> Result<(), QueueError> {
        self.get_mut(handle)?.append(data, time);
        Ok(())
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
        Ok(self.get(handle)?.memory)
    }

    /// Removes a queue: at once, or when its last client ends. `true`: it has gone.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn shutdown(&mut self, handle: usize) -> Result<bool, QueueError> {
        let gone = self.get_mut(handle)?.close();
        if gone && let Some(place) = self.queues.get_mut(handle) {
            *place = None;
        }
        Ok(gone)
    }

    /// A client context begins; its number in the table of clients. Known contexts keep theirs.
    pub fn new_client(&mut self, context: i32) -> usize {
        match self.clients.iter().position(|c| *c == Some(context)) {
            Some(known) => known,
            None => lowest(&mut self.clients, context),
        }
    }

    /// A client context ends: events that only it had not seen are given up, and queues that waited for it to shut down.
    pub fn end_client(&mut self, context: i32) -> Ended {
        if let Some(place) = self.clients.iter_mut().find(|c| **c == Some(context)) {
            *place = None;
        }
        let mut ended = Ended::default();
        for (handle, place) in self.queues.iter_mut().enumerate() {
            let Some((filter, gone)) = place.as_mut().and_then(|q| q.leave(context)) else { continue };
            ended.filters.extend(filter);
            if gone {
                *place = None;
                ended.queues.push(handle);
            }
        }
        ended
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

    /// Sets or removes a client's filter of a queue, and grants it access. Returns the filter that was there.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn set_filter(
        &mut self,
        context: i32,
        handle: usize,
        filter: Option<QueueFilter>,
    ) -> Result<Option<QueueFilter>, QueueError> {
        let mut old = None;
        self.known(context, handle)?.grant(context, |reader| {
            old = std::mem::replace(&mut reader.filter, filter);
            reader.access = true;
        });
        Ok(old)
    }

    /// Grants or takes a client's access to a queue. Without, it gets nothing, consumes nothing and misses nothing.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn set_access(&mut self, context: i32, handle: usize, allow: bool) -> Result<(), QueueError> {
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
        let filter = queue.readers.get_mut(&context).and_then(|r| r.filter.take());
        let events = unseen.events.into_iter();
        Ok(Some(Fetch { handle, context, events, next: unseen.from, missed: unseen.missed, filter }))
    }

    /// Ends a fetch: moves the cursor behind what was taken from it. A client that has ended or has a new filter meanwhile
    /// stays so. Returns the filter, if it is not needed any more.
    pub fn finish(&mut self, fetch: Fetch<T>) -> Option<QueueFilter> {
        let Ok(queue) = self.known(fetch.context, fetch.handle) else { return fetch.filter };
        let Some(reader) = queue.readers.get_mut(&fetch.context) else { return fetch.filter };
        reader.missed += fetch.missed;
        let unused = if reader.filter.is_none() {
            reader.filter = fetch.filter;
            None
        } else {
            fetch.filter
        };
        queue.seen(fetch.context, fetch.next);
        unused
    }

    /// Decodes what a client has not seen into `array`, which is reset first. `decode` adds records for one event; what it
    /// had added when it fails is taken back, and the event is passed over.
    ///
    /// # Errors
    /// Of `decode`, if nothing was decoded before: else the rest comes with the next call, which then fails at once.
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
        let (mut events, mut failed) = (0, None);
        while let Some(event) = fetch.next() {
            let mark = array.mark();
            match decode(array, event.data.as_deref().unwrap_or_default(), &event.time) {
                Ok(()) => events += 1,
                Err(e) => {
                    array.rollback(mark);
                    if events > 0 {
                        fetch.again();
                    } else {
                        failed = Some(e);
                    }
                    break;
                }
            }
        }
        let missed = if failed.is_none() { fetch.take_missed() } else { 0 };
        self.finish(fetch);
        if let Some(e) = failed {
            return Err(e);
        }
        if missed > 0 {
            let told = array.add_missed(now, i32::try_from(missed).unwrap_or(i32::MAX));
            debug_assert!(told != Err(ArrayError::Invalid), "not negative");
        }
        Ok(Fetched { events, missed })
    }
}

impl<T> Fetch<T> {
    /// The next event that passes the filter.
    #[expect(clippy::should_implement_trait, reason = "an iterator could not be stepped back")]
    pub fn next(&mut self) -> Option<Arc<Event<T>>> {
        loop {
            let event = self.events.next()?;
            self.next += 1;
            let Some(data) = &event.data else {
                self.missed += 1;
                continue;
            };
            if self.filter.as_mut().is_none_or(|f| f(data)) {
                return Some(event);
            }
        }
    }

    /// The event taken last is not done with: the next fetch begins with it.
    pub fn again(&mut self) {
        self.next -= 1;
    }

    /// Events missed up to here: the caller tells the client. Else they are told with the next fetch.
    pub const fn take_missed(&mut self) -> u64 {
        std::mem::replace(&mut self.missed, 0)
    }
}

#[cfg(test)]
#[path = "queues_tests.rs"]
mod tests;
