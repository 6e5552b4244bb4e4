//! What sources with the events of managed runtimes have in common: places for sums between two reports
//! (rows, histograms, the longest of a minute) and halves of pairs of events. Nothing here knows a
//! protocol.

mod histogram;
mod longest;
mod open;
mod rows;

pub(crate) use histogram::Histogram;
pub(crate) use longest::Longest;
pub(crate) use open::Open;
pub(crate) use rows::{Layout, Rows, bind, clean};
