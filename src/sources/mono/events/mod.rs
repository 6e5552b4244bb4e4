//! What the events of a log profiler mean: garbage collections, exceptions, locks, threads,
//! allocations, the heap and the profile of one process (docs/protocols/mono-mlpd.md 5, 6).
//!
//! ```text
//!  mlpd::Event ─▶ Runtime ─┬▶ collections, sites, heap, figures ─────┐
//!                          └▶ records (gc, exception, contention) ──┴▶ peer
//!              ─▶ Profile ──────────────────────────────▶ peer
//! ```
//!
//! A profiler writes the buffers of all threads once a second, not in the order of time, and a
//! mark behind them. Sums count at once; whatever needs a name or the order of time waits for the
//! mark. [`Runtime::settle`] hands both over.

mod collections;
mod figures;
mod heap;
mod names;
mod profile;
mod records;
mod rows;
mod sites;

pub(crate) use figures::jit_item;
pub(crate) use names::Names;
pub(crate) use profile::Profile;

use self::collections::Collections;
use self::figures::{Figures, Program, Threads};
use self::heap::{Allocations, Handles, Heap, Objects};
use self::records::Records;
use self::rows::Flush;
use self::sites::{Exceptions, Locks};
use super::metrics as m;
use super::mlpd::{Event, Header, gc, monitor};
use super::process::Tally;
use crate::contract::Peer;
use crate::heap_size;
use crate::model::{MetricItem, Stamp};

/// Ticks that something may wait for its name or for the end of a flush.
const PATIENCE: u8 = 3;

/// The metrics of one process that come from the events of its log profiler.
#[derive(Debug, Default)]
pub(crate) struct Runtime {
    /// The instance; empty until it is known.
    owner: Box<str>,
    version: u8,
    options: Options,
    figures: Figures,
    gc: Collections,
    exceptions: Exceptions,
    locks: Locks,
    alloc: Allocations,
    objects: Objects,
    heap: Heap,
    threads: Threads,
    handles: Handles,
    records: Records,
    program: Program,
    /// All events up to this time have come.
    complete: Option<u64>,
    /// Ticks since something waits.
    waits: u8,
}

heap_size!(Runtime {
    owner,
    figures,
    gc,
    exceptions,
    locks,
    alloc,
    objects,
    heap,
    threads,
    records
});

impl Runtime {
    /// The header of a stream.
    pub(crate) fn header(&mut self, header: &Header) {
        self.version = header.version;
        self.options = Options::parse(&header.options);
    }

    /// The stream has all exceptions.
    pub(crate) const fn counts_exceptions(&self) -> bool {
        self.options.exception
    }

    /// The identity is known: what the stream will have begins at 0. `owner`: the instance name.
    pub(crate) fn start(&mut self, owner: &str, peer: &mut Peer) {
        self.owner = owner.into();
        let all = self.options;
        for (has, items) in [
            (true, &[m::THREADS_CREATED] as &[MetricItem]),
            (all.gc, &[m::SUSPENSION, m::HEAP_RESIZES]),
            (all.monitor, &[m::CONTENTION_COUNT, m::CONTENTION_TIME, m::CONTENTION_FAILED]),
            (all.alloc, &[m::ALLOC_BYTES, m::ALLOC_OBJECTS]),
            (all.finalization, &[m::FINALIZED]),
            (all.heapshot, &[m::HEAP_SHOTS]),
            (all.gc || all.exception || all.monitor, &[m::MISSED]),
        ] {
            for item in items.iter().filter(|_| has) {
                peer.add(*item, 0);
            }
        }
        if all.gc {
            self.gc.start();
        }
        if all.exception {
            self.exceptions.start();
        }
    }

    /// The program is known, which has its row; and what its sums have of the process, if it is one
    /// of this host.
    pub(crate) fn of_program(&mut self, tally: Option<Tally>) {
        self.program.is(tally);
    }

