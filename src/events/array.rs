//! Builder of one packed array, in the order of calls of `pmdaEventNewArray`, `AddRecord`, `AddParam`, `GetAddr`; typed by
//! resolution, so that records of the two kinds cannot be mixed.

use super::flags::MISSED;
use super::layout::{ARRAY_HEADER, ARRAY_MAX, PARAM_HEADER, Resolution, length_word, padded, put_param};
use crate::model::{Pmid, Stamp, Value, ValueType};
use std::marker::PhantomData;

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
}

/// A packed array being built.
#[derive(Debug)]
pub struct Array<R> {
    bytes: Vec<u8>,
    records: i32,
    /// Where the `er_nparams` of the open record is; `None` when no parameter may be added.
    open: Option<usize>,
    resolution: PhantomData<R>,
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
        let mut bytes = Vec::with_capacity(capacity.max(ARRAY_HEADER));
        bytes.resize(ARRAY_HEADER, 0);
        Self { bytes, records: 0, open: None, resolution: PhantomData }
    }

    /// Removes all records, keeps the memory. A parameter added next is refused, as there is no record.
    pub fn reset(&mut self) {
        self.bytes.truncate(ARRAY_HEADER);
        (self.records, self.open) = (0, None);
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

    fn room_for(&self, more: usize) -> Result<(), ArrayError> {
        if self.bytes.len() + more > ARRAY_MAX { Err(ArrayError::TooBig) } else { Ok(()) }
    }

    /// Begins a record; parameters follow.
    ///
    /// # Errors
    /// [`ArrayError::Invalid`] for the MISSED flag, [`ArrayError::TooBig`].
    pub fn add_record(&mut self, stamp: Stamp, flags: u32) -> Result<(), ArrayError> {
        if flags & MISSED != 0 {
            return Err(ArrayError::Invalid);
        }
        self.room_for(R::RECORD_HEADER)?;
        R::put_header(&mut self.bytes, stamp, flags, 0);
        self.records += 1;
        self.open = Some(self.bytes.len() - 4);
        Ok(())
    }

    /// Adds a MISSED record: `count` records were lost.
    ///
    /// # Errors
    /// [`ArrayError::Invalid`] for a negative count, [`ArrayError::TooBig`].
    pub fn add_missed(&mut self, stamp: Stamp, count: i32) -> Result<(), ArrayError> {
        if count < 0 {
            return Err(ArrayError::Invalid);
        }
        self.room_for(R::RECORD_HEADER)?;
        R::put_missed(&mut self.bytes, stamp, count);
        self.records += 1;
        self.open = None;
        Ok(())
    }

    /// Adds a parameter to the record begun last.
    ///
    /// # Errors
    /// [`ArrayError::NoRecord`], [`ArrayError::TooBig`].
    pub fn add_param(&mut self, pmid: Pmid, value: &Value) -> Result<(), ArrayError> {
        match value {
            Value::I32(v) => self.put(pmid, ValueType::I32, &v.to_ne_bytes()),
            Value::U32(v) | Value::Wrapping32(v) => self.put(pmid, ValueType::U32, &v.to_ne_bytes()),
            Value::I64(v) => self.put(pmid, ValueType::I64, &v.to_ne_bytes()),
            Value::U64(v) => self.put(pmid, ValueType::U64, &v.to_ne_bytes()),
            Value::F32(v) => self.put(pmid, ValueType::F32, &v.to_ne_bytes()),
            Value::F64(v) => self.put(pmid, ValueType::F64, &v.to_ne_bytes()),
            Value::Text(v) => self.put(pmid, ValueType::Text, v.as_bytes()),
        }
    }

    fn put(&mut self, pmid: Pmid, ty: ValueType, value: &[u8]) -> Result<(), ArrayError> {
        let count_at = self.open.ok_or(ArrayError::NoRecord)?;
        self.room_for(PARAM_HEADER + padded(value.len()))?;
        put_param(&mut self.bytes, pmid.0, ty, value);
        let count = self.bytes.get_mut(count_at..).and_then(|b| b.first_chunk_mut::<4>());
        if let Some(count) = count {
            *count = (i32::from_ne_bytes(*count) + 1).to_ne_bytes();
        }
        Ok(())
    }

    /// Appends records that are already packed in this resolution.
    ///
    /// # Errors
    /// [`ArrayError::TooBig`].
    pub(super) fn add_packed(&mut self, parts: [&[u8]; 2], records: i32) -> Result<(), ArrayError> {
        self.room_for(parts[0].len() + parts[1].len())?;
        parts.iter().for_each(|p| self.bytes.extend_from_slice(p));
        self.records += records;
        self.open = None;
        Ok(())
    }

    /// The finished array, header filled in. More may be added afterwards.
    pub fn bytes(&mut self) -> &[u8] {
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

#[cfg(test)]
mod tests {
    use super::super::{HighRes, LowRes, flags};
    use super::*;

    const T: Stamp = Stamp { sec: 1000, nsec: 5000 };

    #[test]
    fn an_empty_array_is_eight_bytes() {
        assert_eq!(Array::<HighRes>::new().bytes(), [8, 0, 0, 10, 0, 0, 0, 0]);
        assert_eq!(Array::<LowRes>::new().bytes(), [8, 0, 0, 9, 0, 0, 0, 0]);
    }

    #[test]
    fn the_order_of_calls_is_enforced() {
        let mut a = Array::<LowRes>::new();
        let v = Value::U32(1);
        assert_eq!(a.add_param(Pmid(1), &v), Err(ArrayError::NoRecord));
        assert_eq!(a.add_missed(T, 5), Ok(()));
        assert_eq!(a.add_param(Pmid(1), &v), Err(ArrayError::NoRecord));
        assert_eq!(a.add_missed(T, -1), Err(ArrayError::Invalid));
        assert_eq!(a.add_record(T, flags::MISSED | 1), Err(ArrayError::Invalid));
        assert_eq!(a.add_record(T, 1), Ok(()));
        a.reset();
        assert_eq!(a.add_param(Pmid(1), &v), Err(ArrayError::NoRecord));
        assert_eq!(a.len(), 8);
    }

    #[test]
    fn padding_is_zero_even_where_older_bytes_were() {
        let mut a = Array::<HighRes>::new();
        a.add_record(T, 1).and_then(|()| a.add_param(Pmid(1), &Value::text("SECRETSECRET"))).expect("fits");
        a.reset();
        a.add_record(T, 1).and_then(|()| a.add_param(Pmid(1), &Value::text("x"))).expect("fits");
        assert_eq!(a.bytes().split_at(8 + 24 + 8).1, [b'x', 0, 0, 0]);
    }

    #[test]
    fn never_over_24_bits() {
        let mut a = Array::<HighRes>::new();
        let big = Value::Text("x".repeat(1 << 20).into());
        let mut added = 0;
        while a.add_record(T, 1).and_then(|()| a.add_param(Pmid(1), &big)).is_ok() {
            added += 1;
        }
        assert_eq!(added, 15);
        assert!(a.len() <= ARRAY_MAX);
        let huge = Value::Text("x".repeat(ARRAY_MAX).into());
        let mut b = Array::<LowRes>::new();
        b.add_record(T, 1).expect("fits");
        assert_eq!(b.add_param(Pmid(1), &huge), Err(ArrayError::TooBig));
    }
}
