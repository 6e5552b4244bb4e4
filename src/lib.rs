//! pmdaapm: a PCP agent (PMDA) that is the collector which runtime agents already talk to.
//!
//! ```text
//!  peers            tokio workers                                       hand-over            PMDA thread (main)
//!  mono  ──TCP──▶ net::tcp     ─▶ sources::mono     ─┐
//!  files ──read─▶ net::tail    ─▶   (and later        │ model::Update   store::Registry   ─▶ callbacks      ─▶ pmcd
//!                                 profiler, zorka,    ┼───────────────▶ (atomics, names)
//!                                 lttng)             ─┘                 events::Stream    ─▶ events::Array
//!                 I/O only        pure: no I/O, no clock                (rings, cursors)     C calls only here
//! ```
//!
//! net → sources → model → store → callbacks. Imports run from both ends to the middle: a source never
//! sees tokio or PCP, and `callbacks` never sees a protocol's bytes (`tests/imports.rs` checks it).
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
