//! The parameters of a call while it is read: borrowed from the input, and copied only when a
//! payload ends among them.

use super::record::{Corrupt, Params, Piece};
use super::scan::Scan;
use super::text::shrink;
use crate::sources::profiler::limits;

/// What is known so far of the parameters of one call.
#[derive(Debug, Default)]
pub(crate) struct Values {
    params: u32,
    params_left: u32,
    values: u32,
    values_left: u32,
    /// The parameter that is being read.
    id: u32,
    /// Where the values are: in the input, or in `copies` once `copied`.
    pieces: Vec<Piece>,
    copied: bool,
    copies: Vec<u8>,
    /// Bytes that may still be kept.
    budget: usize,
    /// The value that is being read: its units, bytes to come, bytes to keep, and where in
    /// `copies` it begins.
    units: u32,
    left: usize,
    keep: usize,
    from: usize,
}

/// What follows in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Param,
    Length,
    End,
}

impl Values {
    /// A call with so many parameters.
    pub(crate) fn begin(&mut self, params: u32) -> Result<Next, Corrupt> {
        if params > limits::CLAIMED {
            return Err(Corrupt::Claims(params));
        }
        (self.params, self.params_left, self.values, self.values_left) = (params, params, 0, 0);
        self.pieces.clear();
        self.copied = false;
        self.budget = limits::CALL_TEXT;
        Ok(self.next())
    }

    const fn next(&self) -> Next {
        match (self.values_left, self.params_left) {
            (0, 0) => Next::End,
            (0, _) => Next::Param,
            _ => Next::Length,
        }
    }

    /// Id of a parameter and number of its values.
    pub(crate) fn param(&mut self, scan: &mut Scan<'_>) -> Result<Option<Next>, Corrupt> {
        let mut token = *scan;
        let (Some(id), Some(values)) = (token.varint(), token.varint()) else { return Ok(None) };
        *scan = token;
        if values > limits::CLAIMED {
            return Err(Corrupt::Claims(values));
        }
        self.id = id;
        self.params_left -= 1;
        self.values_left = values;
        self.values += values;
        if values == 0 {
            // It has no value, but it is there: call.red says enough by that.
            self.units = 0;
            self.put(0, 0);
        }
        Ok(Some(self.next()))
    }

    /// Length of a value.
    pub(crate) fn length(&mut self, scan: &mut Scan<'_>) -> Result<Option<()>, Corrupt> {
        let Some(units) = scan.varint() else { return Ok(None) };
        if units > limits::UNITS {
            return Err(Corrupt::Units(units));
        }
        self.units = units;
        self.left = 2 * units as usize;
        let full = self.pieces.len() >= limits::CALL_VALUES;
        // Whole units only.
        self.keep =
            if full { 0 } else { self.left.min(2 * limits::TEXT as usize).min(self.budget & !1) };
        self.budget -= self.keep;
        self.from = self.copies.len();
        Ok(Some(()))
    }

    /// A value; `None` until all of it has been read. `input` is what `scan` began with.
    pub(crate) fn value(&mut self, scan: &mut Scan<'_>, input: &[u8]) -> Option<Next> {
        if !self.copied && scan.rest().len() < self.left {
            self.copy(input);
            self.from = self.copies.len();
        }
        let from = input.len() - scan.rest().len();
        let piece = scan.up_to(self.left);
        self.left -= piece.len();
        let (keep, _) = piece.split_at(self.keep.min(piece.len()));
        if self.copied {
            self.copies.extend_from_slice(keep);
            self.keep -= keep.len();
            if self.left > 0 {
                return None;
            }
            self.put(self.from, self.copies.len());
        } else {
            self.put(from, from + keep.len());
        }
        self.values_left -= 1;
        Some(self.next())
    }

    fn put(&mut self, from: usize, to: usize) {
        if self.pieces.len() < limits::CALL_VALUES {
            self.pieces.push(Piece { id: self.id, from, to, units: self.units });
        }
    }

    /// The input is about to go: what it has of an unfinished call is copied.
    pub(crate) fn leave(&mut self, input: &[u8]) {
        if !self.copied && !self.pieces.is_empty() {
            self.copy(input);
            self.from = self.copies.len();
        }
    }

    fn copy(&mut self, input: &[u8]) {
        self.copied = true;
        self.copies.clear();
        for piece in &mut self.pieces {
            let from = self.copies.len();
            self.copies.extend_from_slice(input.get(piece.from..piece.to).unwrap_or_default());
            (piece.from, piece.to) = (from, self.copies.len());
        }
    }

    /// All of them, after [`Next::End`].
    pub(crate) fn params<'a>(&'a self, input: &'a [u8]) -> Params<'a> {
        let text = if self.copied { &self.copies } else { input };
        Params { pieces: &self.pieces, text, count: self.params, values: self.values }
    }

    /// The call has been used.
    pub(crate) fn end(&mut self) {
        self.pieces.clear();
        if self.copied {
            shrink(&mut self.copies);
            self.copied = false;
        }
    }
}
