//! Event records of spans and exceptions, from the same body that the meter counts.

mod allowed;
mod draft;
mod shape;
mod spans;
mod text;
mod top;

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;

pub(crate) use allowed::Allowed;
pub(crate) use spans::{SpanRecords, Spans};
