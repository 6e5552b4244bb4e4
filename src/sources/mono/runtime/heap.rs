//! Live objects of heapshots, by class.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::names::{Names, type_name};
use super::rows::UNKNOWN;
use crate::catalogue::OTHER;
use crate::contract::{Counters, Peer};
use crate::runtimes::{bind, clean};
use crate::sources::mono::limits::{LIVE_TYPES, TYPE_ROWS};
use crate::sources::mono::metrics as m;

/// Bytes and objects.
type Sums = (u64, u64);
type ByType = HashMap<u64, Sums, RandomState>;

/// Heapshots of one process.
#[derive(Debug, Default)]
pub(super) struct Heap {
    /// The shot that is being taken.
    open: Option<ByType>,
    /// The last shot that is complete, until it is reported.
    complete: Option<ByType>,
    /// Rows that have values.
    rows: u32,
}

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

    pub(super) fn end(&mut self, figures: &mut Counters) {
        if let Some(open) = self.open.take() {
            self.complete = Some(open);
            figures.add(m::HEAP_SHOTS, 1);
        }
    }

    /// Events are lost: the shot is not complete.
    pub(super) fn forget(&mut self) {
        self.open = None;
    }

    /// Reports the last shot, when all its types have names.
    pub(super) fn report(
        &mut self,
        (owner, version): (&str, u8),
        force: bool,
        names: &dyn Names,
        peer: &mut Peer,
    ) {
        let Some(complete) = &self.complete else { return };
        let mut by_name: HashMap<&str, Sums, RandomState> = HashMap::default();
        for (kind, (bytes, objects)) in complete {
            let name = type_name(names, version, *kind);
            if name.is_none() && !force {
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
            bind(m::LIVE_TYPES, owner, slot, ("type", &clean(name)), peer);
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

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        [&self.open, &self.complete]
            .into_iter()
            .flatten()
            .map(|types| types.capacity() * (size_of::<(u64, Sums)>() + 1))
            .sum()
    }
}
