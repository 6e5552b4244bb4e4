//! Time of the next request for a stream without new data.
//!
//! In each period of the session's live timer every stream gets a packet or a beacon: its news.
//! Once the phase is known, requests are frequent when the next news is due, and rare before:
//!
//! ```text
//!   news            nothing         nothing  news            nothing…
//!    │◀─────────── period ─────────────┼──────│
//!    │               (rare polls)   step step step  (the phase is never off by more than a step)
//! ```
//!
//! A stream with packets between two flushes has full sub-buffers: requests are more frequent. A
//! stream whose latest news is a beacon is idle: no requests in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Number of streams open on one relay daemon, over all connections. They share one request rate.
#[derive(Clone, Debug, Default)]
pub struct OpenStreams(Arc<AtomicUsize>);

impl OpenStreams {
    /// Number of open streams.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether no stream is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts one more stream until the value is dropped.
    pub(super) fn enter(&self) -> OpenStream {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenStream(Arc::clone(&self.0))
    }
}

/// One stream among the open ones.
#[derive(Debug)]
pub(super) struct OpenStream(Arc<AtomicUsize>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Time between two requests for a stream with full sub-buffers.
const BUSY: Duration = Duration::from_millis(20);
/// Longest time between two requests for other streams before news is due.
const QUIET: Duration = Duration::from_millis(200);
/// Longest time between two requests when news is overdue: tracing may be stopped.
const LATE: Duration = Duration::from_millis(100);
/// Longer live timers count as this.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(super) struct Backoff {
    period: Duration,
    /// Time of the latest news.
    news: Option<Duration>,
    /// The latest news was a packet.
    packets: bool,
    /// Above 0 after packets between two flushes.
    busy: u8,
    /// Time since the request before, if the next request is the first one after news became due.
    first: Option<Duration>,
}

impl Backoff {
    pub(super) fn new(live_timer: Duration) -> Self {
        Self {
            period: live_timer.clamp(Duration::from_millis(1), LONGEST),
            news: None,
            packets: true,
            busy: 0,
            first: None,
        }
    }

    /// A packet or a new beacon has arrived.
    pub(super) fn news(&mut self, now: Duration, packet: bool) {
        let early =
            self.news.is_some_and(|last| now.saturating_sub(last) < self.period.mul_f64(0.75));
        self.packets = packet;
        self.busy = if packet && early { 4 } else { self.busy.saturating_sub(1) };
        // News found by the first request may have waited: the next requests begin earlier, until
        // one of them finds nothing.
        self.news = Some(now.saturating_sub(self.first.take().unwrap_or_default()));
    }

    /// Time of the next request after one without news. `step`: time between two requests when news
    /// is due.
    pub(super) fn next(&mut self, now: Duration, step: Duration) -> Duration {
        // Before the first news the phase is unknown: requests over one period find it.
        let last = *self.news.get_or_insert(now.saturating_sub(self.period));
        let due = last + self.period;
        let overdue = now.saturating_sub(due);
        self.first = None;
        if now + step < due {
            let pause = match (self.busy, self.packets) {
                (0, false) => due,
                (0, true) => now + step.max(QUIET),
                _ => now + step.max(BUSY),
            };
            self.first = (due - step <= pause).then_some(step);
            pause.min(due - step)
        } else if overdue < self.period * 2 {
            now + step
        } else {
            now + (step * 2).max(LATE.min(overdue / 4))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(5);

    /// Polls a stream that has news at `actual` times; returns the delay of each news in
    /// microseconds, and the number of polls.
    fn follow(timer: u64, actual: impl Iterator<Item = u64>) -> (Vec<u64>, u32) {
        let (mut backoff, mut now, mut polls) =
            (Backoff::new(Duration::from_micros(timer)), Duration::from_secs(1), 0);
        let mut delays = Vec::new();
        for news in actual.map(Duration::from_micros) {
            while now < news {
                polls += 1;
                let next = backoff.next(now, STEP);
                assert!(next > now, "a spin at {now:?}");
                now = next;
            }
            delays.push(u64::try_from((now - news).as_micros()).unwrap());
            backoff.news(now, false);
        }
        (delays, polls)
    }

    #[test]
    fn idle_streams_are_followed_closely_and_cheaply() {
        for timer in [100_000, 200_000, 1_000_000] {
            // Timers of the consumer are late by up to 2 ms, never early.
            let (delays, polls) =
                follow(timer, (1..500).map(|i| 1_003_000 + i * timer + (i * 7919) % 2000));
            assert!(
                delays[5..].iter().all(|d| *d <= 7000),
                "timer {timer}: {:?}",
                delays[5..].iter().max()
            );
            assert!(
                u64::from(polls) <= 500 * (4 + timer / 200_000),
                "timer {timer}: {polls} polls"
            );
        }
    }

    #[test]
    fn without_news_it_backs_off() {
        let (mut backoff, mut now) =
            (Backoff::new(Duration::from_millis(100)), Duration::from_secs(5));
        let mut polls = 0;
        while now < Duration::from_secs(65) {
            now = backoff.next(now, STEP);
            polls += 1;
        }
        assert!((600..800).contains(&polls), "{polls}");
    }

    #[test]
    fn full_buffers_are_asked_for_more_often() {
        let mut backoff = Backoff::new(Duration::from_secs(1));
        let now = Duration::from_secs(9);
        backoff.news(now, true);
        assert_eq!(backoff.next(now, STEP), now + QUIET);
        backoff.news(now + Duration::from_millis(30), true);
        assert_eq!(
            backoff.next(now + Duration::from_millis(30), STEP),
            now + Duration::from_millis(30) + BUSY
        );
    }
}
