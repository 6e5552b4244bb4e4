//! PCP's error numbers.

use std::ffi::c_int;
use std::fmt;

use pcp_sys as sys;

use crate::cstring;

/// An error number of PCP (`PM_ERR_*`) or of the system (`-errno`): always negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error(c_int);

impl Error {
    /// A generic error.
    pub const GENERIC: Self = Self(sys::PM_ERR_GENERIC);
    /// No such metric.
    pub const PMID: Self = Self(sys::PM_ERR_PMID);
    /// No such name.
    pub const NAME: Self = Self(sys::PM_ERR_NAME);
    /// No such instance domain.
    pub const INDOM: Self = Self(sys::PM_ERR_INDOM);
    /// No such instance.
    pub const INST: Self = Self(sys::PM_ERR_INST);
    /// No help text.
    pub const TEXT: Self = Self(sys::PM_ERR_TEXT);
    /// No value now; try again later.
    pub const AGAIN: Self = Self(sys::PM_ERR_AGAIN);
    /// The value is out of range or not supported.
    pub const VALUE: Self = Self(sys::PM_ERR_VALUE);
    /// The type does not match.
    pub const TYPE: Self = Self(sys::PM_ERR_TYPE);
    /// The client has no permission.
    pub const PERMISSION: Self = Self(sys::PM_ERR_PERMISSION);
    /// The value cannot be stored.
    pub const BADSTORE: Self = Self(sys::PM_ERR_BADSTORE);
    /// The answer or the request is too big.
    pub const TOOBIG: Self = Self(sys::PM_ERR_TOOBIG);

    /// The error of a libpcp status; `None` for a status that is no error.
    #[must_use]
    pub const fn of_status(status: c_int) -> Option<Self> {
        if status < 0 { Some(Self(status)) } else { None }
    }

    /// The number, always negative.
    #[must_use]
    pub const fn code(self) -> c_int {
        self.0
    }
}

/// The text of pmErrStr(3).
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0u8; 256];
        let size = c_int::try_from(buffer.len()).unwrap_or_default();
        // SAFETY: pmErrStr_r(3) writes a C string of at most `size` bytes.
        let text = unsafe { sys::pmErrStr_r(self.0, buffer.as_mut_ptr().cast(), size) };
        // SAFETY: pmErrStr_r(3) returns `buffer`, which contains a C string.
        match unsafe { cstring::copy(text) } {
            Some(text) => f.write_str(&text),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}: {self})", self.0)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_pcps_numbers_and_texts() {
        assert_eq!(Error::PMID.code(), -12358);
        assert_eq!(Error::PMID.to_string(), "Unknown or illegal metric identifier");
        assert_eq!((Error::of_status(0), Error::of_status(-12358)), (None, Some(Error::PMID)));
    }
}
