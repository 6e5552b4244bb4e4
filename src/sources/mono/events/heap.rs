//! Objects of one process: what is allocated, by class, what heapshots find alive, the types of live
//! objects by their addresses, and GC handles in use.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::figures::Figures;
use super::names::Table;
use super::rows::{Flush, Pending, UNKNOWN, add};
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::heap_size;
use crate::meter::row_key;
use crate::runtimes::{KEY, Layout};
use crate::sources::mono::limits::{LIVE_TYPES, MOVES, OBJECTS, TYPE_ROWS};
use crate::sources::mono::metrics as m;

const LAYOUT: Layout<2> =
    Layout { items: [m::ALLOC_TYPE_BYTES, m::ALLOC_TYPE_COUNT], label: "type" };

/// Sums of allocations since the last flush.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    sums: [u64; 2],
    /// The last type and its sums: objects of one type often follow one another.
    last: (u64, [u64; 2]),
    types: Pending<u64, 2>,
}

heap_size!(Allocations { types });

impl Allocations {
    /// An object was allocated.
    #[inline]
    pub(super) fn add(&mut self, kind: u64, size: u64) {
        if self.last.0 != kind {
            self.store();
            self.last.0 = kind;
        }
        let [bytes, count] = &mut self.last.1;
        *bytes = bytes.wrapping_add(size);
        *count += 1;
    }

    fn store(&mut self) {
        let (kind, sums) = self.last;
        self.last.1 = [0; 2];
        if sums != [0; 2] {
            add(&mut self.sums, sums);
            self.types.add(Some(kind), sums);
        }
    }

    /// A flush has been read, or a part of it.
    pub(super) fn settle(&mut self, flush: Flush<'_>, figures: &mut Figures, peer: &mut Peer) {
        self.store();
        let [bytes, objects] = std::mem::take(&mut self.sums);
        figures.add(m::ALLOC_BYTES, bytes);
        figures.add(m::ALLOC_OBJECTS, objects);
        self.types.settle(&LAYOUT, flush, |id| flush.kind(*id).map(str::to_owned), peer);
    }

    /// Nothing waits for a name.
    pub(super) fn is_settled(&self) -> bool {
        self.types.is_empty()
    }
}

/// Bytes and objects.
type Sums = (u64, u64);
type ByType = HashMap<u64, Sums, RandomState>;

/// Heapshots of one process.
#[derive(Debug, Default)]
pub(super) struct Heap {
    /// The shot that is being taken.
    open: Option<ByType>,
    /// The last shot that is complete, until it is shown.
    complete: Option<ByType>,
    /// Rows that have values.
    rows: u32,
}

heap_size!(Heap { open, complete });

impl Heap {
    pub(super) fn begin(&mut self) {
        self.open = Some(ByType::default());
    }

    /// A live object. Those of size 0 continue the object before.
    pub(super) fn object(&mut self, kind: u64, size: u64) {
        let Some(open) = self.open.as_mut().filter(|_| size > 0) else { return };
        if open.len() >= LIVE_TYPES && !open.contains_key(&kind) {
            return;
        }
        let (bytes, objects) = open.entry(kind).or_default();
        *bytes = bytes.saturating_add(size);
        *objects += 1;
    }

    pub(super) fn end(&mut self, figures: &mut Figures) {
        if let Some(open) = self.open.take() {
            self.complete = Some(open);
            figures.add(m::HEAP_SHOTS, 1);
        }
    }

    /// Events are lost: the shot is not complete.
    pub(super) fn forget(&mut self) {
        self.open = None;
    }

