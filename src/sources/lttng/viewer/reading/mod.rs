//! Reads one session over one connection: the state, the methods that the driver calls, and what is requested next.

mod replies;
mod streams;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bytes::BytesMut;
use streams::{AHEAD, Stream, Trace};

use super::super::limits;
use super::connection::{Connection, Replies, replies};
use super::roster::ReplayFilter;
use super::wire::{Flags, Request};
use super::{
    Observer, Refused, Seek, SessionEnd, SessionInfo, Settings, Skipped, StreamEnd, TraceKey,
    Violation, wire,
};
use crate::contract::SessionError;
use crate::model::{HeapSize, Now};
pub use streams::OpenStreams;

/// A session to be read, from [`super::Roster`].
#[derive(Clone, Debug)]
pub struct Start {
    /// The session, as it was listed.
    pub session: SessionInfo,
    /// Where reading begins.
    pub seek: Seek,
    /// Attached by us before, and not listed without a viewer since.
    pub ours: bool,
    /// Packets that were reported before.
    pub replay_filter: ReplayFilter,
}

/// How reading has ended.
#[derive(Clone, Debug)]
pub struct End {
    /// Number of the session.
    pub session: u64,
    /// Time of the attach; `None`: never attached.
    pub attached: Option<Duration>,
    /// The attach was refused.
    pub refused: Option<Refused>,
    /// The end after an attach.
    pub over: Option<SessionEnd>,
    /// Reported packets, for the next reading.
    pub replay_filter: ReplayFilter,
}

/// One connection that reads one session. See [`super`] for the duties of its driver, and for the
/// reason why a second session needs a second connection.
#[derive(Debug)]
pub struct Reading {
    settings: Settings,
    session: SessionInfo,
    seek: Seek,
    ours: bool,
    replay_filter: ReplayFilter,
    open_streams: OpenStreams,
    connection: Connection,
    /// Time of the attach.
    attached: Option<Duration>,
    refused: Option<Refused>,
    over: Option<SessionEnd>,
    /// The session was destroyed; reading its rest ends at this time.
    closing: Option<Duration>,
    /// A reply to `NEW_STREAMS` is due.
    asked: bool,
    /// Time of the last `NEW_STREAMS`.
    last: Duration,
    /// Time of the next `NEW_STREAMS`.
    due: Duration,
    // Ordered maps: the same input makes the same requests in the same order.
    traces: BTreeMap<TraceKey, Trace>,
    streams: BTreeMap<u64, Stream>,
    /// Metadata streams and their traces.
    metadata: HashMap<u64, TraceKey>,
    /// Bytes of incomplete packets.
    partial: usize,
}

impl HeapSize for Reading {
    /// Bytes without the driver's input. Streams and traces are not looked at: names and identities are estimated,
    /// incomplete packets are summed up.
    fn heap_size(&self) -> usize {
        self.traces.len() * (size_of::<Trace>() + limits::IDENTITY)
            + self.streams.len() * (size_of::<Stream>() + limits::STREAM_NAMES)
            + self.metadata.heap_size()
            + self.replay_filter.heap_size()
            + self.partial
    }
}

impl Replies for Reading {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn done(&self) -> bool {
        self.is_over()
    }
}

impl Reading {
    /// For one connection. `open_streams` is shared by all connections to the relay daemon.
    #[must_use]
    pub fn new(settings: Settings, start: Start, open_streams: OpenStreams) -> Self {
        let Start { session, seek, ours, replay_filter } = start;
        let connection = Connection::new(settings.reply_time);
        Self {
            settings,
            session,
            seek,
            ours,
            replay_filter,
            open_streams,
            connection,
            attached: None,
            refused: None,
            over: None,
            closing: None,
            asked: false,
            last: Duration::ZERO,
            due: Duration::ZERO,
            traces: BTreeMap::new(),
            streams: BTreeMap::new(),
            metadata: HashMap::new(),
            partial: 0,
        }
    }

    /// The session, as it was listed.
    #[must_use]
    pub const fn session(&self) -> &SessionInfo {
        &self.session
    }

    /// Makes the first requests. Called once, before all other methods.
    pub fn start(&mut self, now: Now, out: &mut BytesMut) {
        let attach = Request::AttachSession { session: self.session.id, seek: self.seek };
        let minor = self.settings.announced();
        // One write: each request alone would cost a round trip.
        self.connection.start(
            now.monotonic,
            &[Request::Connect { minor }, Request::CreateSession, attach],
            out,
        );
        self.plan(now.monotonic);
    }

