//! The dictionary of one pod: words by id (docs/protocols/java-profiler.md B.2).

pub(super) mod cache;
pub(super) mod interner;
pub(super) mod method_name;
mod pieces;

use std::collections::VecDeque;
use std::sync::Arc;

use self::interner::Interner;
use self::pieces::{PIECE, Piece};
use crate::sources::profiler::limits;
use crate::sources::profiler::streams::scan::Text;

/// Slots are charged to the interner in steps of this size.
const STEP: usize = 256;
const SLOT: usize = size_of::<Option<Arc<str>>>();

/// Words with a meaning in the protocol (docs/protocols/java-profiler.md B.5, B.6). Their ids
/// differ by agent version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownWord {
    /// `call.red`: the call failed.
    Red,
    /// `call.idle`: the call only waited.
    Idle,
    /// `profiler.title`: a readable name of the call.
    Title,
    /// `calls.corrupted`: number of calls that the agent lost.
    Corrupted,
}

impl KnownWord {
    /// All known words with their texts.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Red, "call.red"),
        (Self::Idle, "call.idle"),
        (Self::Title, "profiler.title"),
        (Self::Corrupted, "calls.corrupted"),
    ];
}

/// The words of one pod. Ids start again with every JVM.
#[derive(Debug)]
pub struct Dictionary {
    slots: Vec<Option<Arc<str>>>,
    /// All slots of a pod at rest, which then has none of its own.
    shared: Vec<Piece>,
    /// Slots charged to the interner.
    charged: usize,
    /// Id of the next word of a `dictionary` stream, which has no ids.
    next: u32,
    known: usize,
    bytes: usize,
    rejected: u64,
    known_ids: [Option<u32>; KnownWord::ALL.len()],
    /// Parameter id and number of tags whose words have not arrived: any may be
    /// [`KnownWord::Corrupted`].
    late: VecDeque<(u32, u64)>,
    interner: Arc<Interner>,
    scratch: String,
}

impl Dictionary {
    /// An empty dictionary.
    #[must_use]
    pub fn new(interner: Arc<Interner>) -> Self {
        Self {
            slots: Vec::new(),
            shared: Vec::new(),
            charged: 0,
            next: 0,
            known: 0,
            bytes: 0,
            rejected: 0,
            known_ids: [None; KnownWord::ALL.len()],
            late: VecDeque::new(),
            interner,
            scratch: String::new(),
        }
    }

    /// An empty dictionary with the same interner.
    pub(crate) fn new_empty(&self) -> Self {
        Self::new(Arc::clone(&self.interner))
    }

    /// The word of an id; `None` if it has not arrived yet, or was rejected.
    #[must_use]
    #[inline]
    pub fn get(&self, id: u32) -> Option<&Arc<str>> {
        let at = id as usize;
        match self.slots.get(at) {
            Some(slot) => slot.as_ref(),
            None => self.shared.get(at / PIECE)?.get(at % PIECE)?.as_ref(),
        }
    }

    /// The pod is idle: slots that other pods have too are shared with them until the next word
    /// comes. Without room for shared slots the dictionary stays as it is.
    pub(crate) fn rest(&mut self) {
        self.scratch = String::new();
        let mut shared = Vec::with_capacity(self.slots.len().div_ceil(PIECE));
        for words in self.slots.chunks(PIECE) {
            let Some(piece) = self.interner.share(words) else {
                return self.interner.leave(shared);
            };
            shared.push(piece);
        }
        if !shared.is_empty() {
            self.shared = shared;
            self.free_slots();
        }
    }

    /// The slots are the pod's own again; false if a limit rejects them.
    fn wake(&mut self) -> bool {
        if self.shared.is_empty() {
            return true;
        }
        let len: usize = self.shared.iter().map(|piece| piece.len()).sum();
        let slots = len.next_multiple_of(STEP);
        if !self.interner.charge(slots * SLOT) {
            return false;
        }
        self.charged = slots;
        self.slots.reserve_exact(slots);
        self.slots.extend(self.shared.iter().flat_map(|piece| piece.iter().cloned()));
        self.interner.leave(std::mem::take(&mut self.shared));
        true
    }

