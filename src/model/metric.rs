//! What PCP is told about a metric: name, type, semantics, units, where its values are.

use std::borrow::Cow;

use pcp_event::{Semantics, Units, ValueType};

/// Which instance domain a metric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// no instances: the PMDA itself, or a parameter of event records
    Own,
    /// one instance for each peer of every source
    Agents,
    /// one instance for each thing that the metric's source watches (a Mono process, a pod, a
    /// session)
    Source,
    /// one instance for each row of the source's table with this position: methods, streams,
    /// buckets
    Table(u8),
}

/// The leaves below every `event.<kind>` node (design: "EV").
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
    /// records dropped unseen
    Lost,
    /// bytes held now
    Memory,
    /// contexts with a cursor
    Clients,
    /// newest rows as CSV
    Table,
    /// which records this client wants: text, storable
    Filter,
    /// the newest filter of this user that was refused
    FilterError,
    /// parameters cut or left out
    Truncated,
}

/// Where the value of a metric is found when it is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// a statistic of the PMDA itself; the number is the row in `store::self_stats`
    SelfStat,
    /// an atomic cell of the instance; its column is the item number
    Cell,
    /// as `Cell`, of a value that is about now: it goes when the peer is silent or gone, whatever
    /// stays of its source
    Recent,
    /// a text of the instance; its column is the item number
    Text,
    /// an atomic cell of the instance, column given: dynamic metrics
    Column(u16),
    /// nanoseconds since the instance's last message
    Idle,
    /// a leaf of the event stream with this position in the source's table
    Event(u8, EventLeaf),
    /// request and answer of a control metric: `pmstore` asks, fetch shows the last answer. Of an
    /// instance, or (`Area::Own`) of the source as a whole
    Control(super::ControlVerb),
    /// parameter of event records: exists for name and type only
    Param,
}

/// One metric of a static table. The full name is `apm.<prefix>.<name>`.
#[derive(Clone, Debug)]
pub struct MetricDef {
    /// Below the source's prefix: `samples`, `event.sample.count`.
    pub name: String,
    /// PMID cluster.
    pub cluster: u16,
    /// PMID item.
    pub item: u16,
    /// Value type.
    pub ty: ValueType,
    /// Semantics.
    pub sem: Semantics,
    /// Units.
    pub units: Units,
    /// Instance domain.
    pub area: Area,
    /// Where the value is.
    pub origin: Origin,
    /// One line of help.
    pub oneline: Cow<'static, str>,
    /// The full help text.
    pub help: Cow<'static, str>,
}

/// A kind of event stream of a source.
#[derive(Clone, Copy, Debug)]
pub struct EventKind {
    /// Name below `event.`.
    pub name: &'static str,
    /// PMID cluster of its leaves.
    pub cluster: u16,
    /// What one record is, one line: goes into the help of every leaf.
    pub what: &'static str,
    /// More about the records and their parameters.
    pub help: &'static str,
}

/// A metric that a peer brought: description in PCP's terms, made by the source from the peer's
/// words.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSpec {
    /// What the peer calls it; the identity over restarts: `GC/Minor GC collections`.
    pub key: String,
    /// Name components below the source's dynamic node, already sanitised:
    /// `gc.minor_gc_collections`.
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
    /// What the source needs to make this spec again after a restart; one line without control
    /// characters.
    pub persist: String,
}
