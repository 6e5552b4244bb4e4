//! pmdaEventNewArray(3) and its high-resolution forms.
#![allow(non_snake_case, reason = "names of C")]

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::null_mut;

use pcp_event::Pmid;
use pcp_event::{HighRes, LowRes, flags};

use crate::ctypes::{AtomValue, EINVAL, PM_ERR_CONV, PM_ERR_TYPE, array_status};
use crate::fence::guard;
use crate::records;
use crate::table::{self, Kind};

const PM_VAL_HDR_SIZE: usize = 4;
/// `PM_TYPE_STRING`
const TEXT: c_int = 6;

// The calls that build arrays have no code that panics; `catch_unwind` would cost more than the
// calls themselves.

#[inline(always)]
fn add_record<K: Kind>(handle: c_int, (sec, fraction): (i64, i64), flags: c_int) -> c_int {
    table::with::<K>(handle, move |array| {
        let flags = flags.cast_unsigned();
        if flags & flags::MISSED != 0 {
            return PM_ERR_CONV;
        }
        array_status(array.add_record_at(sec, fraction, flags))
    })
}

/// A record without a time.
#[cold]
#[inline(never)]
fn no_record<K: Kind>(handle: c_int, flags: c_int) -> c_int {
    table::with::<K>(handle, |_| {
        if flags.cast_unsigned() & flags::MISSED != 0 { PM_ERR_CONV } else { EINVAL }
    })
}

#[inline(always)]
fn add_missed<K: Kind>(handle: c_int, time: Option<(i64, i64)>, missed: c_int) -> c_int {
    table::with::<K>(handle, move |array| {
        time.map_or(EINVAL, |(sec, fraction)| {
            array_status(array.add_missed_at(sec, fraction, missed))
        })
    })
}

// Reads only the member in use: the others may be uninitialised.
macro_rules! member {
    ($value:ident, $name:ident) => {
        // SAFETY: not null, so a pmAtomValue whose member for the type is set, by contract of the
        // caller.
        unsafe { (*$value).$name }
    };
}

/// # Safety
/// `value` points to a `pmAtomValue` whose member for `ty` is set, or is null.
#[inline(always)]
unsafe fn add_param<K: Kind>(
    handle: c_int,
    pmid: c_uint,
    ty: c_int,
    value: *mut AtomValue,
) -> c_int {
    if value.is_null() || !(0..6).contains(&ty) {
        return if ty == TEXT && !value.is_null() {
            // SAFETY: by contract, and not null.
            unsafe { add_text::<K>(handle, pmid, value) }
        } else {
            // SAFETY: by contract.
            unsafe { add_other::<K>(handle, pmid, ty, value) }
        };
    }
    table::with::<K>(handle, move |array| {
        let pmid = Pmid(pmid);
        array_status(match ty {
            0 => array.add_i32(pmid, member!(value, l)),
            1 => array.add_u32(pmid, member!(value, ul)),
            2 => array.add_i64(pmid, member!(value, ll)),
            3 => array.add_u64(pmid, member!(value, ull)),
            4 => array.add_f32(pmid, member!(value, f)),
            _ => array.add_f64(pmid, member!(value, d)),
        })
    })
}

/// A text. In a separate function, so that calls with numbers do not save the registers that
/// copying needs.
///
/// # Safety
/// As [`add_param`], and `value` is not null.
#[inline(never)]
unsafe fn add_text<K: Kind>(handle: c_int, pmid: c_uint, value: *mut AtomValue) -> c_int {
    let text = member!(value, cp);
    if text.is_null() {
        // SAFETY: by contract.
        return unsafe { add_other::<K>(handle, pmid, TEXT, value) };
    }
    // SAFETY: a C string by contract of the caller, which does not change it during the call.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    table::with::<K>(handle, move |array| array_status(array.add_text(Pmid(pmid), text)))
}

