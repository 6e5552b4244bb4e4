//! The tree of a call as slices or spans below it.
//!
//! The nodes are sums over all executions, so that they have no times: they are laid out one behind another
//! from the begin of their parent, the longest first.

use std::sync::Arc;

use crate::meaning::{Attribute, Attributes, Identity, Ids, Item};
use crate::model::{Origin, Record, Value};

/// Nodes of a tree. The PMDA has at most 512 in one.
const MOST_NODES: usize = 512;
/// Levels.
const MOST_DEPTH: usize = 128;

/// The tree of a record.
#[derive(Debug)]
pub struct Tree<'a> {
    item: Item<'a>,
    nodes: Vec<Entry<'a>>,
}

/// A node that was laid out.
#[derive(Debug)]
pub struct Node<'a> {
    /// `Class.method`.
    pub name: &'a str,
    /// Its number in the text, from 1.
    pub number: usize,
    /// 1: directly below the call.
    pub depth: usize,
    /// ns since 1970.
    pub start: i64,
    /// Not after that of its parent.
    pub end: i64,
    own: Option<u64>,
    stop: Option<u64>,
    executions: Option<u64>,
}

/// A node as the text has it; times in µs.
#[derive(Debug)]
struct Entry<'a> {
    depth: usize,
    total: u64,
    own: Option<u64>,
    stop: Option<u64>,
    executions: Option<u64>,
    name: &'a str,
}

impl<'a> Tree<'a> {
    /// That of a record, if it is one.
    #[must_use]
    pub fn of(record: &'a Record) -> Option<Self> {
        if &*record.origin.kind != "tree" {
            return None;
        }
        let text = match record.get("tree") {
            Some(Value::Text(text)) => text,
            _ => "",
        };
        let nodes = text.split(' ').filter_map(Entry::of).filter(|node| node.depth < MOST_DEPTH);
        Some(Self { item: Item::new(record), nodes: nodes.take(MOST_NODES).collect() })
    }

    /// What is below the call, parents before their children.
    #[must_use]
    pub fn nodes(&self) -> Vec<Node<'a>> {
        let mut found = Vec::with_capacity(self.nodes.len());
        // Of each level: where the next child begins, and where the last one has to end.
        let mut open = vec![(self.item.start, self.item.end())];
        for number in self.ordered() {
            let Some(node) = self.nodes.get(number) else { continue };
            // The first node is the call itself.
            if node.depth == 0 {
                continue;
            }
            open.truncate(node.depth);
            let Some((begin, last)) = open.last_mut() else { continue };
            let start = *begin;
            let end = start.saturating_add(nanoseconds(node.total)).min(*last);
            *begin = end;
            open.push((start, end));
            found.push(Node {
                name: node.name,
                number,
                depth: node.depth,
                start,
                end,
                own: node.own,
                stop: node.stop,
                executions: node.executions,
            });
        }
        found
    }

    /// The stacks of the call, each with its own time in ns: together the time of the call.
    #[must_use]
    pub fn stacks(&self) -> Vec<(Vec<Box<str>>, u64)> {
        let mut path: Vec<Box<str>> = Vec::new();
        let found = self.nodes.iter().enumerate().map(|(number, node)| {
            path.truncate(node.depth);
            path.push(node.name.into());
            let below = self.nodes.iter().skip(number + 1);
            let below = below.take_while(|one| one.depth > node.depth);
            let children = below.filter(|one| one.depth == node.depth + 1).map(|one| one.total);
            let rest = || node.total.saturating_sub(children.fold(0, u64::saturating_add));
            (path.clone(), node.own.unwrap_or_else(rest).saturating_mul(1000))
        });
        found.collect()
    }

    /// Places of nodes in preorder, children by their time.
    fn ordered(&self) -> Vec<usize> {
        let nodes = &self.nodes;
        let mut order = Vec::with_capacity(nodes.len());
        // Subtrees that are to come, the next one last: where they begin and end.
        let mut waiting = vec![(0, nodes.len())];
        while let Some((start, end)) = waiting.pop() {
            let Some(depth) = nodes.get(start).map(|node| node.depth) else { continue };
            let inside = nodes.iter().enumerate().take(end).skip(start);
            let tops: Vec<usize> =
                inside.filter(|(_, node)| node.depth <= depth).map(|(at, _)| at).collect();
            if let [only] = tops.as_slice() {
                order.push(*only);
                waiting.push((only + 1, end));
                continue;
            }
            let ends = tops.iter().skip(1).chain([&end]);
            let mut parts: Vec<(usize, usize)> =
                tops.iter().zip(ends).map(|(from, to)| (*from, *to)).collect();
            parts.sort_by_key(|(from, _)| nodes.get(*from).map_or(0, |node| node.total));
            waiting.append(&mut parts);
        }
        order
    }
}

