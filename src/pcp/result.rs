//! A fetch's answer in libpcp's form, in memory that is ours and used again: `pmdaResult` with a `pmValueSet` for each metric.
//!
//! pmdaFetch(3) would walk all instances of a domain for each metric, and allocate each value: with a thousand agents a
//! fetch of ten values would cost ten thousand steps. Here only what the profile asks for is looked at.

use super::sys;
use crate::model::ValueType;
use std::ffi::c_int;
use std::mem::{offset_of, size_of};

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

/// Being built: sets one after the other, each with its values.
#[derive(Debug, Default)]
pub(super) struct Results {
    head: Vec<u64>,
    sets: Vec<u64>,
    /// Where each set begins in `sets`.
    starts: Vec<usize>,
    /// `pmValueBlock`s of values that do not fit into a `pmValue`.
    blocks: Vec<u32>,
    /// Values (by word of `sets`) that point to a block (by word of `blocks`).
    links: Vec<(usize, usize)>,
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
        self.starts.clear();
        self.blocks.clear();
        self.links.clear();
    }

    /// Begins the set of a metric.
    pub(super) fn set(&mut self, pmid: sys::pmID) {
        self.starts.push(self.sets.len());
        self.sets.extend([pair(pmid, 0), pair(sys::PM_VAL_INSITU, 0)]);
    }

    /// Ends it; `otherwise` is told if it has no values: 0 or an error.
    pub(super) fn end(&mut self, otherwise: c_int) {
        let start = self.starts.last().copied().unwrap_or_default();
        let values = (self.sets.len() - start - SET_WORDS) / VALUE_WORDS;
        let count = if values == 0 { otherwise } else { c_int::try_from(values).unwrap_or(c_int::MAX) };
        if let Some(word) = self.sets.get_mut(start) {
            *word |= pair(0, count.cast_unsigned());
        }
    }

    fn pointers(&mut self) {
        let start = self.starts.last().copied().unwrap_or_default();
        if let Some(format) = self.sets.get_mut(start + 1) {
            // Not PM_VAL_DPTR: nobody but us frees what is pointed to.
            *format = pair(sys::PM_VAL_SPTR, 0);
        }
    }

    /// A number by the bits of its cell.
    pub(super) fn number(&mut self, inst: u32, ty: ValueType, bits: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "cells of 32-bit types hold 32 bits")]
        let low = bits as u32;
        match ty {
            ValueType::I32 | ValueType::U32 | ValueType::F32 => self.sets.extend([u64::from(inst), u64::from(low)]),
            _ => {
                self.link(inst);
                self.blocks.extend([word(12, ty), low, (bits >> 32) as u32]);
            }
        }
    }

    /// A string; cut at a NUL.
    pub(super) fn text(&mut self, inst: u32, text: &str) {
        let bytes = text.split('\0').next().unwrap_or_default().as_bytes();
        // A value is its header, the bytes and the NUL, and its length has 24 bits.
        let bytes = bytes.get(..0x00ff_fff0).unwrap_or(bytes);
        self.link(inst);
        self.blocks.push(word(u32::try_from(bytes.len() + 5).unwrap_or_default(), ValueType::Text));
        let whole = bytes.chunks_exact(4);
        let mut last = [0; 4];
        last.iter_mut().zip(whole.remainder()).for_each(|(to, from)| *to = *from);
        self.blocks.extend(whole.filter_map(|c| c.first_chunk()).map(|c| u32::from_ne_bytes(*c)));
        self.blocks.push(u32::from_ne_bytes(last));
    }

    /// An event array, which begins as a `pmValueBlock` does and must stay where it is until the answer is sent.
    pub(super) fn array(&mut self, inst: u32, array: &[u8]) {
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

    /// The finished result; valid until the next call on `self`. `status` goes where pmcd looks for state changes: the
    /// first byte of the time stamp, which PMDAs do not set otherwise.
    pub(super) fn finish(&mut self, status: u8) -> *mut sys::PmdaResult {
        for (value, block) in std::mem::take(&mut self.links) {
            let address = self.blocks.get(block..).unwrap_or_default().as_ptr().expose_provenance();
            if let Some(word) = self.sets.get_mut(value) {
                *word = address as u64;
            }
        }
        let count = c_int::try_from(self.starts.len()).unwrap_or(c_int::MAX);
        self.head.clear();
        self.head.extend([status.into(), 0, pair(count.cast_unsigned(), 0)]);
        for start in &self.starts {
            self.head.push(self.sets.get(*start..).unwrap_or_default().as_ptr().expose_provenance() as u64);
        }
        // Room for the one element that C declares, also when there are no metrics.
        self.head.push(0);
        self.head.as_mut_ptr().cast()
    }

    /// Words in use: how large the answer is.
    pub(super) fn words(&self) -> usize {
        self.sets.len() + self.blocks.len()
    }
}

