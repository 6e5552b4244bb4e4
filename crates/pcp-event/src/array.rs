//! Builder of a packed array: the calls of `pmdaEventNewArray`, `pmdaEventAddRecord`,
//! `pmdaEventAddParam`, `pmdaEventGetAddr`. The resolution is a type, so records of the two kinds
//! cannot be mixed.

mod convert;
mod retain;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::check::Scalar;
use crate::flags::MISSED;
use crate::layout::{
    ARRAY_HEADER, ARRAY_MAX, PARAM_HEADER, Resolution, length_word, padded, param_header, param4,
    param8,
};
use crate::types::ids::{Pmid, ValueType};
use crate::types::stamp::Stamp;

/// Bytes of the first allocation.
const FIRST: usize = 512;

/// The reason why a call changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// The 24 bits of `ea_len` or `ep_len` would overflow. libpcp_pmda wraps silently, and a later
    /// fetch crashes the PMDA.
    #[error("event array would exceed {ARRAY_MAX} bytes")]
    TooBig,
    /// The parameter belongs to no record: the array is empty or ends with a MISSED record.
    /// libpcp_pmda corrupts the array.
    #[error("parameter without a record")]
    NoRecord,
    /// The MISSED flag in an ordinary record (`PM_ERR_CONV`), or a negative count.
    #[error("flags or count not allowed for this record")]
    Invalid,
    /// The system is out of memory.
    #[error("no memory for the event array")]
    NoMemory,
}

/// A packed array under construction.
///
/// ```
/// use pcp_event::{Array, HighRes, Pmid, Stamp, check, flags};
///
/// let mut array = Array::<HighRes>::new();
/// array.add_record(Stamp { sec: 1_795_000_000, nsec: 7 }, flags::POINT)?;
/// array.add_u32(Pmid::new(60, 1, 0), 42)?;
/// array.add_text(Pmid::new(60, 1, 1), b"forty-two")?;
/// assert_eq!(check::<HighRes>(array.bytes()).unwrap()[0].params.len(), 2);
/// # Ok::<(), pcp_event::ArrayError>(())
/// ```
#[derive(Debug)]
pub struct Array<R> {
    /// Initialized memory: at most [`ARRAY_MAX`] bytes, so that one bounds check is enough.
    bytes: Vec<u8>,
    /// Length of the array within `bytes`.
    len: usize,
    records: i32,
    /// Offset of `er_nparams` in the open record; 0 if no parameter may be added. The count is
    /// written when the record is closed.
    open: usize,
    nparams: i32,
    /// Tells the contents since the last reset from those of before, and from other arrays'.
    generation: u64,
    /// Memory to grow was refused since the last reset or rollback.
    lacks_memory: bool,
    resolution: PhantomData<R>,
}

/// Number of arrays ever made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A state of an array to roll back to: see [`Array::rollback`].
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    generation: u64,
    len: usize,
    records: i32,
    open: usize,
    nparams: i32,
}

