//! The files `pmns`, `help` and `docs/metrics.md`, and the catalogue as JSON, made from the metric
//! tables.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::catalogue::{AGENT_INDOM, Catalogue, Entry, SERVICE_INDOM, SourceTable};
use crate::model::InDom;

/// The text above the table of `docs/metrics.md`.
const METRICS_HEAD: &str = "\
# Metrics

Made by `qa/generate` from the tables of the sources. *instances* is the instance domain: `agent` has
every peer of every protocol, the name of a source that source's peers; the others are tables.
`pminfo -dtT METRIC` prints all of it with the full help text.

The last rows are trees of metrics that peers bring: type, units and semantics follow from what the
peer declares, with all integers in 64 bits. Event metrics are explained in [events.md](events.md).

";

/// Dynamic nodes, whose names pmcd requests from the PMDA.
fn dynamic_nodes(source: &SourceTable) -> Vec<String> {
    let Some(dynamic) = source.dynamic else { return Vec::new() };
    dynamic
        .places
        .iter()
        .filter_map(|(place, _)| place.node())
        .chain(["param"])
        .map(|node| format!("apm.{}.{node}", source.name))
        .collect()
}

/// Static metrics that `pmns` lists: all but those below a dynamic node.
fn named(catalogue: &Catalogue) -> impl Iterator<Item = &Entry> {
    let sources = catalogue.sources().map(|(_, source)| source);
    let dynamic: Vec<String> = sources.flat_map(dynamic_nodes).collect();
    let below = move |name: &str| {
        dynamic
            .iter()
            .any(|d| name.strip_prefix(d.as_str()).is_some_and(|rest| rest.starts_with('.')))
    };
    catalogue.entries().iter().filter(move |e| !below(&e.name))
}

/// The file `pmns`, for pmns(5) with `APM` defined in `domain.h`.
#[must_use]
pub fn pmns(catalogue: &Catalogue) -> String {
    // Each node's children: a leaf with its PMID, or a node.
    let mut nodes: BTreeMap<String, BTreeMap<String, Option<String>>> = BTreeMap::new();
    let mut add = |name: &str, id: String| {
        let mut id = Some(id);
        let mut rest = name;
        while let Some((parent, child)) = rest.rsplit_once('.') {
            nodes.entry(parent.into()).or_default().entry(child.into()).or_insert(id.take());
            rest = parent;
        }
    };
    named(catalogue).for_each(|e| add(&e.name, format!("APM:{}:{}", e.cluster, e.item)));
    for node in catalogue.sources().flat_map(|(_, source)| dynamic_nodes(source)) {
        add(&node, "APM:*:*".into());
    }

    let mut out =
        String::from("/*\n * Name space of pmdaapm. Made by: pmdaapm --print-pmns\n */\n");
    for (node, children) in &nodes {
        let _ = write!(out, "\n{node} {{\n");
        for (child, id) in children {
            let _ = match id {
                Some(id) => writeln!(out, "    {child}\t{id}"),
                None => writeln!(out, "    {child}"),
            };
        }
        out.push_str("}\n");
    }
    out
}

/// Breaks lines longer than a terminal's at blanks, for help texts as PCP's tools show them.
#[must_use]
pub fn wrapped(text: &str) -> String {
    const WIDTH: usize = 78;
    let mut out = String::with_capacity(text.len() + text.len() / WIDTH);
    for (i, line) in text.lines().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let mut column = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > WIDTH {
                out.push('\n');
                column = 0;
            } else if column > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
    }
    out
}

/// The file `help`, for newhelp(1).
#[must_use]
pub fn help(catalogue: &Catalogue) -> String {
    let mut out = String::from("#\n# Help texts of pmdaapm. Made by: pmdaapm --print-help\n#\n");
    let mut entry = |what: &str, oneline: &str, text: &str| {
        let _ = write!(out, "\n@ {what} {oneline}\n{}\n", wrapped(text));
    };
    named(catalogue).for_each(|e| entry(&e.name, &e.oneline, &e.help));
    let of_sources = catalogue.sources().flat_map(|(_, s)| {
        std::iter::once(s.indom.serial).chain(s.tables.iter().map(|t| t.indom.serial))
    });
    for serial in [AGENT_INDOM, SERVICE_INDOM].into_iter().chain(of_sources) {
        if let Some((oneline, help)) = catalogue.indom_help(serial) {
            entry(&format!("APM.{serial}"), oneline, help);
        }
    }
    out
}

