//! Processes of this host, by /proc and sock_diag(7). All of it blocks.

mod diag;
mod files;
mod sockets;
mod text;

pub use files::{ProcDir, ProcFs, folder, folder_in, path_of};
pub use sockets::{Holding, holds, socket_inode};
pub use text::{ProcStat, ProcStatus};
