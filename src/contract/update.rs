//! Updates from a session to the store, and requests from a user to a session.

use crate::model::{
    Condition, ControlId, EventKindId, MetricItem, MetricSpec, ParamItem, RowItem, Stamp, TableId,
    Value,
};

/// The identity of a peer, from its protocol or the operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Instance name within the source, no blanks: `gcpressure.exe:1234`.
    pub name: String,
    /// The peer's address or file.
    pub peer: String,
    /// Instance labels: name and value.
    pub labels: Vec<(&'static str, String)>,
    /// A peer of the same name is the same process: its values and 32-bit counters continue.
    pub resumes: bool,
    /// Tells processes of this name apart, if the protocol can. A connection of the same process
    /// replaces an older one even if that looks alive, and a new process is counted as a restart.
    pub process: Option<String>,
    /// The service or program that it is one of; `None`: none, or the session binds the rows itself.
    pub service: Option<Service>,
    /// Connections of one process by other ways stay beside this one, which replaces only one of
    /// the same way. 0 is the best: its address and labels count, and requests go to it.
    pub way: u8,
}

/// The service or program of a peer: the store adds what the peer counts to its rows, as the table of the
/// source says ([`Services`](crate::catalogue::Services)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Its row.
    pub name: String,
    /// Instance labels of its rows: name and value.
    pub labels: Vec<(&'static str, String)>,
    /// The peer began while this PMDA ran: what counters have when they are set first counts. Else that
    /// is of before.
    pub is_new: bool,
    /// Counters of rows that had a value already when the peer became what it is: slot and value. These do
    /// not count.
    pub before: Vec<(RowItem, u32, u64)>,
}

/// One event in a peer's session.
#[derive(Debug)]
pub enum Update<'a> {
    /// The peer is identified. Of earlier updates only counts are kept.
    Identity(Identity),
    /// Binds the session's `slot` (small, dense, never reused) to this metric.
    Define {
        /// The session's own number for the metric.
        slot: u32,
        /// Description of the metric.
        spec: &'a MetricSpec,
    },
    /// Number of the peer's metrics that are not passed on, since no more can be shown.
    Unshown(u64),
    /// The peer no longer reports this slot: its last value is removed.
    Hide {
        /// The slot.
        slot: u32,
    },
    /// Sets a dynamic metric of [`Place::Peers`](crate::model::Place) or, with the slot of a row in the
    /// metric's table, of [`Place::Rows`](crate::model::Place). Rows have numbers only.
    Value {
        /// The slot of the metric.
        slot: u32,
        /// The slot of the row.
        row: Option<u32>,
        /// The value, in the metric's type or one that is converted to it.
        value: Value,
    },
    /// Adds to a number, as [`Update::Value`] sets it; a metric without a value starts at 0.
    Add {
        /// The slot of the metric.
        slot: u32,
        /// The slot of the row.
        row: Option<u32>,
        /// By how much.
        more: Value,
    },
    /// Removes the value that [`Update::Value`] or [`Update::Add`] set.
    NoValue {
        /// The slot of the metric.
        slot: u32,
        /// The slot of the row.
        row: Option<u32>,
    },
    /// A static cell metric of the source (`ValueSource::Cell`, `Recent` or `Text`).
    Set {
        /// The metric.
        item: MetricItem,
        /// The value.
        value: Value,
    },
    /// Adds to a static cell metric of the source; the count continues when the same peer
    /// reconnects.
    Count {
        /// The metric.
        item: MetricItem,
        /// By how much.
        more: u64,
    },
    /// Values of one moment: cells are set and one record is appended to event stream `kind`.
    Sample {
        /// The kind of events.
        kind: EventKindId,
        /// Time of the record.
        stamp: Stamp,
        /// Slots and their new values, in the peer's order.
        values: &'a [(u32, SampleValue)],
    },
    /// The peer no longer reports this static metric.
    Unset {
        /// The metric.
        item: MetricItem,
    },
    /// Binds the session's `slot` (small, dense) of a table to the row of this key.
    Row {
        /// The table.
        table: TableId,
        /// The session's own number for the row.
        slot: u32,
        /// The row's instance name, without blanks; `None`: the row `other`.
        key: Option<&'a str>,
    },
    /// Instance labels of a row, beside those of its domain; they replace earlier ones.
    RowLabels {
        /// The table.
        table: TableId,
        /// The row.
        slot: u32,
        /// Label names, as in `pmLookupLabels(3)`, and values.
        labels: &'a [(&'static str, &'a str)],
    },
    /// The peer is a member of a row in a shared table while it is connected: it counts in the
    /// row's metric of [`ValueSource::Members`](crate::model::ValueSource). A peer is a member of one row
    /// of a table; the session repeats this about once a second, since the row may have lost or
    /// got its instance.
    RowMember {
        /// The table.
        table: TableId,
        /// The row.
        slot: u32,
    },
    /// Adds to a cell of a row.
    RowCount {
        /// The row.
        slot: u32,
        /// The metric, and so the table.
        item: RowItem,
        /// By how much.
        more: u64,
    },
    /// Sets a cell of a row: one that is no counter. The rows of a shared table have many writers,
    /// which must agree on the value, and [`OTHER`](crate::catalogue::OTHER) has none.
    RowSet {
        /// The row.
        slot: u32,
        /// The metric, and so the table.
        item: RowItem,
        /// Bits of the value, in the type of its metric.
        value: u64,
    },
    /// Raises a cell of a row to this value if it is lower or has none. A row that loses its
    /// instance raises the cell of the row `other`.
    RowMax {
        /// The row.
        slot: u32,
        /// The metric, and so the table.
        item: RowItem,
        /// The value, of an unsigned type.
        value: u64,
    },
    /// Removes the value of a cell of a row, as [`Update::RowSet`] sets it.
    RowUnset {
        /// The row.
        slot: u32,
        /// The metric, and so the table.
        item: RowItem,
    },
    /// Unbinds all slots of a table: the session numbers them anew.
    FreeRows {
        /// The table.
        table: TableId,
    },
    /// Removes the rows of the peer in a table of peers, and unbinds all slots. A row of the same key
    /// begins at 0.
    ForgetRows {
        /// The table.
        table: TableId,
    },
    /// One event with typed parameters. Records reach their stream when the session's call ends.
    Event {
        /// The kind of events.
        kind: EventKindId,
        /// Time of the event.
        stamp: Stamp,
        /// `PM_EVENT_FLAG_*`.
        flags: u32,
        /// Parameters in their order.
        params: &'a [EventParam<'a>],
    },
    /// Time between two samples, from which silence is detected.
    Interval(std::time::Duration),
    /// What is the matter with the peer from now on; a new connection begins sound.
    Condition(Condition),
    /// A complete message was read.
    Message,
    /// A bad record or refused request that did not end the session.
    Error(&'a str),
    /// The answer to a control request.
    Answer {
        /// The control.
        control: ControlId,
        /// Value of the control's metric.
        text: String,
    },
}

/// A value of an [`Update::Sample`].
#[derive(Clone, PartialEq)]
pub enum SampleValue {
    /// A value in the type of its metric, or in one that is converted to it.
    Value(Value),
    /// A counter of 32 bits that wraps: the store widens it to a `U64` by differences modulo 2^32.
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
    /// The parameter.
    pub id: ParamId,
    /// Its value.
    pub value: EventValue<'a>,
}

/// Identifies a parameter of event records.
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
    /// A newer connection of the same peer replaced this one.
    Replaced,
}