/// A word for the instances of a metric.
fn instances(indom: InDom, source: Option<&SourceTable>) -> &'static str {
    match (indom, source) {
        (InDom::Agents, _) => "agent",
        (InDom::Services, _) => "service",
        (InDom::Peers, Some(s)) => s.name,
        (InDom::Table(table), Some(s)) => s.tables.get(table.index()).map_or("", |t| t.name),
        _ => "",
    }
}

/// The page `docs/metrics.md`.
#[must_use]
pub fn metrics(catalogue: &Catalogue) -> String {
    let mut out = String::from(METRICS_HEAD);
    out.push_str(
        "| metric | type | semantics | units | instances | what |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for e in catalogue.entries() {
        let instances = instances(e.indom, e.source.and_then(|s| catalogue.source(s)));
        let (ty, sem, units) = (e.ty.name(), e.sem.name(), e.units.name());
        let _ = writeln!(
            out,
            "| `{}` | {ty} | {sem} | {units} | {instances} | {} |",
            e.name, e.oneline
        );
    }
    for (_, source) in catalogue.sources() {
        for (place, what) in source.dynamic.iter().flat_map(|d| d.places) {
            let node = place.node().unwrap_or("param");
            let instances = instances(place.indom(), Some(source));
            let _ =
                writeln!(out, "| `apm.{}.{node}.*` | | | | {instances} | {what} |", source.name);
        }
    }
    out
}

/// The static metrics as JSON, one a line, then the trees of dynamic ones. The word of `indom` is
/// that of docs/metrics.md, empty for a metric without instances.
#[must_use]
pub fn json(catalogue: &Catalogue) -> String {
    let metrics = catalogue.entries().iter().map(|e| {
        let source = e.source.and_then(|s| catalogue.source(s));
        serde_json::json!({
            "name": e.name, "type": e.ty.name(), "semantics": e.sem.name(),
            "units": e.units.name(), "indom": instances(e.indom, source), "oneline": e.oneline,
        })
    });
    let trees = catalogue.sources().flat_map(|(_, source)| {
        source.dynamic.iter().flat_map(|d| d.places).map(move |(place, oneline)| {
            let node = place.node().unwrap_or("param");
            serde_json::json!({
                "name": format!("apm.{}.{node}", source.name),
                "indom": instances(place.indom(), Some(source)), "oneline": oneline,
            })
        })
    });
    let lines = |rows: Vec<String>| rows.join(",\n");
    format!(
        "{{\"metrics\": [\n{}\n], \"trees\": [\n{}\n]}}\n",
        lines(metrics.map(|m| m.to_string()).collect()),
        lines(trees.map(|t| t.to_string()).collect())
    )
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "source-list")]
    #[test]
    fn catalogue_as_json_has_every_metric_and_tree() {
        let catalogue = crate::sources::catalogue();
        let json: serde_json::Value = serde_json::from_str(&super::json(&catalogue)).unwrap();
        let metrics = json["metrics"].as_array().unwrap();
        assert_eq!(metrics.len(), catalogue.entries().len());
        let up = metrics.iter().find(|m| m["name"] == "apm.agent.up").unwrap();
        assert_eq!(
            (up["semantics"].as_str(), up["indom"].as_str()),
            (Some("instant"), Some("agent"))
        );
        assert!(json["trees"].as_array().unwrap().iter().all(|t| t["name"].is_string()));
    }

    #[test]
    fn long_lines_are_broken_at_blanks() {
        let text = super::wrapped(&format!("{} end\n\nshort", "word ".repeat(30).trim()));
        assert!(text.lines().all(|l| l.len() <= 78 && !l.ends_with(' ')));
        assert_eq!(text.replace('\n', " ").matches("word").count(), 30);
        assert!(text.ends_with("end\n\nshort"));
    }

    /// `cargo run -- --print-pmns > pmns` and the like regenerate the files.
    #[cfg(all(feature = "source-list", not(feature = "toy")))]
    #[test]
    fn generated_files_are_up_to_date() {
        let catalogue = crate::sources::catalogue();
        assert!(
            include_str!("../pmns") == super::pmns(&catalogue),
            "pmns is stale: run qa/generate"
        );
        assert!(
            include_str!("../help") == super::help(&catalogue),
            "help is stale: run qa/generate"
        );
        assert!(
            include_str!("../docs/metrics.md") == super::metrics(&catalogue),
            "docs/metrics.md is stale: run qa/generate"
        );
    }
}
