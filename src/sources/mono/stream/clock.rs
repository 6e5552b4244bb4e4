//! Times of events (docs/protocols/mono-mlpd.md 4).

use mono_counters::message::{TICK_NANOSECONDS, UNIX_EPOCH_TICKS};

use crate::model::{Now, Stamp};
use crate::sources::mono::mlpd::Header;

const SECOND: i64 = 1_000_000_000;
/// Most that the wall clock of the header, which has whole seconds, can differ from that of this
/// host in ns if both have one monotonic clock.
const NEAR: u64 = 3_000_000_000;
/// The two clocks of the host are read one after the other: below this difference in ns the map
/// between them stays as it is, so that times of events keep their order.
const STEP: u64 = 1_000_000;
/// Readings one after the other that must agree that the wall clock was set back. The wall clock is
/// read first, and a busy host lets time pass before the other one is: that looks the same, once.
const AGREE: u8 = 3;

/// Maps the times of a stream, in ns of its host's `CLOCK_MONOTONIC`, to the wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// Wall clock less the stream's clock, in ns.
    offset: i64,
    basis: Basis,
    /// A smaller offset that was read, and how often in a row.
    back: (i64, u8),
}

/// What the map is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Basis {
    /// Nothing yet.
    #[default]
    None,
    /// The stream's clock is this host's.
    Shared,
    /// Another host's, whose events arrive live: the shortest way of a flush so far.
    Arrival,
    /// The header of an old file: right to a second.
    Header,
}

impl Clock {
    /// The header of the stream. `ticks`: `CLOCK_MONOTONIC` of this host at `now`. `live`: events
    /// arrive as they are made.
    pub(super) fn begin(&mut self, header: &Header, now: Now, ticks: u64, live: bool) {
        let start = header.start_ms.cast_signed().saturating_mul(1_000_000);
        let Some(start_ns) = header.start_ns else {
            self.basis = if live { Basis::Arrival } else { Basis::Header };
            self.offset = i64::MAX;
            return;
        };
        let by_header = start.wrapping_sub_unsigned(start_ns);
        let by_host = nanos(now.wall).wrapping_sub_unsigned(ticks);
        (self.basis, self.offset) = if by_header.abs_diff(by_host) < NEAR {
            (Basis::Shared, by_host)
        } else if live {
            (Basis::Arrival, i64::MAX)
        } else {
            (Basis::Header, by_header)
        };
    }

    /// Bytes have arrived whose newest event is of this time.
    pub(super) fn arrived(&mut self, now: Now, ticks: u64, newest: Option<u64>) {
        match (self.basis, newest) {
            (Basis::Shared, _) => {
                let offset = nanos(now.wall).wrapping_sub_unsigned(ticks);
                self.read(offset);
            }
            (Basis::Arrival, Some(newest)) => {
                let offset = nanos(now.wall).wrapping_sub_unsigned(newest);
                self.offset = self.offset.min(offset);
            }
            // A file of an old version: without a monotonic clock in its header.
            (Basis::Header, Some(newest)) if self.offset == i64::MAX => {
                self.offset = nanos(now.wall).wrapping_sub_unsigned(newest);
            }
            _ => {}
        }
    }

    /// The map between this host's clocks as it was read just now.
    fn read(&mut self, offset: i64) {
        if offset.abs_diff(self.offset) <= STEP {
            self.back.1 = 0;
            return;
        }
        let (back, times) = self.back;
        let again = times > 0 && back.abs_diff(offset) <= STEP;
        self.back = (offset, if again { times + 1 } else { 1 });
        if offset > self.offset || self.back.1 >= AGREE {
            (self.offset, self.back.1) = (offset, 0);
        }
    }

    /// Wall clock of an event.
    pub(super) fn stamp(&self, time: u64) -> Stamp {
        Stamp::from_nanos(self.offset.wrapping_add_unsigned(time).into())
    }

    /// Time of an event in steps of 100 ns: of the wall clock as agents count them, or of another
    /// host's clock, of which only differences mean something.
    pub(super) fn ticks(&self, time: u64) -> i64 {
        let nanos = match self.basis {
            Basis::Shared => self.offset.wrapping_add_unsigned(time),
            _ => time.cast_signed(),
        };
        let ticks = nanos.div_euclid(TICK_NANOSECONDS.cast_signed());
        if self.is_shared() { ticks.saturating_add(UNIX_EPOCH_TICKS) } else { ticks }
    }

