//! The rules for the tables of all sources together.

use std::collections::HashMap;

use super::agent::AGENT_INDOM;
use super::entry::Entry;
use super::roll_up::SERVICE_INDOM;
use super::table::{CLUSTERS, DYNAMIC_CLUSTER, EXTRA_CLUSTER, PARAM_CLUSTER, SourceTable};
use crate::model::{InDom, MetricDef, Place, ROW_ITEMS, STATIC_ITEMS};

/// PMID clusters are 12 bits, items 10 bits, serial numbers of instance domains 22 bits.
const CLUSTER_LIMIT: u32 = 1 << 12;
const ITEM_LIMIT: u16 = 1 << 10;
const SERIAL_LIMIT: u32 = 1 << 22;
/// Names below `apm` that no source may have.
const RESERVED: [&str; 4] = ["agent", "runtime", "self", "service"];

/// Two tables contradict each other, or an id is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// A component of a name that PCP's tools reject.
    #[error("{0}: a component of a name is [a-z][a-z0-9_]+")]
    Name(String),
    /// Two objects with the same name or id.
    #[error("{id} is given twice: to {first} and to {second}")]
    Twice {
        /// The shared name or id.
        id: String,
        /// The first place.
        first: String,
        /// The second place.
        second: String,
    },
    /// An id that is not within its bounds.
    #[error("{place}: {what} is out of range: {got}, must be {must}")]
    Range {
        /// The place.
        place: String,
        /// Which id.
        what: &'static str,
        /// Its value.
        got: u32,
        /// Its bounds.
        must: String,
    },
}

/// Collects ids and finds those given twice.
#[derive(Default)]
struct Unique(HashMap<String, String>);

impl Unique {
    fn add(&mut self, id: String, place: &str) -> Result<(), CatalogueError> {
        match self.0.insert(id.clone(), place.to_owned()) {
            None => Ok(()),
            Some(first) => Err(CatalogueError::Twice { id, first, second: place.to_owned() }),
        }
    }
}

fn component(name: &str, place: &str) -> Result<(), CatalogueError> {
    let legal = name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if legal { Ok(()) } else { Err(CatalogueError::Name(place.to_owned())) }
}

fn below(limit: u32, got: u32, what: &'static str, place: &str) -> Result<(), CatalogueError> {
    if got < limit {
        return Ok(());
    }
    let must = format!("below {limit}");
    Err(CatalogueError::Range { place: place.to_owned(), what, got, must })
}

/// Checks names, clusters and instance domains of sources.
pub(super) fn sources(all: &[SourceTable]) -> Result<(), CatalogueError> {
    let mut names = Unique::default();
    let mut serials = Unique::default();
    RESERVED.iter().try_for_each(|name| names.add(format!("the name {name}"), "the PMDA"))?;
    serials.add(serial(AGENT_INDOM), "agents")?;
    serials.add(serial(SERVICE_INDOM), "services")?;
    for (n, source) in all.iter().enumerate() {
        component(source.name, source.name)?;
        names.add(format!("the name {}", source.name), source.name)?;
        let last = u32::from(source.cluster) + u32::from(CLUSTERS) - 1;
        below(CLUSTER_LIMIT, last, "the last cluster", source.name)?;
        // Clusters 0 to 3 belong to the PMDA itself.
        let others = all.iter().take(n).map(|o| (o.cluster, o.cluster + CLUSTERS, o.name));
        for (first, end, name) in std::iter::once((0, 4, "the PMDA")).chain(others) {
            if source.cluster < end && first < source.cluster + CLUSTERS {
                let id = format!("cluster {}", first.max(source.cluster));
                let (first, second) = (name.to_owned(), source.name.to_owned());
                return Err(CatalogueError::Twice { id, first, second });
            }
        }
        below(SERIAL_LIMIT, source.indom.serial, "the instance domain", source.name)?;
        serials.add(serial(source.indom.serial), source.name)?;
        of_source(source, &mut serials)?;
    }
    Ok(())
}

fn serial(serial: u32) -> String {
    format!("instance domain {serial}")
}

