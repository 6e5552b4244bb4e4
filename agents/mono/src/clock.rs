//! The two clocks: time stamps for the wire, and the schedule of samples.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mono_counters::message::{TICK_NANOSECONDS, UNIX_EPOCH_TICKS};

/// Now, in 100 ns ticks since 1601-01-01 UTC.
pub(crate) fn ticks() -> i64 {
    ticks_at(SystemTime::now())
}

fn ticks_at(time: SystemTime) -> i64 {
    let unix = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let ticks = unix.as_nanos() / u128::from(TICK_NANOSECONDS);
    i64::try_from(ticks).map_or(i64::MAX, |ticks| ticks.saturating_add(UNIX_EPOCH_TICKS))
}

/// Sample times on a fixed grid: the time for taking and sending a sample does not delay the next
/// one, and late samples are skipped instead of sent in a burst.
#[derive(Debug)]
pub(crate) struct Schedule {
    next: Instant,
    interval: Duration,
}

impl Schedule {
    /// The first sample is due at `start`.
    pub(crate) fn new(start: Instant, interval: Duration) -> Self {
        Self { next: start, interval }
    }

    /// Time until the next sample; zero when it is due.
    pub(crate) fn left(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }

    /// Advances to the first sample time after `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        let behind = now.saturating_duration_since(self.next).as_nanos();
        let missed = behind / self.interval.as_nanos().max(1);
        let steps = u32::try_from(missed).map_or(u32::MAX, |missed| missed.saturating_add(1));
        self.next += self.interval.saturating_mul(steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_count_from_1601() {
        assert_eq!(ticks_at(UNIX_EPOCH), 116_444_736_000_000_000);
        // 2014-03-22T22:13:20Z
        let then = UNIX_EPOCH + Duration::from_secs(1_395_526_400);
        assert_eq!(ticks_at(then), 130_400_000_000_000_000);
    }

    #[test]
    fn the_grid_does_not_drift_and_skips_what_was_missed() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let mut schedule = Schedule::new(start, ms(10));
        assert_eq!(schedule.left(start), ms(0));
        schedule.advance(start + ms(3));
        assert_eq!(schedule.left(start + ms(3)), ms(7));
        schedule.advance(start + ms(10));
        assert_eq!(schedule.left(start + ms(10)), ms(10));
        schedule.advance(start + ms(57));
        assert_eq!(schedule.left(start + ms(57)), ms(3));
        assert_eq!(schedule.left(start + ms(61)), ms(0));
    }
}
