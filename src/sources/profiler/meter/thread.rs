//! What the events of one thread make: frames, the times of the open root, and its events if they are kept.

use super::trees::{Kept, Trees};
use crate::meter::{ROOT, StackTimes};
use crate::sources::profiler::streams::record::{Block, Pointer};
use crate::sources::profiler::streams::trace::EventPlace;

/// Most frames of a stack.
pub(super) const DEPTH: usize = 128;
/// Longest sound root without a tag behind `call.info`, in ms.
const UNMARKED_MS: i64 = 20;

/// The tags at the end of roots.
#[derive(Clone, Copy, Debug)]
pub(super) struct RootEnds {
    /// Id of `call.info`: 0 in all known agents, and assumed until another word has id 0, because
    /// the dictionary comes after the trace of the first seconds.
    pub(super) info: Option<u32>,
    /// Whether `call.info`, and tags behind it, have arrived: roots are checked only if the agent
    /// writes them.
    pub(super) seen: bool,
    pub(super) seen_more: bool,
}

impl Default for RootEnds {
    fn default() -> Self {
        Self { info: Some(0), seen: false, seen_more: false }
    }
}

/// Events of one thread that are read together, and the time before them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read<'a> {
    pub(super) events: &'a [u8],
    pub(super) base_ms: i64,
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
    /// The events of the root, if they are kept, and where its ENTER is.
    pub(crate) kept: Kept,
    pub(crate) pointer: Pointer,
    /// Bytes of the present [`Read`] that are the root's, or behind its ENTER.
    pub(crate) from: usize,
}

impl Thread {
    /// Time passes within the innermost method.
    #[inline]
    pub(super) fn pass(&mut self, time_ms: i64) {
        if let Some(innermost) = self.frames.last_mut() {
            innermost.own_ms = innermost.own_ms.wrapping_add(time_ms.wrapping_sub(self.time_ms));
        }
        self.time_ms = time_ms;
    }

    /// A tag of the innermost method.
    #[inline(always)]
    pub(super) const fn tag(&mut self, param: u32, ends: &mut RootEnds) {
        if self.ends {
            (self.sound, ends.seen_more) = (true, true);
        } else if let Some(info) = ends.info
            && info == param
        {
            (self.ends, ends.seen) = (true, true);
        }
    }

    /// Enters a method; `true`: a root.
    #[inline(always)]
    pub(super) fn enter(&mut self, method: u32) -> bool {
        if self.ends {
            self.clear();
        }
        self.entered = self.entered.wrapping_add(1);
        let is_root = self.frames.is_empty();
        if is_root {
            self.root_ms = self.time_ms;
        }
        if self.frames.len() >= DEPTH {
            self.beyond += 1;
            return false;
        }
        self.frames.push(Frame { node: ROOT, method, own_ms: 0 });
        is_root
    }

    /// The root that has begun may get a tree.
    #[inline(never)]
    pub(super) fn keep(&mut self, block: &Block, at: EventPlace) {
        let offset = u32::try_from(block.offset).unwrap_or(u32::MAX);
        self.pointer = Pointer { file: block.file, offset, index: at.index };
        self.from = at.left;
        self.kept.begin(self.root_ms);
    }

    /// What was read of a root that is open is kept. `left`: bytes that were not read; `time_ms`: the time of the
    /// last event.
    pub(super) fn keep_events(&mut self, trees: &Trees, read: Read<'_>, left: usize, time_ms: i64) {
        let (events, base_ms) = self.own_events(read, left);
        self.kept.append(trees.bytes(), events, base_ms, time_ms);
    }

    /// The part of what was read that is the open root's, and the time before it.
    fn own_events<'r>(&self, read: Read<'r>, left: usize) -> (&'r [u8], i64) {
        let length = read.events.len();
        let from = length.saturating_sub(self.from);
        let events = read.events.get(from..length.saturating_sub(left)).unwrap_or_default();
        (events, if from == 0 { read.base_ms } else { self.root_ms })
    }

    /// Leaves the innermost method; `true`: it was a sound root that took `least_ms` and is kept, and what is known
    /// of it is there until [`Self::clear`].
    #[inline(always)]
    pub(super) fn exit(&mut self, times: &mut StackTimes, ends: &RootEnds, least_ms: i64) -> bool {
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
            return self.end_root(times, ends, least_ms);
        }
        false
    }

    /// The root has ended that was the last one: it may get a tree. `left`: bytes behind its EXIT.
    #[cold]
    #[inline(never)]
    pub(super) fn offer(&mut self, trees: &mut Trees, read: Read<'_>, left: usize) {
        let method = self.frames.first().map_or(0, |root| root.method);
        // Without its own EXIT.
        let events = self.own_events(read, left + 1);
        trees.offer(self, method, events);
        self.clear();
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
    fn end_root(&mut self, times: &mut StackTimes, ends: &RootEnds, least_ms: i64) -> bool {
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
                if took >= least_ms && self.kept.on {
                    return true;
                }
            }
        }
        self.clear();
        false
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
        if self.kept.on {
            self.kept.clear();
        }
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
