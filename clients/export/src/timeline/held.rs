//! Slices that wait to be drawn: what is said of each as bytes, one behind the other.

use std::cmp::Reverse;
use std::collections::HashMap;

/// Bytes of a block.
const BLOCK: usize = 256 << 10;
/// Bytes that wait at most.
const MOST_BYTES: usize = 96 << 20;
/// Something without a length.
const INSTANT: u64 = u64::MAX;

/// A slice, or something without a length that has a cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) start: i64,
    length: u64,
    /// By which others name it as their cause; 0: no one does.
    pub(super) key: u64,
    /// The key of its cause; 0: it has none.
    pub(super) cause: u64,
    pub(super) place: u32,
    pub(super) group: u32,
    block: u32,
    said: u32,
    bytes: u32,
    /// An arrow points to it.
    pub(super) pointed_at: bool,
}

impl Slice {
    pub(super) fn new(start: i64, length: Option<u64>, place: u32) -> Self {
        Self {
            start,
            length: length.map_or(INSTANT, |length| length.min(INSTANT - 1)),
            key: 0,
            cause: 0,
            place,
            group: 0,
            block: 0,
            said: 0,
            bytes: 0,
            pointed_at: false,
        }
    }

    pub(super) fn end(&self) -> Option<i64> {
        (self.length != INSTANT).then(|| self.start.saturating_add_unsigned(self.length))
    }
}

/// What waits.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) slices: Vec<Slice>,
    /// What is said of those, by the number of the block, with how many are in it.
    blocks: HashMap<u32, (Vec<u8>, u32)>,
    newest: u32,
    bytes: usize,
}

impl Held {
    pub(super) fn add(&mut self, mut slice: Slice, said: &[u8]) {
        let open = self.blocks.get(&self.newest);
        if open.is_none_or(|(block, _)| block.len() + said.len() > BLOCK) {
            self.newest += 1;
            let block = Vec::with_capacity(BLOCK.max(said.len()));
            self.bytes += block.capacity();
            self.blocks.insert(self.newest, (block, 0));
        }
        let Some((block, number)) = self.blocks.get_mut(&self.newest) else { return };
        slice.block = self.newest;
        slice.said = u32::try_from(block.len()).unwrap_or(u32::MAX);
        slice.bytes = u32::try_from(said.len()).unwrap_or(u32::MAX);
        block.extend_from_slice(said);
        *number += 1;
        self.slices.push(slice);
    }

    /// There are too many.
    pub(super) fn is_full(&self) -> bool {
        self.bytes + self.slices.len() * size_of::<Slice>() > MOST_BYTES
    }

    /// The time before which half of them start.
    pub(super) fn middle(&mut self) -> i64 {
        let half = self.slices.len() / 2;
        if half == 0 {
            return i64::MAX;
        }
        self.slices.select_nth_unstable_by_key(half, |slice| slice.start).1.start
    }

    /// Those that start until then, by start, the longer ones first.
    pub(super) fn until(&mut self, until: i64) -> Vec<Slice> {
        // What came first is first of those that are alike.
        self.slices.sort_unstable_by_key(|slice| {
            let length = if slice.length == INSTANT { 0 } else { slice.length };
            (slice.start, Reverse(length), slice.block, slice.said)
        });
        let number = self.slices.partition_point(|slice| slice.start <= until);
        self.slices.drain(..number).collect()
    }

    pub(super) fn said(&self, slice: &Slice) -> &[u8] {
        let start = slice.said as usize;
        let block = self.blocks.get(&slice.block).map(|(block, _)| block);
        block.and_then(|block| block.get(start..start + slice.bytes as usize)).unwrap_or_default()
    }

    /// A slice that was taken is drawn: nobody asks for what is said of it any more.
    pub(super) fn forget(&mut self, slice: &Slice) {
        let Some((block, number)) = self.blocks.get_mut(&slice.block) else { return };
        *number -= 1;
        if *number == 0 {
            self.bytes = self.bytes.saturating_sub(block.capacity());
            self.blocks.remove(&slice.block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_takes_no_room() {
        let mut held = Held::default();
        for round in 0..10 {
            for n in 0..10_000 {
                held.add(Slice::new(n, Some(1), 0), format!("{round} {n}").repeat(9).as_bytes());
            }
            let due = held.until(i64::MAX);
            assert_eq!(due.len(), 10_000);
            for (n, slice) in due.iter().enumerate() {
                assert_eq!(held.said(slice), format!("{round} {n}").repeat(9).as_bytes());
                held.forget(slice);
            }
            assert_eq!((held.bytes, held.blocks.len()), (0, 0));
        }
    }

    #[test]
    fn the_longer_one_is_first() {
        let mut held = Held::default();
        for (start, length) in [(5, 1), (3, 2), (3, 7), (3, 0), (9, 1)] {
            held.add(Slice::new(start, Some(length), 0), b"");
        }
        let order = held.until(5);
        let order: Vec<_> = order.iter().map(|slice| (slice.start, slice.end())).collect();
        assert_eq!(order, [(3, Some(10)), (3, Some(5)), (3, Some(3)), (5, Some(6))]);
        assert_eq!(held.slices.len(), 1);
    }
}
