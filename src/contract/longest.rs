//! The longest of the last minute.

use std::time::Duration;

use super::{Recipient, Update};
use crate::model::MetricItem;

/// Seconds that one maximum covers, and number of maxima.
const SLICE: u64 = 10;
const SLICES: usize = 6;

/// The largest value of the last minute, as a static metric.
#[derive(Debug)]
pub(super) struct Longest {
    pub(super) item: MetricItem,
    /// Of each 10 s; the present ones are first.
    slices: [u64; SLICES],
    /// The present 10 s.
    slice: u64,
    /// The value that is shown; 0: none.
    shown: u64,
}

impl Longest {
    pub(super) const fn new(item: MetricItem) -> Self {
        Self { item, slices: [0; SLICES], slice: 0, shown: 0 }
    }

    pub(super) fn add(&mut self, value: u64, now: Duration) {
        self.pass(now);
        if let Some(longest) = self.slices.first_mut() {
            *longest = value.max(*longest);
        }
    }

    /// Tells the longest if it has changed. False: no value of the last minute is left.
    pub(super) fn tell(&mut self, now: Duration, to: &mut dyn Recipient) -> bool {
        self.pass(now);
        let longest = self.slices.into_iter().max().unwrap_or_default();
        if longest != self.shown {
            self.shown = longest;
            let item = self.item;
            to.update(match longest {
                0 => Update::Unset { item },
                value => Update::Set { item, value: value.into() },
            });
        }
        longest > 0
    }

    /// What was told is not shown any more.
    pub(super) const fn tell_again(&mut self) {
        self.shown = 0;
    }

    /// Values of more than a minute ago do not count any more.
    fn pass(&mut self, now: Duration) {
        let slice = now.as_secs() / SLICE;
        let passed =
            usize::try_from(slice.saturating_sub(self.slice)).unwrap_or(SLICES).min(SLICES);
        if passed > 0 {
            self.slice = slice;
            self.slices.rotate_right(passed);
            self.slices.iter_mut().take(passed).for_each(|longest| *longest = 0);
        }
    }
}