impl<R: Resolution> Default for Array<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Resolution> Array<R> {
    /// An empty array: 8 bytes, no records.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(ARRAY_HEADER)
    }

    /// An empty array with room for `capacity` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::over(Vec::with_capacity(capacity.clamp(ARRAY_HEADER, ARRAY_MAX)))
    }

    /// As [`Self::with_capacity`], also where there may be no memory.
    ///
    /// # Errors
    /// [`ArrayError::NoMemory`].
    pub fn try_with_capacity(capacity: usize) -> Result<Self, ArrayError> {
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(capacity.clamp(ARRAY_HEADER, ARRAY_MAX))
            .map_err(|_| ArrayError::NoMemory)?;
        Ok(Self::over(bytes))
    }

    /// An empty array that reuses memory.
    #[must_use]
    pub fn over(mut bytes: Vec<u8>) -> Self {
        bytes.truncate(ARRAY_MAX);
        bytes.resize(bytes.len().max(ARRAY_HEADER), 0);
        Self {
            bytes,
            len: ARRAY_HEADER,
            records: 0,
            open: 0,
            nparams: 0,
            generation: u64::from(MADE.fetch_add(1, Ordering::Relaxed)) << 32,
            lacks_memory: false,
            resolution: PhantomData,
        }
    }

    /// Removes all records and keeps the memory.
    pub const fn reset(&mut self) {
        self.len = ARRAY_HEADER;
        (self.records, self.open) = (0, 0);
        self.generation = self.generation.wrapping_add(1);
        self.lacks_memory = false;
    }

    /// Whether memory to grow was refused since the last reset or rollback: what could not be added
    /// may fit another time.
    pub(crate) const fn lacks_memory(&self) -> bool {
        self.lacks_memory
    }

    /// Records so far, MISSED ones included.
    #[must_use]
    pub const fn records(&self) -> i32 {
        self.records
    }

    /// Bytes so far: the value of `ea_len`.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no records yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Appends a part of compile-time size; `false`: there is no room.
    #[inline(always)]
    fn put(&mut self, part: &[u8]) -> bool {
        let end = self.len + part.len();
        let Some(to) = self.bytes.get_mut(self.len..end) else { return false };
        to.copy_from_slice(part);
        self.len = end;
        true
    }

    /// Allocates room for `more` bytes.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> Result<(), ArrayError> {
        let needed = self.len.saturating_add(more);
        if needed > ARRAY_MAX {
            return Err(ArrayError::TooBig);
        }
        let mut wanted = self.bytes.len().saturating_mul(2).clamp(FIRST, ARRAY_MAX).max(needed);
        if wanted > self.bytes.capacity() && needed <= self.bytes.capacity() {
            wanted = self.bytes.capacity();
        }
        self.reserve(wanted.saturating_sub(self.bytes.len()))?;
        self.bytes.resize(wanted.max(self.bytes.len()), 0);
        Ok(())
    }

    /// Writes the parameter count of the open record.
    #[inline]
    fn close(&mut self) {
        if self.open != 0
            && let Some(count) =
                self.bytes.get_mut(self.open..).and_then(|b| b.first_chunk_mut::<4>())
        {
            *count = self.nparams.to_ne_bytes();
        }
    }

    #[inline]
    fn put_header(
        &mut self,
        sec: i64,
        fraction: i64,
        flags: u32,
        nparams: i32,
    ) -> Result<(), ArrayError> {
        self.close();
        if !self.put(R::header(sec, fraction, flags, nparams).as_ref()) {
            return self.put_header_grown(sec, fraction, flags, nparams);
        }
        self.records += 1;
        self.nparams = 0;
        self.open = if flags & MISSED == 0 { self.len - 4 } else { 0 };
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn put_header_grown(
        &mut self,
        sec: i64,
        fraction: i64,
        flags: u32,
        nparams: i32,
    ) -> Result<(), ArrayError> {
        self.grow(R::RECORD_HEADER)?;
        self.put_header(sec, fraction, flags, nparams)
    }

    /// Begins a record; parameters follow.
    ///
    /// # Errors
    /// [`ArrayError::Invalid`] for the MISSED flag, [`ArrayError::TooBig`].
    #[inline]
    pub fn add_record(&mut self, stamp: Stamp, flags: u32) -> Result<(), ArrayError> {
        let (sec, fraction) = R::time(stamp);
        self.add_record_at(sec, fraction, flags)
    }

    /// As [`Array::add_record`] for a time in seconds and micro- or nanoseconds, stored unchanged.
    ///
    /// # Errors
    /// As [`Array::add_record`].
    #[inline]
    pub fn add_record_at(&mut self, sec: i64, fraction: i64, flags: u32) -> Result<(), ArrayError> {
        if flags & MISSED != 0 {
            return Err(ArrayError::Invalid);
        }
        self.put_header(sec, fraction, flags, 0)
    }

    /// Adds a MISSED record: `count` records were lost. libpcp's PDU encoder sets the count of
    /// high-resolution ones to 0.
    ///
    /// # Errors
    /// [`ArrayError::Invalid`] for a negative count, [`ArrayError::TooBig`].
    pub fn add_missed(&mut self, stamp: Stamp, count: i32) -> Result<(), ArrayError> {
        let (sec, fraction) = R::time(stamp);
        self.add_missed_at(sec, fraction, count)
    }

    /// As [`Array::add_missed`] for a time in seconds and micro- or nanoseconds, stored unchanged.
    ///
    /// # Errors
    /// As [`Array::add_missed`].
    pub fn add_missed_at(&mut self, sec: i64, fraction: i64, count: i32) -> Result<(), ArrayError> {
        if count < 0 {
            return Err(ArrayError::Invalid);
        }
        self.put_header(sec, fraction, MISSED, count)
    }

    /// Adds a parameter to the newest record.
    ///
    /// # Errors
    /// [`ArrayError::NoRecord`], [`ArrayError::TooBig`], [`ArrayError::NoMemory`]; the same for all
    /// `add_…` methods of parameters.
    pub fn add_param(&mut self, pmid: Pmid, value: Scalar<'_>) -> Result<(), ArrayError> {
        match value {
            Scalar::I32(v) => self.add_i32(pmid, v),
            Scalar::U32(v) => self.add_u32(pmid, v),
            Scalar::I64(v) => self.add_i64(pmid, v),
            Scalar::U64(v) => self.add_u64(pmid, v),
            Scalar::F32(v) => self.add_f32(pmid, v),
            Scalar::F64(v) => self.add_f64(pmid, v),
            Scalar::Text(v) => self.add_text(pmid, v),
            Scalar::Aggregate(v) => self.add_aggregate(pmid, v),
        }
    }

    /// Adds a whole parameter of compile-time size.
    #[inline(always)]
    fn put_param(&mut self, param: &[u8]) -> Result<(), ArrayError> {
        if self.open == 0 {
            return Err(ArrayError::NoRecord);
        }
        if !self.put(param) {
            return self.put_grown(param);
        }
        self.nparams += 1;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn put_grown(&mut self, param: &[u8]) -> Result<(), ArrayError> {
        self.grow(param.len())?;
        self.put_param(param)
    }

    #[inline]
    fn put4(&mut self, pmid: Pmid, ty: ValueType, value: [u8; 4]) -> Result<(), ArrayError> {
        self.put_param(&param4(pmid.0, ty, value))
    }

    #[inline]
    fn put8(&mut self, pmid: Pmid, ty: ValueType, value: [u8; 8]) -> Result<(), ArrayError> {
        self.put_param(&param8(pmid.0, ty, value))
    }

    /// Adds a parameter of any length: header, value, zeroed padding.
    #[inline]
    fn put_bytes(&mut self, pmid: Pmid, ty: ValueType, value: &[u8]) -> Result<(), ArrayError> {
        if self.open == 0 {
            return Err(ArrayError::NoRecord);
        }
        let end = self.len + PARAM_HEADER + padded(value.len());
        let room = self
            .bytes
            .get_mut(self.len..end)
            .and_then(|to| to.split_first_chunk_mut::<PARAM_HEADER>());
        let Some((header, to)) = room else { return self.put_bytes_grown(pmid, ty, value) };
        *header = param_header(pmid.0, ty, value.len());
        if let Some(padding) = to.last_chunk_mut::<4>() {
            *padding = [0; 4];
        }
        if let Some(to) = to.get_mut(..value.len()) {
            to.copy_from_slice(value);
        }
        self.len = end;
        self.nparams += 1;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn put_bytes_grown(
        &mut self,
        pmid: Pmid,
        ty: ValueType,
        value: &[u8],
    ) -> Result<(), ArrayError> {
        self.grow(PARAM_HEADER + padded(value.len()))?;
        self.put_bytes(pmid, ty, value)
    }

    /// Adds a parameter of type `PM_TYPE_STRING`: bytes without NUL.
    ///
    /// # Errors
    /// As [`Array::add_param`].
    #[inline]
    pub fn add_text(&mut self, pmid: Pmid, text: &[u8]) -> Result<(), ArrayError> {
        self.put_bytes(pmid, ValueType::Text, text)
    }

    /// Adds a parameter of type `PM_TYPE_AGGREGATE`: opaque bytes.
    ///
    /// # Errors
    /// As [`Array::add_param`].
    pub fn add_aggregate(&mut self, pmid: Pmid, bytes: &[u8]) -> Result<(), ArrayError> {
        self.put_bytes(pmid, ValueType::Aggregate, bytes)
    }

    /// Appends packed records of this resolution.
    ///
    /// # Errors
    /// [`ArrayError::TooBig`].
    pub(crate) fn add_packed(&mut self, parts: [&[u8]; 2], records: i32) -> Result<(), ArrayError> {
        self.close();
        self.make_room(parts.iter().map(|p| p.len()).sum())?;
        parts.iter().for_each(|p| self.bytes.extend_from_slice(p));
        self.len = self.bytes.len();
        self.records += records;
        self.open = 0;
        Ok(())
    }

    /// Makes room to append `more` bytes, which is not initialized: large parts are copied there.
    #[inline]
    fn make_room(&mut self, more: usize) -> Result<(), ArrayError> {
        self.bytes.truncate(self.len);
        let needed = self.len.saturating_add(more);
        if needed <= self.bytes.capacity().min(ARRAY_MAX) {
            return Ok(());
        }
        if needed > ARRAY_MAX {
            return Err(ArrayError::TooBig);
        }
        let wanted = self.bytes.capacity().saturating_mul(2).clamp(needed, ARRAY_MAX);
        self.reserve(wanted - self.len)
    }

    #[cold]
    fn reserve(&mut self, more: usize) -> Result<(), ArrayError> {
        self.bytes.try_reserve_exact(more).map_err(|_| {
            self.lacks_memory = true;
            ArrayError::NoMemory
        })
    }

    /// The present state of the array.
    #[inline]
    #[must_use]
    pub const fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            generation: self.generation,
            len: self.len,
            records: self.records,
            open: self.open,
            nparams: self.nparams,
        }
    }

    /// Removes everything added since `checkpoint`. `false`: the array was reset since, or the
    /// checkpoint is of another array; it is empty now.
    #[must_use = "records of before the checkpoint may be gone too"]
    pub fn rollback(&mut self, checkpoint: Checkpoint) -> bool {
        if checkpoint.generation != self.generation || checkpoint.len > self.len {
            self.reset();
            return false;
        }
        self.close();
        self.len = checkpoint.len;
        (self.records, self.open) = (checkpoint.records, checkpoint.open);
        self.nparams = checkpoint.nparams;
        self.lacks_memory = false;
        true
    }

    /// The finished array with its header. Records and parameters may still be added afterwards.
    pub fn bytes(&mut self) -> &[u8] {
        self.close();
        #[expect(clippy::cast_possible_truncation, reason = "grow keeps the length below 2^24")]
        let word = length_word(self.len as u32, R::TYPE);
        if let Some(head) = self.bytes.first_chunk_mut::<ARRAY_HEADER>() {
            let (len, count) = head.split_at_mut(4);
            len.copy_from_slice(&word.to_ne_bytes());
            count.copy_from_slice(&self.records.to_ne_bytes());
        }
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The finished array as its own allocation.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.bytes();
        self.bytes.truncate(self.len);
        self.bytes
    }
}

macro_rules! numbers {
    ($($name:ident $rust:ty, $put:ident $ty:ident $pcp:literal;)*) => {
        impl<R: Resolution> Array<R> {$(
            #[doc = concat!("Adds a parameter of type `", $pcp, "`.\n\n# Errors\nAs [`Array::add_param`].")]
            #[inline]
            pub fn $name(&mut self, pmid: Pmid, value: $rust) -> Result<(), ArrayError> {
                self.$put(pmid, ValueType::$ty, value.to_ne_bytes())
            }
        )*}
    };
}

numbers! {
    add_i32 i32, put4 I32 "PM_TYPE_32";
    add_u32 u32, put4 U32 "PM_TYPE_U32";
    add_i64 i64, put8 I64 "PM_TYPE_64";
    add_u64 u64, put8 U64 "PM_TYPE_U64";
    add_f32 f32, put4 F32 "PM_TYPE_FLOAT";
    add_f64 f64, put8 F64 "PM_TYPE_DOUBLE";
}

#[cfg(test)]
mod tests;
