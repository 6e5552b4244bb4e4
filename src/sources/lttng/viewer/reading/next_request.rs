//! The next requests of a reading.

use std::time::Duration;

use bytes::BytesMut;

use super::super::limits;
use super::super::model::TraceKey;
use super::super::observer::{Observer, SessionEnd, Skipped, StreamEnd, Violation};
use super::super::wire::Request;
use super::Reading;
use super::streams::{AHEAD, Stream, Trace};

/// Shortest time between two requests for each open stream: at most 4000 requests a second to a
/// relay daemon, however many streams and sessions there are.
const SHARE: Duration = Duration::from_micros(250);
/// Requests that are due within this time, or within a third of the step, are sent together.
const TOGETHER: Duration = Duration::from_millis(1);

impl Reading {
    /// Time between two requests for a stream whose news is due.
    pub(super) fn step(&self) -> Duration {
        let streams = u32::try_from(self.open_streams.len()).unwrap_or(u32::MAX);
        self.settings.poll.max(Duration::from_millis(1)).max(SHARE.saturating_mul(streams))
    }

    fn together(&self) -> Duration {
        TOGETHER.max(self.step() / 3)
    }

    /// Writes all requests that are due.
    pub(super) fn send_due(
        &mut self,
        now: Duration,
        out: &mut BytesMut,
        observer: &mut dyn Observer,
    ) {
        if self.closing.is_some_and(|end| end <= now) {
            self.finish(SessionEnd::Closed, observer);
        }
        if self.is_over() {
            return;
        }
        if self.attached.is_some() {
            self.send_due_metadata(now, observer);
            // Sent up to half a period early together with requests for streams that are due now.
            let asking = self.streams.values().any(|s| s.due.is_some_and(|due| due <= now));
            let soon = if asking { now + limits::SAFETY_NET / 2 } else { now };
            let on_flags = self.due <= self.last + limits::FLAGGED;
            if !self.asked
                && self.closing.is_none()
                && self.due <= if on_flags { now } else { soon }
            {
                self.asked = true;
                self.last = now;
                self.connection.push(Request::GetNewStreams { session: self.session.id });
            }
        }
        self.connection.send_queued(out);
        self.send_due_streams(now, out, observer);
    }

    /// Streams may have opened or ended: requests `NEW_STREAMS` soon.
    pub(super) fn expedite_streams(&mut self) {
        self.due = self.due.min(self.last + limits::FLAGGED);
    }

    /// After a reply to `NEW_STREAMS` or ATTACH: sets the time of the next `NEW_STREAMS`.
    pub(super) fn schedule_streams(&mut self, now: Duration) {
        self.asked = false;
        // Without a stream the session is about to end, or waits for its first program.
        let empty = self.streams.is_empty();
        let pause = if empty {
            self.session.live_timer.clamp(limits::FLAGGED, limits::SAFETY_NET)
        } else {
            limits::SAFETY_NET
        };
        self.due = now + pause.max(self.step());
    }

    fn send_due_metadata(&mut self, now: Duration, observer: &mut dyn Observer) {
        let is_due = |trace: &Trace| trace.due().is_some_and(|due| due <= now);
        let due: Vec<TraceKey> =
            self.traces.iter().filter(|(_, trace)| is_due(trace)).map(|(key, _)| *key).collect();
        for key in due {
            self.request_metadata(now, key);
            let Some(trace) = self.traces.get_mut(&key) else { continue };
            // Only a trace without an announced metadata stream is still due.
            if is_due(trace) && trace.settle(now) {
                observer.violation(Violation::MetadataMissing);
                self.release(key);
            }
        }
    }

    /// Requests metadata of a trace; its packets wait.
    pub(super) fn request_metadata(&mut self, now: Duration, key: TraceKey) {
        if let Some(stream) = self.traces.get_mut(&key).and_then(|trace| trace.ask(now)) {
            self.connection.push(Request::GetMetadata { stream });
        }
    }

    /// Packets of a trace need not wait any longer.
    pub(super) fn release(&mut self, key: TraceKey) {
        for stream in self.streams.values_mut().filter(|stream| stream.info.trace == key) {
            stream.schedule(true);
        }
    }

    fn send_due_streams(&mut self, now: Duration, out: &mut BytesMut, observer: &mut dyn Observer) {
        if !self.streams.values().any(|s| s.due.is_some_and(|d| d <= now)) {
            return;
        }
        let together = self.together();
        let soon = |stream: &Stream| stream.due.filter(|due| *due <= now + together);
        let mut due: Vec<(Duration, u64)> =
            self.streams.iter().filter_map(|(id, s)| Some((soon(s)?, *id))).collect();
        // The longest overdue come first, in case room runs out.
        due.sort_unstable();
        for (_, id) in due {
            if self.connection.room() < AHEAD {
                break;
            }
            self.request_stream(now, id, out, observer);
        }
    }

    /// Requests the pending packet and the index behind it.
    fn request_stream(
        &mut self,
        now: Duration,
        id: u64,
        out: &mut BytesMut,
        observer: &mut dyn Observer,
    ) {
        let soon = now + self.together();
        let ready = |reading: &Self| {
            let stream = reading.streams.get(&id)?;
            let ready = reading.traces.get(&stream.info.trace)?.ready();
            Some((ready, stream.waits.is_some() && stream.packet_after <= now + TOGETHER))
        };
        if ready(self) == Some((true, true)) {
            self.retry_packet(now, id, observer);
            self.connection.send_queued(out);
        }
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(trace) = self.traces.get(&stream.info.trace) else { return };
        let ready = trace.ready();
        if ready && !stream.packet_requested {
            let key = stream.key(trace);
            while let Some(pending) =
                stream.pending.front().filter(|w| !self.replay_filter.is_new(&key, &w.index))
            {
                observer.skipped(&stream.info, &pending.index, Skipped::Replayed);
                stream.pending.pop_front();
            }
            let due = stream.waits.is_none() && stream.packet_after <= now + TOGETHER;
            if let Some(pending) = stream.pending.front().filter(|_| due) {
                let (offset, length) = stream.rest(pending);
                self.connection.send(Request::GetPacket { stream: id, offset, length }, out);
                stream.packet_requested = true;
            }
        }
        if stream.index_is_next() && !stream.index_requested && stream.index_after <= soon {
            self.connection.send(Request::GetNextIndex { stream: id }, out);
            stream.index_requested = true;
        }
        stream.schedule(ready);
        if stream.is_drained() {
            self.end(now, id, StreamEnd::HungUp, observer);
        }
    }
}
