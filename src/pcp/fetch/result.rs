//! A fetch's answer in libpcp's form, in memory that is ours and used again: `pmdaResult` with a
//! `pmValueSet` for each metric.
//!
//! pmdaFetch(3) would walk all instances of a domain for each metric, and allocate each value: with
//! a thousand agents a fetch of ten values would cost ten thousand steps. Here only what the
//! profile asks for is looked at.

use std::ffi::c_int;
use std::mem::{offset_of, size_of};

use super::budget::{Budget, VALUE, block};
use crate::model::ValueType;
use crate::pcp::sys;

// The words below are written by position; these are the positions (64-bit, little-endian ABIs).
const _: () = {
    assert!(cfg!(target_endian = "little") && size_of::<usize>() == 8);
    assert!(offset_of!(sys::pmValueSet, pmid) == 0 && offset_of!(sys::pmValueSet, numval) == 4);
    assert!(offset_of!(sys::pmValueSet, valfmt) == 8 && offset_of!(sys::pmValueSet, vlist) == 16);
    assert!(size_of::<sys::pmValue>() == 16 && offset_of!(sys::pmValue, value) == 8);
    assert!(offset_of!(sys::PmdaResult, numpmid) == 16 && offset_of!(sys::PmdaResult, vset) == 24);
};

/// Words of a `pmValueSet` before its values, and of a `pmValue`.
const SET_WORDS: usize = 2;
const VALUE_WORDS: usize = 2;

/// Being built: sets in any order, each with its values. What does not fit into the budget is
/// refused as a whole set.
#[derive(Debug)]
pub(in crate::pcp) struct Results {
    pub(super) budget: Budget,
    head: Vec<u64>,
    sets: Vec<u64>,
    /// By place in the PDU: where the set begins in `sets`, and what its values cost.
    places: Vec<Place>,
    /// `pmValueBlock`s of values that do not fit into a `pmValue`.
    blocks: Vec<u32>,
    /// Values (by word of `sets`) that point to a block (by word of `blocks`).
    links: Vec<(usize, usize)>,
    open: Open,
}

/// A set of the answer.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    start: usize,
    cost: usize,
}

/// The set that is being built, and where to come back to.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    place: usize,
    start: usize,
    blocks: usize,
    links: usize,
    cost: usize,
    full: bool,
}

impl Default for Results {
    fn default() -> Self {
        let (head, sets, places, blocks, links) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { budget: Budget::none(), head, sets, places, blocks, links, open: Open::default() }
    }
}

const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

impl Results {
    /// Empty, with the memory of the one before unless that was large.
    pub(super) fn clear(&mut self) {
        const KEEP_WORDS: usize = 64 << 10;
        if self.sets.capacity() + self.blocks.capacity() > KEEP_WORDS {
            *self = Self::default();
        }
        self.sets.clear();
        self.places.clear();
        self.blocks.clear();
        self.links.clear();
        self.open = Open::default();
    }

    /// Begins an answer of `count` sets.
    pub(super) fn begin(&mut self, count: usize, budget: Budget) {
        self.clear();
        self.budget = budget;
        self.places.resize(count, Place::default());
        // What a place that nobody fills would show.
        self.sets
            .extend([pair(0, sys::PM_ERR_GENERIC.cast_unsigned()), pair(sys::PM_VAL_INSITU, 0)]);
    }

    /// Begins the set of a metric, whose place in the answer is told.
    pub(super) fn set(&mut self, place: usize, pmid: sys::pmID) {
        let (start, blocks, links) = (self.sets.len(), self.blocks.len(), self.links.len());
        self.open = Open { place, start, blocks, links, cost: 0, full: false };
        self.sets.extend([pair(pmid, 0), pair(sys::PM_VAL_INSITU, 0)]);
    }

    /// Ends it; `otherwise` is told if it has no values: 0 or an error. `false`: it did not fit,
    /// and is an error.
    pub(super) fn end(&mut self, otherwise: c_int) -> bool {
        let Open { place, start, blocks, links, cost, full } = self.open;
        if full {
            self.sets.truncate(start + SET_WORDS);
            self.blocks.truncate(blocks);
            self.links.truncate(links);
            self.budget.refund(cost);
        }
        let values = (self.sets.len() - start - SET_WORDS) / VALUE_WORDS;
        let count = match c_int::try_from(values) {
            _ if full => sys::PM_ERR_TOOBIG,
            Ok(0) => otherwise,
            count => count.unwrap_or(c_int::MAX),
        };
        if let Some(word) = self.sets.get_mut(start) {
            *word |= pair(0, count.cast_unsigned());
        }
        if let Some(place) = self.places.get_mut(place) {
            *place = Place { start, cost: if full { 0 } else { cost } };
        }
        !full
    }

