//! Patterns in which `*` matches any bytes, or none.

use memchr::arch::all::packedpair::Pair;
use memchr::memmem::{self, Finder};

/// Most bytes of a text that is searched byte by byte.
const SHORT: usize = 64;

/// Whether `text` matches `pattern`, in which every `*` matches any bytes. Linear in the text for
/// each piece between two `*`. [`Glob`] is for patterns used more than once.
///
/// ```
/// assert!(pcp_event::glob(b"*.counters", b"app.counters"));
/// assert!(!pcp_event::glob(b"*.counters", b"app.counters.1"));
/// ```
#[must_use]
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let Some(star) = memchr::memchr(b'*', pattern) else { return pattern == text };
    let (first, rest) = pattern.split_at(star);
    let last = memchr::memrchr(b'*', rest).map_or(0, |at| at + 1);
    let (middle, last) = rest.split_at(last);
    let pieces = middle.split(|byte| *byte == b'*').filter(|piece| !piece.is_empty());
    between(
        text,
        first,
        last,
        pieces.map(|piece| (piece.len(), |text: &[u8]| memmem::find(text, piece))),
    )
}

/// Whether `text` begins with `first` and ends with `last`, with the pieces in order between them.
fn between<F: Fn(&[u8]) -> Option<usize>>(
    text: &[u8],
    first: &[u8],
    last: &[u8],
    pieces: impl Iterator<Item = (usize, F)>,
) -> bool {
    let Some(mut text) = inside(text, first, last) else { return false };
    for (len, find) in pieces {
        let Some(at) = find(text) else { return false };
        text = text.get(at + len..).unwrap_or_default();
    }
    true
}

/// Whether texts are equal. Short ones are compared as words that overlap: faster than a call.
#[inline(always)]
fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0 => true,
        8..=16 => a.first_chunk::<8>() == b.first_chunk() && a.last_chunk::<8>() == b.last_chunk(),
        4..=7 => a.first_chunk::<4>() == b.first_chunk() && a.last_chunk::<4>() == b.last_chunk(),
        _ => a == b,
    }
}

/// A piece of a pattern to be found.
#[derive(Clone, Debug)]
struct Piece {
    finder: Finder<'static>,
    /// Its byte that is likely to be the rarest in texts, and the byte's position.
    rare: (u8, usize),
}

impl Piece {
    /// `piece` is not empty.
    fn new(piece: &[u8]) -> Self {
        let at = Pair::new(piece).map_or(0, |pair| pair.index1().into());
        let rare = (piece.get(at).copied().unwrap_or_default(), at);
        Self { finder: Finder::new(piece).into_owned(), rare }
    }

    fn needle(&self) -> &[u8] {
        self.finder.needle()
    }

    #[inline]
    fn find(&self, text: &[u8]) -> Option<usize> {
        if text.len() > SHORT { self.finder.find(text) } else { self.find_in_short(text) }
    }

    /// Looks at the places of the rare byte: the preparation of a longer search takes longer.
    fn find_in_short(&self, text: &[u8]) -> Option<usize> {
        let (needle, (byte, at)) = (self.needle(), self.rare);
        let places = text.get(at..=at + text.len().checked_sub(needle.len())?)?;
        memchr::memchr_iter(byte, places)
            .find(|start| text.get(*start..start + needle.len()).is_some_and(|t| same(t, needle)))
    }
}

/// What is between `first` and `last`.
#[inline(always)]
fn inside<'t>(text: &'t [u8], first: &[u8], last: &[u8]) -> Option<&'t [u8]> {
    let (begin, text) = text.split_at_checked(first.len())?;
    let (text, end) = text.split_at_checked(text.len().checked_sub(last.len())?)?;
    (same(begin, first) && same(end, last)).then_some(text)
}

/// A pattern compiled once and matched many times.
///
/// ```
/// let glob = pcp_event::Glob::new("GET /*/items");
/// assert!(glob.matches(b"GET /v1/items"));
/// ```
#[derive(Clone, Debug)]
pub struct Glob {
    first: Vec<u8>,
    middle: Vec<Piece>,
    /// `None`: the pattern has no `*`, and `first` is all of it.
    last: Option<Vec<u8>>,
    /// The first 8 bytes of `first`, and the bits that these are.
    head: (u64, u64),
    /// A text of at least 8 bytes with this head matches.
    head_is_enough: bool,
}

