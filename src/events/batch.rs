//! Records on their way into a stream, packed once by the producer.

use super::flags::MISSED;
use super::layout::{HighRes, PARAM_HEADER, Resolution, padded, param4, param8, put_bytes};
use crate::model::{Pmid, Stamp, ValueType};

/// Most bytes of a packed record: a text that would go beyond is cut, and any other parameter is left out, which is counted.
/// It is well below what one fetch may carry, so that every record can be delivered.
pub const RECORD_MAX: usize = 512 << 10;

/// Packed high-resolution records, back to back, with their beginnings.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) bytes: Vec<u8>,
    /// Where each record begins.
    pub(super) starts: Vec<usize>,
    pub(super) truncated: u64,
    /// Where the record begun last begins, and how many parameters it has; its header says it when it is complete.
    start: usize,
    nparams: i32,
}

/// Where a header has the number of parameters.
const COUNT: usize = HighRes::RECORD_HEADER - 4;

/// A record begun once for many that begin with the same flags and parameters: each begins as a copy of it, with a time of its
/// own.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    bytes: Vec<u8>,
    count: i32,
}

impl Prepared {
    /// The newest record of a batch, as it is so far.
    #[must_use]
    pub fn of(batch: &Batch) -> Self {
        let begun = if batch.is_empty() { &[] } else { batch.bytes.get(batch.start..).unwrap_or_default() };
        Self { bytes: begun.to_vec(), count: batch.nparams }
    }
}

impl Batch {
    /// Removes all records, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        (self.truncated, self.start, self.nparams) = (0, 0, 0);
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
        self.starts.len()
    }

    /// No records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Begins a record. `flags` must not hold MISSED: the stream makes those itself.
    #[inline]
    pub fn record(&mut self, stamp: Stamp, flags: u32) {
        self.seal();
        (self.start, self.nparams) = (self.bytes.len(), 0);
        let (sec, fraction) = HighRes::time(stamp);
        self.bytes.extend_from_slice(&HighRes::header(sec, fraction, flags & !MISSED, 0));
        self.starts.push(self.start);
    }

    /// Begins a record with what was prepared; nothing without that.
    #[inline]
    pub fn prepared(&mut self, stamp: Stamp, begun: &Prepared) {
        if begun.bytes.is_empty() {
            return;
        }
        self.seal();
        (self.start, self.nparams) = (self.bytes.len(), begun.count);
        self.bytes.extend_from_slice(&begun.bytes);
        if let Some(time) = self.bytes.get_mut(self.start..).and_then(<[u8]>::first_chunk_mut) {
            *time = HighRes::time_bytes(stamp);
        }
        self.starts.push(self.start);
    }

    /// Removes the record begun last.
    pub fn undo(&mut self) {
        if self.starts.pop().is_none() {
            return;
        }
        self.bytes.truncate(self.start);
        // The one before is complete: its header says how many parameters it has.
        self.start = self.starts.last().copied().unwrap_or_default();
        let count = self.bytes.get(self.start + COUNT..).and_then(<[u8]>::first_chunk);
        self.nparams = count.map_or(0, |count| i32::from_ne_bytes(*count));
    }

    /// Adds a number to the record begun last, given as the bits of its cell (`Value::to_bits`).
    /// Nothing is added without a record, or for a type that is not numeric.
    #[inline(always)]
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
        if self.is_empty() {
            return;
        }
        let used = self.bytes.len() - self.start + PARAM_HEADER;
        let text = if used + padded(text.len()) > RECORD_MAX { self.cut(text, used) } else { text };
        if self.begin(PARAM_HEADER + padded(text.len())).is_some() {
            put_bytes(&mut self.bytes, pmid.0, ValueType::Text, text.as_bytes());
        }
    }

    /// Room for a parameter of `len` bytes in the record begun last.
    #[inline(always)]
    fn begin(&mut self, len: usize) -> Option<()> {
        let used = self.bytes.len() - self.start;
        // Before the first record there is not even a header.
        if used == 0 || used + len > RECORD_MAX {
            self.truncated += u64::from(used > 0);
            return None;
        }
        self.nparams += 1;
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

    /// Writes the number of parameters into the header of the record begun last: all are final afterwards.
    #[inline]
    pub(super) fn seal(&mut self) {
        if let Some(count) = self.bytes.get_mut(self.start + COUNT..).and_then(<[u8]>::first_chunk_mut) {
            *count = self.nparams.to_ne_bytes();
        }
    }

    /// Time of the newest record.
    pub(super) fn newest(&self) -> Option<Stamp> {
        if self.is_empty() { None } else { HighRes::get_stamp(self.bytes.get(self.start..)?) }
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
    }

    #[test]
    fn prepared_records_are_those_that_are_written_out() {
        let (mut one, mut other, mut begun) = (Batch::default(), Batch::default(), Prepared::default());
        one.prepared(Stamp::default(), &begun);
        assert!(one.is_empty(), "nothing was prepared");
        for n in 0..3_u32 {
            let stamp = Stamp { sec: n.into(), nsec: n };
            other.record(stamp, 2);
            other.text(Pmid(1), "name");
            if n == 0 {
                one.record(stamp, 2);
                one.text(Pmid(1), "name");
                begun = Prepared::of(&one);
            } else {
                one.prepared(stamp, &begun);
            }
            for batch in [&mut one, &mut other] {
                (0..n).for_each(|n| batch.number(Pmid(2), ValueType::U32, n.into()));
            }
            if n == 1 {
                one.record(stamp, 1);
                one.number(Pmid(3), ValueType::U64, 1);
                one.undo();
                assert_eq!(one.newest(), Some(stamp));
            }
        }
        one.seal();
        other.seal();
        assert_eq!((&one.bytes, one.starts), (&other.bytes, other.starts));
        let counts: Vec<_> = Records::<HighRes>::packed(&one.bytes).map(|r| r.expect("sound").params.len()).collect();
        assert_eq!(counts, [1, 2, 3]);
    }
}
