//! States of reading, and whether a process can be reached.

use std::sync::Arc;

/// State of reading one process: the values of `apm.dotnet.session.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It was found; nothing has been asked, or there is nothing to connect to.
    Found = 0,
    /// A permission is missing.
    NoPermission = 1,
    /// It has been asked and has not begun to stream.
    Connected = 2,
    /// Events come.
    Streaming = 3,
    /// A session is being ended.
    Stopping = 4,
    /// It does not answer, or refuses.
    Refused = 5,
    /// The process has ended.
    Gone = 6,
}

/// Whether the process can be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Through its diagnostics socket.
    Socket,
    /// Through its connections to us: it may wait for ResumeRuntime.
    Port,
    /// A permission is missing; in words.
    Denied(Arc<str>),
    /// There is nothing to connect to, or reading is not wanted; in words.
    Off(Arc<str>),
}

impl Reach {
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Socket | Self::Port)
    }
}
