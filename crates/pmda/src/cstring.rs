//! C strings.

use std::ffi::{CStr, CString, c_char};

/// A copy of a C string; `None` for a null pointer.
///
/// # Safety
/// `s` must be null or point to a C string.
pub(crate) unsafe fn copy(s: *const c_char) -> Option<String> {
    if s.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    Some(unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned())
}

/// A C string of the text before its first NUL.
pub(crate) fn cut(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}
