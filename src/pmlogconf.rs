//! The groups of pmlogconf(1) in `etc/pmlogconf`, made from the catalogue.

use std::fmt::Write;

use crate::catalogue::{Catalogue, SourceTable};
use crate::model::InDom;

/// The groups, by file name.
#[must_use]
pub fn groups(catalogue: &Catalogue) -> Vec<(String, String)> {
    let sources: Vec<_> = catalogue.sources().map(|(_, source)| source).collect();
    let agents = ["apm.agent".to_owned(), "apm.self".to_owned()];
    let mut all = vec![group(
        "agents",
        "runtime agents (pmdaapm): who is connected, what the PMDA itself does",
        "include",
        &agents,
    )];
    all.push(group(
        "runtimes",
        "what all runtimes and services have in common (pmdaapm)",
        "include",
        &["apm.runtime".to_owned(), "apm.service".to_owned()],
    ));
    let records: Vec<_> = sources
        .iter()
        .flat_map(|s| {
            let records = s.events.iter().map(|kind| format!("event.{}.records", kind.name));
            records.filter(|name| is_logged(s, name)).map(|name| format!("apm.{}.{name}", s.name))
        })
        .collect();
    all.push(group(
        "events",
        "event records of pmdaapm, every second: 100 to 200 bytes each on disk",
        "available",
        &records,
    ));
    let stacks: Vec<_> = sources
        .iter()
        .flat_map(|s| s.stacks.iter().map(|node| format!("apm.{}.{node}", s.name)))
        .collect();
    all.push(group(
        "stacks",
        "time by stack (pmdaapm), every minute: flame graphs of the past",
        "available",
        &stacks,
    ));
    let params: Vec<_> = sources
        .iter()
        .filter(|s| !s.events.is_empty())
        .map(|s| format!("apm.{}.param", s.name))
        .collect();
    all.push(group(
        "parameters",
        "parameters of apm event records: once, so that archives hold their names",
        "include",
        &params,
    ));
    for source in sources {
        let about = format!("{} (pmdaapm)", source.indom.oneline);
        all.push(group(source.name, &about, "include", &nodes(source)));
    }
    all
}

/// All groups in one text, each after the name of its file.
#[must_use]
pub fn print(catalogue: &Catalogue) -> String {
    groups(catalogue).iter().fold(String::new(), |mut out, (name, text)| {
        let _ = write!(out, "==> {name} <==\n{text}");
        out
    })
}

fn group(name: &str, about: &str, state: &str, metrics: &[String]) -> (String, String) {
    let delta = match name {
        "events" => "delta\t1 second\n",
        "stacks" => "delta\t1 minute\n",
        "parameters" => "delta\tonce\n",
        _ => "",
    };
    let mut text = format!(
        "#pmlogconf-setup 2.0\nident\t{about}\n\
         probe\tapm.self.version exists ? {state} : exclude\n{delta}"
    );
    metrics.iter().for_each(|metric| {
        let _ = writeln!(text, "\t{metric}");
    });
    (name.to_owned(), text)
}

fn is_logged(source: &SourceTable, name: &str) -> bool {
    !source.not_logged.iter().chain(source.stacks).any(|node| {
        name.strip_prefix(node).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The nodes of a source that are worth logging at the default interval: values, but neither
/// controls nor records.
fn nodes(source: &SourceTable) -> Vec<String> {
    // The first component, and the second of nodes that are logged in part.
    let first = |name: &'static str| {
        let mut ends = name.match_indices('.').map(|(at, _)| name.get(..at).unwrap_or(name));
        let node = ends.next().unwrap_or(name);
        let inner = |part: &&str| part.strip_prefix(node).is_some_and(|rest| rest.starts_with('.'));
        if source.not_logged.iter().chain(source.stacks).any(inner) {
            ends.next().unwrap_or(name)
        } else {
            node
        }
    };
    let metrics = source.metrics.iter().chain(source.row_metrics).map(|m| first(m.name));
    let reports = source.controls.iter().filter(|c| !c.storable && c.indom == InDom::Null);
    let mut names: Vec<String> = Vec::new();
    let dynamic = source
        .dynamic
        .iter()
        .flat_map(|dynamic| dynamic.places)
        .filter_map(|(place, _)| place.node());
    let counts = source
        .events
        .iter()
        .flat_map(|kind| ["count", "lost"].map(|leaf| format!("event.{}.{leaf}", kind.name)));
    let nodes = metrics.chain(dynamic).map(str::to_owned);
    for name in nodes.chain(reports.map(|c| c.name.to_owned())).chain(counts) {
        let full = format!("apm.{}.{name}", source.name);
        if is_logged(source, &name) && !names.contains(&full) {
            names.push(full);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    #[cfg(all(feature = "source-list", not(feature = "toy")))]
    #[test]
    fn the_groups_are_up_to_date() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/etc/pmlogconf/");
        for (name, text) in super::groups(&crate::sources::catalogue()) {
            let file = std::fs::read_to_string(format!("{folder}{name}")).unwrap_or_default();
            assert!(file == text, "etc/pmlogconf/{name} is stale: run qa/generate");
        }
    }
}
