//! What a session tells the store, and what a user may tell a session.

use super::{
    ControlId, EventKindId, MetricItem, MetricSpec, ParamItem, RowItem, Stamp, TableId, Value,
};

/// Who a peer is, as far as its protocol or the operating system told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Instance name within the source, no blanks: `gcpressure.exe:1234`.
    pub name: String,
    /// Where the peer is: an address or a file.
    pub peer: String,
    /// Instance labels: name and value.
    pub labels: Vec<(&'static str, String)>,
    /// The same process as before if the name is the same: its values and 32-bit counters go on.
    pub resumes: bool,
    /// Which process of this name it is, if the protocol tells: a connection of the same process
    /// takes over from an older one, however alive that looks, and a new process is counted as
    /// a restart.
    pub process: Option<String>,
}

/// One thing that happened in a peer's conversation.
#[derive(Debug)]
pub enum Update<'a> {
    /// The peer is known from here on; nothing is kept of updates before it except counts.
    Identity(Identity),
    /// The session's `slot` (small, dense, never reused) stands for this metric.
    Define {
        /// The session's own number for the metric.
        slot: u32,
        /// Its description.
        spec: &'a MetricSpec,
    },
    /// So many metrics that the peer has are not passed on, since more cannot be shown.
    Unshown(u64),
    /// The peer no longer says what the value of this slot is: the last one is not true for ever.
    Hide {
        /// The slot.
        slot: u32,
    },
    /// A static cell metric of the source (`ValueSource::Cell`, `Recent` or `Text`).
    Set {
        /// The metric.
        item: MetricItem,
        /// The value.
        value: Value,
    },
    /// A static cell metric of the source grows; it goes on when the same peer comes back.
    Count {
        /// The metric.
        item: MetricItem,
        /// By how much.
        more: u64,
    },
    /// Values that the peer sent at one moment: cells are set and one record goes to event stream
    /// `kind`.
    Sample {
        /// The kind of events.
        kind: EventKindId,
        /// When, for the record.
        stamp: Stamp,
        /// Slots with their new values, in the peer's order.
        values: &'a [(u32, SampleValue)],
    },
    /// The peer no longer says what the value of this static metric is.
    Unset {
        /// The metric.
        item: MetricItem,
    },
    /// The session's `slot` of a table (small, dense) stands for the row of this key from now on.
    Row {
        /// The table.
        table: TableId,
        /// The session's own number for the row.
        slot: u32,
        /// The row's instance name, without blanks; `None`: the row for all the rest.
        key: Option<&'a str>,
    },
    /// Labels of a row's instance, beside those that all of its domain have; they replace what was
    /// said before.
    RowLabels {
        /// The table.
        table: TableId,
        /// The row.
        slot: u32,
        /// Names, as of `pmLookupLabels(3)`, and values.
        labels: &'a [(&'static str, &'a str)],
    },
    /// A cell of a row grows.
    RowCount {
        /// The row.
        slot: u32,
        /// The metric, and so the table.
        item: RowItem,
        /// By how much.
        more: u64,
    },
    /// No slot of a table stands for a row any more: the session numbers anew.
    FreeRows {
        /// The table.
        table: TableId,
    },
    /// One event with typed parameters. Records reach their stream when the session's call is over.
    Event {
        /// The kind of events.
        kind: EventKindId,
        /// When.
        stamp: Stamp,
        /// `PM_EVENT_FLAG_*`.
        flags: u32,
        /// Parameters in their order.
        params: &'a [EventParam<'a>],
    },
    /// Time between two samples, so that silence can be told from slowness.
    Interval(std::time::Duration),
    /// A complete message was read.
    Message,
    /// A bad record or refused request that did not end the conversation.
    Error(&'a str),
    /// The answer to a control request.
    Answer {
        /// The control.
        control: ControlId,
        /// What to show.
        text: String,
    },
}

/// A value of an [`Update::Sample`].
#[derive(Clone, PartialEq)]
pub enum SampleValue {
    /// A value in the type of its metric, or in one that is converted to it.
    Value(Value),
    /// A counter of 32 bits that wraps: the store widens it into a `U64` by differences modulo
    /// 2^32.
    Wrapping32(u32),
}

impl From<Value> for SampleValue {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl PartialEq<Value> for SampleValue {
    fn eq(&self, other: &Value) -> bool {
        matches!(self, Self::Value(value) if value == other)
    }
}

impl std::fmt::Debug for SampleValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Wrapping32(value) => write!(f, "Wrapping32({value})"),
        }
    }
}

/// A parameter of an [`Update::Event`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventParam<'a> {
    /// Which.
    pub id: ParamId,
    /// Its value.
    pub value: EventValue<'a>,
}

/// Which parameter of event records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamId {
    /// One of the source's parameters.
    Item(ParamItem),
    /// The session's own number of [`Update::Define`].
    Slot(u32),
}

impl<'a> EventParam<'a> {
    /// A number, for one of the source's parameters.
    #[must_use]
    pub const fn number(item: ParamItem, value: u64) -> Self {
        Self { id: ParamId::Item(item), value: EventValue::Number(value) }
    }

    /// A text, for one of the source's parameters.
    #[must_use]
    pub const fn text(item: ParamItem, value: &'a str) -> Self {
        Self { id: ParamId::Item(item), value: EventValue::Text(value) }
    }
}

/// The value of an event parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventValue<'a> {
    /// A number, of the type that the parameter has.
    Number(u64),
    /// A text.
    Text(&'a str),
}

/// A request from a user to one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// `pmstore` to a control metric.
    Request(ControlId, String),
    /// The configuration changed: patterns of counters to select.
    Select(Vec<String>),
    /// A newer connection of the same peer took over.
    Replaced,
}
