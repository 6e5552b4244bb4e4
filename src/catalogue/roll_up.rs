//! One name for one thing: `apm.runtime.*` has each peer of every source, `apm.service.*` each service
//! or program. What a source's own metrics are called there, its table says ([`RollUp`]).

use super::entry::Entry;
use super::table::SourceTable;
use crate::model::{
    InDom, LEAVES, Leaf, LeafDef, MetricDef, MetricItem, RowItem, TableId, ValueSource,
};

/// Serial number of the instance domain of all services.
pub const SERVICE_INDOM: u32 = 6;
/// PMID clusters of `apm.runtime` and `apm.service`; items are those of [`Leaf`].
const CLUSTERS: [u16; 2] = [2, 3];

/// The leaf of one metric of a source's table.
#[derive(Clone, Copy, Debug)]
pub struct RollUp {
    /// The leaf.
    pub leaf: Leaf,
    /// What its value is: the first of these that there is.
    pub parts: &'static [Part],
}

/// Values of a source of which a leaf is the sum.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Static metrics of the peer.
    Metrics(&'static [MetricItem]),
    /// A metric of all rows of the peer; in `apm.service`, of the row of the service itself.
    Rows(RowItem),
    /// The same of the row whose name ends with this component.
    Row(RowItem, &'static str),
    /// Metrics that peers define, by their keys. In `apm.service` their sums over peers
    /// ([`Totals`](super::Totals)).
    Dynamic(&'static [&'static str]),
    /// The connected peers of a service.
    Members,
}

/// The services of a source.
#[derive(Clone, Copy, Debug)]
pub struct Services {
    /// The shared table whose rows they are.
    pub table: TableId,
    /// The service of a peer.
    pub of_peer: ServiceOf,
    /// The leaves.
    pub leaves: &'static [RollUp],
    /// What a row sums up of the peers of its service.
    pub sums: &'static [ServiceSum],
    /// Tables of a peer that services have too.
    pub rows: &'static [ServiceRows],
}

/// A counter of peers, and the counter of their service that has what all of them count while this PMDA
/// runs. The store adds it, whether a peer adds to its counter or sets it.
#[derive(Clone, Copy, Debug)]
pub enum ServiceSum {
    /// A metric of the peer.
    Of(MetricItem, RowItem),
    /// A metric of its rows: of all, or of that in one slot.
    OfRows(RowItem, Option<u32>, RowItem),
    /// A metric of the peer, as far as no other source counts it for the same process
    /// ([`SourceTable::agents_of`]).
    Alone(MetricItem, RowItem),
}

impl ServiceSum {
    /// The counter of the service.
    #[must_use]
    pub const fn sum(&self) -> RowItem {
        let (Self::Of(_, sum) | Self::OfRows(_, _, sum) | Self::Alone(_, sum)) = *self;
        sum
    }

    /// It counts this metric of a peer.
    #[must_use]
    pub const fn is_of(&self, item: MetricItem) -> bool {
        matches!(self, Self::Of(of, _) | Self::Alone(of, _) if of.get() == item.get())
    }
}

/// A table of a peer that its service has too: of `KEY` or `INSTANCE::KEY` the row of the service is
/// `SERVICE::KEY`.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRows {
    /// Counters of the peer's rows, and those of the service's: of one table each.
    pub sums: &'static [(RowItem, RowItem)],
    /// The instance label that has the key. `None`: keys are stacks, frames with a comma between them, the
    /// service is the outermost frame, and there are no labels.
    pub label: Option<&'static str>,
}

/// The service of a peer, for the label `service` of its instances. What its rows sum up goes by
/// [`Identity::service`](crate::contract::Identity).
#[derive(Clone, Copy, Debug)]
pub enum ServiceOf {
    /// By a label of the peer.
    Label(&'static str),
    /// By its name.
    Name(fn(&str) -> &str),
}

impl ServiceRows {
    /// The table of the peer and that of the service.
    #[must_use]
    pub fn tables(&self) -> Option<(TableId, TableId)> {
        self.sums.first().map(|(of, sum)| (of.table(), sum.table()))
    }
}

impl SourceTable {
    /// The leaves of `apm.runtime` or, with `of_service`, of `apm.service`.
    #[must_use]
    pub fn leaves(&self, of_service: bool) -> &'static [RollUp] {
        if of_service { self.service.map_or(&[], |service| service.leaves) } else { self.runtime }
    }

    /// What such a leaf is made of; nothing: the source does not have it.
    #[must_use]
    pub fn parts(&self, leaf: Leaf, of_service: bool) -> &'static [Part] {
        let found = self.leaves(of_service).iter().find(|roll_up| roll_up.leaf == leaf);
        found.map_or(&[], |roll_up| roll_up.parts)
    }

    /// A leaf is made of the dynamic metric with this key.
    #[must_use]
    pub fn rolls_up(&self, key: &str) -> bool {
        let all = [false, true].into_iter().flat_map(|of_service| self.leaves(of_service));
        let is = |part: &Part| matches!(part, Part::Dynamic(keys) if keys.contains(&key));
        all.flat_map(|roll_up| roll_up.parts).any(is)
    }
}

/// The leaves that some source has.
pub(super) fn entries(sources: &[SourceTable]) -> impl Iterator<Item = Entry> {
    let trees = [("runtime", InDom::Agents, false), ("service", InDom::Services, true)];
    trees.into_iter().zip(CLUSTERS).flat_map(move |((tree, indom, of_service), cluster)| {
        let is_shown = move |def: &&LeafDef| match def.leaf {
            Leaf::State | Leaf::Since => {
                !of_service && sources.iter().any(|s| !s.runtime.is_empty())
            }
            leaf => sources.iter().any(|source| !source.parts(leaf, of_service).is_empty()),
        };
        LEAVES.iter().filter(is_shown).map(move |def| Entry {
            name: format!("apm.{tree}.{}", def.name),
            source: None,
            cluster,
            item: def.leaf as u16,
            ty: def.ty,
            sem: def.sem,
            units: def.units,
            indom,
            value: ValueSource::RollUp(def.leaf),
            oneline: def.oneline.into(),
            help: help(def, sources, of_service).into(),
        })
    })
}

/// The help of a leaf, with the metrics that it is made of.
fn help(def: &LeafDef, sources: &[SourceTable], of_service: bool) -> String {
    let mut text = def.help.to_owned();
    for source in sources {
        let made = source.parts(def.leaf, of_service).iter();
        let names: Vec<String> = made.filter_map(|part| named(source, *part)).collect();
        if !names.is_empty() {
            text.push_str(&format!(" Of {}: {}.", source.name, names.join(", else ")));
        }
    }
    text
}

/// The metrics of a part, by their names.
fn named(source: &SourceTable, part: Part) -> Option<String> {
    let full = |name: &str| format!("apm.{}.{name}", source.name);
    let of_row = |item: RowItem| {
        let of = |m: &&MetricDef| m.indom == InDom::Table(item.table()) && m.item == item.get();
        source.row_metrics.iter().find(of).map(|m| full(m.name))
    };
    match part {
        Part::Metrics(items) => {
            let name = |item: &MetricItem| source.metrics.iter().find(|m| m.item == item.get());
            let names: Vec<String> = items.iter().filter_map(name).map(|m| full(m.name)).collect();
            Some(names.join(" + "))
        }
        Part::Rows(item) => of_row(item),
        Part::Row(item, row) => of_row(item).map(|name| format!("{name}[{row}]")),
        Part::Dynamic(keys) => Some(keys.join(" + ")),
        Part::Members => None,
    }
}
