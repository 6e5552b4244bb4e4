//! Generic I/O with peers: TCP listeners, followed files, tasks. This module carries bytes; the
//! sources' sessions interpret them.

mod connection_limit;
mod driver;
mod handle;
pub(crate) mod ledger;
mod peers;
mod supervisor;
mod tail;
mod tcp;
mod turns;

pub use handle::Net;
pub use peers::Peers;
pub use supervisor::{Signal, Supervisor};
pub use tail::FileFactory;
pub use tcp::{Caller, Listen, SessionFactory, is_local};
