//! The table of a source: name, ids, metrics, event kinds, instance domains, parameters and
//! controls. Archives contain these ids: they must never change.

use std::ops::Range;

use super::roll_up::{RollUp, Services};
use crate::model::{
    ControlId, EventKind, InDom, MetricDef, MetricItem, MetricSpec, ParamItem, Place, ROW_ITEMS,
    RowItem, Semantics, TableId, Units, ValueSource, ValueType,
};

/// PMID clusters reserved for each source: static +0, event leaves +1.., static parameters
/// +[`PARAM_CLUSTER`], dynamic metrics +[`DYNAMIC_CLUSTER`].., their parameters
/// +[`DYNAMIC_PARAM_CLUSTER`].., more tables and controls +[`EXTRA_CLUSTER`]...
pub const CLUSTERS: u16 = 64;
/// Cluster of the static `param.*` metrics, relative to the source's first.
pub const PARAM_CLUSTER: u16 = 15;
/// First cluster of dynamic metrics, relative to the source's first; 16 clusters of 1024 items.
pub const DYNAMIC_CLUSTER: u16 = 16;
/// First cluster of the parameters of dynamic metrics, relative to the source's first; items in the
/// same order.
pub const DYNAMIC_PARAM_CLUSTER: u16 = 32;
/// First of the clusters behind the dynamic ones: tables and controls of sources with many.
pub(crate) const EXTRA_CLUSTER: u16 = 48;
/// Most dynamic metrics of a source: 16 clusters of 1024 items.
pub const DYNAMIC_MAX: usize = 16 * 1024;
/// In a source with sums of its peers' counters ([`SourceTable::totals`]), the first id of a sum: so
/// that counters have the ids that they had before there were sums.
pub const TOTALS_FIRST: usize = 12 * 1024;

/// The row of a shared table that sums up all keys without a row.
pub const OTHER: &str = "other";

/// Dynamic metrics of a source: their places, and how a description is restored after a restart.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    /// The places, each with one line of help.
    pub places: &'static [(Place, &'static str)],
    /// Restores the description from `MetricSpec::persist`; `None` if the line is not one of this
    /// source.
    pub restore: fn(&str) -> Option<MetricSpec>,
    /// Metrics that exist before the first peer connects. Their order determines their ids: only
    /// append.
    pub initial: fn() -> Vec<MetricSpec>,
}

/// Sums of the peers' counters by group, which go on when a peer goes and another one comes: rows
/// of a shared table. A session binds slot 0 of the table to the group of its peer.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// The table of groups.
    pub table: TableId,
    /// Counter of the table: peers of the group that came since the start of the PMDA.
    pub starts: RowItem,
    /// The metric with the sums of a counter that [`Peer::sample`](crate::contract::Peer::sample) brings,
    /// with the place `Place::Rows` of the table; `None`: there are no sums of this metric.
    pub of: fn(&MetricSpec) -> Option<MetricSpec>,
}

/// An instance domain of a source.
#[derive(Clone, Copy, Debug)]
pub struct InDomDef {
    /// Serial number: unique in the PMDA.
    pub serial: u32,
    /// One line of help.
    pub oneline: &'static str,
    /// The full help text.
    pub help: &'static str,
}

/// A table of a source: its rows are the instances of a separate domain.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// A word for one row, for labels, the log and the state file: `method`.
    pub name: &'static str,
    /// PMID cluster of its metrics.
    pub cluster: u16,
    /// Its instance domain.
    pub indom: InDomDef,
    /// Each row belongs to one peer, whose name its key begins with, and is removed with it; else all peers
    /// share the rows.
    pub of_peer: bool,
    /// Most rows. A shared table gives them to the keys that add most to the cell `score`: see
    /// `store::rows`.
    pub max: usize,
    /// Most rows of one peer in a table of peers, as in a shared table; 0: as many as there is room
    /// for.
    pub per_peer: usize,
    /// The cell by which rows are ranked.
    pub score: RowItem,
    /// Rows that always exist.
    pub initial: fn() -> Vec<String>,
}

/// The cells of the rows of a table, from its metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowLayout {
    /// Number of cells: the highest item, plus 1.
    pub cells: u16,
    /// A bit for each item that is a counter.
    pub counters: u32,
    /// A bit for each item whose value is of a sliding period.
    pub recent: u32,
}

impl RowLayout {
    /// The item is a counter.
    #[must_use]
    pub const fn is_counter(self, item: u16) -> bool {
        self.counters >> item & 1 != 0
    }

    /// The value of the item is of a sliding period.
    #[must_use]
    pub const fn is_recent(self, item: u16) -> bool {
        self.recent >> item & 1 != 0
    }
}

const _: () = assert!(ROW_ITEMS as u32 <= u32::BITS, "a bit for each item");

/// A parameter of event records that a source always has.
#[derive(Clone, Copy, Debug)]
pub struct ParamDef {
    /// Item in the cluster of parameters; 0 is `lost`.
    pub item: ParamItem,
    /// Name below `param.`.
    pub name: &'static str,
    /// Value type.
    pub ty: ValueType,
    /// Units.
    pub units: Units,
    /// One line of help; the full text is made from it.
    pub oneline: &'static str,
}

/// A control: a text metric whose value is the answer to the newest request, stored by `pmstore`.
#[derive(Clone, Copy, Debug)]
pub struct ControlDef {
    /// Name below the source's prefix: `control.add`.
    pub name: &'static str,
    /// PMID cluster.
    pub cluster: u16,
    /// PMID item.
    pub item: u16,
    /// [`InDom::Peers`]: requests go to peers. [`InDom::Null`]: requests go to the source as a
    /// whole.
    pub indom: InDom,
    /// `false`: the value is a report, and a store is refused.
    pub storable: bool,
    /// An empty request is refused.
    pub needs_text: bool,
    /// A request that it does not take is refused.
    pub takes: fn(&str) -> bool,
    /// One line of help.
    pub oneline: &'static str,
    /// The full help text.
    pub help: &'static str,
}