/// The first word of a `pmValueBlock`: length with this word, and type.
const fn word(length: u32, ty: ValueType) -> u32 {
    length | (ty as u32) << 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libpcp_reads_it_as_it_was_meant() {
        let mut r = Results::default();
        r.clear();
        r.set(7);
        r.number(3, ValueType::U32, 42);
        r.number(4, ValueType::U32, 43);
        r.end(0);
        r.set(8);
        r.number(0, ValueType::I64, (-5i64).cast_unsigned());
        r.end(0);
        r.set(9);
        r.text(1, "four\0hidden");
        r.end(0);
        r.set(10);
        r.end(sys::PM_ERR_PMID);
        let result = r.finish(0x10);
        // SAFETY: the result was just built and is not touched meanwhile.
        let count = unsafe { (*result).numpmid };
        assert_eq!(count, 4);
        // SAFETY: as above.
        let sets = unsafe { &raw const (*result).vset }.cast::<*const sys::pmValueSet>();
        let set = |i: usize| {
            // SAFETY: i is below numpmid.
            let place = unsafe { sets.add(i) };
            // SAFETY: as above.
            unsafe { place.read() }
        };
        let values = |i: usize, ty: u32| {
            // SAFETY: the set is of the result.
            let n = unsafe { (*set(i)).numval };
            // SAFETY: as above.
            let format = unsafe { (*set(i)).valfmt };
            // SAFETY: as above.
            let list = unsafe { &raw const (*set(i)).vlist }.cast::<sys::pmValue>();
            let text = |j: usize| {
                let mut atom = std::mem::MaybeUninit::<sys::pmAtomValue>::uninit();
                // SAFETY: j is below numval.
                let value = unsafe { list.add(j) };
                let (from, to) = (ty.cast_signed(), sys::PM_TYPE_STRING.cast_signed());
                // SAFETY: libpcp decodes the value and makes a string of it.
                let sts = unsafe { sys::pmExtractValue(format, value, from, atom.as_mut_ptr(), to) };
                assert_eq!(sts, 0);
                // SAFETY: extraction succeeded.
                let atom = unsafe { atom.assume_init() };
                // SAFETY: a string was asked for.
                let s = unsafe { atom.cp };
                crate::pcp::text::to_string(s).unwrap_or_default()
            };
            (n, (0..usize::try_from(n).unwrap_or(0)).map(text).collect::<Vec<_>>())
        };
        assert_eq!(values(2, sys::PM_TYPE_STRING), (1, vec!["four".to_owned()]));
        assert_eq!(values(3, sys::PM_TYPE_U32), (sys::PM_ERR_PMID, vec![]));
        // SAFETY: the set is of the result; its two values are in situ.
        let list = unsafe { &raw const (*set(0)).vlist }.cast::<sys::pmValue>();
        let value = |j: usize| {
            // SAFETY: j is below two.
            let place = unsafe { list.add(j) };
            // SAFETY: as above.
            let value = unsafe { place.read() };
            // SAFETY: the member in use with PM_VAL_INSITU.
            (value.inst, unsafe { value.value.lval })
        };
        assert_eq!([value(0), value(1)], [(3, 42), (4, 43)]);
    }
}
