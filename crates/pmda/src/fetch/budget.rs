//! The budget of one answer: encoded bytes, steps of work, and thread time.
//!
//! ```text
//! PDU      24 bytes: header (12), time (8), number of sets (4)
//! set      8: PMID, number of values or error; with values 4 more: their format
//! value    8: instance, number or place of the block
//! block    length with its header, padded to 4
//! ```
//! libpcp adds this up in `size_t` and allocates `(int)` of it, and copies a block as often as a
//! set points to it.

use std::time::Duration;

/// Limits of one answer: see [`Handler::fetch_limits`](crate::Handler::fetch_limits).
///
/// ```
/// use std::time::Duration;
/// use pmda::FetchLimits;
///
/// let limits = FetchLimits::default().with_bytes(64 << 20).with_time(Duration::from_secs(1));
/// assert_eq!(limits.steps, FetchLimits::default().steps);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchLimits {
    /// Bytes of the PDU. Not more than 2 GiB, which is libpcp's limit.
    pub bytes: usize,
    /// Steps of about 25 ns, where a handler calls [`Budget::step`].
    pub steps: u64,
    /// Thread time: CPU time plus a tenth of the time passed.
    pub time: Duration,
}

impl Default for FetchLimits {
    /// 20 MiB, 4 Mi steps, 150 ms. The bytes are 128 numbers of 8,000 instances, which take 48 MiB
    /// while they are answered; pmcd and the client keep buffers of the size of the largest PDU for
    /// ever.
    fn default() -> Self {
        Self { bytes: 20 << 20, steps: 4 << 20, time: Duration::from_millis(150) }
    }
}

impl FetchLimits {
    /// The same with another limit of bytes.
    #[must_use]
    pub const fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// The same with another limit of steps.
    #[must_use]
    pub const fn with_steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// The same with another limit of time.
    #[must_use]
    pub const fn with_time(self, time: Duration) -> Self {
        Self { time, ..self }
    }
}

/// libpcp counts the bytes of a PDU in an `int`.
const PDU_BYTES: usize = i32::MAX as usize;
/// Steps between two readings of the clock.
const LOOK: u64 = 16 << 10;

const PDU: usize = 24;
const SET: usize = 8;
const FORMAT: usize = 4;
/// Bytes of a value whose number is stored in the value itself.
pub(crate) const VALUE: usize = 8;

/// Encoded bytes of a block, such as a string or an event array, of `length` bytes with its header.
#[must_use]
pub const fn block_bytes(length: usize) -> usize {
    VALUE + length.next_multiple_of(4)
}

/// The rest of one answer's budget, by [`FetchLimits`].
#[derive(Debug)]
pub struct Budget {
    bytes: usize,
    /// The limit of bytes.
    most: usize,
    steps: u64,
    /// Steps left at the next reading of the clock.
    look: u64,
    until: Duration,
    clock: fn() -> Duration,
}

impl Budget {
    /// A budget for an answer of `sets` value sets, whose fixed bytes are subtracted at once.
    /// `now`: the time that the thread has worked. `clock` returns it.
    pub(crate) fn new(
        sets: usize,
        limits: FetchLimits,
        now: Duration,
        clock: fn() -> Duration,
    ) -> Self {
        let frame = SET.saturating_mul(sets).saturating_add(PDU);
        let most = limits.bytes.min(PDU_BYTES);
        Self {
            bytes: most.saturating_sub(frame),
            most,
            steps: limits.steps,
            look: limits.steps.saturating_sub(LOOK),
            until: now.saturating_add(limits.time),
            clock,
        }
    }

    /// An empty budget.
    pub(crate) const fn none() -> Self {
        Self {
            bytes: 0,
            most: 0,
            steps: 0,
            look: 0,
            until: Duration::ZERO,
            clock: || Duration::ZERO,
        }
    }

    /// Bytes left.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Steps left.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes used, with the fixed ones.
    #[must_use]
    pub const fn used(&self) -> usize {
        self.most.saturating_sub(self.bytes)
    }

    /// Takes bytes, or returns `false` if fewer are left.
    pub(crate) const fn pay(&mut self, bytes: usize) -> bool {
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                true
            }
            None => false,
        }
    }

    /// Takes the bytes of a value; the first value of a set adds those of its format.
    pub(crate) const fn pay_value(&mut self, first: bool, value: usize) -> bool {
        self.pay(value + if first { FORMAT } else { 0 })
    }

    /// Returns bytes to the budget.
    pub(crate) const fn refund(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Takes steps of work; `false` when no step or no time is left.
    #[inline]
    pub fn step(&mut self, steps: u64) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        if self.steps < self.look {
            self.look_at_clock();
        }
        self.steps > 0
    }

    #[cold]
    fn look_at_clock(&mut self) {
        self.look = self.steps.saturating_sub(LOOK);
        if (self.clock)() >= self.until {
            (self.steps, self.look) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    #[test]
    fn bytes_steps_and_time_end() {
        for (bytes, steps, time) in [(20 << 20, 4 << 20, 150), (1000, 100_000, 20), (3 << 20, 7, 0)]
        {
            let time = Duration::from_millis(time);
            let limits = FetchLimits::default().with_bytes(bytes).with_steps(steps).with_time(time);
            NOW.set(Duration::ZERO);
            let mut b = Budget::new(3, limits, Duration::ZERO, || NOW.get());
            assert_eq!(b.used(), 24 + 3 * 8);
            assert!(b.pay_value(true, block_bytes(5)) && b.used() == 24 + 3 * 8 + 4 + 8 + 8);
            assert!(!b.pay(bytes) && b.pay(b.bytes()) && !b.pay(1) && b.used() == bytes);
            b.refund(9);
            assert!(b.pay(9));
            if time > Duration::ZERO {
                assert!(b.step(steps - 1) && !b.step(1) && !b.step(0));
            }
            let mut b = Budget::new(0, limits, Duration::ZERO, || NOW.get());
            NOW.set(time);
            assert!((0..=LOOK).any(|_| !b.step(1)), "the clock is looked at");
            assert_eq!(b.steps(), 0);
            assert!(
                !Budget::new(usize::MAX, limits, Duration::ZERO, || NOW.get()).pay(1),
                "no room for the frame"
            );
        }
        let most =
            Budget::new(0, FetchLimits::default().with_bytes(usize::MAX), Duration::ZERO, || {
                NOW.get()
            });
        assert_eq!(most.bytes() + 24, PDU_BYTES);
    }
}
