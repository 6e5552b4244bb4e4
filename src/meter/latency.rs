//! Percentiles of the durations of the last minute.

use std::collections::VecDeque;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Time that one histogram covers, and number of histograms.
const SLICE: Duration = Duration::from_secs(10);
const SLICES: u64 = 6;
/// Significant digits.
const DIGITS: u8 = 2;

/// Durations of the last minute in any unit, as histograms of 10 s each. Longer durations than
/// `LONGEST` count as this long. Memory is used only while there are calls; it depends on the
/// longest one: 1 KiB a slice up to 256 units, 0.5 KiB more for each power of two beyond.
#[derive(Debug, Default)]
pub struct Latency<const LONGEST: u64> {
    slices: VecDeque<(u64, Histogram<u32>)>,
    changed: bool,
    /// Run of calls of equal duration in one slice, not in its histogram yet: most calls are
    /// short.
    run: Run,
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    slice: u64,
    duration: u64,
    calls: u32,
}

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

fn empty() -> Option<Histogram<u32>> {
    // Without bounds: it grows as needed.
    Histogram::new(DIGITS).ok()
}

impl<const LONGEST: u64> Latency<LONGEST> {
    /// Adds a duration.
    #[inline]
    pub fn record(&mut self, now: Duration, duration: u64) {
        let slice = now.as_secs() / SLICE.as_secs();
        if (self.run.slice, self.run.duration) != (slice, duration) || self.run.calls == u32::MAX {
            self.end_run();
            self.run = Run { slice, duration, calls: 0 };
        }
        self.run.calls += 1;
    }

    fn end_run(&mut self) {
        let Run { slice, duration, calls } = std::mem::take(&mut self.run);
        if calls == 0 {
            return;
        }
        if self.slices.back().is_none_or(|(s, _)| *s != slice) {
            let Some(histogram) = empty() else { return };
            self.slices.push_back((slice, histogram));
        }
        if let Some((_, histogram)) = self.slices.back_mut() {
            self.changed |= histogram.record_n(duration.min(LONGEST), calls).is_ok();
        }
    }

    /// No durations are left of those that were recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.run.calls == 0
    }

    /// Allocated bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let counts = |h: &Histogram<u32>| h.distinct_values() * size_of::<u32>();
        self.slices.capacity() * size_of::<(u64, Histogram<u32>)>()
            + self.slices.iter().map(|(_, h)| counts(h)).sum::<usize>()
    }

    /// The percentiles, if they may have changed since the last time; `Some(None)`: no calls are
    /// left.
    pub fn changed(&mut self, now: Duration) -> Option<Option<Percentiles>> {
        self.end_run();
        let slice = now.as_secs() / SLICE.as_secs();
        while self.slices.front().is_some_and(|(s, _)| s + SLICES <= slice) {
            self.slices.pop_front();
            self.changed = true;
        }
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let mut all = empty()?;
        for (_, histogram) in &self.slices {
            // Both have the same bounds, so this cannot fail.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A week in ms.
    const LONGEST: u64 = 7 * 24 * 3600 * 1000;

    #[test]
    fn a_minute_slides() {
        let mut l = Latency::<LONGEST>::default();
        let at = Duration::from_secs;
        assert_eq!(l.changed(at(0)), None);
        (1..=100).for_each(|ms| l.record(at(5), ms));
        let p = l.changed(at(6)).flatten().expect("calls");
        assert_eq!((p.p50, p.p95, p.p99, p.max), (50, 95, 99, 100));
        assert_eq!(l.changed(at(7)), None);
        l.record(at(40), u64::MAX);
        assert!(
            l.changed(at(41))
                .flatten()
                .is_some_and(|p| p.max >= LONGEST - LONGEST / 100 && p.p50 < 60)
        );
        assert!(l.changed(at(60)).flatten().is_some_and(|p| p.p50 >= LONGEST - LONGEST / 100));
        assert_eq!(l.changed(at(100)), Some(None));
        assert_eq!(l.changed(at(101)), None);
    }
}
