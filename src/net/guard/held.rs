//! A connection of which the second process has a duplicate.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::Guard;

/// The child has a duplicate of a connection, until this is dropped.
#[derive(Debug)]
pub struct Hold {
    pub(super) guard: Arc<Guard>,
    /// Number of the child.
    pub(super) child: u64,
    pub(super) id: u64,
    /// Times that all connections had been ended before.
    pub(super) cuts: u64,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.guard.release(self.child, self.id);
    }
}

/// A connection to a program that waits for us. If the PMDA stands still, it is ended from outside.
#[derive(Debug)]
pub struct Guarded {
    socket: UnixStream,
    hold: Option<Hold>,
}

impl Guarded {
    /// A connection, and what [`Guard::hold`] gave for it.
    #[must_use]
    pub const fn new(socket: UnixStream, hold: Option<Hold>) -> Self {
        Self { socket, hold }
    }

    /// Has it held again, if the child is another one since, or had no room. To be called now and then.
    pub fn keep(&mut self, guard: &Arc<Guard>) {
        if self.hold.as_ref().is_none_or(|hold| hold.child != guard.number()) {
            self.hold = guard.hold(&self.socket);
        }
    }

    /// Connections were ended since this one began, because the PMDA stood still.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.guard.cuts() > hold.cuts)
    }
}

impl From<UnixStream> for Guarded {
    /// Held by nobody yet.
    fn from(socket: UnixStream) -> Self {
        Self::new(socket, None)
    }
}

impl Read for Guarded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The child's duplicate would keep it open for a moment.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
