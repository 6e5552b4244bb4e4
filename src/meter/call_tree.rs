//! The call tree of one peer: a node for each stack, with the time of its last method.
//!
//! Most peers are idle, and their trees stay in memory. To keep nodes small, a node has the number
//! of its parent but no list of children: a hash table of node numbers, 5 bytes a slot, finds them.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::model::STACK_NAME;

/// Nodes of one tree, at most.
const NODES: usize = 8192;
/// The parent of the outermost methods; not a node itself.
pub const ROOT: u32 = u32::MAX;

/// A stack.
#[derive(Debug)]
pub struct Node {
    /// Node of the stack without its last method; [`ROOT`] if it has only one.
    pub parent: u32,
    /// The source's number of the last method.
    pub method: u32,
    /// Method and node of the child entered last, which is usually entered next again.
    last: (u32, u32),
    /// Unreported time of the last method without what it called, in the source's unit.
    pub self_time: u64,
    /// The row.
    pub row: NodeRow,
}

/// The row of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRow {
    /// None yet: a name may be missing.
    Unnamed,
    /// Slot of the row.
    Assigned(u32),
    /// No row: the stack is not one of the application.
    Hidden,
}

/// Nodes by number. A parent has a lower number than its children.
#[derive(Debug)]
pub struct CallTree {
    /// By number.
    pub nodes: Vec<Node>,
    /// As [`Node::last`], for the root.
    last: (u32, u32),
    /// Numbers of nodes by parent and method.
    numbers: HashTable<u32>,
    hasher: RandomState,
}

crate::heap_size!(CallTree { nodes, numbers });

impl Default for CallTree {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            last: (0, ROOT),
            numbers: HashTable::new(),
            hasher: RandomState::default(),
        }
    }
}

impl CallTree {
    /// The node of a method entered from `parent`; `parent` itself when the tree is full.
    #[inline]
    pub fn child(&mut self, parent: u32, method: u32) -> u32 {
        let (last, node) = self.nodes.get(parent as usize).map_or(self.last, |node| node.last);
        if last == method && node != ROOT { node } else { self.find(parent, method) }
    }

    fn find(&mut self, parent: u32, method: u32) -> u32 {
        let Self { nodes, numbers, hasher, .. } = self;
        let known = numbers.find(hasher.hash_one((parent, method)), |number| {
            nodes
                .get(*number as usize)
                .is_some_and(|node| (node.parent, node.method) == (parent, method))
        });
        let found = match known {
            Some(known) => *known,
            None if nodes.len() >= NODES => return parent,
            None => self.push(Node {
                parent,
                method,
                last: (0, ROOT),
                self_time: 0,
                row: NodeRow::Unnamed,
            }),
        };
        match self.nodes.get_mut(parent as usize) {
            Some(node) => node.last = (method, found),
            None => self.last = (method, found),
        }
        found
    }

    fn push(&mut self, node: Node) -> u32 {
        let Self { nodes, numbers, hasher, .. } = self;
        let new = u32::try_from(nodes.len()).unwrap_or(ROOT);
        let hash = |node: &Node| hasher.hash_one((node.parent, node.method));
        let of = hash(&node);
        nodes.push(node);
        numbers.insert_unique(of, new, |number| nodes.get(*number as usize).map_or(0, hash));
        new
    }