impl Node<'_> {
    /// What is known of all its executions.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'static> {
        let mut attributes = Attributes::default();
        attributes.set("apm.synthetic", Attribute::Bool(true));
        let numbers = [
            ("apm.executions", self.executions.and_then(|n| i64::try_from(n).ok())),
            ("apm.self", self.own.map(nanoseconds)),
            ("apm.suspended", self.stop.map(nanoseconds)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                attributes.set(name, Attribute::Int(number));
            }
        }
        attributes
    }
}

impl<'a> Entry<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(6, ',');
        let mut next = || parts.next();
        let depth = next()?.parse().ok()?;
        let total = next()?.parse().ok()?;
        let mut number = || next()?.parse().ok();
        let (own, stop, executions) = (number(), number(), number());
        let name = parts.next().filter(|name| !name.is_empty())?;
        Some(Self { depth, total, own, stop, executions, name })
    }
}

/// Who the call or span is that a record names: its own record has the same trace and span, or the same time,
/// thread and duration, of which ids are made.
#[must_use]
pub fn call(record: &Record) -> Identity {
    let origin = &record.origin;
    let kind = if &*origin.source == "zorka" { "span" } else { "call" };
    let of = Origin::new(&origin.source, kind, origin.instance.clone());
    let call = Record { origin: Arc::new(of), ..record.clone() };
    Ids::default().of(&Item::new(&call))
}

fn nanoseconds(micros: u64) -> i64 {
    i64::try_from(micros.saturating_mul(1000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Flags, Instance};

    fn record(tree: &str) -> Record {
        let instance = Instance { name: "shop/orders/pod".into(), ..Instance::default() };
        Record {
            time: 5_000_000_000,
            origin: Arc::new(Origin::new("profiler", "tree", Arc::new(instance))),
            flags: Flags::default(),
            missed: 0,
            paired: None,
            parameters: vec![
                ("duration".into(), Value::Uint(10_000_000)),
                ("tree".into(), Value::Text(tree.into())),
            ],
        }
    }

    #[test]
    fn nodes_lie_one_behind_another_below_their_call() {
        let record = record(
            "0,10000,1000,,1,Main.run 1,3000,1000,5,2,A.a 2,2000,2000,,7,B.b 1,6000,6000,0,1,C.c 1,7000,,,3,others",
        );
        let tree = Tree::of(&record).unwrap();
        let nodes: Vec<_> = tree
            .nodes()
            .iter()
            .map(|one| (one.name, one.depth, one.start - 5_000_000_000, one.end - one.start))
            .collect();
        assert_eq!(
            nodes,
            [
                ("others", 1, 0, 7_000_000),
                // What does not fit into the call ends with it.
                ("C.c", 1, 7_000_000, 3_000_000),
                ("A.a", 1, 10_000_000, 0),
                ("B.b", 2, 10_000_000, 0),
            ]
        );
    }

    #[test]
    fn own_times_of_stacks_are_the_time_of_the_call() {
        let record = record(
            "0,10000,1000,,1,Main.run 1,3000,,5,2,A.a 2,2000,2000,,7,B.b 1,6000,6000,0,1,C.c",
        );
        let stacks = Tree::of(&record).unwrap().stacks();
        let found: Vec<_> = stacks.iter().map(|(frames, ns)| (frames.join(";"), *ns)).collect();
        let expected = [
            ("Main.run", 1_000_000),
            ("Main.run;A.a", 1_000_000),
            ("Main.run;A.a;B.b", 2_000_000),
            ("Main.run;C.c", 6_000_000),
        ];
        assert_eq!(found, expected.map(|(frames, ns)| (frames.to_owned(), ns)));
    }

    #[test]
    fn hostile_trees_have_an_end() {
        let deep: String = (0..1000).map(|n| format!("{n},1,1,1,1,M.m ")).collect();
        let wide: String = (0..2000).map(|n| format!("1,{n},1,1,1,M.m ")).collect();
        let odd =
            "0,1,,,1,R 5,18446744073709551615,,,,x 9,18446744073709551615,,,,y ,,,, 1,2 1,1,1,1,1,";
        for (text, most) in [(&*deep, MOST_DEPTH), (&*wide, MOST_NODES), (odd, 2)] {
            let number = Tree::of(&record(text)).unwrap().nodes().len();
            assert!(number <= most && number > 0, "{number} of {most}");
        }
    }
}
