//! The words of one pod by their ids, and the texts that they come as (docs/protocols/java-profiler.md B.1,
//! B.2).

pub(super) mod shared;

use std::collections::VecDeque;
use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

use self::shared::{Interner, PIECE, Piece};
use super::limits;

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

/// Most units of [`Text::ascii`].
pub(crate) const ASCII: usize = 64;

/// A string as encoded. Surrogates may be unpaired, because agents cut strings by unit.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Text<'a> {
    utf16: &'a [u8],
    units: u32,
}

impl<'a> Text<'a> {
    /// `utf16`: the whole string or its start; `units`: its whole length.
    pub(crate) const fn new(utf16: &'a [u8], units: u32) -> Self {
        Self { utf16, units }
    }

    /// Length in UTF-16 units, as the agent sent it.
    #[must_use]
    pub const fn units(self) -> u32 {
        self.units
    }

    /// The string is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.units == 0
    }

    /// A limit cut the end off.
    #[must_use]
    pub const fn is_cut(self) -> bool {
        (self.utf16.len() as u64) < 2 * self.units as u64
    }

    /// The kept units, as UTF-16, big-endian.
    #[must_use]
    pub const fn as_utf16(self) -> &'a [u8] {
        self.utf16
    }

    /// The kept characters; U+FFFD stands for an unpaired surrogate.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        let (units, _) = self.utf16.as_chunks();
        char::decode_utf16(units.iter().map(|u| u16::from_be_bytes(*u)))
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Whether the whole string equals `other`.
    #[must_use]
    pub fn is(self, other: &str) -> bool {
        !self.is_cut() && self.chars().eq(other.chars())
    }

    /// The value of a decimal number, as tags with numbers contain it.
    #[must_use]
    pub fn number(self) -> Option<u64> {
        if self.is_cut() || !(1..=20).contains(&self.units) {
            return None;
        }
        let (units, _) = self.utf16.as_chunks();
        units.iter().try_fold(0u64, |n, unit| {
            let digit = u16::from_be_bytes(*unit).wrapping_sub(b'0'.into());
            if digit > 9 {
                return None;
            }
            n.checked_mul(10)?.checked_add(digit.into())
        })
    }

    /// The kept characters as bytes in `room`, if they are ASCII without a NUL and have room there.
    #[inline]
    pub(crate) fn ascii(self, room: &mut [u8; ASCII]) -> Option<&[u8]> {
        const HIGH: u64 = 0x8000_8000_8000_8000;
        const NOT_ASCII: u64 = 0xff80_ff80_ff80_ff80;
        let (out, _) = room.split_at_mut_checked(self.utf16.len() / 2)?;
        let (fours, rest) = self.utf16.as_chunks();
        let (narrow, last) = out.as_chunks_mut();
        let (mut wrong, mut narrow) = (0, narrow.iter_mut());
        for four in fours {
            let four = u64::from_be_bytes(*four);
            // Of ASCII, only a NUL gets a high bit when 1 is taken from each unit.
            wrong |= four & NOT_ASCII | four.wrapping_sub(0x0001_0001_0001_0001) & HIGH;
            let pairs = (four | four >> 8) & 0x0000_ffff_0000_ffff;
            let [.., a, b, c, d] = (pairs | pairs >> 16).to_be_bytes();
            if let Some(to) = narrow.next() {
                *to = [a, b, c, d];
            }
        }
        let mut last = last.iter_mut();
        for [high, low] in rest.as_chunks().0 {
            wrong |= u64::from(*high != 0 || !(1..0x80).contains(low));
            if let Some(to) = last.next() {
                *to = *low;
            }
        }
        (wrong == 0).then_some(out)
    }

    /// Appends the kept characters, as UTF-8.
    pub fn push_to(self, out: &mut String) {
        const LANES: usize = 32;
        let (mut units, _) = self.utf16.as_chunks::<2>();
        out.reserve(units.len());
        // Words, names and URLs are usually ASCII: many units are narrowed at a time.
        while !units.is_empty() {
            let mut ascii = [0; LANES];
            let (lanes, rest) = units.split_at(units.len().min(LANES));
            let mut seen = 0;
            for (byte, unit) in ascii.iter_mut().zip(lanes) {
                let [high, low] = *unit;
                seen |= high | low & 0x80;
                *byte = low;
            }
            let (ascii, _) = ascii.split_at(lanes.len());
            match std::str::from_utf8(ascii) {
                Ok(ascii) if seen == 0 => out.push_str(ascii),
                _ => break,
            }
            units = rest;
        }
        Self::new(units.as_flattened(), 0).chars().for_each(|c| out.push(c));
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|c| f.write_char(c))
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())?;
        if self.is_cut() { write!(f, "… of {}", self.units) } else { Ok(()) }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/dictionary.rs"]
mod tests;
