//! State of open streams and of their traces, and the time of the next request for a stream without new data.
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

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::roster::{ReplayFilter, StreamKey, hash};
use super::super::{Index, Need, StreamInfo};
use crate::sources::lttng::limits;

/// A packet with an index that is still to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingPacket {
    pub(super) index: Index,
    /// Bytes of its content.
    pub(super) length: u32,
    /// Refused reads.
    pub(super) tries: u32,
    /// Received pieces.
    pub(super) pieces: u32,
}

/// Most pending packets of a stream: the requested one, and the one behind it.
pub(super) const AHEAD: usize = 2;

/// Since when a packet waits for metadata, and the pause before it is tried again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    pub(super) since: Duration,
    pub(super) pause: Duration,
}

/// A data stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) info: StreamInfo,
    pub(super) backoff: Backoff,
    pub(super) pending: VecDeque<PendingPacket>,
    /// A reply to INDEX is due.
    pub(super) index_requested: bool,
    /// A reply to PACKET is due.
    pub(super) packet_requested: bool,
    /// Time of the next request; `None` until a reply or the trace's metadata comes.
    pub(super) due: Option<Duration>,
    /// Earliest time of the next INDEX.
    pub(super) index_after: Duration,
    /// Earliest time of the next PACKET.
    pub(super) packet_after: Duration,
    /// Time of the last beacon.
    pub(super) beacon: Option<u64>,
    /// Key in the [`super::super::ReplayFilter`]; needs the trace's metadata.
    pub(super) key: Option<StreamKey>,
    /// Received bytes of the first pending packet, if it comes in pieces or waits.
    pub(super) partial: Vec<u8>,
    /// The first pending packet is in `partial` and waits for its class.
    pub(super) waits: Option<Waits>,
    /// There are no further indexes.
    pub(super) hung_up: bool,
    _open: OpenStream,
}

impl Stream {
    pub(super) fn new(
        info: StreamInfo,
        live_timer: Duration,
        now: Duration,
        open_stream: OpenStream,
    ) -> Self {
        Self {
            info,
            backoff: Backoff::new(live_timer),
            pending: VecDeque::with_capacity(AHEAD),
            index_requested: false,
            packet_requested: false,
            due: Some(now),
            index_after: now,
            packet_after: now,
            beacon: None,
            key: None,
            partial: Vec::new(),
            waits: None,
            hung_up: false,
            _open: open_stream,
        }
    }

    /// Offset and length of the missing rest of the first pending packet.
    pub(super) fn rest(&self, pending: &PendingPacket) -> (u64, u32) {
        let have = u32::try_from(self.partial.len()).unwrap_or(u32::MAX);
        (pending.index.offset.wrapping_add(have.into()), pending.length.saturating_sub(have))
    }

    /// Removes the first pending packet. Returns the bytes that were kept of it.
    pub(super) fn done(&mut self) -> usize {
        self.pending.pop_front();
        self.waits = None;
        std::mem::take(&mut self.partial).len()
    }

    /// The stream has hung up, and no packet is pending.
    pub(super) fn is_drained(&self) -> bool {
        self.hung_up && self.pending.is_empty()
    }

    pub(super) fn key(&mut self, trace: &Trace) -> StreamKey {
        self.key.get_or_insert_with(|| StreamKey::new(trace.identity(), &self.info)).clone()
    }

    /// The trace is identified by more bytes of its metadata than when packets were read: these stay
    /// read.
    pub(super) fn rename(&mut self, trace: &Trace, replay_filter: &mut ReplayFilter) {
        if let Some(before) = self.key.take() {
            replay_filter.renamed(&before, self.key(trace));
        }
    }

    /// Whether an INDEX may be sent: behind the PACKET, never ahead of it (see the page of
    /// [`super::super`]).
    pub(super) fn index_is_next(&self) -> bool {
        !self.hung_up
            && (self.pending.is_empty() || (self.packet_requested && self.pending.len() < AHEAD))
    }

    /// Sets the time of the next request; `packets`: PACKET is allowed.
    pub(super) fn schedule(&mut self, packets: bool) {
        let index = (self.index_is_next() && !self.index_requested).then_some(self.index_after);
        let packet = (packets && !self.packet_requested && !self.pending.is_empty())
            .then_some(self.packet_after);
        self.due = index.into_iter().chain(packet).min();
    }
}

/// Progress of a trace's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetadataState {
    /// A METADATA is queued or its reply is due.
    Asked,
    /// A METADATA is to be sent at this time: there was none yet, or it was incomplete.
    Retry(Duration),
    /// Packets may be read. A flag causes the next METADATA.
    Ready,
    /// The relay daemon has no metadata of the trace. Packets are read with what there is. While it
    /// has streams METADATA is sent again at this time, since more may come.
    Gone(Duration),
}

/// A trace: the shared state of streams with common metadata.
#[derive(Debug)]
pub(super) struct Trace {
    /// Metadata stream, once announced.
    pub(super) stream: Option<u64>,
    pub(super) metadata_state: MetadataState,
    /// Pause between two METADATA.
    pause: Duration,
    /// A flag arrived while the reply to a METADATA was due.
    pub(super) again: bool,
    /// Time since which packets wait.
    pub(super) since: Duration,
    /// Number of open data streams.
    pub(super) open: usize,
    /// Time when the last data stream ended.
    pub(super) ended: Option<Duration>,
    /// Time of the next METADATA without a flag, which detects that the trace is gone.
    check: Duration,
    /// Bytes of metadata since its beginning.
    pub(super) total: u64,
    pub(super) need: Need,
    /// First bytes of the metadata.
    head: Vec<u8>,
    /// A packet has waited for its class in vain: no other waits before more metadata comes. Metadata
    /// that begins anew may have as many bytes as before, so their number does not tell.
    vain: bool,
}

