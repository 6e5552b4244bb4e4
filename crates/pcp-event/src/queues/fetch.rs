//! A client's fetch from a queue, under way.

use super::arena::Batch;
use super::queue::QueueFilter;
use crate::ArrayError;

/// A fetch between [`Queues::begin`](super::Queues::begin) and
/// [`Queues::finish`](super::Queues::finish): copies of events to decode, and the client's filter,
/// taken out. Neither queue nor client is borrowed meanwhile, so a decoder may call whatever it
/// likes, and write into its events.
pub struct Fetch<T> {
    pub(super) handle: usize,
    pub(super) queue: u64,
    pub(super) context: i32,
    pub(super) batch: Batch<T>,
    /// Sequence number of the first event that was not yet taken or found missing.
    pub(super) next: u64,
    /// Events from this one on came later: they are for the next fetch.
    pub(super) end: u64,
    pub(super) missed: u64,
    /// Says which events the client wants. The caller applies it.
    pub filter: Option<QueueFilter>,
}

impl<T: Copy> Fetch<T> {
    /// The next event, and a NUL behind it; `None` at the end of what was copied:
    /// [`Queues::more`](super::Queues::more).
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "an iterator could not be stepped back")]
    pub fn next(&mut self) -> Option<(&mut [u8], T)> {
        let (seq, data, time) = self.batch.take()?;
        // Numbers between are of events that were never kept, or dropped since.
        self.missed += seq - self.next;
        self.next = seq + 1;
        Some((data, time))
    }

    /// Sequence number of the next event or what is missing before it.
    pub const fn position(&self) -> u64 {
        self.next
    }

    /// `true` when nothing is left: what was copied has been taken, and there is no more.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.next == self.end
    }

    /// `true` when no event is left of what was copied.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch.seq().is_none()
    }

    /// The event taken last is not done with: the next fetch begins with it.
    pub const fn put_back(&mut self) {
        self.next -= 1;
        self.batch.back();
    }

    /// Tells the client how many events it has missed, at most 2^31 − 1 at once; what cannot be
    /// told comes with the next fetch. Returns what was told.
    pub fn report_missed(&mut self, add: impl FnOnce(i32) -> Result<(), ArrayError>) -> u64 {
        let count = i32::try_from(self.missed).unwrap_or(i32::MAX);
        if count == 0 || add(count).is_err() {
            return 0;
        }
        let told = u64::from(count.unsigned_abs());
        self.missed -= told;
        told
    }
}
