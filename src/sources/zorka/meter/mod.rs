//! The sums of one agent, from its trace bodies.

pub(crate) mod agent;
mod attributes;
pub(crate) mod copies;
mod exceptions;
pub(crate) mod methods;
mod rows;
mod sql;
mod stacks;
mod statements;
mod text;
mod types;
mod walk;
