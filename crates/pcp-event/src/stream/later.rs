//! Records that are packed when somebody reads them: a producer that keeps the bytes they come from
//! needs less memory for them, and no time for those that nobody reads.

use std::fmt::Debug;
use std::sync::atomic::Ordering;

use super::{Budget, Stream};
use crate::batch::Batch;
use crate::ring::Ring;
use crate::types::stamp::Stamp;

/// The part of a stream's share that one piece of unpacked records may have, so that dropping one
/// leaves most of the history.
const UNPACKED_PART: usize = 4;

/// Records that are not packed yet. What is packed never changes: all readers get the same bytes.
pub trait Unpacked: Debug + Send + Sync {
    /// Bytes of memory that they hold.
    fn memory(&self) -> usize;

    /// Packs the records from number `from` on, counted from 0, into the empty batch: `records` of
    /// them, or fewer as soon as they have at least `bytes` bytes.
    fn pack(&self, from: u64, records: usize, bytes: usize, batch: &mut Batch);
}

/// Records for [`Stream::append_later`], and what counts although they are not packed.
#[derive(Debug)]
pub struct Later {
    /// The records.
    pub records: Box<dyn Unpacked>,
    /// Their number.
    pub count: u64,
    /// Bytes of all of them, packed in high resolution.
    pub bytes: u64,
    /// Their parameters that will be cut or left out.
    pub truncated: u64,
    /// Time of the newest one.
    pub newest: Stamp,
}

impl Budget {
    /// [`Stream::later_max`] of one more stream, without the slowest records.
    #[must_use]
    pub fn later_max(&self) -> usize {
        self.share_of(self.streams.load(Ordering::Relaxed) + 1) / UNPACKED_PART
    }
}

impl Stream {
    /// Most [bytes of memory](Unpacked::memory) of records for [`Self::append_later`]: a quarter of
    /// the stream's share; 0 if the stream looks at all records, as those do that have
    /// [the slowest](Self::with_slowest).
    #[must_use]
    pub fn later_max(&self) -> usize {
        match self.shares.load(Ordering::Relaxed) {
            _ if self.lock().slowest.is_some() => 0,
            true => self.budget.share() / UNPACKED_PART,
            false => self.budget.later_max(),
        }
    }

    /// As [`Self::append`], for at most [`Self::later_max`] bytes of records that are packed when
    /// they are read. They are dropped all at once.
    pub fn append_later(&self, later: Later) {
        if later.count == 0 {
            return;
        }
        let share = self.share();
        self.change(|inner| {
            inner.bytes += later.bytes;
            inner.truncated += later.truncated;
            inner.newest = later.newest;
            inner.store.push_later(later, share);
        });
    }
}

/// Unpacked records of a stream.
#[derive(Debug)]
pub(super) struct Kept {
    /// Sequence number of the first one.
    pub(super) first: u64,
    count: u64,
    records: Box<dyn Unpacked>,
    /// Their memory.
    pub(super) held: usize,
}

impl Kept {
    pub(super) fn new(first: u64, later: Later) -> Self {
        let held = size_of::<Self>() + later.records.memory();
        Self { first, count: later.count, records: later.records, held }
    }

    /// Sequence number of the record after the last one.
    pub(super) const fn next(&self) -> u64 {
        self.first + self.count
    }

    /// The records from number `seq` on, packed: `records` of them, or fewer as soon as they have
    /// `bytes` bytes.
    pub(super) fn packed(&self, seq: u64, records: usize, bytes: usize) -> Ring {
        let left = usize::try_from(self.next().saturating_sub(seq)).unwrap_or(usize::MAX);
        let (records, mut batch) = (records.min(left), Batch::default());
        self.records.pack(seq - self.first, records, bytes, &mut batch);
        debug_assert!(batch.len() <= records && (records == 0 || !batch.is_empty()), "as promised");
        Ring::of(batch, seq)
    }
}

#[cfg(test)]
mod tests;
