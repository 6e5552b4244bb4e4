//! One counter of a connection.

use std::sync::Arc;

use super::identity::IdentityCounter;
use super::values::Reader;
use crate::model::{MetricItem, SampleValue, Value};
use mono_counters::numbers::Numbers;

/// One counter of the agent.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) numbers: Numbers,
    pub(super) name: Arc<str>,
    pub(super) occurrence: u32,
    pub(super) identity: Option<IdentityCounter>,
    /// A metric of its own name has the value too.
    pub(super) named: Option<MetricItem>,
    pub(super) reader: Reader,
    /// The name is over `limits.name_length` or has control characters.
    pub(super) unusable: bool,
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
    /// Newest value, for a counter that is shown later: the agent sends only values that change.
    pub(super) last: Option<SampleValue>,
}

impl Counter {
    /// Whether the values go to the sink.
    pub(super) const fn shown(&self) -> bool {
        !self.unusable && !self.removed && !self.dropped && (self.forced || self.selected)
    }

    /// The metric with a name of its own that has this value too.
    pub(super) fn named(&self, value: &SampleValue) -> Option<(MetricItem, u64)> {
        let number = match value {
            SampleValue::Wrapping32(number) => (*number).into(),
            SampleValue::Value(Value::U64(number)) => *number,
            SampleValue::Value(_) => return None,
        };
        Some((self.named?, number))
    }
}
