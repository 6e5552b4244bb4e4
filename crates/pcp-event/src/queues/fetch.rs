//! A client's fetch from a queue.

use super::arena::Batch;
use super::error::QueueError;
use super::queue::Queue;
use super::readers::QueueFilter;
use crate::array::ArrayError;

/// A fetch between [`Queues::begin`](super::Queues::begin) and
/// [`Queues::finish`](super::Queues::finish): copies of events to decode, and the client's filter.
/// It borrows neither queue nor client, so a decoder may call any function of the queues, and may
/// change the events.
pub struct Fetch<T, F = QueueFilter> {
    pub(super) handle: usize,
    pub(super) queue: u64,
    pub(super) context: i32,
    pub(super) batch: Batch<T>,
    /// Sequence number of the first event that is neither taken nor missed.
    pub(super) next: u64,
    /// Events from this number on are left to the next fetch.
    pub(super) end: u64,
    pub(super) missed: u64,
    /// Events taken that the filter has kept.
    taken: u64,
    /// The client's filter, which the caller applies.
    pub filter: Option<F>,
}

impl<T, F> Default for Fetch<T, F> {
    /// Memory for a fetch.
    fn default() -> Self {
        Self {
            handle: 0,
            queue: 0,
            context: 0,
            batch: Batch::default(),
            next: 0,
            end: 0,
            missed: 0,
            taken: 0,
            filter: None,
        }
    }
}

impl<T: Copy, F> Fetch<T, F> {
    /// Begins a fetch of a client from a queue, and copies events. `reader`: the client and its
    /// place. `false`: it has no access.
    ///
    /// # Errors
    /// [`QueueError::NoMemory`]: the client has its filter and its place again.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        handle: usize,
        queue: &mut Queue<T, F>,
        (context, place): (i32, Result<usize, usize>),
    ) -> Result<bool, QueueError> {
        let Some(unseen) = queue.unseen(context, place)? else { return Ok(false) };
        (self.handle, self.queue, self.context) = (handle, queue.serial, context);
        (self.next, self.end, self.missed) = (unseen.from, unseen.end, unseen.missed);
        (self.taken, self.filter) = (0, unseen.filter);
        match self.copy(queue) {
            Ok(_) => Ok(true),
            Err(e) => {
                let filter = self.filter.take();
                queue.read_until(context, self.next, self.missed, filter);
                Err(e)
            }
        }
    }

    /// Copies events from the queue. `false`: there are no more; events dropped meanwhile are
    /// missed.
    ///
    /// # Errors
    /// [`QueueError::NoMemory`].
    #[inline(always)]
    pub(super) fn copy(&mut self, queue: &Queue<T, F>) -> Result<bool, QueueError> {
        if self.next >= self.end || !queue.copy(self.next, &mut self.batch)? {
            return Ok(self.miss_rest());
        }
        // When a fetch begins no event is behind its end.
        if queue.next > self.end {
            self.batch.cut(self.end);
        }
        Ok(self.batch.seq().is_some() || self.miss_rest())
    }

    /// Counts the events that are not copied yet as missed. `false`: there are no more.
    pub(super) fn miss_rest(&mut self) -> bool {
        self.missed += self.end.saturating_sub(self.next);
        self.next = self.next.max(self.end);
        false
    }

    /// Whether there is nothing to deliver, neither events nor a number of missed ones.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.is_done() && self.missed == 0
    }

    /// The next event, with a trailing NUL, and its time. `None` at the end of the copied events:
    /// [`Queues::more`](super::Queues::more) copies more.
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "an iterator could not be stepped back")]
    pub fn next(&mut self) -> Option<(&mut [u8], T)> {
        self.step().map(|(event, time, _)| (event, time))
    }

    /// As [`Self::next`], with the filter to apply.
    #[inline(always)]
    pub fn step(&mut self) -> Option<(&mut [u8], T, &mut Option<F>)> {
        let (seq, data, time) = self.batch.take()?;
        // The numbers in between belong to events that were never stored, or were dropped.
        if seq != self.next {
            self.missed += seq - self.next;
        }
        self.next = seq + 1;
        self.taken += 1;
        Some((data, time, &mut self.filter))
    }

    /// The filter does not keep the event taken last.
    pub const fn cull(&mut self) {
        self.taken -= 1;
    }

    /// Sequence number of the next event, or of the first missed event before it.
    pub const fn position(&self) -> u64 {
        self.next
    }

    /// Whether all events are taken and there are no more to copy.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.next == self.end
    }

    /// Whether events were missed that are not reported yet.
    #[must_use]
    pub const fn has_missed(&self) -> bool {
        self.missed > 0
    }

    /// Whether all copied events are taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch.seq().is_none()
    }

    /// The decoder has failed on the event taken last, and what it has added is removed. `kept`: the
    /// records of the events before are there still; without them these events are missed.
    /// `delivers`: there are such records. They are delivered now, and the next fetch begins with the
    /// event. `again`: for lack of memory, so the event is not skipped. Returns whether the fetch
    /// fails.
    pub const fn refuse(&mut self, kept: bool, delivers: bool, again: bool) -> bool {
        if !kept {
            self.lose_taken(1);
            return true;
        }
        if delivers || again {
            self.put_back();
        }
        !delivers
    }

    /// Puts back the event taken last: the next fetch begins with it.
    const fn put_back(&mut self) {
        self.next -= 1;
        self.taken -= 1;
        self.batch.back();
    }

    /// Counts the events taken as missed, but for the last ones: they cannot be delivered.
    pub const fn lose_taken(&mut self, but: u64) {
        self.missed += self.taken.saturating_sub(but);
        self.taken = 0;
    }

    /// Reports the number of missed events through `add`, at most 2^31 − 1 at once; the rest
    /// follows in the next fetch. Returns the number reported.
    pub fn report_missed(&mut self, add: impl FnOnce(i32) -> Result<(), ArrayError>) -> u64 {
        let count = i32::try_from(self.missed).unwrap_or(i32::MAX);
        if count == 0 || add(count).is_err() {
            return 0;
        }
        let reported = u64::from(count.unsigned_abs());
        self.missed -= reported;
        reported
    }
}

/// A queue with one of its readers.
pub(super) type OfReader<'q, T, F> = (&'q mut Queue<T, F>, (i32, Result<usize, usize>));

/// A queue, and the place of a client among its readers, or for it.
#[inline(always)]
pub(super) fn reader<'q, T: Copy, F>(
    queues: &'q mut [Option<Queue<T, F>>],
    clients: &[Option<i32>],
    handle: usize,
    context: i32,
) -> Result<OfReader<'q, T, F>, QueueError> {
    let queue = queues.get_mut(handle).and_then(Option::as_mut).ok_or(QueueError::Invalid)?;
    // A queue's readers are clients.
    match queue.readers.find(context) {
        Err(_) if !clients.contains(&Some(context)) => Err(QueueError::Invalid),
        place => Ok((queue, (context, place))),
    }
}
