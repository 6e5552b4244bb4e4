//! Is a peer there, and are its values still true?

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// A peer whose interval is not known yet is believed this long.
const UNKNOWN_INTERVAL: Duration = Duration::from_secs(20);

/// Connection state and times of a peer; times are of the monotonic clock.
#[derive(Debug, Default)]
pub struct Life {
    attached: AtomicU32,
    last_message: AtomicU64,
    interval: AtomicU64,
    gone_at: AtomicU64,
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

impl Life {
    /// A connection of this peer begins.
    pub fn attach(&self, now: Duration) {
        self.last_message.store(nanos(now), Ordering::Relaxed);
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection of this peer has ended.
    pub fn detach(&self, now: Duration) {
        self.gone_at.store(nanos(now), Ordering::Relaxed);
        self.attached.fetch_sub(1, Ordering::Relaxed);
    }

    /// A whole message has come.
    pub fn message(&self, now: Duration) {
        self.last_message.store(nanos(now), Ordering::Relaxed);
    }

    /// The time between samples became known.
    pub fn set_interval(&self, interval: Duration) {
        self.interval.store(nanos(interval), Ordering::Relaxed);
    }

    /// At least one connection is open.
    #[must_use]
    pub fn up(&self) -> bool {
        self.attached.load(Ordering::Relaxed) > 0
    }

    /// Since when no connection is open; `None` while one is.
    #[must_use]
    pub fn gone_for(&self, now: Duration) -> Option<Duration> {
        (!self.up()).then(|| now.saturating_sub(Duration::from_nanos(self.gone_at.load(Ordering::Relaxed))))
    }

    /// Time since the last message.
    #[must_use]
    pub fn idle(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_nanos(self.last_message.load(Ordering::Relaxed)))
    }

    /// The last values may still be shown: a connected peer may be silent for three of its intervals and `stale`
    /// (specs/mono-counters.md section 6), one that is gone for `stale`.
    #[must_use]
    pub fn fresh(&self, now: Duration, stale: Duration) -> bool {
        match self.gone_for(now) {
            Some(gone) => gone <= stale,
            None => {
                let interval = match self.interval.load(Ordering::Relaxed) {
                    0 => UNKNOWN_INTERVAL,
                    ns => Duration::from_nanos(ns),
                };
                self.idle(now) <= interval.saturating_mul(3).saturating_add(stale)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn silence_and_absence_make_stale() {
        let life = Life::default();
        life.attach(s(100));
        life.set_interval(s(2));
        assert!(life.fresh(s(116), s(10)) && !life.fresh(s(117), s(10)));
        life.message(s(120));
        life.detach(s(121));
        assert!(life.fresh(s(131), s(10)) && !life.fresh(s(132), s(10)));
        assert_eq!((life.gone_for(s(131)), life.up()), (Some(s(10)), false));
        life.attach(s(200));
        assert!(life.fresh(s(201), s(10)));
    }
}
