//! One folder for each protocol. A session is pure: bytes and time in, what a [`Peer`] is told and reply
//! bytes out, without a socket, a clock, tokio or PCP. A new protocol is one folder here and one line in
//! [`registry`].
//!
//! [`Peer`]: crate::contract::Peer

#[cfg(feature = "dotnet")]
pub mod dotnet;
pub mod foreign;
#[cfg(feature = "jvm")]
pub mod jvm;
#[cfg(feature = "lttng")]
pub mod lttng;
#[cfg(feature = "mono")]
pub mod mono;
#[cfg(feature = "profiler")]
pub mod profiler;
pub mod registry;
mod source;
#[cfg(feature = "zorka")]
pub mod zorka;

pub use registry::catalogue;
pub use source::Source;
#[cfg(feature = "agent")]
pub use source::{Context, Running};

pub use crate::catalogue::SourceTable;
