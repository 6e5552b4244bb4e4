//! Values of one instance: a 64-bit atomic for each metric, in chunks that are allocated at their
//! first write.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const CHUNK: usize = 64;
/// Chunks of a group: a peer with a few of the many dynamic columns has a few groups.
const GROUP: usize = 16;

/// A word with one bit for each written cell, followed by the cells: one for each column, at most
/// [`CHUNK`].
type Chunk = OnceLock<Box<[AtomicU64]>>;
type Group = OnceLock<Box<[Chunk; GROUP]>>;

/// Cells by column number. Reading and writing take no lock; a cell has no value until it is first
/// written.
#[derive(Debug)]
pub struct Cells {
    columns: usize,
    /// The first columns; most sources have no others.
    first: Chunk,
    others: OnceLock<Box<[Group]>>,
    /// Bytes allocated.
    memory: AtomicUsize,
}

impl Cells {
    /// Cells for columns below `columns`; memory is allocated at the first write.
    #[must_use]
    pub const fn new(columns: usize) -> Self {
        Self {
            columns,
            first: OnceLock::new(),
            others: OnceLock::new(),
            memory: AtomicUsize::new(0),
        }
    }

    /// Sets a cell. A column out of range is ignored: the registry gives out none.
    pub fn set(&self, column: u16, bits: u64) {
        if let Some((set, bit, cell)) = self.made(column) {
            cell.store(bits, Ordering::Relaxed);
            set.fetch_or(bit, Ordering::Release);
        }
    }

    /// Adds to a cell; a cell without a value starts at 0. Several threads may add at once.
    pub fn add(&self, column: u16, more: u64) {
        let known =
            self.cell(column).filter(|(set, bit, _)| set.load(Ordering::Relaxed) & bit != 0);
        if let Some((_, _, cell)) = known {
            cell.fetch_add(more, Ordering::Relaxed);
        } else if let Some((set, bit, cell)) = self.made(column) {
            cell.fetch_add(more, Ordering::Relaxed);
            set.fetch_or(bit, Ordering::Release);
        }
    }

    /// Raises a cell to an unsigned value; a cell without a value starts at 0. Several threads may
    /// raise at once.
    pub fn raise(&self, column: u16, to: u64) {
        if let Some((set, bit, cell)) = self.made(column) {
            cell.fetch_max(to, Ordering::Relaxed);
            set.fetch_or(bit, Ordering::Release);
        }
    }

    /// Sets a cell to what `change` makes of its bits; `None` leaves it as it is. One thread at a time
    /// may set a cell.
    #[inline]
    pub(in crate::store) fn update(
        &self,
        column: u16,
        change: impl FnOnce(Option<u64>) -> Option<u64>,
    ) {
        let Some((set, bit, cell)) = self.cell(column).or_else(|| self.made(column)) else {
            return;
        };
        let known = set.load(Ordering::Relaxed) & bit != 0;
        if let Some(bits) = change(known.then(|| cell.load(Ordering::Relaxed))) {
            cell.store(bits, Ordering::Relaxed);
            if !known {
                set.fetch_or(bit, Ordering::Release);
            }
        }
    }

    /// The bits of a cell, if it has a value.
    #[must_use]
    pub fn get(&self, column: u16) -> Option<u64> {
        let (set, bit, cell) = self.cell(column)?;
        (set.load(Ordering::Acquire) & bit != 0).then(|| cell.load(Ordering::Relaxed))
    }

    /// Removes the value of a cell.
    pub fn unset(&self, column: u16) {
        if let Some((set, bit, cell)) = self.cell(column) {
            set.fetch_and(!bit, Ordering::Release);
            cell.store(0, Ordering::Relaxed);
        }
    }

    /// Removes the values of all columns from `from` on.
    pub fn clear(&self, from: u16) {
        let first = usize::from(from);
        for number in 0..self.columns.div_ceil(CHUNK) {
            if let Some([set, cells @ ..]) = self.chunk(number) {
                let keep = first.saturating_sub(number * CHUNK).min(CHUNK);
                let mask = if keep == CHUNK { u64::MAX } else { (1 << keep) - 1 };
                set.fetch_and(mask, Ordering::Release);
                cells.iter().skip(keep).for_each(|cell| cell.store(0, Ordering::Relaxed));
            }
        }
    }

