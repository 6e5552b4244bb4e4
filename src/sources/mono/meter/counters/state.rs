//! The state of one counter of a connection.

use super::hello::Announced;
use crate::contract::SampleValue;
use crate::model::Value;

/// The state of one counter.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// Newest value as it was sent, for a counter that is shown later: the agent sends only values
    /// that change. Of no bytes: there is none, or it is among [`Texts`].
    last: [u8; 8],
    length: u8,
    /// The selection matches.
    pub(super) selected: bool,
    /// The agent does not sample the counter any more.
    pub(super) removed: bool,
    /// Added by a user, whether the selection matches or not.
    pub(super) forced: bool,
    /// Removed by a user, although the agent supports no Remove.
    pub(super) dropped: bool,
    /// Defined as a metric.
    pub(super) defined: bool,
    /// Shown, or about to be by an update that is queued.
    pub(super) visible: bool,
}

impl Counter {
    /// Keeps the bytes of a number; none are kept of what is no number.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.length = 0;
        if let (Some(to), Ok(length)) = (self.last.get_mut(..bytes.len()), bytes.len().try_into()) {
            to.copy_from_slice(bytes);
            self.length = length;
        }
    }

    /// The bytes of the newest number; empty if there is none.
    pub(super) fn kept(&self) -> &[u8] {
        self.last.get(..self.length.into()).unwrap_or_default()
    }

    /// Whether the values are passed on.
    pub(super) const fn shown(&self, counter: &Announced) -> bool {
        !counter.unusable && !self.removed && !self.dropped && (self.forced || self.selected)
    }
}

/// The newest texts by index, ascending: few counters are texts.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<(u16, Box<str>)>,
    bytes: usize,
}

impl Texts {
    /// The newest text of a counter.
    pub(super) fn get(&self, index: u16) -> Option<&str> {
        let at = self.all.binary_search_by_key(&index, |(of, _)| *of).ok()?;
        self.all.get(at).map(|(_, text)| &**text)
    }

    /// Replaces the text of a counter.
    pub(super) fn set(&mut self, index: u16, text: Option<&str>) {
        let at = self.all.binary_search_by_key(&index, |(of, _)| *of);
        if let Ok(at) = at {
            self.bytes -= self.all.remove(at).1.len();
        }
        if let Some(text) = text {
            self.bytes += text.len();
            self.all.insert(at.unwrap_or_else(|at| at), (index, text.into()));
        }
    }

    /// Bytes allocated.
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.all.capacity() * size_of::<(u16, Box<str>)>()
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
