//! Where the time goes: self time of the call trees of one connection, by stack (spec B.6). A stack is a node of a tree whose
//! root is the outermost method; nodes, threads and depth are bounded, and what does not fit counts for the deepest that does.

use super::super::Sink;
use super::method_name::{method_name, nameless};
use super::metrics::STACKS;
use super::record::{Block, TraceEvent, TraceKind};
use super::totals::ns;
use super::words::Words;
use crate::model::Update;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Stacks of one connection, threads whose stacks are followed, frames of a stack.
const NODES: usize = 8192;
const THREADS: usize = 1024;
const DEPTH: usize = 128;
/// After a refused thread so many are refused without a look for one that has ended.
const LOOK_AGAIN: u32 = 64;
/// Bytes of a stack's name.
const NAME: usize = 900;
/// The parent of the outermost methods.
const ROOT: u32 = u32::MAX;

#[derive(Debug)]
struct Node {
    parent: u32,
    method: u32,
    /// The child that was entered last, its method and node: as a rule it is the next one too.
    last: Option<(u32, u32)>,
    self_ms: u64,
    told: bool,
}

#[derive(Debug)]
struct Frame {
    node: u32,
    entered_ms: i64,
    children_ms: u64,
}

#[derive(Debug, Default)]
struct Thread {
    id: u64,
    frames: Vec<Frame>,
    /// Methods entered beyond the depth.
    beyond: u32,
}

/// The stacks of one connection.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    nodes: Vec<Node>,
    tree: Tree,
    threads: Vec<Thread>,
    by_id: HashMap<u64, usize, RandomState>,
    /// Where in `threads` that of the latest block is; blocks have thousands of events of one thread.
    current: usize,
    refused: u32,
    touched: Vec<u32>,
}

/// Who is whose child.
#[derive(Debug, Default)]
struct Tree {
    children: HashMap<(u32, u32), u32, RandomState>,
    /// As [`Node::last`], of the root.
    last: Option<(u32, u32)>,
}

impl Stacks {
    /// Takes an event of a block.
    #[inline]
    pub(super) fn event(&mut self, block: &Block, event: &TraceEvent<'_>) {
        if self.threads.get(self.current).is_none_or(|t| t.id != block.thread) && !self.change_thread(block.thread) {
            return;
        }
        let Some(thread) = self.threads.get_mut(self.current) else { return };
        match event.kind {
            TraceKind::Tag { .. } => {}
            TraceKind::Enter { .. } if thread.frames.len() >= DEPTH => thread.beyond += 1,
            TraceKind::Enter { method } => {
                let parent = thread.frames.last().map_or(ROOT, |f| f.node);
                let node = self.tree.child(&mut self.nodes, parent, method);
                thread.frames.push(Frame { node, entered_ms: event.time_ms, children_ms: 0 });
            }
            TraceKind::Exit if thread.beyond > 0 => thread.beyond -= 1,
            TraceKind::Exit => {
                let Some(frame) = thread.frames.pop() else { return };
                let took = u64::try_from(event.time_ms.saturating_sub(frame.entered_ms)).unwrap_or_default();
                if let Some(parent) = thread.frames.last_mut() {
                    parent.children_ms = parent.children_ms.saturating_add(took);
                }
                let own = took.saturating_sub(frame.children_ms);
                if own > 0
                    && let Some(node) = self.nodes.get_mut(frame.node as usize)
                {
                    if node.self_ms == 0 {
                        self.touched.push(frame.node);
                    }
                    node.self_ms += own;
                }
            }
        }
    }

    /// Goes to a thread, a new one if it is not known; false: there are too many that are within something.
    fn change_thread(&mut self, id: u64) -> bool {
        if let Some(known) = self.by_id.get(&id) {
            self.current = *known;
            return true;
        }
        if self.threads.len() >= THREADS && !self.forget_idle() {
            return false;
        }
        self.current = self.threads.len();
        self.by_id.insert(id, self.current);
        self.threads.push(Thread { id, ..Thread::default() });
        true
    }

    /// Makes room: a thread that is in no method has nothing to remember.
    fn forget_idle(&mut self) -> bool {
        self.refused += 1;
        if self.refused % LOOK_AGAIN != 1 {
            return false;
        }
        self.threads.retain(|t| !t.frames.is_empty());
        self.by_id = self.threads.iter().enumerate().map(|(at, t)| (t.id, at)).collect();
        if self.threads.len() < THREADS {
            self.refused = 0;
        }
        self.threads.len() < THREADS
    }

    /// Ids mean something else from now on.
    pub(super) fn forget_words(&mut self) {
        *self = Self::default();
    }

