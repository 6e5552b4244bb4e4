//! A limit on how many records a peer has in a second.

use crate::model::Stamp;

/// Nanoseconds in a second: the burst that a quiet kind may have.
const SECOND: i64 = 1_000_000_000;

/// At most so many records a second, by the times of the events: one for each kind of events. A source
/// counts what it leaves out in a metric of its own.
///
/// A bucket that holds the records of one second (GCRA).
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    /// The time to which the records so far use the bucket up, in nanoseconds since 1970.
    used: i64,
}

impl Rate {
    /// Nanoseconds from record to record at this many a second, for [`Self::allows`].
    #[must_use]
    pub fn step(rate: u64) -> i64 {
        SECOND / i64::try_from(rate).unwrap_or(SECOND).clamp(1, SECOND)
    }

    /// Whether an event of this time has a record. Events of several threads may be out of order
    /// by less than a second.
    #[inline]
    pub fn allows(&mut self, stamp: Stamp, step: i64) -> bool {
        let now = stamp.sec.saturating_mul(SECOND).saturating_add(stamp.nsec.into());
        if self.used > now.saturating_add(2 * SECOND) {
            // The clock was set back, or a time was wrong.
            self.used = now;
        }
        let used = self.used.max(now).saturating_add(step);
        let allowed = used <= now.saturating_add(SECOND);
        if allowed {
            self.used = used;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_records() {
        let mut rate = Rate::default();
        let at = |ms: i64| Stamp::from_millis(1_800_000_000_000 + ms);
        let mut allowed =
            |ms, n: i32| (0..n).filter(|_| rate.allows(at(ms), Rate::step(200))).count();
        assert_eq!(allowed(0, 1000), 200);
        assert_eq!(allowed(10, 1000), 2);
        assert_eq!(allowed(5, 1000), 0, "an older event of another thread");
        assert_eq!(allowed(510, 1000), 100);
        assert_eq!(allowed(5000, 1000), 200);
        assert_eq!([0, u64::MAX, 3].map(Rate::step), [SECOND, 1, 333_333_333]);
        assert_eq!(allowed(-100_000, 1000), 200, "the clock was set back");
    }
}
