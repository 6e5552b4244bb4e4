//! Allocations of one process.

use super::names::{Names, type_name};
use super::rows::Pending;
use crate::contract::{Counters, Peer};
use crate::runtimes::Layout;
use crate::sources::mono::metrics as m;

const LAYOUT: Layout<2> = Layout {
    table: m::ALLOC_TYPES,
    items: [m::ALLOC_TYPE_BYTES, m::ALLOC_TYPE_COUNT],
    label: "type",
};

/// Sums of allocations since the last report.
#[derive(Debug)]
pub(super) struct Allocations {
    bytes: u64,
    objects: u64,
    /// The last type and its sums: objects of one type often follow one another.
    last: (u64, [u64; 2]),
    types: Pending<u64, 2>,
}

impl Default for Allocations {
    fn default() -> Self {
        Self { bytes: 0, objects: 0, last: (0, [0; 2]), types: Pending::new(LAYOUT) }
    }
}

impl Allocations {
    /// An object was allocated.
    #[inline]
    pub(super) fn add(&mut self, kind: u64, size: u64) {
        self.bytes = self.bytes.wrapping_add(size);
        self.objects += 1;
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
            self.types.add(Some(kind), sums);
        }
    }

    /// Reports the sums since the last report.
    pub(super) fn report(
        &mut self,
        (owner, version): (&str, u8),
        force: bool,
        (figures, names): (&mut Counters, &dyn Names),
        peer: &mut Peer,
    ) {
        figures.add(m::ALLOC_BYTES, std::mem::take(&mut self.bytes));
        figures.add(m::ALLOC_OBJECTS, std::mem::take(&mut self.objects));
        self.store();
        let kind = |id: &u64| type_name(names, version, *id).map(str::to_owned);
        self.types.report(owner, force, kind, peer);
    }

    /// Nothing waits for a name.
    pub(super) fn is_settled(&self) -> bool {
        self.types.is_empty()
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.types.memory()
    }
}
