//! Durations of the last minute, as percentiles: histograms of 10 s each, of which those that are
//! too old are dropped.

use std::collections::VecDeque;
use std::time::Duration;

use hdrhistogram::Histogram;

/// What a histogram covers, and how many there are.
const SLICE: Duration = Duration::from_secs(10);
const SLICES: u64 = 6;
/// Longer calls count as this long: a week, in ms.
const LONGEST: u64 = 7 * 24 * 3600 * 1000;
/// Significant digits.
const DIGITS: u8 = 2;

/// The sliding minute. Takes memory only while there are calls, and only as much as the longest of
/// them needs: 1 KiB of a slice up to 256 ms, 12 KiB up to a week.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    slices: VecDeque<(u64, Histogram<u32>)>,
    changed: bool,
    /// Calls of the same duration in the same slice, one behind the other: many are short. They
    /// are not in its histogram yet.
    run: Run,
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    slice: u64,
    ms: u64,
    calls: u32,
}

/// Percentiles in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Percentiles {
    pub(crate) p50: u64,
    pub(crate) p95: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
}

fn empty() -> Option<Histogram<u32>> {
    // It grows by itself.
    Histogram::new(DIGITS).ok()
}

impl Latency {
    /// A call of `ms` came.
    #[inline]
    pub(crate) fn record(&mut self, now: Duration, ms: u64) {
        let slice = now.as_secs() / SLICE.as_secs();
        if (self.run.slice, self.run.ms) != (slice, ms) || self.run.calls == u32::MAX {
            self.end_run();
            self.run = Run { slice, ms, calls: 0 };
        }
        self.run.calls += 1;
    }

    fn end_run(&mut self) {
        let Run { slice, ms, calls } = std::mem::take(&mut self.run);
        if calls == 0 {
            return;
        }
        if self.slices.back().is_none_or(|(s, _)| *s != slice) {
            let Some(histogram) = empty() else { return };
            self.slices.push_back((slice, histogram));
        }
        if let Some((_, histogram)) = self.slices.back_mut() {
            self.changed |= histogram.record_n(ms.min(LONGEST), calls).is_ok();
        }
    }

    /// The percentiles, if they may have changed since the last call; `Some(None)`: there are no
    /// calls any more.
    pub(crate) fn changed(&mut self, now: Duration) -> Option<Option<Percentiles>> {
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
            // Of the same bounds, so it fits.
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

    #[test]
    fn a_minute_slides() {
        let mut l = Latency::default();
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
