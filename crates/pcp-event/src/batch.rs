//! Records on their way into a stream, packed once by the producer.

use super::flags::MISSED;
use super::layout::{
    HighRes, PARAM_HEADER, Resolution, padded, param_header, put_bytes, with4, with8,
};
use super::param::{NumberParam, Param32, Param64};
use crate::{Pmid, Stamp, ValueType};

/// Most bytes of a packed record: a text that would go beyond is cut, and any other parameter is
/// left out, which is counted. It is well below what one fetch may carry, so that every record can
/// be delivered.
pub const RECORD_MAX: usize = 512 << 10;

/// Packed high-resolution records, back to back, with their beginnings.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) bytes: Vec<u8>,
    /// Where each record begins.
    pub(super) starts: Vec<usize>,
    pub(super) truncated: u64,
    /// Where the record begun last begins, and how many parameters it has; its header says it when
    /// it is complete.
    pub(super) start: usize,
    pub(super) nparams: i32,
    /// Where the parameter begins whose text is being written.
    pub(super) text: Option<usize>,
}

/// Where a header has the number of parameters.
const COUNT: usize = HighRes::RECORD_HEADER - 4;

/// A record begun once for many that begin with the same flags and parameters: each begins as a
/// copy of it, with a time of its own.
#[derive(Clone, Debug, Default)]
pub struct RecordTemplate {
    bytes: Vec<u8>,
    count: i32,
}

impl RecordTemplate {
    /// The newest record of a batch, as it is so far.
    #[must_use]
    pub fn of(batch: &Batch) -> Self {
        let begun =
            if batch.is_empty() { &[] } else { batch.bytes.get(batch.start..).unwrap_or_default() };
        Self { bytes: begun.to_vec(), count: batch.nparams }
    }
}

impl Batch {
    /// Removes all records, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        (self.truncated, self.start, self.nparams, self.text) = (0, 0, 0, None);
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

