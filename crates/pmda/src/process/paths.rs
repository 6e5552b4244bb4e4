//! Places of PCP on this host.

use std::ffi::CStr;
use std::path::PathBuf;

use pcp_sys as sys;

use crate::cstring;

/// A variable of /etc/pcp.conf or of the environment. If it is in neither, PCP is not installed,
/// and libpcp ends the process with a message.
fn variable(name: &CStr) -> Option<PathBuf> {
    // SAFETY: pmGetConfig(3) reads a C string and returns one that libpcp keeps.
    let value = unsafe { sys::pmGetConfig(name.as_ptr()) };
    // SAFETY: as above.
    unsafe { cstring::copy(value) }.map(PathBuf::from)
}

/// `$PCP_SYSCONF_DIR`: configuration.
#[must_use]
pub fn config_dir() -> PathBuf {
    variable(c"PCP_SYSCONF_DIR").unwrap_or_else(|| "/etc/pcp".into())
}

/// `$PCP_VAR_DIR/config/pmda`: the folder of libpcp_pmda's caches and of other persistent state.
#[must_use]
pub fn state_dir() -> PathBuf {
    variable(c"PCP_VAR_DIR").unwrap_or_else(|| "/var/lib/pcp".into()).join("config/pmda")
}

/// `$PCP_PMDAS_DIR`: a folder for each PMDA, with its help texts.
#[must_use]
pub fn pmdas_dir() -> PathBuf {
    variable(c"PCP_PMDAS_DIR").unwrap_or_else(|| "/var/lib/pcp/pmdas".into())
}
