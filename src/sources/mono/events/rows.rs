//! Rows of tables: of fixed names, and of ids whose names are known later.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::{FixedState, RandomState};

use crate::contract::Peer;
use crate::heap_size;
use crate::model::{RowItem, TableId};
use crate::runtimes::{Layout, Rows, bind};
use crate::sources::mono::limits::PENDING_IDS;

/// For what has no name.
pub(super) const UNKNOWN: &str = "?";

/// Sums of counters in rows of fixed names, since the last report.
#[derive(Debug)]
pub(super) struct Fixed<const R: usize, const N: usize> {
    table: TableId,
    label: &'static str,
    names: [&'static str; R],
    items: [RowItem; N],
    sums: [[u64; N]; R],
    touched: bool,
    bound: bool,
}

impl<const R: usize, const N: usize> Fixed<R, N> {
    /// `label`: the instance label that has the name.
    pub(super) const fn new(
        table: TableId,
        label: &'static str,
        names: [&'static str; R],
        items: [RowItem; N],
    ) -> Self {
        Self { table, label, names, items, sums: [[0; N]; R], touched: false, bound: false }
    }

    /// Adds to a row.
    pub(super) fn add(&mut self, row: usize, more: [u64; N]) {
        if let Some(sums) = self.sums.get_mut(row) {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
            self.touched = true;
        }
    }

    /// All rows exist, those of 0 included.
    pub(super) fn start(&mut self, owner: &str, peer: &mut Peer) {
        if std::mem::replace(&mut self.bound, true) {
            return;
        }
        for (slot, name) in (0..).zip(self.names) {
            bind(self.table, owner, slot, (self.label, name), peer);
            for item in self.items {
                peer.row_add(slot, item, 0);
            }
        }
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, owner: &str, peer: &mut Peer) {
        if !std::mem::take(&mut self.touched) {
            return;
        }
        self.start(owner, peer);
        for (slot, sums) in (0..).zip(&mut self.sums) {
            for (item, sum) in self.items.into_iter().zip(sums) {
                let more = std::mem::take(sum);
                if more > 0 {
                    peer.row_add(slot, item, more);
                }
            }
        }
    }
}

/// Sums by key that become rows by name.
#[derive(Debug)]
pub(super) struct Pending<K, const N: usize> {
    sums: HashMap<K, [u64; N], RandomState>,
    /// Sums of keys that never get a name.
    unknown: [u64; N],
    rows: Rows<N>,
}

heap_size!([K, const N: usize] Pending<K, N> { sums, rows });

impl<K: Copy + Eq + Hash, const N: usize> Pending<K, N> {
    pub(super) fn new(layout: Layout<N>) -> Self {
        Self { sums: HashMap::default(), unknown: [0; N], rows: Rows::new(layout) }
    }

    /// Adds to the sums of a key; `None`: it has none.
    #[inline]
    pub(super) fn add(&mut self, key: Option<K>, more: [u64; N]) {
        let known = key.and_then(|key| {
            if self.sums.len() >= PENDING_IDS && !self.sums.contains_key(&key) {
                return None;
            }
            Some(self.sums.entry(key).or_insert([0; N]))
        });
        add(known.unwrap_or(&mut self.unknown), more);
    }

    /// Reports the sums whose keys have a name; all of them if `force`.
    pub(super) fn report(
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
    pub(super) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }
}

#[inline]
fn add<const N: usize>(sums: &mut [u64; N], more: [u64; N]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
}

/// The names of one stream.
pub(crate) trait Names {
    /// Full name of a method: `Namespace.Class:Method (arguments)`.
    fn method(&self, id: u64) -> Option<&str>;
    /// Name of a class.
    fn class(&self, id: u64) -> Option<&str>;
    /// Name of the class of a vtable.
    fn class_of(&self, vtable: u64) -> Option<&str>;
    /// Name of a thread.
    fn thread(&self, id: u64) -> Option<&str>;
}

/// Types of objects are vtables from this version on, before they are classes.
const VTABLES: u8 = 15;

/// Name of the type of an object.
pub(super) fn type_name(names: &dyn Names, version: u8, id: u64) -> Option<&str> {
    if version >= VTABLES { names.class_of(id) } else { names.class(id) }
}

/// A method as the name of an instance, which has no blanks: `Namespace.Class:Method(arguments)`.
pub(super) fn site(method: &str) -> String {
    method.replace(" (", "(")
}

/// Frames that are the lock itself, not its user.
pub(super) fn is_lock(method: &str) -> bool {
    method.starts_with("System.Threading.Monitor:") || method.starts_with("(wrapper ")
}
