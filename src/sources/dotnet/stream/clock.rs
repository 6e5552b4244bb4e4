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

/// Maps ticks of a stream to time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    now: Now,
    ticks: u64,
    frequency: u64,
    /// The stream's clock is the host's: its ticks tell the time exactly.
    shared: bool,
    /// Wall clock of the header, in ms, and its ticks.
    base: (Stamp, u64),
}

impl Clock {
    /// The clocks of the host now.
    pub(super) const fn at(&mut self, now: Now, ticks: Ticks) {
        self.now = now;
        self.ticks = ticks.0;
    }

    /// The header of the stream.
    pub(super) fn begin(&mut self, header: &Header) {
        self.frequency = header.frequency;
        self.shared = header.frequency == SECOND && self.ticks.abs_diff(header.ticks) < NEAR;
        self.base = (header.utc, header.ticks);
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
    pub(super) fn stamp(&self, ticks: u64) -> Stamp {
        let (stamp, base) =
            if self.shared { (self.now.wall, self.ticks) } else { (self.base.0, self.base.1) };
        // Negative before the base.
        let distance = self.nanos(ticks).wrapping_sub(self.nanos(base)).cast_signed();
        let nanos = i128::from(stamp.sec) * i128::from(SECOND) + i128::from(stamp.nsec);
        let nanos = nanos + i128::from(distance);
        Stamp {
            sec: i64::try_from(nanos.div_euclid(i128::from(SECOND))).unwrap_or_default(),
            nsec: u32::try_from(nanos.rem_euclid(i128::from(SECOND))).unwrap_or_default(),
        }
    }

    /// Time since an event, in ns; `None` if its clock is another one.
    pub(super) const fn age(&self, ticks: u64) -> Option<u64> {
        if self.shared { Some(self.ticks.saturating_sub(ticks)) } else { None }
    }
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
        clock.at(now, Ticks(9_000 * SECOND));
        clock.begin(&Header { frequency: 1_000, ticks: 10_000, ..header });
        assert_eq!(clock.stamp(10_001), Stamp { sec: 900, nsec: 8_000_000 });
        assert_eq!(clock.stamp(0), Stamp { sec: 890, nsec: 7_000_000 });
        assert_eq!(clock.age(10_001), None);
    }
}
