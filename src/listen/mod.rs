//! All I/O with peers: tokio sockets and a thread that follows files. Sessions decide, this only
//! carries bytes.

mod connection;
mod gate;
mod ledger;
mod lttng;
mod supervisor;
mod tail;
mod tcp;
mod turns;

pub use lttng::{LttngControl, LttngOptions, OnAnswer};
pub use supervisor::{Signal, Supervisor};
