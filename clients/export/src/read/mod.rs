//! Where records come from.

mod lines;

pub use lines::{Lines, LinesError};