/// One protocol in PCP's terms.
#[derive(Clone, Copy, Debug)]
pub struct SourceTable {
    /// Name, one component: metrics are `apm.<name>.*`, agents `<name>::…`.
    pub name: &'static str,
    /// First of the source's [`CLUSTERS`] PMID clusters.
    pub cluster: u16,
    /// The instance domain of its peers.
    pub indom: InDomDef,
    /// An example of a peer's name, for help texts: `program.exe:1234`.
    pub example: &'static str,
    /// Static metrics of each peer.
    pub metrics: &'static [MetricDef],
    /// Static metrics of rows.
    pub row_metrics: &'static [MetricDef],
    /// Controls.
    pub controls: &'static [ControlDef],
    /// The kinds of events.
    pub events: &'static [EventKind],
    /// Dynamic metrics.
    pub dynamic: Option<Dynamic>,
    /// Tables, each with an instance domain.
    pub tables: &'static [TableDef],
    /// Sums of dynamic counters by group.
    pub totals: Option<Totals>,
    /// What `apm.runtime` shows of each peer.
    pub runtime: &'static [RollUp],
    /// What `apm.service` shows.
    pub service: Option<Services>,
    /// The label `runtime` of all instances: `mono`, `java`; empty: a peer is no runtime.
    pub runtime_label: &'static str,
    /// Its peers are agents within processes that are peers of this source too: instances of one process point
    /// at each other by labels.
    pub agents_of: Option<&'static str>,
    /// Parameters of event records, beside those of dynamic metrics, by item from 1 on.
    pub params: &'static [ParamDef],
    /// The static metric that counts new processes of a known name.
    pub restarts: Option<MetricItem>,
    /// Values are sums made by the PMDA: they stay valid when the peer is silent or gone. Else they
    /// are the newest from the peer, and become stale.
    pub keeps_values: bool,
    /// The administrator names the peers and the PMDA connects to them: they are admitted even when
    /// `limits.memory` is reached, since there is no connection to refuse.
    pub always_admitted: bool,
    /// Nodes below the source's prefix that are not in the groups of pmlogconf(1).
    pub not_logged: &'static [&'static str],
    /// Nodes of time by stack, of which there are thousands: the group `stacks` has them, once a
    /// minute.
    pub stacks: &'static [&'static str],
    /// Sentence for the help of `apm.self.memory.dictionaries`: the words that this source keeps.
    pub dictionary_help: Option<&'static str>,
    /// End of a sentence in the help of every `truncated` leaf: other reasons for cut texts.
    pub truncated_help: Option<&'static str>,
}

impl SourceTable {
    /// A source without metrics, for struct update: `..SourceTable::new("toy", …)`.
    #[must_use]
    pub const fn new(name: &'static str, cluster: u16, indom: InDomDef) -> Self {
        Self {
            name,
            cluster,
            indom,
            example: "name:1234",
            metrics: &[],
            row_metrics: &[],
            controls: &[],
            events: &[],
            dynamic: None,
            tables: &[],
            totals: None,
            runtime: &[],
            service: None,
            runtime_label: "",
            agents_of: None,
            params: &[],
            restarts: None,
            keeps_values: false,
            always_admitted: false,
            not_logged: &[],
            stacks: &[],
            dictionary_help: None,
            truncated_help: None,
        }
    }

    /// The control with this name below the source's prefix.
    #[must_use]
    pub fn control(&self, name: &str) -> Option<ControlId> {
        let position = self.controls.iter().position(|c| c.name == name)?;
        u8::try_from(position).ok().map(ControlId::new)
    }

    /// The metric is a sum of the counters of peers.
    #[must_use]
    pub fn is_total(&self, place: Place) -> bool {
        let of = |table| self.totals.is_some_and(|totals| totals.table == table);
        matches!(place, Place::Rows(_, table) if of(table))
    }

    /// Ids of dynamic metrics: of sums, or of all others.
    #[must_use]
    pub const fn dynamic_ids(&self, totals: bool) -> Range<usize> {
        match (self.totals.is_some(), totals) {
            (true, true) => TOTALS_FIRST..DYNAMIC_MAX,
            (true, false) => 0..TOTALS_FIRST,
            (false, _) => 0..DYNAMIC_MAX,
        }
    }

    /// The cells of a row of a table.
    #[must_use]
    pub fn row_layout(&self, table: TableId) -> RowLayout {
        let mut layout = RowLayout::default();
        for metric in self.row_metrics.iter().filter(|m| m.indom == InDom::Table(table)) {
            layout.cells = layout.cells.max(metric.item + 1);
            if metric.sem == Semantics::Counter {
                layout.counters |= 1 << metric.item;
            }
            if metric.value == ValueSource::Recent {
                layout.recent |= 1 << metric.item;
            }
        }
        layout
    }

    /// The item by which the rows of a table are ranked.
    #[must_use]
    pub fn score(&self, table: TableId) -> u16 {
        self.tables.get(table.index()).map_or(0, |def| def.score.get())
    }

    /// The PMID cluster of the static metrics of a domain.
    #[must_use]
    pub fn cluster_of(&self, indom: InDom) -> Option<u16> {
        match indom {
            InDom::Peers => Some(self.cluster),
            InDom::Table(table) => self.tables.get(table.index()).map(|t| t.cluster),
            InDom::Null | InDom::Agents | InDom::Services => None,
        }
    }
}
