//! Pauses of one process: their sums, the longest of the last minute, and the histogram.

use std::time::Duration;

use crate::contract::{Counters, Peer};
use crate::meter::{Latency, MergedLatency};
use crate::runtimes::{Histogram, Longest};
use crate::sources::dotnet::metrics as m;

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
