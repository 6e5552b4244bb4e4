//! Limits similar log lines to one a minute.

use std::time::Duration;

const EVERY: Duration = Duration::from_secs(60);

/// Decides whether a line may be written now.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogThrottle {
    last: Option<Duration>,
    suppressed: u64,
}

impl LogThrottle {
    /// `Some(n)`: write the line; `n` similar lines were suppressed since the last. `None`:
    /// suppress it.
    pub fn allow(&mut self, now: Duration) -> Option<u64> {
        if self.last.is_some_and(|at| now.saturating_sub(at) < EVERY) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }

    /// ` (and 3 more in the last minute)`, or nothing for 0.
    #[must_use]
    pub fn more(suppressed: u64) -> String {
        if suppressed == 0 {
            String::new()
        } else {
            format!(" (and {suppressed} more like it since the last such line)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_a_minute_with_the_count_of_the_rest() {
        let mut q = LogThrottle::default();
        let at = |s| Duration::from_secs(s);
        assert_eq!(
            [q.allow(at(5)), q.allow(at(6)), q.allow(at(64)), q.allow(at(65)), q.allow(at(66))],
            [Some(0), None, None, Some(2), None]
        );
    }
}
