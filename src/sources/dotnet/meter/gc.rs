//! Garbage collections and their pauses (docs/protocols/dotnet.md 6). A pause belongs to the
//! thread that wrote its events, a collection has a number. A background collection begins in a
//! pause that it may share with another collection, has pauses of reason 6, and ends outside of
//! pauses on its own thread:
//!
//! ```text
//!  thread A  |9 8 start2 start3 end3 stats 7 3|    |9 8 start4 end4 stats 7 3|
//!  thread B                                   |9 8 7 3|                  end2 stats
//! ```
//! Streams have the events of one thread in order, but those of another thread may come first: all
//! parts of a collection are matched in any order, by number, thread and time.

use std::collections::VecDeque;

use super::{Gc, HeapChange};
use crate::sources::dotnet::limits::{OPEN_COLLECTIONS, OPEN_PAUSES};

/// Reasons of suspensions for collections: for one, and to prepare one.
const FOR_GC: u32 = 1;
const PREPARE_GC: u32 = 6;
/// Type of background collections.
const BACKGROUND: u32 = 1;

/// A pause. Its end is unknown while it is open.
#[derive(Clone, Copy, Debug)]
struct Pause {
    thread: u64,
    began: u64,
    ended: u64,
    reason: u32,
    /// All threads have stopped.
    stopped: bool,
    /// The last collection that began in it counts it: time of the beginning.
    last: Option<u64>,
}

impl Pause {
    const fn contains(&self, time: u64) -> bool {
        self.began <= time && time <= self.ended
    }

    const fn length(&self) -> u64 {
        self.ended.saturating_sub(self.began)
    }
}

/// A collection of which some events have come.
#[derive(Clone, Copy, Debug, Default)]
struct Collection {
    gc: Gc,
    began: Option<u64>,
    /// Time and thread.
    ended: Option<(u64, u64)>,
    /// Sizes and survivors by generation.
    statistics: Option<([u64; 5], [u64; 5])>,
    /// The pause that has its beginning is known.
    paused: bool,
    /// When that pause ended, unless it is open.
    resumed: u64,
    /// Its duration, and its survivors, have been counted.
    counted: (bool, bool),
}

impl Collection {
    /// All of it. While a background one goes on, the program runs; others end when it runs again.
    fn all(&self) -> Gc {
        let ended = self.ended.map_or(0, |(time, _)| time);
        let resumed = if self.gc.kind == BACKGROUND { 0 } else { self.resumed };
        Gc { ended: ended.max(resumed), ..self.gc }
    }
}

/// A collection that begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) number: u32,
    pub(super) generation: u32,
    pub(super) reason: u32,
    pub(super) kind: u32,
}

/// The end of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) generation: u32,
    pub(super) background: bool,
    /// Time from start to end in ns.
    pub(super) duration: u64,
}

/// What is known with an event that was not known before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// The length of a pause in ns.
    pub(super) pause: Option<u64>,
    /// The end of a collection.
    pub(super) end: Option<End>,
    /// Survivors of a collection by generation in bytes.
    pub(super) survivors: Option<[u64; 5]>,
    /// All of a collection.
    pub(super) gc: Option<Gc>,
}

/// Collections and pauses of one stream of which not all events have come.
#[derive(Debug, Default)]
pub(super) struct Collections {
    pauses: Vec<Pause>,
    /// Pauses that have ended, for collections whose beginning comes later.
    ended: VecDeque<Pause>,
    /// No pause of `ended` ends after this time.
    latest: u64,
    open: Vec<Collection>,
    /// The stream has pauses, ends of collections, statistics.
    has_pauses: bool,
    has_ends: bool,
    has_statistics: bool,
    /// Bytes of the heap after the last collection.
    size: Option<u64>,
}

crate::heap_size!(Collections { pauses, ended, open });

