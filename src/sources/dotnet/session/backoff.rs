//! Times between attempts.

use std::time::Duration;

/// First time after a failure, and the longest one.
const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);
/// First time if the process has only just started.
const EARLY: Duration = Duration::from_millis(500);

/// Doubles the time between attempts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff(Duration);

impl Backoff {
    /// After an attempt that a process could not satisfy.
    pub(super) const fn new() -> Self {
        Self(FIRST)
    }

    /// The time until the next attempt.
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = wait.saturating_mul(2).min(LONGEST);
        wait
    }

    /// The same for a process that is still starting.
    pub(super) fn early(&mut self) -> Duration {
        let wait = if self.0 < LONGEST { EARLY.max(self.0 / 20) } else { LONGEST };
        self.0 = self.0.saturating_mul(2).min(LONGEST);
        wait
    }

    /// The longest time, for what only a change of the process can cure.
    pub(super) const fn longest(&mut self) -> Duration {
        self.0 = LONGEST;
        LONGEST
    }
}
