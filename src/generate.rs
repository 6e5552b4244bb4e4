//! The files `pmns`, `help` and `docs/metrics.md`, and the catalogue as JSON, made from the metric
//! tables.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::catalogue::{AGENT_INDOM, Catalogue, Entry, SERVICE_INDOM, SourceTable};
use crate::model::InDom;

/// The text of `docs/metrics.md`. A line `@TREE@` is the place of the tables of `apm.TREE`, and
/// `@TREE.made@` of what the leaves of a common tree are made of.
const METRICS_PAGE: &str = include_str!("metrics.in");
const METRICS_HEAD: &str = "| metric | type | semantics | units | instances | what |\n| --- | --- | --- | --- | --- | --- |";

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

/// The page `docs/metrics.md`. A source that its text does not know stands at the end.
#[must_use]
pub fn metrics(catalogue: &Catalogue) -> String {
    let mut out = String::new();
    for line in METRICS_PAGE.lines() {
        let place = line.strip_prefix('@').and_then(|rest| rest.strip_suffix('@'));
        match place.map(|tree| (tree, tree.strip_suffix(".made"))) {
            None => out.push_str(&format!("{line}\n")),
            Some((tree, None)) => table(&mut out, catalogue, tree),
            Some((_, Some(tree))) => made_of(&mut out, catalogue, tree),
        }
    }
    for (_, SourceTable { name, .. }) in catalogue.sources() {
        if !METRICS_PAGE.contains(&format!("\n@{name}@\n")) {
            out.push_str(&format!("\n## {name}\n\n"));
            table(&mut out, catalogue, name);
        }
    }
    out
}

/// The tables of a tree: its metrics and places of dynamic ones, then what its event records have.
fn table(out: &mut String, catalogue: &Catalogue, tree: &str) {
    let entries = below(catalogue, tree).map(|e| {
        let instances = instances(e.indom, e.source.and_then(|s| catalogue.source(s)));
        let (ty, sem, units) = (e.ty.name(), e.sem.name(), e.units.name());
        (e.name.clone(), format!("{ty} | {sem} | {units} | {instances} | {}", e.oneline))
    });
    let sources = catalogue.sources().filter(|(_, source)| source.name == tree);
    let places = sources.flat_map(|(_, source)| {
        source.dynamic.iter().flat_map(|d| d.places).map(move |(place, what)| {
            let node = place.node().unwrap_or("param");
            let instances = instances(place.indom(), Some(source));
            (format!("apm.{tree}.{node}.*"), format!("| | | {instances} | {what}"))
        })
    });
    let is_record = |(name, _): &(String, String)| {
        let node = name.split('.').nth(2);
        node == Some("event") || node == Some("param")
    };
    let (records, rows): (Vec<_>, Vec<_>) = entries.chain(places).partition(is_record);
    let title = format!("\n### Records of {tree}\n\n");
    for (title, rows) in [("", rows), (title.as_str(), records)] {
        if !rows.is_empty() {
            let lines: Vec<_> =
                rows.iter().map(|(name, row)| format!("| `{name}` | {row} |")).collect();
            let _ = writeln!(out, "{title}{METRICS_HEAD}\n{}", lines.join("\n"));
        }
    }
}

/// The metrics of the sources that the leaves of a common tree are made of, as their help has it.
fn made_of(out: &mut String, catalogue: &Catalogue, tree: &str) {
    out.push_str("| leaf | made of |\n| --- | --- |\n");
    for e in below(catalogue, tree) {
        let of = |(_, source): (_, &SourceTable)| e.help.find(&format!(" Of {}: ", source.name));
        let made = catalogue.sources().filter_map(of).min().and_then(|at| e.help.get(at..));
        if let (Some(made), Some(leaf)) = (made, e.name.splitn(3, '.').nth(2)) {
            let _ = writeln!(out, "| {leaf} | {} |", made.trim().replace("Of ", ""));
        }
    }
}

/// The static metrics of a tree.
fn below<'a>(catalogue: &'a Catalogue, tree: &'a str) -> impl Iterator<Item = &'a Entry> {
    catalogue.entries().iter().filter(move |e| e.name.split('.').nth(1) == Some(tree))
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
