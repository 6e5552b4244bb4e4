//! The files `pmns`, `help` and `docs/metrics.md`, made from the metric tables.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::model::Area;
use crate::sources::{SOURCES, SourceTable};
use crate::store::{AGENT_INDOM, Entry, catalogue};

/// What the help of the domain of all agents says: one line and the full text.
pub const AGENT_INDOM_HELP: (&str, &str) = (
    "Agents of all protocols that are or were connected",
    "One instance for each peer: <protocol>::<name>, for example mono::gcpressure.exe:1234. An instance stays when the agent \
     has gone, for limits.forget, and keeps its number over restarts of the PMDA.",
);

/// The text above the table of `docs/metrics.md`.
const METRICS_HEAD: &str = "\
# Metrics

Made by `qa/generate` from the tables of the sources. *instances* is the instance domain: `agent` has
every peer of every protocol, the name of a source that source's peers; the others are tables.
`pminfo -dtT METRIC` prints all of it with the full help text.

The last rows are trees of metrics that peers bring: type, units and semantics follow from what the
peer declares, with all integers in 64 bits. Event metrics are explained in [events.md](events.md).

";

/// Nodes whose names the PMDA answers itself: pmcd asks it.
fn dynamic_nodes(source: &SourceTable) -> Vec<String> {
    let Some(dynamic) = source.dynamic else { return Vec::new() };
    dynamic
        .node
        .into_iter()
        .chain(["param"])
        .map(|node| format!("apm.{}.{node}", source.name))
        .collect()
}

/// Static metrics that stand in `pmns` by name: all but those under a dynamic node.
fn named() -> Vec<Entry> {
    let dynamic: Vec<String> = SOURCES.iter().flat_map(dynamic_nodes).collect();
    let below = |name: &str| {
        dynamic
            .iter()
            .any(|d| name.strip_prefix(d.as_str()).is_some_and(|rest| rest.starts_with('.')))
    };
    catalogue().into_iter().filter(|e| !below(&e.name)).collect()
}

/// The file `pmns`, for pmns(5) with `APM` defined in `domain.h`.
#[must_use]
pub fn pmns() -> String {
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
    named().iter().for_each(|e| add(&e.name, format!("APM:{}:{}", e.def.cluster, e.def.item)));
    SOURCES.iter().flat_map(dynamic_nodes).for_each(|node| add(&node, "APM:*:*".into()));

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

/// Breaks lines longer than a terminal at blanks: for help texts as PCP's tools show them.
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
pub fn help() -> String {
    let mut out = String::from("#\n# Help texts of pmdaapm. Made by: pmdaapm --print-help\n#\n");
    let mut entry = |what: &str, oneline: &str, text: &str| {
        let _ = write!(out, "\n@ {what} {oneline}\n{}\n", wrapped(text));
    };
    named().iter().for_each(|e| entry(&e.name, &e.def.oneline, &e.def.help));
    entry(&format!("APM.{AGENT_INDOM}"), AGENT_INDOM_HELP.0, AGENT_INDOM_HELP.1);
    for s in SOURCES {
        entry(&format!("APM.{}", s.indom), s.indom_help.0, s.indom_help.1);
        s.tables
            .iter()
            .for_each(|t| entry(&format!("APM.{}", t.indom), t.indom_help.0, t.indom_help.1));
    }
    out
}

/// The page `docs/metrics.md`.
#[must_use]
pub fn metrics() -> String {
    let mut out = String::from(METRICS_HEAD);
    out.push_str(
        "| metric | type | semantics | units | instances | what |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for e in catalogue() {
        let instances = match (e.def.area, e.source.and_then(|s| SOURCES.get(s))) {
            (Area::Agents, _) => "agent",
            (Area::Source, Some(s)) => s.name,
            (Area::Table(n), Some(s)) => s.tables.get(usize::from(n)).map_or("", |t| t.name),
            _ => "",
        };
        let (ty, sem, units) = (e.def.ty.name(), e.def.sem.name(), e.def.units.name());
        let _ = writeln!(
            out,
            "| `{}` | {ty} | {sem} | {units} | {instances} | {} |",
            e.name, e.def.oneline
        );
    }
    for source in SOURCES {
        if let Some(d) = source.dynamic {
            let _ = writeln!(
                out,
                "| `apm.{}.{}.*` | | | | {} | {} |",
                source.name,
                d.node.unwrap_or("param"),
                source.name,
                d.what
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_lines_are_broken_at_blanks() {
        let text = super::wrapped(&format!("{} end\n\nshort", "word ".repeat(30).trim()));
        assert!(text.lines().all(|l| l.len() <= 78 && !l.ends_with(' ')));
        assert_eq!(text.replace('\n', " ").matches("word").count(), 30);
        assert!(text.ends_with("end\n\nshort"));
    }

    /// `cargo run -- --print-pmns > pmns` and so on make them again.
    #[test]
    fn generated_files_are_up_to_date() {
        assert!(include_str!("../pmns") == super::pmns(), "pmns is stale: run qa/generate");
        assert!(include_str!("../help") == super::help(), "help is stale: run qa/generate");
        assert!(
            include_str!("../docs/metrics.md") == super::metrics(),
            "docs/metrics.md is stale: run qa/generate"
        );
    }
}