    /// A flush has been read, or a part of it: shows the last shot, when all its types have names.
    pub(super) fn settle(&mut self, flush: Flush<'_>, peer: &mut Peer) {
        let Some(complete) = &self.complete else { return };
        let mut by_name: HashMap<&str, Sums, RandomState> = HashMap::default();
        for (kind, (bytes, objects)) in complete {
            let name = flush.kind(*kind);
            if name.is_none() && !flush.force {
                return;
            }
            let sums = by_name.entry(name.unwrap_or(UNKNOWN)).or_default();
            *sums = (sums.0.saturating_add(*bytes), sums.1.saturating_add(*objects));
        }
        let mut largest: Vec<(&str, Sums)> = by_name.into_iter().collect();
        largest.sort_unstable_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
        let rest = largest.split_off(TYPE_ROWS.min(largest.len()));
        if !rest.is_empty() {
            let sum = |all: Sums, (_, of): &(&str, Sums)| {
                (all.0.saturating_add(of.0), all.1.saturating_add(of.1))
            };
            largest.push((OTHER, rest.iter().fold((0, 0), sum)));
        }
        // Classes of the shot before that are not in this one have no value.
        for slot in 0..self.rows {
            for item in [m::LIVE_BYTES, m::LIVE_OBJECTS] {
                peer.row_unset(slot, item);
            }
        }
        if self.rows > 0 {
            peer.free_rows(m::LIVE_TYPES);
        }
        self.rows = 0;
        for (slot, (name, (bytes, objects))) in (0..).zip(largest) {
            let name = row_key(name, KEY);
            peer.row_of_process(m::LIVE_TYPES, slot, flush.owner, ("type", &name));
            peer.row_set(slot, m::LIVE_BYTES, bytes);
            peer.row_set(slot, m::LIVE_OBJECTS, objects);
            self.rows = slot + 1;
        }
        self.complete = None;
    }

    /// Nothing waits for a name.
    pub(super) const fn is_settled(&self) -> bool {
        self.complete.is_none()
    }
}

/// Kinds by their numbers.
const KINDS: [&str; 4] = ["weak", "weak_track", "normal", "pinned"];

/// Handles made and not destroyed, by kind.
#[derive(Debug, Default)]
pub(super) struct Handles {
    /// May be negative within a flush, in which one thread's buffer comes after another's.
    counts: [i64; KINDS.len()],
    changed: bool,
    bound: bool,
}

impl Handles {
    /// Handles of a kind were made, or destroyed.
    pub(super) fn add(&mut self, kind: u64, more: i64) {
        let count = usize::try_from(kind).ok().and_then(|kind| self.counts.get_mut(kind));
        if let Some(count) = count {
            *count = count.saturating_add(more);
            self.changed = true;
        }
    }

    /// A flush has been read, or a part of it: shows what has changed.
    pub(super) fn settle(&mut self, owner: &str, peer: &mut Peer) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        let new = !std::mem::replace(&mut self.bound, true);
        for (slot, (kind, count)) in (0..).zip(KINDS.into_iter().zip(self.counts)) {
            let value = u64::try_from(count).unwrap_or_default();
            if new {
                peer.row_of_process(m::HANDLES, slot, owner, ("handle", kind));
            }
            peer.row_set(slot, m::HANDLE_COUNT, value);
        }
    }
}

/// The types of at most [`OBJECTS`] objects.
#[derive(Debug)]
pub(super) struct Objects {
    types: Table<u64>,
    /// Moves of one event: new address and type. A new address may be the old one of another
    /// object of the same event.
    moves: Vec<(u64, u64)>,
}

heap_size!(Objects { types, moves });

impl Default for Objects {
    fn default() -> Self {
        Self { types: Table::new(OBJECTS), moves: Vec::new() }
    }
}

impl Objects {
    /// An object of a type was allocated.
    pub(super) fn allocated(&mut self, object: u64, kind: u64) {
        self.types.insert(object, kind);
    }

    /// An object moved.
    pub(super) fn moved(&mut self, from: u64, to: u64) {
        self.moves.extend(self.types.remove(from).map(|kind| (to, kind)));
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
        self.types.get(object).copied()
    }

    /// Objects or their moves are lost: addresses mean nothing any more.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeapSize;

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
        assert_eq!((objects.kind(8), objects.heap_size()), (None, 0));
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
