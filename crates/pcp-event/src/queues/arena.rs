//! The events of a queue as bytes, back to back in chunks, each with its time and sequence number.
//! Gaps in the numbers belong to events that were never stored.

use std::collections::{TryReserveError, VecDeque};

/// Alignment of events, as of malloc(3): C programs append structures and cast them back.
const ALIGN: usize = 16;
/// Bytes of the first chunk; each chunk has twice as many as the one before.
const FIRST: usize = 1 << 10;
/// Limit of a chunk in bytes, unless one event is larger; a fetch copies one chunk at once.
pub(super) const LARGEST: usize = 16 << 10;
/// Assumed bytes of an event when a new chunk reserves entries.
const EVENT: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Place<T> {
    seq: u64,
    time: T,
    start: usize,
    len: usize,
}

/// Consecutive events; the first `gone` of them are dropped.
#[derive(Debug)]
struct Chunk<T> {
    bytes: Vec<u8>,
    used: usize,
    places: Vec<Place<T>>,
    gone: usize,
}

impl<T: Copy> Chunk<T> {
    const fn none() -> Self {
        Self { bytes: Vec::new(), used: 0, places: Vec::new(), gone: 0 }
    }

    fn with_room(room: usize) -> Result<Self, TryReserveError> {
        let mut chunk = Self::none();
        chunk.bytes.try_reserve_exact(room)?;
        chunk.bytes.resize(room, 0);
        chunk.places.try_reserve(room.min(LARGEST).div_ceil(EVENT))?;
        Ok(chunk)
    }

    fn has_room(&self, len: usize) -> bool {
        self.used <= self.bytes.len() && self.bytes.len() - self.used > len
    }

    fn clear(&mut self) {
        self.places.clear();
        (self.used, self.gone) = (0, 0);
    }

    fn held(&self) -> &[Place<T>] {
        self.places.get(self.gone..).unwrap_or_default()
    }

    fn ends_before(&self, seq: u64) -> bool {
        self.places.last().is_none_or(|last| last.seq < seq)
    }
}

/// The events of a queue.
#[derive(Debug)]
pub(super) struct Arena<T> {
    older: VecDeque<Chunk<T>>,
    /// The chunk that new events are appended to.
    last: Chunk<T>,
    /// Memory of a dropped chunk, reused by the next.
    spare: Chunk<T>,
    /// Bytes of all events.
    bytes: usize,
    /// Number of events of 0 bytes.
    empty: usize,
}

impl<T: Copy> Arena<T> {
    pub(super) const fn new() -> Self {
        Self {
            older: VecDeque::new(),
            last: Chunk::none(),
            spare: Chunk::none(),
            bytes: 0,
            empty: 0,
        }
    }

    /// Total bytes of the events.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes that count towards the limit of a queue: an empty event counts as one, as it takes
    /// memory too.
    pub(super) const fn charge(&self) -> usize {
        self.bytes.saturating_add(self.empty)
    }

    fn front(&self) -> &Chunk<T> {
        self.older.front().unwrap_or(&self.last)
    }

    /// Number and bytes of the oldest event.
    pub(super) fn oldest(&self) -> Option<(u64, usize)> {
        self.front().held().first().map(|place| (place.seq, place.len))
    }

