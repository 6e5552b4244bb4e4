//! When the JVM stood still, of the last minutes, and how much of that was in calls.

use std::collections::VecDeque;

use crate::sources::profiler::limits::{
    OPEN_CALLS, PAUSE_AGE_MS, PAUSE_BACK_MS, PAUSES, SUSPENDED_MS,
};
use crate::sources::profiler::streams::record::{Call, Pause};

/// A pause, in milliseconds of the JVM's clock.
#[derive(Clone, Copy, Debug)]
struct Still {
    begin: i64,
    end: i64,
    /// All pauses up to its end together.
    sum: i64,
}

/// The newest pauses, in the order of time: none begins before the one before ends.
#[derive(Debug)]
pub(crate) struct Pauses {
    still: VecDeque<Still>,
    /// All pauses that end until then are known.
    known_ms: i64,
    /// The newest calls that ended behind it: end, and the time behind which no pause is counted in them yet.
    calls: Vec<(i64, i64)>,
    /// The oldest of them once there are [`OPEN_CALLS`].
    oldest: usize,
    /// Pauses have come since calls were counted.
    news: bool,
    /// Milliseconds of calls that have made room for others.
    owed: u64,
}

crate::heap_size!(Pauses { still, calls });

impl Default for Pauses {
    fn default() -> Self {
        let (still, calls) = (VecDeque::new(), Vec::new());
        Self { still, known_ms: i64::MIN, calls, oldest: 0, news: false, owed: 0 }
    }
}

impl Pauses {
    /// Adds a pause; what of it is before the end of the one before is known already.
    pub(crate) fn add(&mut self, pause: &Pause) {
        let end = pause.end_ms;
        if end < self.known_ms.saturating_sub(PAUSE_BACK_MS) {
            // The clock was set back.
            *self = Self { owed: self.settle(), ..Self::default() };
        }
        let sum = self.still.back().map_or(0, |last| last.sum);
        let begin = end.saturating_sub(pause.duration_ms.into()).max(self.known_ms);
        if begin >= end {
            return;
        }
        (self.news, self.known_ms) = (true, end);
        let old = end.saturating_sub(PAUSE_AGE_MS);
        while let Some(first) = self.still.front()
            && (first.end < old || self.still.len() >= PAUSES)
        {
            self.still.pop_front();
        }
        self.still.push_back(Still {
            begin,
            end,
            sum: sum.saturating_add(end.saturating_sub(begin)),
        });
    }

    /// Milliseconds of earlier calls that pauses fell into which have come since the last time.
    pub(crate) fn settle(&mut self) -> u64 {
        let mut found = std::mem::take(&mut self.owed);
        if std::mem::take(&mut self.news) {
            let mut calls = std::mem::take(&mut self.calls);
            for (end, from) in &mut calls {
                if *from < *end {
                    found += self.within(*from, *end).unsigned_abs();
                    *from = self.known_ms.max(*from);
                }
            }
            self.calls = calls;
        }
        found
    }

    /// A call has come. Returns the milliseconds of it in which the JVM stood still, as far as is known; later
    /// pauses tell the others.
    #[inline]
    pub(crate) fn call(&mut self, call: &Call<'_>) -> u64 {
        let Some((begin, end)) = times(call) else { return 0 };
        if end > self.known_ms {
            let open = (end, begin.max(self.known_ms));
            if self.calls.len() < OPEN_CALLS {
                self.calls.push(open);
            } else {
                self.replace_oldest(open);
            }
        }
        self.within(begin, end).unsigned_abs()
    }

    /// Puts a call in the place of the oldest one, which has the pauses that are known.
    #[inline]
    fn replace_oldest(&mut self, open: (i64, i64)) {
        let Some(place) = self.calls.get_mut(self.oldest) else { return };
        let (end, from) = std::mem::replace(place, open);
        self.oldest = (self.oldest + 1) % OPEN_CALLS;
        if self.news && from < end {
            self.owed += self.within(from, end).unsigned_abs();
        }
    }

    /// Milliseconds of a call in which the JVM stood still, as far as is known.
    #[inline]
    pub(crate) fn of(&self, call: &Call<'_>) -> u64 {
        times(call).map_or(0, |(begin, end)| self.within(begin, end).unsigned_abs())
    }

    /// The record of a call does not wait for pauses that may have fallen into it.
    #[inline]
    pub(crate) fn are_known(&self, call: &Call<'_>) -> bool {
        call.duration_ms < SUSPENDED_MS || times(call).is_none_or(|(_, end)| self.reach(end))
    }

    /// All pauses that end before this time are known.
    #[inline]
    pub(crate) const fn reach(&self, time_ms: i64) -> bool {
        self.known_ms >= time_ms
    }

    /// Milliseconds between two times in which the JVM stood still, as far as is known.
    #[inline]
    pub(crate) fn within(&self, begin_ms: i64, end_ms: i64) -> i64 {
        if self.known_ms > begin_ms { self.until(end_ms) - self.until(begin_ms) } else { 0 }
    }

    fn until(&self, time_ms: i64) -> i64 {
        let at = self.still.partition_point(|pause| pause.end <= time_ms);
        let before = match (at.checked_sub(1).and_then(|at| self.still.get(at)), self.still.front())
        {
            (Some(last), _) => last.sum,
            (None, Some(first)) => first.sum - (first.end - first.begin),
            (None, None) => 0,
        };
        let within =
            self.still.get(at).map_or(0, |pause| time_ms.saturating_sub(pause.begin).max(0));
        before + within
    }

