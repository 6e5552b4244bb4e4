//! The shared area of each Mono process, `/dev/shm/mono.PID` (docs/protocols/mono-shm.md), without
//! I/O.
//!
//! ```text
//!  /proc ─▶ table: which to look at ─▶ maps: where the area is ─▶ access: whether it can be read
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
mod table;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
mod user;

pub(crate) use access::Access;
pub(crate) use layout::{PAGE, Refusal};
pub(crate) use maps::{Mapping, in_memory, mapping, runtime};
pub(crate) use meter::Meter;
pub(crate) use table::{Change, Look, Table};
