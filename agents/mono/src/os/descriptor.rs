//! Descriptors in a table that the program shares and may disturb.
//!
//! Daemons close descriptors that they did not open, and native code closes some twice. The number
//! then belongs to a file or socket of the program, into which this module must not write, from
//! which it must not read, and which it must not close. Two measures: numbers from [`LOWEST`] up,
//! which the kernel gives to nobody who takes the lowest free one, and a look at the identity
//! before each use.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};

use crate::os::sys::{self, Identity};

/// Lowest descriptor number of the module, if the program's limit admits it. Loops over "all"
/// descriptors often end below.
const LOWEST: i32 = 100;

/// A descriptor with the identity of what it was opened for.
#[derive(Debug)]
pub(crate) struct Descriptor<T: AsFd + IntoRawFd> {
    /// `None` only while it is dropped.
    inner: Option<T>,
    identity: Identity,
}

impl<T: AsFd + From<OwnedFd> + IntoRawFd> Descriptor<T> {
    /// Moves `fd` to a high number.
    pub(crate) fn new(fd: impl Into<OwnedFd>) -> io::Result<Self> {
        let fd: OwnedFd = fd.into();
        // Without a high number (ulimit -n) the low one remains.
        let fd = sys::duplicate_from(fd.as_fd(), LOWEST).unwrap_or(fd);
        let identity = sys::identity(fd.as_fd())?;
        Ok(Self { inner: Some(T::from(fd)), identity })
    }
}

impl<T: AsFd + IntoRawFd> Descriptor<T> {
    /// The file or socket, if its number still is the module's.
    pub(crate) fn get(&self) -> io::Result<&T> {
        let lost = || io::Error::other("the program has closed this module's descriptors");
        let inner = self.inner.as_ref().ok_or_else(lost)?;
        match sys::identity(inner.as_fd()) {
            Ok(identity) if identity == self.identity => Ok(inner),
            _ => Err(lost()),
        }
    }

    /// The number for a wait, which does no harm to a descriptor of the program.
    pub(crate) fn to_wait_for(&self) -> Option<BorrowedFd<'_>> {
        self.inner.as_ref().map(AsFd::as_fd)
    }

    /// For [`sys::close_in_child`].
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }
}

impl<T: AsFd + IntoRawFd> Drop for Descriptor<T> {
    fn drop(&mut self) {
        let ours = self.get().is_ok();
        if let Some(inner) = self.inner.take().filter(|_| !ours) {
            // The number is free or the program's: it must stay as it is.
            let _ = inner.into_raw_fd();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// What a program does that closes a descriptor of the module and opens one of its own.
    fn take_over(number: i32, with: &UnixStream) {
        sys::tests::replace(number, with.as_fd());
    }

    #[test]
    fn numbers_are_high_and_close_on_exec() {
        let (one, _two) = UnixStream::pair().unwrap();
        let held = Descriptor::<UnixStream>::new(one).unwrap();
        let number = held.get().unwrap().as_raw_fd();
        assert!(number >= LOWEST, "{number}");
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
        assert_ne!(u32::from_str_radix(flags, 8).unwrap() & libc::O_CLOEXEC as u32, 0, "{flags}");
    }

    #[test]
    fn a_number_that_is_the_programs_now_is_neither_used_nor_closed() {
        let (one, _two) = UnixStream::pair().unwrap();
        let held = Descriptor::<UnixStream>::new(one).unwrap();
        let number = held.get().unwrap().as_raw_fd();
        let (theirs, mut peer) = UnixStream::pair().unwrap();
        take_over(number, &theirs);
        drop(theirs);
        assert!(held.get().is_err());
        drop(held);
        // The number is open still: the program writes to it and its peer reads that.
        let mut program = sys::tests::adopt::<UnixStream>(number);
        program.write_all(b"theirs").unwrap();
        drop(program);
        let mut got = Vec::new();
        peer.read_to_end(&mut got).unwrap();
        assert_eq!(got, b"theirs");
    }
}