    /// Bytes allocated.
    #[must_use]
    pub const fn memory(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * size_of::<usize>()
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
    pub fn record_from(&mut self, stamp: Stamp, template: &RecordTemplate) {
        if template.bytes.is_empty() {
            return;
        }
        self.seal();
        (self.start, self.nparams) = (self.bytes.len(), template.count);
        self.bytes.extend_from_slice(&template.bytes);
        if let Some(time) = self.bytes.get_mut(self.start..).and_then(<[u8]>::first_chunk_mut) {
            *time = HighRes::time_bytes(stamp);
        }
        self.starts.push(self.start);
    }

    /// Removes the record begun last.
    pub fn discard_record(&mut self) {
        if self.starts.pop().is_none() {
            return;
        }
        self.bytes.truncate(self.start);
        self.text = None;
        // The one before is complete: its header says how many parameters it has.
        self.start = self.starts.last().copied().unwrap_or_default();
        let count = self.bytes.get(self.start + COUNT..).and_then(<[u8]>::first_chunk);
        self.nparams = count.map_or(0, |count| i32::from_ne_bytes(*count));
    }

    /// Adds a number to the record begun last, given as the bits of its cell (`Value::to_bits`).
    /// Nothing is added without a record, or for a type that is not numeric.
    #[inline]
    pub fn number(&mut self, pmid: Pmid, ty: ValueType, bits: u64) {
        if let Some(number) = NumberParam::new(pmid, ty) {
            self.number_param(&number, bits);
        }
    }

    /// As [`Self::number`], for a parameter whose beginning is there already.
    #[inline]
    pub fn number_param(&mut self, param: &NumberParam, bits: u64) {
        match param {
            NumberParam::Bits32(param) => self.param32(param, bits),
            NumberParam::Bits64(param) => self.param64(param, bits),
        }
    }

    /// As [`Self::number_param`] for 32 bits.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "cells of 32-bit types hold 32 bits")]
    pub fn param32(&mut self, param: &Param32, bits: u64) {
        if self.begin(12) {
            self.bytes.extend_from_slice(&with4(param.0, (bits as u32).to_ne_bytes()));
        }
    }

    /// As [`Self::number_param`] for 64 bits.
    #[inline(always)]
    pub fn param64(&mut self, param: &Param64, bits: u64) {
        if self.begin(16) {
            self.bytes.extend_from_slice(&with8(param.0, bits.to_ne_bytes()));
        }
    }

    /// Adds a string to the record begun last; cut, at a character, to what is left of
    /// [`RECORD_MAX`].
    #[inline]
    pub fn text(&mut self, pmid: Pmid, text: &str) {
        if !self.short_text(pmid, text.as_bytes()) {
            self.long_text(pmid, text);
        }
    }

    /// As [`Self::text`], if the bytes are UTF-8; false: they are not.
    #[inline]
    pub fn utf8(&mut self, pmid: Pmid, text: &[u8]) -> bool {
        let before = self.bytes.len();
        if text.len() <= SHORT && self.has_room(PARAM_HEADER + padded(text.len())) {
            if self.put_short(pmid, text) & HIGH == 0 {
                return true;
            }
            self.bytes.truncate(before);
            self.nparams -= 1;
        }
        self.any_utf8(pmid, text)
    }

    #[inline(never)]
    fn any_utf8(&mut self, pmid: Pmid, text: &[u8]) -> bool {
        std::str::from_utf8(text).map(|text| self.text(pmid, text)).is_ok()
    }

    /// False: there is no record, or it would be too long.
    #[inline]
    fn short_text(&mut self, pmid: Pmid, text: &[u8]) -> bool {
        if !self.has_room(PARAM_HEADER + padded(text.len())) {
            return false;
        }
        if text.len() <= SHORT {
            self.put_short(pmid, text);
        } else {
            self.nparams += 1;
            put_bytes(&mut self.bytes, pmid.0, ValueType::Text, text);
        }
        true
    }

    /// Writes a parameter with a text of at most [`SHORT`] bytes, for which there is room: word by
    /// word, which is less than a call. Gives the words, one laid over the other.
    #[inline(always)]
    fn put_short(&mut self, pmid: Pmid, text: &[u8]) -> u64 {
        self.nparams += 1;
        let end = self.bytes.len() + PARAM_HEADER + padded(text.len());
        self.bytes.extend_from_slice(&param_header(pmid.0, ValueType::Text, text.len()));
        let mut all = 0;
        for word in text.as_chunks::<8>().0 {
            all |= u64::from_ne_bytes(*word);
            self.bytes.extend_from_slice(word);
        }
        let last = last_word(text);
        self.bytes.extend_from_slice(&last.to_le_bytes());
        self.bytes.truncate(end);
        all | last
    }

    #[cold]
    fn long_text(&mut self, pmid: Pmid, text: &str) {
        if self.is_empty() {
            return;
        }
        let text = self.cut(text, self.bytes.len() - self.start + PARAM_HEADER);
        if self.begin(PARAM_HEADER + padded(text.len())) {
            put_bytes(&mut self.bytes, pmid.0, ValueType::Text, text.as_bytes());
        }
    }

    /// Whether there is a record, with room for so many bytes more.
    #[inline(always)]
    pub(super) fn has_room(&self, len: usize) -> bool {
        // Before the first record there is not even a header: the difference is 0, and one less is
        // more than any room.
        (self.bytes.len() - self.start).wrapping_sub(1) < RECORD_MAX.saturating_sub(len)
    }

    /// Room for a parameter of `len` bytes in the record begun last.
    #[inline(always)]
    fn begin(&mut self, len: usize) -> bool {
        let fits = self.has_room(len);
        if fits {
            self.nparams += 1;
        } else {
            self.left_out();
        }
        fits
    }

    /// A parameter of the record begun last was cut by who made it.
    #[cold]
    pub const fn count_truncated(&mut self) {
        self.truncated += 1;
    }

    #[cold]
    fn left_out(&mut self) {
        self.truncated += u64::from(!self.is_empty());
    }

    /// What of `text` fits behind `used` bytes.
    #[cold]
    fn cut<'t>(&mut self, text: &'t str, used: usize) -> &'t str {
        let room = RECORD_MAX.saturating_sub(used) & !3;
        if room > 0 {
            self.truncated += 1;
        }
        let end = (0..=room.min(text.len()))
            .rev()
            .find(|i| text.is_char_boundary(*i))
            .unwrap_or_default();
        text.split_at(end).0
    }

    /// Writes the number of parameters into the header of the record begun last: all are final
    /// afterwards.
    #[inline]
    pub(super) fn seal(&mut self) {
        // A text that was not ended.
        if let Some(at) = self.text.take() {
            self.bytes.truncate(at);
        }
        if let Some(count) =
            self.bytes.get_mut(self.start + COUNT..).and_then(<[u8]>::first_chunk_mut)
        {
            *count = self.nparams.to_ne_bytes();
        }
    }

    /// Time of the newest record.
    pub(super) fn newest(&self) -> Option<Stamp> {
        if self.is_empty() { None } else { HighRes::get_stamp(self.bytes.get(self.start..)?) }
    }
}

