//! Where the time goes: self time of the call trees of one connection, by stack (spec B.6). A stack is a node of a tree whose
//! root is the outermost method; nodes, threads and depth are bounded, and what does not fit counts for the deepest that does.
//!
//! Agents that have more to say than they may lose buffers of events, with ENTERs and EXITs in them. But each root ends with the
//! tag `call.info` just before its EXIT, and behind it a root that lasted over 20 ms or entered several methods has more tags
//! (`common.started` and so on), unless the agent knows that it has lost something of it. So the time of a root waits until it
//! has ended soundly, or has gone on for a while; that of any other is dropped, and the next root begins with nothing open.

use super::super::Sink;
use super::loss_report;
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
/// Times of one root that wait for its end; beyond, they count at once.
const PENDING: usize = 256;
/// Times that a root which goes on and on is passed over before its time counts, once a second.
const ROUNDS: u8 = 10;
/// Roots that last longer, in ms, and have no tag behind `call.info` have lost something.
const UNMARKED_MS: u64 = 20;
/// The parent of the outermost methods.
const ROOT: u32 = u32::MAX;

#[derive(Debug)]
struct Node {
    parent: u32,
    method: u32,
    /// The child that was entered last, its method and node: as a rule it is the next one too.
    last: Option<(u32, u32)>,
    self_ms: u64,
    shown: Shown,
}

/// What is known of a node's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    NotYet,
    Told,
    /// The agent's report of losses is no stack of the application.
    Hidden,
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
    /// Methods entered since the root was, itself included.
    entered: u32,
    /// `call.info` came: the next EXIT is that of the root.
    ends: bool,
    /// More tags came behind it.
    sound: bool,
    /// Time of nodes, of a root that has not ended.
    pending: Vec<(u32, u64)>,
    rounds: u8,
}

/// How roots end.
#[derive(Clone, Copy, Debug)]
struct Ends {
    /// Id of `call.info`: 0 in all agents that were seen, which is believed until another word has that id. The dictionary comes
    /// after the trace of the first seconds.
    info: Option<u32>,
    /// The tag was seen, and others behind it: only agents that write them are judged by them.
    seen: bool,
    seen_more: bool,
}

