//! The stream `gc` (spec B.8): the text of the JVM's unified log, cut anywhere. Only lines with
//! pauses are of interest.

use super::gc_line::{GcPause, parse};
use super::text::shrink;
use crate::sources::profiler::limits;

/// Takes pauses.
pub(crate) trait Visitor {
    /// A pause that a line told.
    fn gc_pause(&mut self, pause: &GcPause<'_>);
}

/// Cuts one file into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// The line is too long: nothing of it is kept.
    skip: bool,
}

impl Lines {
    /// The next piece of the file.
    pub(crate) fn feed<V: Visitor + ?Sized>(&mut self, mut bytes: &[u8], visitor: &mut V) {
        while let Some(at) = bytes.iter().position(|b| *b == b'\n') {
            let (line, rest) = bytes.split_at(at);
            (_, bytes) = rest.split_at(1);
            if self.begun.is_empty() && !self.skip {
                if line.len() <= limits::GC_LINE {
                    tell(line, visitor);
                }
            } else {
                self.begin(line);
                self.end(visitor);
            }
        }
        self.begin(bytes);
    }

    /// Nothing more comes.
    pub(crate) fn end<V: Visitor + ?Sized>(&mut self, visitor: &mut V) {
        if !self.skip {
            tell(&self.begun, visitor);
        }
        shrink(&mut self.begun);
        self.skip = false;
    }

    fn begin(&mut self, piece: &[u8]) {
        self.skip |= self.begun.len() + piece.len() > limits::GC_LINE;
        if self.skip {
            self.begun.clear();
        } else {
            self.begun.extend_from_slice(piece);
        }
    }
}

fn tell<V: Visitor + ?Sized>(line: &[u8], visitor: &mut V) {
    if let Some(pause) = std::str::from_utf8(line).ok().and_then(parse) {
        visitor.gc_pause(&pause);
    }
}

#[cfg(test)]
mod tests;
