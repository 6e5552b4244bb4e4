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
use crate::contract::Peer;
use crate::meter::{CallTree, ROOT, StackName, StackTimes};
use crate::model::HeapSize;
use crate::sources::profiler::dictionary::Dictionary;
use crate::sources::profiler::metrics::{STACK_TIME, ns};
use crate::sources::profiler::streams::record::{Block, TraceEvent, TraceKind};
use crate::sources::profiler::streams::trace::{ShortEvents, StepVisitor};

/// Most threads with a stack, and most frames of a stack.
const THREADS: usize = 1024;
const DEPTH: usize = 128;
/// Threads rejected between two searches for an idle thread.
const LOOK_AGAIN: u32 = 64;
/// Seconds before the deferred time of an unfinished root counts.
const ROUNDS: u8 = 10;
/// Longest sound root without a tag behind `call.info`, in ms.
const UNMARKED_MS: i64 = 20;

/// The tags at the end of roots.
#[derive(Clone, Copy, Debug)]
struct RootEnds {
    /// Id of `call.info`: 0 in all known agents, and assumed until another word has id 0, because
    /// the dictionary comes after the trace of the first seconds.
    info: Option<u32>,
    /// Whether `call.info`, and tags behind it, have arrived: roots are checked only if the agent
    /// writes them.
    seen: bool,
    seen_more: bool,
}

impl Default for RootEnds {
    fn default() -> Self {
        Self { info: Some(0), seen: false, seen_more: false }
    }
}

/// A thread that gets events of its stack.
struct Steps<'a> {
    thread: &'a mut Thread,
    times: &'a mut StackTimes,
    ends: &'a mut RootEnds,
}

impl StepVisitor for Steps<'_> {
    #[inline]
    fn time(&mut self, time_ms: i64) {
        self.thread.pass(time_ms);
    }

    #[inline(always)]
    fn enter(&mut self, method: u32) {
        self.thread.enter(method);
    }

    #[inline(always)]
    fn exit(&mut self) {
        self.thread.exit(self.times, self.ends);
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
}

impl HeapSize for Stacks {
    /// With the usual number of frames for each thread.
    fn heap_size(&self) -> usize {
        const THREAD: usize = size_of::<Thread>() + 16 * size_of::<Frame>();
        self.times.heap_size() + self.threads.capacity() * THREAD + self.by_id.heap_size()
    }
}

impl Stacks {
    /// Adds events of a block. `false`: there is no room for its thread, and none was read.
    #[inline]
    pub(crate) fn short_events(&mut self, block: &Block, events: &mut ShortEvents<'_>) -> bool {
        let Some(mut steps) = self.steps(block.thread) else { return false };
        events.read(&mut steps);
        true
    }

    /// Adds an event of a block, if there is room for its thread.
    pub(crate) fn event(&mut self, block: &Block, event: &TraceEvent<'_>) {
        let Some(mut steps) = self.steps(block.thread) else { return };
        steps.time(event.time_ms);
        match event.kind {
            TraceKind::Enter { method } => steps.enter(method),
            TraceKind::Exit => steps.exit(),
            TraceKind::Tag { param, .. } => steps.tag(param),
        }
    }

    /// A thread; `None` if it is new and all threads are within methods.
    #[inline(always)]
    fn steps(&mut self, thread: u64) -> Option<Steps<'_>> {
        let is_current = self.threads.get(self.current).is_some_and(|t| t.id == thread);
        if !is_current && !self.change_thread(thread) {
            return None;
        }
        let Self { threads, current, times, ends, .. } = self;
        Some(Steps { thread: threads.get_mut(*current)?, times, ends })
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
    pub(crate) fn reset_dictionary(&mut self) {
        *self = Self::default();
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

/// Deferred times of one root, at most; further times count at once.
pub(crate) const PENDING: usize = 256;

#[derive(Debug)]
pub(crate) struct Frame {
    /// Its node; [`ROOT`] until its time is counted: most methods take no time.
    pub(crate) node: u32,
    pub(crate) method: u32,
    /// Time as the innermost method; negative if the clock was set back.
    pub(crate) own_ms: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) id: u64,
    /// Time of the last event, and of the root's ENTER.
    pub(crate) time_ms: i64,
    pub(crate) root_ms: i64,
    pub(crate) frames: Vec<Frame>,
    /// Open methods beyond [`DEPTH`].
    pub(crate) beyond: u32,
    /// Methods entered since the start of the root, the root included.
    pub(crate) entered: u64,
    /// `call.info` has arrived: the next EXIT ends the root.
    pub(crate) ends: bool,
    /// More tags have arrived behind `call.info`.
    pub(crate) sound: bool,
    /// Deferred time in ms by node, of a root that has not ended.
    pub(crate) pending: Vec<(u32, u64)>,
    pub(crate) rounds: u8,
}

impl Thread {
    /// Time passes within the innermost method.
    #[inline]
    fn pass(&mut self, time_ms: i64) {
        if let Some(innermost) = self.frames.last_mut() {
            innermost.own_ms = innermost.own_ms.wrapping_add(time_ms.wrapping_sub(self.time_ms));
        }
        self.time_ms = time_ms;
    }

