//! The table of a source: name, ids, metrics, event kinds, instance domains and parameters. All of
//! it is in archives: ids in a table never change.

use crate::model::{EventKind, MetricDef, MetricSpec, Units, ValueType};

/// Metrics that peers bring: nodes, and how a description comes back after a restart.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    /// Node below the source's prefix under which the metrics are: `counter`. `None`: they are
    /// only parameters of event records, below `param`.
    pub node: Option<&'static str>,
    /// One line for the node's help.
    pub what: &'static str,
    /// Makes the description again from `MetricSpec::persist`; `None` if the line is not one of
    /// this source's.
    pub restore: fn(&str) -> Option<MetricSpec>,
    /// Metrics that exist before the first peer has come. Their order makes their ids: only ever
    /// append.
    pub initial: fn() -> Vec<MetricSpec>,
}

/// A table of a source: its rows are the instances of a domain of their own.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// What a row is: for labels and the log.
    pub name: &'static str,
    /// Serial number of its instance domain.
    pub indom: u32,
    /// One line and the help text of its instance domain.
    pub indom_help: (&'static str, &'static str),
    /// Rows belong to one peer each, and go with it; else all peers share them.
    pub of_peer: bool,
    /// Most rows. A shared table gives the places to the rows with most in cell `score`; the rest
    /// is in [`OTHER`].
    pub max: usize,
    /// Which cell says how much a row matters.
    pub score: u16,
    /// Rows that always exist.
    pub initial: fn() -> Vec<String>,
}

/// The row of a shared table that has what has no row of its own.
pub const OTHER: &str = "other";

/// A parameter of event records that a source always has.
#[derive(Clone, Copy, Debug)]
pub struct ParamDef {
    /// Item number in the cluster of parameters; 0 is `lost`.
    pub item: u16,
    /// Name below `param.`.
    pub name: &'static str,
    /// Value type.
    pub ty: ValueType,
    /// Units.
    pub units: Units,
    /// One line of help; the full text is made from it.
    pub oneline: &'static str,
}

/// One protocol as PCP sees it: what it is called, its ids, metrics, events and instances.
#[derive(Clone, Copy, Debug)]
pub struct SourceTable {
    /// Name: `mono`. Its metrics are `apm.<name>.*`, its agents `<name>::…`.
    pub name: &'static str,
    /// First of the [`CLUSTERS`] PMID clusters that belong to it.
    pub cluster: u16,
    /// Serial number of its instance domain.
    pub indom: u32,
    /// One line and the help text of its instance domain.
    pub indom_help: (&'static str, &'static str),
    /// The static metrics (`Area::Source` cells and texts, controls); the leaves of `events` are
    /// not among them.
    pub metrics: fn() -> Vec<MetricDef>,
    /// The kinds of events.
    pub events: &'static [EventKind],
    /// Metrics that its peers bring.
    pub dynamic: Option<Dynamic>,
    /// Tables with rows of their own.
    pub tables: &'static [TableDef],
    /// Parameters of its events, beside those of dynamic metrics.
    pub params: &'static [ParamDef],
    /// The static metric that counts new processes of a known name.
    pub restarts: Option<u16>,
    /// Values are sums of our own: they stay true when the peer is silent or gone. Else they are
    /// what the peer said last.
    pub keeps_values: bool,
}

/// PMID clusters reserved for each source: static +0, event leaves +1.., static parameters
/// +[`PARAM_CLUSTER`], dynamic metrics +[`DYNAMIC_CLUSTER`].., their parameters
/// +[`DYNAMIC_PARAM_CLUSTER`]...
pub const CLUSTERS: u16 = 64;
/// Cluster of `param.*` metrics that every source has, relative to the source's first.
pub const PARAM_CLUSTER: u16 = 15;
/// First cluster of dynamic metrics, relative to the source's first; 16 clusters of 1024 items.
pub const DYNAMIC_CLUSTER: u16 = 16;
/// First cluster of the parameters that belong to dynamic metrics; same order of items.
pub const DYNAMIC_PARAM_CLUSTER: u16 = 32;
/// Most dynamic metrics of a source: 16 clusters of 1024 items.
pub const DYNAMIC_MAX: usize = 16 * 1024;
