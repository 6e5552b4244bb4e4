//! Strict decoder of packed arrays. It rejects some arrays that libpcp accepts: those with a wrong
//! `ep_len`, negative counts, or trailing bytes.

use std::marker::PhantomData;

use crate::flags::MISSED;
use crate::layout::{ARRAY_HEADER, PARAM_HEADER, Resolution, padded};
use crate::types::ids::Pmid;
use crate::types::stamp::Stamp;

/// A violation of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("event array: {what} at byte {offset}")]
pub struct CheckError {
    /// Offset from the start of the array.
    pub offset: usize,
    /// Description of the violation.
    pub what: &'static str,
}

/// A parameter's value, in the types that PCP allows in event records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// `PM_TYPE_32`
    I32(i32),
    /// `PM_TYPE_U32`
    U32(u32),
    /// `PM_TYPE_64`
    I64(i64),
    /// `PM_TYPE_U64`
    U64(u64),
    /// `PM_TYPE_FLOAT`
    F32(f32),
    /// `PM_TYPE_DOUBLE`
    F64(f64),
    /// `PM_TYPE_STRING`: bytes without NUL
    Text(&'a [u8]),
    /// `PM_TYPE_AGGREGATE`
    Aggregate(&'a [u8]),
}

impl std::fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::I32(v) => v.fmt(f),
            Self::U32(v) => v.fmt(f),
            Self::I64(v) => v.fmt(f),
            Self::U64(v) => v.fmt(f),
            Self::F32(v) => v.fmt(f),
            Self::F64(v) => v.fmt(f),
            Self::Text(v) => String::from_utf8_lossy(v).fmt(f),
            Self::Aggregate(v) => write!(f, "[{} bytes]", v.len()),
        }
    }
}

/// One parameter of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter<'a> {
    /// The metric that names the parameter.
    pub pmid: Pmid,
    /// The value, of the type in the parameter's header.
    pub value: Scalar<'a>,
}

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<'a> {
    /// The time of the event.
    pub stamp: Stamp,
    /// `er_flags`: a sum of [`crate::flags`].
    pub flags: u32,
    /// In a MISSED record, the number of missed events.
    pub missed: Option<u32>,
    /// The parameters; none in a MISSED record.
    pub params: Vec<Parameter<'a>>,
}

/// An iterator over packed records; it ends after the first error.
#[derive(Clone, Debug)]
pub struct Records<'a, R> {
    bytes: &'a [u8],
    at: usize,
    resolution: PhantomData<R>,
}

impl<'a, R: Resolution> Records<'a, R> {
    /// Iterates over records without an array header; offsets in errors count from the first byte.
    #[must_use]
    pub const fn packed(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, resolution: PhantomData }
    }

    fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], CheckError> {
        let err = CheckError { offset: self.at, what };
        let end = self.at.checked_add(n).ok_or(err)?;
        let taken = self.bytes.get(self.at..end).ok_or(err)?;
        self.at = end;
        Ok(taken)
    }

    fn word(&mut self, what: &'static str) -> Result<u32, CheckError> {
        let b = self.take(4, what)?;
        Ok(b.first_chunk().map_or(0, |c| u32::from_ne_bytes(*c)))
    }

    fn record(&mut self) -> Result<Record<'a>, CheckError> {
        let fail = |offset, what| CheckError { offset, what };
        let start = self.at;
        let time = self.take(R::RECORD_HEADER - 8, "record header is cut")?;
        let stamp = R::get_stamp(time).ok_or(fail(start, "time out of range"))?;
        let flags = self.word("record header is cut")?;
        let count = self.word("record header is cut")?;
        if count > i32::MAX as u32 {
            return Err(fail(self.at - 4, "negative count"));
        }
        if flags & MISSED != 0 {
            if flags != MISSED {
                return Err(fail(self.at - 8, "MISSED with other flags"));
            }
            return Ok(Record { stamp, flags, missed: Some(count), params: Vec::new() });
        }
        if count as usize > (self.bytes.len() - self.at) / PARAM_HEADER {
            return Err(fail(self.at - 4, "more parameters than bytes"));
        }
        let mut params = Vec::with_capacity(count as usize);
        for _ in 0..count {
            params.push(self.parameter()?);
        }
        Ok(Record { stamp, flags, missed: None, params })
    }

    fn parameter(&mut self) -> Result<Parameter<'a>, CheckError> {
        let start = self.at;
        let fail = |what| CheckError { offset: start, what };
        let pmid = Pmid(self.word("parameter header is cut")?);
        let word = self.word("parameter header is cut")?;
        let len = (word & 0x00ff_ffff) as usize;
        let len = len.checked_sub(4).ok_or(fail("ep_len below 4"))?;
        let slot = self.take(padded(len), "parameter value is cut")?;
        let raw = slot.get(..len).unwrap_or_default();
        let four =
            || <[u8; 4]>::try_from(raw).map_err(|_| fail("ep_len of a 32-bit value is not 8"));
        let eight =
            || <[u8; 8]>::try_from(raw).map_err(|_| fail("ep_len of a 64-bit value is not 12"));
        let value = match word >> 24 {
            0 => Scalar::I32(i32::from_ne_bytes(four()?)),
            1 => Scalar::U32(u32::from_ne_bytes(four()?)),
            2 => Scalar::I64(i64::from_ne_bytes(eight()?)),
            3 => Scalar::U64(u64::from_ne_bytes(eight()?)),
            4 => Scalar::F32(f32::from_ne_bytes(four()?)),
            5 => Scalar::F64(f64::from_ne_bytes(eight()?)),
            6 => Scalar::Text(raw),
            7 => Scalar::Aggregate(raw),
            _ => return Err(fail("type not allowed in a parameter")),
        };
        Ok(Parameter { pmid, value })
    }
}

