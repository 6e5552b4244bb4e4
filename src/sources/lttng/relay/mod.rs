//! One relay daemon, without I/O: which of its sessions are read, and what becomes of them.

mod collector;
mod reader;
mod reason;
mod session;

pub use collector::Collector;
pub use reader::Reader;