    /// Appends an event, whose number must be larger than all before.
    ///
    /// # Errors
    /// Without memory nothing is appended.
    #[inline]
    pub(super) fn push(&mut self, seq: u64, data: &[u8], time: T) -> Result<(), TryReserveError> {
        let (start, len) = (self.last.used, data.len());
        if self.last.places.len() == self.last.places.capacity() {
            return self.push_into_new(seq, data, time);
        }
        // At least one byte after each event is 0.
        let room = self.last.bytes.get_mut(start..).and_then(|to| to.split_at_mut_checked(len));
        let Some((to, [nul, ..])) = room else { return self.push_into_new(seq, data, time) };
        to.copy_from_slice(data);
        *nul = 0;
        self.last.used = (start + len + ALIGN) & !(ALIGN - 1);
        self.last.places.push(Place { seq, time, start, len });
        self.bytes += len;
        self.empty += usize::from(len == 0);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn push_into_new(&mut self, seq: u64, data: &[u8], time: T) -> Result<(), TryReserveError> {
        if self.last.has_room(data.len()) {
            // Events are shorter than assumed.
            self.last.places.try_reserve(1)?;
        } else {
            self.begin_chunk(data.len())?;
        }
        self.push(seq, data, time)
    }

    #[cold]
    fn begin_chunk(&mut self, len: usize) -> Result<(), TryReserveError> {
        if self.last.held().is_empty() {
            self.last.clear();
            if self.last.has_room(len) {
                return Ok(());
            }
        }
        let room = (self.last.bytes.len() * 2).clamp(FIRST, LARGEST).max(len.saturating_add(ALIGN));
        self.older.try_reserve(1)?;
        let new = if self.spare.has_room(len) && self.spare.bytes.len() >= room {
            std::mem::replace(&mut self.spare, Chunk::none())
        } else {
            let new = Chunk::with_room(room)?;
            self.spare = Chunk::none();
            new
        };
        let full = std::mem::replace(&mut self.last, new);
        if !full.held().is_empty() {
            self.older.push_back(full);
        }
        Ok(())
    }

    /// Drops the events before number `seq`.
    #[inline]
    pub(super) fn drop_before(&mut self, seq: u64) {
        // The common case: all events, which are in one chunk.
        if self.older.is_empty() && self.last.ends_before(seq) && self.last.bytes.len() <= LARGEST {
            self.last.clear();
            (self.bytes, self.empty) = (0, 0);
        } else {
            self.drop_some(seq);
        }
    }

    #[inline(never)]
    fn drop_some(&mut self, seq: u64) {
        loop {
            let chunk = match self.older.front_mut() {
                Some(chunk) => chunk,
                None => &mut self.last,
            };
            let whole = chunk.ends_before(seq);
            let gone = if whole {
                chunk.places.len()
            } else {
                chunk.places.partition_point(|place| place.seq < seq)
            };
            for place in chunk.places.get(chunk.gone..gone).unwrap_or_default() {
                self.bytes -= place.len;
                self.empty -= usize::from(place.len == 0);
            }
            chunk.gone = gone.max(chunk.gone);
            if !whole {
                return;
            }
            chunk.clear();
            match self.older.pop_front() {
                Some(chunk) if chunk.bytes.len() <= LARGEST => self.spare = chunk,
                Some(_) => {}
                None => {
                    // The memory of an event larger than a chunk is freed.
                    if self.last.bytes.len() > LARGEST {
                        self.last = Chunk::none();
                    }
                    return;
                }
            }
        }
    }

    /// Drops the oldest event.
    pub(super) fn drop_oldest(&mut self) {
        let chunk = match self.older.front_mut() {
            Some(chunk) => chunk,
            None => &mut self.last,
        };
        let Some(place) = chunk.places.get(chunk.gone).copied() else { return };
        if chunk.gone + 1 == chunk.places.len() {
            return self.drop_before(place.seq + 1);
        }
        self.bytes -= place.len;
        self.empty -= usize::from(place.len == 0);
        chunk.gone += 1;
    }

    /// The chunk with event `from`, or the next after it.
    #[inline(never)]
    fn chunk_of(&self, from: u64) -> &Chunk<T> {
        let older = self.older.partition_point(|chunk| chunk.ends_before(from));
        self.older.get(older).unwrap_or(&self.last)
    }

    /// Copies events from number `from` on, up to the end of a chunk; `false` without such events.
    ///
    /// # Errors
    /// Without memory nothing is copied.
    #[inline(always)]
    pub(super) fn copy(&self, from: u64, to: &mut Batch<T>) -> Result<bool, TryReserveError> {
        let chunk = if self.older.is_empty() { &self.last } else { self.chunk_of(from) };
        let held = chunk.held();
        // Usually all of them.
        let places = match held.first() {
            Some(first) if first.seq >= from => held,
            _ => held.get(held.partition_point(|place| place.seq < from)..).unwrap_or_default(),
        };
        to.clear();
        let Some(first) = places.first() else { return Ok(false) };
        to.base = first.start;
        let bytes =
            chunk.bytes.get(first.start..chunk.used.min(chunk.bytes.len())).unwrap_or_default();
        match to.bytes.get_mut(..bytes.len()) {
            Some(to) => to.copy_from_slice(bytes),
            None => to.grow(bytes)?,
        }
        if to.places.capacity() < places.len() {
            to.reserve(places.len())?;
        }
        match places {
            [one] => to.places.push(*one),
            _ => to.places.extend_from_slice(places),
        }
        Ok(true)
    }
}

/// A copy of consecutive events, for one fetch.
#[derive(Debug)]
pub(super) struct Batch<T> {
    /// The events, and bytes of earlier copies behind them.
    bytes: Vec<u8>,
    places: Vec<Place<T>>,
    /// Offset of the copy in its chunk.
    base: usize,
    at: usize,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), places: Vec::new(), base: 0, at: 0 }
    }
}

