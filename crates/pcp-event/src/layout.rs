//! Byte layout of both resolutions: sizes, headers, parameters. Integers are in the byte order of
//! the host and only 4-byte aligned, so they are copied as bytes.

use crate::types::ids::ValueType;
use crate::types::stamp::Stamp;

/// Largest `ea_len` and `ep_len`: both are 24 bits wide (`PM_VAL_VLEN_MAX`).
pub const ARRAY_MAX: usize = 0x00ff_ffff;
/// `ea_type:8, ea_len:24` and `ea_nrecords`.
pub(crate) const ARRAY_HEADER: usize = 8;
/// `ep_pmid`, and `ep_type:8, ep_len:24`.
pub(crate) const PARAM_HEADER: usize = 8;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::LowRes {}
    impl Sealed for super::HighRes {}
}

/// The format of times in a record, [`LowRes`] or [`HighRes`]: the only difference between the two
/// kinds of arrays.
pub trait Resolution: sealed::Sealed {
    /// `PM_TYPE_EVENT` or `PM_TYPE_HIGHRES_EVENT`.
    const TYPE: ValueType;
    /// Length of a record header in bytes.
    const RECORD_HEADER: usize;
    /// The bytes of a record before its parameters.
    type Header: AsRef<[u8]>;

    /// A time as seconds and micro- or nanoseconds.
    fn time(stamp: Stamp) -> (i64, i64);
    /// A record header with this time unchanged; excess bits are cut, as by C casts.
    fn header(sec: i64, fraction: i64, flags: u32, nparams: i32) -> Self::Header;
    /// The time in a record header; `None` if bytes are missing or the fraction is one second or
    /// more.
    fn get_stamp(bytes: &[u8]) -> Option<Stamp>;
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
    type Header = [u8; 16];

    #[inline]
    fn time(stamp: Stamp) -> (i64, i64) {
        // The format ends in 2038; a saturated time is at least not in the past.
        (stamp.sec.clamp(i32::MIN.into(), i32::MAX.into()), i64::from(stamp.nsec / 1000))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "as documented")]
    fn header(sec: i64, fraction: i64, flags: u32, nparams: i32) -> [u8; 16] {
        join([
            (sec as i32).to_ne_bytes(),
            (fraction as i32).to_ne_bytes(),
            flags.to_ne_bytes(),
            nparams.to_ne_bytes(),
        ])
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
    type Header = [u8; 24];

    #[inline]
    fn time(stamp: Stamp) -> (i64, i64) {
        (stamp.sec, stamp.nsec.into())
    }

    #[inline]
    fn header(sec: i64, fraction: i64, flags: u32, nparams: i32) -> [u8; 24] {
        let ([a, b], [c, d]) = (split(sec.to_ne_bytes()), split(fraction.to_ne_bytes()));
        join([a, b, c, d, flags.to_ne_bytes(), nparams.to_ne_bytes()])
    }

    fn get_stamp(bytes: &[u8]) -> Option<Stamp> {
        let sec = i64::from_ne_bytes(*bytes.first_chunk()?);
        let nsec = i64::from_ne_bytes(*bytes.get(8..)?.first_chunk()?);
        Some(Stamp { sec, nsec: u32::try_from(nsec).ok().filter(|n| *n < 1_000_000_000)? })
    }
}

impl HighRes {
    /// The time fields at the start of a record header.
    #[inline]
    pub(crate) fn time_bytes(stamp: Stamp) -> [u8; 16] {
        let (sec, fraction) = Self::time(stamp);
        pair(sec.to_ne_bytes(), fraction.to_ne_bytes())
    }
}

impl LowRes {
    /// Converts a high-resolution record header.
    #[inline]
    pub(crate) fn header_of(high: &[u8; HighRes::RECORD_HEADER]) -> [u8; Self::RECORD_HEADER] {
        let ([sec, nsec, rest], _) = high.as_chunks::<8>() else {
            return [0; Self::RECORD_HEADER];
        };
        let nsec = u32::try_from(i64::from_ne_bytes(*nsec)).unwrap_or(u32::MAX);
        let (sec, fraction) = Self::time(Stamp { sec: i64::from_ne_bytes(*sec), nsec });
        let [flags, nparams] = split(*rest);
        Self::header(sec, fraction, u32::from_ne_bytes(flags), i32::from_ne_bytes(nparams))
    }
}

