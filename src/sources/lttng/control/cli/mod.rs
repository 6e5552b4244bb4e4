//! The `lttng` program: its output, and the meaning of its answers and exit statuses.

pub mod mi;
mod reply;

pub use reply::{CommandError, Exit, Reply};

#[cfg(test)]
pub(super) mod recorded;
