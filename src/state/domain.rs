//! The ids of one instance domain: their holders, and the mark above all that were given.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::Peer;

/// Ids from here on are rejected as damage: no domain ever gives this many.
pub(super) const ID_MAX: u32 = 1 << 30;
/// While the process runs, the mark in the file is this far above the ids given. After a crash
/// these ids are skipped, so that an id which a client has seen is never given to another instance.
/// More than can be given between two writes; there is room for 16,000 crashes.
const AHEAD: u32 = 1 << 16;

/// The first id that was never given (`next`), and the first one according to the file
/// (`promised`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) next: u32,
    pub(super) promised: u32,
}

impl Mark {
    /// Gives a new id; `None` when none is left.
    pub(super) fn give(&mut self) -> Option<u32> {
        let id = self.next;
        self.next = (id < ID_MAX).then_some(id + 1)?;
        Some(id)
    }

    /// Marks `id` as given.
    pub(super) fn pass(&mut self, id: u32) {
        self.raise(id.saturating_add(1));
    }

    /// Marks the ids below `next` as given.
    pub(super) fn raise(&mut self, next: u32) {
        self.next = self.next.max(next.min(ID_MAX));
    }

    /// The mark for the file. `clean`: the process is about to end.
    pub(super) fn to_promise(self, clean: bool) -> u32 {
        if clean { self.next } else { self.next.saturating_add(AHEAD).min(ID_MAX) }
    }
}

/// The holder of an id.
#[derive(Debug)]
pub(super) enum Holder {
    Peer(Arc<Peer>),
    /// A present row.
    Row,
    /// No instance since this time (seconds since 1970).
    Nobody(i64),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Arc<str>,
    pub(super) id: u32,
    /// For a peer, its id in the domain of all agents.
    pub(super) agent: Option<u32>,
    pub(super) holder: Holder,
}

/// An instance domain with its remembered instances, by name.
#[derive(Debug, Default)]
pub(super) struct Domain {
    pub(super) mark: Mark,
    entries: HashMap<Arc<str>, Arc<Entry>>,
}

impl Domain {
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.get(name)
    }

    pub(super) fn put(&mut self, entry: Entry) {
        self.mark.pass(entry.id);
        self.entries.insert(Arc::clone(&entry.name), Arc::new(entry));
    }

    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// When there are more than `keep` and an eighth entries, drops the longest absent down to
    /// `keep`.
    pub(super) fn trim(&mut self, keep: usize) {
        if self.entries.len() <= keep + keep / 8 {
            return;
        }
        let left = |e: &Arc<Entry>| match e.holder {
            Holder::Nobody(left) => Some((left, e.id, Arc::clone(&e.name))),
            _ => None,
        };
        let mut absent: Vec<_> = self.entries.values().filter_map(left).collect();
        absent.sort_unstable();
        let many = self.entries.len().saturating_sub(keep);
        for (_, _, name) in absent.into_iter().take(many) {
            self.entries.remove(&name);
        }
    }
}
