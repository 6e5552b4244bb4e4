//! The last hashes of something.

/// A ring of at most `N` hashes; it allocates as it fills.
#[derive(Debug, Default)]
pub(crate) struct Recent<const N: usize> {
    hashes: Vec<u64>,
    next: usize,
}

impl<const N: usize> Recent<N> {
    pub(crate) fn contains(&self, hash: u64) -> bool {
        self.hashes.contains(&hash)
    }

    /// Adds a hash; the oldest goes if there are `N`.
    pub(crate) fn push(&mut self, hash: u64) {
        if self.hashes.len() < N {
            return self.hashes.push(hash);
        }
        if let Some(place) = self.hashes.get_mut(self.next) {
            *place = hash;
        }
        self.next = (self.next + 1) % N;
    }

    /// Allocated bytes.
    pub(crate) const fn memory(&self) -> usize {
        self.hashes.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_known() {
        let mut recent = Recent::<4>::default();
        (0..10).for_each(|n| recent.push(n));
        assert_eq!((0..12).filter(|n| recent.contains(*n)).collect::<Vec<_>>(), [6, 7, 8, 9]);
        assert_eq!(recent.memory(), 32);
    }
}
