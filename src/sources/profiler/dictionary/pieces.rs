//! Pieces of dictionaries of pods at rest, each stored once: pods of one service that load their
//! classes in one order have the same words at the same ids.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

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
