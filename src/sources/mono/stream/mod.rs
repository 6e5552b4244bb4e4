//! A session of Mono's log profiler, over a connection or from a growing file
//! (docs/protocols/mono-mlpd.md).
//!
//! ```text
//!  bytes ─▶ mlpd ─▶ visit ─┬─▶ names (methods, classes, threads)      ─┐
//!                          ├─▶ counters ─▶ meter::updates (as module)  ├─▶ peer, once a flush
//!                          └─▶ runtime (gc, exceptions, locks, ...)   ─┘
//! ```
//!
//! All threads' buffers come once a second and not in the order of time, so figures are reported
//! and records are sorted when a flush has been read. The session always reads: a stream that is
//! not read grows in the memory of the program, which then cannot end. What it cannot read it
//! closes.

mod clock;
mod controls;
mod counters;
mod names;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod visit;

/// First bytes of a gzip stream: the log profiler with its option `zip`.
pub(super) const GZIP: &[u8] = &[0x1f, 0x8b];

pub use session::{Settings, Stream};
