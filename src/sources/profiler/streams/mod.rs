//! The streams that an agent sends, and the records in them (docs/protocols/java-profiler.md B).

mod call_params;
mod calls;
pub(super) mod decode;
pub(super) mod error;
pub(super) mod gc;
mod phrases;
pub(super) mod record;
pub(super) mod scan;
pub(super) mod short_event;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
mod trace;
mod values;
mod window;
