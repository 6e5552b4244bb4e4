//! Generic I/O with peers: TCP and HTTP listeners, followed files, tasks. This module carries bytes; the
//! sources' sessions interpret them.

mod connection_limit;
mod driver;
mod finish;
pub mod guard;
mod handle;
mod http;
pub(crate) mod ledger;
mod listener;
mod peers;
pub mod state_file;
mod supervisor;
mod tail;
mod tcp;
mod tls;
mod turns;

pub use handle::Net;
pub use http::{HttpLimits, HttpListen};
pub use peers::Peers;
pub use supervisor::{Signal, Supervisor};
pub use tail::FileFactory;
pub use tcp::{Caller, Listen, SessionFactory, is_local};
pub use tls::{Tls, TlsFiles};
