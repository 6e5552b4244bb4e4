//! The longest of the last minute.

use std::time::Duration;

use crate::contract::Peer;
use crate::model::MetricItem;

/// Seconds that one maximum covers, and number of maxima.
const SLICE: u64 = 10;
const SLICES: usize = 6;

/// The longest duration of the last minute, as a static metric.
#[derive(Debug)]
pub(crate) struct Longest {
    item: MetricItem,
    /// Of each 10 s; the present ones are first.
    longest: [u64; SLICES],
    /// The present 10 s.
    slice: u64,
    /// The value that was reported; 0: none.
    reported: u64,
}

impl Longest {
    pub(crate) const fn new(item: MetricItem) -> Self {
        Self { item, longest: [0; SLICES], slice: 0, reported: 0 }
    }

    /// Adds a duration.
    pub(crate) fn add(&mut self, duration: u64) {
        if let Some(longest) = self.longest.first_mut() {
            *longest = duration.max(*longest);
        }
    }

    /// Reports the longest if it has changed.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        let longest = self.longest.into_iter().max().unwrap_or_default();
        if longest == self.reported {
            return;
        }
        self.reported = longest;
        peer.show(self.item, (longest > 0).then_some(longest));
    }

    /// A second has passed: durations of more than a minute ago do not count any more.
    pub(crate) fn tick(&mut self, now: Duration, peer: &mut Peer) {
        let slice = now.as_secs() / SLICE;
        let passed = usize::try_from(slice.saturating_sub(self.slice)).unwrap_or(SLICES);
        self.slice = slice;
        if passed > 0 {
            let passed = passed.min(SLICES);
            self.longest.rotate_right(passed);
            self.longest.iter_mut().take(passed).for_each(|longest| *longest = 0);
            self.report(peer);
        }
    }
}
