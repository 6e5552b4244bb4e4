//! The records of a stream: a ring of packed ones, and before them older ones, some unpacked or at
//! rest.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::later::{Kept, Later};
use super::resting::Resting;
use crate::batch::Batch;
use crate::ring::Ring;

/// Records that are packed at once when the newest ones are collected from the end.
const FEW: u64 = 64;

/// Records with successive sequence numbers.
#[derive(Debug)]
enum Part {
    Packed(Ring),
    Unpacked(Kept),
    /// Always the last part, and the ring behind it is empty.
    Resting(Resting),
}

impl Part {
    fn next(&self) -> u64 {
        match self {
            Self::Packed(ring) => ring.next(),
            Self::Unpacked(kept) => kept.next(),
            Self::Resting(resting) => resting.next(),
        }
    }

    fn held(&self) -> usize {
        match self {
            Self::Packed(ring) => ring.held(),
            Self::Unpacked(kept) => kept.held,
            Self::Resting(resting) => resting.held(),
        }
    }
}

/// The records [first, next).
#[derive(Debug, Default)]
pub(super) struct Store {
    /// Oldest first; none is empty. Streams whose records all come packed have none.
    older: VecDeque<Part>,
    /// Their memory.
    older_held: usize,
    /// The newest records, packed.
    ring: Ring,
}

impl Store {
    /// Sequence number of the oldest stored record.
    pub(super) fn first(&self) -> u64 {
        match self.older.front() {
            None => self.ring.first(),
            Some(Part::Packed(ring)) => ring.first(),
            Some(Part::Unpacked(kept)) => kept.first,
            Some(Part::Resting(resting)) => resting.first(),
        }
    }

    /// Sequence number of the next record, which is also the number of records ever appended.
    pub(super) fn next(&self) -> u64 {
        self.ring.next()
    }

    /// Stored bytes, with what they need beside.
    pub(super) fn held(&self) -> usize {
        self.older_held + self.ring.held()
    }

    /// Appends a sealed batch: see [`Ring::append`].
    pub(super) fn append(&mut self, batch: &Batch, share: usize) {
        self.wake();
        self.drop_older(self.ring.held().saturating_add(Ring::size(batch)), share);
        self.ring.append(batch, share.saturating_sub(self.older_held));
    }

    /// Appends unpacked records, and drops the oldest records until all fit into `share` bytes.
    pub(super) fn push_later(&mut self, later: Later, share: usize) {
        self.wake();
        if self.ring.first() < self.ring.next() {
            let next = Ring::starting_at(self.ring.next());
            let mut ring = std::mem::replace(&mut self.ring, next);
            ring.fit();
            self.push(Part::Packed(ring));
        }
        let kept = Kept::new(self.ring.next(), later);
        self.ring = Ring::starting_at(kept.next());
        self.push(Part::Unpacked(kept));
        self.drop_oldest(share);
    }

    fn push(&mut self, part: Part) {
        self.older_held += part.held();
        self.older.push_back(part);
    }

    /// Drops the oldest records until the rest fits into `share` bytes.
    pub(super) fn drop_oldest(&mut self, share: usize) {
        if self.held() > share {
            self.wake();
        }
        self.drop_older(self.ring.held(), share);
        self.ring.drop_oldest(0, share.saturating_sub(self.older_held));
    }

    /// Drops older records until `more` bytes fit into `share`.
    fn drop_older(&mut self, more: usize, share: usize) {
        while self.older_held.saturating_add(more) > share
            && let Some(part) = self.older.front_mut()
        {
            let before = part.held();
            let mut after = 0;
            if let Part::Packed(ring) = part {
                ring.drop_oldest((self.older_held - before).saturating_add(more), share);
                after = ring.held();
            }
            self.older_held -= before - after;
            if after == 0 {
                self.older.pop_front();
            }
        }
    }

    /// Frees reserved memory, as after a burst.
    pub(super) fn fit(&mut self) {
        self.ring.fit();
    }

    /// Compresses the records of the ring until some are appended. Returns their bytes; 0 if that
    /// does not pay, or they are.
    pub(super) fn rest(&mut self) -> usize {
        let Some(resting) = Resting::of(&self.ring) else { return 0 };
        let bytes = self.ring.held();
        self.ring = Ring::starting_at(resting.next());
        self.older.reserve_exact(1);
        self.push(Part::Resting(resting));
        bytes
    }

    /// The records of the ring are there again.
    fn wake(&mut self) {
        if let Some(Part::Resting(resting)) = self.older.back() {
            self.ring = resting.ring();
            self.older_held -= resting.held();
            self.older.pop_back();
        }
    }

    /// A copy of the newest records, at most `records` and `bytes` bytes, but one in any case;
    /// oldest first.
    pub(super) fn newest(&self, records: usize, bytes: usize) -> Vec<u8> {
        let oldest = self.first().max(self.next().saturating_sub(records as u64));
        let mut newest = Newest { room: bytes, pieces: Vec::new() };
        let mut goes_on = newest.take(&self.ring, oldest.max(self.ring.first()));
        for part in self.older.iter().rev() {
            match part {
                _ if !goes_on => break,
                Part::Packed(ring) => goes_on = newest.take(ring, oldest.max(ring.first())),
                Part::Resting(resting) => {
                    let ring = resting.ring();
                    goes_on = newest.take(&ring, oldest.max(ring.first()));
                }
                Part::Unpacked(kept) => {
                    let mut to = kept.next();
                    while goes_on && to > oldest.max(kept.first) {
                        let from = to.saturating_sub(FEW).max(oldest).max(kept.first);
                        let few = usize::try_from(to - from).unwrap_or(usize::MAX);
                        goes_on = newest.take(&kept.packed(from, few, usize::MAX), from);
                        to = from;
                    }
                }
            }
        }
        newest.pieces.into_iter().rev().flatten().collect()
    }

    /// The stored record `seq` and some after it, packed. Unpacked ones are at most `records`, and
    /// no more as soon as they have `bytes` bytes.
    pub(super) fn at(&self, seq: u64, records: usize, bytes: usize) -> Cow<'_, Ring> {
        let part = self.older.partition_point(|part| part.next() <= seq);
        match self.older.get(part) {
            None => Cow::Borrowed(&self.ring),
            Some(Part::Packed(ring)) => Cow::Borrowed(ring),
            Some(Part::Unpacked(kept)) => Cow::Owned(kept.packed(seq, records, bytes)),
            Some(Part::Resting(resting)) => Cow::Owned(resting.ring()),
        }
    }
}

/// The newest records, collected from the end.
struct Newest {
    room: usize,
    /// The newest first.
    pieces: Vec<Vec<u8>>,
}

impl Newest {
    /// Takes the records from number `from` to the end of a ring, as far as they fit; `true`: all.
    fn take(&mut self, ring: &Ring, from: u64) -> bool {
        let (mut first, to) = (from, ring.next());
        let bytes = |first| ring.slices(first, to).iter().map(|part| part.len()).sum::<usize>();
        let least = to.saturating_sub(self.pieces.is_empty().into());
        while first < least && bytes(first) > self.room {
            first += 1;
        }
        if first < to {
            self.room = self.room.saturating_sub(bytes(first));
            self.pieces.push(ring.slices(first, to).concat());
        }
        first <= from
    }
}
