//! The rules for the tables of all sources together. All contradictions are told at once.

use std::collections::HashMap;

use super::agent::AGENT_INDOM;
use super::contradiction::{Contradiction, Contradictions};
use super::entry::Entry;
use super::roll_up::SERVICE_INDOM;
use super::sound;
use super::table::{CLUSTERS, PARAM_CLUSTER, SourceTable};
use crate::model::{InDom, MetricDef, Place, ROW_ITEMS, STATIC_ITEMS};

/// Names below `apm` that no source may have.
const RESERVED: [&str; 4] = ["agent", "runtime", "self", "service"];

/// Ids, and who has each.
type Owners = HashMap<String, String>;

/// Checks names, clusters and instance domains of sources.
pub(super) fn sources(all: &[SourceTable], found: &mut Contradictions) {
    let (mut names, mut serials) = (Owners::new(), Owners::new());
    for name in RESERVED {
        found.unique(&mut names, format!("the name {name}"), "the PMDA");
    }
    found.unique(&mut serials, serial(AGENT_INDOM), "agents");
    found.unique(&mut serials, serial(SERVICE_INDOM), "services");
    for (n, source) in all.iter().enumerate() {
        found.component(source.name, source.name);
        found.unique(&mut names, format!("the name {}", source.name), source.name);
        let last = u32::from(source.cluster) + u32::from(CLUSTERS) - 1;
        found.below(sound::CLUSTER_LIMIT, last, "the last cluster", source.name);
        let others = all.iter().take(n).map(|o| (o.cluster, o.cluster + CLUSTERS, o.name));
        let own = (0, sound::OWN_CLUSTERS, "the PMDA");
        for (first, end, name) in std::iter::once(own).chain(others) {
            if source.cluster < end && first < source.cluster + CLUSTERS {
                let id = format!("cluster {}", first.max(source.cluster));
                let (first, second) = (name.to_owned(), source.name.to_owned());
                found.add(Contradiction::Twice { id, first, second });
            }
        }
        of_source(source, &mut serials, found);
    }
}

fn serial(serial: u32) -> String {
    format!("instance domain {serial}")
}

/// Checks items, clusters and tables of one source.
fn of_source(source: &SourceTable, serials: &mut Owners, found: &mut Contradictions) {
    let place = |name: &str| format!("{}.{name}", source.name);
    let indoms = source.tables.iter().map(|t| (place(t.name), t.indom.serial));
    for (place, number) in
        std::iter::once((source.name.to_owned(), source.indom.serial)).chain(indoms)
    {
        found.below(sound::SERIAL_LIMIT, number, "the instance domain", &place);
        found.unique(serials, serial(number), &place);
    }
    for table in source.tables {
        let place = place(table.name);
        found.component(table.name, &place);
        cluster(source, table.cluster, &place, found);
        let ranked = source.tables.get(table.score.table().index());
        if ranked.is_none_or(|t| t.indom.serial != table.indom.serial) {
            let must = "an item of this table".to_owned();
            let got = table.score.get().into();
            found.add(Contradiction::Range { place, what: "the score", got, must });
        }
    }
    for metric in source.metrics.iter().chain(source.row_metrics) {
        item(source, metric, &place(metric.name), found);
    }
    let controls = source.controls.iter().map(|c| (c.name, c.cluster));
    for (name, at) in controls.chain(source.events.iter().map(|e| (e.name, e.cluster))) {
        cluster(source, at, &place(name), found);
    }
    for (place, _) in source.dynamic.iter().flat_map(|d| d.places) {
        self::place(source, *place, found);
    }
    for (item, param) in (1..).zip(source.params) {
        if param.item.get() != item {
            let must = format!("{item}: items of parameters have no gaps");
            let (place, got) = (place(param.name), param.item.get().into());
            found.add(Contradiction::Range { place, what: "the item", got, must });
        }
    }
}

/// Checks that a cluster of static metrics is one of the source's that nothing else uses.
fn cluster(source: &SourceTable, cluster: u16, place: &str, found: &mut Contradictions) {
    if !sound::is_static(source.cluster, cluster) {
        let must = format!("{} to {}", source.cluster, source.cluster + PARAM_CLUSTER - 1);
        let (place, got) = (place.to_owned(), cluster.into());
        found.add(Contradiction::Range { place, what: "the cluster", got, must });
    }
}

/// Checks the node and the table of dynamic metrics.
fn place(source: &SourceTable, place: Place, found: &mut Contradictions) {
    let Some(node) = place.node() else { return };
    let name = format!("{}.{node}", source.name);
    node.split('.').for_each(|part| found.component(part, &name));
    let places = source.dynamic.map_or(&[] as &[_], |d| d.places);
    if node == "param" || places.iter().filter(|(p, _)| p.node() == Some(node)).count() > 1 {
        let (id, first, second) = (name.clone(), name.clone(), name.clone());
        found.add(Contradiction::Twice { id, first, second });
    }
    if let Place::Rows(_, table) = place
        && source.tables.get(table.index()).is_none_or(|t| !t.of_peer && !source.is_total(place))
    {
        let got = u32::try_from(table.index()).unwrap_or(u32::MAX);
        let must = "a table of peers".to_owned();
        found.add(Contradiction::Range { place: name, what: "the table", got, must });
    }
}

fn item(source: &SourceTable, m: &MetricDef, place: &str, found: &mut Contradictions) {
    let limit = match m.indom {
        InDom::Peers => STATIC_ITEMS,
        InDom::Table(table) => {
            let tables = u32::try_from(source.tables.len()).unwrap_or(u32::MAX);
            let table = u32::try_from(table.index()).unwrap_or(u32::MAX);
            found.below(tables, table, "the table", place);
            ROW_ITEMS
        }
        InDom::Null | InDom::Agents | InDom::Services => sound::ITEM_LIMIT,
    };
    found.below(limit.into(), m.item.into(), "the item", place);
}

/// Checks names and PMIDs of all metrics.
pub(super) fn entries(all: &[Entry], found: &mut Contradictions) {
    let (mut names, mut pmids) = (Owners::new(), Owners::new());
    for e in all {
        e.name.split('.').for_each(|c| found.component(c, &e.name));
        found.below(sound::ITEM_LIMIT.into(), e.item.into(), "the item", &e.name);
        found.unique(&mut names, e.name.clone(), &e.name);
        found.unique(&mut pmids, format!("PMID {}.{}", e.cluster, e.item), &e.name);
    }
    for e in all {
        let nodes = e.name.match_indices('.').filter_map(|(at, _)| e.name.get(..at));
        for node in nodes {
            if let Some(leaf) = names.get(node) {
                let (first, second) = (leaf.clone(), e.name.clone());
                found.add(Contradiction::Twice { id: node.to_owned(), first, second });
            }
        }
    }
}
