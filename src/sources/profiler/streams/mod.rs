//! The streams that an agent sends, and the records in them (docs/protocols/java-profiler.md B).

mod call_values;
pub(super) mod calls;
pub(super) mod decode;
mod dictionary;
pub(super) mod gc;
pub(super) mod gc_line;
pub(super) mod observer;
mod params;
mod phrases;
pub(super) mod pod;
pub(super) mod record;
pub(super) mod resume;
pub(super) mod scan;
mod suspend;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
pub(super) mod text;
mod trace;
mod values;
