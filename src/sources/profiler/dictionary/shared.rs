//! What pods share of their dictionaries: words, pieces of dictionaries of pods at rest, and the dictionaries
//! of lost connections for the next connection of the same JVM.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;

use super::Dictionary;
use crate::model::{Memory, Purpose};
use crate::sources::profiler::limits;
use crate::sources::profiler::wire::Hello;

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

/// Ids of a piece.
pub(super) const PIECE: usize = 64;

/// Words of consecutive ids: [`PIECE`] of them, or fewer at the end of a dictionary.
pub(super) type Piece = Arc<[Option<Arc<str>>]>;

/// Bytes that a piece is charged: its slots, reference counts, its place in the set.
pub(super) fn cost(piece: &[Option<Arc<str>>]) -> usize {
    size_of_val(piece) + 48
}

/// Two pieces are equal if they have the same copies of words: words are stored once.
#[derive(Debug)]
struct ByAddress(Piece);

impl ByAddress {
    fn addresses(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|word| word.as_ref().map_or(0, |word| word.as_ptr().addr()))
    }
}

impl Hash for ByAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.addresses().for_each(|address| state.write_usize(address));
    }
}

impl PartialEq for ByAddress {
    fn eq(&self, other: &Self) -> bool {
        self.addresses().eq(other.addresses())
    }
}

impl Eq for ByAddress {}

/// The pieces that are in use.
#[derive(Debug, Default)]
pub(super) struct Pieces(HashSet<ByAddress, foldhash::fast::RandomState>);

impl Pieces {
    /// The shared copy of a piece, and whether it is new.
    pub(super) fn share(&mut self, words: &[Option<Arc<str>>]) -> (Piece, bool) {
        let piece = ByAddress(words.into());
        if let Some(known) = self.0.get(&piece) {
            return (Arc::clone(&known.0), false);
        }
        let shared = Arc::clone(&piece.0);
        self.0.insert(piece);
        (shared, true)
    }

    /// A pod uses the piece no more. Returns the bytes that this frees: 0 if others use it.
    pub(super) fn leave(&mut self, piece: Piece) -> usize {
        let piece = ByAddress(piece);
        // One of the set, and this one.
        if Arc::strong_count(&piece.0) > 2 || !self.0.remove(&piece) {
            return 0;
        }
        cost(&piece.0)
    }

    /// Number of pieces.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Key of a JVM: namespace, service, and pod with the start of the JVM.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Jvm([Box<str>; 3]);

crate::heap_size!(Jvm { each 0 });

impl Jvm {
    pub(crate) fn of(hello: &Hello<'_>) -> Self {
        Self([hello.namespace, hello.service, hello.pod].map(Into::into))
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }
}

#[derive(Debug)]
struct CacheEntry {
    words: Dictionary,
    since: Duration,
    cost: usize,
}

/// Dictionaries without a connection, bounded in number, bytes and age. The oldest are dropped
/// first.
#[derive(Debug)]
pub(crate) struct DictionaryCache {
    by_jvm: HashMap<Jvm, CacheEntry>,
    bytes: usize,
    max: usize,
    /// Time before which no dictionary expires.
    due: Duration,
}

impl DictionaryCache {
    /// A cache of at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self { by_jvm: HashMap::new(), bytes: 0, max, due: Duration::ZERO }
    }

    /// Keeps the dictionary of a lost connection. Of two dictionaries of one JVM, the one with more
    /// words stays.
    pub(crate) fn put(&mut self, now: Duration, jvm: Jvm, words: Dictionary) {
        self.expire(now);
        let before = self.take(now, &jvm);
        let words = match before {
            Some(before) if before.len() > words.len() => before,
            _ => words,
        };
        let cost = words.cost() + jvm.bytes() + size_of::<(Jvm, CacheEntry)>();
        if words.is_empty() || cost > self.max {
            return;
        }
        while self.by_jvm.len() >= limits::KEPT_PODS || self.bytes + cost > self.max {
            let Some(oldest) =
                self.by_jvm.iter().min_by_key(|(_, entry)| entry.since).map(|(jvm, _)| jvm.clone())
            else {
                return;
            };
            self.remove(&oldest);
        }
        self.bytes += cost;
        self.by_jvm.insert(jvm, CacheEntry { words, since: now, cost });
    }

    /// Takes the dictionary of a JVM that has reconnected.
    pub(crate) fn take(&mut self, now: Duration, jvm: &Jvm) -> Option<Dictionary> {
        self.expire(now);
        self.remove(jvm)
    }

    /// Drops dictionaries older than [`limits::KEPT_SECONDS`].
    pub(crate) fn expire(&mut self, now: Duration) {
        if now < self.due {
            return;
        }
        let (bytes, time) = (&mut self.bytes, Duration::from_secs(limits::KEPT_SECONDS));
        // Later dictionaries expire later than this.
        let mut due = now + time;
        self.by_jvm.retain(|_, entry| {
            let keep = now < entry.since + time;
            if keep {
                due = due.min(entry.since + time);
            } else {
                *bytes -= entry.cost;
            }
            keep
        });
        self.due = due;
    }

    fn remove(&mut self, jvm: &Jvm) -> Option<Dictionary> {
        let entry = self.by_jvm.remove(jvm)?;
        self.bytes -= entry.cost;
        Some(entry.words)
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/shared.rs"]
mod tests;
