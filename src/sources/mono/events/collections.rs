//! Garbage collections and their pauses. One thread stops the world, collects and starts it again:
//!
//! ```text
//!  6 asks for the collector's lock  10 has it  7 world stopped  0 START  5 END  8 9  11 runs again
//!                                   |<- suspension ->|
//!                                   |<------------------- pause ------------------------------->|
//! ```
//! A concurrent major collection has two pauses: START of generation 1 in the first (often with a
//! whole minor collection), END in the second. A pause without either is none of a collection. The
//! generation of the other steps means nothing.

use super::figures::Figures;
use super::rows::Fixed;
use crate::contract::{Histogram, Peer};
use crate::heap_size;
use crate::runtimes::{Layout, Open};
use crate::sources::mono::limits::PAUSES;
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::gc;

/// Rows of the table of generations.
const GENERATIONS: [&str; 2] = ["gen0", "gen1"];
/// Rows of the table of kinds.
const KINDS: [&str; 5] = ["minor", "major", "major_start", "major_finish", "other"];

const BY_GENERATION: Layout<2> = Layout { items: [m::GC_COUNT, m::GC_TIME], label: "generation" };
const BY_KIND: Layout<2> = Layout { items: [m::PAUSE_TOTAL, m::PAUSE_COUNT], label: "kind" };
const LENGTHS: Histogram =
    Histogram { edges: &m::PAUSE_EDGES, item: m::PAUSES, names: m::pause_buckets };

/// Nanoseconds in a microsecond.
pub(super) const US: u64 = 1000;
/// Longest time of a program's end, in ns.
const ENDING: u64 = 5_000_000_000;

/// Which collections began and ended in a pause, by generation.
#[derive(Clone, Copy, Debug, Default)]
struct Stop {
    began: u64,
    stopped: Option<u64>,
    starts: [bool; 2],
    ends: [bool; 2],
}

impl Stop {
    /// Position in [`KINDS`].
    const fn kind(self) -> usize {
        match (self.starts, self.ends) {
            ([_, true], [_, true]) => 1,
            ([_, true], _) => 2,
            (_, [_, true]) => 3,
            ([true, _], _) | (_, [true, _]) => 0,
            _ => 4,
        }
    }
}

/// A pause that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    began: u64,
    pub(super) ended: u64,
    pub(super) thread: u64,
    pub(super) length: u64,
    pub(super) suspension: u64,
    kind: usize,
}

impl Pause {
    pub(super) fn kind(&self) -> &'static str {
        KINDS.get(self.kind).copied().unwrap_or_default()
    }

    /// The generation that was collected.
    pub(super) const fn generation(&self) -> Option<u64> {
        match self.kind {
            0 => Some(0),
            1..=3 => Some(1),
            _ => None,
        }
    }
}

/// Start or end of a collection whose other half has not come.
#[derive(Clone, Copy, Debug)]
enum Half {
    Start(u64),
    End(u64),
}

/// Collections and pauses of one process.
#[derive(Debug, Default)]
pub(super) struct Collections {
    /// By thread.
    open: Open<u64, Stop>,
    /// By generation.
    halves: [Option<Half>; 2],
    /// Pauses of which it is not known whether the program was ending.
    waiting: Vec<Pause>,
    generations: Fixed<2, 2>,
    kinds: Fixed<5, 2>,
    /// End of the last pause.
    last: Option<u64>,
    /// Time and size of the heap's last change.
    heap: Option<(u64, u64)>,
}

heap_size!(Collections { open, waiting });

impl Collections {
    /// All rows exist.
    pub(super) fn start(&mut self) {
        self.generations.start();
        self.kinds.start();
    }

