//! Whether a peer is connected, and whether its values are still current.
//!
//! One atomic word has the number of open connections and the time of its last change. Only the
//! owner of the source's table lock changes it (a [`Turn`] proves that), so attach, detach and
//! forget are totally ordered; readers take no lock.

use std::time::Duration;

use crate::store::sync::atomic::{AtomicU64, Ordering};

/// Interval assumed for a peer whose interval is unknown.
const UNKNOWN_INTERVAL: Duration = Duration::from_secs(20);
/// The lower bits of the word are the time in milliseconds, the upper bits count connections.
const TIME_BITS: u32 = 44;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// The time in milliseconds at the start of the monotonic clock: a peer may have left long before
/// it.
const START: u64 = 1 << (TIME_BITS - 1);

/// The right to change the liveness of the peers of one table. The table has the only one, behind
/// its lock.
#[derive(Debug, Default)]
pub(in crate::store) struct Turn(());

/// Connection state and times of a peer; times are of the monotonic clock.
#[derive(Debug)]
pub struct Liveness {
    /// Open connections, and the time of the last attach or detach.
    state: AtomicU64,
    last_message: AtomicU64,
    interval: AtomicU64,
}

fn nanos(d: Duration) -> u64 {
    d.as_secs().saturating_mul(1_000_000_000).saturating_add(d.subsec_nanos().into())
}

fn millis(d: Duration) -> u64 {
    d.as_secs().saturating_mul(1000).saturating_add(d.subsec_millis().into())
}

/// The time `now - gone`, which may be before the start of the clock, as bits of the word.
fn time_bits(now: Duration, gone: Duration) -> u64 {
    START.saturating_add(millis(now)).saturating_sub(millis(gone)).min(TIME_MASK)
}

impl Liveness {
    /// A peer without a connection for the time `gone`.
    pub(in crate::store) fn absent(now: Duration, gone: Duration) -> Self {
        Self {
            state: AtomicU64::new(time_bits(now, gone)),
            last_message: AtomicU64::new(nanos(now.saturating_sub(gone))),
            interval: AtomicU64::new(0),
        }
    }

    /// Adds a connection.
    pub(in crate::store) fn attach(&self, _: &mut Turn, now: Duration) {
        // The time of the last message is written first: a reader that sees the connection also
        // sees it as recent.
        self.last_message.fetch_max(nanos(now), Ordering::Release);
        self.change(now, 1);
    }

    /// Removes a connection.
    pub(in crate::store) fn detach(&self, _: &mut Turn, now: Duration) {
        self.change(now, -1);
    }

    fn change(&self, now: Duration, by: i64) {
        let open = (self.state.load(Ordering::Relaxed) >> TIME_BITS).saturating_add_signed(by);
        self.state.store(open << TIME_BITS | time_bits(now, Duration::ZERO), Ordering::Release);
    }

    /// Sets the time of the last whole message.
    pub fn message(&self, now: Duration) {
        self.last_message.store(nanos(now), Ordering::Relaxed);
    }

    /// Sets the time between two samples.
    pub fn set_interval(&self, interval: Duration) {
        self.interval.store(nanos(interval), Ordering::Relaxed);
    }

    /// At least one connection is open.
    #[must_use]
    pub fn up(&self) -> bool {
        self.state.load(Ordering::Acquire) >> TIME_BITS > 0
    }

    /// Time since the last detach, in whole milliseconds; `None` while a connection is open.
    #[must_use]
    pub fn gone_for(&self, now: Duration) -> Option<Duration> {
        let state = self.state.load(Ordering::Acquire);
        let gone = || time_bits(now, Duration::ZERO).saturating_sub(state & TIME_MASK);
        (state >> TIME_BITS == 0).then(|| Duration::from_millis(gone()))
    }

    /// Time since the last message.
    #[must_use]
    pub fn idle(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_nanos(self.last_message.load(Ordering::Relaxed)))
    }

    /// The last values may still be shown: those of a connected peer for three of its intervals
    /// plus `stale` after its last message, those of a disconnected peer for `stale`.
    #[must_use]
    pub fn fresh(&self, now: Duration, stale: Duration) -> bool {
        // Integer arithmetic: each fetched value calls this.
        let state = self.state.load(Ordering::Acquire);
        if state >> TIME_BITS == 0 {
            return START.saturating_add(millis(now)).saturating_sub(state & TIME_MASK)
                <= millis(stale);
        }
        let interval = match self.interval.load(Ordering::Relaxed) {
            0 => const { UNKNOWN_INTERVAL.as_secs() * 1_000_000_000 },
            ns => ns,
        };
        let idle = nanos(now).saturating_sub(self.last_message.load(Ordering::Relaxed));
        idle <= interval.saturating_mul(3).saturating_add(nanos(stale))
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
        let mut turn = Turn::default();
        let life = Liveness::absent(s(100), s(0));
        life.attach(&mut turn, s(100));
        life.set_interval(s(2));
        assert!(life.fresh(s(116), s(10)) && !life.fresh(s(117), s(10)));
        life.message(s(120));
        life.detach(&mut turn, s(121));
        assert!(life.fresh(s(131), s(10)) && !life.fresh(s(132), s(10)));
        assert_eq!((life.gone_for(s(131)), life.up()), (Some(s(10)), false));
        life.attach(&mut turn, s(200));
        assert!(life.fresh(s(201), s(10)));
    }

    #[test]
    fn a_peer_may_have_left_before_the_clock_began() {
        let mut turn = Turn::default();
        let life = Liveness::absent(s(5), s(23 * 3600));
        assert_eq!((life.gone_for(s(3605)), life.up()), (Some(s(24 * 3600)), false));
        life.attach(&mut turn, s(4000));
        life.attach(&mut turn, s(4001));
        life.detach(&mut turn, s(4002));
        assert_eq!((life.gone_for(s(5000)), life.up()), (None, true));
        life.detach(&mut turn, s(4003));
        assert_eq!(life.gone_for(s(4003)), Some(s(0)));
        assert!(
            Liveness::absent(s(0), Duration::MAX).gone_for(s(0)).is_some_and(|d| d > s(1 << 32))
        );
    }
}
