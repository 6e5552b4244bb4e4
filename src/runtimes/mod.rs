//! What sources with the events of managed runtimes have in common: rows that a process counts in, and halves
//! of pairs of events. Nothing here knows a protocol.

mod open;
mod rows;

pub(crate) use open::Open;
pub(crate) use rows::{KEY, Layout};
