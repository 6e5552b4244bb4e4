//! Recorded dialogues of viewers with lttng-relayd: metadata arrives while packets are decoded, in
//! the order of the wire, and the events are those that babeltrace printed. Only the parts of the
//! protocol needed to find metadata and packets are decoded here (docs/protocols/lttng.md, i).
#![cfg(feature = "fs")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "a test"
)]

mod kit;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ctf::show::TextFormatter;
use ctf::{Event, EventVisitor, Packed, Packet, Trace, Visitor};
use kit::{Stale, corpus, expected, shared};

/// Reads numbers of the protocol, which are big endian.
struct Wire<'a>(&'a [u8]);

impl<'a> Wire<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.bytes(bytes)?.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    fn count(&mut self, bytes: usize) -> Option<usize> {
        usize::try_from(self.number(bytes)?).ok()
    }
}

/// A line of text with its time.
type Line = (i128, String);

/// Events of a packet as lines without the packet context, which is added later.
struct Lines<'t> {
    text: TextFormatter<'t>,
    context: String,
    clock: &'t ctf::schema::ClockClass,
    now: i128,
    lines: Vec<Line>,
}

impl<'t> EventVisitor<'t, '_> for Lines<'t> {
    fn event(&mut self, event: &Event<'t>) -> bool {
        self.now = self.clock.nanoseconds(event.cycles);
        self.text.line = format!("{}: {}", event.class.name, self.context);
        self.text.begin(event.class.nodes(), event.class.scopes(), true);
        true
    }

    fn done(&mut self) {
        self.text.end();
        self.lines.push((self.now, std::mem::take(&mut self.text.line)));
    }
}

impl<'a> Visitor<'a> for Lines<'_> {
    fn unsigned(&mut self, node: ctf::NodeId, value: u64) {
        self.text.unsigned(node, value);
    }

    fn signed(&mut self, node: ctf::NodeId, value: i64) {
        self.text.signed(node, value);
    }

    fn float(&mut self, node: ctf::NodeId, value: f64) {
        self.text.float(node, value);
    }

    fn string(&mut self, node: ctf::NodeId, value: &'a [u8]) {
        self.text.string(node, value);
    }

    fn blob(&mut self, node: ctf::NodeId, value: &'a [u8]) {
        self.text.blob(node, value);
    }

    fn packed(&mut self, node: ctf::NodeId, items: Packed<'a>) {
        self.text.packed(node, items);
    }

    fn open(&mut self, node: ctf::NodeId, count: u64) {
        self.text.open(node, count);
    }

    fn close(&mut self, node: ctf::NodeId) {
        self.text.close(node);
    }
}

#[derive(Default)]
struct Viewer {
    /// Trace and whether it is metadata, by stream.
    streams: BTreeMap<u64, (u64, bool)>,
    traces: BTreeMap<u64, Trace>,
    clocks: BTreeMap<u64, u64>,
    lines: Vec<Line>,
    /// Number of replies with metadata, and of event classes known at each packet.
    grown: Vec<usize>,
    braces: bool,
}

impl Viewer {
    fn streams(&mut self, wire: &mut Wire<'_>, count: usize) -> Option<()> {
        for _ in 0..count {
            let (id, trace, metadata) = (wire.number(8)?, wire.number(8)?, wire.number(4)?);
            wire.bytes(4096 + 255)?;
            self.streams.insert(id, (trace, metadata != 0));
        }
        Some(())
    }

    fn metadata(&mut self, id: u64, bytes: &[u8]) {
        let (trace, is_metadata) = self.streams[&id];
        assert!(is_metadata);
        let trace = self.traces.entry(trace).or_default();
        trace.metadata(bytes).unwrap();
        let classes = trace.streams().iter().map(|s| s.events().len()).sum();
        if self.grown.last() != Some(&classes) {
            self.grown.push(classes);
        }
    }

    fn packet(&mut self, id: u64, bytes: &[u8]) {
        let (trace, is_metadata) = self.streams[&id];
        assert!(!is_metadata);
        let trace = &self.traces[&trace];
        let clock = self.clocks.get(&id).copied().unwrap_or_default();
        let mut packet = Packet::open(trace, bytes, clock).unwrap();
        assert!(!packet.info().foreign);
        let mut context = TextFormatter::default();
        context.begin(packet.stream().context_nodes(), packet.stream().context_scopes(), false);
        packet.visit_context(&mut context).unwrap();
        context.end();
        let mut text = TextFormatter::default();
        text.braces = self.braces;
        let clock = trace.clock(packet.stream()).unwrap();
        let mut lines = Lines { text, context: context.line, clock, now: 0, lines: Vec::new() };
        packet.read(&mut lines).unwrap();
        self.lines.extend(lines.lines);
        self.clocks.insert(id, packet.clock());
    }