/// The bytes of several words of the same size, in order.
#[inline]
fn join<const N: usize, const WORDS: usize, const ALL: usize>(
    words: [[u8; N]; WORDS],
) -> [u8; ALL] {
    const { assert!(N * WORDS == ALL) };
    let mut all = [0; ALL];
    all.copy_from_slice(words.as_flattened());
    all
}

/// The word `length | type << 24` that begins arrays and follows a parameter's PMID. `length` must
/// be below 2^24.
pub(crate) const fn length_word(length: u32, ty: ValueType) -> u32 {
    length | (ty as u32) << 24
}

/// Bytes of a value of `len` bytes with padding to a multiple of 4.
pub(crate) const fn padded(len: usize) -> usize {
    // Two instructions; lengths of slices do not overflow.
    len.wrapping_add(3) & !3
}

/// The header of the parameter at an offset, as one number: compared at once.
#[inline(always)]
pub(crate) fn header_at(record: &[u8], at: usize) -> Option<u64> {
    record.get(at..)?.first_chunk::<PARAM_HEADER>().map(|header| u64::from_ne_bytes(*header))
}

/// PMID, and the word of type and length, in such a number.
#[inline(always)]
pub(crate) const fn header_parts(header: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = header.to_ne_bytes();
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

/// The offset of the parameter after the one with this header.
#[inline(always)]
pub(crate) const fn after(at: usize, header: u64) -> usize {
    // The length counts the word itself. Rounding up reaches the byte of the type for lengths that
    // no record has.
    at + PARAM_HEADER / 2 + (header_parts(header).1.wrapping_add(3) & 0x00ff_fffc) as usize
}

/// `ep_pmid` and the word of length and type for a value of `len` bytes, which must be below
/// [`ARRAY_MAX`] − 4.
#[inline]
pub(crate) fn param_header(pmid: u32, ty: ValueType, len: usize) -> [u8; PARAM_HEADER] {
    debug_assert!(len <= ARRAY_MAX - 4);
    #[expect(clippy::cast_possible_truncation, reason = "the caller has checked against ARRAY_MAX")]
    let word = length_word(len as u32 + 4, ty);
    let ([a, b, c, d], [e, f, g, h]) = (pmid.to_ne_bytes(), word.to_ne_bytes());
    [a, b, c, d, e, f, g, h]
}

/// A whole parameter with a 4-byte value. Values of fixed size, the common ones, are written with
/// one copy.
#[inline]
pub(crate) fn param4(pmid: u32, ty: ValueType, value: [u8; 4]) -> [u8; 12] {
    with4(param_header(pmid, ty, 4), value)
}

/// A 4-byte value after its header.
#[inline]
pub(crate) const fn with4(
    [a, b, c, d, e, f, g, h]: [u8; PARAM_HEADER],
    [i, j, k, l]: [u8; 4],
) -> [u8; 12] {
    // As in [`pair`].
    [a, b, c, d, e, f, g, h, i, j, k, l]
}

/// A whole parameter with an 8-byte value.
#[inline]
pub(crate) fn param8(pmid: u32, ty: ValueType, value: [u8; 8]) -> [u8; 16] {
    with8(param_header(pmid, ty, 8), value)
}

/// An 8-byte value after its header.
#[inline]
pub(crate) fn with8(header: [u8; PARAM_HEADER], value: [u8; 8]) -> [u8; 16] {
    pair(header, value)
}

/// Two words. Patterns stay in registers; [`join`] may call memcpy.
#[inline(always)]
const fn pair([a, b, c, d, e, f, g, h]: [u8; 8], [i, j, k, l, m, n, o, p]: [u8; 8]) -> [u8; 16] {
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

#[inline]
fn split(bytes: [u8; 8]) -> [[u8; 4]; 2] {
    let (mut a, mut b) = ([0; 4], [0; 4]);
    a.copy_from_slice(bytes.split_at(4).0);
    b.copy_from_slice(bytes.split_at(4).1);
    [a, b]
}

/// Bytes that [`put_bytes`] needs after the padded value: the padding is written as a whole word
/// and cut.
pub(crate) const SLACK: usize = 4;

/// Writes a parameter of any length: header, value, zeroed padding. `value` must be shorter than
/// [`ARRAY_MAX`] − 4.
#[inline]
pub(crate) fn put_bytes(out: &mut Vec<u8>, pmid: u32, ty: ValueType, value: &[u8]) {
    out.extend_from_slice(&param_header(pmid, ty, value.len()));
    let end = out.len() + padded(value.len());
    out.extend_from_slice(value);
    out.extend_from_slice(&[0; SLACK]);
    out.truncate(end);
}
