//! When the JVM stood still, of the last minutes.

use std::collections::VecDeque;

use crate::sources::profiler::limits::{PAUSE_AGE_MS, PAUSES};
use crate::sources::profiler::streams::record::Pause;

/// A pause, in milliseconds of the JVM's clock.
#[derive(Clone, Copy, Debug)]
struct Still {
    begin: i64,
    end: i64,
    /// All pauses up to its end together.
    sum: i64,
}

/// The newest pauses, in the order of time: none begins before the one before ends.
#[derive(Debug, Default)]
pub(crate) struct Pauses(VecDeque<Still>);

impl crate::model::HeapSize for Pauses {
    fn heap_size(&self) -> usize {
        self.0.heap_size()
    }
}

impl Pauses {
    /// Adds a pause; what of it is before the end of the one before is known already.
    pub(crate) fn add(&mut self, pause: &Pause) {
        let end = pause.end_ms;
        let (last, sum) = self.0.back().map_or((i64::MIN, 0), |last| (last.end, last.sum));
        let begin = end.saturating_sub(pause.duration_ms.into()).max(last);
        if begin >= end {
            return;
        }
        let old = end.saturating_sub(PAUSE_AGE_MS);
        while let Some(first) = self.0.front()
            && (first.end < old || self.0.len() >= PAUSES)
        {
            self.0.pop_front();
        }
        self.0.push_back(Still { begin, end, sum: sum.saturating_add(end.saturating_sub(begin)) });
    }

    /// All pauses that end before this time are known.
    #[inline]
    pub(crate) fn reach(&self, time_ms: i64) -> bool {
        self.0.back().is_some_and(|last| last.end >= time_ms)
    }

    /// Milliseconds between two times in which the JVM stood still, as far as is known.
    #[inline]
    pub(crate) fn within(&self, begin_ms: i64, end_ms: i64) -> i64 {
        match self.0.back() {
            Some(last) if last.end > begin_ms => self.until(end_ms) - self.until(begin_ms),
            _ => 0,
        }
    }

    fn until(&self, time_ms: i64) -> i64 {
        let at = self.0.partition_point(|pause| pause.end <= time_ms);
        let before = match (at.checked_sub(1).and_then(|at| self.0.get(at)), self.0.front()) {
            (Some(last), _) => last.sum,
            (None, Some(first)) => first.sum - (first.end - first.begin),
            (None, None) => 0,
        };
        let within = self.0.get(at).map_or(0, |pause| time_ms.saturating_sub(pause.begin).max(0));
        before + within
    }

    /// Frees memory that an idle connection does not need.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pauses: &[(i64, u32)]) -> Pauses {
        let mut all = Pauses::default();
        pauses
            .iter()
            .for_each(|(end_ms, ms)| all.add(&Pause { end_ms: *end_ms, duration_ms: *ms }));
        all
    }

    #[test]
    fn a_pause_counts_as_far_as_it_is_within() {
        let pauses = of(&[(110, 10), (150, 20), (200, 5)]);
        for (begin, end, stood) in [
            (0, 1000, 35),
            (0, 100, 0),
            (105, 1000, 30),
            (105, 108, 3),
            (110, 130, 0),
            (120, 140, 10),
            (140, 196, 11),
            (150, 150, 0),
            (200, 9000, 0),
            (-9000, 101, 1),
        ] {
            assert_eq!(pauses.within(begin, end), stood, "{begin} {end}");
        }
        assert!(pauses.reach(200) && !pauses.reach(201));
        assert_eq!(Pauses::default().within(0, 9), 0);
    }

    #[test]
    fn a_time_stands_still_once() {
        let pauses = of(&[(1000, 100), (1050, 500), (1040, 10), (2000, u32::MAX)]);
        assert_eq!(pauses.within(0, 5000), 1100, "from the first begin on");
        assert_eq!(pauses.within(1500, 1600), 100);
        let pauses = of(&[(i64::MIN, 5), (i64::MAX, u32::MAX)]);
        assert_eq!(pauses.within(0, 5000), 0);
        assert_eq!(pauses.within(i64::MIN, i64::MAX), i64::from(u32::MAX));
    }

    #[test]
    fn old_pauses_are_forgotten() {
        let mut pauses = Pauses::default();
        for n in 0..10_000 {
            pauses.add(&Pause { end_ms: 10 * n, duration_ms: 5 });
        }
        assert_eq!(pauses.0.len(), PAUSES);
        assert_eq!(pauses.within(0, 100_000), 5 * i64::try_from(PAUSES).expect("small"));
        pauses.add(&Pause { end_ms: 10_000_000, duration_ms: 5 });
        assert_eq!((pauses.0.len(), pauses.within(0, 10_000_000)), (1, 5));
    }
}
