//! Values by the peer's ids. Dense ids cost one array slot each, sparse ones an entry of a map: a
//! peer cannot cause memory by the size of its ids.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Ids below this are always in the array.
const SMALL: usize = 256;
/// The array has at most this many slots for each value.
const SPREAD: usize = 4;
/// No value.
const NONE: u32 = u32::MAX;
/// Bytes of an entry of the map, with the map's free places.
const ENTRY: usize = 24;

/// Values by id, in the order of their first definition.
#[derive(Debug)]
pub(super) struct ById<T> {
    values: Vec<T>,
    /// Positions in `values` by id; [`NONE`]: none here.
    dense: Vec<u32>,
    /// Positions of all other ids.
    sparse: HashMap<u32, u32, RandomState>,
}

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self { values: Vec::new(), dense: Vec::new(), sparse: HashMap::default() }
    }
}

impl<T> ById<T> {
    /// Number of values.
    pub(super) const fn len(&self) -> usize {
        self.values.len()
    }

    #[inline]
    fn position(&self, id: u32) -> Option<usize> {
        match self.dense.get(id as usize) {
            Some(&at) if at != NONE => Some(at as usize),
            _ => self.other(id),
        }
    }

    /// The position of an id that the array does not have.
    #[cold]
    fn other(&self, id: u32) -> Option<usize> {
        if self.sparse.is_empty() {
            return None;
        }
        self.sparse.get(&id).map(|at| *at as usize)
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&T> {
        self.values.get(self.position(id)?)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let at = self.position(id)?;
        self.values.get_mut(at)
    }

    /// Adds the value of an id that has none.
    pub(super) fn add(&mut self, id: u32, value: T) {
        debug_assert!(self.position(id).is_none());
        let Ok(at) = u32::try_from(self.values.len()) else { return };
        self.values.push(value);
        let slot = id as usize;
        if slot >= self.dense.len() && slot < SMALL.max(SPREAD * self.values.len()) {
            self.dense.resize(slot + 1, NONE);
        }
        match self.dense.get_mut(slot) {
            Some(place) => *place = at,
            None => {
                self.sparse.insert(id, at);
            }
        }
    }

    /// All values.
    pub(super) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.values.capacity() * size_of::<T>()
            + self.dense.capacity() * size_of::<u32>()
            + self.sparse.capacity() * ENTRY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_ids_are_found() {
        let mut ids = ById::default();
        for id in (0..1000).chain([u32::MAX, u32::MAX - 1, 1 << 20, 5000, 4000]) {
            assert_eq!(ids.get(id), None);
            ids.add(id, id);
            assert_eq!(ids.get(id), Some(&id));
        }
        assert!((0..1000).chain([u32::MAX, 5000, 4000]).all(|id| ids.get(id) == Some(&id)));
        assert_eq!((ids.len(), ids.get(1001), ids.get(1 << 21)), (1005, None, None));
        *ids.get_mut(u32::MAX).unwrap() = 7;
        assert_eq!(ids.get(u32::MAX), Some(&7));
    }

    #[test]
    fn memory_follows_the_number_of_values() {
        let mut ids = ById::default();
        for n in 0..10_000_u32 {
            ids.add(n.wrapping_mul(0x9e37_79b1), n);
        }
        assert!(ids.memory() < 10_000 * 100, "{}", ids.memory());
        let mut ids = ById::default();
        (0..1000_u32).for_each(|n| ids.add(u32::MAX - n, n));
        assert!(ids.memory() < 1000 * 100, "{}", ids.memory());
    }
}
