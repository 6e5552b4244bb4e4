//! Values in full precision and descriptions of classes, compared with `babeltrace2 -c
//! sink.text.details`: numbers with all digits, floating-point numbers with 6 decimals of any size,
//! clocks in cycles and nanoseconds, names, types and mappings.
#![cfg(feature = "fs")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "a test"
)]

mod kit;

use std::fmt::Write;
use std::path::Path;

use ctf::fs::Session;
use ctf::schema::{DisplayBase, Encoding, Scope};
use ctf::{
    Discarded, Event, EventPlan, Kind, Merge, MergeVisitor, Node, NodeId, Packet, PacketError,
    Stream, Visitor, decode_string,
};
use kit::{captures, corpus, expected, shared, streams};

/// `1,234,567`; four digits are not grouped.
fn grouped(digits: &str, every: usize, mark: char) -> String {
    let (sign, digits) = digits.split_at(usize::from(digits.starts_with('-')));
    if digits.len() <= 4 {
        return format!("{sign}{digits}");
    }
    let mut out = sign.to_owned();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(every) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}

fn number(value: i128, node: &Node) -> String {
    let bits = match node.kind {
        Kind::Unsigned(bits) | Kind::Signed(bits) => bits,
        _ => 64,
    };
    match node.base {
        DisplayBase::Hexadecimal => {
            let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
            let value = u64::try_from(value & i128::from(mask)).unwrap();
            format!("0x{}", grouped(&format!("{value:x}"), 4, ':'))
        }
        DisplayBase::Decimal => grouped(&value.to_string(), 3, ','),
        other => panic!("no capture has base {other:?}"),
    }
}

fn real(value: f64) -> String {
    if value.is_nan() { "nan".into() } else { format!("{value:.6}") }
}

/// The body of an event as the details sink prints it.
#[derive(Default)]
struct Details {
    nodes: Vec<Node>,
    scopes: Vec<(Scope, NodeId)>,
    begun: usize,
    /// Open compound fields, and the number of their members so far.
    open: Vec<(Kind, u64)>,
    out: String,
    events: Vec<String>,
    /// Discarded events: count, first and last cycles.
    lost: u64,
}

fn title(scope: Scope) -> &'static str {
    match scope {
        Scope::CommonContext => "Common context",
        Scope::Context => "Specific context",
        Scope::Payload => "Payload",
        other => panic!("{other:?} in an event"),
    }
}

impl Details {
    fn enter(&mut self, scope: Scope) {
        while self.begun < self.scopes.len() && self.scopes[self.begun].0 < scope {
            self.empty();
        }
        if self.begun < self.scopes.len() && self.scopes[self.begun].0 == scope {
            writeln!(self.out, "  {}:", title(scope)).unwrap();
            self.begun += 1;
        }
    }

    fn empty(&mut self) {
        writeln!(self.out, "  {}: Empty", title(self.scopes[self.begun].0)).unwrap();
        self.begun += 1;
    }

    fn field(&mut self, node: NodeId, value: &str) {
        let node = self.nodes[node.index()].clone();
        self.enter(node.scope);
        let indent = " ".repeat(4 + 2 * self.open.len());
        let name = match self.open.last_mut() {
            Some((Kind::Array(_), n)) => {
                *n += 1;
                format!("[{}]", *n - 1)
            }
            _ => node.name.to_string(),
        };
        if value.starts_with(':') {
            writeln!(self.out, "{indent}{name}{value}").unwrap();
        } else {
            writeln!(self.out, "{indent}{name}: {value}").unwrap();
        }
    }
}

impl<'a> Visitor<'a> for Details {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        let text = number(value.into(), &self.nodes[node.index()]);
        self.field(node, &text);
    }

    fn signed(&mut self, node: NodeId, value: i64) {
        let text = number(value.into(), &self.nodes[node.index()]);
        self.field(node, &text);
    }

    fn float(&mut self, node: NodeId, value: f64) {
        self.field(node, &real(value));
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        self.field(node, &decode_string(value, Encoding::Utf8));
    }

    fn blob(&mut self, _: NodeId, _: &'a [u8]) {
        panic!("no capture has a blob in an event");
    }

    fn open(&mut self, node: NodeId, count: u64) {
        match self.nodes[node.index()].kind {
            Kind::Array(_) if count == 0 => self.field(node, "Empty"),
            Kind::Array(_) => self.field(
                node,
                &format!(": Length {}:", grouped(&count.to_string(), 3, ','))
                    .replacen(": ", ": ", 1),
            ),
            other => panic!("no capture has {other:?} in an event"),
        }
        self.open.push((self.nodes[node.index()].kind, 0));
    }

    fn close(&mut self, _: NodeId) {
        self.open.pop();
    }
}

