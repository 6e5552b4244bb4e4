//! Times of events (docs/protocols/dotnet.md 3).

use crate::model::{Now, Stamp};
use crate::sources::dotnet::nettrace::Header;

const SECOND: u64 = 1_000_000_000;
/// Most that the header's clock can differ from ours, in ns: the header is made when the session
/// begins, and a suspended process may begin late. Another clock differs by the host's uptime.
const NEAR: u64 = 600 * SECOND;

/// CLOCK_MONOTONIC of the host, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks(pub u64);

/// The two clocks of the host are read one after the other: below this difference in ns the map
/// between them stays as it is, so that times of events keep their order.
const STEP: i64 = 1_000_000;

/// Maps ticks of a stream to time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    ticks: u64,
    /// Wall clock less ticks of the host, in ns.
    offset: i64,
    frequency: u64,
    /// The stream's clock is the host's: its ticks tell the time exactly.
    shared: bool,
    /// Wall clock of the header in ns since 1970, and its ticks in ns.
    base: (i64, u64),
}

impl Clock {
    /// The clocks of the host now.
    pub(super) fn at(&mut self, now: Now, ticks: Ticks) {
        let offset = nanos(now.wall).wrapping_sub_unsigned(ticks.0);
        if offset.abs_diff(self.offset) > STEP.unsigned_abs() {
            self.offset = offset;
        }
        self.ticks = ticks.0;
    }

    /// The header of the stream.
    pub(super) fn begin(&mut self, header: &Header) {
        self.frequency = header.frequency;
        self.shared = header.frequency == SECOND && self.ticks.abs_diff(header.ticks) < NEAR;
        self.base = (nanos(header.utc), self.nanos(header.ticks));
    }

    /// Ticks as ns since the same start.
    pub(super) fn nanos(&self, ticks: u64) -> u64 {
        if self.frequency == SECOND || self.frequency == 0 {
            return ticks;
        }
        let nanos = u128::from(ticks) * u128::from(SECOND) / u128::from(self.frequency);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// Wall clock of an event.
    #[inline]
    pub(super) fn stamp(&self, ticks: u64) -> Stamp {
        // Wrapping: negative before the base.
        let nanos = if self.shared {
            self.offset.wrapping_add_unsigned(ticks)
        } else {
            self.base.0.wrapping_add_unsigned(self.nanos(ticks).wrapping_sub(self.base.1))
        };
        let second = SECOND.cast_signed();
        Stamp {
            sec: nanos.div_euclid(second),
            nsec: u32::try_from(nanos.rem_euclid(second)).unwrap_or_default(),
        }
    }

    /// Time since an event, in ns; `None` if its clock is another one.
    pub(super) const fn age(&self, ticks: u64) -> Option<u64> {
        if self.shared { Some(self.ticks.saturating_sub(ticks)) } else { None }
    }
}

/// ns since 1970, until the year 2262.
fn nanos(stamp: Stamp) -> i64 {
    stamp.sec.saturating_mul(SECOND.cast_signed()).saturating_add(stamp.nsec.into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_shared_clock_is_exact_and_another_one_counts_from_the_header() {
        let now = Now { wall: Stamp { sec: 1_000, nsec: 500 }, monotonic: Duration::ZERO };
        let utc = Stamp { sec: 900, nsec: 7_000_000 };
        let header = Header { utc, ticks: 50 * SECOND, frequency: SECOND, ..Header::default() };
        let mut clock = Clock::default();
        clock.at(now, Ticks(51 * SECOND));
        clock.begin(&header);
        assert_eq!(clock.stamp(51 * SECOND - 600), Stamp { sec: 999, nsec: 999_999_900 });
        assert_eq!(clock.age(51 * SECOND - 600), Some(600));
        // Read somewhat later than the wall clock.
        clock.at(now, Ticks(51 * SECOND + 9_000));
        assert_eq!(clock.stamp(51 * SECOND - 600), Stamp { sec: 999, nsec: 999_999_900 });
        clock.at(now, Ticks(9_000 * SECOND));
        clock.begin(&Header { frequency: 1_000, ticks: 10_000, ..header });
        assert_eq!(clock.stamp(10_001), Stamp { sec: 900, nsec: 8_000_000 });
        assert_eq!(clock.stamp(0), Stamp { sec: 890, nsec: 7_000_000 });
        assert_eq!(clock.age(10_001), None);
    }
}
