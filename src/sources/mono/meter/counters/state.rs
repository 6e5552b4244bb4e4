//! The state of one counter of a connection.

use super::hello::Announced;
use crate::model::{SampleValue, Value};

/// The state of one counter.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// Newest value, for a counter that is shown later: the agent sends only values that change.
    pub(super) last: Option<SampleValue>,
    /// The selection matches.
    pub(super) selected: bool,
    /// The agent does not sample the counter any more.
    pub(super) removed: bool,
    /// Added by a user, whether the selection matches or not.
    pub(super) forced: bool,
    /// Removed by a user, although the agent supports no Remove.
    pub(super) dropped: bool,
    /// Defined as a metric in the sink.
    pub(super) defined: bool,
    /// Shown, in the sink or in an update that is queued.
    pub(super) visible: bool,
}

impl Counter {
    /// Whether the values go to the sink.
    pub(super) const fn shown(&self, counter: &Announced) -> bool {
        !counter.unusable && !self.removed && !self.dropped && (self.forced || self.selected)
    }
}

/// The value of a metric with a name of its own.
pub(super) fn number(value: &SampleValue) -> Option<u64> {
    match value {
        SampleValue::Wrapping32(number) => Some((*number).into()),
        SampleValue::Value(Value::U64(number)) => Some(*number),
        SampleValue::Value(_) => None,
    }
}
