//! pmdaapm: an agent (PMDA) of Performance Co-Pilot. Agents inside managed runtimes connect to it,
//! or it connects to them, in their own protocols; their data becomes metrics and event records.
//!
//! ```text
//!  peer ──▶ io.rs of its source ──▶ session of its source ──▶ Update ──▶ store ──▶ callbacks ──▶ pmcd
//!           (net: listen, tail,     pure: bytes and time      (cells,    (crate pmda, main thread,
//!            tasks)                 in, Updates and reply     streams,    C calls only there)
//!                                   bytes out                 names)
//!  tokio workers ─────────────────────────────────────────────▶│◀──────────── main thread
//! ```
//!
//! `contract` has what a source's author must know; the store and `net` are its other side.
//! `host` has the processes of this host for all sources that look for them.
//! The libraries in `crates/` are independent of the PMDA; only `sources` knows protocols by name;
//! a source knows no other source; `sources/registry.rs` lists them all; `meter` has the sums that
//! several sources make, `runtimes` what those of managed runtimes have in common; `twins` finds processes
//! that two sources have; `confine` has what processes and threads give up, and the way to what they may not do
//! themselves. `tests/imports.rs` checks these rules. Without feature `agent` only the pure part is built: it needs neither libpcp nor
//! libclang.

#![deny(unsafe_code)]
// A program: its pages are read with --document-private-items.
#![allow(rustdoc::private_intra_doc_links)]

/// The version of this program: `0.1.0+8c2f1d0a3b`, of the package and of the commit that it was built
/// from; of the package alone in builds for tests.
pub const VERSION: &str = env!("PMDAAPM_VERSION");

pub mod read;

#[cfg(feature = "lttng")]
pub use ctf;

pub mod model;

pub mod catalogue;

pub use pcp_event as events;

#[cfg(feature = "meter")]
pub mod meter;

pub mod contract;

#[cfg(any(feature = "dotnet", feature = "mono"))]
#[cfg_attr(
    not(all(feature = "dotnet", feature = "mono")),
    allow(dead_code, unused_imports, reason = "sources need different parts")
)]
mod runtimes;

pub mod store;

pub mod sources;

pub mod state;

pub mod config;

pub mod generate;

pub mod ids;

#[cfg(feature = "agent")]
pub mod confine;

#[cfg(feature = "agent")]
pub mod host;

#[cfg(feature = "agent")]
pub mod clock;

#[cfg(feature = "agent")]
pub mod net;

#[cfg(feature = "agent")]
mod twins;

#[cfg(feature = "agent")]
pub mod callbacks;

#[cfg(feature = "agent")]
pub mod forget;

#[cfg(feature = "agent")]
pub mod options;

pub mod check;

pub mod pmlogconf;

pub mod page;

#[cfg(feature = "agent")]
pub mod daemon;
