//! What to ask next.

use super::connection::Viewer;
use super::limits;
use super::observer::{Complaint, Observer, Skipped, TraceKey};
use super::streams::{AHEAD, Stream, Trace};
use super::wire::Request;
use bytes::BytesMut;
use std::collections::VecDeque;
use std::time::Duration;

/// Requests that are not answered, in the order in which the replies come, and those that wait for room.
#[derive(Debug, Default)]
pub(super) struct Asks {
    outstanding: VecDeque<Request>,
    /// All but indexes and packets: those go first. At most one for each session and trace, and one LIST.
    waiting: VecDeque<Request>,
}

impl Asks {
    pub(super) fn send(&mut self, request: Request, out: &mut BytesMut) {
        request.encode(out);
        self.outstanding.push_back(request);
    }

    /// To be sent with the next write.
    pub(super) fn push(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    pub(super) fn front(&self) -> Option<Request> {
        self.outstanding.front().copied()
    }

    pub(super) fn answered(&mut self) {
        self.outstanding.pop_front();
    }

    /// Requests that may still be sent.
    pub(super) fn room(&self) -> usize {
        limits::OUTSTANDING.saturating_sub(self.outstanding.len())
    }

    fn send_waiting(&mut self, out: &mut BytesMut) {
        while self.room() > 0 {
            let Some(request) = self.waiting.pop_front() else { break };
            self.send(request, out);
        }
    }
}

/// The least time between two questions for each stream that is open: 4000 questions a second in all, however many there are.
const SHARE: Duration = Duration::from_micros(250);
/// What is due this soon is asked with what is due now.
const TOGETHER: Duration = Duration::from_millis(1);

impl Viewer {
    /// Time between two questions about a stream whose news are due.
    pub(super) fn step(&self) -> Duration {
        let streams = u32::try_from(self.streams.len()).unwrap_or(u32::MAX);
        self.settings.poll.max(Duration::from_millis(1)).max(SHARE.saturating_mul(streams))
    }

    /// Asks all that is due, in one write.
    pub(super) fn pump(&mut self, now: Duration, out: &mut BytesMut, observer: &mut dyn Observer) {
        if self.ready {
            if self.list_due.is_some_and(|due| due <= now) {
                self.list_due = None;
                self.asks.push(Request::ListSessions);
            }
            self.pump_metadata(now, observer);
            for (id, session) in self.sessions.iter_mut().filter(|(_, s)| s.attached && !s.asked && s.due <= now) {
                session.asked = true;
                session.last = now;
                self.asks.push(Request::GetNewStreams { session: *id });
            }
        }
        self.asks.send_waiting(out);
        self.pump_streams(now, out, observer);
    }

    fn pump_metadata(&mut self, now: Duration, observer: &mut dyn Observer) {
        let is_due = |trace: &Trace| trace.due().is_some_and(|due| due <= now);
        let due: Vec<TraceKey> = self.traces.iter().filter(|(_, trace)| is_due(trace)).map(|(key, _)| *key).collect();
        for key in due {
            self.ask_metadata(now, key);
            let Some(trace) = self.traces.get_mut(&key) else { continue };
            // Only a trace whose metadata stream was never announced is still due.
            if is_due(trace) && trace.settle(now) {
                observer.complaint(Complaint::MetadataMissing);
                self.release(key);
            }
        }
    }

    /// Metadata of a trace is to be read before any more of its packets.
    pub(super) fn ask_metadata(&mut self, now: Duration, key: TraceKey) {
        if let Some(stream) = self.traces.get_mut(&key).and_then(|trace| trace.ask(now)) {
            self.asks.push(Request::GetMetadata { stream });
        }
    }

    /// Packets of a trace may be read again.
    pub(super) fn release(&mut self, key: TraceKey) {
        for stream in self.streams.values_mut().filter(|stream| stream.info.trace == key) {
            stream.schedule(true);
        }
    }

    fn pump_streams(&mut self, now: Duration, out: &mut BytesMut, observer: &mut dyn Observer) {
        if !self.streams.values().any(|s| s.due.is_some_and(|d| d <= now)) {
            return;
        }
        let soon = |stream: &Stream| stream.due.filter(|due| *due <= now + TOGETHER);
        let mut due: Vec<(Duration, u64)> = self.streams.iter().filter_map(|(id, s)| Some((soon(s)?, *id))).collect();
        // Those that have waited longest come first, if there is no room for all.
        due.sort_unstable();
        for (_, id) in due {
            if self.asks.room() < AHEAD {
                break;
            }
            self.ask_stream(now, id, out, observer);
        }
    }

    /// The packet that is wanted, and the index behind it.
    fn ask_stream(&mut self, now: Duration, id: u64, out: &mut BytesMut, observer: &mut dyn Observer) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(trace) = self.traces.get(&stream.info.trace) else { return };
        let ready = trace.ready();
        if ready && !stream.asked_packet {
            let key = stream.key(trace);
            while let Some(wanted) = stream.wanted.front().filter(|w| !self.seen.is_new(&key, &w.index)) {
                observer.skipped(&stream.info, &wanted.index, Skipped::Replayed);
                stream.wanted.pop_front();
            }
            if let Some(wanted) = stream.wanted.front().filter(|_| stream.packet_after <= now + TOGETHER) {
                let offset = wanted.index.offset;
                self.asks.send(Request::GetPacket { stream: id, offset, length: wanted.length }, out);
                stream.asked_packet = true;
            }
        }
        if stream.index_is_next() && !stream.asked_index && stream.index_after <= now + TOGETHER {
            self.asks.send(Request::GetNextIndex { stream: id }, out);
            stream.asked_index = true;
        }
        stream.schedule(ready);
    }
}
