//! What collections add: to the generations of the heap, and to pauses.

use std::time::Duration;

use crate::contract::{Counters, Peer};
use crate::meter::{Latency, MergedLatency};
use crate::model::{HeapSize, RowItem};
use crate::runtimes::{Histogram, Layout, Longest, Rows, bind};
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::wire::clr::gc_reason;

/// Rows of the table of generations, by slot.
const NAMES: [&str; 6] = ["gen0", "gen1", "gen2", "loh", "poh", "background"];
/// Slot of background collections.
const BACKGROUND: usize = 5;
/// Counters, by position in the sums of a row.
const ITEMS: [RowItem; 4] = [m::GC_COUNT, m::GC_OWN, m::GC_TIME, m::HEAP_PROMOTED];

const REASONS: Layout<1> = Layout { table: m::REASONS, items: [m::GC_REASON], label: "reason" };

/// Sums of a generation since the last report.
#[derive(Clone, Copy, Debug, Default)]
struct Generation {
    /// The row is bound.
    bound: bool,
    sums: [u64; ITEMS.len()],
    /// An unreported size.
    size: Option<u64>,
}

/// The rows of generations and reasons.
#[derive(Debug)]
pub(super) struct Heap {
    generations: [Generation; NAMES.len()],
    reasons: Rows<1>,
    touched: bool,
}

crate::heap_size!(Heap { reasons });

impl Default for Heap {
    fn default() -> Self {
        Self {
            generations: [Generation::default(); NAMES.len()],
            reasons: Rows::new(REASONS),
            touched: false,
        }
    }
}

impl Heap {
    fn add(&mut self, generation: usize, item: usize, more: u64) {
        self.touched = true;
        if let Some(sum) = self.generations.get_mut(generation).and_then(|of| of.sums.get_mut(item))
        {
            *sum = sum.wrapping_add(more);
        }
    }

    /// Counts a collection of a generation, but not in [`Self::count`].
    pub(super) fn collection(
        &mut self,
        owner: &str,
        generation: u32,
        reason: u32,
        peer: &mut Peer,
    ) {
        let generation = generation.min(2) as usize;
        self.add(generation, 1, 1);
        self.reasons.add(owner, reason.into(), [1], peer, |key| key.push_str(gc_reason(reason)));
    }

    /// Collections of a generation, those of higher ones included.
    pub(super) fn count(&mut self, generation: usize, more: u64) {
        self.add(generation, 0, more);
    }

    /// Counts the time of a collection in ns.
    pub(super) fn time(&mut self, generation: u32, background: bool, duration: u64) {
        let row = if background { BACKGROUND } else { generation.min(2) as usize };
        self.add(row, 2, duration);
    }

    /// Counts survivors in bytes.
    pub(super) fn promoted(&mut self, generation: usize, bytes: u64) {
        self.add(generation, 3, bytes);
    }

    /// The size of a generation in bytes.
    pub(super) fn size(&mut self, generation: usize, bytes: u64) {
        self.touched = true;
        if let Some(of) = self.generations.get_mut(generation) {
            of.size = Some(bytes);
        }
    }

    /// Reports what has changed since the last report.
    pub(super) fn report(&mut self, owner: &str, peer: &mut Peer) {
        self.reasons.report(peer);
        if !std::mem::take(&mut self.touched) {
            return;
        }
        for (slot, (of, name)) in (0..).zip(self.generations.iter_mut().zip(NAMES)) {
            let sums = std::mem::take(&mut of.sums);
            let size = of.size.take();
            if sums == [0; ITEMS.len()] && size.is_none() {
                continue;
            }
            if !std::mem::replace(&mut of.bound, true) {
                bind(m::GENERATIONS, owner, slot, ("generation", name), peer);
                for item in counters(slot) {
                    peer.row_add(slot, *item, 0);
                }
            }
            for (item, more) in ITEMS.into_iter().zip(sums) {
                if more > 0 {
                    peer.row_add(slot, item, more);
                }
            }
            if let Some(value) = size {
                peer.row_set(slot, m::HEAP_SIZE, value);
            }
        }
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, owner: &str, peer: &mut Peer) {
        self.report(owner, peer);
        self.reasons.clear(peer);
        if self.generations.iter().any(|of| of.bound) {
            peer.free_rows(m::GENERATIONS);
        }
        self.generations = Default::default();
    }
}

/// The counters that a row has, those of 0 included.
const fn counters(slot: u32) -> &'static [RowItem] {
    match slot {
        0..=2 => &ITEMS,
        3 | 4 => &[m::HEAP_PROMOTED],
        _ => &[m::GC_TIME],
    }
}

/// Nanoseconds in a microsecond.
const US: u64 = 1000;
/// Longer pauses count as an hour in percentiles, in us.
const LONGEST: u64 = 3_600_000_000;

/// Sums of pauses.
#[derive(Debug)]
pub(super) struct Pauses {
    histogram: Histogram<{ m::PAUSE_EDGES.len() }>,
    /// Of the last minute in us, on their way to those of the program.
    latency: Latency<LONGEST>,
    longest: Longest,
    /// An unreported last pause.
    last: Option<u64>,
}

impl HeapSize for Pauses {
    fn heap_size(&self) -> usize {
        self.latency.memory()
    }
}

impl Default for Pauses {
    fn default() -> Self {
        Self {
            histogram: Histogram::new(&m::PAUSE_EDGES, m::PAUSES, m::pause_buckets),
            latency: Latency::default(),
            longest: Longest::new(m::PAUSE_MAX),
            last: None,
        }
    }
}

impl Pauses {
    /// Counts a pause in ns.
    pub(super) fn add(&mut self, pause: u64, figures: &mut Counters) {
        figures.add(m::PAUSE_TOTAL, pause);
        figures.add(m::PAUSE_COUNT, 1);
        self.histogram.add(pause);
        self.latency.record(pause / US);
        self.last = Some(pause);
        self.longest.add(pause);
    }

    /// Reports what has changed since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        self.histogram.report(peer);
        if let Some(last) = self.last.take() {
            peer.set(m::PAUSE_LAST, last);
            self.longest.report(peer);
        }
    }

    /// A second has passed.
    pub(super) fn tick(&mut self, now: Duration, service: Option<&MergedLatency>, peer: &mut Peer) {
        self.latency.changed(now, service);
        self.longest.tick(now, peer);
    }

    /// No pause of the last minute is left.
    pub(super) fn is_silent(&self) -> bool {
        self.longest.is_silent() && self.last.is_none() && self.latency.is_empty()
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, peer: &mut Peer) {
        self.histogram.clear(peer);
    }
}
