//! `--print-ids`: which ids the tables of the sources use, and which are free.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::catalogue::{
    AGENT_INDOM, CLUSTERS, Catalogue, DYNAMIC_CLUSTER, EXTRA_CLUSTER, OWN_CLUSTERS, PARAM_CLUSTER,
    SERVICE_INDOM, SourceTable, is_static,
};

/// The report: a source, its clusters with their items, its instance domains; then what is free for
/// another source.
#[must_use]
pub fn print(catalogue: &Catalogue) -> String {
    let mut items: BTreeMap<u16, BTreeSet<u32>> = BTreeMap::new();
    for e in catalogue.entries() {
        items.entry(e.cluster).or_default().insert(e.item.into());
    }
    let mut out = format!(
        "apm.self, apm.agent, apm.runtime, apm.service: clusters 0 to {}\n  instance domains: \
         {AGENT_INDOM} agents, {SERVICE_INDOM} services\n",
        OWN_CLUSTERS - 1
    );
    for (cluster, items) in items.range(..OWN_CLUSTERS) {
        let _ = writeln!(out, "  cluster {cluster}: items {}", ranges(items));
    }
    for (_, source) in catalogue.sources() {
        let last = source.cluster + CLUSTERS - 1;
        let _ = writeln!(out, "apm.{}: clusters {} to {last}", source.name, source.cluster);
        let mut domains = format!("{} peers", source.indom.serial);
        for table in source.tables {
            let _ = write!(domains, ", {} {}", table.indom.serial, table.name);
        }
        let _ = writeln!(out, "  instance domains: {domains}");
        for (cluster, items) in items.range(source.cluster..=last) {
            let what = uses(source, *cluster);
            let _ = writeln!(out, "  cluster {cluster}: items {} ({what})", ranges(items));
        }
        let free =
            |cluster: &u16| is_static(source.cluster, *cluster) && !items.contains_key(cluster);
        let free = (source.cluster..=last).filter(free).map(u32::from).collect();
        let _ = writeln!(out, "  free for tables, events and controls: {}", ranges(&free));
    }
    let mut first = OWN_CLUSTERS.next_multiple_of(CLUSTERS);
    let mut serial = SERVICE_INDOM + 1;
    for (_, source) in catalogue.sources() {
        first = first.max(source.cluster + CLUSTERS);
        let tables = source.tables.iter().map(|t| t.indom.serial).max();
        serial = serial.max(source.indom.serial + 1).max(tables.map_or(0, |last| last + 1));
    }
    let _ = writeln!(out, "another source: clusters from {first}, instance domains from {serial}");
    out
}

/// What a cluster of a source is for.
fn uses(source: &SourceTable, cluster: u16) -> String {
    let tables = source.tables.iter().filter(|t| t.cluster == cluster).map(|t| t.name);
    let events = source.events.iter().filter(|e| e.cluster == cluster).map(|e| e.name);
    let controls = source.controls.iter().filter(|c| c.cluster == cluster).map(|c| c.name);
    let own = match cluster - source.cluster {
        0 => Some("peers"),
        PARAM_CLUSTER => Some("parameters"),
        offset if (DYNAMIC_CLUSTER..EXTRA_CLUSTER).contains(&offset) => Some("dynamic"),
        _ => None,
    };
    let all: Vec<_> = own.into_iter().chain(tables).chain(events).chain(controls).collect();
    all.join(", ")
}

/// `0-3, 7`.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::catalogue::test_kit;

    #[test]
    fn what_is_used_and_what_is_free_is_listed() {
        let text = super::print(&test_kit::catalogue());
        for line in [
            "apm.toy: clusters 64 to 127",
            "  cluster 64: items 0-1 (peers)",
            "  instance domains: 2 peers, 20 stream, 21 bucket",
            "another source: clusters from 192, instance domains from ",
        ] {
            assert!(text.contains(line), "{line} in:\n{text}");
        }
        let numbers = [0, 1, 2, 5, 7, 8].into();
        assert_eq!(super::ranges(&numbers), "0-2, 5, 7-8");
    }
}
