//! One folder for each protocol. A session is pure: bytes and time in, [`Update`]s and reply bytes
//! out, without a socket, a clock, tokio or PCP. A new protocol is one folder here and one line in
//! [`registry`].
//!
//! [`Update`]: crate::model::Update

#[cfg(any(feature = "dotnet", feature = "mono"))]
#[cfg_attr(
    not(all(feature = "dotnet", feature = "mono")),
    allow(dead_code, unused_imports, reason = "sources need different cells")
)]
mod cells;
mod contract;
#[cfg(feature = "dotnet")]
pub mod dotnet;
pub mod foreign;
pub mod http;
#[cfg(feature = "jvm")]
pub mod jvm;
#[cfg(feature = "lttng")]
pub mod lttng;
#[cfg(feature = "mono")]
pub mod mono;
#[cfg(feature = "profiler")]
pub mod profiler;
pub mod registry;
mod session;
mod sink;
#[cfg(feature = "zorka")]
pub mod zorka;

pub use contract::Source;
#[cfg(feature = "agent")]
pub use contract::{Context, Running};
pub use registry::catalogue;
pub use session::{Session, SessionError};
pub use sink::{Held, OwnSink, Sink, Sinks, start_counters};

pub use crate::catalogue::SourceTable;