    fn free_slots(&mut self) {
        self.slots = Vec::new();
        self.interner.release(self.charged * SLOT);
        self.charged = 0;
    }

    /// Number of ids with a word.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.known
    }

    /// No id has a word.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// Ids with their words, in the order of ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<str>)> {
        let slots = self.slots.iter().chain(self.shared.iter().flat_map(|piece| piece.iter()));
        (0..).zip(slots).filter_map(|(id, word)| Some((id, word.as_ref()?)))
    }

    /// Allocated bytes, including words shared with other pods.
    pub(crate) const fn cost(&self) -> usize {
        let shared = self.shared.len() * size_of::<Piece>();
        self.bytes + self.charged * SLOT + shared + size_of::<Self>()
    }

    /// Takes over the words of an earlier connection. The tags of this connection that wait for
    /// their words stay.
    pub(crate) fn adopt(&mut self, before: Self) {
        let late = std::mem::take(&mut self.late);
        *self = before;
        self.late = late;
    }

    /// Bytes of the words, shared with other pods or not.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Words rejected because of a limit, since the start of the connection.
    #[must_use]
    pub const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The id of a known word; `None` if it has not arrived yet.
    #[must_use]
    #[inline]
    pub fn id_of(&self, word: KnownWord) -> Option<u32> {
        self.known_ids.get(word as usize).copied().flatten()
    }

    /// Drops all words; ids start again (docs/protocols/java-profiler.md A.6, resetRequired).
    pub(crate) fn reset(&mut self) {
        self.free_slots();
        self.interner.leave(std::mem::take(&mut self.shared));
        (self.next, self.known, self.bytes) = (0, 0, 0);
        self.known_ids = [None; KnownWord::ALL.len()];
        self.late.clear();
    }

    /// Adds a word; without an `id` it gets the next one. Returns the id, and false if a limit
    /// rejected the word.
    pub(crate) fn put(&mut self, id: Option<u32>, text: Text<'_>) -> (u32, bool) {
        let id = id.unwrap_or_else(|| {
            let id = self.next;
            self.next = id.saturating_add(1);
            id
        });
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        text.push_to(&mut scratch);
        let taken = self.put_word(id, &scratch);
        self.rejected += u64::from(!taken);
        if scratch.capacity() <= limits::IDLE_BUFFER {
            self.scratch = scratch;
        }
        (id, taken)
    }

    /// Interns a name that is not in the dictionary.
    pub(crate) fn share(&self, name: Text<'_>) -> Option<Arc<str>> {
        let mut text = String::new();
        name.push_to(&mut text);
        self.interner.intern(&text)
    }

    /// The parameter has a word that is not [`KnownWord::Corrupted`].
    #[inline(always)]
    pub(crate) fn is_plain(&self, param: u32) -> bool {
        self.get(param).is_some() && self.id_of(KnownWord::Corrupted) != Some(param)
    }

    /// The number of lost calls, if the tag is [`KnownWord::Corrupted`]. A number whose parameter
    /// has no word yet is kept for [`late_lost_calls`](Self::late_lost_calls).
    #[inline]
    pub(crate) fn lost_calls(&mut self, param: u32, value: Text<'_>) -> Option<u64> {
        if self.id_of(KnownWord::Corrupted) == Some(param) {
            return value.number();
        }
        if self.get(param).is_none()
            && let Some(number) = value.number()
        {
            if self.late.len() >= limits::LATE_TAGS {
                self.late.pop_front();
            }
            self.late.push_back((param, number));
        }
        None
    }

    /// The number of lost calls in tags that arrived before the word of `id`.
    pub(crate) fn late_lost_calls(&mut self, id: u32) -> Option<u64> {
        if self.late.is_empty() {
            return None;
        }
        let corrupted = self.id_of(KnownWord::Corrupted) == Some(id);
        let mut sum = None;
        self.late.retain(|(param, number)| {
            if *param == id && corrupted {
                sum = Some(number.saturating_add(sum.unwrap_or(0)));
            }
            *param != id
        });
        sum
    }

    fn put_word(&mut self, id: u32, word: &str) -> bool {
        let at = id as usize;
        if at >= limits::WORDS || self.bytes + word.len() > limits::POD_TEXT || !self.make_room(at)
        {
            return false;
        }
        let Some(word) = self.interner.intern(word) else { return false };
        let Some(slot) = self.slots.get_mut(at) else { return false };
        self.bytes += word.len();
        match slot.replace(word) {
            Some(old) => self.bytes -= old.len(),
            None => self.known += 1,
        }
        self.update_known(id);
        true
    }

    /// Ensures a charged slot at `at`; false if a limit rejects it.
    fn make_room(&mut self, at: usize) -> bool {
        if !self.wake() {
            return false;
        }
        if at < self.slots.len() {
            return true;
        }
        let slots = (at + 1).next_multiple_of(STEP);
        if slots > self.charged {
            if !self.interner.charge((slots - self.charged) * SLOT) {
                return false;
            }
            self.slots.reserve_exact(slots - self.slots.len());
            self.charged = slots;
        }
        self.slots.resize(at + 1, None);
        true
    }

    /// Updates the ids of known words: an id may get another word.
    fn update_known(&mut self, id: u32) {
        let word = self.slots.get(id as usize).and_then(Option::as_deref);
        for (place, (_, text)) in self.known_ids.iter_mut().zip(KnownWord::ALL) {
            if word == Some(text) {
                *place = Some(id);
            } else if *place == Some(id) {
                *place = None;
            }
        }
    }
}

