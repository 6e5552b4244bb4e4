//! Reads one session over one connection: the state, and the methods that the driver calls.

mod backoff;
mod next_request;
mod packets;
mod replies;
mod streams;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

pub use self::backoff::OpenStreams;
use bytes::BytesMut;

use self::streams::{AHEAD, Stream, Trace};
use super::connection::{Connection, Replies, replies};
use super::limits;
use super::model::{SessionInfo, TraceKey};
use super::observer::{Observer, Refused, SessionEnd, Skipped};
use super::replay_filter::ReplayFilter;
use super::settings::{Seek, Settings};
use super::wire::{self, Request};
use crate::contract::SessionError;
use crate::model::Now;

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

    /// Bytes of memory without the driver's input: streams and incomplete packets.
    #[must_use]
    pub fn held(&self) -> usize {
        let traces = self.traces.len() * (size_of::<Trace>() + limits::IDENTITY);
        traces
            + self.streams.len() * (size_of::<Stream>() + limits::STREAM_NAMES)
            + self.replay_filter.held()
            + self.partial
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
