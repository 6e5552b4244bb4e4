//! Sums by ids whose names are known later.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::{FixedState, RandomState};

use super::UNKNOWN;
use crate::contract::Peer;
use crate::runtimes::{Layout, Rows};
use crate::sources::mono::limits::PENDING_IDS;

/// Sums by key that become rows by name.
#[derive(Debug)]
pub(in crate::sources::mono::runtime) struct Pending<K, const N: usize> {
    sums: HashMap<K, [u64; N], RandomState>,
    /// Sums of keys that never get a name.
    unknown: [u64; N],
    rows: Rows<N>,
}

impl<K: Copy + Eq + Hash, const N: usize> Pending<K, N> {
    pub(in crate::sources::mono::runtime) fn new(layout: Layout<N>) -> Self {
        Self { sums: HashMap::default(), unknown: [0; N], rows: Rows::new(layout) }
    }

    /// Adds to the sums of a key; `None`: it has none.
    #[inline]
    pub(in crate::sources::mono::runtime) fn add(&mut self, key: Option<K>, more: [u64; N]) {
        let known = key.and_then(|key| {
            if self.sums.len() >= PENDING_IDS && !self.sums.contains_key(&key) {
                return None;
            }
            Some(self.sums.entry(key).or_insert([0; N]))
        });
        add(known.unwrap_or(&mut self.unknown), more);
    }

    /// Reports the sums whose keys have a name; all of them if `force`.
    pub(in crate::sources::mono::runtime) fn report(
        &mut self,
        owner: &str,
        force: bool,
        name: impl Fn(&K) -> Option<String>,
        peer: &mut Peer,
    ) {
        let Self { sums, unknown, rows } = self;
        sums.retain(|key, more| {
            let Some(name) = name(key) else {
                if force {
                    add(unknown, *more);
                }
                return !force;
            };
            rows.add(owner, FixedState::default().hash_one(&*name), *more, peer, |key| {
                key.push_str(&name);
            });
            false
        });
        let more = std::mem::replace(unknown, [0; N]);
        if more != [0; N] {
            let hash = FixedState::default().hash_one(UNKNOWN);
            rows.add(owner, hash, more, peer, |key| key.push_str(UNKNOWN));
        }
        rows.report(peer);
    }

    /// Nothing waits for a name.
    pub(in crate::sources::mono::runtime) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Allocated bytes.
    pub(in crate::sources::mono::runtime) fn memory(&self) -> usize {
        self.sums.capacity() * (size_of::<(K, [u64; N])>() + 1) + self.rows.memory()
    }
}

#[inline]
fn add<const N: usize>(sums: &mut [u64; N], more: [u64; N]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
}
