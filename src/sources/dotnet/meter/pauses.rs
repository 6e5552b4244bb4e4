//! Pauses of one process: their sums, the longest of the last minute, and the histogram.

use std::time::Duration;

use super::cells::Figures;
use super::cells::Histogram;
use crate::meter::{Latency, MergedLatency};
use crate::model::{Update, Value};
use crate::sources::Sink;
use crate::sources::dotnet::metrics as m;

/// Time that one maximum covers, and number of maxima.
const SLICE: u64 = 10;
const SLICES: usize = 6;
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
    /// The longest of each 10 s of the last minute; the present ones are first.
    longest: [u64; SLICES],
    /// The present 10 s.
    slice: u64,
    /// The value that was reported; 0: none.
    reported: u64,
    /// An unreported last pause.
    last: Option<u64>,
}

impl Default for Pauses {
    fn default() -> Self {
        Self {
            histogram: Histogram::new(&m::PAUSE_EDGES, m::PAUSES, m::pause_buckets),
            latency: Latency::default(),
            longest: [0; SLICES],
            slice: 0,
            reported: 0,
            last: None,
        }
    }
}

impl Pauses {
    /// Counts a pause in ns.
    pub(super) fn add(&mut self, pause: u64, figures: &mut Figures) {
        figures.add(m::PAUSE_TOTAL, pause);
        figures.add(m::PAUSE_COUNT, 1);
        self.histogram.add(pause);
        self.latency.record(pause / US);
        self.last = Some(pause);
        if let Some(longest) = self.longest.first_mut() {
            *longest = pause.max(*longest);
        }
    }

    /// Reports what has changed since the last report.
    pub(super) fn report(&mut self, sink: &mut dyn Sink) {
        self.histogram.report(sink);
        if let Some(last) = self.last.take() {
            sink.update(Update::Set { item: m::PAUSE_LAST, value: Value::U64(last) });
            self.report_longest(sink);
        }
    }

    fn report_longest(&mut self, sink: &mut dyn Sink) {
        let longest = self.longest.into_iter().max().unwrap_or_default();
        if longest == self.reported {
            return;
        }
        self.reported = longest;
        let item = m::PAUSE_MAX;
        sink.update(match longest {
            0 => Update::Unset { item },
            longest => Update::Set { item, value: Value::U64(longest) },
        });
    }

    /// A second has passed.
    pub(super) fn tick(
        &mut self,
        now: Duration,
        service: Option<&MergedLatency>,
        sink: &mut dyn Sink,
    ) {
        self.latency.changed(now, service);
        let slice = now.as_secs() / SLICE;
        let passed = usize::try_from(slice.saturating_sub(self.slice)).unwrap_or(SLICES);
        self.slice = slice;
        if passed > 0 {
            let passed = passed.min(SLICES);
            self.longest.rotate_right(passed);
            self.longest.iter_mut().take(passed).for_each(|longest| *longest = 0);
            self.report_longest(sink);
        }
    }

    /// No pause of the last minute is left.
    pub(super) fn is_silent(&self) -> bool {
        self.reported == 0 && self.last.is_none() && self.latency.is_empty()
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, sink: &mut dyn Sink) {
        self.histogram.clear(sink);
    }
}