/// Aggregates, and what is no value.
///
/// # Safety
/// As [`add_param`].
#[cold]
#[inline(never)]
unsafe fn add_other<K: Kind>(
    handle: c_int,
    pmid: c_uint,
    ty: c_int,
    value: *mut AtomValue,
) -> c_int {
    table::with::<K>(handle, move |array| {
        let pmid = Pmid(pmid);
        if !(0..=7).contains(&ty) {
            return PM_ERR_TYPE;
        }
        if value.is_null() {
            return EINVAL;
        }
        if ty == TEXT {
            // Texts that are not null are added by `add_text`.
            return EINVAL;
        }
        let block = member!(value, vbp);
        // SAFETY: a pmValueBlock by contract of the caller, or null.
        let bytes = unsafe { block_bytes(block) };
        bytes.map_or(EINVAL, |bytes| array_status(array.add_aggregate(pmid, bytes)))
    })
}

/// The bytes of a `pmValueBlock`: a word with the length (24 bits, including the word) and the type
/// (8 bits), then the data.
///
/// # Safety
/// `block` is null or points to a `pmValueBlock` that is unchanged while the bytes are used.
unsafe fn block_bytes<'b>(block: *const c_void) -> Option<&'b [u8]> {
    if block.is_null() {
        return None;
    }
    // SAFETY: a pmValueBlock begins with this word.
    let word = unsafe { block.cast::<u32>().read_unaligned() };
    let length = if cfg!(target_endian = "little") { word & 0x00ff_ffff } else { word >> 8 };
    let len = (length as usize).checked_sub(PM_VAL_HDR_SIZE)?;
    // SAFETY: `vlen` counts the word and the bytes behind it.
    let start = unsafe { block.cast::<u8>().add(PM_VAL_HDR_SIZE) };
    // SAFETY: as above.
    Some(unsafe { std::slice::from_raw_parts(start, len) })
}

fn reset<K: Kind>(handle: c_int) -> c_int {
    guard(|| table::reset_handle::<K>(handle))
}

fn address<K: Kind>(handle: c_int) -> *mut c_void {
    let mut found = null_mut();
    guard(|| {
        table::with::<K>(handle, |array| {
            found = records::address(array);
            0
        })
    });
    found
}

/// # Safety
/// `time` is null or points to a `struct timeval`.
unsafe fn micro(time: *const libc::timeval) -> Option<(i64, i64)> {
    // SAFETY: by contract.
    unsafe { time.as_ref() }.map(|t| (t.tv_sec, t.tv_usec))
}

/// # Safety
/// `time` is null or points to a `struct timespec`.
unsafe fn nano(time: *const libc::timespec) -> Option<(i64, i64)> {
    // SAFETY: by contract.
    unsafe { time.as_ref() }.map(|t| (t.tv_sec, t.tv_nsec))
}

/// A new array; its handle (≥ 0) or -ENOMEM.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewArray() -> c_int {
    guard(table::create::<LowRes>)
}

/// A new array; its handle (≥ 0) or -ENOMEM.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewHighResArray() -> c_int {
    guard(table::create::<HighRes>)
}

/// Removes all records and keeps the memory; 0 or `PM_ERR_NOCONTEXT`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventResetArray(handle: c_int) -> c_int {
    reset::<LowRes>(handle)
}

/// Removes all records and keeps the memory; 0 or `PM_ERR_NOCONTEXT`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventResetHighResArray(handle: c_int) -> c_int {
    reset::<HighRes>(handle)
}

/// Frees an array; 0 or `PM_ERR_NOCONTEXT`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventReleaseArray(handle: c_int) -> c_int {
    guard(|| table::release(handle))
}

/// Frees an array; 0 or `PM_ERR_NOCONTEXT`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventReleaseHighResArray(handle: c_int) -> c_int {
    guard(|| table::release(handle))
}

