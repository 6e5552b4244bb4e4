//! Counters since the start of the process, as static metrics.

use crate::contract::Peer;
use crate::model::MetricItem;
use crate::sources::mono::metrics as m;

/// Nanoseconds in Mono's unit of time.
const TICK: u64 = 100;

/// Counters of the section JIT that are metrics with a name of their own, and what one is.
const JIT: [(&str, MetricItem, u64); 3] = [
    ("Compiled methods", m::JIT_METHODS, 1),
    ("Total time spent JITting", m::JIT_TIME, TICK),
    ("Native code size", m::JIT_CODE, 1),
];

/// The metric that is made from a counter of the section JIT, and by how much a value of the
/// counter is to be multiplied.
pub(crate) fn jit_item(category: &str, name: &str) -> Option<(MetricItem, u64)> {
    let mut all = JIT.iter().filter(|_| category == "JIT");
    all.find(|(counter, ..)| *counter == name).map(|(_, item, scale)| (*item, *scale))
}

/// Those that other ways count too come first, in the order of [`Totals::feeds`].
const ITEMS: [MetricItem; 4] = [m::EXCEPTIONS, m::JIT_METHODS, m::JIT_TIME, m::JIT_CODE];

/// Totals and what of them is reported.
#[derive(Debug)]
pub(super) struct Totals {
    values: [Option<u64>; ITEMS.len()],
    reported: [Option<u64>; ITEMS.len()],
    /// This way feeds exceptions, and methods.
    pub(super) feeds: [bool; 2],
}

impl Default for Totals {
    fn default() -> Self {
        Self { values: [None; ITEMS.len()], reported: [None; ITEMS.len()], feeds: [true; 2] }
    }
}

impl Totals {
    /// The total is this now.
    pub(super) fn set(&mut self, item: MetricItem, value: u64) {
        let at = ITEMS.iter().position(|of| *of == item);
        if let Some(of) = at.and_then(|at| self.values.get_mut(at)) {
            *of = Some(value);
        }
    }

    /// Reports what has changed.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        let feeds = self.feeds.into_iter().chain(std::iter::repeat(true));
        let of = self.values.iter().zip(&mut self.reported).zip(feeds);
        for (item, ((value, reported), feeds)) in ITEMS.into_iter().zip(of) {
            if !feeds {
                *reported = None;
            } else if let Some(value) = value.filter(|value| *reported != Some(*value)) {
                *reported = Some(value);
                peer.set(item, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Recorded;
    use crate::sources::Source;
    use crate::sources::mono::Mono;

    #[test]
    fn the_way_that_begins_to_feed_sets_its_total() {
        let mut totals = Totals::default();
        let report = |totals: &mut Totals| {
            let mut seen = Recorded::new(&Mono::TABLE);
            totals.report(&mut seen);
            let items: Vec<_> = seen.log().values.keys().copied().collect();
            items.into_iter().map(|item| (item, seen.count(item))).collect::<Vec<_>>()
        };
        totals.set(m::EXCEPTIONS, 7);
        totals.set(m::JIT_TIME, 5);
        totals.feeds = [false, false];
        assert_eq!(report(&mut totals), [(m::JIT_TIME, 5)]);
        totals.feeds = [true, false];
        assert_eq!(report(&mut totals), [(m::EXCEPTIONS, 7)]);
        assert_eq!(report(&mut totals), []);
        totals.feeds = [false, false];
        assert_eq!(report(&mut totals), []);
        totals.feeds = [true, true];
        assert_eq!(report(&mut totals), [(m::EXCEPTIONS, 7)]);
    }
}
