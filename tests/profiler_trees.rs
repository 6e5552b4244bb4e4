//! The trees of the calls of captured agents are those that an independent reader has made of them
//! (qa/corpus/profiler/trees.json), however the bytes come in.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use pmdaapm::contract::{Recorded, RecordedEvent, Session};
use pmdaapm::model::{EventKindId, Now, Stamp, TreeRules};
use pmdaapm::sources::Source;
use pmdaapm::sources::profiler::{AgentSession, Options, Profiler, Settings, SharedState};
use serde_json::Value;
use test_kit::profiler::{corpus, play, read, script};

/// The requests of a captured agent.
fn requests(name: &str) -> Vec<u8> {
    play(&script(&read(&corpus().join(name))), Settings::default()).0
}

/// The records of an agent's connection, which is read in pieces of this size.
fn records(requests: &[u8], piece: usize, rules: TreeRules) -> Recorded {
    records_for(requests, piece, rules, true)
}

/// `watched`: somebody reads them.
fn records_for(requests: &[u8], piece: usize, rules: TreeRules, watched: bool) -> Recorded {
    let shared = Arc::new(SharedState::new(64 << 20));
    shared.set_trees(rules);
    let mut seen = Recorded::new(&Profiler::TABLE);
    (seen.log_mut().packs, seen.log_mut().watched) = (true, watched);
    let mut session = AgentSession::new("127.0.0.1:9".into(), Options::default(), shared);
    let wall = Stamp { sec: 1_900_000_000, nsec: 0 };
    let now = Now { monotonic: Duration::from_secs(7), wall };
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    for read in requests.chunks(piece) {
        input.extend_from_slice(read);
        // CLOSE is an end too.
        let _ = session.feed(now, &mut input, &mut out, &mut seen);
        while session.unfinished() {
            let _ = session.feed(now, &mut input, &mut out, &mut seen);
        }
        seen.flush();
        out.clear();
    }
    session.close(now, &mut out, &mut seen);
    seen.flush();
    seen
}

fn kind(seen: &Recorded, name: &str) -> Vec<RecordedEvent> {
    let at = Profiler::TABLE.events.iter().position(|kind| kind.name == name).unwrap();
    seen.events(EventKindId::new(at as u8))
}

fn number(event: &RecordedEvent, name: &str) -> u64 {
    event.get(name).map_or(0, |value| value.parse().unwrap())
}

fn millis(stamp: Stamp) -> i64 {
    (stamp.as_nanos() / 1_000_000) as i64
}

/// `BEGIN DURATION TREE` in milliseconds.
fn line(event: &RecordedEvent) -> String {
    let entry = |entry: &str| {
        let mut fields = entry.splitn(6, ',');
        let depth = fields.next().unwrap();
        let times: Vec<String> = (0..3).map(|_| in_millis(fields.next().unwrap())).collect();
        format!("{depth},{},{},{}", times.join(","), fields.next().unwrap(), fields.next().unwrap())
    };
    let tree: Vec<_> = event.get("tree").unwrap().split(' ').map(entry).collect();
    format!("{} {} {}", millis(event.stamp), number(event, "duration") / 1_000_000, tree.join(" "))
}

fn in_millis(micros: &str) -> String {
    match micros {
        "" => String::new(),
        micros => {
            let micros: i64 = micros.parse().unwrap();
            assert_eq!(micros % 1000, 0);
            (micros / 1000).to_string()
        }
    }
}

/// Lines of the independent reader, without the number of methods entered; and this number.
fn expected() -> BTreeMap<String, Vec<(String, u64)>> {
    let all: Value = serde_json::from_slice(&read(&corpus().join("trees.json"))).unwrap();
    let lines = |of: &Value| {
        let lines = of["slowest"].as_array().unwrap().iter().map(|line| {
            let mut fields = line.as_str().unwrap().splitn(4, ' ');
            let mut next = || fields.next().unwrap();
            let (begin, took, enters, tree) = (next(), next(), next(), next());
            (format!("{begin} {took} {tree}"), enters.parse().unwrap())
        });
        lines.collect()
    };
    all.as_object().unwrap().iter().map(|(name, of)| (name.clone(), lines(of))).collect()
}

/// All calls that have a millisecond.
const ALL: TreeRules =
    TreeRules { count: 100_000, least: Duration::from_millis(1), always: true, size: 1 << 20 };

#[test]
fn the_independent_reader_agrees() {
    let expected = expected();
    assert_eq!(expected.len(), 8);
    let mut compared = 0;
    for (name, expected) in expected.iter().filter(|(name, _)| !name.starts_with("gen-head")) {
        let seen = records(&requests(name), 64 << 10, ALL);
        let trees = kind(&seen, "tree");
        let mut left: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (line, enters) in expected {
            left.entry(line).or_default().push(*enters);
        }
        for tree in &trees {
            let line = line(tree);
            let found = left.get_mut(&*line).and_then(Vec::pop);
            assert!(found.is_some(), "{name}: {line}");
            assert_eq!(tree.get("partial"), None);
        }
        // Each call has its tree.
        for call in kind(&seen, "call").iter().filter(|call| number(call, "duration") > 0) {
            let place = |event: &RecordedEvent| {
                ["trace.file", "trace.offset", "trace.index"].map(|part| number(event, part))
            };
            let tree = trees.iter().find(|tree| place(tree) == place(call));
            let tree = tree.unwrap_or_else(|| panic!("{name}: {call:?}"));
            assert_eq!(tree.stamp, call.stamp, "{name}");
            for part in
                ["duration", "method", "title", "thread", "cpu", "nested", "trace.id", "request_id"]
            {
                assert_eq!(tree.get(part), call.get(part), "{name} {part} {call:?}");
            }
            let entries = tree.get("tree").unwrap().split(' ');
            let executions = entries.map(|entry| entry.split(',').nth(4).unwrap());
            let executions: u64 = executions.map(|n| n.parse::<u64>().unwrap()).sum();
            assert_eq!(executions, number(call, "nested"), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn the_slowest_are_found_and_pieces_do_not_matter() {
    for (name, count) in
        [("parser.test.protocol.gz", 45), ("load.duplex", 10), ("gen-head.duplex.gz", 1)]
    {
        let requests = requests(name);
        let rules = TreeRules { count, least: Duration::from_millis(4), ..ALL };
        let whole: Vec<_> =
            kind(&records(&requests, 64 << 10, rules), "tree").iter().map(line).collect();
        let took = |line: &str| line.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
        let mut durations: Vec<_> = whole.iter().map(|line| took(line)).collect();
        durations.sort_unstable_by(|a, b| b.cmp(a));
        let mut slowest: Vec<_> = expected()[name].iter().map(|(line, _)| took(line)).collect();
        slowest.truncate(count);
        slowest.retain(|took| *took >= 4);
        assert_eq!(durations, slowest, "{name}");
        for piece in if requests.len() < 1_000_000 { &[1, 7, 1000][..] } else { &[997] } {
            let pieces = records(&requests, *piece, rules);
            assert_eq!(
                kind(&pieces, "tree").iter().map(line).collect::<Vec<_>>(),
                whole,
                "{name} {piece}"
            );
        }
    }
}

#[test]
fn only_who_reads_has_trees() {
    let trees = |watched, always| {
        let rules = TreeRules { always, ..ALL };
        let seen = records_for(&requests("parser.test.protocol.gz"), 64 << 10, rules, watched);
        assert_eq!(kind(&seen, "call").len(), 45);
        kind(&seen, "tree").len()
    };
    assert_eq!([trees(false, false), trees(true, false), trees(false, true)], [0, 80, 80]);
}
