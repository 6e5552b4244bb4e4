//! The state of one connection, and what its driver calls.

use super::asking::Asks;
use super::observer::{Observer, Over, TraceKey};
use super::sessions::{Candidates, Session};
use super::streams::{AHEAD, Stream, Trace};
use super::wire::{self, Request};
use super::{Pattern, Seen, Settings};
use crate::model::Now;
use crate::sources::SessionError;
use bytes::BytesMut;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// One connection to one relay daemon. See the page of [`super`] for what its driver owes it.
#[derive(Debug)]
pub struct Viewer {
    pub(super) settings: Settings,
    pub(super) seen: Seen,
    pub(super) asks: Asks,
    /// What is spoken; known from the answer to CONNECT on.
    pub(super) minor: u32,
    /// CREATE was answered.
    pub(super) ready: bool,
    /// Bytes of replies before what is in the input.
    pub(super) consumed: u64,
    /// Records or sessions of the reply at the front that have not been read.
    pub(super) rest: Option<u32>,
    /// Sessions of the listing that is being read.
    pub(super) listed: u32,
    pub(super) candidates: Candidates,
    // Ordered maps, so that the same input always makes the same requests in the same order.
    pub(super) sessions: BTreeMap<u64, Session>,
    pub(super) traces: BTreeMap<TraceKey, Trace>,
    pub(super) streams: BTreeMap<u64, Stream>,
    /// Metadata streams.
    pub(super) metadata: HashMap<u64, TraceKey>,
    /// When to list again; `None`: a LIST is not answered.
    pub(super) list_due: Option<Duration>,
    /// Bytes that had come, and when the last of them did.
    heard: (u64, Duration),
    wakeup: Option<Duration>,
}

impl Viewer {
    /// For one connection. `seen` is what [`Self::close`] of the connection before returned, or [`Seen::new`].
    #[must_use]
    pub fn new(settings: Settings, seen: Seen) -> Self {
        Self {
            settings,
            seen,
            asks: Asks::default(),
            minor: 0,
            ready: false,
            consumed: 0,
            rest: None,
            listed: 0,
            candidates: Candidates::default(),
            sessions: BTreeMap::new(),
            traces: BTreeMap::new(),
            streams: BTreeMap::new(),
            metadata: HashMap::new(),
            list_due: None,
            heard: (0, Duration::ZERO),
            wakeup: None,
        }
    }

    /// The connection is there: makes the first requests. To be called once, before anything else.
    pub fn start(&mut self, now: Now, out: &mut BytesMut) {
        self.heard = (0, now.mono);
        // Three in one write: the layout of the third reply is told by the first.
        let minor = self.settings.minor.clamp(4, wire::MINOR);
        for request in [Request::Connect { minor }, Request::CreateSession, Request::ListSessions] {
            self.asks.send(request, out);
        }
        self.plan(now.mono);
    }

    /// Other sessions are to be read, from the next listing on. Those that are read go on.
    pub fn choose(&mut self, patterns: Vec<Pattern>) {
        self.settings.patterns = patterns;
    }

    /// Bytes have come. Consumes all replies that are complete from the front of `input`, leaves a partial one and reserves
    /// room for what it lacks. `out` is to be sent at once.
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
        let come = self.consumed + input.len() as u64;
        if come > self.heard.0 {
            self.heard = (come, now.mono);
        }
        self.replies(now.mono, input, observer).map_err(|error| match error {
            SessionError::Malformed { what, .. } => SessionError::Malformed { offset: self.consumed, what },
            other => other,
        })?;
        self.pump(now.mono, out, observer);
        self.plan(now.mono);
        Ok(())
    }

    /// Time has passed. To be called at [`Self::next_wakeup`]; calling it more often does nothing.
    ///
    /// # Errors
    /// [`SessionError::Timeout`]: the relay daemon does not answer; the connection must be closed.
    pub fn tick(&mut self, now: Now, out: &mut BytesMut, observer: &mut dyn Observer) -> Result<(), SessionError> {
        if self.asks.front().is_some() && now.mono.saturating_sub(self.heard.1) >= self.settings.reply_time {
            return Err(SessionError::Timeout("reply"));
        }
        self.pump(now.mono, out, observer);
        self.plan(now.mono);
        Ok(())
    }

    /// When [`Self::tick`] is to be called, on the monotonic clock of [`Now`]; may be in the past. `None` only before
    /// [`Self::start`]. Changes with each call of `feed` and `tick`.
    #[must_use]
    pub const fn next_wakeup(&self) -> Option<Duration> {
        self.wakeup
    }

    /// Whether the relay daemon owes a reply. When it does not, it says nothing.
    #[must_use]
    pub fn awaits_reply(&self) -> bool {
        self.asks.front().is_some()
    }

    /// Leaves all sessions in an orderly way, where the relay daemon knows how (2.8 on). Closing the connection does as well;
    /// replies need not be waited for.
    pub fn detach(&mut self, out: &mut BytesMut) {
        if self.minor >= wire::DETACH {
            for (id, _) in self.sessions.iter().filter(|(_, session)| session.attached) {
                self.asks.send(Request::DetachSession { session: *id }, out);
            }
        }
    }

    /// The connection is gone, or is closed by us. Returns what the next one must know.
    pub fn close(&mut self, observer: &mut dyn Observer) -> Seen {
        for session in std::mem::take(&mut self.sessions).into_values().filter(|session| session.attached) {
            observer.session_over(&session.info, Over::Disconnected);
        }
        self.streams.clear();
        self.traces.clear();
        self.metadata.clear();
        self.asks = Asks::default();
        self.list_due = None;
        self.wakeup = None;
        std::mem::take(&mut self.seen)
    }

    /// Finds the next wake-up.
    fn plan(&mut self, now: Duration) {
        let owed = self.asks.front().map(|_| self.heard.1 + self.settings.reply_time);
        // With no room for requests only an answer helps.
        let open = self.asks.room() >= AHEAD;
        let streams = self.streams.values().filter_map(|stream| stream.due);
        let sessions = self.sessions.values().filter(|s| s.attached && !s.asked).map(|session| session.due);
        let traces = self.traces.values().filter_map(Trace::due);
        let own = streams.chain(sessions).chain(traces).chain(self.list_due).filter(|_| open).min();
        // An error has ended the connection if nothing is due; a second is never wrong.
        self.wakeup = own.into_iter().chain(owed).min().or(Some(now + Duration::from_secs(1)));
    }
}
