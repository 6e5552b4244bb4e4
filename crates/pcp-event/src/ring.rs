//! A bounded ring of packed high-resolution records, back to back, with absolute sequence numbers.

use std::collections::VecDeque;

use crate::array::Array;
use crate::batch::Batch;
use crate::layout::{HighRes, LowRes, Resolution};

/// Bytes of one entry of the table of ends.
const ENTRY: usize = size_of::<u64>();

/// The records [first, next).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    bytes: VecDeque<u8>,
    /// Absolute offset of the end of each stored record.
    ends: VecDeque<u64>,
    /// Absolute offset of the first stored byte.
    start: u64,
    /// Sequence number of the first stored record.
    first: u64,
}

/// The difference of two absolute offsets or numbers in the ring. It fits `usize`, since the ring
/// is in memory.
fn length(difference: u64) -> usize {
    usize::try_from(difference).unwrap_or(usize::MAX)
}

impl Ring {
    /// No records; the first will have number `first`.
    pub(crate) fn starting_at(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    /// The records of a batch; the first has number `first`.
    pub(crate) fn of(mut batch: Batch, first: u64) -> Self {
        batch.seal();
        let starts = batch.starts.iter().skip(1).map(|start| *start as u64);
        let last = (!batch.is_empty()).then_some(batch.bytes.len() as u64);
        Self { ends: starts.chain(last).collect(), bytes: batch.bytes.into(), start: 0, first }
    }

    /// The records from number `first` on, with the length of each.
    pub(crate) fn of_lengths(
        bytes: Vec<u8>,
        lengths: impl ExactSizeIterator<Item = u32>,
        first: u64,
    ) -> Self {
        let mut ends = VecDeque::with_capacity(lengths.len());
        let mut end = 0;
        ends.extend(lengths.map(|length| {
            end += u64::from(length);
            end
        }));
        Self { bytes: bytes.into(), ends, start: 0, first }
    }

    /// Bytes that a batch needs.
    pub(crate) fn size(batch: &Batch) -> usize {
        batch.bytes.len() + ENTRY * batch.starts.len()
    }

    /// Sequence number of the oldest stored record.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// Sequence number of the next record, which is also the number of records ever appended.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.ends.len() as u64
    }

    /// Stored bytes, with the table of ends.
    pub(crate) fn held(&self) -> usize {
        self.bytes.len() + ENTRY * self.ends.len()
    }

    /// Appends a sealed batch. Drops the oldest records (of the ring, then of the batch) until all
    /// fit into `share` bytes. The difference of [`Ring::first`] before and after is the number
    /// dropped.
    pub(crate) fn append(&mut self, batch: &Batch, share: usize) {
        let (total, records) = (batch.bytes.len(), batch.starts.len());
        // The newest records of the batch that fit by themselves: all, except for unusually large
        // batches.
        let takes = |at: usize, start: usize| total - start + ENTRY * (records - at);
        let skip = if takes(0, 0) <= share {
            0
        } else {
            batch
                .starts
                .iter()
                .enumerate()
                .position(|(at, start)| takes(at, *start) <= share)
                .unwrap_or(records)
        };
        let from = batch.starts.get(skip).copied().unwrap_or(total);
        self.drop_oldest(if skip == 0 { takes(0, 0) } else { usize::MAX }, share);
        self.first += skip as u64;
        let base = self.start + self.bytes.len() as u64;
        let bytes = batch.bytes.get(from..).unwrap_or_default();
        // Grows by a quarter instead of doubling: otherwise unused reserved bytes would be most of
        // the memory of many rings.
        if self.bytes.capacity() - self.bytes.len() < bytes.len() {
            self.bytes.reserve_exact(bytes.len().max(self.bytes.len() / 4));
        }
        self.bytes.extend(bytes);
        self.ends.reserve(records - skip);
        let starts = batch.starts.get(skip + 1..).unwrap_or_default();
        self.ends.extend(starts.iter().map(|start| base + (start - from) as u64));
        if skip < records {
            self.ends.push_back(base + (total - from) as u64);
        }
    }