    /// An event, or an item of one, of a thread's buffer.
    #[inline]
    pub(crate) fn event(&mut self, thread: u64, time: u64, event: &Event<'_>) {
        match *event {
            Event::Alloc { vtable, object, size, .. } => {
                self.alloc.add(vtable, size);
                if self.options.tracks_objects() {
                    self.objects.allocated(object, vtable);
                }
            }
            Event::Move { from, to } if self.options.tracks_objects() => {
                self.objects.moved(from, to);
            }
            Event::HeapObject { vtable, size, .. } => self.heap.object(vtable, size),
            _ => self.rare(thread, time, event),
        }
    }

    fn rare(&mut self, thread: u64, time: u64, event: &Event<'_>) {
        let figures = &mut self.figures;
        match *event {
            Event::Gc { event, generation } => {
                self.gc.step((thread, time), event, generation);
                self.program.add(m::PROGRAM_GC_COUNT, u64::from(event == gc::START));
            }
            Event::HeapResize { size } => self.gc.resize(time, size, figures),
            Event::Throw { object, frames } => {
                self.objects.settle();
                let tracks = self.options.tracks_objects();
                let kind = tracks.then(|| self.objects.kind(object));
                self.exceptions.thrown(frames, kind);
                self.program.add(m::PROGRAM_EXCEPTIONS, 1);
                self.records.exception((thread, time), frames, kind.flatten(), figures);
            }
            Event::Clause { kind, .. } => self.exceptions.clause(kind),
            Event::Monitor { event: monitor::CONTENTION, object, frames } => {
                self.locks.begin((thread, time), object, frames, figures);
                self.program.add(m::PROGRAM_CONTENTION_COUNT, 1);
            }
            Event::Monitor { event: event @ (monitor::DONE | monitor::FAIL), .. } => {
                let failed = event == monitor::FAIL;
                if let Some(waited) = self.locks.end((thread, time), failed, figures) {
                    self.program.add(m::PROGRAM_CONTENTION_TIME, waited.duration);
                    self.objects.settle();
                    let kind = self.objects.kind(waited.object);
                    self.records.contention((thread, time), waited, kind, failed, figures);
                }
            }
            Event::Moves { .. } => self.objects.settle(),
            Event::HandleCreated { kind, .. } => self.handles.add(kind, 1),
            Event::HandleDestroyed { kind, .. } => self.handles.add(kind, -1),
            Event::FinalizeEnd { .. } => figures.add(m::FINALIZED, 1),
            Event::HeapStart => self.heap.begin(),
            Event::HeapEnd => self.heap.end(figures),
            Event::Class { act, .. } => self.threads.act(m::CLASSES, act),
            Event::Assembly { act, .. } => self.threads.act(m::ASSEMBLIES, act),
            Event::Domain { act, .. } => self.threads.act(m::DOMAINS, act),
            Event::Thread { act, id, name } => {
                self.threads.thread(time, act, id, name, figures);
                self.records.thread(time, act, id, name);
            }
            // The profiler writes this behind the buffers of all threads.
            Event::Sync { .. } => self.complete = self.complete.max(Some(time)),
            _ => {}
        }
    }

    /// A counter of the stream that is a metric with a name of its own, since the start of the process.
    pub(crate) fn total(&mut self, item: MetricItem, value: u64) {
        self.figures.set(item, value);
    }

    /// Adds to a counter of the stream itself.
    pub(crate) fn count(&mut self, item: MetricItem, more: u64) {
        self.figures.add(item, more);
    }

    /// Whether this way feeds exceptions and compiled methods, which others count too.
    pub(crate) const fn feeds(&mut self, exceptions: bool, methods: bool) {
        self.figures.feeds(exceptions, methods);
    }

    /// Events are lost: what is open may have ended.
    pub(crate) fn lost(&mut self) {
        self.gc.forget();
        self.locks.forget();
        self.heap.forget();
        self.objects.forget();
    }

