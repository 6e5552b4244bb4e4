//! The `lttng` program: what it prints, and what its answers and exit statuses mean.

pub mod mi;
mod reply;

pub use reply::{CommandError, Exit, Reply};

#[cfg(test)]
pub(super) mod recorded;