impl Drop for Dictionary {
    fn drop(&mut self) {
        self.interner.release(self.charged * SLOT);
        self.interner.leave(std::mem::take(&mut self.shared));
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests {
    use super::*;

    fn put(words: &mut Dictionary, id: Option<u32>, word: &str) -> (u32, bool) {
        let bytes: Vec<u8> = word.encode_utf16().flat_map(u16::to_be_bytes).collect();
        words.put(id, Text::new(&bytes, bytes.len() as u32 / 2))
    }

    #[test]
    fn ids_run_from_0_and_an_empty_word_has_one() {
        let interner = Arc::new(Interner::new(1 << 20));
        let mut words = Dictionary::new(Arc::clone(&interner));
        for (n, word) in ["call.info", "", "call.red", "日本🦀"].into_iter().enumerate() {
            assert_eq!(put(&mut words, None, word), (n as u32, true));
            assert_eq!(words.get(n as u32).map(|w| &**w), Some(word));
        }
        assert_eq!(
            (words.len(), words.id_of(KnownWord::Red), words.id_of(KnownWord::Idle)),
            (4, Some(2), None)
        );
        assert_eq!(put(&mut words, Some(2), "call.idle"), (2, true));
        assert_eq!(
            (words.len(), words.id_of(KnownWord::Red), words.id_of(KnownWord::Idle)),
            (4, None, Some(2))
        );
        words.reset();
        assert_eq!((words.len(), words.get(0), words.id_of(KnownWord::Idle)), (0, None, None));
        assert_eq!(put(&mut words, None, "again"), (0, true));
        drop(words);
        assert!(interner.charge((1 << 20) - 5 * 100), "slots were given back");
    }

    #[test]
    fn ids_and_words_are_bounded() {
        let interner = Arc::new(Interner::new(64 << 20));
        let mut words = Dictionary::new(interner);
        assert_eq!(put(&mut words, Some(limits::WORDS as u32), "x"), (limits::WORDS as u32, false));
        assert_eq!(put(&mut words, Some(u32::MAX), "x"), (u32::MAX, false));
        assert!(put(&mut words, Some(limits::WORDS as u32 - 1), "x").1);
        assert_eq!((words.rejected(), words.len()), (2, 1));
        let long = "y".repeat(8000);
        let taken = (0..3000).filter(|n| put(&mut words, None, &format!("{n}{long}")).1).count();
        assert!((2000..2100).contains(&taken) && words.bytes() <= limits::POD_TEXT, "{taken}");
    }

    #[test]
    fn one_sparse_word_does_not_take_the_room_of_all() {
        let interner = Arc::new(Interner::new(limits::WORDS * SLOT / 2));
        let mut words = Dictionary::new(Arc::clone(&interner));
        assert!(!put(&mut words, Some(limits::WORDS as u32 - 1), "x").1);
        assert!(put(&mut words, Some(5), "x").1);
        assert!(interner.bytes() < 10_000);
    }

    #[test]
    fn pods_at_rest_share_slots_until_a_word_comes() {
        let interner = Arc::new(Interner::new(1 << 20));
        let dictionary = |last: &str| {
            let mut words = Dictionary::new(Arc::clone(&interner));
            (0..1000).for_each(|n| assert!(put(&mut words, None, &format!("word {n}")).1));
            assert!(put(&mut words, Some(1003), last).1);
            words
        };
        let mut pods: Vec<_> = (0..20).map(|_| dictionary("call.red")).collect();
        let awake = interner.bytes();
        pods.push(dictionary("call.idle"));
        let slots = interner.bytes() - awake;
        let all = |words: &Dictionary| {
            words.iter().map(|(id, word)| (id, Arc::clone(word))).collect::<Vec<_>>()
        };
        let before: Vec<_> = pods.iter().map(all).collect();
        pods.iter_mut().for_each(Dictionary::rest);
        assert_eq!(interner.pieces(), 1004_usize.div_ceil(PIECE) + 1);
        assert!(interner.bytes() < awake - 18 * slots, "{} of {awake}", interner.bytes());
        for (words, before) in pods.iter_mut().zip(&before) {
            assert_eq!((all(words), words.len()), (before.clone(), 1001));
            assert_eq!(words.get(1000), None);
            assert_eq!(words.get(1004), None);
            assert_eq!(words.get(5000), None);
        }
        let (red, idle) = (KnownWord::Red, KnownWord::Idle);
        assert_eq!((pods[19].id_of(red), pods[20].id_of(idle)), (Some(1003), Some(1003)));
        // A word that comes is the pod's own.
        assert_eq!(put(&mut pods[3], None, "late"), (1000, true));
        assert_eq!(pods[3].get(1000).map(|w| &**w), Some("late"));
        assert_eq!((pods[4].get(1000), pods[3].len(), pods[4].len()), (None, 1002, 1001));
        assert_eq!((0..1000).filter(|id| pods[3].get(*id) == pods[4].get(*id)).count(), 1000);
        pods[5].reset();
        assert_eq!((pods[5].get(0), pods[5].len()), (None, 0));
        pods[3].rest();
        pods[3].rest();
        assert_eq!(interner.pieces(), 1004_usize.div_ceil(PIECE) + 2);
        drop(pods);
        assert_eq!(interner.pieces(), 0);
        assert!(
            interner.charge((1 << 20) - 1002 * 100),
            "all was given back: {}",
            interner.bytes()
        );
    }

    #[test]
    fn without_room_a_dictionary_stays_as_it_is() {
        let mut pods = Vec::new();
        let interner = Arc::new(Interner::new(5 * STEP * SLOT));
        for n in 0..4 {
            let mut words = Dictionary::new(Arc::clone(&interner));
            (0..4).for_each(|m| assert!(put(&mut words, None, &format!("{n} {m}")).1));
            pods.push(words);
        }
        let full = 5 * STEP * SLOT - interner.bytes();
        assert!(interner.charge(full));
        pods[0].rest();
        assert_eq!((interner.pieces(), pods[0].get(3).map(|w| &**w)), (0, Some("0 3")));
        interner.release(full);
        pods[0].rest();
        assert!(interner.charge(5 * STEP * SLOT - interner.bytes()));
        assert_eq!((interner.pieces(), put(&mut pods[0], None, "0 4")), (1, (4, false)));
        assert_eq!((pods[0].get(3).map(|w| &**w), pods[0].get(4)), (Some("0 3"), None));
    }
}
