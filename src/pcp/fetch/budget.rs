//! What one answer may cost: bytes as libpcp encodes them, steps of work, and time of the thread.
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

/// Most bytes of one answer, of all that is in it. A large PDU makes pmcd and the client keep
/// buffers of its size for ever (docs/protocols/pcp-figures.md section 4).
pub(super) const FETCH_BYTES: usize = 16 << 20;
/// Most bytes of event records of one answer, in both resolutions together; the rest comes with the
/// next fetch.
pub(super) const ARRAY_BYTES: usize = 8 << 20;
/// Most steps of one answer: about 25 ns each.
pub(super) const FETCH_STEPS: u64 = 4 << 20;
/// Most time of the PMDA's thread for one answer, should steps be slower than they look: CPU time
/// and a tenth of the time passed.
pub(super) const FETCH_TIME: Duration = Duration::from_millis(100);
/// Steps between two looks at the clock.
const LOOK: u64 = 16 << 10;

const PDU: usize = 24;
const SET: usize = 8;
const FORMAT: usize = 4;
/// Bytes of a value whose number is in its place.
pub(super) const VALUE: usize = 8;

/// Bytes of a value with a block of `length`.
pub(super) const fn block(length: usize) -> usize {
    VALUE + length.next_multiple_of(4)
}

/// What is left of one answer's budget.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: usize,
    steps: u64,
    /// Steps left when the clock is looked at next.
    look: u64,
    until: Duration,
    clock: fn() -> Duration,
}

impl Budget {
    /// For an answer of `sets` value sets, whose frame is paid for at once. `clock` gives the time
    /// that the thread has worked.
    pub(super) fn new(sets: usize, clock: fn() -> Duration) -> Self {
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

    /// Nothing may be answered.
    pub(super) const fn none() -> Self {
        Self { bytes: 0, steps: 0, look: 0, until: Duration::ZERO, clock: || Duration::ZERO }
    }

    /// Bytes left.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Steps left.
    pub(super) const fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes used, with the frame.
    pub(super) const fn used(&self) -> usize {
        FETCH_BYTES.saturating_sub(self.bytes)
    }

    /// Takes bytes, if so many are left.
    pub(super) const fn pay(&mut self, bytes: usize) -> bool {
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                true
            }
            None => false,
        }
    }

    /// Takes bytes for a value; the first of a set brings its format.
    pub(super) const fn pay_value(&mut self, first: bool, value: usize) -> bool {
        self.pay(value + if first { FORMAT } else { 0 })
    }

    /// Gives bytes back.
    pub(super) const fn refund(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Takes steps; `false` when they or the time have come to an end.
    #[inline]
    pub(super) fn step(&mut self, steps: u64) -> bool {
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
        assert!(b.pay_value(true, block(5)) && b.used() == 24 + 3 * 8 + 4 + 8 + 8);
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
