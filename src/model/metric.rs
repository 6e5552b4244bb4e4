//! Descriptions of metrics in PCP's terms: name, type, semantics, units, and the source of their
//! values.

use pcp_event::{Semantics, Units, ValueType};

use super::{ControlId, EventKindId, EventTable, Leaf, TableId};

/// The instance domain of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InDom {
    /// `PM_INDOM_NULL`: one value, of the PMDA itself or of a source as a whole
    Null,
    /// one instance for each peer of every source
    Agents,
    /// one instance for each service or program of every source
    Services,
    /// one instance for each peer of the metric's source (a process, a pod, a session)
    Peers,
    /// one instance for each row of a table of the metric's source (methods, streams, buckets)
    Table(TableId),
}

/// The leaves below every `event.<kind>` node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventLeaf {
    /// packed array, microseconds
    Records,
    /// packed array, nanoseconds
    HighResRecords,
    /// records ever appended
    Count,
    /// packed bytes ever appended
    Bytes,
    /// records dropped before a client saw them
    Lost,
    /// bytes of the records kept now
    Memory,
    /// contexts with a cursor
    Clients,
    /// newest records as CSV
    Table,
    /// the filter of this client: text, storable
    Filter,
    /// the newest filter of this user that was refused
    FilterError,
    /// parameters cut or left out because their record would have been too large
    Truncated,
    /// slowest records of the last minutes as CSV
    Slowest,
}

/// Where a metric's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueSource {
    /// a statistic of the PMDA
    SelfStat,
    /// an atomic cell of the instance: the cell is the item
    Cell,
    /// the same for a sliding period: no value while the peer, or the peer of the row, is silent or
    /// gone; in a shared table, when no member has set it for a minute or all have gone
    Recent,
    /// number of the connected peers that are members of a row of a shared table
    Members,
    /// a text of the instance
    Text,
    /// the cell with this number: dynamic metrics of peers and of rows
    Column(u16),
    /// the same, as [`ValueSource::Recent`]
    RecentColumn(u16),
    /// nanoseconds since the instance's last message
    Idle,
    /// a leaf of an event stream
    Event(EventKindId, EventLeaf),
    /// request and answer of a control: `pmstore` requests, a fetch gets the newest answer
    Control(ControlId),
    /// the value of a peer or service that its source calls otherwise
    RollUp(Leaf),
    /// parameter of event records: has a name and type, no values
    Param,
}

/// One static metric of a source's table: of each peer (full name `apm.<source>.<name>`, in the
/// source's first cluster) or of each row of a table (in the table's cluster).
#[derive(Clone, Copy, Debug)]
pub struct MetricDef {
    /// Name below the source's prefix: `samples`, `method.count`.
    pub name: &'static str,
    /// PMID item: see `MetricItem` and `RowItem`.
    pub item: u16,
    /// Value type.
    pub ty: ValueType,
    /// Semantics.
    pub sem: Semantics,
    /// Units.
    pub units: Units,
    /// [`InDom::Peers`] or [`InDom::Table`].
    pub indom: InDom,
    /// Where the value comes from.
    pub value: ValueSource,
    /// One line of help.
    pub oneline: &'static str,
    /// The full help text.
    pub help: &'static str,
}

/// A kind of event stream of a source.
#[derive(Clone, Copy, Debug)]
pub struct EventKind {
    /// Name below `event.`.
    pub name: &'static str,
    /// PMID cluster of its leaves.
    pub cluster: u16,
    /// What one record is, in one line, for the help of every leaf.
    pub what: &'static str,
    /// More about the records and their parameters.
    pub help: &'static str,
    /// Its tables.
    pub table: EventTable,
}

/// Where a metric that a peer defines is shown, below its source's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A value of each peer, below this node, and a parameter of event records, below `param`:
    /// [`Peer::sample`](crate::contract::Peer::sample) brings both.
    Sampled(&'static str),
    /// A value of each peer, below this node: [`Peer::set_slot`](crate::contract::Peer::set_slot). One that is
    /// no counter is shown as [`ValueSource::Recent`].
    Peers(&'static str),
    /// The same of each row of a table that has one.
    Rows(&'static str, TableId),
    /// Only a parameter of event records, below `param`.
    Param,
}

impl Place {
    /// Node of the metrics with values: `counter`.
    #[must_use]
    pub const fn node(self) -> Option<&'static str> {
        match self {
            Self::Sampled(node) | Self::Peers(node) | Self::Rows(node, _) => Some(node),
            Self::Param => None,
        }
    }

    /// Whether there is a parameter of event records.
    #[must_use]
    pub const fn has_param(self) -> bool {
        matches!(self, Self::Sampled(_) | Self::Param)
    }

    /// The instance domain of the values.
    #[must_use]
    pub const fn indom(self) -> InDom {
        match self {
            Self::Sampled(_) | Self::Peers(_) => InDom::Peers,
            Self::Rows(_, table) => InDom::Table(table),
            Self::Param => InDom::Null,
        }
    }
}

/// A metric that a peer defines, described in PCP's terms by the source.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSpec {
    /// The peer's name for the metric, which identifies it over restarts among all places of the
    /// source: `GC/Minor GC collections`.
    pub key: String,
    /// One of the places of the source's [`Dynamic`](crate::catalogue::Dynamic).
    pub place: Place,
    /// Name components below the node of its place, already sanitised: `gc.minor_gc_collections`.
    pub path: String,
    /// Value type, the same for all peers.
    pub ty: ValueType,
    /// Semantics.
    pub sem: Semantics,
    /// Units.
    pub units: Units,
    /// One line of help.
    pub oneline: String,
    /// The full help text.
    pub help: String,
    /// Item labels: name and value.
    pub labels: Vec<(&'static str, String)>,
    /// The line from which the source restores the description after a restart; no control
    /// characters.
    pub persist: String,
}
