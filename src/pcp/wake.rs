//! An eventfd that wakes the PMDA thread out of poll(2).

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Cloned freely; any clone wakes the same thread.
#[derive(Clone, Debug)]
pub struct Wake(Arc<File>);

impl Wake {
    /// A new, quiet one.
    ///
    /// # Errors
    /// From eventfd(2).
    pub fn new() -> std::io::Result<Self> {
        // SAFETY: eventfd(2) takes no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self(Arc::new(File::from(fd))))
    }

    /// Wakes the thread. Never blocks: a full counter is as awake as can be.
    pub fn wake(&self) {
        let _ = (&*self.0).write(&1u64.to_ne_bytes());
    }

    /// Makes it quiet again.
    pub(super) fn clear(&self) {
        let _ = (&*self.0).read(&mut [0; 8]);
    }

    /// For poll(2).
    pub(super) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
