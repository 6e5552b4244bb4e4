//! Percentiles of the durations of the last minute of one peer.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::merged::MergedLatency;
use super::window::{Percentiles, Window, empty};

/// Durations of the last minute in any unit. Longer durations than `LONGEST` count as this long.
#[derive(Debug, Default)]
pub struct Latency<const LONGEST: u64> {
    window: Window,
    /// Durations since the last report: they go to the window, and to that of all peers of the
    /// service, once a second, not one by one.
    fresh: Option<Histogram<u32>>,
    /// Run of calls of equal duration, not in a histogram yet: most calls are short.
    run: Run,
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    duration: u64,
    calls: u32,
}

crate::heap_size!([const LONGEST: u64] Latency<LONGEST> { window, fresh });

impl<const LONGEST: u64> Latency<LONGEST> {
    /// Adds a duration. It counts from the next report on.
    #[inline]
    pub fn record(&mut self, duration: u64) {
        if self.run.duration != duration || self.run.calls == u32::MAX {
            self.end_run();
            self.run = Run { duration, calls: 0 };
        }
        self.run.calls += 1;
    }

    fn end_run(&mut self) {
        let Run { duration, calls } = std::mem::take(&mut self.run);
        if calls == 0 {
            return;
        }
        if self.fresh.is_none() {
            self.fresh = empty();
        }
        if let Some(fresh) = &mut self.fresh {
            // Without bounds it takes every duration.
            let _ = fresh.record_n(duration.min(LONGEST), calls);
        }
    }

    /// No durations are left of those that were recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
            && self.run.calls == 0
            && self.fresh.as_ref().is_none_or(Histogram::is_empty)
    }

    /// The percentiles, if they may have changed since the last time; `Some(None)`: no calls are
    /// left. New durations are also added to those of the `service`.
    pub fn changed(
        &mut self,
        now: Duration,
        service: Option<&MergedLatency>,
    ) -> Option<Option<Percentiles>> {
        self.end_run();
        if let Some(fresh) = self.fresh.as_mut().filter(|fresh| !fresh.is_empty()) {
            self.window.add(now, fresh);
            service.iter().for_each(|service| service.add(now, fresh));
            fresh.reset();
        }
        let changed = self.window.changed(now);
        if self.window.is_empty() {
            self.fresh = None;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeapSize;

    /// A week in ms.
    const LONGEST: u64 = 7 * 24 * 3600 * 1000;

    #[test]
    fn a_minute_slides() {
        let mut l = Latency::<LONGEST>::default();
        let at = Duration::from_secs;
        assert_eq!(l.changed(at(0), None), None);
        (1..=100).for_each(|ms| l.record(ms));
        assert!(!l.is_empty());
        let p = l.changed(at(6), None).flatten().expect("calls");
        assert_eq!((p.p50, p.p95, p.p99, p.max), (50, 95, 99, 100));
        assert_eq!(l.changed(at(7), None), None);
        l.record(u64::MAX);
        assert!(
            l.changed(at(41), None)
                .flatten()
                .is_some_and(|p| p.max >= LONGEST - LONGEST / 100 && p.p50 < 60)
        );
        assert!(
            l.changed(at(60), None).flatten().is_some_and(|p| p.p50 >= LONGEST - LONGEST / 100)
        );
        assert!(l.heap_size() > 0);
        assert_eq!(l.changed(at(100), None), Some(None));
        assert_eq!(l.changed(at(101), None), None);
        assert!(l.is_empty() && l.fresh.is_none());
    }

    #[test]
    fn runs_of_equal_durations_all_count() {
        let mut l = Latency::<LONGEST>::default();
        for _ in 0..99 {
            l.record(0);
        }
        l.record(7);
        let p = l.changed(Duration::ZERO, None).flatten().expect("calls");
        assert_eq!((p.p50, p.p99, p.max), (0, 0, 7));
    }
}
