//! pmdaapm: an agent (PMDA) of Performance Co-Pilot. Agents inside managed runtimes connect to it, or
//! are dialled, in their own protocols; their data becomes metrics and event records.
//!
//! ```text
//!  peer ──▶ io.rs of its source ──▶ session of its source ──▶ Update ──▶ store ──▶ callbacks ──▶ pmcd
//!           (net: listen, tail,     pure: bytes and time      (cells,    (crate pmda, main thread,
//!            tasks)                 in, Updates and reply     streams,    C calls only there)
//!                                   bytes out                 names)
//!  tokio workers ─────────────────────────────────────────────▶│◀──────────── main thread
//! ```
//!
//! The libraries in `crates/` know nothing of the PMDA; all rooms but `sources` know no protocol by
//! name; a source knows no other source; `sources/registry.rs` is the one list of them.
//! `tests/imports.rs` holds these rules.
//! Without feature `agent` only the pure part is built: it needs neither libpcp nor libclang.

#![deny(unsafe_code)]

pub mod read;

#[cfg(feature = "lttng")]
pub use ctf;

pub mod model;

pub mod catalogue;

pub use pcp_event as events;

pub mod sources;

pub mod store;

pub mod state;

pub mod config;

pub mod generate;

#[cfg(feature = "agent")]
pub mod clock;

#[cfg(feature = "agent")]
pub mod net;

#[cfg(feature = "agent")]
pub mod callbacks;

#[cfg(feature = "agent")]
pub mod options;

pub mod check;

pub mod pmlogconf;

#[cfg(feature = "agent")]
pub mod daemon;