impl Collections {
    /// A suspension begins.
    pub(super) fn suspend(&mut self, time: u64, thread: u64, reason: u32) {
        self.pauses.retain(|pause| pause.thread != thread);
        if reason != FOR_GC && reason != PREPARE_GC {
            return;
        }
        self.has_pauses = true;
        if self.pauses.len() >= OPEN_PAUSES {
            self.pauses.remove(0);
        }
        let (began, ended) = (time, u64::MAX);
        self.pauses.push(Pause { thread, began, ended, reason, stopped: false, last: None });
    }

    /// All threads have stopped: the time since the suspension began.
    pub(super) fn suspended(&mut self, time: u64, thread: u64) -> Option<u64> {
        let pause =
            self.pauses.iter_mut().find(|pause| pause.thread == thread && !pause.stopped)?;
        pause.stopped = true;
        Some(time.saturating_sub(pause.began))
    }

    /// All threads run again.
    pub(super) fn restarted(&mut self, time: u64, thread: u64, known: &mut Known) {
        let Some(at) = self.pauses.iter().position(|pause| pause.thread == thread) else { return };
        let Some(mut pause) = taken(&mut self.pauses, at) else { return };
        pause.ended = time.max(pause.began);
        let mut last: Option<&mut Collection> = None;
        for of in &mut self.open {
            let Some(began) = of.began else { continue };
            let background = of.gc.kind == BACKGROUND && began <= pause.ended;
            if pause.contains(began) {
                of.paused = true;
                of.resumed = pause.ended;
            } else if !(background && pause.reason == PREPARE_GC) {
                continue;
            }
            if last.as_ref().is_none_or(|last| last.began <= Some(began)) {
                last = Some(of);
            }
        }
        if let Some(of) = last {
            pause.last = of.began;
            of.gc.pause = Some(of.gc.pause.unwrap_or_default().saturating_add(pause.length()));
        }
        if self.ended.len() >= OPEN_PAUSES {
            self.ended.pop_front();
        }
        self.latest = self.latest.max(pause.ended);
        self.ended.push_back(pause);
        known.pause = Some(pause.length());
        self.complete(known);
    }

    /// A collection begins.
    pub(super) fn start(&mut self, time: u64, start: Start, known: &mut Known) {
        let Start { number, generation, reason, kind } = start;
        self.room(known);
        let at = self.at(number);
        let Some(of) = self.open.get_mut(at) else { return };
        of.began = Some(time);
        of.gc = Gc { generation, reason, kind, ..of.gc };
        // Most begin when all pauses before have ended.
        let pauses = if time <= self.latest { self.ended.len() } else { 0 };
        for pause in self.ended.iter_mut().take(pauses).filter(|pause| time <= pause.ended) {
            let prepares = kind == BACKGROUND && pause.reason == PREPARE_GC && time < pause.began;
            let before_end = of.ended.is_none_or(|(end, _)| pause.began <= end);
            let contains = pause.contains(time);
            of.paused |= contains;
            of.resumed = if contains { pause.ended } else { of.resumed };
            if pause.last.is_none() && (contains || prepares && before_end) {
                pause.last = Some(time);
                of.gc.pause = Some(of.gc.pause.unwrap_or_default().saturating_add(pause.length()));
            }
        }
        self.progress(at, known);
    }

    /// A collection ends.
    pub(super) fn end(&mut self, time: u64, thread: u64, number: u32, known: &mut Known) {
        self.has_ends = true;
        self.room(known);
        let at = self.at(number);
        let Some(of) = self.open.get_mut(at) else { return };
        of.ended = Some((time, thread));
        self.progress(at, known);
    }

    /// Statistics of the heap after the collection that ended on this thread: sizes and survivors.
    pub(super) fn statistics(
        &mut self,
        thread: u64,
        sizes: [u64; 5],
        promoted: [u64; 5],
        known: &mut Known,
    ) {
        self.has_statistics = true;
        let after = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
        let before = self.size.replace(after);
        let waits = |of: &Collection| {
            of.statistics.is_none() && of.ended.is_some_and(|(_, on)| on == thread)
        };
        let Some(at) = self.open.iter().rposition(waits) else {
            known.survivors = (!self.has_ends).then_some(promoted);
            return;
        };
        let Some(of) = self.open.get_mut(at) else { return };
        of.statistics = Some((sizes, promoted));
        of.gc.heap = Some(HeapChange { before, after, promoted: 0 });
        self.progress(at, known);
    }

