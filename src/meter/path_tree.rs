//! The tree of one call: a node for each path of methods, with the time of all that it entered, and its text.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt::Write;

use foldhash::fast::RandomState;

use super::folded::clean;

/// Nodes of a tree while it is made: the largest tree of a real call has 104.
const NODES: usize = 4096;
/// Nodes of a tree's text, at most.
const SHOWN: usize = 512;
/// Methods of a path: what is deeper is in `others`.
const DEPTH: u16 = 128;
/// Bytes of a method's name.
const NAME: usize = 200;

/// A path of methods.
#[derive(Debug)]
struct PathNode {
    parent: u32,
    method: u32,
    depth: u16,
    /// Nanoseconds in the method and in what it called.
    total: i64,
    /// Of these the program stood still.
    stopped: i64,
    executions: u64,
    /// Total and executions of what has no node of its own.
    others: (i64, u64),
}

/// A path that has no node.
pub const FOLDED: u32 = u32::MAX;

/// A tree of one call; its root is node 0.
#[derive(Debug)]
pub struct PathTree {
    nodes: Vec<PathNode>,
    children: HashMap<(u32, u32), u32, RandomState>,
}

/// The text of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeText {
    /// `DEPTH,TOTAL,SELF,STOPPED,EXECUTIONS,Class.method` of each node in microseconds, a blank between two;
    /// each parent before its children, those with most time first.
    pub text: String,
    /// Nodes of the tree.
    pub nodes: usize,
}

impl PathTree {
    /// A tree of this root.
    #[must_use]
    pub fn new(method: u32) -> Self {
        let root = PathNode {
            parent: FOLDED,
            method,
            depth: 0,
            total: 0,
            stopped: 0,
            executions: 0,
            others: (0, 0),
        };
        Self { nodes: vec![root], children: HashMap::default() }
    }

    /// The node of a method that `parent` has called, or [`FOLDED`].
    pub fn child(&mut self, parent: u32, method: u32) -> u32 {
        if let Some(known) = self.children.get(&(parent, method)) {
            return *known;
        }
        let depth = self.nodes.get(parent as usize).map_or(DEPTH, |node| node.depth) + 1;
        if depth >= DEPTH || self.nodes.len() >= NODES {
            return FOLDED;
        }
        let new = u32::try_from(self.nodes.len()).unwrap_or(FOLDED);
        self.nodes.push(PathNode {
            parent,
            method,
            depth,
            total: 0,
            stopped: 0,
            executions: 0,
            others: (0, 0),
        });
        self.children.insert((parent, method), new);
        new
    }

    /// The method of a node has ended: what it took, of that stood still, and how often it was entered.
    pub fn add(&mut self, node: u32, total: i64, stopped: i64, executions: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.total = node.total.saturating_add(total);
            node.stopped = node.stopped.saturating_add(stopped);
            node.executions = node.executions.saturating_add(executions);
        }
    }

    /// Time and executions within a node that have no node of their own.
    pub fn fold(&mut self, node: u32, total: i64, executions: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            fold(&mut node.others, total, executions);
        }
    }

    /// The text in at most `size` bytes: nodes with less than `least` nanoseconds, and as many of the smallest
    /// as do not fit, are in the `others` of their parents. `stops`: it is known when the program stood still.
    /// `name`: `package.Class.method` of a method.
    #[must_use]
    pub fn text(
        &self,
        size: usize,
        least: i64,
        stops: bool,
        mut name: impl FnMut(u32) -> String,
    ) -> TreeText {
        let mut names: HashMap<u32, String> = HashMap::new();
        for node in &self.nodes {
            names.entry(node.method).or_insert_with(|| short(&name(node.method)));
        }
        let order = self.by_size();
        let large =
            |at: &&u32| self.nodes.get(**at as usize).is_some_and(|node| node.total >= least);
        let mut most = 1 + order.iter().skip(1).take_while(large).take(SHOWN - 1).count();
        let shown = Shown { tree: self, inner: self.inner(), names: &names, stops };
        let mut text = shown.text(&order, most);
        if text.len() > size {
            let mut fits = 1;
            while most > fits + 1 {
                let middle = fits + (most - fits) / 2;
                let is_short = shown.text(&order, middle).len() <= size;
                *(if is_short { &mut fits } else { &mut most }) = middle;
            }
            text = shown.text(&order, fits);
        }
        TreeText { text, nodes: self.nodes.len().min(SHOWN) }
    }

    /// The nodes, those with most time first, and each behind its parent.
    fn by_size(&self) -> Vec<u32> {
        let mut inner = self.inner();
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut next = BinaryHeap::from([(i64::MAX, Reverse(0_u32))]);
        while let Some((_, Reverse(at))) = next.pop() {
            order.push(at);
            let children = inner.get_mut(at as usize).map(std::mem::take).unwrap_or_default();
            let total = |child: u32| self.nodes.get(child as usize).map_or(0, |node| node.total);
            next.extend(children.into_iter().map(|child| (total(child), Reverse(child))));
        }
        order
    }

    /// The children of each node, those with most time first.
    fn inner(&self) -> Vec<Vec<u32>> {
        let mut inner = vec![Vec::new(); self.nodes.len()];
        for (at, node) in (0..).zip(&self.nodes) {
            if let Some(children) = inner.get_mut(node.parent as usize) {
                children.push(at);
            }
        }
        for children in &mut inner {
            children.sort_by_key(|at| Reverse(self.nodes.get(*at as usize).map(|node| node.total)));
        }
        inner
    }
}

