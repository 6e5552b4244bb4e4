//! Ids of one instance domain: who has which, and which was never given.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::Peer;

/// Ids from here on are not sound: nobody has given so many.
pub(super) const ID_MAX: u32 = 1 << 30;
/// While the process runs, the file's mark is this far above the ids that were given: after a crash
/// they are passed over, so that an id which somebody has seen is not given to another. More than
/// can be given between two writings; there is room for 16,000 crashes.
const AHEAD: u32 = 1 << 16;

/// The first id that was never given, and what the file says that it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) next: u32,
    pub(super) promised: u32,
}

impl Mark {
    /// An id that nobody has had.
    pub(super) fn give(&mut self) -> Option<u32> {
        let id = self.next;
        self.next = (id < ID_MAX).then_some(id + 1)?;
        Some(id)
    }

    /// Somebody has `id`.
    pub(super) fn pass(&mut self, id: u32) {
        self.raise(id.saturating_add(1));
    }

    /// Ids below `next` were given.
    pub(super) fn raise(&mut self, next: u32) {
        self.next = self.next.max(next.min(ID_MAX));
    }

    /// What the file is to say.
    pub(super) fn to_promise(self, clean: bool) -> u32 {
        if clean || self.next == 0 {
            self.next
        } else {
            self.next.saturating_add(AHEAD).min(ID_MAX)
        }
    }
}

/// Who has an id.
#[derive(Debug)]
pub(super) enum Holder {
    Peer(Arc<Peer>),
    /// A row that is there.
    Row,
    /// It is no instance since then (seconds since 1970).
    Nobody(i64),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Arc<str>,
    pub(super) id: u32,
    /// Of a peer: its instance in the domain of all agents.
    pub(super) agent: Option<u32>,
    pub(super) holder: Holder,
}

/// One domain.
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

    /// Drops those that have been nobody's longest when there are more than `keep` and an eighth.
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
