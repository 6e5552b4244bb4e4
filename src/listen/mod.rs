//! All I/O with peers: tokio sockets and a thread that follows files. Sessions decide, this only carries bytes.

mod connection;
mod gate;
mod supervisor;
mod tail;
mod tcp;

pub use supervisor::{Signal, Supervisor};