    /// Processes requests and replies in turn.
    fn dialogue(&mut self, requests: &[u8], replies: &[u8]) -> Option<()> {
        let (mut c, mut s) = (Wire(requests), Wire(replies));
        let mut minor = 0;
        while !c.0.is_empty() {
            let (size, command) = (c.count(8)?, c.number(4)?);
            c.bytes(4)?;
            let mut body = Wire(c.bytes(size)?);
            match command {
                1 => {
                    let mut ours = Wire(&body.0[12..]);
                    s.bytes(12)?;
                    minor = s.number(4)?.min(ours.number(4)?);
                    s.bytes(4)?;
                }
                2 => {
                    for _ in 0..s.count(4)? {
                        if minor >= 15 {
                            s.bytes(20)?;
                            let (host, name) = (s.count(4)?, s.count(4)?);
                            s.bytes(4 + host + name)?;
                        } else {
                            s.bytes(8 + 12 + 64 + 255)?;
                        }
                    }
                }
                3 | 7 => {
                    s.bytes(4)?;
                    let count = s.count(4)?;
                    self.streams(&mut s, count)?;
                }
                4 => {
                    s.bytes(64)?;
                }
                5 => {
                    let stream = body.number(8)?;
                    let (status, length) = (s.number(4)?, s.count(4)?);
                    s.bytes(4)?;
                    if status == 1 {
                        self.packet(stream, s.bytes(length)?);
                    }
                }
                6 => {
                    let stream = body.number(8)?;
                    let (length, status) = (s.count(8)?, s.number(4)?);
                    let bytes = s.bytes(length)?;
                    if status == 1 {
                        self.metadata(stream, bytes);
                    }
                }
                8 | 9 => {
                    s.bytes(4)?;
                }
                other => panic!("command {other}"),
            }
        }
        assert!(s.0.is_empty(), "{} bytes of replies are left", s.0.len());
        Some(())
    }
}

/// The dialogues in a directory.
fn dialogues(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|d| d.join("cap/s2c.bin").is_file() && !d.ends_with("live-ust-grow-bt2crash"));
    all.sort();
    assert!(!all.is_empty());
    all
}

fn watch(dir: &Path) -> Viewer {
    let newer = dir.file_name().unwrap().to_string_lossy().contains("216");
    let mut viewer = Viewer { braces: newer, ..Viewer::default() };
    let read = |name: &str| std::fs::read(dir.join("cap").join(name)).unwrap();
    viewer.dialogue(&read("c2s.bin"), &read("s2c.bin")).unwrap();
    viewer
}

/// The event in a line of babeltrace: after the second parenthesis and the origin.
fn event_of(line: &str) -> &str {
    let rest = &line[line.find(") ").unwrap() + 2..];
    &rest[rest.find(' ').unwrap() + 1..]
}

#[test]
fn events_are_those_that_babeltrace_saw() {
    compare_events(&corpus());
}

#[test]
#[ignore = "reads ../shared/data/lttng"]
fn events_are_those_that_babeltrace_saw_in_large_captures() {
    compare_events(&shared());
}

fn compare_events(dir: &Path) {
    for dir in dialogues(dir) {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let mut ours = watch(&dir).lines;
        ours.sort_by_key(|line| line.0);
        let theirs = expected(&dir, "pretty").unwrap();
        assert_eq!(ours.len(), theirs.lines().count(), "{name}");
        // Events at the same nanosecond may be in any order.
        let mut theirs: Vec<(String, &str)> =
            theirs.lines().map(|l| (l[1..30].to_owned(), event_of(l))).collect();
        theirs.sort_by(|a, b| a.0.cmp(&b.0).then(kind(a.1).cmp(kind(b.1))));
        ours.sort_by(|a, b| a.0.cmp(&b.0).then(kind(&a.1).cmp(kind(&b.1))));
        let mut stale = Stale::default();
        for ((nanoseconds, ours), (date, theirs)) in ours.iter().zip(&theirs) {
            assert!(
                stale.same(ours, theirs),
                "{name} at {date}:\nours:       {ours}\nbabeltrace: {theirs}"
            );
            let fraction = format!("{:09}", nanoseconds.rem_euclid(1_000_000_000));
            assert!(date.ends_with(&fraction), "{name}: {date} is not {nanoseconds}");
        }
        println!("{name}: {} events, {} texts not cleared", ours.len(), stale.count);
    }
}

/// Name and context of an event, which distinguish two events at the same time.
fn kind(line: &str) -> &str {
    &line[..line.find("}, {").unwrap()]
}

#[test]
fn metadata_grows_between_packets() {
    let viewer = watch(&corpus().join("live-ust-grow"));
    assert_eq!(viewer.grown, [1, 3, 4], "event classes after each piece of metadata");
    assert_eq!(viewer.lines.len(), 1140);
}
