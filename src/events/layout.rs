//! Byte layout of both resolutions: sizes, headers, parameters. Native byte order; alignment is only 4, so everything goes
//! through byte copies.

use super::flags::MISSED;
use crate::model::{Stamp, ValueType};

/// Largest `ea_len` and `ep_len`: both are 24 bits wide (`PM_VAL_VLEN_MAX`).
pub const ARRAY_MAX: usize = 0x00ff_ffff;
/// `ea_type:8, ea_len:24` and `ea_nrecords`.
pub(super) const ARRAY_HEADER: usize = 8;
/// `ep_pmid`, and `ep_type:8, ep_len:24`.
pub(super) const PARAM_HEADER: usize = 8;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::LowRes {}
    impl Sealed for super::HighRes {}
}

/// How time is stored in a record: the only difference between the two kinds of arrays.
pub trait Resolution: sealed::Sealed {
    /// `PM_TYPE_EVENT` or `PM_TYPE_HIGHRES_EVENT`.
    const TYPE: ValueType;
    /// Bytes of a record before its parameters.
    const RECORD_HEADER: usize;
    /// Writes the time fields.
    fn put_stamp(out: &mut Vec<u8>, stamp: Stamp);
    /// Reads the time fields of a record header; `None` when bytes are missing.
    fn get_stamp(bytes: &[u8]) -> Option<Stamp>;

    /// Writes a whole record header.
    fn put_header(out: &mut Vec<u8>, stamp: Stamp, flags: u32, nparams: i32) {
        Self::put_stamp(out, stamp);
        out.extend_from_slice(&flags.to_ne_bytes());
        out.extend_from_slice(&nparams.to_ne_bytes());
    }

    /// Writes a MISSED record. libpcp's wire encoder zeroes the count of high-resolution ones.
    fn put_missed(out: &mut Vec<u8>, stamp: Stamp, count: i32) {
        Self::put_header(out, stamp, MISSED, count);
    }
}

/// `pmEventArray`: 32-bit seconds and microseconds.
#[derive(Clone, Copy, Debug)]
pub struct LowRes;
/// `pmHighResEventArray`: 64-bit seconds and nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct HighRes;

impl Resolution for LowRes {
    const TYPE: ValueType = ValueType::Event;
    const RECORD_HEADER: usize = 16;

    fn put_stamp(out: &mut Vec<u8>, stamp: Stamp) {
        // The format ends in 2038; a saturated time is at least not in the past.
        let sec = i32::try_from(stamp.sec).unwrap_or(if stamp.sec < 0 { i32::MIN } else { i32::MAX });
        out.extend_from_slice(&sec.to_ne_bytes());
        out.extend_from_slice(&(stamp.nsec / 1000).to_ne_bytes());
    }

    fn get_stamp(bytes: &[u8]) -> Option<Stamp> {
        let sec = i32::from_ne_bytes(*bytes.first_chunk()?).into();
        let usec = u32::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
        Some(Stamp { sec, nsec: usec.checked_mul(1000).filter(|n| *n < 1_000_000_000)? })
    }
}

impl Resolution for HighRes {
    const TYPE: ValueType = ValueType::HighResEvent;
    const RECORD_HEADER: usize = 24;

    fn put_stamp(out: &mut Vec<u8>, stamp: Stamp) {
        out.extend_from_slice(&stamp.sec.to_ne_bytes());
        out.extend_from_slice(&i64::from(stamp.nsec).to_ne_bytes());
    }

    fn get_stamp(bytes: &[u8]) -> Option<Stamp> {
        let sec = i64::from_ne_bytes(*bytes.first_chunk()?);
        let nsec = i64::from_ne_bytes(*bytes.get(8..)?.first_chunk()?);
        Some(Stamp { sec, nsec: u32::try_from(nsec).ok().filter(|n| *n < 1_000_000_000)? })
    }
}

/// The word `length | type << 24` that begins arrays and follows a parameter's PMID. `length` must be below 2^24.
pub(super) const fn length_word(length: u32, ty: ValueType) -> u32 {
    length | (ty as u32) << 24
}

/// Bytes that a value of `len` bytes takes: padded to a multiple of 4.
pub(super) const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}

/// Writes one parameter: header, value, zeroed padding. `value` must be shorter than [`ARRAY_MAX`] − 4.
pub(super) fn put_param(out: &mut Vec<u8>, pmid: u32, ty: ValueType, value: &[u8]) {
    debug_assert!(value.len() <= ARRAY_MAX - 4);
    #[expect(clippy::cast_possible_truncation, reason = "the caller has checked against ARRAY_MAX")]
    let ep_len = value.len() as u32 + 4;
    out.extend_from_slice(&pmid.to_ne_bytes());
    out.extend_from_slice(&length_word(ep_len, ty).to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len() + padded(value.len()) - value.len(), 0);
}
