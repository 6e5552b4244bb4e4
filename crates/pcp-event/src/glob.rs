//! Patterns in which `*` matches any bytes, or none.

use memchr::memmem::{self, Finder};

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
    let Some(mut text) = text.strip_prefix(first).and_then(|text| text.strip_suffix(last)) else {
        return false;
    };
    for (len, find) in pieces {
        let Some(at) = find(text) else { return false };
        text = text.get(at + len..).unwrap_or_default();
    }
    true
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
    middle: Vec<Finder<'static>>,
    /// `None`: the pattern has no `*`, and `first` is all of it.
    last: Option<Vec<u8>>,
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
        let finders = middle
            .iter()
            .filter(|piece| !piece.is_empty())
            .map(|piece| Finder::new(piece.as_bytes()).into_owned());
        Self { first, middle: finders.collect(), last }
    }

    /// Whether `text` matches; linear in the text for each piece.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        let Some(last) = &self.last else { return text == self.first };
        let pieces = self.middle.iter();
        let pieces = pieces.map(|piece| (piece.needle().len(), |text: &[u8]| piece.find(text)));
        between(text, &self.first, last, pieces)
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn memory(&self) -> usize {
        let middle: usize =
            self.middle.iter().map(|f| size_of::<Finder<'static>>() + f.needle().len()).sum();
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
        assert!(
            Glob::from_pieces(["a*b"]).matches(b"a*b")
                && !Glob::from_pieces(["a*b"]).matches(b"a-b")
        );
        assert!(Glob::new("a**b") == Glob::new("a*b") && Glob::new("a") != Glob::new("a*"));
    }
}
