//! The end of a client that runs until it is interrupted.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static FLAG: OnceLock<&'static AtomicBool> = OnceLock::new();

/// SIGINT and SIGTERM set the flag; a second one ends the process. The first call counts.
pub fn at_end(flag: &'static AtomicBool) {
    if FLAG.set(flag).is_err() {
        return;
    }
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: zeros are a sound sigaction.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = seen as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: sigaction(2): the handler only stores into an atomic.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

extern "C" fn seen(_signal: c_int) {
    if let Some(flag) = FLAG.get() {
        flag.store(true, Ordering::Relaxed);
    }
}
