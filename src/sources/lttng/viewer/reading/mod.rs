//! The conversation that reads one session: its state, and what its driver calls.

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
use crate::model::Now;
use crate::sources::SessionError;

/// A session that is to be read: what [`super::Roster`] says of it.
#[derive(Clone, Debug)]
pub struct Start {
    /// Which.
    pub session: SessionInfo,
    /// Where reading begins.
    pub seek: Seek,
    /// We had it before, and it has not been listed without a viewer since.
    pub ours: bool,
    /// What was read before.
    pub replay_filter: ReplayFilter,
}

/// How reading has ended.
#[derive(Clone, Debug)]
pub struct End {
    /// Which session.
    pub session: u64,
    /// It was attached since this time.
    pub attached: Option<Duration>,
    /// The relay daemon would not have it attached.
    pub refused: Option<Refused>,
    /// `None`: it never was attached.
    pub over: Option<SessionEnd>,
    /// What the next one must know.
    pub replay_filter: ReplayFilter,
}

/// One connection that reads one session. A relay daemon serves streams that open later from the
/// folder of *one* session for each connection, so a second session on it would be read from the
/// wrong files. See the page of [`super`] for what its driver owes it.
#[derive(Debug)]
pub struct Reading {
    settings: Settings,
    session: SessionInfo,
    seek: Seek,
    ours: bool,
    replay_filter: ReplayFilter,
    open_streams: OpenStreams,
    connection: Connection,
    /// Since when it is attached.
    attached: Option<Duration>,
    refused: Option<Refused>,
    over: Option<SessionEnd>,
    /// It was destroyed; what is still to be read must come before this time.
    closing: Option<Duration>,
    /// A `NEW_STREAMS` is not answered.
    asked: bool,
    /// When the last one was sent.
    last: Duration,
    /// When to send the next.
    due: Duration,
    // Ordered maps, so that the same input always makes the same requests in the same order.
    traces: BTreeMap<TraceKey, Trace>,
    streams: BTreeMap<u64, Stream>,
    /// Metadata streams.
    metadata: HashMap<u64, TraceKey>,
    /// Bytes of packets that have come in part.
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
    /// For one connection. `open_streams` is that of all that is read from the same relay daemon.
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

    /// Which session.
    #[must_use]
    pub const fn session(&self) -> &SessionInfo {
        &self.session
    }

    /// The connection is there: makes the first requests. To be called once, before anything else.
    pub fn start(&mut self, now: Now, out: &mut BytesMut) {
        let attach = Request::AttachSession { session: self.session.id, seek: self.seek };
        let minor = self.settings.announced();
        // Three in one write: each would cost the time of a round.
        self.connection.start(
            now.mono,
            &[Request::Connect { minor }, Request::CreateSession, attach],
            out,
        );
        self.plan(now.mono);
    }

    /// Bytes have come. Consumes all replies that are complete from the front of `input`, leaves a
    /// partial one and reserves room for what it lacks. `out` is to be sent at once.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed. `Malformed` and `Limit` are the relay daemon's fault; `Unsupported`: it
    /// speaks another protocol; `Closed`: it does not want us as a viewer.
    pub fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        observer: &mut dyn Observer,
    ) -> Result<(), SessionError> {
        self.connection.received(now, input);
        replies(self, input, |reading, request, input| {
            reading.reply(now.mono, request, input, observer)
        })?;
        self.send_due(now.mono, out, observer);
        self.plan(now.mono);
        Ok(())
    }

    /// Time has passed. To be called at [`Self::next_wakeup`]; calling it more often does nothing.
    ///
    /// # Errors
    /// [`SessionError::Timeout`]: the relay daemon does not answer; the connection must be closed.
    pub fn tick(
        &mut self,
        now: Now,
        out: &mut BytesMut,
        observer: &mut dyn Observer,
    ) -> Result<(), SessionError> {
        self.connection.check_timeout(now.mono)?;
        self.send_due(now.mono, out, observer);
        self.plan(now.mono);
        Ok(())
    }

    /// When [`Self::tick`] is to be called, on the monotonic clock of [`Now`]; may be in the past.
    /// `None` only before [`Self::start`]. Changes with each call of `feed` and `tick`.
    #[must_use]
    pub const fn next_wakeup(&self) -> Option<Duration> {
        self.connection.wakeup
    }

    /// Whether the relay daemon owes a reply. When it does not, it says nothing.
    #[must_use]
    pub fn awaits_reply(&self) -> bool {
        self.connection.awaits_reply()
    }

    /// Nothing more is to be read: the session is over, or cannot be had. The connection is to be
    /// closed.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over.is_some() || self.refused.is_some()
    }

    /// Memory that reading this session holds, without the driver's input: streams, and packets
    /// that have come in part.
    #[must_use]
    pub fn held(&self) -> usize {
        let traces = self.traces.len() * (size_of::<Trace>() + limits::IDENTITY);
        traces
            + self.streams.len() * (size_of::<Stream>() + limits::STREAM_NAMES)
            + self.replay_filter.held()
            + self.partial
    }

    /// Reading ends: there is no memory for it.
    pub fn give_up(&mut self, observer: &mut dyn Observer) {
        if self.over.is_none() {
            self.finish(SessionEnd::Full, observer);
        }
    }

    /// Leaves the session in an orderly way, where the relay daemon knows how (2.8 on). Closing the
    /// connection does as well; the reply need not be waited for.
    pub fn detach(&mut self, out: &mut BytesMut) {
        if self.connection.minor >= wire::DETACH
            && self.attached.is_some()
            && self.over != Some(SessionEnd::Closed)
        {
            self.connection.send(Request::DetachSession { session: self.session.id }, out);
        }
    }

    /// The connection is gone, or is closed by us.
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

    /// The session is over, and all that was in it.
    fn finish(&mut self, why: SessionEnd, observer: &mut dyn Observer) {
        if why == SessionEnd::Closed {
            // After a new attach they would come again; but a session that was destroyed is not
            // attached again.
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

    /// Finds the next wake-up.
    fn plan(&mut self, now: Duration) {
        let streams = self.streams.values().filter_map(|stream| stream.due);
        let session =
            self.attached.filter(|_| !self.asked && self.closing.is_none()).map(|_| self.due);
        let traces = self.traces.values().filter_map(Trace::due);
        // With no room for requests only an answer helps.
        let open = self.connection.room() >= AHEAD;
        let due = streams.chain(session).chain(traces).filter(|_| open).chain(self.closing).min();
        self.connection.plan(now, due.into_iter());
    }
}
