//! One relay daemon, without I/O: choice of its sessions, and their metrics and records.

mod collector;
mod own_viewers;
mod reader;
mod reason;
mod session;

pub use collector::Collector;
pub use own_viewers::OwnViewers;
pub use reader::Reader;
