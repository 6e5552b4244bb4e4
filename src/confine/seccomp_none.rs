//! The place of the filters of system calls on an architecture that they are not for.

use super::Kind;

const NONE: &str = "there is none for this architecture";

pub(super) fn confine_process(_: Kind) -> Result<(), String> {
    Err(NONE.to_owned())
}

pub(super) fn confine_thread(_: Kind) -> Result<(), String> {
    Err(NONE.to_owned())
}

/// The lists, a line for each call.
#[must_use]
pub fn print() -> String {
    String::new()
}
