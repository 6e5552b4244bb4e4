//! Figures that the runtime both counts and tells by events.
//!
//! The counter is exact: it has what events leave out (`throw;` since .NET 9, whatever was lost).
//! Events are at once, and last until the end of the stream. Both only grow, so the greater one is
//! shown. Neither the order in which they come nor an interval that is cut anywhere else matters.

/// Such a figure of one stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    events: u64,
    counter: u64,
    shown: u64,
}

impl Agreed {
    /// Events have come.
    pub(super) const fn events(&mut self, more: u64) {
        self.events = self.events.saturating_add(more);
    }

    /// The counter has grown.
    pub(super) const fn counter(&mut self, more: u64) {
        self.counter = self.counter.saturating_add(more);
    }

    /// What is to be added to what was shown.
    pub(super) fn take(&mut self) -> u64 {
        let most = self.events.max(self.counter);
        most.saturating_sub(std::mem::replace(&mut self.shown, most))
    }
}

#[cfg(test)]
mod tests {
    use super::Agreed;

    /// `(events, counter)` of each step, and all that was shown.
    fn shown(steps: &[(u64, u64)]) -> Vec<u64> {
        let (mut agreed, mut sum) = (Agreed::default(), 0);
        let step = |(events, counter): &(u64, u64)| {
            agreed.events(*events);
            agreed.counter(*counter);
            sum += agreed.take();
            sum
        };
        steps.iter().map(step).collect()
    }

    #[test]
    fn the_counter_has_what_events_leave_out_and_events_are_sooner() {
        assert_eq!(shown(&[(3, 0), (2, 0), (0, 5), (4, 0)]), [3, 5, 5, 9], "they agree");
        assert_eq!(shown(&[(7, 0), (0, 14), (1, 0), (0, 2)]), [7, 14, 14, 16], "rethrown");
        assert_eq!(shown(&[(0, 4), (4, 0)]), [4, 4], "the counter came first");
        // A day of intervals that are cut within a batch of events.
        let mut steps = Vec::new();
        for n in 0..86_400 {
            steps.push((10, if n % 2 == 0 { 9 } else { 11 }));
        }
        assert_eq!(shown(&steps).last(), Some(&864_000));
    }
}