impl<'a, R: Resolution> Iterator for Records<'a, R> {
    type Item = Result<Record<'a>, CheckError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let record = self.record();
        if record.is_err() {
            self.at = self.bytes.len();
        }
        Some(record)
    }
}

/// Decodes a whole array of resolution `R`, header included.
///
/// # Errors
/// [`CheckError`] with the offset of the first violation.
pub fn check<R: Resolution>(array: &[u8]) -> Result<Vec<Record<'_>>, CheckError> {
    let fail = |offset, what| CheckError { offset, what };
    let word = array
        .first_chunk()
        .map(|b| u32::from_ne_bytes(*b))
        .ok_or(fail(0, "array header is cut"))?;
    let count = array.get(4..).and_then(|b| b.first_chunk()).map(|b| i32::from_ne_bytes(*b));
    let count = usize::try_from(count.ok_or(fail(4, "array header is cut"))?)
        .map_err(|_| fail(4, "negative ea_nrecords"))?;
    if word >> 24 != R::TYPE as u32 {
        return Err(fail(0, "ea_type is of another resolution"));
    }
    if (word & 0x00ff_ffff) as usize != array.len() {
        return Err(fail(0, "ea_len is not the length"));
    }
    let records: Vec<_> = Records::<R>::packed(array.get(ARRAY_HEADER..).unwrap_or_default())
        .map(|r| r.map_err(|e| fail(e.offset + ARRAY_HEADER, e.what)))
        .collect::<Result<_, _>>()?;
    if records.len() == count {
        Ok(records)
    } else {
        Err(fail(4, "ea_nrecords is not the number of records"))
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "test")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Array, HighRes, LowRes};

    fn sample() -> Array<HighRes> {
        let mut a = Array::<HighRes>::new();
        let t = Stamp { sec: 5_000_000_000, nsec: 7 };
        a.add_record(t, 1).expect("fits");
        for v in [
            Scalar::I32(-1),
            Scalar::U64(u64::MAX),
            Scalar::F32(1.5),
            Scalar::F64(-2.5),
            Scalar::Text(b"abcde"),
            Scalar::Text(b""),
        ] {
            a.add_param(Pmid(77), v).expect("fits");
        }
        a.add_missed(t, 7).expect("fits");
        a
    }

    #[test]
    fn reads_back_what_was_built() {
        let mut a = sample();
        let records = check::<HighRes>(a.bytes()).expect("our own array");
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].params[4].value, Scalar::Text(b"abcde"));
        assert_eq!(records[0].stamp.sec, 5_000_000_000);
        assert_eq!(records[1].missed, Some(7));
        assert_eq!(check::<LowRes>(a.bytes()).map_err(|e| e.offset), Err(0));
    }

    #[test]
    fn every_cut_and_every_trailing_byte_is_refused() {
        let whole = sample().into_bytes();
        for n in 0..whole.len() {
            assert!(check::<HighRes>(&whole[..n]).is_err(), "cut at {n}");
        }
        let mut longer = whole;
        longer.extend([0; 4]);
        assert!(check::<HighRes>(&longer).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 8..200)) {
            let word = bytes.len() as u32 | 10 << 24;
            bytes[..4].copy_from_slice(&word.to_ne_bytes());
            let _ = check::<HighRes>(&bytes);
        }
    }
}
