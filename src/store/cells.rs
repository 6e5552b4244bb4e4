//! Values of one instance: a 64-bit atomic for each metric, in chunks that appear when first written.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const CHUNK: usize = 64;

#[derive(Debug)]
struct Chunk {
    /// Which cells have been written.
    set: AtomicU64,
    cells: [AtomicU64; CHUNK],
}

/// Cells by column number. Reading and writing take no lock; a cell has no value until it is first written.
#[derive(Debug)]
pub struct Cells {
    chunks: Box<[OnceLock<Box<Chunk>>]>,
}

impl Cells {
    /// Room for columns below `columns`; memory only for what is written.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self { chunks: (0..columns.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect() }
    }

    /// Sets a cell. A column beyond the room is ignored: the registry hands out none.
    pub fn set(&self, column: u16, bits: u64) {
        let (Some(chunk), bit) = self.place(column) else { return };
        let chunk = chunk.get_or_init(|| Box::new(Chunk { set: AtomicU64::new(0), cells: [const { AtomicU64::new(0) }; CHUNK] }));
        if let Some(cell) = chunk.cells.get(bit) {
            cell.store(bits, Ordering::Relaxed);
            chunk.set.fetch_or(1 << bit, Ordering::Release);
        }
    }

    /// Adds to a cell; one that has no value starts at 0.
    pub fn add(&self, column: u16, more: u64) {
        if self.get(column).is_none() {
            self.set(column, 0);
        }
        if let (Some(chunk), bit) = self.place(column)
            && let Some(cell) = chunk.get().and_then(|c| c.cells.get(bit))
        {
            cell.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// The bits of a cell, if it has a value.
    #[must_use]
    pub fn get(&self, column: u16) -> Option<u64> {
        let (chunk, bit) = self.place(column);
        let chunk = chunk?.get()?;
        let set = chunk.set.load(Ordering::Acquire) >> bit & 1 == 1;
        if set { chunk.cells.get(bit).map(|c| c.load(Ordering::Relaxed)) } else { None }
    }

    /// Takes the value of a cell away.
    pub fn unset(&self, column: u16) {
        if let (Some(chunk), bit) = self.place(column)
            && let Some(chunk) = chunk.get()
        {
            chunk.set.fetch_and(!(1 << bit), Ordering::Release);
        }
    }

    /// Takes the values of all columns from `from` on away.
    pub fn clear(&self, from: u16) {
        let first = usize::from(from);
        for (i, chunk) in self.chunks.iter().enumerate() {
            if let Some(chunk) = chunk.get() {
                let keep = first.saturating_sub(i * CHUNK).min(CHUNK);
                let mask = if keep == CHUNK { u64::MAX } else { (1 << keep) - 1 };
                chunk.set.fetch_and(mask, Ordering::Release);
            }
        }
    }

    /// Bytes allocated.
    #[must_use]
    pub fn memory(&self) -> usize {
        let used = self.chunks.iter().filter(|c| c.get().is_some()).count();
        self.chunks.len() * size_of::<OnceLock<Box<Chunk>>>() + used * size_of::<Chunk>()
    }

    fn place(&self, column: u16) -> (Option<&OnceLock<Box<Chunk>>>, usize) {
        let column = usize::from(column);
        (self.chunks.get(column / CHUNK), column % CHUNK)
    }
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
        c.set(9999, 1);
        assert_eq!((c.get(199), c.get(0), c.get(198)), (Some(8), Some(3), None));
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
