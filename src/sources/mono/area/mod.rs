//! The shared area of each Mono process, `/dev/shm/mono.PID` (docs/protocols/mono-shm.md), without
//! I/O.
//!
//! ```text
//!  maps of a process ─▶ maps: where the area is ─▶ access: whether it can be read
//!  one page ─▶ layout: figures ─┬─▶ meter ─▶ Updates
//!                 categories ───┘
//! ```

mod access;
mod categories;
#[cfg(fuzzing)]
pub mod fuzzing;
mod layout;
mod maps;
mod meter;
mod page;
#[cfg(test)]
mod tests;
mod user;

pub(crate) use access::Access;
pub(crate) use layout::{PAGE, Refusal};
pub(crate) use maps::{Mapping, mapping, runtime};
pub(crate) use meter::Meter;
