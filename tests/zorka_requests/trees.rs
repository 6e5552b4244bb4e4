//! Trees of the slowest spans, of captures.

use std::collections::BTreeMap;
use std::time::Duration;

use pmdaapm::events::flags;
use pmdaapm::model::{EventKindId, TreeRules};
use pmdaapm::sources::zorka::Config;
use test_kit::zorka::{capture, corpus};

use crate::kit::World;
use crate::records::{Event, SPAN, captures, events};
use crate::replay::replay;

const TREE: EventKindId = EventKindId::new(2);
const RULES: TreeRules =
    TreeRules { count: 100, least: Duration::ZERO, always: true, size: 16 << 10 };

fn replayed(file: &str, rules: TreeRules) -> World {
    let world = World::with(&Config::default(), "");
    world.collector.set_trees(rules);
    replay(&world, &capture(&corpus().join(file)));
    world.wait(60);
    world
}

/// Total, self and executions of the entries of a tree; `others` have no self.
fn entries(tree: &str) -> Vec<(i64, Option<i64>, u64)> {
    let entry = |entry: &str| {
        let fields: Vec<_> = entry.splitn(6, ',').collect();
        assert_eq!((fields.len(), fields[3]), (6, ""), "{entry}");
        (fields[1].parse().unwrap(), fields[2].parse().ok(), fields[4].parse().unwrap())
    };
    tree.split(' ').map(entry).collect()
}

#[test]
fn each_outermost_span_has_the_tree_of_its_records() {
    let (mut trees, mut whole) = (0, 0);
    for (file, _) in captures() {
        let world = replayed(&file, RULES);
        let spans = events(&world, SPAN);
        let found = events(&world, TREE);
        // Also spans within records that are no spans.
        let least = spans.iter().filter(|span| span.get("nested").is_empty()).count();
        assert!((least.min(100)..=spans.len()).contains(&found.len()), "{file}: {}", found.len());
        for tree in &found {
            let is_its = |span: &&Event| {
                span.stamp == tree.stamp
                    && ["duration", "method", "trace", "type", "calls", "error", "span"]
                        .iter()
                        .all(|name| span.get(name) == tree.get(name))
            };
            let span = spans.iter().find(is_its);
            let span = span.unwrap_or_else(|| panic!("{file}: {:?}", tree.params));
            assert_eq!(tree.flags & flags::PARENT != 0, span.flags & flags::ID != 0, "{file}");
            assert_eq!(tree.get("parent"), span.get("span"), "{file}");
            let entries = entries(tree.get("tree"));
            let sum: i64 = entries.iter().map(|(total, own, _)| own.unwrap_or(*total)).sum();
            assert_eq!(sum, entries[0].0, "{file}");
            assert_eq!(entries[0].0 as u64, tree.number("duration") / 1000, "{file}");
            if entries.iter().all(|(_, own, _)| own.is_some()) {
                let executions: u64 = entries.iter().map(|(.., n)| n).sum();
                assert_eq!(executions, span.number("records"), "{file}");
                whole += 1;
            }
            trees += 1;
        }
    }
    assert!(trees > 50 && whole > 30, "{trees} {whole}");
}

#[test]
fn the_slowest_of_a_window_and_only_for_readers() {
    let file = "real-1.90.3/demo-local.jsonl";
    let durations = |rules| {
        let mut all: Vec<_> =
            events(&replayed(file, rules), TREE).iter().map(|e| e.number("duration")).collect();
        all.sort_unstable();
        all
    };
    let all = durations(RULES);
    let slowest = |count: usize| &all[all.len() - count..];
    assert_eq!(durations(TreeRules { count: 2, ..RULES }), slowest(2));
    let least = Duration::from_nanos(*all.last().unwrap());
    assert_eq!(durations(TreeRules { least, ..RULES }), slowest(1));
    assert_eq!(durations(TreeRules { always: false, ..RULES }), [0; 0]);
}

#[test]
fn a_tree_waits_for_its_window_and_goes_with_its_agent() {
    let requests = capture(&corpus().join("real-2.0.3/demo-errors.jsonl"));
    let replayed = || {
        let world = World::with(&Config::default(), "");
        world.collector.set_trees(RULES);
        replay(&world, &requests);
        assert_eq!(events(&world, TREE).len(), 0, "the window is not over");
        world
    };
    let kept = |world: &World| -> BTreeMap<String, u64> {
        world
            .names()
            .into_iter()
            .map(|name| (name.clone(), world.value(&name, "tree.kept")))
            .collect()
    };
    let waits = replayed();
    waits.wait(60);
    let after = events(&waits, TREE).len();
    assert!(after > 0);
    assert_eq!(kept(&waits).values().sum::<u64>(), after as u64);
    let goes = replayed();
    requests.iter().for_each(|request| goes.close(request.connection));
    assert_eq!(events(&goes, TREE).len(), after);
}
