//! One relay daemon, without I/O: which sessions are read, and the metrics and records they become.

mod collector;
mod reader;
mod reason;
mod session;

pub use collector::Collector;
pub use reader::Reader;