    /// A step of a collection.
    pub(super) fn step(&mut self, (thread, time): (u64, u64), step: u8, generation: u8) {
        let generation = usize::from(generation.min(1));
        match step {
            gc::PRE_STOP_WORLD_LOCKED => {
                self.open.begin(thread, Stop { began: time, ..Stop::default() });
            }
            gc::POST_STOP_WORLD => {
                self.stop(thread, |stop| stop.stopped = Some(time));
            }
            gc::START => {
                self.generations.add(generation, [1, 0]);
                self.half(generation, Half::Start(time));
                self.stop(thread, |stop| mark(&mut stop.starts, generation));
            }
            gc::END => {
                self.half(generation, Half::End(time));
                self.stop(thread, |stop| mark(&mut stop.ends, generation));
            }
            gc::POST_START_WORLD_UNLOCKED => {
                let Some(stop) = self.open.end(&thread) else { return };
                let Some(length) = time.checked_sub(stop.began) else { return };
                let suspension = stop.stopped.and_then(|at| at.checked_sub(stop.began));
                let pause = Pause {
                    began: stop.began,
                    ended: time,
                    thread,
                    length,
                    suspension: suspension.unwrap_or_default(),
                    kind: stop.kind(),
                };
                if self.waiting.len() < PAUSES {
                    self.waiting.push(pause);
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, thread: u64, change: impl FnOnce(&mut Stop)) {
        if let Some(mut stop) = self.open.end(&thread) {
            change(&mut stop);
            self.open.begin(thread, stop);
        }
    }

    /// Half of a collection. The other one may be in another thread's buffer, which comes before
    /// or after.
    fn half(&mut self, generation: usize, half: Half) {
        let Some(other) = self.halves.get_mut(generation) else { return };
        let time = match (*other, half) {
            (Some(Half::Start(start)), Half::End(end))
            | (Some(Half::End(end)), Half::Start(start)) => end.checked_sub(start),
            _ => None,
        };
        *other = if time.is_some() { None } else { Some(half) };
        if let Some(time) = time {
            self.generations.add(generation, [0, time]);
        }
    }

    /// The heap has this size now.
    pub(super) fn resize(&mut self, time: u64, size: u64, figures: &mut Figures) {
        figures.add(m::HEAP_RESIZES, 1);
        if self.heap.is_none_or(|(before, _)| before <= time) {
            self.heap = Some((time, size));
            figures.set(m::HEAP_TOTAL, size);
        }
    }

    /// Size of the heap.
    pub(super) fn heap(&self) -> Option<u64> {
        self.heap.map(|(_, size)| size)
    }

    /// Counts the pauses up to a time. `ending`: when the program began to end: the last
    /// collection waits up to a second for the profiler's own thread, which is no pause of the
    /// program. One that goes on for longer than [`ENDING`] does not end.
    pub(super) fn pauses(
        &mut self,
        until: Option<u64>,
        ending: Option<u64>,
        figures: &mut Figures,
        peer: &mut Peer,
        mut counted: impl FnMut(&Pause),
    ) {
        let Self { waiting, kinds, last, .. } = self;
        waiting.retain(|pause| {
            if until.is_some_and(|until| pause.ended > until) {
                return true;
            }
            if ending.is_some_and(|ending| {
                (ending..ending.saturating_add(ENDING)).contains(&pause.began)
            }) {
                return false;
            }
            kinds.add(pause.kind, [pause.length, 1]);
            peer.count_range(&LENGTHS, pause.length / US);
            peer.longest(m::PAUSE_MAX, pause.length);
            figures.add(m::SUSPENSION, pause.suspension);
            if last.is_none_or(|ended| ended <= pause.ended) {
                *last = Some(pause.ended);
                figures.set(m::PAUSE_LAST, pause.length);
            }
            counted(pause);
            false
        });
    }

    /// A flush has been read, or a part of it.
    pub(super) fn settle(&mut self, owner: &str, peer: &mut Peer) {
        self.generations.settle(&BY_GENERATION, GENERATIONS, owner, peer);
        self.kinds.settle(&BY_KIND, KINDS, owner, peer);
    }

    /// Events are lost: what is open may have ended.
    pub(super) fn forget(&mut self) {
        self.open = Open::default();
        self.halves = [None; 2];
    }

    /// No pause waits.
    pub(super) const fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn mark(marks: &mut [bool; 2], generation: usize) {
    if let Some(mark) = marks.get_mut(generation) {
        *mark = true;
    }
}