    /// Frees memory that an idle connection does not need: short calls wait for no more pauses.
    pub(crate) fn shrink(&mut self) {
        self.owed = self.settle();
        self.calls.rotate_left(self.oldest);
        self.oldest = 0;
        self.calls.retain(|(end, from)| end.saturating_sub(*from) >= SUSPENDED_MS.cast_signed());
        self.still.shrink_to_fit();
        self.calls.shrink_to_fit();
    }
}

/// Begin and end of a call that took time.
#[inline]
fn times(call: &Call<'_>) -> Option<(i64, i64)> {
    let took = i64::try_from(call.duration_ms).unwrap_or(i64::MAX);
    (took > 0).then_some((call.start_ms, call.start_ms.saturating_add(took)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_pause_counts_once_in_each_call() {
        let mut pauses = of(&[(110, 10)]);
        let call = |start_ms, duration_ms| Call { start_ms, duration_ms, ..Call::EMPTY };
        let pause = |pauses: &mut Pauses, end_ms, duration_ms| {
            pauses.add(&Pause { end_ms, duration_ms });
            pauses.settle()
        };
        // Begins within a pause that is known, ends within one that is not; and one that is over.
        assert_eq!([pauses.call(&call(105, 100)), pauses.call(&call(90, 15))], [5, 5]);
        assert_eq!([pauses.call(&call(150, 0)), pauses.call(&call(300, 100))], [0, 0]);
        assert_eq!(pause(&mut pauses, 160, 20), 20);
        assert_eq!(pause(&mut pauses, 210, 20), 15);
        assert_eq!((open(&pauses), pauses.of(&call(105, 100))), (1, 40));
        assert_eq!(pause(&mut pauses, 1000, 900), 100);
        assert_eq!((open(&pauses), pauses.of(&call(300, 100))), (0, 100));
        assert_eq!(pauses.call(&call(i64::MAX, u64::MAX)), 0);
        (0..10_000).for_each(|n| assert_eq!(pauses.call(&call(2000 + n, 5)), 0));
        assert_eq!((open(&pauses), pauses.calls.len()), (OPEN_CALLS, OPEN_CALLS));
        assert!(pauses.are_known(&call(2000, 99)) && !pauses.are_known(&call(2000, 100)));
        assert!(pauses.are_known(&call(500, 500)));
    }

    /// Calls into which later pauses may fall.
    fn open(pauses: &Pauses) -> usize {
        pauses.calls.iter().filter(|(end, from)| from < end).count()
    }

    #[test]
    fn calls_that_make_room_have_the_pauses_that_are_known() {
        let mut pauses = of(&[(10, 5)]);
        let call = |start_ms| Call { start_ms, duration_ms: 5, ..Call::EMPTY };
        (0..3).for_each(|_| assert_eq!(pauses.call(&call(100)), 0));
        pauses.add(&Pause { end_ms: 103, duration_ms: 2 });
        let count = i64::try_from(OPEN_CALLS).expect("small");
        (0..count).for_each(|n| assert_eq!(pauses.call(&call(200 + n)), 0));
        assert_eq!((pauses.calls.len(), pauses.settle(), pauses.settle()), (OPEN_CALLS, 6, 0));
    }

    #[test]
    fn an_idle_connection_has_no_short_calls() {
        let mut pauses = of(&[(10, 5)]);
        let call = |start_ms, duration_ms| Call { start_ms, duration_ms, ..Call::EMPTY };
        (0..5000).for_each(|n| assert_eq!(pauses.call(&call(100 + n, 99)), 0));
        pauses.call(&call(100, SUSPENDED_MS));
        pauses.shrink();
        assert_eq!((pauses.calls.len(), pauses.calls.capacity() < 10), (1, true));
        pauses.add(&Pause { end_ms: 9000, duration_ms: 8850 });
        assert_eq!(pauses.settle(), 50);
    }

    #[test]
    fn a_clock_that_is_set_back_begins_anew() {
        let mut pauses = of(&[(1_000_000, 50)]);
        let call = |start_ms| Call { start_ms, duration_ms: 200, ..Call::EMPTY };
        assert_eq!(pauses.call(&call(999_900)), 50);
        pauses.add(&Pause { end_ms: 1_000_050, duration_ms: 20 });
        pauses.add(&Pause { end_ms: 1_000_050 - PAUSE_BACK_MS, duration_ms: 30 });
        assert!(pauses.reach(1_000_050), "a pause that is late, within a minute");
        pauses.add(&Pause { end_ms: 500_000, duration_ms: 30 });
        assert_eq!((pauses.settle(), pauses.calls.len()), (20, 0));
        assert!(pauses.reach(500_000) && !pauses.reach(500_001));
        assert_eq!(pauses.call(&call(499_900)), 30);
        pauses.add(&Pause { end_ms: 500_100, duration_ms: 7 });
        assert_eq!(pauses.settle(), 7);
    }

    fn of(pauses: &[(i64, u32)]) -> Pauses {
        let mut all = Pauses::default();
        for (end_ms, duration_ms) in pauses.iter().copied() {
            all.add(&Pause { end_ms, duration_ms });
        }
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
        assert_eq!(pauses.still.len(), PAUSES);
        assert_eq!(pauses.within(0, 100_000), 5 * i64::try_from(PAUSES).expect("small"));
        pauses.add(&Pause { end_ms: 10_000_000, duration_ms: 5 });
        assert_eq!((pauses.still.len(), pauses.within(0, 10_000_000)), (1, 5));
    }
}
