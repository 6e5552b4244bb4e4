//! Self time by stack, from the trace of one connection (docs/protocols/java-profiler.md B.6). A
//! stack is a node of a tree whose root is the outermost method. Nodes, threads and depth are
//! bounded; time beyond the bounds counts for the deepest node within them.
//!
//! Overloaded agents lose buffers of events, with ENTERs and EXITs in them. Each root ends with the
//! tag `call.info` just before its EXIT. A root that lasted over 20 ms or entered several methods
//! has more tags behind `call.info` (`common.started` and others), unless the agent knows of a loss
//! within it. So the time of a root is deferred until the root has ended soundly or has lasted for
//! 10 s; the time of other roots is dropped, and the next root begins with an empty stack.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::accounting::{is_loss_report, method_name, nameless};
use super::thread::{Frame, Read, RootEnds, Thread};
use super::trees::Trees;
use crate::contract::Peer;
use crate::meter::{CallTree, ROOT, StackName, StackTimes};
use crate::model::HeapSize;
use crate::sources::profiler::dictionary::Dictionary;
use crate::sources::profiler::metrics::{STACK_TIME, ns};
use crate::sources::profiler::streams::record::{Block, TraceEvent, TraceKind};
use crate::sources::profiler::streams::trace::{EventPlace, ShortEvents, StepVisitor};

/// Most threads with a stack.
const THREADS: usize = 1024;
/// Threads rejected between two searches for an idle thread.
const LOOK_AGAIN: u32 = 64;
/// Seconds before the deferred time of an unfinished root counts.
const ROUNDS: u8 = 10;

/// A thread that gets events of its stack. `KEEP`: they are kept for trees, for which there is code of its own, so that they
/// cost nothing while nobody reads them.
struct Steps<'a, const KEEP: bool> {
    thread: &'a mut Thread,
    times: &'a mut StackTimes,
    ends: &'a mut RootEnds,
    trees: &'a mut Trees,
    block: &'a Block,
    read: Read<'a>,
}

impl<const KEEP: bool> Steps<'_, KEEP> {
    /// An event that was read alone.
    #[inline]
    fn step(&mut self, event: &TraceEvent<'_>) {
        self.time(event.time_ms);
        match event.kind {
            TraceKind::Enter { method } => {
                self.enter(method, EventPlace { index: event.index, left: 0 });
            }
            TraceKind::Exit => self.exit(0),
            TraceKind::Tag { param, .. } => self.tag(param),
        }
    }
}

impl<const KEEP: bool> StepVisitor for Steps<'_, KEEP> {
    #[inline(always)]
    fn time(&mut self, time_ms: i64) {
        self.thread.pass(time_ms);
    }

    #[inline(always)]
    fn enter(&mut self, method: u32, at: EventPlace) {
        if self.thread.enter(method) && KEEP {
            self.thread.keep(self.block, at);
        }
    }

    #[inline(always)]
    fn exit(&mut self, left: usize) {
        let least_ms = if KEEP { self.trees.least_ms } else { i64::MAX };
        if self.thread.exit(self.times, self.ends, least_ms) {
            self.thread.offer(self.trees, self.read, left);
        }
    }

    #[inline(always)]
    fn tag(&mut self, param: u32) {
        self.thread.tag(param, self.ends);
    }
}

/// The stacks of one connection.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    times: StackTimes,
    threads: Vec<Thread>,
    by_id: HashMap<u64, usize, RandomState>,
    /// Index in `threads` of the last block's thread: a block has thousands of events of one
    /// thread.
    current: usize,
    refused: u32,
    ends: RootEnds,
    pub(crate) trees: Trees,
}

impl HeapSize for Stacks {
    /// With the usual number of frames for each thread.
    fn heap_size(&self) -> usize {
        const THREAD: usize = size_of::<Thread>() + 16 * size_of::<Frame>();
        self.times.heap_size()
            + self.threads.capacity() * THREAD
            + self.by_id.heap_size()
            + self.trees.heap_size()
    }
}

impl Stacks {
    /// No stacks yet.
    pub(crate) fn new(trees: Trees) -> Self {
        Self { trees, ..Self::default() }
    }

    /// Adds events of a block. `false`: there is no room for its thread, and none was read.
    #[inline]
    pub(crate) fn short_events(&mut self, block: &Block, events: &mut ShortEvents<'_>) -> bool {
        if self.trees.on {
            return self.kept_events(block, events);
        }
        let Some(mut steps) = self.steps::<false>(block) else { return false };
        events.read(&mut steps);
        true
    }

    /// The same while somebody reads trees.
    #[inline(never)]
    fn kept_events(&mut self, block: &Block, events: &mut ShortEvents<'_>) -> bool {
        let Some(mut steps) = self.steps::<true>(block) else { return false };
        let read = Read { events: events.rest(), base_ms: events.time_ms() };
        steps.thread.from = read.events.len();
        steps.read = read;
        events.read(&mut steps);
        if steps.thread.kept.on {
            let Steps { thread, trees, .. } = steps;
            thread.keep_events(trees, read, events.rest().len(), events.time_ms());
        }
        true
    }

