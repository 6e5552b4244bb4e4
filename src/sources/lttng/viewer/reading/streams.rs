//! What is known of open streams and of their traces.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::limits;
use super::super::model::{Index, StreamInfo};
use super::super::observer::Need;
use super::super::replay_filter::{StreamKey, hash};
use super::backoff::{Backoff, OpenStream};

/// A packet that is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingPacket {
    pub(super) index: Index,
    /// Bytes of its content.
    pub(super) length: u32,
    /// Times that it was refused.
    pub(super) tries: u32,
    /// Pieces of it that have come.
    pub(super) pieces: u32,
}

/// Packets of one stream that are indexed and not read: one asked for, and the one behind it.
pub(super) const AHEAD: usize = 2;

/// A stream of packets.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) info: StreamInfo,
    pub(super) backoff: Backoff,
    pub(super) pending: VecDeque<PendingPacket>,
    /// An INDEX is not answered.
    pub(super) index_requested: bool,
    /// A PACKET is not answered.
    pub(super) packet_requested: bool,
    /// When something is to be asked; `None`: an answer or the trace's metadata decides.
    pub(super) due: Option<Duration>,
    /// Not before this time, for an index: there was nothing.
    pub(super) index_after: Duration,
    /// Not before this time, for the first packet wanted: it was refused.
    pub(super) packet_after: Duration,
    /// Time of the last beacon.
    pub(super) beacon: Option<u64>,
    /// For [`super::super::ReplayFilter`]; known once the metadata is.
    pub(super) key: Option<StreamKey>,
    /// What has come of the first packet wanted, if it comes in pieces.
    pub(super) partial: Vec<u8>,
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
            hung_up: false,
            _open: open_stream,
        }
    }

    /// Where to go on with the first packet wanted, and how many bytes are missing.
    pub(super) fn rest(&self, pending: &PendingPacket) -> (u64, u32) {
        let have = u32::try_from(self.partial.len()).unwrap_or(u32::MAX);
        (pending.index.offset.wrapping_add(have.into()), pending.length.saturating_sub(have))
    }

    /// The first packet wanted is read or given up. Returns the bytes that had come in pieces.
    pub(super) fn done(&mut self) -> usize {
        self.pending.pop_front();
        std::mem::take(&mut self.partial).len()
    }

    /// It has hung up, and nothing is left to be read.
    pub(super) fn is_drained(&self) -> bool {
        self.hung_up && self.pending.is_empty()
    }

    pub(super) fn key(&mut self, trace: &Trace) -> StreamKey {
        self.key.get_or_insert_with(|| StreamKey::new(trace.identity(), &self.info)).clone()
    }

    /// Whether the next index may be asked for: behind the packet, never ahead of it (see the page
    /// of the module).
    pub(super) fn index_is_next(&self) -> bool {
        !self.hung_up
            && (self.pending.is_empty() || (self.packet_requested && self.pending.len() < AHEAD))
    }

    /// When there is something to ask, given whether packets may be asked for.
    pub(super) fn schedule(&mut self, packets: bool) {
        let index = (self.index_is_next() && !self.index_requested).then_some(self.index_after);
        let packet = (packets && !self.packet_requested && !self.pending.is_empty())
            .then_some(self.packet_after);
        self.due = index.into_iter().chain(packet).min();
    }
}

/// What the metadata of a trace is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetadataState {
    /// A METADATA is to be sent or not answered.
    Asked,
    /// To ask again at a time: there was none yet, or the reader needs more.
    Retry(Duration),
    /// For nothing: packets may be read. Asked again when flagged.
    Ready,
    /// It cannot be read any more.
    Gone,
}

/// A trace: what streams with common metadata share.
#[derive(Debug)]
pub(super) struct Trace {
    /// Its metadata stream, once announced.
    pub(super) stream: Option<u64>,
    pub(super) metadata_state: MetadataState,
    /// Between two questions.
    pause: Duration,
    /// Flagged again while a METADATA was under way.
    pub(super) again: bool,
    /// Since when packets wait.
    pub(super) since: Duration,
    /// Open streams of packets.
    pub(super) open: usize,
    /// When the last of them ended.
    pub(super) ended: Option<Duration>,
    /// When to ask without a reason, as long as there are none, to learn that it is gone.
    check: Duration,
    /// Bytes since its beginning.
    pub(super) total: u64,
    pub(super) need: Need,
    /// The first bytes.
    head: Vec<u8>,
}

