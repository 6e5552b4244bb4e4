//! A .NET process that was found, and whether it can be read.

use std::sync::Arc;

/// A process with a .NET runtime. What is here does not change while it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Process id as this host sees it; 0: the process is in another pid namespace that is not
    /// below that of the PMDA.
    pub pid: u32,
    /// Time of the start in clock ticks since boot, which is the key of the socket's name
    /// (docs/protocols/dotnet.md 1); 0 if `pid` is 0.
    pub start: u64,
    /// Time of the start in ms since 1970, if it is known.
    pub started: Option<i64>,
    /// Process id in the innermost pid namespace: what the process calls itself.
    pub container_pid: u32,
    /// Effective user.
    pub uid: u32,
    /// Name of the user, or its number.
    pub owner: String,
    /// Name from the command line: `app` for `dotnet /x/app.dll`. At most 200 bytes.
    pub name: String,
    /// Command line with blanks between arguments, at most [`limits::TEXT`](super::limits::TEXT)
    /// bytes.
    pub command: String,
    /// Tells processes of one name apart: start time, or the cookie of the runtime.
    pub key: String,
}

impl Target {
    /// The process id for names of instances.
    pub(crate) const fn shown_pid(&self) -> u32 {
        if self.pid == 0 { self.container_pid } else { self.pid }
    }
}

/// How a process is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// Through its diagnostics socket.
    Socket,
    /// Through a connection that it made to `dotnet.listen`.
    Port,
}

/// Whether a process can be read now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It can be connected to.
    Open(Via),
    /// It has a socket, or may have one, that this user may not connect to: why, and what to do.
    Denied(Arc<str>),
    /// It has no socket: why.
    Off(Arc<str>),
}