    /// Bytes allocated.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }

    /// A chunk by its number, if it is allocated.
    #[inline]
    fn chunk(&self, number: usize) -> Option<&[AtomicU64]> {
        let chunk = match number.checked_sub(1) {
            None => &self.first,
            Some(other) => self.others.get()?.get(other / GROUP)?.get()?.get(other % GROUP)?,
        };
        chunk.get().map(|chunk| &**chunk)
    }

    /// The word of written bits, the bit of this cell, and the cell; `None` if the chunk is not
    /// allocated. A cell that is not written is 0.
    #[inline]
    fn cell(&self, column: u16) -> Option<(&AtomicU64, u64, &AtomicU64)> {
        let column = usize::from(column);
        in_chunk(self.chunk(column / CHUNK)?, column)
    }

    /// As [`Cells::cell`], but allocates the chunk. `None` for a column out of range.
    fn made(&self, column: u16) -> Option<(&AtomicU64, u64, &AtomicU64)> {
        let column = usize::from(column);
        if column >= self.columns {
            return None;
        }
        let number = column / CHUNK;
        let chunk = match number.checked_sub(1) {
            None => &self.first,
            Some(other) => {
                let groups = (self.columns.div_ceil(CHUNK) - 1).div_ceil(GROUP);
                let make = || {
                    self.memory.fetch_add(groups * size_of::<Group>(), Ordering::Relaxed);
                    (0..groups).map(|_| OnceLock::new()).collect()
                };
                let make_group = || {
                    self.memory.fetch_add(GROUP * size_of::<Chunk>(), Ordering::Relaxed);
                    Box::new([const { OnceLock::new() }; GROUP])
                };
                let group = self.others.get_or_init(make).get(other / GROUP)?;
                group.get_or_init(make_group).get(other % GROUP)?
            }
        };
        let cells = CHUNK.min(self.columns - number * CHUNK);
        let make = || {
            self.memory.fetch_add((cells + 1) * size_of::<AtomicU64>(), Ordering::Relaxed);
            (0..=cells).map(|_| AtomicU64::new(0)).collect()
        };
        in_chunk(chunk.get_or_init(make), column)
    }
}

fn in_chunk(chunk: &[AtomicU64], column: usize) -> Option<(&AtomicU64, u64, &AtomicU64)> {
    let [set, cells @ ..] = chunk else { return None };
    Some((set, 1 << (column % CHUNK), cells.get(column % CHUNK)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_no_value_until_it_is_set() {
        let c = Cells::new(200);
        assert_eq!((c.get(5), c.get(199), c.get(9999)), (None, None, None));
        c.set(199, 7);
        c.add(199, 1);
        c.add(0, 3);
        c.raise(0, 2);
        c.set(9999, 1);
        assert_eq!((c.get(199), c.get(0), c.get(198)), (Some(8), Some(3), None));
        assert_eq!(c.memory(), 8 * (65 + 9) + size_of::<Group>() + GROUP * size_of::<Chunk>());
        c.update(199, |before| before.map(|before| before + 1));
        c.update(197, |before| before);
        assert_eq!((c.get(199), c.get(197)), (Some(9), None));
        c.update(197, |_| Some(1));
        assert_eq!(c.get(197), Some(1));
        c.raise(198, 9);
        c.raise(198, 4);
        assert_eq!(c.get(198), Some(9));
        c.unset(199);
        c.unset(9999);
        assert_eq!((c.get(199), c.get(0)), (None, Some(3)));
    }

    #[test]
    fn clear_keeps_the_columns_before() {
        let c = Cells::new(200);
        for column in 0..200 {
            c.set(column, 1);
        }
        c.clear(70);
        let left: Vec<u16> = (0..200).filter(|c2| c.get(*c2).is_some()).collect();
        assert_eq!(left, (0..70).collect::<Vec<_>>());
    }
}
