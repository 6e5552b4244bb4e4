//! pmdaapm: an agent (PMDA) of Performance Co-Pilot. Agents inside managed runtimes connect to it, or
//! are dialled, in their own protocols; their data becomes metrics and event records.
//!
//! ```text
//!  peers ──▶ io.rs of a source ──▶ its decoders ──▶ Update, Batch ──▶ store ──▶ callbacks ──▶ pmcd
//!            over net: listen,      pure: bytes and   values and       cells,    crate pmda,
//!            follow files, tasks    time in, replies  event records    names,    calls of C only
//!                                   out                                streams   there
//!            ├──────────────── tokio workers ────────────────────────▶│◀── main thread ──┤
//! ```
//!
//! Three layers: the libraries in `crates/` know nothing of the program; `net`, `store`,
//! `catalogue`, `config` and `callbacks` know no protocol by name; a source in `sources` knows
//! no other source. `tests/imports.rs` checks the layers.
//!
//! Without feature `agent` only the pure part is built: it needs neither libpcp nor libclang nor
//! tokio. Each source has a feature of its name.

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