    /// Time since an event, in ns; `None` if its clock is another one.
    pub(super) fn age(&self, ticks: u64, time: u64) -> Option<u64> {
        (self.basis == Basis::Shared).then(|| ticks.saturating_sub(time))
    }

    /// The stream's clock is this host's.
    pub(super) fn is_shared(&self) -> bool {
        self.basis == Basis::Shared
    }
}

/// ns since 1970, until the year 2262.
fn nanos(stamp: Stamp) -> i64 {
    stamp.sec.saturating_mul(SECOND).saturating_add(stamp.nsec.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const TICKS: u64 = 50_000_000_000;

    fn now(sec: i64, nsec: u32) -> Now {
        Now { wall: Stamp { sec, nsec }, monotonic: Duration::ZERO }
    }

    fn header(start_ms: u64, start_ns: u64) -> Header {
        Header { start_ms, start_ns: Some(start_ns), ..Header::default() }
    }

    #[test]
    fn times_of_this_host_are_exact() {
        let mut clock = Clock::default();
        // The header's second began 0.4 s before it was written.
        clock.begin(&header(999_000, TICKS - 600_000_000), now(1_000, 0), TICKS, true);
        assert!(clock.is_shared());
        assert_eq!(clock.stamp(TICKS - 1), Stamp { sec: 999, nsec: 999_999_999 });
        assert_eq!(clock.age(TICKS, TICKS - 5), Some(5));
        assert_eq!(clock.age(TICKS, TICKS + 5), Some(0));
        // The wall clock is read a little later, and then set.
        clock.arrived(now(1_000, 900), TICKS, None);
        assert_eq!(clock.stamp(TICKS), Stamp { sec: 1_000, nsec: 0 });
        clock.arrived(now(2_000, 0), TICKS, None);
        assert_eq!(clock.stamp(TICKS), Stamp { sec: 2_000, nsec: 0 });
        // The host was busy between the two clocks, now and then and differently; nothing goes back.
        for (late, good) in [(20_000_000, false), (9_000_000, false), (20_000_000, true)] {
            clock.arrived(now(2_000, 0), TICKS + late, None);
            if good {
                clock.arrived(now(2_000, 0), TICKS, None);
            }
            assert_eq!(clock.stamp(TICKS), Stamp { sec: 2_000, nsec: 0 });
        }
        // The wall clock is set back.
        for wall in [2_000, 2_000, 2_000, 1_500] {
            assert_eq!(clock.stamp(TICKS), Stamp { sec: wall, nsec: 0 });
            clock.arrived(now(1_500, 0), TICKS, None);
        }
    }

    #[test]
    fn times_of_another_host_come_by_the_shortest_way() {
        let mut clock = Clock::default();
        clock.begin(&header(999_000, 7), now(1_000, 0), TICKS, true);
        assert!(!clock.is_shared());
        clock.arrived(now(1_001, 50), TICKS, Some(1_000));
        assert_eq!(clock.stamp(1_000), Stamp { sec: 1_001, nsec: 50 });
        clock.arrived(now(1_002, 40), TICKS, Some(1_000_001_000));
        clock.arrived(now(1_009, 0), TICKS, Some(2_000_001_000));
        assert_eq!(clock.stamp(1_000_001_000), Stamp { sec: 1_002, nsec: 40 });
        assert_eq!(clock.age(TICKS, 1_000), None);
    }

    #[test]
    fn times_of_an_old_file_count_from_its_header() {
        let mut clock = Clock::default();
        clock.begin(&header(500_000, 2_000), now(90_000, 0), TICKS, false);
        clock.arrived(now(90_000, 0), TICKS, Some(1));
        assert_eq!(clock.stamp(3_000_002_000), Stamp { sec: 503, nsec: 0 });
        // Events of the start are older than the header.
        assert_eq!(clock.stamp(1_000), Stamp { sec: 499, nsec: 999_999_000 });
    }

    #[test]
    fn a_header_without_a_monotonic_clock_counts_from_the_arrival() {
        for live in [true, false] {
            let mut clock = Clock::default();
            let header = Header { start_ms: 1, start_ns: None, ..Header::default() };
            clock.begin(&header, now(1_000, 0), TICKS, live);
            clock.arrived(now(1_000, 0), TICKS, Some(77));
            assert_eq!(clock.stamp(77), Stamp { sec: 1_000, nsec: 0 });
        }
    }
}
