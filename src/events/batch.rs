//! Records on their way into a stream, packed once by the producer.

use super::flags::MISSED;
use super::layout::{HighRes, LowRes, PARAM_HEADER, Resolution, padded, param4, param8, put_bytes};
use crate::model::{Pmid, Stamp, ValueType};

/// Most bytes of a packed record: a text that would go beyond is cut, and any other parameter is left out, which is counted.
/// It is well below what one fetch may carry, so that every record can be delivered.
pub const RECORD_MAX: usize = 512 << 10;

/// Packed high-resolution records, back to back, with their ends.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) records: Vec<Packed>,
    pub(super) truncated: u64,
    /// The same records in low resolution; made by [`Batch::seal`].
    pub(super) low: Vec<u8>,
}

/// Parameters packed once that many records have: they are put into each with one copy.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    bytes: Vec<u8>,
    count: i32,
}

impl Prepared {
    /// Those of the newest record of a batch.
    #[must_use]
    pub fn of(batch: &Batch) -> Self {
        let Some(last) = batch.records.last() else { return Self::default() };
        let bytes = batch.bytes.get(last.start + HighRes::RECORD_HEADER..).unwrap_or_default().to_vec();
        Self { bytes, count: last.nparams }
    }
}

/// One record of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    pub(super) stamp: Stamp,
    pub(super) flags: u32,
    pub(super) nparams: i32,
    /// Where its bytes begin in the batch.
    pub(super) start: usize,
}

impl Batch {
    /// Removes all records, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.low.clear();
        self.records.clear();
        self.truncated = 0;
    }

    /// Gives the memory back; records are lost.
    pub fn release(&mut self) {
        *self = Self::default();
    }

    /// Packed bytes so far.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
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
    #[inline]
    pub fn record(&mut self, stamp: Stamp, flags: u32) {
        let start = self.bytes.len();
        let (sec, fraction) = HighRes::time(stamp);
        self.bytes.extend_from_slice(&HighRes::header(sec, fraction, flags & !MISSED, 0));
        self.records.push(Packed { stamp, flags: flags & !MISSED, nparams: 0, start });
    }

    /// Removes the record begun last.
    pub fn undo(&mut self) {
        if let Some(last) = self.records.pop() {
            self.bytes.truncate(last.start);
        }
    }

    /// Adds a number to the record begun last, given as the bits of its cell (`Value::to_bits`).
    /// Nothing is added without a record, or for a type that is not numeric.
    #[inline]
    pub fn number(&mut self, pmid: Pmid, ty: ValueType, bits: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "cells of 32-bit types hold 32 bits")]
        match ty {
            ValueType::I32 | ValueType::U32 | ValueType::F32 if self.begin(12).is_some() => {
                self.bytes.extend_from_slice(&param4(pmid.0, ty, (bits as u32).to_ne_bytes()));
            }
            ValueType::I64 | ValueType::U64 | ValueType::F64 if self.begin(16).is_some() => {
                self.bytes.extend_from_slice(&param8(pmid.0, ty, bits.to_ne_bytes()));
            }
            _ => {}
        }
    }

    /// Adds a string to the record begun last; cut, at a character, to what is left of [`RECORD_MAX`].
    #[inline]
    pub fn text(&mut self, pmid: Pmid, text: &str) {
        let Some(start) = self.records.last().map(|r| r.start) else { return };
        let used = self.bytes.len() - start + PARAM_HEADER;
        let text = if used + padded(text.len()) > RECORD_MAX { self.cut(text, used) } else { text };
        if self.begin(PARAM_HEADER + padded(text.len())).is_some() {
            put_bytes(&mut self.bytes, pmid.0, ValueType::Text, text.as_bytes());
        }
    }

    /// Adds parameters that were packed before. They are all added, or none and that is counted.
    #[inline]
    pub fn prepared(&mut self, params: &Prepared) {
        if self.begin(params.bytes.len()).is_some() {
            self.bytes.extend_from_slice(&params.bytes);
            if let Some(last) = self.records.last_mut() {
                last.nparams += params.count - 1;
            }
        }
    }

    /// Room for a parameter of `len` bytes in the record begun last.
    #[inline]
    fn begin(&mut self, len: usize) -> Option<()> {
        let last = self.records.last_mut()?;
        if self.bytes.len() - last.start + len > RECORD_MAX {
            self.truncated += 1;
            return None;
        }
        last.nparams += 1;
        Some(())
    }

    /// What of `text` fits behind `used` bytes.
    #[cold]
    fn cut<'t>(&mut self, text: &'t str, used: usize) -> &'t str {
        let room = RECORD_MAX.saturating_sub(used) & !3;
        if room > 0 {
            self.truncated += 1;
        }
        let end = (0..=room.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or_default();
        text.split_at(end).0
    }

    /// Writes the parameter counts into the headers and makes the low-resolution bytes; both are final afterwards.
    pub(super) fn seal(&mut self) {
        self.low.clear();
        self.low.reserve(self.bytes.len());
        let ends = self.records.iter().skip(1).map(|r| r.start).chain([self.bytes.len()]);
        for (r, end) in self.records.iter().zip(ends) {
            let (sec, fraction) = LowRes::time(r.stamp);
            self.low.extend_from_slice(&LowRes::header(sec, fraction, r.flags, r.nparams));
            let params = r.start + HighRes::RECORD_HEADER;
            let Some((header, params)) = self.bytes.get_mut(r.start..end).and_then(|b| b.split_at_mut_checked(params - r.start))
            else {
                continue;
            };
            if let Some(count) = header.last_chunk_mut::<4>() {
                *count = r.nparams.to_ne_bytes();
            }
            self.low.extend_from_slice(params);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Records, Scalar};
    use super::*;

    #[test]
    fn what_is_larger_than_a_record_is_cut_and_counted() {
        let mut batch = Batch::default();
        batch.text(Pmid(1), "no record to belong to");
        batch.record(Stamp::default(), 1 | MISSED);
        batch.text(Pmid(1), "\u{e9}".repeat(RECORD_MAX).as_str());
        batch.number(Pmid(2), ValueType::U64, 7);
        batch.record(Stamp::default(), 1);
        batch.text(Pmid(3), &"y".repeat(RECORD_MAX / 2 + 1));
        batch.number(Pmid(4), ValueType::U32, 8);
        batch.seal();
        let records: Vec<_> = Records::<HighRes>::packed(&batch.bytes).collect::<Result<_, _>>().expect("sound");
        assert_eq!(records.iter().map(|r| r.flags).collect::<Vec<_>>(), [1, 1]);
        let Scalar::Text(cut) = records[0].params[0].value else { panic!("{records:?}") };
        assert!(RECORD_MAX - cut.len() < 40 && std::str::from_utf8(cut).is_ok());
        assert_eq!((records[0].params.len(), records[1].params.len(), batch.truncated), (1, 2, 2));
        assert_eq!(records[1].params[1].value, Scalar::U32(8));
        let low: Vec<_> = Records::<LowRes>::packed(&batch.low).collect::<Result<_, _>>().expect("sound");
        assert_eq!(
            low.iter().map(|r| r.params.clone()).collect::<Vec<_>>(),
            records.iter().map(|r| r.params.clone()).collect::<Vec<_>>()
        );
    }
}
