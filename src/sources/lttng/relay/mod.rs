//! One relay daemon, without I/O: choice of its sessions, and their metrics and records.

mod collector;
mod reader;
mod reason;
mod session;

pub use collector::Collector;
pub use reader::Reader;
