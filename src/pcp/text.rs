//! C strings, error texts, help texts.

use std::ffi::{CStr, CString, c_char, c_int};

use super::entries::Entries;
use super::sys;
use crate::catalogue::Catalogue;

/// A copy of a C string; `None` for a null pointer.
pub(super) fn to_string(s: *const c_char) -> Option<String> {
    if s.is_null() {
        return None;
    }
    // SAFETY: the callers pass pointers that libpcp documents as C strings, valid for this call.
    Some(unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned())
}

/// Text of a PCP or system error number (`pmErrStr_r`).
pub(super) fn error(code: c_int) -> String {
    let mut buffer = [0u8; 256];
    let size = c_int::try_from(buffer.len()).unwrap_or_default();
    // SAFETY: pmErrStr_r(3) writes a C string of at most the given size.
    let text = unsafe { sys::pmErrStr_r(code, buffer.as_mut_ptr().cast(), size) };
    to_string(text).unwrap_or_else(|| code.to_string())
}

/// A C string for a peer's or our own words, cut at a NUL.
pub(super) fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// Help for a metric or an instance domain; `kind` holds `PM_TEXT_*` bits.
pub(super) fn help(
    catalogue: &Catalogue,
    entries: &Entries,
    ident: u32,
    kind: u32,
) -> Option<String> {
    let (oneline, full) = if kind & sys::PM_TEXT_PMID != 0 {
        let row = entries.by_pmid(ident)?;
        (row.oneline.clone(), row.help.clone())
    } else {
        let (oneline, full) = catalogue.indom_help(ident & 0x3f_ffff)?;
        (oneline.to_owned(), full.to_owned())
    };
    Some(if kind & sys::PM_TEXT_ONELINE != 0 { oneline } else { crate::generate::wrapped(&full) })
}