    /// Parses all complete replies at the front of `input`, and reserves room for the rest of an
    /// incomplete one. `out` is to be sent at once.
    ///
    /// # Errors
    /// The connection must be closed. `Malformed`, `Limit`: the relay daemon breaks the protocol;
    /// `Unsupported`: its major version differs; `Closed`: it accepts no viewers.
    pub fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        observer: &mut dyn Observer,
    ) -> Result<(), SessionError> {
        self.connection.received(now, input);
        replies(self, input, |reading, request, input| {
            reading.reply(now.monotonic, request, input, observer)
        })?;
        self.send_due(now.monotonic, out, observer);
        self.plan(now.monotonic);
        Ok(())
    }

    /// Sends requests that are due. Called at [`Self::next_wakeup`]; an earlier call does nothing.
    ///
    /// # Errors
    /// [`SessionError::Timeout`]: the relay daemon does not answer; the connection must be closed.
    pub fn tick(
        &mut self,
        now: Now,
        out: &mut BytesMut,
        observer: &mut dyn Observer,
    ) -> Result<(), SessionError> {
        self.connection.check_timeout(now.monotonic)?;
        self.send_due(now.monotonic, out, observer);
        self.plan(now.monotonic);
        Ok(())
    }

    /// Time of the next [`Self::tick`] on the monotonic clock of [`Now`]; may be in the past.
    /// `None` only before [`Self::start`]. Changes with each call of `feed` and `tick`.
    #[must_use]
    pub const fn next_wakeup(&self) -> Option<Duration> {
        self.connection.wakeup
    }

    /// Whether a reply is due. The relay daemon sends nothing else.
    #[must_use]
    pub fn awaits_reply(&self) -> bool {
        self.connection.awaits_reply()
    }

    /// The session has ended or was refused: the connection is to be closed.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over.is_some() || self.refused.is_some()
    }

    /// Ends reading because memory is short.
    pub fn give_up(&mut self, observer: &mut dyn Observer) {
        if self.over.is_none() {
            self.finish(SessionEnd::Full, observer);
        }
    }

    /// Requests DETACH, on relay daemons of 2.8 and later. The reply need not be awaited: closing
    /// the connection detaches as well.
    pub fn detach(&mut self, out: &mut BytesMut) {
        if self.connection.minor >= wire::DETACH
            && self.attached.is_some()
            && self.over != Some(SessionEnd::Closed)
        {
            self.connection.send(Request::DetachSession { session: self.session.id }, out);
        }
    }

    /// The connection is gone, or is being closed.
    pub fn close(mut self, observer: &mut dyn Observer) -> End {
        if self.attached.is_some() && self.over.is_none() {
            self.finish(SessionEnd::Disconnected, observer);
        }
        let replay_filter = std::mem::take(&mut self.replay_filter);
        End {
            session: self.session.id,
            attached: self.attached,
            refused: self.refused,
            over: self.over,
            replay_filter,
        }
    }

    /// Ends the session with its streams and traces. Packets that are pending or wait are reported
    /// only if it was destroyed: otherwise the next attach finds all that are not in the replay
    /// filter again, and they would count twice.
    fn finish(&mut self, why: SessionEnd, observer: &mut dyn Observer) {
        if why == SessionEnd::Closed {
            let streams: Vec<u64> = self.streams.keys().copied().collect();
            streams.into_iter().for_each(|id| self.give_up_waiting(id, observer));
            // A destroyed session is not attached again, so its pending packets are lost.
            for stream in self.streams.values() {
                stream
                    .pending
                    .iter()
                    .for_each(|w| observer.skipped(&stream.info, &w.index, Skipped::Unreadable));
            }
        }
        self.streams.clear();
        self.metadata.clear();
        self.traces.clear();
        self.partial = 0;
        self.over = Some(why);
        observer.session_over(&self.session, why);
    }

    /// The session was destroyed: open streams are read to their ends.
    fn destroyed(&mut self, now: Duration, observer: &mut dyn Observer) {
        self.asked = false;
        if self.streams.is_empty() {
            return self.finish(SessionEnd::Closed, observer);
        }
        self.closing = Some(now + limits::CLOSING);
        let Self { streams, traces, .. } = self;
        for stream in streams.values_mut() {
            stream.index_after = now;
            stream.schedule(traces.get(&stream.info.trace).is_some_and(Trace::ready));
        }
    }

    fn on_flags(&mut self, now: Duration, key: TraceKey, flags: Flags) {
        if flags.new_metadata() {
            self.request_metadata(now, key);
        }
        if flags.new_streams() {
            self.expedite_streams();
        }
    }

    fn forget(&mut self, key: TraceKey, observer: &mut dyn Observer) {
        observer.trace_gone(key);
        if let Some(stream) = self.traces.remove(&key).and_then(|trace| trace.stream) {
            self.metadata.remove(&stream);
        }
    }

    /// Sets the next wake-up.
    fn plan(&mut self, now: Duration) {
        let streams = self.streams.values().filter_map(|stream| stream.due);
        let session =
            self.attached.filter(|_| !self.asked && self.closing.is_none()).map(|_| self.due);
        let traces = self.traces.values().filter_map(Trace::due);
        // Without room nothing can be sent before a reply comes.
        let open = self.connection.room() >= AHEAD;
        let due = streams.chain(session).chain(traces).filter(|_| open).chain(self.closing).min();
        self.connection.plan(now, due.into_iter());
    }
}

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
