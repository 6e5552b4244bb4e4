//! Shares the workers' time under overload. A connection that has used more than its share queues
//! for each turn, together with others like it. A light connection therefore waits for at most as
//! many turns as there are workers, however many connections are heavy.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Worker time per second that a connection may use without queueing: 20 times the need of an agent
/// that sends 200 counters a second.
const LIGHT: Duration = Duration::from_millis(2);
/// Most worker time that is charged to a connection: after a burst it queues for at most this
/// divided by [`LIGHT`] seconds.
const DEBT: Duration = Duration::from_millis(60);

/// Permits for queued connections, one for each worker.
#[derive(Debug)]
pub(super) struct Turns(Semaphore);

impl Turns {
    /// One permit for each of `workers`.
    pub(super) const fn new(workers: usize) -> Self {
        Self(Semaphore::const_new(workers))
    }

    /// Waits for a permit if the connection is heavy; the permit returns when it is dropped.
    pub(super) async fn take(&self, effort: &Effort) -> Option<SemaphorePermit<'_>> {
        if !effort.is_heavy() {
            return None;
        }
        // The semaphore is never closed.
        self.0.acquire().await.ok()
    }
}

/// Worker time that is charged to a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effort(Duration);

impl Effort {
    /// Charges a turn that took this long.
    pub(super) fn add(&mut self, took: Duration) {
        self.0 = (self.0 + took).min(DEBT);
    }

    /// A second has passed: lowers the charge.
    pub(super) const fn tick(&mut self) {
        self.0 = self.0.saturating_sub(LIGHT);
    }

    fn is_heavy(&self) -> bool {
        self.0 > LIGHT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_more_than_its_part_queues_until_it_has_been_quiet() {
        let mut effort = Effort::default();
        for _ in 0..100 {
            effort.add(Duration::from_millis(2));
            assert!(!effort.is_heavy());
            effort.tick();
        }
        effort.add(Duration::from_secs(3600));
        (0..29).for_each(|_| effort.tick());
        assert!(!effort.is_heavy(), "half a minute is enough");
        let mut effort = Effort::default();
        effort.add(Duration::from_millis(3));
        assert!(effort.is_heavy());
    }
}
