//! The first halves of pairs of events.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

use crate::heap_size;

/// Pairs of events of one process that are open at the same time.
const OPEN_PAIRS: usize = 4096;

/// First halves of pairs of events by key: a thread, or a thread and a method. At most
/// [`OPEN_PAIRS`]: if there are more, second halves have been lost, and all are forgotten.
#[derive(Debug)]
pub(crate) struct Open<K, V>(HashMap<K, V, RandomState>);

impl<K, V> Default for Open<K, V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K: Eq + Hash, V> Open<K, V> {
    /// A first half; it replaces an earlier one.
    pub(crate) fn begin(&mut self, key: K, value: V) {
        if self.0.len() >= OPEN_PAIRS {
            self.0.clear();
        }
        self.0.insert(key, value);
    }

    /// The first half that this event ends.
    pub(crate) fn end(&mut self, key: &K) -> Option<V> {
        self.0.remove(key)
    }

    /// Frees memory beyond what is open.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }
}

heap_size!([K, V] Open<K, V> { 0 });
