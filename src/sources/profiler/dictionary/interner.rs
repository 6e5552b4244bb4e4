//! Words of all pods, each stored once: pods of one service have the same words.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

use super::pieces::{Piece, Pieces, cost};
use crate::model::{Memory, Purpose};

/// Overhead of a word in bytes: reference counts, slot in the set, allocator.
const OVERHEAD: usize = 64;
const DICTIONARIES: Purpose = Purpose::Dictionaries;
/// Bytes below which no search for unused words begins.
const SWEEP: usize = 1 << 20;

/// Parts of the set, each with its own lock, so that a search for unused words blocks only one.
const PARTS: usize = 32;

/// A bounded set of shared words. Words that no pod uses are dropped when memory is short.
#[derive(Debug)]
pub struct Interner {
    parts: [Mutex<Table>; PARTS],
    /// Pieces of dictionaries of pods at rest.
    pieces: Mutex<Pieces>,
    hasher: RandomState,
    /// Bytes of all words.
    bytes: AtomicUsize,
    /// Bytes charged by pods for anything but words.
    charged: AtomicUsize,
    /// The budget of words and charges.
    memory: Arc<Memory>,
    max: usize,
}

#[derive(Debug)]
struct Table {
    words: HashSet<Arc<str>>,
    bytes: usize,
    /// Bytes at which the next search for unused words begins.
    sweep: usize,
    /// Words to reject before the next search, so that a full set is not searched for each new
    /// word.
    patience: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self { words: HashSet::new(), bytes: 0, sweep: SWEEP / PARTS, patience: 0 }
    }
}

impl Table {
    /// Drops unused words; returns their bytes.
    fn sweep(&mut self) -> usize {
        let before = self.bytes;
        let mut bytes = 0;
        self.words.retain(|word| {
            let used = Arc::strong_count(word) > 1;
            bytes += if used { word.len() + OVERHEAD } else { 0 };
            used
        });
        self.bytes = bytes;
        self.sweep = (2 * bytes).max(SWEEP / PARTS);
        before - bytes
    }
}

fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Interner {
    /// A set with at most `max` bytes of words and charges.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self::within(max, &Arc::default())
    }

    /// As [`new`](Self::new), within a budget of memory.
    #[must_use]
    pub fn within(max: usize, memory: &Arc<Memory>) -> Self {
        Self {
            parts: std::array::from_fn(|_| Mutex::default()),
            pieces: Mutex::default(),
            hasher: RandomState::default(),
            bytes: AtomicUsize::new(0),
            charged: AtomicUsize::new(0),
            memory: Arc::clone(memory),
            max,
        }
    }

    /// The shared copy of `word`; `None` if a limit rejects it.
    #[must_use]
    pub fn intern(&self, word: &str) -> Option<Arc<str>> {
        let hash = usize::try_from(self.hasher.hash_one(word) >> 32).unwrap_or_default();
        let mut table = lock(self.parts.get(hash % PARTS)?);
        if let Some(known) = table.words.get(word) {
            return Some(Arc::clone(known));
        }
        let cost = word.len() + OVERHEAD;
        if table.bytes + cost > table.sweep || !self.has_room(cost) {
            if table.patience > 0 {
                table.patience -= 1;
                return None;
            }
            self.give_back_words(table.sweep());
            if !self.has_room(cost) {
                table.patience = table.words.len() / 8;
                drop(table);
                if self.bytes.load(Ordering::Relaxed) <= SWEEP {
                    // Searching all parts takes little time.
                    self.parts.iter().for_each(|part| self.give_back_words(lock(part).sweep()));
                }
                if !self.has_room(cost) {
                    return None;
                }
                table = lock(self.parts.get(hash % PARTS)?);
            }
        }
        // Words are shared by all pods that sent them, so the limit per peer does not apply.
        if !self.memory.take(DICTIONARIES, cost, usize::MAX) {
            return None;
        }
        let word: Arc<str> = word.into();
        table.words.insert(Arc::clone(&word));
        table.bytes += cost;
        self.bytes.fetch_add(cost, Ordering::Relaxed);
        Some(word)
    }

    fn has_room(&self, more: usize) -> bool {
        self.bytes().saturating_add(more) <= self.max
    }

    /// Returns the bytes of dropped words to the budget.
    fn give_back_words(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.give_back(DICTIONARIES, bytes);
    }

    /// The shared copy of a piece of a dictionary, to be [given back](Self::leave); `None` if a limit
    /// rejects it.
    pub(super) fn share(&self, words: &[Option<Arc<str>>]) -> Option<Piece> {
        let mut pieces = lock(&self.pieces);
        let (piece, new) = pieces.share(words);
        if new && !self.charge(cost(words)) {
            pieces.leave(piece);
            return None;
        }
        Some(piece)
    }

    /// A pod uses these pieces no more.
    pub(super) fn leave(&self, used: Vec<Piece>) {
        if !used.is_empty() {
            let mut pieces = lock(&self.pieces);
            used.into_iter().for_each(|piece| self.release(pieces.leave(piece)));
        }
    }

    /// Bytes of all words, used or not, and of all charges.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.charged.load(Ordering::Relaxed)
    }

    /// Number of words, used or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| lock(part).words.len()).sum()
    }

    /// Number of shared pieces.
    #[cfg(test)]
    pub(super) fn pieces(&self) -> usize {
        lock(&self.pieces).len()
    }

    /// The set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Charges bytes of anything but a word; false if a limit rejects them.
    pub(crate) fn charge(&self, bytes: usize) -> bool {
        let fits = self.has_room(bytes) && self.memory.take(DICTIONARIES, bytes, usize::MAX);
        if fits {
            self.charged.fetch_add(bytes, Ordering::Relaxed);
        }
        fits
    }

    /// Returns charged bytes to the budget.
    pub(crate) fn release(&self, bytes: usize) {
        self.charged.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.give_back(DICTIONARIES, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_kept_once_and_as_long_as_it_is_used() {
        let interner = Interner::new(2 * (OVERHEAD + 1));
        let a = interner.intern("a").unwrap();
        assert!(Arc::ptr_eq(&a, &interner.intern("a").unwrap()));
        let b = interner.intern("b").unwrap();
        assert_eq!((interner.intern("c"), interner.len()), (None, 2));
        drop(a);
        assert_eq!(interner.intern("c").as_deref(), Some("c"), "the room of a is free");
        assert_eq!((interner.len(), &*b), (2, "b"));
        assert_eq!(interner.bytes(), 2 * (OVERHEAD + 1));
    }

    #[test]
    fn unused_words_go_when_many_have_come() {
        let interner = Interner::new(64 << 20);
        for n in 0..100_000 {
            assert!(interner.intern(&format!("word {n}")).is_some());
        }
        assert!(interner.bytes() <= SWEEP, "{}", interner.bytes());
    }

    #[test]
    fn charges_take_room_from_words() {
        let interner = Interner::new(1000);
        assert!(interner.charge(950) && !interner.charge(51));
        assert_eq!(interner.intern("a"), None);
        interner.release(950);
        assert!(interner.intern("a").is_some() && !interner.charge(1000));
    }
}