/// Begins a record; 0, `PM_ERR_NOCONTEXT`, `PM_ERR_CONV` for the MISSED flag, `PM_ERR_TOOBIG`,
/// -EINVAL without a time or when the array has high-resolution records.
///
/// # Safety
/// `time` is null or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddRecord(
    handle: c_int,
    time: *mut libc::timeval,
    flags: c_int,
) -> c_int {
    // SAFETY: by contract.
    match unsafe { micro(time) } {
        Some(time) => add_record::<LowRes>(handle, time, flags),
        None => no_record::<LowRes>(handle, flags),
    }
}

/// Begins a record; as [`pmdaEventAddRecord`].
///
/// # Safety
/// `time` is null or points to a `struct timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResRecord(
    handle: c_int,
    time: *mut libc::timespec,
    flags: c_int,
) -> c_int {
    // SAFETY: by contract.
    match unsafe { nano(time) } {
        Some(time) => add_record::<HighRes>(handle, time, flags),
        None => no_record::<HighRes>(handle, flags),
    }
}

/// Adds a MISSED record; 0, `PM_ERR_NOCONTEXT`, `PM_ERR_TOOBIG`, -EINVAL without a time, for a
/// negative count or when the array has high-resolution records.
///
/// # Safety
/// `time` is null or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddMissedRecord(
    handle: c_int,
    time: *mut libc::timeval,
    missed: c_int,
) -> c_int {
    // SAFETY: by contract.
    add_missed::<LowRes>(handle, unsafe { micro(time) }, missed)
}

/// Adds a MISSED record; as [`pmdaEventAddMissedRecord`]. Seconds keep their 64 bits.
///
/// # Safety
/// `time` is null or points to a `struct timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResMissedRecord(
    handle: c_int,
    time: *mut libc::timespec,
    missed: c_int,
) -> c_int {
    // SAFETY: by contract.
    add_missed::<HighRes>(handle, unsafe { nano(time) }, missed)
}

/// Adds a parameter to the latest record; 0, `PM_ERR_NOCONTEXT`, `PM_ERR_TYPE`, `PM_ERR_TOOBIG`,
/// -EINVAL without a record, after a MISSED record, for a null pointer, an aggregate shorter than
/// its header, or an array of the other resolution.
///
/// # Safety
/// `value` is null or points to a `pmAtomValue` whose member for `ty` is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddParam(
    handle: c_int,
    pmid: c_uint,
    ty: c_int,
    value: *mut AtomValue,
) -> c_int {
    // SAFETY: by contract.
    unsafe { add_param::<LowRes>(handle, pmid, ty, value) }
}

/// Adds a parameter; as [`pmdaEventAddParam`].
///
/// # Safety
/// As [`pmdaEventAddParam`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResParam(
    handle: c_int,
    pmid: c_uint,
    ty: c_int,
    value: *mut AtomValue,
) -> c_int {
    // SAFETY: by contract.
    unsafe { add_param::<HighRes>(handle, pmid, ty, value) }
}

/// The older name of [`pmdaEventAddHighResParam`].
///
/// # Safety
/// As [`pmdaEventAddParam`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventHighResAddParam(
    handle: c_int,
    pmid: c_uint,
    ty: c_int,
    value: *mut AtomValue,
) -> c_int {
    // SAFETY: by contract.
    unsafe { add_param::<HighRes>(handle, pmid, ty, value) }
}

/// The finished `pmEventArray`, or null for a handle that is not in use or an array with
/// high-resolution records.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventGetAddr(handle: c_int) -> *mut c_void {
    address::<LowRes>(handle)
}

/// The finished `pmHighResEventArray`, or null for a handle that is not in use or an array with
/// low-resolution records.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventGetHighResAddr(handle: c_int) -> *mut c_void {
    address::<HighRes>(handle)
}

/// The older name of [`pmdaEventGetHighResAddr`].
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventHighResGetAddr(handle: c_int) -> *mut c_void {
    address::<HighRes>(handle)
}
