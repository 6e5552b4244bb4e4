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

/// Limit of one answer in bytes: 128 numbers of 8,000 instances, which take 48 MiB while they are
/// answered. pmcd and the client keep buffers of the size of the largest PDU for ever.
pub(crate) const FETCH_BYTES: usize = 20 << 20;
/// Limit of one answer in steps of about 25 ns.
pub(crate) const FETCH_STEPS: u64 = 4 << 20;
/// Limit of one answer in thread time: CPU time plus a tenth of the time passed.
pub(crate) const FETCH_TIME: Duration = Duration::from_millis(150);
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

/// The rest of one answer's budget: 20 MiB, 4 Mi steps of about 25 ns, and 150 ms.
#[derive(Debug)]
pub struct Budget {
    bytes: usize,
    steps: u64,
    /// Steps left at the next reading of the clock.
    look: u64,
    until: Duration,
    clock: fn() -> Duration,
}

impl Budget {
    /// A budget for an answer of `sets` value sets, whose fixed bytes are subtracted at once.
    /// `clock` returns the time that the thread has worked.
    pub(crate) fn new(sets: usize, clock: fn() -> Duration) -> Self {
        let frame = SET.saturating_mul(sets).saturating_add(PDU);
        let until = clock() + FETCH_TIME;
        Self {
            bytes: FETCH_BYTES.saturating_sub(frame),
            steps: FETCH_STEPS,
            look: FETCH_STEPS - LOOK,
            until,
            clock,
        }
    }

    /// An empty budget.
    pub(crate) const fn none() -> Self {
        Self { bytes: 0, steps: 0, look: 0, until: Duration::ZERO, clock: || Duration::ZERO }
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
        FETCH_BYTES.saturating_sub(self.bytes)
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
        let mut b = Budget::new(3, || NOW.get());
        assert_eq!(b.used(), 24 + 3 * 8);
        assert!(b.pay_value(true, block_bytes(5)) && b.used() == 24 + 3 * 8 + 4 + 8 + 8);
        assert!(!b.pay(FETCH_BYTES) && b.pay(b.bytes()) && !b.pay(1) && b.used() == FETCH_BYTES);
        b.refund(9);
        assert!(b.pay(9));
        assert!(b.step(FETCH_STEPS - 1) && !b.step(1) && !b.step(0));
        let mut b = Budget::new(0, || NOW.get());
        NOW.set(FETCH_TIME);
        assert!((0..=LOOK).any(|_| !b.step(1)), "the clock is looked at");
        assert_eq!(b.steps(), 0);
        assert!(!Budget::new(usize::MAX, || NOW.get()).pay(1), "no room for the frame alone");
    }
}
