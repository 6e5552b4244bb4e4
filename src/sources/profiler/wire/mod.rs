//! The conversation with an agent: commands and replies (docs/protocols/java-profiler.md A).

pub(super) mod command;
pub(super) mod dialogue;
pub(super) mod identity;
mod inflate;
