//! Rows of tables: of fixed names, and of ids whose names are known later.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::{FixedState, RandomState};

use super::names::Names;
use crate::contract::Peer;
use crate::heap_size;
use crate::runtimes::Layout;
use crate::sources::mono::limits::PENDING_IDS;

/// For what has no name.
pub(super) const UNKNOWN: &str = "?";

/// What is known when a flush has been read, or a part of it.
#[derive(Clone, Copy)]
pub(super) struct Flush<'a> {
    /// The instance.
    pub(super) owner: &'a str,
    pub(super) names: &'a Names,
    /// Data version of the stream.
    pub(super) version: u8,
    /// What has no name now never gets one.
    pub(super) force: bool,
}

impl<'a> Flush<'a> {
    /// Name of the type of an object.
    pub(super) fn kind(self, id: u64) -> Option<&'a str> {
        if self.version >= VTABLES { self.names.class_of(id) } else { self.names.class(id) }
    }
}

/// Adds to the row of a name.
fn count<const N: usize>(
    layout: &Layout<N>,
    owner: &str,
    name: &str,
    more: [u64; N],
    peer: &mut Peer,
) {
    let hash = FixedState::default().hash_one(name);
    layout.count(owner, hash, more, peer, |key| key.push_str(name));
}

/// Sums of rows of fixed names, since the last flush.
#[derive(Debug, Default)]
pub(super) struct Fixed<const R: usize, const N: usize>(Option<[[u64; N]; R]>);

impl<const R: usize, const N: usize> Fixed<R, N> {
    /// All rows exist from the next flush on, those of 0 included.
    pub(super) fn start(&mut self) -> &mut [[u64; N]; R] {
        self.0.get_or_insert([[0; N]; R])
    }

    /// Adds to a row.
    pub(super) fn add(&mut self, row: usize, more: [u64; N]) {
        if let Some(sums) = self.start().get_mut(row) {
            add(sums, more);
        }
    }

    /// A flush has been read.
    pub(super) fn settle(
        &mut self,
        layout: &Layout<N>,
        names: [&str; R],
        owner: &str,
        peer: &mut Peer,
    ) {
        for (name, sums) in names.iter().zip(self.0.take().into_iter().flatten()) {
            count(layout, owner, name, sums, peer);
        }
    }

    /// Nothing was counted.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Sums by key that become rows by name.
#[derive(Debug, Default)]
pub(super) struct Pending<K, const N: usize> {
    sums: HashMap<K, [u64; N], RandomState>,
    /// Sums of keys that never get a name.
    unknown: Option<[u64; N]>,
}

heap_size!([K, const N: usize] Pending<K, N> { sums });

impl<K: Copy + Eq + Hash, const N: usize> Pending<K, N> {
    /// Adds to the sums of a key; `None`: it has none.
    #[inline]
    pub(super) fn add(&mut self, key: Option<K>, more: [u64; N]) {
        let known = key.and_then(|key| {
            if self.sums.len() >= PENDING_IDS && !self.sums.contains_key(&key) {
                return None;
            }
            Some(self.sums.entry(key).or_insert([0; N]))
        });
        add(known.unwrap_or_else(|| self.unknown.get_or_insert([0; N])), more);
    }

    /// A flush has been read: counts the sums whose keys have a name.
    pub(super) fn settle(
        &mut self,
        layout: &Layout<N>,
        flush: Flush<'_>,
        name: impl Fn(&K) -> Option<String>,
        peer: &mut Peer,
    ) {
        let Self { sums, unknown } = self;
        sums.retain(|key, more| {
            match name(key) {
                Some(name) => count(layout, flush.owner, &name, *more, peer),
                None if flush.force => add(unknown.get_or_insert([0; N]), *more),
                None => return true,
            }
            false
        });
        if let Some(more) = unknown.take() {
            count(layout, flush.owner, UNKNOWN, more, peer);
        }
    }

    /// Nothing waits for a name.
    pub(super) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }
}

/// Adds to sums.
#[inline]
pub(super) fn add<const N: usize>(sums: &mut [u64; N], more: [u64; N]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
}

/// Types of objects are vtables from this version on, before they are classes.
const VTABLES: u8 = 15;

/// A method as the name of an instance, which has no blanks: `Namespace.Class:Method(arguments)`.
pub(super) fn site(method: &str) -> String {
    method.replace(" (", "(")
}

/// Frames that are the lock itself, not its user.
pub(super) fn is_lock(method: &str) -> bool {
    method.starts_with("System.Threading.Monitor:") || method.starts_with("(wrapper ")
}
