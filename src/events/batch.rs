//! Records on their way into a stream, packed once by the producer.

use super::layout::{ARRAY_MAX, HighRes, Resolution, put_param};
use crate::model::{Pmid, Stamp, ValueType};

/// Packed high-resolution records, back to back, with their ends.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) records: Vec<Packed>,
}

/// One record of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    pub(super) stamp: Stamp,
    pub(super) flags: u32,
    pub(super) nparams: i32,
    /// Where its bytes end in the batch.
    pub(super) end: usize,
}

impl Batch {
    /// Removes all records, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    /// Records so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// No records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Begins a record. `flags` must not hold MISSED: the stream makes those itself.
    pub fn record(&mut self, stamp: Stamp, flags: u32) {
        HighRes::put_header(&mut self.bytes, stamp, flags & !super::flags::MISSED, 0);
        self.records.push(Packed { stamp, flags, nparams: 0, end: self.bytes.len() });
    }

    /// Adds a number to the record begun last, given as the bits of its cell (`Value::to_bits`).
    /// Nothing is added without a record, or for a type that is not numeric.
    pub fn number(&mut self, pmid: Pmid, ty: ValueType, bits: u64) {
        match ty {
            #[expect(clippy::cast_possible_truncation, reason = "cells of 32-bit types hold 32 bits")]
            ValueType::I32 | ValueType::U32 | ValueType::F32 => self.put(pmid, ty, &(bits as u32).to_ne_bytes()),
            ValueType::I64 | ValueType::U64 | ValueType::F64 => self.put(pmid, ty, &bits.to_ne_bytes()),
            _ => {}
        }
    }

    /// Adds a string to the record begun last; cut at what a parameter can hold.
    pub fn text(&mut self, pmid: Pmid, text: &str) {
        let max = ARRAY_MAX - 4;
        self.put(pmid, ValueType::Text, text.as_bytes().get(..max).unwrap_or(text.as_bytes()));
    }

    fn put(&mut self, pmid: Pmid, ty: ValueType, value: &[u8]) {
        let Some(last) = self.records.last_mut() else { return };
        put_param(&mut self.bytes, pmid.0, ty, value);
        last.nparams += 1;
        last.end = self.bytes.len();
    }

    /// Writes the parameter counts into the headers; the bytes are final afterwards.
    pub(super) fn seal(&mut self) {
        let mut start = 0;
        for r in &self.records {
            let at = start + HighRes::RECORD_HEADER - 4;
            if let Some(count) = self.bytes.get_mut(at..).and_then(|b| b.first_chunk_mut::<4>()) {
                *count = r.nparams.to_ne_bytes();
            }
            start = r.end;
        }
    }
}