impl<T: Copy> Batch<T> {
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.at = 0;
    }

    /// Copies more bytes than ever before.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, bytes: &[u8]) -> Result<(), TryReserveError> {
        self.bytes.clear();
        self.bytes.try_reserve(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn reserve(&mut self, places: usize) -> Result<(), TryReserveError> {
        self.places.try_reserve(places)
    }

    /// Whether the memory is small enough to keep for another fetch.
    pub(super) fn is_small(&self) -> bool {
        self.bytes.capacity() <= 2 * LARGEST
    }

    /// Number of the next event.
    #[inline]
    pub(super) fn seq(&self) -> Option<u64> {
        self.places.get(self.at).map(|place| place.seq)
    }

    /// The next event: its number, its bytes with a trailing NUL, its time.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<(u64, &mut [u8], T)> {
        let place = self.places.get(self.at)?;
        let start = place.start - self.base;
        let data = self.bytes.get_mut(start..=start + place.len)?;
        self.at += 1;
        Some((place.seq, data, place.time))
    }

    /// Removes the events from number `end` on.
    pub(super) fn cut(&mut self, end: u64) {
        if self.places.last().is_some_and(|last| last.seq >= end) {
            self.places.truncate(self.places.partition_point(|place| place.seq < end));
        }
    }

    /// Puts back the event taken last.
    pub(super) const fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, bytes and time of all events from `from` on.
    fn all(arena: &Arena<u8>, mut from: u64) -> VecDeque<(u64, Vec<u8>, u8)> {
        let (mut batch, mut all) = (Batch::default(), VecDeque::new());
        while arena.copy(from, &mut batch).expect("memory") {
            while let Some((seq, data, time)) = batch.take() {
                let (nul, data) = data.split_last().expect("a NUL");
                assert_eq!((*nul, data.as_ptr().addr() % 4), (0, 0));
                all.push_back((seq, data.to_vec(), time));
                from = seq + 1;
            }
        }
        all
    }

    #[test]
    fn events_come_back_as_they_were_with_gaps() {
        let (mut arena, mut want) = (Arena::new(), VecDeque::new());
        for (n, len) in (0..5000_u64)
            .zip((0..).map(|n: usize| n * 37 % 90 + if n.is_multiple_of(900) { 40_000 } else { 0 }))
        {
            if n % 7 == 3 {
                continue;
            }
            let [byte, ..] = n.to_ne_bytes();
            let data = vec![byte; len];
            arena.push(n, &data, byte).expect("memory");
            want.push_back((n, data, byte));
            while arena.bytes() > 100_000 {
                arena.drop_oldest();
                want.pop_front();
            }
            assert_eq!(arena.bytes(), want.iter().map(|(_, d, _)| d.len()).sum::<usize>());
            assert_eq!(
                arena.charge() - arena.bytes(),
                want.iter().filter(|(_, d, _)| d.is_empty()).count()
            );
            assert_eq!(arena.oldest(), want.front().map(|(seq, d, _)| (*seq, d.len())));
        }
        assert_eq!(all(&arena, 0), want);
        arena.drop_before(4800);
        want.retain(|(seq, ..)| *seq >= 4800);
        assert_eq!(all(&arena, 0), want);
        assert_eq!(
            all(&arena, 4990),
            want.iter().filter(|(seq, ..)| *seq >= 4990).cloned().collect::<VecDeque<_>>()
        );
        arena.drop_before(u64::MAX);
        assert_eq!(
            (arena.bytes(), arena.charge(), arena.oldest(), all(&arena, 0)),
            (0, 0, None, VecDeque::new())
        );
        assert!(
            arena.last.bytes.capacity() + arena.spare.bytes.capacity() <= 2 * LARGEST,
            "large chunks are freed"
        );
    }
}