    /// The set at `place` is that of the place `of` once more: the same memory, but libpcp copies
    /// it again. `false`: that did not fit, and it is an error.
    pub(super) fn repeat(&mut self, place: usize, of: usize, pmid: sys::pmID) -> bool {
        let Some(first) = self.places.get(of).copied() else { return false };
        if self.budget.pay(first.cost) {
            if let Some(place) = self.places.get_mut(place) {
                *place = first;
            }
            return true;
        }
        self.set(place, pmid);
        self.open.full = true;
        self.end(0)
    }

    /// Nothing more goes into the set that is being built: it will be refused.
    pub(super) fn refuse(&mut self) {
        self.open.full = true;
    }

    /// Whether the set that is being built will be refused.
    pub(super) const fn refused(&self) -> bool {
        self.open.full
    }

    /// Pays for a value; `false`: the set does not fit.
    fn room(&mut self, value: usize) -> bool {
        let before = self.budget.bytes();
        let fits = !self.open.full && self.budget.pay_value(self.open.cost == 0, value);
        self.open.cost += before - self.budget.bytes();
        self.open.full |= !fits;
        fits
    }

    fn pointers(&mut self) {
        if let Some(format) = self.sets.get_mut(self.open.start + 1) {
            // Not PM_VAL_DPTR: nobody but us frees what is pointed to.
            *format = pair(sys::PM_VAL_SPTR, 0);
        }
    }

    /// A number by the bits of its cell.
    pub(super) fn number(&mut self, inst: u32, ty: ValueType, bits: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "cells of 32-bit types hold 32 bits")]
        let low = bits as u32;
        match ty {
            ValueType::I32 | ValueType::U32 | ValueType::F32 => {
                if self.room(VALUE) {
                    self.sets.extend([u64::from(inst), u64::from(low)]);
                }
            }
            _ => {
                if self.room(block(12)) {
                    self.link(inst);
                    self.blocks.extend([word(12, ty), low, (bits >> 32) as u32]);
                }
            }
        }
    }

    /// A string; cut at a NUL.
    pub(super) fn text(&mut self, inst: u32, text: &str) {
        let bytes = text.split('\0').next().unwrap_or_default().as_bytes();
        // A value is its header, the bytes and the NUL, and its length has 24 bits.
        let bytes = bytes.get(..0x00ff_fff0).unwrap_or(bytes);
        let length = bytes.len() + 5;
        if !self.room(block(length)) {
            return;
        }
        self.link(inst);
        self.blocks.push(word(u32::try_from(length).unwrap_or_default(), ValueType::Text));
        let whole = bytes.chunks_exact(4);
        let mut last = [0; 4];
        last.iter_mut().zip(whole.remainder()).for_each(|(to, from)| *to = *from);
        self.blocks.extend(whole.filter_map(|c| c.first_chunk()).map(|c| u32::from_ne_bytes(*c)));
        self.blocks.push(u32::from_ne_bytes(last));
    }

    /// An event array, which begins as a `pmValueBlock` does and must stay where it is until the
    /// answer is sent.
    pub(super) fn array(&mut self, inst: u32, array: &[u8]) {
        if !self.room(block(array.len())) {
            return;
        }
        self.pointers();
        // libpcp reads the first 32 bits in place; allocators align more than that.
        debug_assert!(array.as_ptr().addr().is_multiple_of(4));
        self.sets.extend([u64::from(inst), array.as_ptr().expose_provenance() as u64]);
    }

    fn link(&mut self, inst: u32) {
        self.pointers();
        self.links.push((self.sets.len() + 1, self.blocks.len()));
        self.sets.extend([u64::from(inst), 0]);
    }

    /// The finished result; valid until the next call on `self`. `status` goes where pmcd looks for
    /// state changes: the first byte of the time stamp, which PMDAs do not set otherwise.
    pub(super) fn finish(&mut self, status: u8) -> *mut sys::PmdaResult {
        for (value, block) in std::mem::take(&mut self.links) {
            let address = self.blocks.get(block..).unwrap_or_default().as_ptr().expose_provenance();
            if let Some(word) = self.sets.get_mut(value) {
                *word = address as u64;
            }
        }
        let count = c_int::try_from(self.places.len()).unwrap_or(c_int::MAX);
        self.head.clear();
        self.head.extend([status.into(), 0, pair(count.cast_unsigned(), 0)]);
        for place in &self.places {
            self.head.push(
                self.sets.get(place.start..).unwrap_or_default().as_ptr().expose_provenance()
                    as u64,
            );
        }
        // Room for the one element that C declares, also when there are no metrics.
        self.head.push(0);
        self.head.as_mut_ptr().cast()
    }
}

/// The first word of a `pmValueBlock`: length with this word, and type.
const fn word(length: u32, ty: ValueType) -> u32 {
    length | (ty as u32) << 24
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
