//! Records packed once by a producer, for appending to a stream.

mod sorted;
mod texts;

use crate::flags::MISSED;
use crate::layout::{
    HighRes, PARAM_HEADER, Resolution, padded, param_header, put_bytes, with4, with8,
};
use crate::param::{NumberParam, Numbers, Param32, Param64};
use crate::types::ids::{Pmid, ValueType};
use crate::types::stamp::Stamp;

/// Limit of a packed record in bytes. A text over the limit is cut, any other parameter is left
/// out, and both are counted. The limit is well below that of one fetch, so every record can be
/// delivered.
pub const RECORD_MAX: usize = 512 << 10;

/// Packed high-resolution records, back to back, for [`crate::Stream::append`].
///
/// ```
/// use pcp_event::{Batch, Pmid, Stamp, ValueType, flags};
///
/// let mut batch = Batch::default();
/// batch.record(Stamp { sec: 1_795_000_000, nsec: 7 }, flags::POINT);
/// batch.number(Pmid::new(60, 1, 0), ValueType::F64, 0.25_f64.to_bits());
/// batch.text(Pmid::new(60, 1, 1), "GET /");
/// assert_eq!((batch.len(), batch.size()), (1, 24 + 16 + 16));
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) bytes: Vec<u8>,
    /// The offset of each record.
    pub(crate) starts: Vec<usize>,
    pub(crate) truncated: u64,
    /// The offset of the newest record and the number of its parameters, which is written into its
    /// header when the record is complete.
    pub(crate) start: usize,
    pub(crate) nparams: i32,
    /// The offset of the parameter whose text is open.
    pub(crate) text: Option<usize>,
}

/// Offset of the number of parameters in a record header.
const COUNT: usize = HighRes::RECORD_HEADER - 4;

/// Flags and parameters shared by the beginning of many records: each record starts as a copy with
/// its own time. See [`Batch::record_from`].
#[derive(Clone, Debug, Default)]
pub struct RecordTemplate {
    bytes: Vec<u8>,
    count: i32,
}

impl RecordTemplate {
    /// A template from the newest record of a batch in its present state.
    #[must_use]
    pub fn of(batch: &Batch) -> Self {
        let begun =
            if batch.is_empty() { &[] } else { batch.bytes.get(batch.start..).unwrap_or_default() };
        Self { bytes: begun.to_vec(), count: batch.nparams }
    }

    /// Bytes of a record that begins as the template.
    #[must_use]
    #[inline]
    pub const fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes allocated.
    #[must_use]
    pub const fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

impl Batch {
    /// Removes all records and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        (self.truncated, self.start, self.nparams, self.text) = (0, 0, 0, None);
    }

    /// Removes all records and frees the memory.
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

    /// Parameters cut or left out so far, since their record would have been too large.
    #[must_use]
    pub const fn truncated(&self) -> u64 {
        self.truncated
    }

