//! The longest pause of the last minute, as far as readings tell. Only sums and the last pause of
//! each collector are in the region: it is a lower bound, exact with one pause between readings.

use std::time::Duration;

use super::figures::{Collections, Figures};

/// A minute in slots of 5 s.
const SLOTS: usize = 12;
const SLOT: u64 = 5;

/// The longest pauses of one JVM.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Longest {
    /// Nanoseconds of the longest pause in each slot of the last minute, the newest first; 0: none.
    slots: [u64; SLOTS],
    /// Number of the newest slot since the begin of the clock.
    newest: u64,
    /// What had ended at the last reading: of each collector, and of all safepoints.
    before: Option<[Option<Ended>; 4]>,
}

/// Number of pauses that have ended, their sum, length of the last one if it is known.
type Ended = (u64, u64, Option<u64>);

fn ended(one: &Collections) -> Option<Ended> {
    let running = one.last.is_some_and(|(begin, end)| begin > end);
    Some((one.count.saturating_sub(running.into()), one.time?, one.pause()))
}

/// What is known of the longest pause between two readings.
fn between(before: Option<Ended>, now: Option<Ended>) -> Option<u64> {
    let ((count, sum, _), (new_count, new_sum, last)) = (before?, now?);
    // Below zero: the counters are another JVM's.
    let (more, time) = (new_count.checked_sub(count)?, new_sum.checked_sub(sum)?);
    match more {
        0 => None,
        1 => last.or(Some(time)),
        _ => last.max(Some(time / more)),
    }
}

impl Longest {
    /// The figures of a reading at this time of a clock that does not go back.
    pub(crate) fn feed(&mut self, now: Duration, figures: &Figures) {
        self.turn(now);
        let [young, full, other] = figures.collections.map(|one| one.as_ref().and_then(ended));
        // Without collectors the pauses are all safepoints.
        let none = figures.collections.iter().all(Option::is_none);
        let all = figures.pauses.count.zip(figures.pauses.total).filter(|_| none);
        let now = [young, full, other, all.map(|(count, total)| (count, total, None))];
        let before = self.before.replace(now).unwrap_or_default();
        let longest = before.into_iter().zip(now).filter_map(|(old, new)| between(old, new)).max();
        let [slot, ..] = &mut self.slots;
        *slot = longest.unwrap_or(0).max(*slot);
    }

    /// Nanoseconds of the longest pause of the last minute. `None`: none is known.
    pub(crate) fn longest(&mut self, now: Duration) -> Option<u64> {
        self.turn(now);
        self.slots.into_iter().max().filter(|&longest| longest > 0)
    }

    /// Forgets what is older than a minute.
    fn turn(&mut self, now: Duration) {
        let number = (now.as_secs() / SLOT).max(self.newest);
        for _ in 0..(number - self.newest).min(SLOTS as u64) {
            self.slots.copy_within(..SLOTS - 1, 1);
            let [slot, ..] = &mut self.slots;
            *slot = 0;
        }
        self.newest = number;
    }
}
