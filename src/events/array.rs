//! Builder of one packed array, in the order of calls of `pmdaEventNewArray`, `AddRecord`, `AddParam`, `GetAddr`; typed by
//! resolution, so that records of the two kinds cannot be mixed.

use super::flags::MISSED;
use super::layout::{ARRAY_HEADER, ARRAY_MAX, PARAM_HEADER, Resolution, SLACK, length_word, padded, param4, param8, put_bytes};
use crate::model::{Pmid, Stamp, Value, ValueType};
use std::marker::PhantomData;

/// Bytes of the first allocation.
const FIRST: usize = 512;

/// Why a call changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrayError {
    /// The 24 bits of `ea_len` or `ep_len` would overflow (C wraps silently and a later fetch kills the PMDA).
    #[error("event array would exceed {ARRAY_MAX} bytes")]
    TooBig,
    /// A parameter with no record to belong to: none yet, or the last one is a MISSED record (C corrupts the array).
    #[error("parameter without a record")]
    NoRecord,
    /// The MISSED flag in an ordinary record (`PM_ERR_CONV`), or a count below zero.
    #[error("flags or count not allowed for this record")]
    Invalid,
    /// The system has no memory left for it.
    #[error("no memory for the event array")]
    NoMemory,
}

/// A packed array being built.
#[derive(Debug)]
pub struct Array<R> {
    bytes: Vec<u8>,
    /// `bytes` may grow to this without a further look at capacity and [`ARRAY_MAX`].
    limit: usize,
    records: i32,
    /// Where the `er_nparams` of the open record is, 0 when no parameter may be added; and what it will be. It is written
    /// when the record is closed.
    open: usize,
    nparams: i32,
    resolution: PhantomData<R>,
}