    /// The place of a collection by its number.
    fn at(&mut self, number: u32) -> usize {
        let place = self.open.iter().position(|of| of.gc.number == number);
        place.unwrap_or_else(|| {
            let gc = Gc { number, ..Gc::default() };
            self.open.push(Collection { gc, ..Collection::default() });
            self.open.len() - 1
        })
    }

    /// Makes room for a collection: the oldest is all that will be known of it if its end is.
    fn room(&mut self, known: &mut Known) {
        if self.open.len() < OPEN_COLLECTIONS {
            return;
        }
        let oldest = self.open.remove(0);
        if oldest.began.is_some() && oldest.ended.is_some() {
            known.gc = Some(oldest.all());
        }
    }

    /// Counts what is known of a collection now.
    fn progress(&mut self, at: usize, known: &mut Known) {
        let Some(of) = self.open.get_mut(at) else { return };
        let Some(began) = of.began else { return };
        if let Some((ended, _)) = of.ended
            && !std::mem::replace(&mut of.counted.0, true)
        {
            of.gc.duration = ended.saturating_sub(began);
            let Gc { generation, kind, duration, .. } = of.gc;
            known.end = Some(End { generation, background: kind == BACKGROUND, duration });
        }
        if let Some((_, promoted)) = of.statistics
            && !std::mem::replace(&mut of.counted.1, true)
        {
            let survivors = survivors(of.gc, promoted);
            if let Some(heap) = &mut of.gc.heap {
                heap.promoted = survivors.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes));
            }
            known.survivors = Some(survivors);
        }
        self.complete(known);
    }

    /// A collection of which nothing more will come. One that had to make room comes first.
    fn complete(&mut self, known: &mut Known) {
        // A background collection may end within the pause that it began in: if no other one began
        // in it later, which then has it, that pause is its own.
        let pausing = |of: &Collection| {
            let pause = |pause: &Pause| of.began.is_some_and(|began| pause.contains(began));
            self.pauses.iter().any(pause) && !self.open.iter().any(|other| other.began > of.began)
        };
        let complete = |of: &Collection| {
            of.began.is_some()
                && of.ended.is_some()
                && (of.statistics.is_some() || !self.has_statistics)
                && (of.paused || !self.has_pauses || (of.gc.kind == BACKGROUND && !pausing(of)))
        };
        if let Some(at) = self.open.iter().position(complete)
            && let Some(of) = taken(&mut self.open, at)
        {
            known.gc = known.gc.or_else(|| Some(of.all()));
        }
    }

    /// Another stream begins.
    pub(super) fn reset(&mut self) {
        *self = Self { size: self.size, ..Self::default() };
    }

    /// Frees memory beyond what is open.
    pub(super) fn shrink(&mut self) {
        self.ended = VecDeque::new();
        self.pauses.shrink_to_fit();
        self.open.shrink_to_fit();
    }
}

/// Takes an element out; those behind it keep their order. Elements are large, and [`Vec::remove`] is a call that copies
/// them: with it an event of a mixed stream needs two instructions more.
fn taken<T: Copy>(list: &mut Vec<T>, at: usize) -> Option<T> {
    let element = list.get(at).copied()?;
    list.copy_within(at + 1.., at);
    list.pop();
    Some(element)
}

/// Survivors of the generations that the collection collected. Those of the others are of earlier
/// collections: the statistics of a background collection repeat what the last collection of
/// generation 0 or 1 told of them.
const fn survivors(gc: Gc, promoted: [u64; 5]) -> [u64; 5] {
    let [gen0, gen1, gen2, loh, poh] = promoted;
    match (gc.kind, gc.generation) {
        (BACKGROUND, _) => [0, 0, gen2, loh, poh],
        (_, 0) => [gen0, 0, 0, 0, 0],
        (_, 1) => [gen0, gen1, 0, 0, 0],
        _ => promoted,
    }
}