/// Checks items, clusters and tables of one source.
fn of_source(source: &SourceTable, serials: &mut Unique) -> Result<(), CatalogueError> {
    let place = |name: &str| format!("{}.{name}", source.name);
    for table in source.tables {
        let place = place(table.name);
        component(table.name, &place)?;
        below(SERIAL_LIMIT, table.indom.serial, "the instance domain", &place)?;
        serials.add(serial(table.indom.serial), &place)?;
        cluster(source, table.cluster, &place)?;
        let of = source.tables.get(table.score.table().index());
        if of.is_none_or(|of| of.indom.serial != table.indom.serial) {
            let must = "an item of this table".to_owned();
            let got = table.score.get().into();
            return Err(CatalogueError::Range { place, what: "the score", got, must });
        }
    }
    for metric in source.metrics.iter().chain(source.row_metrics) {
        item(source, metric, &place(metric.name))?;
    }
    for (name, at) in source
        .controls
        .iter()
        .map(|c| (c.name, c.cluster))
        .chain(source.events.iter().map(|e| (e.name, e.cluster)))
    {
        cluster(source, at, &place(name))?;
    }
    for (place, _) in source.dynamic.iter().flat_map(|d| d.places) {
        self::place(source, *place)?;
    }
    for (item, param) in (1..).zip(source.params) {
        if param.item.get() != item {
            let must = format!("{item}: items of parameters have no gaps");
            let (place, got) = (place(param.name), param.item.get().into());
            return Err(CatalogueError::Range { place, what: "the item", got, must });
        }
    }
    Ok(())
}

/// Checks that a cluster of static metrics is one of the source's that nothing else uses.
fn cluster(source: &SourceTable, cluster: u16, place: &str) -> Result<(), CatalogueError> {
    let offset = cluster.wrapping_sub(source.cluster);
    let below = offset < DYNAMIC_CLUSTER && offset != PARAM_CLUSTER;
    if below || (EXTRA_CLUSTER..CLUSTERS).contains(&offset) {
        return Ok(());
    }
    let must = format!("{} to {}", source.cluster, source.cluster + PARAM_CLUSTER - 1);
    let (place, got) = (place.to_owned(), cluster.into());
    Err(CatalogueError::Range { place, what: "the cluster", got, must })
}

/// Checks the node and the table of dynamic metrics.
fn place(source: &SourceTable, place: Place) -> Result<(), CatalogueError> {
    let Some(node) = place.node() else { return Ok(()) };
    let name = format!("{}.{node}", source.name);
    node.split('.').try_for_each(|part| component(part, &name))?;
    let places = source.dynamic.map_or(&[] as &[_], |d| d.places);
    if node == "param" || places.iter().filter(|(p, _)| p.node() == Some(node)).count() > 1 {
        return Err(CatalogueError::Twice { id: name.clone(), first: name.clone(), second: name });
    }
    if let Place::Rows(_, table) = place
        && source.tables.get(table.index()).is_none_or(|t| !t.of_peer && !source.is_total(place))
    {
        let got = u32::try_from(table.index()).unwrap_or(u32::MAX);
        let must = "a table of peers".to_owned();
        return Err(CatalogueError::Range { place: name, what: "the table", got, must });
    }
    Ok(())
}

fn item(source: &SourceTable, m: &MetricDef, place: &str) -> Result<(), CatalogueError> {
    let limit = match m.indom {
        InDom::Peers => STATIC_ITEMS,
        InDom::Table(table) => {
            let tables = u32::try_from(source.tables.len()).unwrap_or(u32::MAX);
            below(tables, u32::try_from(table.index()).unwrap_or(u32::MAX), "the table", place)?;
            ROW_ITEMS
        }
        InDom::Null | InDom::Agents | InDom::Services => ITEM_LIMIT,
    };
    below(limit.into(), m.item.into(), "the item", place)
}

/// Checks names and PMIDs of all metrics.
pub(super) fn entries(all: &[Entry]) -> Result<(), CatalogueError> {
    let (mut names, mut pmids) = (Unique::default(), Unique::default());
    for e in all {
        e.name.split('.').try_for_each(|c| component(c, &e.name))?;
        below(ITEM_LIMIT.into(), e.item.into(), "the item", &e.name)?;
        names.add(e.name.clone(), &e.name)?;
        pmids.add(format!("PMID {}.{}", e.cluster, e.item), &e.name)?;
    }
    for e in all {
        let nodes = e.name.match_indices('.').filter_map(|(at, _)| e.name.get(..at));
        for node in nodes {
            if let Some(leaf) = names.0.get(node) {
                let (first, second) = (leaf.clone(), e.name.clone());
                return Err(CatalogueError::Twice { id: node.to_owned(), first, second });
            }
        }
    }
    Ok(())
}
