//! Sums by type: exceptions and allocations.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::contract::Peer;
use crate::runtimes::{Layout, Rows};
use crate::sources::dotnet::clr::Utf16;
use crate::sources::dotnet::limits::TEXT;

/// Rows of a table by type.
#[derive(Debug)]
pub(super) struct Types<const N: usize> {
    hasher: RandomState,
    rows: Rows<N>,
}

impl<const N: usize> Types<N> {
    pub(super) fn new(layout: Layout<N>) -> Self {
        Self { hasher: RandomState::default(), rows: Rows::new(layout) }
    }

    /// Adds to the sums of a type.
    #[inline]
    pub(super) fn add(&mut self, owner: &str, kind: Utf16<'_>, more: [u64; N], peer: &mut Peer) {
        let hash = self.hasher.hash_one(kind.bytes());
        self.rows.add(owner, hash, more, peer, |key| kind.push_to(key, TEXT));
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        self.rows.report(peer);
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, peer: &mut Peer) {
        self.rows.clear(peer);
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.rows.memory()
    }
}