/// A trace without metadata yet: pause between two questions.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(1);

impl Trace {
    /// Packets wait until metadata has come.
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
        }
    }

    /// Whether packets may be read.
    pub(super) const fn ready(&self) -> bool {
        matches!(self.metadata_state, MetadataState::Ready | MetadataState::Gone)
    }

    /// When metadata is to be asked for without a flag.
    pub(super) fn due(&self) -> Option<Duration> {
        match self.metadata_state {
            MetadataState::Retry(at) => Some(at),
            MetadataState::Ready if self.open == 0 && self.stream.is_some() => Some(self.check),
            MetadataState::Ready | MetadataState::Asked | MetadataState::Gone => None,
        }
    }

    /// Metadata is to be asked for. Returns the stream that a METADATA must be sent for.
    pub(super) fn ask(&mut self, now: Duration) -> Option<u64> {
        match self.metadata_state {
            MetadataState::Asked => {
                self.again = true;
                return None;
            }
            MetadataState::Gone => return None,
            MetadataState::Ready => {
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

    /// A stream of packets is open, or has ended.
    pub(super) fn count(&mut self, open: bool, now: Duration) {
        self.open = if open { self.open + 1 } else { self.open.saturating_sub(1) };
        self.ended = (self.open == 0).then_some(now);
        self.pause = Duration::ZERO;
        self.check = now + limits::SAFETY_NET;
    }

    /// Its process has ended, as it seems: relay daemons say that it is gone only when the session
    /// is.
    pub(super) fn is_past(&self, now: Duration) -> bool {
        self.ended.is_some_and(|ended| now >= ended + limits::METADATA_TIME)
    }

    /// There is no more metadata now. Returns whether waiting was in vain for too long.
    pub(super) fn settle(&mut self, now: Duration) -> bool {
        if self.total > 0 && self.need == Need::Nothing {
            self.metadata_state = MetadataState::Ready;
            self.pause = (self.pause * 2).clamp(limits::SAFETY_NET, limits::CHECK);
            self.check = now + self.pause;
            return false;
        }
        if now >= self.since + limits::METADATA_TIME {
            self.metadata_state = MetadataState::Ready;
            return true;
        }
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
        self.metadata_state = MetadataState::Retry(now + self.pause);
        false
    }

    /// Bytes came. Returns whether they begin the metadata anew: hardly any of the first bytes
    /// differ from those of the first time. Lengths in them may.
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
        restart
    }

    /// Tells this trace from all others.
    fn identity(&self) -> u64 {
        hash(&self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_that_begins_anew_is_noticed() {
        let first: Vec<u8> = (0..4096u32).map(|i| (i % 251) as u8).collect();
        let mut trace = Trace::new(Duration::ZERO);
        assert!(!trace.append(&first[..100]) && !trace.append(&first[100..]));
        assert_eq!(trace.total, 4096);
        assert!(
            !trace.append(&first[7..]) && !trace.append(&[1; 400]) && !trace.append(&first[..40])
        );
        let mut again = first;
        again[25..29].fill(0xee);
        assert!(trace.append(&again));
        assert_eq!(trace.total, 4096);
    }

    #[test]
    fn metadata_is_waited_for_but_not_for_ever() {
        let mut trace = Trace::new(Duration::ZERO);
        assert!(!trace.ready() && trace.ask(Duration::ZERO).is_none());
        trace.stream = Some(1);
        assert_eq!(
            (trace.ask(Duration::ZERO), trace.ask(Duration::ZERO), trace.again),
            (Some(1), None, true)
        );
        let (mut now, mut asked) = (Duration::ZERO, 0);
        while !trace.settle(now) {
            let MetadataState::Retry(at) = trace.metadata_state else {
                panic!("{:?}", trace.metadata_state)
            };
            (now, asked) = (at, asked + 1);
            assert_eq!((trace.ready(), trace.ask(now)), (false, Some(1)));
        }
        assert!(trace.ready() && now >= limits::METADATA_TIME && asked < 15, "{now:?} {asked}");
    }
}