/// First and longest pause before the first metadata, and before that with a packet's class.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(20);
pub(super) const LAST_PAUSE: Duration = Duration::from_secs(1);

impl Trace {
    /// A trace whose packets wait for its metadata.
    pub(super) fn new(now: Duration) -> Self {
        Self {
            stream: None,
            metadata_state: MetadataState::Retry(now + FIRST_PAUSE),
            pause: FIRST_PAUSE,
            again: false,
            since: now,
            open: 0,
            ended: None,
            check: now + limits::SAFETY_NET,
            total: 0,
            need: Need::More,
            head: Vec::new(),
            vain: false,
        }
    }

    /// Whether a packet may wait for its class, which may come in later metadata. A relay daemon can
    /// have nothing new, and later more that it had been told of before.
    pub(super) fn may_wait(&mut self, now: Duration, waits: Option<Waits>) -> bool {
        if waits.is_some_and(|waits| now >= waits.since + limits::METADATA_TIME) {
            self.vain = true;
        }
        !self.is_gone() && !self.vain
    }

    /// Whether packets may be read.
    pub(super) const fn ready(&self) -> bool {
        self.is_gone() || matches!(self.metadata_state, MetadataState::Ready)
    }

    /// Whether the relay daemon has no metadata of the trace.
    pub(super) const fn is_gone(&self) -> bool {
        matches!(self.metadata_state, MetadataState::Gone(_))
    }

    /// The relay daemon has no metadata of the trace.
    pub(super) fn set_gone(&mut self, now: Duration) {
        self.metadata_state = MetadataState::Gone(now + LAST_PAUSE);
    }

    /// Time of the next METADATA without a flag.
    pub(super) fn due(&self) -> Option<Duration> {
        match self.metadata_state {
            MetadataState::Retry(at) => Some(at),
            MetadataState::Ready if self.open == 0 && self.stream.is_some() => Some(self.check),
            MetadataState::Gone(at) if self.open > 0 => Some(at),
            MetadataState::Ready | MetadataState::Asked | MetadataState::Gone(_) => None,
        }
    }

    /// New metadata is expected. Returns the stream for which METADATA must be sent.
    pub(super) fn ask(&mut self, now: Duration) -> Option<u64> {
        match self.metadata_state {
            MetadataState::Asked => {
                self.again = true;
                return None;
            }
            // A flag that is always set must not cause a request for each packet.
            MetadataState::Gone(at) if now < at => return None,
            MetadataState::Ready | MetadataState::Gone(_) => {
                self.since = now;
                if self.open > 0 {
                    self.pause = Duration::ZERO;
                }
            }
            MetadataState::Retry(_) => {}
        }
        if self.stream.is_some() {
            self.metadata_state = MetadataState::Asked;
            self.again = false;
        }
        self.stream
    }

    /// A data stream has opened or ended.
    pub(super) fn count(&mut self, open: bool, now: Duration) {
        self.open = if open { self.open + 1 } else { self.open.saturating_sub(1) };
        self.ended = (self.open == 0).then_some(now);
        self.pause = Duration::ZERO;
        self.check = now + limits::SAFETY_NET;
    }

    /// Whether the trace's process has probably ended. A relay daemon reports a trace as gone only
    /// with its session.
    pub(super) fn is_past(&self, now: Duration) -> bool {
        self.ended.is_some_and(|ended| now >= ended + limits::METADATA_TIME)
    }

    /// The relay daemon has no more metadata for now. Returns whether the time limit of incomplete
    /// metadata has passed.
    pub(super) fn settle(&mut self, now: Duration) -> bool {
        if self.total > 0 && self.need == Need::Nothing {
            self.metadata_state = MetadataState::Ready;
            self.pause = (self.pause * 2).clamp(limits::SAFETY_NET, limits::CHECK);
            self.check = now + self.pause;
            return false;
        }
        if now >= self.since + limits::METADATA_TIME {
            self.metadata_state = MetadataState::Ready;
            self.vain = true;
            return true;
        }
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
        self.metadata_state = MetadataState::Retry(now + self.pause);
        false
    }

    /// Appends metadata. Returns whether `bytes` begin it anew: all but at most 8 of the first
    /// bytes are those of the first time. Lengths among them may differ.
    pub(super) fn append(&mut self, bytes: &[u8]) -> bool {
        const LEAST: usize = 64;
        const MAY_DIFFER: usize = 8;
        let both = self.head.iter().zip(bytes);
        let restart = both.len() >= LEAST && both.filter(|(a, b)| a != b).count() <= MAY_DIFFER;
        if restart {
            self.total = 0;
        }
        let room = limits::IDENTITY.saturating_sub(self.head.len());
        if room > 0 && !restart {
            self.head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        self.total = self.total.saturating_add(bytes.len() as u64);
        self.vain = false;
        restart
    }

    /// Whether more metadata changes what identifies the trace.
    pub(super) const fn is_unidentified(&self) -> bool {
        self.head.len() < limits::IDENTITY
    }

    /// Identifies the trace.
    fn identity(&self) -> u64 {
        hash(&self.head)
    }
}

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
#[path = "tests/streams.rs"]
mod streams_tests;

#[cfg(test)]
#[path = "tests/backoff.rs"]
mod backoff_tests;
