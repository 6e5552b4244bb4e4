//! The streams `dictionary` and `posDictionary` (spec B.2): phrases of words, or of ids and words.

use super::record::Corrupt;
use super::resume::Machine;
use super::scan::Scan;
use super::text::{Reader, Text};
use crate::sources::profiler::limits;

/// Takes words.
pub(crate) trait Visitor {
    /// A word. Without an id it has the next one.
    fn word(&mut self, id: Option<u32>, word: Text<'_>);
}

/// Reads the words of a phrase.
#[derive(Debug, Default)]
pub(crate) struct Words {
    positional: bool,
    /// The word that is being read, and its id.
    reading: Option<Option<u32>>,
    text: Reader,
}

impl Words {
    /// `positional`: with ids.
    pub(crate) fn new(positional: bool) -> Self {
        Self { positional, ..Self::default() }
    }
}

impl<V: Visitor + ?Sized> Machine<V> for Words {
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), Corrupt> {
        loop {
            if let Some(id) = self.reading {
                let Some(word) = self.text.take(scan) else { return Ok(()) };
                visitor.word(id, word);
                self.text.end();
                self.reading = None;
            }
            let mut token = *scan;
            let id = if self.positional {
                let Some(id) = token.varint() else { return Ok(()) };
                Some(id)
            } else {
                None
            };
            let Some(units) = token.varint() else { return Ok(()) };
            *scan = token;
            self.text.begin(units, limits::TEXT)?;
            self.reading = Some(id);
        }
    }

    fn at_boundary(&self) -> bool {
        self.reading.is_none()
    }
}
