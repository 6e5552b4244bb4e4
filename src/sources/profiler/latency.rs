//! Durations of the last minute, as percentiles: histograms of 10 s each, of which those that are too old are dropped.

use std::collections::VecDeque;
use std::time::Duration;

/// What a histogram covers, and how many there are.
const SLICE: Duration = Duration::from_secs(10);
const SLICES: u64 = 6;
/// Longer calls count as this long: a week, in ms.
const LONGEST: u32 = 7 * 24 * 3600 * 1000;
/// Durations that differ in the bits behind so many count as the same: two significant digits.
const BITS: u32 = 8;

/// Calls by duration, as HdrHistogram has them: sorted pairs of the least duration that counts as the same, and calls. Pods have
/// some dozens of durations, a full one has 2000, which is 16 KiB.
type Histogram = Vec<(u32, u32)>;

/// The sliding minute. Takes memory only while there are calls.
#[derive(Debug, Default)]
pub(super) struct Latency {
    slices: VecDeque<(u64, Histogram)>,
    changed: bool,
    /// Calls of the same duration in the same slice, one behind the other: many are short. They are not in its histogram yet.
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
pub(super) struct Percentiles {
    pub(super) p50: u64,
    pub(super) p95: u64,
    pub(super) p99: u64,
    pub(super) max: u64,
}

/// Bits of a duration that do not count.
const fn coarse(ms: u32) -> u32 {
    (u32::BITS - ms.leading_zeros()).saturating_sub(BITS)
}

/// The least duration that counts as the same.
const fn least(ms: u32) -> u32 {
    ms >> coarse(ms) << coarse(ms)
}

/// The longest one.
fn longest(ms: u32) -> u64 {
    u64::from(least(ms)) + (1 << coarse(ms)) - 1
}

impl Latency {
    /// A call of `ms` came.
    #[inline]
    pub(super) fn record(&mut self, now: Duration, ms: u64) {
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
        self.changed = true;
        if self.slices.back().is_none_or(|(s, _)| *s != slice) {
            self.slices.push_back((slice, Histogram::new()));
        }
        let Some((_, histogram)) = self.slices.back_mut() else { return };
        let ms = least(u32::try_from(ms).unwrap_or(LONGEST).min(LONGEST));
        match histogram.binary_search_by_key(&ms, |(ms, _)| *ms) {
            Ok(at) => histogram.get_mut(at).into_iter().for_each(|(_, sum)| *sum = sum.saturating_add(calls)),
            Err(at) => histogram.insert(at, (ms, calls)),
        }
    }

    /// The percentiles, if they may have changed since the last call; `Some(None)`: there are no calls any more.
    pub(super) fn changed(&mut self, now: Duration) -> Option<Option<Percentiles>> {
        self.end_run();
        let slice = now.as_secs() / SLICE.as_secs();
        while self.slices.front().is_some_and(|(s, _)| s + SLICES <= slice) {
            self.slices.pop_front();
            self.changed = true;
        }
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let mut all: Histogram = self.slices.iter().flat_map(|(_, histogram)| histogram).copied().collect();
        all.sort_unstable();
        Some(percentiles(&all))
    }
}

/// `sorted` may have a duration several times.
fn percentiles(sorted: &[(u32, u32)]) -> Option<Percentiles> {
    let (last, _) = sorted.last()?;
    let calls: u64 = sorted.iter().map(|(_, calls)| u64::from(*calls)).sum();
    let at = |percent: u64| {
        let rank = (calls * percent).div_ceil(100);
        let mut seen = 0;
        let found = sorted.iter().find(|(_, calls)| {
            seen += u64::from(*calls);
            seen >= rank
        });
        longest(found.map_or(*last, |(ms, _)| *ms))
    };
    Some(Percentiles { p50: at(50), p95: at(95), p99: at(99), max: longest(*last) })
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        assert!(l.changed(at(41)).flatten().is_some_and(|p| p.max >= u64::from(LONGEST - LONGEST / 100) && p.p50 < 60));
        assert!(l.changed(at(60)).flatten().is_some_and(|p| p.p50 >= u64::from(LONGEST - LONGEST / 100)));
        assert_eq!(l.changed(at(100)), Some(None));
        assert_eq!(l.changed(at(101)), None);
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_hdrhistogram(
            calls in prop::collection::vec((0..60_u64, prop_oneof![0..300_u64, 0..100_000_u64, any::<u64>()]), 1..300)
        ) {
            let (mut latency, mut calls) = (Latency::default(), calls);
            calls.sort_unstable();
            let mut hdr = hdrhistogram::Histogram::<u32>::new(2).expect("two digits");
            for (second, ms) in calls {
                latency.record(Duration::from_secs(second), ms);
                hdr.record(ms.min(LONGEST.into())).expect("it grows");
            }
            let at = |q| hdr.value_at_quantile(q);
            let all = Percentiles { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: hdr.max() };
            prop_assert_eq!(latency.changed(Duration::from_secs(59)), Some(Some(all)));
        }
    }
}
