//! What is known of a process: by the host, and by what it says of itself.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::name;
use crate::read::glob;

/// A process of this host: an id that is used again has another start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Process id as this host sees it.
    pub pid: u32,
    /// Time of the start in clock ticks since boot.
    pub start: u64,
}

/// The facts about a process that the host knows. They do not change while it lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Process id as this host sees it.
    pub pid: u32,
    /// Time of the start in clock ticks since boot.
    pub start: u64,
    /// Time of the start in ms since 1970, if it is known.
    pub started: Option<i64>,
    /// Process id in the innermost pid namespace: what the process calls itself.
    pub inner_pid: u32,
    /// Name of the main thread.
    pub comm: String,
    /// Arguments, each with a NUL behind it; may be empty.
    pub command: Vec<u8>,
    /// Name of the effective user, or its number.
    pub owner: String,
    /// It began before this PMDA.
    pub older: bool,
}

impl Facts {
    /// The command line with blanks between arguments.
    pub(crate) fn command_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.command);
        text.trim_end_matches('\0').replace(|c: char| c.is_control(), " ")
    }

    /// The name of the program.
    pub(crate) fn program(&self) -> String {
        name::program(&self.command, &self.comm)
    }

    /// One of these patterns, in which `*` is any text, is that of its name.
    pub(crate) fn matches(&self, patterns: &[String]) -> bool {
        let program = self.program();
        patterns.iter().any(|pattern| glob(pattern.as_bytes(), program.as_bytes()))
    }

    /// The process.
    pub(crate) const fn key(&self) -> Key {
        Key { pid: self.pid, start: self.start }
    }
}

/// What a peer says of its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said<'a> {
    /// Process id in its own pid namespace.
    pub pid: u32,
    /// Command line, blanks between arguments.
    pub command: Option<&'a str>,
    /// Time since 1970 of its start, or of that of the stream.
    pub started: Option<Duration>,
}

/// Where a peer's bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// A connection, by the addresses and ports of both ends.
    Tcp {
        /// That of the peer.
        peer: SocketAddr,
        /// That of this process.
        ours: SocketAddr,
    },
    /// A file.
    File(PathBuf),
}

/// Answers of the operating system.
pub(crate) trait Host: Send + Sync {
    /// The process that says so of itself and has the connection or the file open. A file may be
    /// closed again if the start times fit. `None`: it is on another host, has ended or is hidden
    /// from us.
    fn find(&self, via: &Via, said: &Said<'_>) -> Option<Facts>;
}

impl<H: Host> Host for Arc<H> {
    fn find(&self, via: &Via, said: &Said<'_>) -> Option<Facts> {
        self.as_ref().find(via, said)
    }
}
