//! Places for sums between two reports: static metrics, rows, histograms, and halves of pairs.

mod figures;
mod histogram;
mod open;
mod rows;

pub(super) use figures::Figures;
pub(super) use histogram::Histogram;
pub(super) use open::Open;
pub(super) use rows::{Layout, Rows, bind};
