//! All I/O with peers: tokio sockets and a thread that follows files. Sessions decide, this only
//! carries bytes.

mod connection;
mod gate;
pub(crate) mod ledger;
mod supervisor;
mod tail;
mod tcp;
mod turns;

pub use supervisor::{Signal, Supervisor};
