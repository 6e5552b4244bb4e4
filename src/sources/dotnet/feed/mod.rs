//! Processes whose events another source receives (docs/protocols/dotnet.md 5).
//!
//! ```text
//!  events of a trace, packet by packet ─▶ feed ─▶ hub ─▶ process: sorted by time ─▶ clr ─▶ meter, records
//! ```
//!
//! Only the process id in events tells processes apart, so they are instances of their own:
//! `dotnet:PID@HOST`.

mod hub;
mod process;
#[cfg(test)]
mod tests;

pub use hub::{Hub, PROVIDER, Streamed};
