//! Phrases (spec B.1): a length, then as many bytes of whole records.

use super::record::Corrupt;
use super::resume::Machine;
use super::scan::Scan;
use crate::sources::profiler::limits;

/// Takes the frames off a stream of phrases.
#[derive(Debug, Default)]
pub(crate) struct Phrases<M> {
    records: M,
    /// Bytes of the phrase that are still to come.
    left: usize,
}

impl<M> Phrases<M> {
    pub(crate) const fn new(records: M) -> Self {
        Self { records, left: 0 }
    }
}

impl<V: ?Sized, M: Machine<V>> Machine<V> for Phrases<M> {
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), Corrupt> {
        loop {
            if self.left == 0 {
                if !self.records.at_boundary() {
                    return Err(Corrupt::Crosses);
                }
                let Some(length) = scan.i32() else { return Ok(()) };
                let sound = u32::try_from(length).ok().filter(|n| *n <= limits::PHRASE);
                self.left = sound.ok_or(Corrupt::Phrase(length))? as usize;
                continue;
            }
            let offset = scan.offset();
            let (phrase, _) = scan.rest().split_at(self.left.min(scan.rest().len()));
            let mut inner = Scan::new(phrase, offset);
            let result = self.records.step(&mut inner, visitor);
            let taken = phrase.len() - inner.rest().len();
            scan.up_to(taken);
            self.left -= taken;
            result?;
            if self.left > 0 {
                // The next token is not whole: it never will be if this is all of the phrase.
                let all = phrase.len() - taken == self.left;
                return if all { Err(Corrupt::Crosses) } else { Ok(()) };
            }
        }
    }

    fn at_boundary(&self) -> bool {
        self.left == 0 && self.records.at_boundary()
    }
}
