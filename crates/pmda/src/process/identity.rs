//! The process: its parent and its user.

use std::ffi::CString;

use pcp_sys as sys;
use rustix::fs::{FileType, fstat};

use crate::cstring;

/// Whether standard input is a pipe or a socket, as pmcd(1) and dbpmda(1) set it up.
#[must_use]
pub fn is_started_by_pmcd() -> bool {
    fstat(rustix::stdio::stdin()).is_ok_and(|s| {
        matches!(FileType::from_raw_mode(s.st_mode), FileType::Fifo | FileType::Socket)
    })
}

/// Switches to `user`, as PCP's agents do. Does nothing without root's rights.
///
/// # Errors
/// There is no such user.
pub fn become_user(user: &str) -> Result<(), String> {
    if rustix::process::geteuid().as_raw() != 0 {
        return Ok(());
    }
    let name = CString::new(user).map_err(|_| format!("user name {user:?} holds a NUL"))?;
    // SAFETY: pmSetProcessIdentity(3) reads a C string; on failure it returns or ends the process
    // with a message.
    let sts = unsafe { sys::pmSetProcessIdentity(name.as_ptr()) };
    if sts == 0 { Ok(()) } else { Err(format!("cannot become user {user}")) }
}

/// The user of PCP's daemons.
pub(crate) fn default_user() -> String {
    let mut name = std::ptr::null_mut();
    // SAFETY: pmGetUsername(3) stores a pointer to a C string that libpcp keeps.
    unsafe { sys::pmGetUsername(&raw mut name) };
    // SAFETY: as above.
    unsafe { cstring::copy(name) }.unwrap_or_else(|| "pcp".into())
}