    /// A tag of the innermost method.
    #[inline(always)]
    const fn tag(&mut self, param: u32, ends: &mut RootEnds) {
        if self.ends {
            (self.sound, ends.seen_more) = (true, true);
        } else if let Some(info) = ends.info
            && info == param
        {
            (self.ends, ends.seen) = (true, true);
        }
    }

    /// Enters a method.
    #[inline(always)]
    fn enter(&mut self, method: u32) {
        if self.ends {
            self.clear();
        }
        self.entered = self.entered.wrapping_add(1);
        if self.frames.is_empty() {
            self.root_ms = self.time_ms;
        }
        if self.frames.len() >= DEPTH {
            self.beyond += 1;
            return;
        }
        self.frames.push(Frame { node: ROOT, method, own_ms: 0 });
    }

    /// Leaves the innermost method.
    #[inline(always)]
    fn exit(&mut self, times: &mut StackTimes, ends: &RootEnds) {
        if let [_, .., innermost] = &*self.frames
            && self.beyond == 0
            && !self.ends
        {
            if innermost.own_ms > 0 {
                self.count(times);
            }
            self.frames.pop();
        } else if self.beyond > 0 && !self.ends {
            self.beyond -= 1;
        } else {
            self.end_root(times, ends);
        }
    }

    /// Counts the time of the innermost method, or defers it.
    #[inline(never)]
    fn count(&mut self, times: &mut StackTimes) {
        let (node, own) = self.innermost(times);
        if own > 0 && !self.defer(node, own) {
            times.add(node, own);
        }
    }

    /// Node and time of the innermost method.
    fn innermost(&mut self, times: &mut StackTimes) -> (u32, u64) {
        let known = self.frames.iter().rposition(|frame| frame.node != ROOT);
        let (mut node, mut own_ms) = (ROOT, 0);
        for frame in self.frames.iter_mut().skip(known.unwrap_or_default()) {
            if frame.node == ROOT {
                frame.node = times.tree.child(node, frame.method);
            }
            (node, own_ms) = (frame.node, frame.own_ms);
        }
        (node, u64::try_from(own_ms).unwrap_or_default())
    }

    /// Leaves the root, or a method within a root that is not sound.
    #[inline]
    fn end_root(&mut self, times: &mut StackTimes, ends: &RootEnds) {
        if let [root] = &*self.frames {
            let took = self.time_ms.saturating_sub(self.root_ms);
            let small = self.entered <= 1 && took <= UNMARKED_MS;
            if (self.ends || !ends.seen) && (self.sound || small || !ends.seen_more) {
                if root.own_ms > 0 {
                    let (node, own) = self.innermost(times);
                    self.count_deferred(|node, ms| times.add(node, ms));
                    times.add(node, own);
                } else if !self.pending.is_empty() {
                    self.count_deferred(|node, ms| times.add(node, ms));
                }
            }
        }
        self.clear();
    }

    /// Defers time until the root ends; false if there are too many deferred times.
    #[inline]
    pub(crate) fn defer(&mut self, node: u32, ms: u64) -> bool {
        if let Some((_, sum)) = self.pending.last_mut().filter(|(last, _)| *last == node) {
            *sum = sum.saturating_add(ms);
            return true;
        }
        let room = self.pending.len() < PENDING;
        if room {
            self.pending.push((node, ms));
        }
        room
    }

    /// Passes deferred times to `add`.
    #[inline]
    pub(crate) fn count_deferred(&mut self, mut add: impl FnMut(u32, u64)) {
        self.rounds = 0;
        self.pending.drain(..).for_each(|(node, ms)| add(node, ms));
        self.pending.shrink_to(PENDING / 8);
    }

    /// Drops open methods and deferred times.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.pending.clear();
        (self.beyond, self.entered, self.rounds) = (0, 0, 0);
        (self.ends, self.sound) = (false, false);
    }

    /// The thread is in no method.
    pub(crate) const fn is_idle(&self) -> bool {
        self.frames.is_empty()
    }

    /// Nodes in use.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.frames.iter().map(|f| f.node).chain(self.pending.iter().map(|(node, _)| *node))
    }

    /// Gives nodes their new numbers, and frees unused memory.
    pub(crate) fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.frames.iter_mut().for_each(|f| f.node = number(f.node));
        self.pending.iter_mut().for_each(|(node, _)| *node = number(*node));
        self.frames.shrink_to_fit();
        self.pending.shrink_to_fit();
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/stacks.rs"]
mod tests;
