//! Time as it travels through the program: always handed in, never read from a clock below `listen` and `pcp`.

use std::time::Duration;

/// A point in wall-clock time: seconds and nanoseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Whole seconds; negative before 1970.
    pub sec: i64,
    /// 0..=999_999_999.
    pub nsec: u32,
}

impl Stamp {
    /// From nanoseconds since the epoch.
    #[must_use]
    pub const fn from_nanos(ns: i128) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "an i128 of nanoseconds from 64-bit inputs")]
        let sec = ns.div_euclid(1_000_000_000) as i64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rem_euclid is below 10^9")]
        let nsec = ns.rem_euclid(1_000_000_000) as u32;
        Self { sec, nsec }
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> i128 {
        self.sec as i128 * 1_000_000_000 + self.nsec as i128
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.sec.saturating_mul(1000).saturating_add(self.nsec as i64 / 1_000_000)
    }
}

/// The two clocks at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// Wall clock: goes into records, may step.
    pub wall: Stamp,
    /// Monotonic clock since an arbitrary start: ages and deadlines.
    pub mono: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanos_round_trip_on_both_sides_of_1970() {
        for ns in [0, 1, -1, 999_999_999, 1_000_000_000, -1_000_000_001, 1_795_000_000_123_456_789] {
            assert_eq!(Stamp::from_nanos(ns).as_nanos(), ns);
        }
    }
}