impl Default for Ends {
    fn default() -> Self {
        Self { info: Some(0), seen: false, seen_more: false }
    }
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
    ends: Ends,
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
            TraceKind::Tag { param, .. } => {
                if thread.ends {
                    (thread.sound, self.ends.seen_more) = (true, true);
                } else if Some(param) == self.ends.info {
                    (thread.ends, self.ends.seen) = (true, true);
                }
            }
            TraceKind::Enter { method } => {
                if thread.ends {
                    thread.clear();
                }
                thread.entered = thread.entered.saturating_add(1);
                if thread.frames.len() >= DEPTH {
                    thread.beyond += 1;
                    return;
                }
                let parent = thread.frames.last().map_or(ROOT, |f| f.node);
                let node = self.tree.child(&mut self.nodes, parent, method);
                thread.frames.push(Frame { node, entered_ms: event.time_ms, children_ms: 0 });
            }
            TraceKind::Exit if thread.beyond > 0 && !thread.ends => thread.beyond -= 1,
            TraceKind::Exit => {
                let Some(frame) = thread.frames.pop() else { return thread.clear() };
                let took = u64::try_from(event.time_ms.saturating_sub(frame.entered_ms)).unwrap_or_default();
                let own = took.saturating_sub(frame.children_ms);
                if let Some(parent) = thread.frames.last_mut() {
                    parent.children_ms = parent.children_ms.saturating_add(took);
                    if thread.ends {
                        return thread.clear();
                    }
                    if own > 0 && !thread.hold(frame.node, own) {
                        add(&mut self.nodes, &mut self.touched, frame.node, own);
                    }
                    return;
                }
                let small = thread.entered <= 1 && took <= UNMARKED_MS;
                if (thread.ends || !self.ends.seen) && (thread.sound || small || !self.ends.seen_more) {
                    thread.count(&mut self.nodes, &mut self.touched);
                    if own > 0 {
                        add(&mut self.nodes, &mut self.touched, frame.node, own);
                    }
                }
                thread.clear();
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

    /// A word has come, or was refused.
    pub(super) fn word(&mut self, id: u32, word: Option<&str>) {
        if word == Some("call.info") {
            self.ends.info = Some(id);
        } else if self.ends.info == Some(id) {
            self.ends.info = None;
        }
    }

    /// The time of roots that go on for long, or of all, counts now.
    fn settle(&mut self, all: bool) {
        for thread in self.threads.iter_mut().filter(|t| !t.pending.is_empty()) {
            thread.rounds += 1;
            if all || thread.rounds >= ROUNDS {
                thread.count(&mut self.nodes, &mut self.touched);
            }
        }
    }

    /// Tells what was added to stacks all of whose methods have names; with `end`, of the others too.
    pub(super) fn tell(&mut self, words: &Words, sink: &mut dyn Sink, end: bool) {
        self.settle(end);
        let touched = std::mem::take(&mut self.touched);
        for at in touched {
            let shown = self.nodes.get(at as usize).map_or(Shown::Hidden, |n| n.shown);
            let name = if shown == Shown::NotYet { self.name(at, words, end) } else { None };
            if shown == Shown::NotYet && name.is_none() {
                self.touched.push(at);
                continue;
            }
            let hidden = shown == Shown::Hidden || name.is_some() && self.is_report(at, words);
            let Some(node) = self.nodes.get_mut(at as usize) else { continue };
            node.shown = if hidden { Shown::Hidden } else { Shown::Told };
            let more = ns(std::mem::take(&mut node.self_ms));
            if hidden {
                continue;
            }
            if let Some(name) = name {
                sink.update(Update::Row { table: STACKS, slot: at, key: Some(&name) });
            }
            sink.update(Update::RowCount { table: STACKS, slot: at, item: 0, more });
        }
    }

    /// The outermost method is the agent's report of losses.
    fn is_report(&self, mut at: u32, words: &Words) -> bool {
        let mut method = None;
        while let Some(node) = self.nodes.get(at as usize) {
            (method, at) = (Some(node.method), node.parent);
        }
        method.and_then(|m| words.get(m)).is_some_and(|word| loss_report::is(word))
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

impl Thread {
    /// Keeps time for the end of the root; false if that cannot be.
    #[inline]
    fn hold(&mut self, node: u32, ms: u64) -> bool {
        if let Some((_, sum)) = self.pending.last_mut().filter(|(last, _)| *last == node) {
            *sum += ms;
            return true;
        }
        let room = self.pending.len() < PENDING;
        if room {
            self.pending.push((node, ms));
        }
        room
    }

    /// What was kept counts.
    fn count(&mut self, nodes: &mut [Node], touched: &mut Vec<u32>) {
        self.rounds = 0;
        self.pending.drain(..).for_each(|(node, ms)| add(nodes, touched, node, ms));
        self.pending.shrink_to(PENDING / 8);
    }

    /// Nothing is open any more, and what was kept does not count.
    #[inline]
    fn clear(&mut self) {
        self.frames.clear();
        self.pending.clear();
        (self.beyond, self.entered, self.rounds) = (0, 0, 0);
        (self.ends, self.sound) = (false, false);
    }
}

/// Adds to a node's own time.
#[inline]
fn add(nodes: &mut [Node], touched: &mut Vec<u32>, node: u32, ms: u64) {
    let Some(node_at) = nodes.get_mut(node as usize) else { return };
    if node_at.self_ms == 0 {
        touched.push(node);
    }
    node_at.self_ms += ms;
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
                nodes.push(Node { parent, method, last: None, self_ms: 0, shown: Shown::NotYet });
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
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "stacks_tests.rs"]
mod tests;