    /// The packed records: see [`crate::Records::packed`].
    #[must_use]
    pub fn packed(&mut self) -> &[u8] {
        self.seal();
        &self.bytes
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether the batch has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Begins a record. The flag MISSED is cleared: only the stream creates such records.
    #[inline]
    pub fn record(&mut self, stamp: Stamp, flags: u32) {
        self.seal();
        (self.start, self.nparams) = (self.bytes.len(), 0);
        let (sec, fraction) = HighRes::time(stamp);
        self.bytes.extend_from_slice(&HighRes::header(sec, fraction, flags & !MISSED, 0));
        self.starts.push(self.start);
    }

    /// Begins a record as a copy of `template`; no record if the template is from an empty batch.
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

    /// Adds the parameters of `template` to the newest record, if there is room for them.
    pub fn copy_params(&mut self, template: &RecordTemplate) {
        let params = template.bytes.get(HighRes::RECORD_HEADER..).unwrap_or_default();
        if self.has_room(params.len()) {
            self.bytes.extend_from_slice(params);
            self.nparams += template.count;
        } else {
            self.left_out();
        }
    }

    /// Removes the newest record.
    pub fn discard_record(&mut self) {
        if self.starts.pop().is_none() {
            return;
        }
        self.bytes.truncate(self.start);
        self.text = None;
        // The previous record is complete: its header has the number of parameters.
        self.start = self.starts.last().copied().unwrap_or_default();
        let count = self.bytes.get(self.start + COUNT..).and_then(<[u8]>::first_chunk);
        self.nparams = count.map_or(0, |count| i32::from_ne_bytes(*count));
    }

    /// Adds a number to the newest record, given as its bits: two's complement for integers, IEEE
    /// for floats, in the low 32 bits for 32-bit types. Adds nothing without a record or for a type
    /// that is not numeric.
    #[inline]
    pub fn number(&mut self, pmid: Pmid, ty: ValueType, bits: u64) {
        if let Some(number) = NumberParam::new(pmid, ty) {
            self.number_param(&number, bits);
        }
    }

    /// As [`Self::number`], with a prepared parameter header.
    #[inline]
    pub fn number_param(&mut self, param: &NumberParam, bits: u64) {
        match param {
            NumberParam::Bits32(param) => self.param32(param, bits),
            NumberParam::Bits64(param) => self.param64(param, bits),
        }
    }

    /// As [`Self::number_param`] for 32 bits.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the value is in the low 32 bits")]
    pub fn param32(&mut self, param: &Param32, bits: u64) {
        if self.begin(Param32::SIZE) {
            self.bytes.extend_from_slice(&with4(param.0, (bits as u32).to_ne_bytes()));
        }
    }

    /// As [`Self::number_param`] for 64 bits.
    #[inline(always)]
    pub fn param64(&mut self, param: &Param64, bits: u64) {
        if self.begin(Param64::SIZE) {
            self.bytes.extend_from_slice(&with8(param.0, bits.to_ne_bytes()));
        }
    }

    /// Adds several numbers to the newest record. If there is no room for all of them, they are left
    /// out.
    #[inline]
    pub fn numbers(&mut self, numbers: &Numbers) {
        let packed = numbers.packed();
        if self.has_room(packed.len()) {
            self.bytes.extend_from_slice(packed);
            self.nparams += numbers.count;
        } else {
            (0..numbers.count).for_each(|_| self.left_out());
        }
    }

    /// Bytes of a parameter whose text has `len` bytes.
    #[must_use]
    #[inline]
    pub const fn text_size(len: usize) -> usize {
        PARAM_HEADER + padded(len)
    }

    /// Adds a string to the newest record, cut at a character boundary to the room left below
    /// [`RECORD_MAX`].
    #[inline]
    pub fn text(&mut self, pmid: Pmid, text: &str) {
        if !self.short_text(pmid, text.as_bytes()) {
            self.long_text(pmid, text);
        }
    }

    /// As [`Self::text`] for bytes that may be UTF-8; `false`: they are not, and nothing was added.
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

    /// Appends the parameter's bytes; `false`: there is no record, or no room in it.
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

    /// Writes a parameter with a text of at most [`SHORT`] bytes, for which there is room, word by
    /// word: faster than a call of memcpy. Returns all words or-ed together.
    #[inline(always)]
    fn put_short(&mut self, pmid: Pmid, text: &[u8]) -> u64 {
        self.nparams += 1;
        let mut param = [[0; 8]; (PARAM_HEADER + SHORT) / 8 + 1];
        let (mut places, mut all) = (param.iter_mut(), 0);
        let mut put = |word| {
            if let Some(place) = places.next() {
                *place = word;
            }
        };
        put(param_header(pmid.0, ValueType::Text, text.len()));
        for word in text.as_chunks().0 {
            all |= u64::from_ne_bytes(*word);
            put(*word);
        }
        let last = last_word(text);
        put(last.to_le_bytes());
        let end = PARAM_HEADER + padded(text.len());
        self.bytes.extend_from_slice(param.as_flattened().get(..end).unwrap_or_default());
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

    /// Whether there is a record with room for `len` more bytes.
    #[inline(always)]
    pub(crate) fn has_room(&self, len: usize) -> bool {
        // Without a record the difference is 0, and 0 - 1 wraps to more than any room.
        (self.bytes.len() - self.start).wrapping_sub(1) < RECORD_MAX.saturating_sub(len)
    }

    /// Counts a parameter of `len` bytes if the newest record has room for it.
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

    /// Counts a parameter cut by the caller.
    #[cold]
    pub const fn count_truncated(&mut self) {
        self.truncated += 1;
    }

    #[cold]
    fn left_out(&mut self) {
        self.truncated += u64::from(!self.is_empty());
    }

    /// The part of `text` that fits after `used` bytes.
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

    /// Writes the number of parameters into the header of the newest record, after which all
    /// records are final.
    #[inline]
    pub(crate) fn seal(&mut self) {
        // An open text is dropped.
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
    pub(crate) fn newest(&self) -> Option<Stamp> {
        if self.is_empty() { None } else { HighRes::get_stamp(self.bytes.get(self.start..)?) }
    }
}

/// Texts of at most this many bytes are written word by word.
const SHORT: usize = 64;
/// The bits that are 0 in all ASCII bytes.
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// The bytes after the last whole word, the first in the lowest byte, padded with zeros; read as
/// overlapping words.
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
mod tests;
