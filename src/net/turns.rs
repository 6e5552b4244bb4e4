//! Who may work when there is more to do than the workers can: a connection that has taken more
//! than its part of a worker's time queues with others like it for each turn. So those that bring
//! little are never behind more turns than there are workers, however many bring a lot.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Time of a worker that a connection may take each second without a queue: 20 times what a Mono
/// agent needs that sends 200 counters a second.
const LIGHT: Duration = Duration::from_millis(2);
/// What a connection can owe at most: after a burst it queues no longer than this divided by
/// [`LIGHT`] seconds.
const DEBT: Duration = Duration::from_millis(60);

/// Places for those that queue.
#[derive(Debug)]
pub(super) struct Turns(Semaphore);

impl Turns {
    /// For this many workers.
    pub(super) const fn new(workers: usize) -> Self {
        Self(Semaphore::const_new(workers))
    }

    /// Waits for a place if this connection has to; it is given back when it is dropped.
    pub(super) async fn take(&self, effort: &Effort) -> Option<SemaphorePermit<'_>> {
        if !effort.is_heavy() {
            return None;
        }
        // The semaphore is never closed.
        self.0.acquire().await.ok()
    }
}

/// What a connection has taken of the workers' time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effort(Duration);

impl Effort {
    /// A turn took this long.
    pub(super) fn add(&mut self, took: Duration) {
        self.0 = (self.0 + took).min(DEBT);
    }

    /// A second has passed.
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