fn fold(others: &mut (i64, u64), total: i64, executions: u64) {
    others.0 = others.0.saturating_add(total);
    others.1 = others.1.saturating_add(executions);
}

/// A tree that becomes text.
struct Shown<'a> {
    tree: &'a PathTree,
    /// The children of each node.
    inner: Vec<Vec<u32>>,
    names: &'a HashMap<u32, String>,
    stops: bool,
}

impl Shown<'_> {
    /// The text with the first nodes of an order, in which each is behind its parent.
    fn text(&self, order: &[u32], most: usize) -> String {
        let nodes = &self.tree.nodes;
        let mut is_shown = vec![false; nodes.len()];
        for at in order.iter().take(most) {
            if let Some(shown) = is_shown.get_mut(*at as usize) {
                *shown = true;
            }
        }
        let (mut text, mut open) = (String::new(), vec![Line::Node(0)]);
        while let Some(line) = open.pop() {
            match line {
                Line::Node(at) => {
                    let Some(node) = nodes.get(at as usize) else { continue };
                    let children =
                        self.inner.get(at as usize).map(Vec::as_slice).unwrap_or_default();
                    let child = |at: &u32| nodes.get(*at as usize);
                    let mut others = node.others;
                    let mut called = 0;
                    let mut lines = Vec::new();
                    for at in children {
                        let Some(child) = child(at) else { continue };
                        if is_shown.get(*at as usize) == Some(&true) {
                            called += micros(child.total);
                            lines.push(Line::Node(*at));
                        } else {
                            fold(&mut others, child.total, child.executions);
                        }
                    }
                    if others != (0, 0) {
                        called += micros(others.0);
                        lines.push(Line::Others(node.depth + 1, others));
                    }
                    open.extend(lines.into_iter().rev());
                    self.node(&mut text, node, micros(node.total) - called);
                }
                Line::Others(depth, (total, executions)) => {
                    let _ = write!(text, " {depth},{},,,{executions},others", micros(total));
                }
            }
        }
        text
    }

    fn node(&self, text: &mut String, node: &PathNode, own: i64) {
        let space = if text.is_empty() { "" } else { " " };
        let PathNode { depth, executions, .. } = node;
        let _ = write!(text, "{space}{depth},{},{own},", micros(node.total));
        if self.stops {
            let _ = write!(text, "{}", micros(node.stopped));
        }
        let name = self.names.get(&node.method).map_or("#", String::as_str);
        let _ = write!(text, ",{executions},{name}");
    }
}

/// What comes next in a text.
enum Line {
    Node(u32),
    /// Depth, and time and executions of what has no line.
    Others(u16, (i64, u64)),
}

const fn micros(ns: i64) -> i64 {
    ns.div_euclid(1000)
}

/// `Class.method` of `package.Class.method`, without blanks and commas.
fn short(name: &str) -> String {
    let from = name.rmatch_indices('.').nth(1).map_or(0, |(dot, _)| dot + 1);
    let name = clean(name.get(from..).unwrap_or_default(), NAME).replace(',', ";");
    if name.is_empty() { "#".to_owned() } else { name }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "path_tree_tests.rs"]
mod tests;
