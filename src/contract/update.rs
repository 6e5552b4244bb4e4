//! What is said of a peer, and requests from a user to a session.

use std::net::SocketAddr;

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
    /// The host that it is on, if that is another one: the label `host`.
    pub host: Option<String>,
    /// Instance labels: name and value.
    pub labels: Vec<(&'static str, String)>,
    /// A peer of the same name is the same process: its values and 32-bit counters continue.
    pub resumes: bool,
    /// Tells processes of this name apart, if the protocol can. A connection of the same process
    /// replaces an older one even if that looks alive, and a new process is counted as a restart.
    pub process: Option<String>,
    /// The service or program that it is one of; `None`: none, or the session binds the rows itself. The
    /// label that [`ServiceOf`](crate::catalogue::ServiceOf) names has to be in `labels` too.
    pub service: Option<Service>,
    /// Connections of one process by other ways stay beside this one, which replaces only one of
    /// the same way. 0 is the best: its address and labels count, and requests go to it.
    pub way: u8,
    /// Both ends of the connection that it came by, its own first: they tell whose process it is in
    /// ([`SourceTable::agents_of`](crate::catalogue::SourceTable)).
    pub ends: Option<Box<(SocketAddr, SocketAddr)>>,
}

/// The service or program of a peer: the store adds what the peer counts to its rows, as the table of the
/// source says ([`Services`](crate::catalogue::Services)). It binds the service's row to slot 0 of their table.
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

/// What a method of [`Peer`](super::Peer) says; the methods tell what each is.
#[derive(Debug)]
#[expect(missing_docs, reason = "they are those of Peer")]
pub enum Update<'a> {
    Identity(Identity),
    Condition(Condition),
    Message,
    Error(&'a str),
    Interval(std::time::Duration),
    Answer { control: ControlId, text: String },

    Count { item: MetricItem, more: u64 },
    Set { item: MetricItem, value: Value },
    Unset { item: MetricItem },

    Define { slot: u32, spec: &'a MetricSpec },
    Unshown(u64),
    Hide { slot: u32 },
    Value { slot: u32, row: Option<u32>, value: Value },
    Add { slot: u32, row: Option<u32>, more: Value },
    NoValue { slot: u32, row: Option<u32> },
    Sample { kind: EventKindId, stamp: Stamp, values: &'a [(u32, SampleValue)] },

    Row { table: TableId, slot: u32, key: Option<&'a str> },
    RowLabels { table: TableId, slot: u32, labels: &'a [(&'static str, &'a str)] },
    RowMember { table: TableId, slot: u32 },
    RowCount { slot: u32, item: RowItem, more: u64 },
    RowSet { slot: u32, item: RowItem, value: u64 },
    RowMax { slot: u32, item: RowItem, value: u64 },
    RowUnset { slot: u32, item: RowItem },
    FreeRows { table: TableId },
    ForgetRows { table: TableId },
}

/// A value of [`Peer::sample`](super::Peer::sample).
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

/// Identifies a parameter of event records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamId {
    /// One of the source's parameters.
    Item(ParamItem),
    /// The session's own number of [`Peer::define`](super::Peer::define).
    Slot(u32),
}

impl From<ParamItem> for ParamId {
    fn from(item: ParamItem) -> Self {
        Self::Item(item)
    }
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