    /// There is no room for more stacks.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.nodes.len() >= NODES
    }

    /// Keeps nodes for which `used` is set, and their parents. Returns the new number of each node,
    /// or [`ROOT`]. The nodes lose their rows.
    pub fn retain(&mut self, mut used: Vec<bool>) -> Vec<u32> {
        used.resize(self.nodes.len(), false);
        for (number, node) in self.nodes.iter().enumerate().rev() {
            if used.get(number) == Some(&true)
                && let Some(parent) = used.get_mut(node.parent as usize)
            {
                *parent = true;
            }
        }
        self.numbers = HashTable::new();
        let mut numbers = Vec::with_capacity(used.len());
        for (node, used) in std::mem::take(&mut self.nodes).into_iter().zip(used) {
            let number = if used {
                // A parent precedes its children.
                let parent = numbers.get(node.parent as usize).copied().unwrap_or(ROOT);
                let row =
                    if node.row == NodeRow::Hidden { NodeRow::Hidden } else { NodeRow::Unnamed };
                self.push(Node { parent, last: (0, ROOT), row, ..node })
            } else {
                ROOT
            };
            numbers.push(number);
        }
        self.last = (0, ROOT);
        self.nodes.shrink_to_fit();
        numbers
    }

    /// The outermost method of a stack.
    #[must_use]
    pub fn outermost(&self, mut at: u32) -> Option<u32> {
        let mut method = None;
        while let Some(node) = self.nodes.get(at as usize) {
            (method, at) = (Some(node.method), node.parent);
        }
        method
    }

    /// `Outer.method,Inner.method`, from the names `package.Class.method` of methods; `None` if one
    /// has no name.
    pub fn name(&self, at: u32, name_of: &mut dyn FnMut(u32) -> Option<String>) -> Option<String> {
        let mut frames = Vec::new();
        let mut at = at;
        while let Some(node) = self.nodes.get(at as usize) {
            frames.push(short(&name_of(node.method)?));
            at = node.parent;
        }
        let mut name = String::new();
        for frame in frames.iter().rev() {
            if name.len() + frame.len() + 1 > STACK_NAME {
                break;
            }
            if !name.is_empty() {
                name.push(',');
            }
            name.push_str(frame);
        }
        Some(name)
    }
}

/// `Class.method` of `package.Class.method`, without commas, which separate frames.
fn short(name: &str) -> String {
    let mut parts = name.rsplitn(3, '.');
    let (method, class) = (parts.next().unwrap_or_default(), parts.next());
    let short = class.map_or_else(|| method.to_owned(), |class| format!("{class}.{method}"));
    short.replace(',', ";")
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn frames_are_class_and_method() {
        assert_eq!([short("a.b.C.run"), short("run"), short("C.x,y")], ["C.run", "run", "C.x;y"]);
    }

    #[test]
    fn children_are_found_again_and_bounded() {
        let (mut tree, mut known) = (CallTree::default(), HashMap::new());
        let mut seed = 7_u32;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let parent = if seed & 7 == 0 || tree.nodes.is_empty() {
                ROOT
            } else {
                (seed >> 8) % tree.nodes.len() as u32
            };
            let (method, full) = (seed >> 3 & 15, tree.nodes.len() >= NODES);
            let node = tree.child(parent, method);
            let expected = *known.entry((parent, method)).or_insert(node);
            assert!(node == expected || full && node == parent);
            if node != parent {
                assert_eq!(
                    (tree.nodes[node as usize].parent, tree.nodes[node as usize].method),
                    (parent, method)
                );
            }
        }
        assert_eq!(tree.nodes.len(), NODES);
        assert_eq!(tree.numbers.len(), NODES);
    }

    #[test]
    fn what_is_not_used_goes_with_its_numbers() {
        let mut tree = CallTree::default();
        let a = tree.child(ROOT, 1);
        let b = tree.child(a, 2);
        let c = tree.child(a, 3);
        let d = tree.child(c, 4);
        assert_eq!([a, b, c, d], [0, 1, 2, 3]);
        tree.nodes[a as usize].row = NodeRow::Assigned(9);
        tree.nodes[c as usize].row = NodeRow::Hidden;
        assert_eq!(tree.retain(vec![false, false, false, true]), [0, ROOT, 1, 2]);
        let nodes: Vec<_> = tree.nodes.iter().map(|n| (n.parent, n.method, n.row)).collect();
        assert_eq!(
            nodes,
            [(ROOT, 1, NodeRow::Unnamed), (0, 3, NodeRow::Hidden), (1, 4, NodeRow::Unnamed)]
        );
        assert_eq!(
            [tree.child(ROOT, 1), tree.child(0, 3), tree.child(1, 4), tree.child(0, 2)],
            [0, 1, 2, 3]
        );
        assert_eq!(tree.retain(Vec::new()), [ROOT; 4]);
        assert_eq!(
            (tree.nodes.capacity(), tree.numbers.capacity(), tree.child(ROOT, 5)),
            (0, 0, 0)
        );
    }
}
