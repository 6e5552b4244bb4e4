//! Texts with `*` for anything.

use memchr::memmem::Finder;

/// The pieces between `*`, ready to be looked for.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    first: Vec<u8>,
    middle: Vec<Finder<'static>>,
    /// `None`: there is no `*`, and `first` is all.
    last: Option<Vec<u8>>,
}

impl Glob {
    pub(super) fn new(pieces: &[String]) -> Self {
        let (first, rest) = pieces
            .split_first()
            .map_or((&[] as &[u8], pieces), |(first, rest)| (first.as_bytes(), rest));
        let (last, middle) = rest
            .split_last()
            .map_or((None, rest), |(last, middle)| (Some(last.as_bytes().to_vec()), middle));
        let finder = |piece: &&String| !piece.is_empty();
        let middle = middle
            .iter()
            .filter(finder)
            .map(|piece| Finder::new(piece.as_bytes()).into_owned())
            .collect();
        Self { first: first.to_vec(), middle, last }
    }

    /// `text` is the pieces in their order with anything between them; linear in both.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let Some(last) = &self.last else { return text == self.first };
        let Some(mut text) = text.strip_prefix(&*self.first).and_then(|t| t.strip_suffix(&**last))
        else {
            return false;
        };
        for piece in &self.middle {
            let Some(at) = piece.find(text) else { return false };
            text = text.get(at + piece.needle().len()..).unwrap_or_default();
        }
        true
    }

    /// Whether the same texts were written.
    pub(super) fn same(&self, other: &Self) -> bool {
        let needles = |g: &Self| g.middle.iter().map(|f| f.needle().to_vec()).collect::<Vec<_>>();
        self.first == other.first && self.last == other.last && needles(self) == needles(other)
    }

    pub(super) fn memory(&self) -> usize {
        let middle: usize =
            self.middle.iter().map(|f| size_of::<Finder<'static>>() + f.needle().len()).sum();
        self.first.len() + middle + self.last.as_ref().map_or(0, Vec::len)
    }
}
