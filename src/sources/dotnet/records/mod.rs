//! From the events of one process to event records in its streams.
//!
//! ```text
//!  meter::Occurrence ─▶ occurrence ──┐
//!  EventSource events ─▶ application ┼▶ waiting (a batch for each kind) ─▶ sorted by time ─▶ stream
//!  reports ──────────────────────────┘
//! ```

mod application;
mod lookup;
mod occurrence;
mod reader;
mod settings;
mod text;
mod threads;
mod waiting;
mod writer;

pub(super) use application::restore;
pub use lookup::{Lookup, Origin};
pub use reader::Records;
pub use settings::Settings;

#[cfg(test)]
mod tests;