/// Bytes of texts that are written word by word.
const SHORT: usize = 64;
/// Bits that only bytes beyond ASCII have.
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// The bytes behind the last whole word, the first in the lowest byte, and zeros; read with words
/// that overlap.
#[inline(always)]
fn last_word(text: &[u8]) -> u64 {
    let rest = text.as_chunks::<8>().1;
    if let (Some(last), 1..) = (text.last_chunk(), rest.len()) {
        return u64::from_le_bytes(*last) >> (8 * (8 - rest.len()));
    }
    if let (Some(first), Some(last)) = (rest.first_chunk(), rest.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first))
            | u64::from(u32::from_le_bytes(*last)) << (8 * (rest.len() - 4));
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
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
        let records: Vec<_> =
            Records::<HighRes>::packed(&batch.bytes).collect::<Result<_, _>>().expect("sound");
        assert_eq!(records.iter().map(|r| r.flags).collect::<Vec<_>>(), [1, 1]);
        let Scalar::Text(cut) = records[0].params[0].value else { panic!("{records:?}") };
        assert!(RECORD_MAX - cut.len() < 40 && std::str::from_utf8(cut).is_ok());
        assert_eq!((records[0].params.len(), records[1].params.len(), batch.truncated), (1, 2, 2));
        assert_eq!(records[1].params[1].value, Scalar::U32(8));
    }

    #[test]
    fn texts_of_all_lengths_are_padded_with_zeros() {
        let long = "0123456789abcdefghijklmnopqrstuvwxyz".repeat(3);
        for len in 0..long.len() {
            let (text, mut batch) = (&long[..len], Batch::default());
            batch.record(Stamp::default(), 1);
            batch.text(Pmid(1), text);
            assert!(batch.utf8(Pmid(2), text.as_bytes()));
            batch.begin_text();
            assert!(batch.text_writer().is_empty());
            text.split_inclusive('a').for_each(|part| batch.text_writer().push(part));
            assert_eq!((batch.text_writer().len(), batch.text_writer().text()), (len, text.into()));
            batch.end_text(Pmid(3));
            let accented = format!("{text}\u{e9}");
            assert!(batch.utf8(Pmid(4), accented.as_bytes()));
            assert!(!batch.utf8(Pmid(4), &accented.as_bytes()[..len + 1]));
            batch.begin_text();
            batch.text_writer().push_ascii(*b"dropped ", 7);
            batch.record(Stamp::default(), 1);
            batch.seal();
            let mut wanted = Vec::new();
            for (pmid, text) in [(1, text), (2, text), (3, text), (4, &accented)] {
                put_bytes(&mut wanted, pmid, ValueType::Text, text.as_bytes());
            }
            assert_eq!(batch.bytes[HighRes::RECORD_HEADER..batch.starts[1]], wanted, "{len}");
            assert_eq!(batch.bytes[COUNT], 4);
        }
    }

    #[test]
    fn texts_written_in_pieces_are_cut_like_others() {
        for len in RECORD_MAX - 80..RECORD_MAX + 80 {
            let (mut one, mut other) = (Batch::default(), Batch::default());
            let text = "\u{e9}".repeat(len / 2);
            one.begin_text();
            one.text_writer().push("no record to belong to");
            one.end_text(Pmid(9));
            assert_eq!(one.size(), 0);
            for batch in [&mut one, &mut other] {
                batch.record(Stamp::default(), 1);
                batch.number(Pmid(1), ValueType::U64, 7);
            }
            one.begin_text();
            one.text_writer().push(&text);
            one.end_text(Pmid(2));
            other.text(Pmid(2), &text);
            for batch in [&mut one, &mut other] {
                batch.utf8(Pmid(3), b"and more");
                batch.number(Pmid(4), ValueType::U32, 7);
                batch.seal();
            }
            assert!((&one.bytes, one.truncated) == (&other.bytes, other.truncated), "{len}");
        }
    }

    #[test]
    fn prepared_records_are_those_that_are_written_out() {
        let (mut one, mut other, mut begun) =
            (Batch::default(), Batch::default(), RecordTemplate::default());
        one.record_from(Stamp::default(), &begun);
        assert!(one.is_empty(), "nothing was prepared");
        for n in 0..3_u32 {
            let stamp = Stamp { sec: n.into(), nsec: n };
            other.record(stamp, 2);
            other.text(Pmid(1), "name");
            if n == 0 {
                one.record(stamp, 2);
                one.text(Pmid(1), "name");
                begun = RecordTemplate::of(&one);
            } else {
                one.record_from(stamp, &begun);
            }
            for batch in [&mut one, &mut other] {
                (0..n).for_each(|n| batch.number(Pmid(2), ValueType::U32, n.into()));
            }
            if n == 1 {
                one.record(stamp, 1);
                one.number(Pmid(3), ValueType::U64, 1);
                one.discard_record();
                assert_eq!(one.newest(), Some(stamp));
            }
        }
        one.seal();
        other.seal();
        assert_eq!((&one.bytes, one.starts), (&other.bytes, other.starts));
        let counts: Vec<_> = Records::<HighRes>::packed(&one.bytes)
            .map(|r| r.expect("sound").params.len())
            .collect();
        assert_eq!(counts, [1, 2, 3]);
    }
}
