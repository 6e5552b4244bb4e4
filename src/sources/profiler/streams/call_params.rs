//! The parameters of a call, behind its numbers (docs/protocols/java-profiler.md B.5). Values stay where
//! they are in the input; those of a call that the input ends within are copied.

use super::error::DecodeError;
use super::record::{Params, Piece};
use super::scan::{Numbers, Scan, shrink};
use crate::sources::profiler::limits;

/// Decodes the parameters of one call.
#[derive(Debug, Default)]
pub(crate) struct ParamReader {
    params: u32,
    params_left: u32,
    values: u32,
    values_left: u32,
    /// Id of the parameter that is being read.
    id: u32,
    /// Positions of the values: in the input, or in `copies` if `copied`.
    pieces: Vec<Piece>,
    copied: bool,
    copies: Vec<u8>,
    /// Bytes of values left within [`limits::CALL_TEXT`].
    budget: usize,
    /// The value that is being read: its units, bytes left to read, bytes left to keep, and its
    /// start in `copies`.
    units: u32,
    left: usize,
    keep: usize,
    from: usize,
}

/// The next token of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Param,
    Length,
    End,
}

impl ParamReader {
    /// Begins a call with `params` parameters.
    #[inline(always)]
    pub(crate) fn begin(&mut self, params: u32) -> Result<Next, DecodeError> {
        if params > limits::CLAIMED {
            return Err(DecodeError::Claims(params));
        }
        (self.params, self.params_left, self.values, self.values_left) = (params, params, 0, 0);
        self.pieces.clear();
        self.copied = false;
        self.budget = limits::CALL_TEXT;
        Ok(self.next())
    }

    #[inline(always)]
    const fn next(&self) -> Next {
        match (self.values_left, self.params_left) {
            (0, 0) => Next::End,
            (0, _) => Next::Param,
            _ => Next::Length,
        }
    }

    /// Reads all parameters of a call; `None` if they are not whole in the input or exceed a limit.
    #[inline(always)]
    pub(super) fn whole(&mut self, params: u32, token: &mut Scan<'_>, input: &[u8]) -> Option<()> {
        self.begin(params).ok()?;
        for _ in 0..params {
            let (id, values) = (token.varint()?, token.varint()?);
            if values > limits::CLAIMED {
                return None;
            }
            (self.id, self.units) = (id, 0);
            self.values += values;
            if values == 0 {
                self.put(0, 0);
            }
            for _ in 0..values {
                self.units = token.varint()?;
                if self.units > limits::TEXT || self.pieces.len() >= limits::CALL_VALUES {
                    return None;
                }
                let (from, length) = (input.len() - token.rest().len(), 2 * self.units as usize);
                self.budget = self.budget.checked_sub(length)?;
                if token.up_to(length).len() < length {
                    return None;
                }
                self.put(from, from + length);
            }
        }
        (self.params_left, self.values_left) = (0, 0);
        Some(())
    }

    /// Reads the id of a parameter and the number of its values.
    pub(crate) fn param(&mut self, scan: &mut Scan<'_>) -> Result<Option<Next>, DecodeError> {
        let mut token = *scan;
        let (Some(id), Some(values)) = (token.varint(), token.varint()) else { return Ok(None) };
        *scan = token;
        if values > limits::CLAIMED {
            return Err(DecodeError::Claims(values));
        }
        self.id = id;
        self.params_left -= 1;
        self.values_left = values;
        self.values += values;
        if values == 0 {
            // A parameter without a value counts as present: call.red may have none.
            self.units = 0;
            self.put(0, 0);
        }
        Ok(Some(self.next()))
    }

    /// Reads the length of a value.
    pub(crate) fn length(&mut self, scan: &mut Scan<'_>) -> Result<Option<()>, DecodeError> {
        let Some(units) = scan.varint() else { return Ok(None) };
        if units > limits::UNITS {
            return Err(DecodeError::Units(units));
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

    /// Reads a value; `None` until it is whole. `input`: the bytes with which `scan` began.
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

    #[inline(always)]
    fn put(&mut self, from: usize, to: usize) {
        if self.pieces.len() < limits::CALL_VALUES {
            self.pieces.push(Piece { id: self.id, from, to, units: self.units });
        }
    }

    /// Copies the values of an unfinished call out of `input`, which is gone at the next `step`.
    pub(crate) fn copy_unfinished(&mut self, input: &[u8]) {
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

    /// All parameters, after [`Next::End`].
    #[inline(always)]
    pub(crate) fn params<'a>(&'a self, input: &'a [u8]) -> Params<'a> {
        let text = if self.copied { &self.copies } else { input };
        Params { pieces: &self.pieces, text, count: self.params, values: self.values }
    }

    /// Frees memory that an idle connection does not need.
    pub(super) fn rest(&mut self) {
        self.pieces.shrink_to_fit();
        self.copies.shrink_to_fit();
    }

    /// Clears the values after a call was reported.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        self.pieces.clear();
        if self.copied {
            shrink(&mut self.copies);
            self.copied = false;
        }
    }
}