impl<'t, 'a> MergeVisitor<'t, 'a> for Details {
    fn packet(&mut self, _: usize, _: &Packet<'t, 'a>, lost: Discarded) {
        self.lost += lost.events;
    }

    fn fault(&mut self, _: usize, fault: &PacketError) {
        panic!("{fault}");
    }

    fn event(&mut self, _: usize, event: &Event<'t>, nanoseconds: Option<i128>) {
        self.nodes = event.class.nodes().to_vec();
        self.scopes = event.class.scopes().to_vec();
        self.begun = 0;
        let cycles = grouped(&event.cycles.to_string(), 3, ',');
        let nanoseconds = grouped(&nanoseconds.unwrap().to_string(), 3, ',');
        self.out = format!("[{cycles} cycles, {nanoseconds} ns from origin]\n");
        writeln!(self.out, "Event `{}` (Class ID {}):", event.class.name, event.class.id).unwrap();
    }

    fn done(&mut self, _: usize) {
        while self.begun < self.scopes.len() {
            self.empty();
        }
        self.events.push(std::mem::take(&mut self.out));
    }
}

/// Blocks of the expected text that are events, without the line that numbers traces and streams.
/// Texts in events may have blank lines, so a block ends only at the next time stamp followed by
/// such a line.
fn event_blocks(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let starts = |n: usize| {
        lines[n].starts_with('[')
            && lines.get(n + 1).is_some_and(|l| l.starts_with("{Trace ") || l.starts_with('['))
    };
    let starts: Vec<usize> = (0..lines.len()).filter(|n| starts(*n)).chain([lines.len()]).collect();
    let block = |pair: &[usize]| {
        let event = lines.get(pair[0] + 2).is_some_and(|line| line.starts_with("Event `"));
        event.then(|| {
            [&[lines[pair[0]]], &lines[pair[0] + 2..pair[1] - 1]].concat().join("\n") + "\n"
        })
    };
    starts.windows(2).filter_map(block).collect()
}

#[test]
fn values_to_the_last_digit() {
    assert!(compare_values(&corpus()) > 1000);
}

#[test]
#[ignore = "reads ../shared/data/lttng"]
fn values_to_the_last_digit_for_large_captures() {
    assert!(compare_values(&shared()) > 6000);
}

/// Compares the details of each capture in a directory; returns the number of events.
fn compare_values(dir: &Path) -> usize {
    let mut compared = 0;
    for capture in captures(dir) {
        let Some(text) = expected(&capture.dir, "details") else { continue };
        let session = Session::open(&capture.trace).unwrap();
        let streams = streams(&session);
        let all = streams.iter().map(|(trace, bytes)| Stream::new(trace, bytes));
        let mut merge = Merge::new(all.collect());
        let mut details = Details::default();
        while merge.step(&mut details) {}
        let theirs = event_blocks(&text);
        assert_eq!(details.events.len(), theirs.len(), "{}", capture.name);
        for (ours, theirs) in details.events.iter().zip(&theirs) {
            assert!(same(ours, theirs), "{}:\nours:\n{ours}\nbabeltrace:\n{theirs}", capture.name);
        }
        let lost: u64 = text
            .lines()
            .filter_map(|line| line.strip_prefix("Discarded events ("))
            .map(|rest| rest.split(' ').next().unwrap().replace(',', "").parse::<u64>().unwrap())
            .sum();
        assert_eq!(details.lost, lost, "{}", capture.name);
        compared += theirs.len();
    }
    compared
}

/// Whether the texts are equal, except for texts that babeltrace 2.0.4 did not clear (see
/// `kit::Stale`): where ours is empty, theirs may not be.
fn same(ours: &str, theirs: &str) -> bool {
    if ours == theirs {
        return true;
    }
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.lines().collect(), theirs.lines().collect());
    let mut theirs = theirs.into_iter().peekable();
    let sound = ours.iter().all(|line| {
        let Some(other) = theirs.next() else { return false };
        let stale = line.ends_with(": ") && other.starts_with(line);
        while stale && theirs.peek().is_some_and(|next| !next.starts_with("    ")) {
            // Skips the rest of a text with line ends.
            theirs.next();
        }
        stale || *line == other
    });
    sound && theirs.next().is_none()
}

fn kind_name(node: &Node) -> String {
    let base = match node.base {
        DisplayBase::Binary => 2,
        DisplayBase::Octal => 8,
        DisplayBase::Decimal => 10,
        DisplayBase::Hexadecimal => 16,
    };
    let mappings = node
        .mappings
        .as_ref()
        .map_or(String::new(), |mappings| format!(", {} mappings", mappings.all().len()));
    let integer = |sign: &str, bits| {
        let kind = if node.mappings.is_some() { "enumeration" } else { "integer" };
        format!("{sign} {kind} ({bits}-bit, Base {base}{mappings})")
    };
    match node.kind {
        Kind::Unsigned(bits) => integer("Unsigned", bits),
        Kind::Signed(bits) => integer("Signed", bits),
        Kind::Float(32) => "Single-precision real".into(),
        Kind::Float(_) => "Double-precision real".into(),
        Kind::String(_) => "String".into(),
        Kind::Array(Some(n)) => format!("Static array (Length {n}):"),
        Kind::Array(None) => "Dynamic array (with length field)".into(),
        other => panic!("no capture has {other:?} in an event"),
    }
}

