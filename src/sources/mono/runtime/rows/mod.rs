//! Rows of tables: of fixed names, and of names that are known later.

mod fixed;
mod pending;

pub(super) use fixed::Fixed;
pub(super) use pending::Pending;

/// For what has no name.
pub(super) const UNKNOWN: &str = "?";
