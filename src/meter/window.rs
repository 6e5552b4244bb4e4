//! Histograms of the durations of the last minute.

use std::collections::VecDeque;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::model::HeapSize;

/// Time that one histogram covers, and number of histograms.
const SLICE: Duration = Duration::from_secs(10);
const SLICES: u64 = 6;
/// Significant digits.
const DIGITS: u8 = 2;

/// Percentiles in the unit of the durations, of two significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// A histogram without bounds: it grows as needed.
pub(super) fn empty() -> Option<Histogram<u32>> {
    Histogram::new(DIGITS).ok()
}

impl HeapSize for Histogram<u32> {
    fn heap_size(&self) -> usize {
        self.distinct_values() * size_of::<u32>()
    }
}

/// Durations as histograms of 10 s each. Memory is used only while there are durations; it depends
/// on the longest one: 1 KiB a slice up to 256 units, 0.5 KiB more for each power of two beyond.
#[derive(Debug, Default)]
pub(super) struct Window {
    slices: VecDeque<(u64, Histogram<u32>)>,
    changed: bool,
}

impl HeapSize for Window {
    fn heap_size(&self) -> usize {
        let histograms = self.slices.iter().map(|(_, histogram)| histogram.heap_size());
        self.slices.heap_size() + histograms.sum::<usize>()
    }
}

impl Window {
    /// Adds durations.
    pub(super) fn add(&mut self, now: Duration, durations: &Histogram<u32>) {
        let slice = now.as_secs() / SLICE.as_secs();
        if self.slices.back().is_none_or(|(s, _)| *s < slice) {
            let Some(histogram) = empty() else { return };
            self.slices.push_back((slice, histogram));
        }
        if let Some((_, histogram)) = self.slices.back_mut() {
            // Both have the same precision and no bounds, so this cannot fail.
            self.changed |= histogram.add(durations).is_ok();
        }
    }

    /// The percentiles, if they may have changed since the last time; `Some(None)`: no durations
    /// are left.
    pub(super) fn changed(&mut self, now: Duration) -> Option<Option<Percentiles>> {
        let slice = now.as_secs() / SLICE.as_secs();
        while self.slices.front().is_some_and(|(s, _)| s + SLICES <= slice) {
            self.slices.pop_front();
            self.changed = true;
        }
        if self.slices.is_empty() {
            self.slices = VecDeque::new();
        }
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let mut all = empty()?;
        for (_, histogram) in &self.slices {
            let _ = all.add(histogram);
        }
        let at = |q| all.value_at_quantile(q);
        Some((!all.is_empty()).then(|| Percentiles {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: all.max(),
        }))
    }

    /// No durations are left.
    pub(super) fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }
}