    /// A second has passed: nothing waits for ever.
    pub(crate) fn tick(&mut self, names: &Names, stamp: &dyn Fn(u64) -> Stamp, peer: &mut Peer) {
        self.threads.tick(&mut self.figures);
        self.waits = if self.is_settled() { 0 } else { self.waits + 1 };
        let force = self.waits >= PATIENCE;
        if force {
            self.waits = 0;
        }
        self.settle(force, names, stamp, peer);
    }

    /// What came was read: tells what has changed, once the instance is known. `force`: nothing
    /// more will come.
    pub(crate) fn settle(
        &mut self,
        force: bool,
        names: &Names,
        stamp: &dyn Fn(u64) -> Stamp,
        peer: &mut Peer,
    ) {
        if self.owner.is_empty() {
            return;
        }
        let until = self.complete.filter(|_| !force);
        let Self { owner, figures, gc, records, program, .. } = self;
        let flush = Flush { owner, names, version: self.version, force };
        if force || until.is_some() {
            let heap = gc.heap();
            gc.pauses(until, self.threads.ending(), figures, peer, |pause| {
                program.add(m::PROGRAM_PAUSE_COUNT, 1);
                program.add(m::PROGRAM_PAUSE_TOTAL, pause.length);
                records.pause(pause, heap);
            });
            records.settle(until, flush, stamp, peer);
        }
        gc.settle(owner, peer);
        self.exceptions.settle(flush, peer);
        self.locks.settle(flush, peer);
        self.alloc.settle(flush, figures, peer);
        self.heap.settle(flush, peer);
        self.handles.settle(owner, peer);
        self.threads.settle(figures);
        if self.options.exception || self.exceptions.thrown > 0 {
            figures.set(m::EXCEPTIONS, self.exceptions.thrown);
        }
        figures.settle(peer);
        program.settle(peer);
    }

    /// Nothing waits.
    fn is_settled(&self) -> bool {
        self.gc.is_settled()
            && self.records.is_settled()
            && self.exceptions.is_settled()
            && self.locks.is_settled()
            && self.alloc.is_settled()
            && self.heap.is_settled()
    }
}

/// The words of a profiler's options with their values: `log:nodefaults,sample=200,…`.
fn words(options: &str) -> impl Iterator<Item = (&str, &str)> {
    let words = options.split_once(':').map_or("", |(_, words)| words);
    words.split(',').map(|word| word.split_once('=').unwrap_or((word, "")))
}

/// What a profiler was asked to report, as far as it decides which metrics have values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Options {
    gc: bool,
    exception: bool,
    monitor: bool,
    alloc: bool,
    moves: bool,
    finalization: bool,
    handles: bool,
    heapshot: bool,
}

impl Options {
    /// Reads `log:nodefaults,gc,…`. Unknown words are of no concern.
    fn parse(text: &str) -> Self {
        let mut all = Self { exception: true, ..Self::default() };
        for (name, _) in words(text) {
            match name {
                "nodefaults" => all = Self::default(),
                "gc" => all.gc = true,
                "exception" => all.exception = true,
                "monitor" => all.monitor = true,
                "gcalloc" => all.alloc = true,
                "gcmove" => all.moves = true,
                "finalization" => all.finalization = true,
                "gchandle" => all.handles = true,
                "heapshot" | "heapshot-on-shutdown" => (all.heapshot, all.gc) = (true, true),
                "alloc" => (all.alloc, all.gc, all.moves) = (true, true, true),
                "legacy" => {
                    (all.gc, all.exception, all.monitor) = (true, true, true);
                    (all.moves, all.finalization, all.handles) = (true, true, true);
                }
                _ => {}
            }
        }
        all
    }

    /// Classes of objects are known, and somebody wants to know them.
    const fn tracks_objects(&self) -> bool {
        self.alloc && self.moves && (self.exception || self.monitor)
    }
}

#[cfg(test)]
mod tests;
