//! Types of live objects by their addresses, from allocations and moves.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::sources::mono::limits::{MOVES, OBJECTS};

/// At most [`OBJECTS`] objects: the oldest half is forgotten when there are more.
#[derive(Debug, Default)]
pub(super) struct Objects {
    young: HashMap<u64, u64, RandomState>,
    old: HashMap<u64, u64, RandomState>,
    /// Moves of one event: new address and type. A new address may be the old one of another
    /// object of the same event.
    moves: Vec<(u64, u64)>,
}

impl Objects {
    /// An object of a type was allocated.
    pub(super) fn allocated(&mut self, object: u64, kind: u64) {
        if self.young.len() >= OBJECTS / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(object, kind);
    }

    /// An object moved.
    pub(super) fn moved(&mut self, from: u64, to: u64) {
        let (young, old) = (self.young.remove(&from), self.old.remove(&from));
        if let Some(kind) = young.or(old) {
            self.moves.push((to, kind));
        }
        if self.moves.len() >= MOVES {
            self.settle();
        }
    }

    /// The event with moves has ended.
    pub(super) fn settle(&mut self) {
        let mut moves = std::mem::take(&mut self.moves);
        for (object, kind) in moves.drain(..) {
            self.allocated(object, kind);
        }
        self.moves = moves;
    }

    /// Type of an object.
    pub(super) fn kind(&self, object: u64) -> Option<u64> {
        self.young.get(&object).or_else(|| self.old.get(&object)).copied()
    }

    /// Objects or their moves are lost: addresses mean nothing any more.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        (self.young.capacity() + self.old.capacity()) * (size_of::<(u64, u64)>() + 1)
            + self.moves.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_of_one_event_happen_at_once() {
        let mut objects = Objects::default();
        objects.allocated(8, 1);
        objects.allocated(16, 2);
        objects.moved(8, 16);
        objects.moved(16, 8);
        objects.moved(24, 32);
        objects.settle();
        assert_eq!([8, 16, 24, 32].map(|o| objects.kind(o)), [Some(2), Some(1), None, None]);
        objects.forget();
        assert_eq!((objects.kind(8), objects.memory()), (None, 0));
    }

    #[test]
    fn the_oldest_objects_are_forgotten() {
        let mut objects = Objects::default();
        let most = OBJECTS as u64;
        (0..2 * most).for_each(|object| objects.allocated(object, object));
        let known = (0..2 * most).filter(|object| objects.kind(*object).is_some()).count();
        assert!((OBJECTS / 2..=OBJECTS).contains(&known), "{known}");
        assert_eq!((objects.kind(0), objects.kind(2 * most - 1)), (None, Some(2 * most - 1)));
    }
}
