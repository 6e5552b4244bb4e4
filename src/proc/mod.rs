//! Processes of this host, by /proc and sock_diag(7). All of it blocks.

mod diag;
mod files;
mod sockets;
mod text;

pub use files::{ProcDir, ProcFs, folder, folder_in, path_of};
pub use sockets::{Holding, Socket, holds, socket};
pub use text::{ProcStat, ProcStatus};

/// What is private here, for `fuzz/fuzz_targets/proc_texts.rs`.
#[cfg(fuzzing)]
pub mod fuzzing {
    use std::net::SocketAddr;

    use rustix::io::Errno;

    use super::{Socket, diag, sockets};

    /// The socket of a line of /proc/PID/net/tcp.
    #[must_use]
    pub fn connection(line: &[u8], local: SocketAddr) -> Option<Socket> {
        sockets::connection(line, local)
    }

    /// An answer of sock_diag(7).
    ///
    /// # Errors
    /// As the kernel says, or it is no answer.
    pub fn answer(bytes: &[u8]) -> Result<Option<Socket>, Errno> {
        diag::read(bytes)
    }
}
