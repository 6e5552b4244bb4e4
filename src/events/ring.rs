//! Packed records in both resolutions, back to back, bounded, with absolute sequence numbers. A record is exactly 8 bytes
//! shorter in low resolution, so one table of ends serves both.

use super::batch::Batch;
use super::layout::{HighRes, LowRes, Resolution};
use std::collections::VecDeque;

const SHORTER: u64 = (HighRes::RECORD_HEADER - LowRes::RECORD_HEADER) as u64;

/// The records [first, next).
#[derive(Debug, Default)]
pub(super) struct Ring {
    high: VecDeque<u8>,
    low: VecDeque<u8>,
    /// Absolute offset in the high-resolution bytes at which each held record ends.
    ends: VecDeque<u64>,
    /// Absolute offset of the first held byte.
    start: u64,
    /// Sequence number of the first held record.
    first: u64,
}

/// Differences of absolute numbers are lengths of what is in memory.
fn length(difference: u64) -> usize {
    usize::try_from(difference).unwrap_or(usize::MAX)
}

impl Ring {
    /// Sequence number of the oldest record held.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// Sequence number of the next record to come, which is also the number of records ever appended.
    pub(super) fn next(&self) -> u64 {
        self.first + self.ends.len() as u64
    }

    /// Bytes held, the table of ends included: its 8 bytes a record are what low resolution saves.
    pub(super) fn held(&self) -> usize {
        2 * self.high.len()
    }

    /// Appends a sealed batch, dropping the oldest records (of the ring, then of the batch) until all fit into `share`
    /// bytes. What was dropped is [`Ring::first`] before and after.
    pub(super) fn append(&mut self, batch: &Batch, share: usize) {
        let total = batch.bytes.len();
        // The newest records of the batch that fit by themselves: all, but for batches of unusual size.
        let skip = batch.records.partition_point(|r| 2 * (total - r.start) > share);
        let from = batch.records.get(skip).map_or(total, |r| r.start);
        self.drop_oldest(if skip == 0 { 2 * total } else { usize::MAX }, share);
        self.first += skip as u64;
        let base = self.start + self.high.len() as u64;
        let (high, low) = (batch.bytes.get(from..), batch.low.get(from - skip * length(SHORTER)..));
        // By a quarter and not by doubling: what rings reserve and do not use would be most of the memory of a large fleet.
        for (ring, bytes) in [(&mut self.high, high), (&mut self.low, low)] {
            let bytes = bytes.unwrap_or_default();
            if ring.capacity() - ring.len() < bytes.len() {
                ring.reserve_exact(bytes.len().max(ring.len() / 4));
            }
            ring.extend(bytes);
        }
        let ends = batch.records.iter().skip(skip + 1).map(|r| r.start).chain((skip < batch.records.len()).then_some(total));
        self.ends.extend(ends.map(|end| base + (end - from) as u64));
    }

    /// Drops the oldest records until `more` bytes fit into `share`, or nothing is left.
    pub(super) fn drop_oldest(&mut self, more: usize, share: usize) {
        let over = self.held().saturating_add(more).saturating_sub(share);
        if over == 0 || self.ends.is_empty() {
            return;
        }
        // Enough records that their high-resolution bytes are half of what is over.
        let until = self.start.saturating_add(over.div_ceil(2) as u64);
        let (mut end, mut dropped) = (self.start, 0);
        while end < until
            && let Some(next) = self.ends.get(dropped)
        {
            (end, dropped) = (*next, dropped + 1);
        }
        let high = length(end - self.start);
        self.ends.drain(..dropped);
        self.high.drain(..high);
        self.low.drain(..high - dropped * length(SHORTER));
        self.start = end;
        self.first += dropped as u64;
        // A ring that grew under an older, larger share gives the memory back.
        if self.high.capacity() > 2 * share {
            self.high.shrink_to(share);
            self.low.shrink_to(share);
            self.ends.shrink_to(share / HighRes::RECORD_HEADER);
        }
    }

    /// Absolute offset at which record `seq` starts, from the first held byte of resolution `R`.
    fn offset<R: Resolution>(&self, seq: u64) -> usize {
        let index = length(seq - self.first);
        let high = match index.checked_sub(1) {
            Some(before) => self.ends.get(before).map_or(0, |end| end - self.start),
            None => 0,
        };
        length(high) - (HighRes::RECORD_HEADER - R::RECORD_HEADER) * index
    }

    /// The bytes of the records [from, to), which must be held: two pieces, as the ring goes round.
    pub(super) fn slices<R: Resolution>(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let ring = if R::RECORD_HEADER == HighRes::RECORD_HEADER { &self.high } else { &self.low };
        let (from, to) = (self.offset::<R>(from), self.offset::<R>(to));
        let (a, b) = ring.as_slices();
        let part = |s: &'_ [u8], base: usize| (from.saturating_sub(base).min(s.len()), to.saturating_sub(base).min(s.len()));
        let ((a0, a1), (b0, b1)) = (part(a, 0), part(b, a.len()));
        [a.get(a0..a1).unwrap_or_default(), b.get(b0..b1).unwrap_or_default()]
    }

    /// How far records from `from` on go within `records` and `bytes` (high resolution). One record always goes, else a
    /// large one would block the stream.
    pub(super) fn within(&self, from: u64, records: usize, bytes: usize) -> u64 {
        let to = self.next().min(from.saturating_add(records as u64));
        if to <= from {
            return from;
        }
        let limit = self.start + (self.offset::<HighRes>(from) + bytes) as u64;
        let index = length(from - self.first);
        let fitting = self.ends.range(index..index + length(to - from)).take_while(|end| **end <= limit).count();
        from + fitting.max(1) as u64
    }
}