/// A place to come back to: see [`Array::rollback`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    len: usize,
    records: i32,
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
        Self::over(Vec::with_capacity(capacity.clamp(ARRAY_HEADER, ARRAY_MAX) + SLACK))
    }

    /// An empty array in memory that has served before.
    #[must_use]
    pub fn over(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.resize(ARRAY_HEADER, 0);
        let limit = bytes.capacity().saturating_sub(SLACK).min(ARRAY_MAX);
        Self { bytes, limit, records: 0, open: 0, nparams: 0, resolution: PhantomData }
    }

    /// Removes all records, keeps the memory. A parameter added next is refused, as there is no record.
    pub fn reset(&mut self) {
        self.bytes.truncate(ARRAY_HEADER);
        (self.records, self.open) = (0, 0);
    }

    /// Records so far, MISSED ones included.
    #[must_use]
    pub const fn records(&self) -> i32 {
        self.records
    }

    /// Bytes so far: what `ea_len` will say.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// No records yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.records == 0
    }

    #[inline]
    fn room_for(&mut self, more: usize) -> Result<(), ArrayError> {
        if self.bytes.len() + more > self.limit { self.grow(more) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), ArrayError> {
        let needed = self.bytes.len().saturating_add(more);
        if needed > ARRAY_MAX {
            return Err(ArrayError::TooBig);
        }
        let wanted = self.bytes.capacity().saturating_mul(2).clamp(FIRST, ARRAY_MAX + SLACK).max(needed + SLACK);
        self.bytes.try_reserve_exact(wanted - self.bytes.len()).map_err(|_| ArrayError::NoMemory)?;
        self.limit = (self.bytes.capacity() - SLACK).min(ARRAY_MAX);
        Ok(())
    }

    /// Writes the parameter count of the open record.
    #[inline]
    fn close(&mut self) {
        if self.open != 0
            && let Some(count) = self.bytes.get_mut(self.open..).and_then(|b| b.first_chunk_mut::<4>())
        {
            *count = self.nparams.to_ne_bytes();
        }
    }

    #[inline]
    fn put_header(&mut self, sec: i64, fraction: i64, flags: u32, nparams: i32) -> Result<(), ArrayError> {
        self.room_for(R::RECORD_HEADER)?;
        self.close();
        self.bytes.extend_from_slice(R::header(sec, fraction, flags, nparams).as_ref());
        self.records += 1;
        self.nparams = 0;
        self.open = if flags & MISSED == 0 { self.bytes.len() - 4 } else { 0 };
        Ok(())
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

    /// As [`Array::add_record`] for a time in seconds and the unit of the resolution, which is stored as it is.
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

    /// Adds a MISSED record: `count` records were lost. libpcp's wire encoder zeroes the count of high-resolution ones.
    ///
    /// # Errors
    /// [`ArrayError::Invalid`] for a negative count, [`ArrayError::TooBig`].
    pub fn add_missed(&mut self, stamp: Stamp, count: i32) -> Result<(), ArrayError> {
        let (sec, fraction) = R::time(stamp);
        self.add_missed_at(sec, fraction, count)
    }

    /// As [`Array::add_missed`] for a time in seconds and the unit of the resolution, which is stored as it is.
    ///
    /// # Errors
    /// As [`Array::add_missed`].
    pub fn add_missed_at(&mut self, sec: i64, fraction: i64, count: i32) -> Result<(), ArrayError> {
        if count < 0 {
            return Err(ArrayError::Invalid);
        }
        self.put_header(sec, fraction, MISSED, count)
    }

    /// Adds a parameter to the record begun last.
    ///
    /// # Errors
    /// [`ArrayError::NoRecord`], [`ArrayError::TooBig`]; so do all `add_…` of parameters.
    pub fn add_param(&mut self, pmid: Pmid, value: &Value) -> Result<(), ArrayError> {
        match value {
            Value::I32(v) => self.add_i32(pmid, *v),
            Value::U32(v) | Value::Wrapping32(v) => self.add_u32(pmid, *v),
            Value::I64(v) => self.add_i64(pmid, *v),
            Value::U64(v) => self.add_u64(pmid, *v),
            Value::F32(v) => self.add_f32(pmid, *v),
            Value::F64(v) => self.add_f64(pmid, *v),
            Value::Text(v) => self.add_text(pmid, v.as_bytes()),
        }
    }

    #[inline]
    fn put4(&mut self, pmid: Pmid, ty: ValueType, value: [u8; 4]) -> Result<(), ArrayError> {
        self.begin_param(4)?;
        self.bytes.extend_from_slice(&param4(pmid.0, ty, value));
        Ok(())
    }

    #[inline]
    fn put8(&mut self, pmid: Pmid, ty: ValueType, value: [u8; 8]) -> Result<(), ArrayError> {
        self.begin_param(8)?;
        self.bytes.extend_from_slice(&param8(pmid.0, ty, value));
        Ok(())
    }

    #[inline]
    fn begin_param(&mut self, len: usize) -> Result<(), ArrayError> {
        if self.open == 0 {
            return Err(ArrayError::NoRecord);
        }
        if len > ARRAY_MAX {
            return Err(ArrayError::TooBig);
        }
        self.room_for(PARAM_HEADER + padded(len))?;
        self.nparams += 1;
        Ok(())
    }

    /// Adds a parameter of type `PM_TYPE_STRING`: bytes without NUL.
    ///
    /// # Errors
    /// As [`Array::add_param`].
    #[inline]
    pub fn add_text(&mut self, pmid: Pmid, text: &[u8]) -> Result<(), ArrayError> {
        self.begin_param(text.len())?;
        put_bytes(&mut self.bytes, pmid.0, ValueType::Text, text);
        Ok(())
    }

    /// Adds a parameter of type `PM_TYPE_AGGREGATE`: bytes of any meaning.
    ///
    /// # Errors
    /// As [`Array::add_param`].
    pub fn add_aggregate(&mut self, pmid: Pmid, bytes: &[u8]) -> Result<(), ArrayError> {
        self.begin_param(bytes.len())?;
        put_bytes(&mut self.bytes, pmid.0, ValueType::Aggregate, bytes);
        Ok(())
    }

    /// Appends a record that is already packed, in pieces.
    ///
    /// # Errors
    /// [`ArrayError::TooBig`].
    pub(super) fn add_record_parts(&mut self, parts: [&[u8]; 3]) -> Result<(), ArrayError> {
        self.room_for(parts.iter().map(|p| p.len()).sum())?;
        self.close();
        parts.iter().for_each(|p| self.bytes.extend_from_slice(p));
        self.records += 1;
        self.open = 0;
        Ok(())
    }

    /// Appends records that are already packed in this resolution.
    ///
    /// # Errors
    /// [`ArrayError::TooBig`].
    pub(super) fn add_packed(&mut self, parts: [&[u8]; 2], records: i32) -> Result<(), ArrayError> {
        self.room_for(parts[0].len() + parts[1].len())?;
        self.close();
        parts.iter().for_each(|p| self.bytes.extend_from_slice(p));
        self.records += records;
        self.open = 0;
        Ok(())
    }

    /// The array as it is now, to return to. No parameter may be added to the last record afterwards.
    pub fn mark(&mut self) -> Mark {
        self.close();
        self.open = 0;
        Mark { len: self.bytes.len(), records: self.records }
    }

    /// Takes back what was added since `mark`, which must be of this array since its last reset.
    pub fn rollback(&mut self, mark: Mark) {
        self.bytes.truncate(mark.len.max(ARRAY_HEADER));
        (self.records, self.open) = (mark.records, 0);
    }

    /// The finished array, header filled in. More may be added afterwards, to the last record too.
    pub fn bytes(&mut self) -> &[u8] {
        self.close();
        #[expect(clippy::cast_possible_truncation, reason = "room_for keeps the length below 2^24")]
        let word = length_word(self.bytes.len() as u32, R::TYPE);
        if let Some(head) = self.bytes.first_chunk_mut::<ARRAY_HEADER>() {
            let (len, count) = head.split_at_mut(4);
            len.copy_from_slice(&word.to_ne_bytes());
            count.copy_from_slice(&self.records.to_ne_bytes());
        }
        &self.bytes
    }

    /// The finished array as its own allocation.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.bytes();
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
#[path = "array_tests.rs"]
mod tests;