    /// Adds an event of a block, if there is room for its thread.
    pub(crate) fn event(&mut self, block: &Block, event: &TraceEvent<'_>) {
        if self.trees.on {
            return self.kept_event(block, event);
        }
        if let Some(mut steps) = self.steps::<false>(block) {
            steps.step(event);
        }
    }

    /// The same while somebody reads trees.
    #[inline(never)]
    fn kept_event(&mut self, block: &Block, event: &TraceEvent<'_>) {
        let Some(mut steps) = self.steps::<true>(block) else { return };
        let kept = steps.thread.kept.on;
        steps.step(event);
        let Steps { thread, trees, .. } = steps;
        // The ENTER and the EXIT of a root are not kept.
        let is_root = thread.entered == 1 && matches!(event.kind, TraceKind::Enter { .. });
        if kept && thread.kept.on && !is_root {
            thread.kept.push(trees.bytes(), event.time_ms, &event.kind);
        }
    }

    /// Looks whether somebody reads trees.
    pub(crate) fn watch(&mut self, peer: &Peer) {
        if self.trees.watch(peer) {
            self.threads.iter_mut().for_each(|thread| thread.kept.clear());
        }
    }

    /// A thread; `None` if it is new and all threads are within methods.
    #[inline(always)]
    fn steps<'a, const KEEP: bool>(&'a mut self, block: &'a Block) -> Option<Steps<'a, KEEP>> {
        let is_current = self.threads.get(self.current).is_some_and(|t| t.id == block.thread);
        if !is_current && !self.change_thread(block.thread) {
            return None;
        }
        let Self { threads, current, times, ends, trees, .. } = self;
        let thread = threads.get_mut(*current)?;
        Some(Steps { thread, times, ends, trees, block, read: Read::default() })
    }

    /// Makes thread `id` the current one; false if it is new and all threads are within methods.
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

    /// Drops threads that are in no method.
    fn forget_idle(&mut self) -> bool {
        self.refused += 1;
        if self.refused % LOOK_AGAIN != 1 {
            return false;
        }
        self.threads.retain(|t| !t.is_idle());
        self.find_threads();
        if self.threads.len() < THREADS {
            self.refused = 0;
        }
        self.threads.len() < THREADS
    }

    /// The dictionary was reset: ids get other words.
    pub(crate) fn reset_dictionary(&mut self, peer: &mut Peer) {
        let mut trees = std::mem::take(&mut self.trees);
        trees.reset_dictionary(peer);
        *self = Self::new(trees);
    }

    /// Handles a new word; `None`: a limit rejected it.
    pub(crate) fn word(&mut self, id: u32, word: Option<&str>) {
        if word == Some("call.info") {
            self.ends.info = Some(id);
        } else if self.ends.info == Some(id) {
            self.ends.info = None;
        }
    }

    /// Counts the deferred time of roots that have lasted for [`ROUNDS`] seconds, or of all.
    fn count_deferred(&mut self, all: bool) {
        for thread in self.threads.iter_mut().filter(|t| !t.pending.is_empty()) {
            thread.rounds += 1;
            if all || thread.rounds >= ROUNDS {
                thread.count_deferred(|node, ms| self.times.add(node, ms));
            }
        }
    }

    /// Reports the time of stacks whose methods all have names; of all stacks at the `end`.
    pub(crate) fn report(&mut self, words: &Dictionary, peer: &mut Peer, end: bool) {
        self.count_deferred(end);
        let name = |tree: &CallTree, at| stack_name(tree, at, words, end);
        self.times.report(STACK_TIME, ns(1), name, peer);
        if self.times.tree.is_full() {
            self.shrink(peer);
        }
    }

    /// Frees memory of an idle connection, or makes room for other stacks: keeps only nodes that are on a
    /// thread's stack or have unreported time.
    pub(crate) fn shrink(&mut self, peer: &mut Peer) {
        self.threads.retain(|t| !t.is_idle());
        let nodes = self.threads.iter().flat_map(Thread::nodes);
        let numbers = self.times.retain(STACK_TIME, nodes, peer);
        let number = |node: u32| numbers.get(node as usize).copied().unwrap_or(ROOT);
        self.threads.iter_mut().for_each(|t| t.renumber(number));
        self.threads.shrink_to_fit();
        self.find_threads();
    }

    /// Rebuilds the index of threads.
    fn find_threads(&mut self) {
        self.by_id = self.threads.iter().enumerate().map(|(at, t)| (t.id, at)).collect();
    }
}

/// `Outer.method,Inner.method`. At the `end` of a connection methods without a name have their
/// number.
fn stack_name(tree: &CallTree, at: u32, words: &Dictionary, end: bool) -> StackName {
    let name = tree.name(at, &mut |method| match words.get(method) {
        Some(word) => Some(method_name(word)),
        None => end.then(|| nameless(method)),
    });
    let report =
        || tree.outermost(at).and_then(|m| words.get(m)).is_some_and(|w| is_loss_report(w));
    match name {
        None => StackName::Missing,
        Some(_) if report() => StackName::Hidden,
        Some(name) => StackName::Row(name),
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/stacks.rs"]
mod tests;