    /// Drops the oldest records until `more` bytes fit into `share`, or nothing is left.
    pub(crate) fn drop_oldest(&mut self, more: usize, share: usize) {
        let over = self.held().saturating_add(more).saturating_sub(share) as u64;
        if over == 0 || self.ends.is_empty() {
            return;
        }
        // The bytes up to a record grow with its number: search the first record up to which
        // dropping is enough. Usually few records are dropped, so the search begins at the oldest.
        let mut dropped = 0;
        let mut step = 1;
        let enough = |at: usize| {
            self.ends.get(at).is_none_or(|end| end - self.start + (ENTRY * (at + 1)) as u64 >= over)
        };
        while !enough(dropped + step - 1) {
            dropped += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if !enough(dropped + step - 1) {
                dropped += step;
            }
        }
        let dropped = (dropped + 1).min(self.ends.len());
        let end = self.ends.get(dropped - 1).copied().unwrap_or(self.start);
        self.ends.drain(..dropped);
        self.bytes.drain(..length(end - self.start));
        self.start = end;
        self.first += dropped as u64;
        // A ring that grew under an older, larger share releases memory.
        if self.bytes.capacity() > 2 * share {
            self.bytes.shrink_to(share);
            self.ends.shrink_to(share / HighRes::RECORD_HEADER);
        }
    }

    /// Frees reserved memory, as after a burst.
    pub(crate) fn fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Offset of record `seq` from the first stored byte.
    fn offset(&self, seq: u64) -> usize {
        match length(seq - self.first).checked_sub(1) {
            Some(before) => self.ends.get(before).map_or(0, |end| length(end - self.start)),
            None => 0,
        }
    }

    /// The bytes of the records [from, to), which must be stored, in two pieces, since the ring
    /// wraps.
    pub(crate) fn slices(&self, from: u64, to: u64) -> [&[u8]; 2] {
        self.between(self.offset(from), self.offset(to))
    }

    fn between(&self, from: usize, to: usize) -> [&[u8]; 2] {
        let (a, b) = self.bytes.as_slices();
        let part = |s: &'_ [u8], base: usize| {
            (from.saturating_sub(base).min(s.len()), to.saturating_sub(base).min(s.len()))
        };
        let ((a0, a1), (b0, b1)) = (part(a, 0), part(b, a.len()));
        [a.get(a0..a1).unwrap_or_default(), b.get(b0..b1).unwrap_or_default()]
    }

    /// Copies the records [from, to), which must be stored, in low resolution: converted headers,
    /// the same parameters.
    pub(crate) fn copy_low(&self, from: u64, to: u64, out: &mut Array<LowRes>) {
        let put = out.add_converted(self.slices(from, to), length(to - from), self.ends(from, to));
        debug_assert_eq!(put, Ok(()), "the limits are far below ARRAY_MAX");
    }

    /// The end offset of each of the records [from, to), which must be stored, relative to the
    /// start of the first.
    pub(crate) fn ends(&self, from: u64, to: u64) -> impl Iterator<Item = usize> {
        let start = self.start + self.offset(from) as u64;
        let index = length(from - self.first);
        self.ends.range(index..index + length(to - from)).map(move |end| length(end - start))
    }

    /// The end of the records from `from` on that fit into `records` and `bytes` (high resolution).
    /// The first record may have `single` bytes instead, since a large one must not block the
    /// stream.
    pub(crate) fn within(&self, from: u64, records: usize, bytes: usize, single: usize) -> u64 {
        let to = self.next().min(from.saturating_add(records as u64));
        if to <= from {
            return from;
        }
        let start = self.offset(from);
        let limit = self.start.saturating_add((start.saturating_add(bytes)) as u64);
        let fitting = self
            .ends
            .partition_point(|end| *end <= limit)
            .saturating_sub(length(from - self.first));
        let fitting = fitting.min(length(to - from));
        let first = || {
            self.between(start, self.offset(from + 1)).iter().map(|part| part.len()).sum::<usize>()
        };
        if fitting == 0 && first() <= single { from + 1 } else { from + fitting as u64 }
    }
}
