//! Processes of this host, by /proc and sock_diag(7). All of it blocks.

mod diag;
mod files;
mod sockets;
mod text;

pub use files::{ProcDir, ProcFs, folder, folder_in, path_of};
pub use sockets::{Holding, Socket, holds, socket};
pub use text::{ProcStat, ProcStatus};
