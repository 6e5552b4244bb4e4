//! The clocks that sessions and sources are told.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::model::{Now, Stamp};

/// Reads both clocks. The monotonic one counts from a little before the first call.
#[must_use]
pub fn now() -> Now {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // A time before 1970 means a host without a clock; it becomes 0.
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now {
        wall: Stamp { sec: wall.as_secs().cast_signed(), nsec: wall.subsec_nanos() },
        monotonic: START.elapsed(),
    }
}

/// `CLOCK_MONOTONIC` of this host in ns, which runtimes stamp their events with.
#[must_use]
pub fn nanoseconds() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec
        .unsigned_abs()
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec.unsigned_abs())
}
