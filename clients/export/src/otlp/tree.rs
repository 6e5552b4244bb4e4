//! The tree of a call as spans below it.
//!
//! The nodes are sums over all executions, so that they have no times: they are laid out one behind another
//! from the begin of their parent, the longest first.

use std::borrow::Cow;
use std::sync::Arc;

use crate::meaning::{Attribute, Attributes, Identity, Ids, Item, Role};
use crate::model::{Origin, Record};

use super::span::Span;

/// Nodes of a tree that become spans. The PMDA has at most 512 in one.
const MOST_NODES: usize = 512;
/// Levels.
const MOST_DEPTH: usize = 128;

/// A node as the text has it; times in µs.
#[derive(Debug, PartialEq)]
struct Node<'a> {
    depth: usize,
    total: u64,
    own: Option<u64>,
    stop: Option<u64>,
    executions: Option<u64>,
    name: &'a str,
}

/// Gives the spans of a tree to `emit`.
pub(super) fn spans(record: &Record, shift: i64, emit: &mut impl FnMut(&Span<'_>)) {
    let call = call(record);
    let text = record.text("tree");
    let item = Item::new(record);
    let nodes = text.split(' ').filter_map(node).filter(|node| node.depth < MOST_DEPTH);
    let nodes: Vec<Node<'_>> = nodes.take(MOST_NODES).collect();
    // Of each level: whose children come, and where the next of them begins.
    let mut open = vec![(call.span, item.start.saturating_add(shift))];
    for at in ordered(&nodes) {
        let Some(node) = nodes.get(at) else { continue };
        // The first node is the call itself.
        if node.depth == 0 {
            continue;
        }
        open.truncate(node.depth);
        let Some((parent, begin)) = open.last_mut() else { continue };
        let start = *begin;
        *begin = start.saturating_add(nanoseconds(node.total));
        let parent = *parent;
        let span = Ids::below(call.trace, call.span, &format!("{at} {}", node.name));
        let mut attributes = Attributes::default();
        attributes.set("apm.synthetic", Attribute::Bool(true));
        let numbers = [
            ("apm.executions", node.executions.and_then(|n| i64::try_from(n).ok())),
            ("apm.self", node.own.map(nanoseconds)),
            ("apm.suspended", node.stop.map(nanoseconds)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                attributes.set(name, Attribute::Int(number));
            }
        }
        emit(&Span {
            trace: call.trace,
            span,
            parent: Some(parent),
            name: Cow::Borrowed(node.name),
            role: Role::Internal,
            start,
            end: start.saturating_add(nanoseconds(node.total)),
            attributes,
            events: Vec::new(),
            dropped: 0,
            failed: None,
        });
        open.push((span, start));
    }
}

/// Who the call or span is that a record names: its own record has the same trace and span, or the same time,
/// thread and duration, of which ids are made.
pub(super) fn call(record: &Record) -> Identity {
    let origin = &record.origin;
    let kind = if &*origin.source == "zorka" { "span" } else { "call" };
    let of = Origin::new(&origin.source, kind, origin.instance.clone());
    let call = Record { origin: Arc::new(of), ..record.clone() };
    Ids::default().of(&Item::new(&call))
}

/// Places of nodes in preorder, children by their time. It is the order of the text unless that was cut.
fn ordered(nodes: &[Node<'_>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(nodes.len());
    // Subtrees that are to come, the next one last: where they begin and end.
    let mut waiting = vec![(0, nodes.len())];
    while let Some((start, end)) = waiting.pop() {
        let Some(depth) = nodes.get(start).map(|node| node.depth) else { continue };
        let mut siblings = Vec::new();
        for (at, node) in nodes.iter().enumerate().take(end).skip(start) {
            if node.depth <= depth {
                siblings.push(at);
            }
        }
        if let [only] = siblings.as_slice() {
            order.push(*only);
            waiting.push((only + 1, end));
            continue;
        }
        let mut parts: Vec<(usize, usize)> = siblings
            .iter()
            .zip(siblings.iter().skip(1).chain([&end]))
            .map(|(from, to)| (*from, *to))
            .collect();
        parts.sort_by_key(|(from, _)| nodes.get(*from).map_or(0, |node| node.total));
        waiting.append(&mut parts);
    }
    order
}

fn node(text: &str) -> Option<Node<'_>> {
    let mut parts = text.splitn(6, ',');
    let mut next = || parts.next();
    let depth = next()?.parse().ok()?;
    let total = next()?.parse().ok()?;
    let mut number = || next()?.parse().ok();
    let (own, stop, executions) = (number(), number(), number());
    Some(Node {
        depth,
        total,
        own,
        stop,
        executions,
        name: parts.next().filter(|n| !n.is_empty())?,
    })
}

fn nanoseconds(micros: u64) -> i64 {
    i64::try_from(micros.saturating_mul(1000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Flags, Instance, Value};

    fn record(kind: &str, parameters: &[(&str, &str)]) -> Record {
        let instance = Instance { name: "shop/orders/pod".into(), ..Instance::default() };
        let mut all = vec![("duration".into(), Value::Uint(10_000_000))];
        all.extend(parameters.iter().map(|(n, v)| ((*n).into(), Value::Text((*v).into()))));
        Record {
            time: 5_000_000_000,
            origin: Arc::new(Origin::new("profiler", kind, Arc::new(instance))),
            flags: Flags::default(),
            missed: 0,
            paired: None,
            parameters: all,
        }
    }

    #[test]
    fn nodes_lie_one_behind_another_below_their_call() {
        let tree = "0,10000,1000,,1,Main.run 1,3000,1000,5,2,A.a 2,2000,2000,,7,B.b 1,6000,6000,0,1,C.c 1,7,,,3,others";
        let call = record("call", &[("thread", "main")]);
        let call = Ids::default().of(&Item::new(&call));
        let mut seen = Vec::new();
        let tree = record("tree", &[("thread", "main"), ("tree", tree)]);
        spans(&tree, 0, &mut |span| {
            let number = |name| match span.attributes.get(name) {
                Some(Attribute::Int(n)) => Some(*n),
                _ => None,
            };
            assert_eq!(span.attributes.get("apm.synthetic"), Some(&Attribute::Bool(true)));
            assert_eq!(span.trace, call.trace);
            let said = ["apm.self", "apm.suspended", "apm.executions"].map(number);
            seen.push((span.name.to_string(), span.start, span.end, span.parent, span.span, said));
        });
        let (a, b) = (seen[1].clone(), seen[2].clone());
        let names: Vec<_> =
            seen.iter().map(|one| (&*one.0, one.1 - 5_000_000_000, one.2 - one.1)).collect();
        assert_eq!(
            names,
            [
                ("C.c", 0, 6_000_000),
                ("A.a", 6_000_000, 3_000_000),
                ("B.b", 6_000_000, 2_000_000),
                ("others", 9_000_000, 7_000)
            ]
        );
        assert_eq!((a.3, b.3), (Some(call.span), Some(a.4)));
        assert_eq!(a.5, [Some(1_000_000), Some(5000), Some(2)]);
        assert_eq!(seen[3].5, [None, None, Some(3)]);
    }

    #[test]
    fn hostile_trees_have_an_end() {
        let deep: String = (0..1000).map(|n| format!("{n},1,1,1,1,M.m ")).collect();
        let wide: String = (0..2000).map(|n| format!("1,{n},1,1,1,M.m ")).collect();
        let odd =
            "0,1,,,1,R 5,18446744073709551615,,,,x 9,18446744073709551615,,,,y ,,,, 1,2 1,1,1,1,1,";
        for (text, most) in [(&*deep, MOST_DEPTH), (&*wide, MOST_NODES), (odd, 2)] {
            let mut number = 0;
            spans(&record("tree", &[("tree", text)]), 0, &mut |_| number += 1);
            assert!(number <= most && number > 0, "{number} of {most}");
        }
    }
}
