//! Where records come from.

mod lines;
mod pcp;

use std::sync::atomic::{AtomicBool, Ordering};

pub use lines::{Lines, LinesError};
pub use pcp::{Looked, Pcp, Then, Wanted};

static STOPPED: AtomicBool = AtomicBool::new(false);

/// What is set when all reading is to end.
#[must_use]
pub fn end_flag() -> &'static AtomicBool {
    &STOPPED
}

/// Whether the end was asked for.
#[must_use]
pub fn stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}