    /// Tells what was added to stacks all of whose methods have names; with `end`, of the others too.
    pub(super) fn tell(&mut self, words: &Words, sink: &mut dyn Sink, end: bool) {
        let touched = std::mem::take(&mut self.touched);
        for at in touched {
            let known = self.nodes.get(at as usize).is_some_and(|n| n.told);
            let name = if known { None } else { self.name(at, words, end) };
            if !known && name.is_none() {
                self.touched.push(at);
                continue;
            }
            let Some(node) = self.nodes.get_mut(at as usize) else { continue };
            node.told = true;
            let more = ns(std::mem::take(&mut node.self_ms));
            if let Some(name) = name {
                sink.update(Update::Row { table: STACKS, slot: at, key: Some(&name) });
            }
            sink.update(Update::RowCount { table: STACKS, slot: at, item: 0, more });
        }
    }

    /// `Outer.method,Inner.method`; `None` when a name has not come.
    fn name(&self, at: u32, words: &Words, end: bool) -> Option<String> {
        let mut frames = Vec::new();
        let mut at = at;
        while let Some(node) = self.nodes.get(at as usize) {
            frames.push(match words.get(node.method) {
                Some(word) => short(&method_name(word)),
                None if end => nameless(node.method),
                None => return None,
            });
            at = node.parent;
        }
        let mut name = String::new();
        for frame in frames.iter().rev() {
            if name.len() + frame.len() + 1 > NAME {
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

impl Tree {
    /// The node of a method that was entered from `parent`; `parent` itself when there are too many.
    #[inline]
    fn child(&mut self, nodes: &mut Vec<Node>, parent: u32, method: u32) -> u32 {
        let last = nodes.get(parent as usize).map_or(self.last, |node| node.last);
        match last {
            Some((known, node)) if known == method => node,
            _ => self.find(nodes, parent, method),
        }
    }

    fn find(&mut self, nodes: &mut Vec<Node>, parent: u32, method: u32) -> u32 {
        let found = match self.children.get(&(parent, method)) {
            Some(known) => *known,
            None if nodes.len() >= NODES => return parent,
            None => {
                let new = u32::try_from(nodes.len()).unwrap_or(ROOT);
                nodes.push(Node { parent, method, last: None, self_ms: 0, told: false });
                self.children.insert((parent, method), new);
                new
            }
        };
        match nodes.get_mut(parent as usize) {
            Some(node) => node.last = Some((method, found)),
            None => self.last = Some((method, found)),
        }
        found
    }
}

/// `Class.method` of `package.Class.method`, without commas, which part frames.
fn short(name: &str) -> String {
    let mut parts = name.rsplitn(3, '.');
    let (method, class) = (parts.next().unwrap_or_default(), parts.next());
    let short = class.map_or_else(|| method.to_owned(), |class| format!("{class}.{method}"));
    short.replace(',', ";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_time_is_what_children_did_not_take() {
        let mut stacks = Stacks::default();
        let block = Block { thread: 7, ..Block::default() };
        let mut at = |time_ms, kind| stacks.event(&block, &TraceEvent { index: 0, time_ms, kind });
        at(0, TraceKind::Exit);
        at(10, TraceKind::Enter { method: 1 });
        at(12, TraceKind::Enter { method: 2 });
        at(17, TraceKind::Exit);
        at(20, TraceKind::Enter { method: 2 });
        at(21, TraceKind::Exit);
        at(30, TraceKind::Exit);
        // Time that goes back is nothing.
        at(5, TraceKind::Enter { method: 1 });
        at(0, TraceKind::Exit);
        let own: Vec<_> = stacks.nodes.iter().map(|n| (n.method, n.parent, n.self_ms)).collect();
        assert_eq!(own, [(1, ROOT, 14), (2, 0, 6)]);
        for depth in 0..500 {
            stacks.event(&block, &TraceEvent { index: 0, time_ms: depth, kind: TraceKind::Enter { method: 3 } });
        }
        for depth in 0..500 {
            stacks.event(&block, &TraceEvent { index: 0, time_ms: 1000 + depth, kind: TraceKind::Exit });
        }
        assert!(stacks.threads[0].frames.is_empty() && stacks.threads[0].beyond == 0 && stacks.nodes.len() <= DEPTH + 2);
    }

    #[test]
    fn threads_that_are_in_no_method_make_room() {
        let mut stacks = Stacks::default();
        let enter = |method| TraceKind::Enter { method };
        let mut at =
            |thread, kind| stacks.event(&Block { thread, ..Block::default() }, &TraceEvent { index: 0, time_ms: 0, kind });
        for thread in 0..5000 {
            at(thread, enter(1));
            if thread != 3 {
                at(thread, TraceKind::Exit);
            }
        }
        assert!(stacks.threads.len() <= THREADS && stacks.threads.iter().any(|t| t.id == 3 && t.frames.len() == 1));
        assert!(stacks.threads.iter().any(|t| t.id == 4999));
        for thread in 10_000..20_000 {
            let block = Block { thread, ..Block::default() };
            stacks.event(&block, &TraceEvent { index: 0, time_ms: 0, kind: enter(1) });
        }
        assert_eq!((stacks.threads.len(), stacks.by_id.len()), (THREADS, THREADS), "all are within a method");
    }

    #[test]
    fn frames_are_class_and_method() {
        assert_eq!([short("a.b.C.run"), short("run"), short("C.x,y")], ["C.run", "run", "C.x;y"]);
    }
}
