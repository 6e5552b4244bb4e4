//! How far the present request of a connection is, and what is due. The connection's task writes
//! it, the sweep of the listener reads it: no request reads a clock or arms a timer for this.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::Notify;

use super::limits::HttpLimits;

/// The phases of a connection, in their order.
mod phase {
    /// Without a request, on the bare socket.
    pub(super) const PARKED: u8 = 0;
    /// Between two requests.
    pub(super) const IDLE: u8 = 1;
    /// Parts of a request have arrived.
    pub(super) const RECEIVING: u8 = 2;
    /// A whole request has arrived.
    pub(super) const ANSWERING: u8 = 3;
    /// There is an answer, not yet written.
    pub(super) const SENDING: u8 = 4;
}

/// What the sweep found due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Idle: can be parked.
    Park,
    /// The request takes too long to arrive.
    Late,
    /// The peer does not take its answer.
    Stuck,
}

/// The time in milliseconds, as of the last sweep. It stands still while the process is stopped:
/// then no peer is late.
#[derive(Debug, Default)]
pub(super) struct CoarseClock(AtomicU64);

impl CoarseClock {
    pub(super) fn advance(&self, more: Duration) {
        let more = u64::try_from(more.as_millis()).unwrap_or(u64::MAX);
        self.0.store(self.get().saturating_add(more), Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The progress of one connection.
#[derive(Debug)]
pub(super) struct Progress {
    phase: AtomicU8,
    /// Coarse time when the phase began; a request's arrival is one phase.
    since: AtomicU64,
    /// Bytes read since then.
    read: AtomicU64,
    /// A write waits for the peer.
    waits: AtomicU8,
    /// Coarse time when that wait began.
    waits_since: AtomicU64,
    wake: Notify,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            phase: AtomicU8::new(phase::PARKED),
            since: AtomicU64::new(0),
            read: AtomicU64::new(0),
            waits: AtomicU8::new(0),
            waits_since: AtomicU64::new(0),
            wake: Notify::new(),
        }
    }

    fn enter(&self, phase: u8, clock: &CoarseClock) {
        self.since.store(clock.get(), Relaxed);
        self.phase.store(phase, Relaxed);
    }

    /// The connection waits on the bare socket.
    pub(super) fn parked(&self, clock: &CoarseClock) {
        self.enter(phase::PARKED, clock);
    }

    /// The connection has left the bare socket.
    pub(super) fn unparked(&self, clock: &CoarseClock) {
        self.enter(phase::IDLE, clock);
    }

    /// Bytes were read.
    pub(super) fn read(&self, bytes: usize, clock: &CoarseClock) {
        self.begin(clock);
        self.read.store(self.read.load(Relaxed).saturating_add(bytes as u64), Relaxed);
    }

    /// The head of a request was read, perhaps together with the request before.
    pub(super) fn begin(&self, clock: &CoarseClock) {
        if self.phase.load(Relaxed) == phase::IDLE {
            self.read.store(0, Relaxed);
            self.enter(phase::RECEIVING, clock);
        }
    }

    /// Parts of a request have arrived, and more must come.
    pub(super) fn is_receiving(&self) -> bool {
        self.phase.load(Relaxed) == phase::RECEIVING
    }

    /// No request is in progress.
    pub(super) fn is_idle(&self) -> bool {
        self.phase.load(Relaxed) <= phase::IDLE
    }

    /// The whole request has arrived.
    pub(super) fn arrived(&self, clock: &CoarseClock) {
        self.enter(phase::ANSWERING, clock);
    }

    /// There is an answer to write.
    pub(super) fn answered(&self, clock: &CoarseClock) {
        self.enter(phase::SENDING, clock);
    }

    /// All output was written.
    pub(super) fn flushed(&self, clock: &CoarseClock) {
        if self.phase.load(Relaxed) == phase::SENDING {
            self.enter(phase::IDLE, clock);
        }
    }

    /// A write has been taken (`false`), or must wait for the peer.
    pub(super) fn write_waits(&self, waits: bool, clock: &CoarseClock) {
        if waits != (self.waits.load(Relaxed) != 0) {
            self.waits_since.store(clock.get(), Relaxed);
            self.waits.store(u8::from(waits), Relaxed);
        }
    }

    /// What is due at the time of the last sweep.
    pub(super) fn due(&self, clock: &CoarseClock, limits: &HttpLimits) -> Option<Due> {
        let age = |since: &AtomicU64| {
            Duration::from_millis(clock.get().saturating_sub(since.load(Relaxed)))
        };
        if self.waits.load(Relaxed) != 0 {
            return (age(&self.waits_since) > limits.write).then_some(Due::Stuck);
        }
        match self.phase.load(Relaxed) {
            phase::IDLE => (age(&self.since) >= limits.idle).then_some(Due::Park),
            phase::RECEIVING => {
                let more = self.read.load(Relaxed) / limits.rate.max(1);
                (age(&self.since) > limits.arrive + Duration::from_secs(more)).then_some(Due::Late)
            }
            _ => None,
        }
    }

    /// Wakes the connection's task: something is due.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits for [`Progress::wake`].
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_take_its_time_and_idling_is_parked() {
        let limits = HttpLimits::default();
        let (clock, progress) = (CoarseClock::default(), Progress::new());
        let at = |seconds| {
            clock.advance(Duration::from_secs(seconds) - Duration::from_millis(clock.get()));
            progress.due(&clock, &limits)
        };
        assert_eq!(at(100), None, "parked from the start");
        progress.unparked(&clock);
        assert_eq!((at(101), at(102)), (None, Some(Due::Park)));
        progress.read(10, &clock);
        assert_eq!((at(132), at(133)), (None, Some(Due::Late)));
        progress.read(3 * usize::try_from(limits.rate).expect("small"), &clock);
        assert_eq!((at(135), at(136)), (None, Some(Due::Late)), "many bytes, more time");
        progress.arrived(&clock);
        assert_eq!(at(10_000), None, "the service may take its time");
        progress.flushed(&clock);
        assert!(!progress.is_idle(), "nothing was answered");
        progress.answered(&clock);
        progress.write_waits(true, &clock);
        assert_eq!((at(10_005), at(10_006)), (None, Some(Due::Stuck)));
        progress.write_waits(false, &clock);
        progress.flushed(&clock);
        assert_eq!((at(10_007), at(10_008)), (None, Some(Due::Park)));
    }
}