fn level(level: i64) -> &'static str {
    [
        "Emergency",
        "Alert",
        "Critical",
        "Error",
        "Warning",
        "Notice",
        "Info",
        "Debug (system)",
        "Debug (program)",
        "Debug (process)",
        "Debug (module)",
        "Debug (unit)",
        "Debug (function)",
        "Debug (line)",
        "Debug",
    ][usize::try_from(level).unwrap()]
}

/// The description of a class as printed by the details sink.
fn class(plan: &EventPlan) -> String {
    let mut out = format!("    Event class `{}` (ID {}):\n", plan.name, plan.id);
    if let Some(n) = plan.log_level {
        writeln!(out, "      Log level: {}", level(n)).unwrap();
    }
    if let Some(uri) = &plan.emf_uri {
        writeln!(out, "      EMF URI: {uri}").unwrap();
    }
    for (scope, root) in plan.scopes().iter().filter(|(scope, _)| *scope != Scope::CommonContext) {
        let scope = if *scope == Scope::Payload { "Payload" } else { "Specific context" };
        let members = plan.nodes().iter().filter(|n| n.parent == Some(*root)).count();
        let s = if members == 1 { "" } else { "s" };
        writeln!(out, "      {scope} field class: Structure ({members} member{s}):").unwrap();
        if members == 0 {
            out.truncate(out.len() - 2);
            out.push('\n');
        }
        for node in plan
            .nodes()
            .iter()
            .filter(|n| n.parent.is_some() && n.scope == plan.nodes()[root.index()].scope)
        {
            let inner = node.parent != Some(*root);
            let (indent, name) = if inner { (10, "Element") } else { (8, &*node.name) };
            write!(out, "{:indent$}{name}: {}", "", kind_name(node)).unwrap();
            let Some(mappings) = &node.mappings else {
                out.push('\n');
                continue;
            };
            out.push_str(":\n");
            let mut lines: Vec<String> = mappings
                .all()
                .iter()
                .map(|mapping| {
                    let range = |(low, high): &(i128, i128)| {
                        if low == high { format!("[{low}]") } else { format!("[{low}, {high}]") }
                    };
                    let ranges: Vec<String> = mapping.ranges.iter().map(range).collect();
                    format!("{:10}{}: {}\n", "", mapping.name, ranges.join(" "))
                })
                .collect();
            lines.sort();
            out.extend(lines);
        }
    }
    out
}

/// Event classes in the expected text.
fn class_blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut skip = false;
    for line in text.lines() {
        if line.starts_with("    Event class `") {
            blocks.push(String::new());
        } else if !line.starts_with("      ") {
            skip = false;
            if blocks.last().is_some_and(|b| !b.ends_with("\n\n")) {
                blocks.push(String::new());
            }
            continue;
        }
        // Skips user attributes, which we have only in decoded form, and paths to lengths, which
        // only babeltrace prints.
        skip = line.starts_with("      User attributes:") || skip && line.starts_with("       ");
        if let Some(block) = blocks.last_mut().filter(|_| !skip) {
            let line = line.split(" (Length field ").next().unwrap();
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks.retain(|b| b.starts_with("    Event class `"));
    blocks
}

#[test]
fn classes_are_known_before_their_events() {
    assert!(compare_classes(&corpus()) >= 20);
}

#[test]
#[ignore = "reads ../shared/data/lttng"]
fn classes_are_known_before_their_events_for_large_captures() {
    assert!(compare_classes(&shared()) >= 26);
}

/// Compares the event record classes of each capture in a directory; returns their number.
fn compare_classes(dir: &Path) -> usize {
    let mut compared = 0;
    for capture in captures(dir) {
        let Some(text) = expected(&capture.dir, "details") else { continue };
        let session = Session::open(&capture.trace).unwrap();
        let mut ours: Vec<String> = session
            .traces()
            .iter()
            .flat_map(|l| l.trace.streams().iter().flat_map(|s| s.events().iter().map(class)))
            .collect();
        let mut theirs = class_blocks(&text);
        ours.sort();
        theirs.sort();
        theirs.dedup();
        ours.dedup();
        assert_eq!(ours, theirs, "{}", capture.name);
        compared += ours.len();
    }
    compared
}