impl Glob {
    /// A pattern in which `*` matches any bytes.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        Self::from_pieces(pattern.split('*'))
    }

    /// A pattern from the pieces between its `*`; a `*` within a piece matches itself only.
    #[must_use]
    pub fn from_pieces<'p>(pieces: impl IntoIterator<Item = &'p str>) -> Self {
        let mut pieces = pieces.into_iter();
        let first = pieces.next().unwrap_or_default().as_bytes().to_vec();
        let mut middle: Vec<&str> = pieces.collect();
        let last = middle.pop().map(|last| last.as_bytes().to_vec());
        let middle = middle.into_iter().filter(|piece| !piece.is_empty());
        let middle: Vec<Piece> = middle.map(|piece| Piece::new(piece.as_bytes())).collect();
        let (mut head, mut bits) = ([0; 8], [0; 8]);
        for ((byte, bits), of) in head.iter_mut().zip(&mut bits).zip(&first) {
            (*byte, *bits) = (*of, u8::MAX);
        }
        let only_first = middle.is_empty() && last.as_ref().is_some_and(Vec::is_empty);
        let head_is_enough = only_first && first.len() <= head.len();
        let head = (u64::from_ne_bytes(head), u64::from_ne_bytes(bits));
        Self { first, middle, last, head, head_is_enough }
    }

    /// Whether `text` matches; linear in the text for each piece.
    #[inline(always)]
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        // Most texts differ in their first bytes.
        if let Some(word) = text.first_chunk() {
            let (head, bits) = self.head;
            if u64::from_ne_bytes(*word) & bits != head {
                return false;
            }
            if self.head_is_enough {
                return true;
            }
        }
        self.matches_all(text)
    }

    #[inline(never)]
    fn matches_all(&self, text: &[u8]) -> bool {
        let Some(last) = &self.last else { return same(text, &self.first) };
        let Some(text) = inside(text, &self.first, last) else { return false };
        self.middle.is_empty() || self.has_pieces(text)
    }

    #[inline(never)]
    fn has_pieces(&self, text: &[u8]) -> bool {
        let pieces = self.middle.iter();
        between(text, &[], &[], pieces.map(|p| (p.needle().len(), |text: &[u8]| p.find(text))))
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn memory(&self) -> usize {
        let middle: usize = self.middle.iter().map(|f| size_of::<Piece>() + f.needle().len()).sum();
        self.first.len() + middle + self.last.as_ref().map_or(0, Vec::len)
    }
}

/// Globs are equal if their patterns are, except for repeated `*`.
impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        let needles = |glob: &'_ Self| -> Vec<Vec<u8>> {
            glob.middle.iter().map(|f| f.needle().to_vec()).collect()
        };
        self.first == other.first && self.last == other.last && needles(self) == needles(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_bytes() {
        for (pattern, text, matches) in [
            ("*.counters", "app.counters", true),
            ("*.counters", "app.counters.1", false),
            ("a*b*c", "a-bb-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a**c", "ac", true),
            ("a*b", "ab", true),
            ("ab*ba", "aba", false),
            ("*b*", "abc", true),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("x", "", false),
            ("x", "x", true),
        ] {
            let text = text.as_bytes();
            assert_eq!(glob(pattern.as_bytes(), text), matches, "{pattern} {text:?}");
            assert_eq!(Glob::new(pattern).matches(text), matches, "{pattern} {text:?}");
        }
        // Texts and pieces of all lengths that are compared or searched in different ways.
        let all = "aab".repeat(40);
        for len in 0..=all.len() {
            let (text, rest) = all.split_at(len);
            for piece in [1, 2, 3, 5, 7, 8, 12, 16, 17, 30].map(|n| all.split_at(n).0) {
                let middle = Glob::new(&format!("*b{piece}*"));
                assert_eq!(middle.matches(text.as_bytes()), text.contains(&format!("b{piece}")));
                assert_eq!(
                    Glob::new(&format!("{piece}*")).matches(text.as_bytes()),
                    len >= piece.len()
                );
                let last = Glob::new(&format!("*{piece}"));
                assert_eq!(last.matches(text.as_bytes()), text.ends_with(piece));
                assert_eq!(Glob::new(piece).matches(text.as_bytes()), text == piece, "{rest}");
            }
        }
        assert!(
            Glob::from_pieces(["a*b"]).matches(b"a*b")
                && !Glob::from_pieces(["a*b"]).matches(b"a-b")
        );
        assert!(Glob::new("a**b") == Glob::new("a*b") && Glob::new("a") != Glob::new("a*"));
    }
}
