//! Clock cycles to wall-clock time.

use crate::ctf::schema::ClockClass;
use crate::model::Stamp;

const SECOND: u64 = 1_000_000_000;

/// Converts cycles of a trace's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timestamps<'c> {
    clock: Option<&'c ClockClass>,
    /// Fast path for clocks of 1 GHz, as LTTng's are: nanoseconds to add to the cycles.
    base: Option<u64>,
}

impl<'c> Timestamps<'c> {
    pub(crate) fn new(clock: Option<&'c ClockClass>) -> Self {
        let base = clock
            .filter(|c| c.frequency == SECOND)
            .and_then(|c| u64::try_from(c.nanoseconds(0)).ok());
        Self { clock, base: base.filter(|base| *base < u64::MAX / 4) }
    }

    #[inline]
    pub(crate) fn stamp(&self, cycles: u64) -> Stamp {
        match self.base.and_then(|base| base.checked_add(cycles)) {
            Some(ns) => Stamp { sec: (ns / SECOND).cast_signed(), nsec: (ns % SECOND) as u32 },
            None => Stamp::from_nanos(
                self.clock.map_or_else(|| cycles.into(), |c| c.nanoseconds(cycles)),
            ),
        }
    }
}
