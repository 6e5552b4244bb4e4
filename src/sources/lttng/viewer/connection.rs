//! One connection to a relay daemon: requests, their replies in order, the protocol version and the reply time limit; and
//! the connection that lists sessions and attaches nothing.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, BytesMut};

use super::super::limits;
use super::wire::{ProtocolError, Request, malformed};
use super::{Relayd, SessionInfo, Settings, wire};
use crate::contract::SessionError;
use crate::model::Now;

/// Progress of parsing the reply at the front of the input.
pub(super) enum Step {
    /// Bytes parsed; the reply continues.
    Part(usize),
    /// Bytes parsed; the reply is complete.
    Last(usize),
    /// Bytes that the input must have before parsing can continue.
    Need(usize),
}

/// Evaluates to the parsed value; returns [`Step::Need`] if bytes are missing.
macro_rules! read {
    ($fixed:expr) => {
        match $fixed {
            Ok(read) => read,
            Err(need) => return Ok(Step::Need(need)),
        }
    };
}
pub(super) use read;

/// State of one connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// Minor version in use; 0 before the reply to CONNECT.
    pub(super) minor: u32,
    /// Bytes of replies that have been parsed.
    pub(super) consumed: u64,
    /// Stream records or sessions left in the reply at the front.
    pub(super) rest: Option<u32>,
    /// Requests without a reply, in the order of the replies.
    outstanding: VecDeque<Request>,
    /// Requests other than indexes and packets that wait for room. They are sent first.
    queued: VecDeque<Request>,
    /// Bytes received, and the time of the last one.
    received: (u64, Duration),
    /// Longest time without a byte while a reply is due.
    reply_time: Duration,
    pub(super) wakeup: Option<Duration>,
}

impl Connection {
    pub(super) fn new(reply_time: Duration) -> Self {
        Self {
            minor: 0,
            consumed: 0,
            rest: None,
            outstanding: VecDeque::new(),
            queued: VecDeque::new(),
            received: (0, Duration::ZERO),
            reply_time,
            wakeup: None,
        }
    }

    /// Sends the first requests of a new connection.
    pub(super) fn start(&mut self, now: Duration, requests: &[Request], out: &mut BytesMut) {
        self.received = (0, now);
        for request in requests {
            self.send(*request, out);
        }
    }

    pub(super) fn send(&mut self, request: Request, out: &mut BytesMut) {
        request.encode(out);
        self.outstanding.push_back(request);
    }

    /// Queues a request for the next write.
    pub(super) fn push(&mut self, request: Request) {
        self.queued.push_back(request);
    }

    /// Whether the relay daemon owes a reply.
    pub(super) fn awaits_reply(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Number of requests that may still be sent.
    pub(super) fn room(&self) -> usize {
        limits::OUTSTANDING.saturating_sub(self.outstanding.len())
    }

    pub(super) fn send_queued(&mut self, out: &mut BytesMut) {
        while self.room() > 0 {
            let Some(request) = self.queued.pop_front() else { break };
            self.send(request, out);
        }
    }

    /// Records the time of received bytes.
    pub(super) fn received(&mut self, now: Now, input: &BytesMut) {
        let come = self.consumed + input.len() as u64;
        if come > self.received.0 {
            self.received = (come, now.monotonic);
        }
    }

    /// # Errors
    /// [`SessionError::Timeout`]: a reply is due, and no byte has come within the time limit.
    pub(super) fn check_timeout(&self, now: Duration) -> Result<(), SessionError> {
        let late = self.awaits_reply() && now.saturating_sub(self.received.1) >= self.reply_time;
        if late { Err(SessionError::Timeout("reply")) } else { Ok(()) }
    }

    /// Sets the next wake-up: the earliest of `due` and the reply time limit.
    pub(super) fn plan(&mut self, now: Duration, due: impl Iterator<Item = Duration>) {
        let owed = self.awaits_reply().then(|| self.received.1 + self.reply_time);
        // Without anything due the connection has failed; a tick a second later does no harm.
        self.wakeup = due.chain(owed).min().or(Some(now + Duration::from_secs(1)));
    }

    /// Parses the reply to CONNECT.
    pub(super) fn on_connect(
        &mut self,
        ours: u32,
        input: &[u8],
    ) -> Result<Result<Relayd, usize>, ProtocolError> {
        let version = match wire::connect(input) {
            Ok(version) => version,
            Err(need) => return Ok(Err(need)),
        };
        let theirs = wire::minor(version)?;
        self.minor = theirs.min(ours);
        Ok(Ok(Relayd { minor: theirs, effective: self.minor }))
    }

    /// Adds the offset in the stream to an error.
    fn place(&self, error: SessionError) -> SessionError {
        match error {
            SessionError::Malformed { what, .. } => {
                SessionError::Malformed { offset: self.consumed, what }
            }
            other => other,
        }
    }
}

/// A protocol over one connection.
pub(super) trait Replies {
    fn connection(&mut self) -> &mut Connection;

    /// Further replies are ignored.
    fn done(&self) -> bool {
        false
    }
}

/// Parses all complete replies; `reply` parses the available part of one.
pub(super) fn replies<T: Replies>(
    protocol: &mut T,
    input: &mut BytesMut,
    mut reply: impl FnMut(&mut T, Request, &[u8]) -> Result<Step, ProtocolError>,
) -> Result<(), SessionError> {
    while !protocol.done() {
        let Some(request) = protocol.connection().outstanding.front().copied() else {
            return if input.is_empty() {
                Ok(())
            } else {
                Err(protocol.connection().place(malformed("bytes that nobody asked for")))
            };
        };
        let step = reply(protocol, request, input);
        let connection = protocol.connection();
        let (read, last) = match step.map_err(|error| connection.place(error))? {
            Step::Part(read) => (read, false),
            Step::Last(read) => (read, true),
            Step::Need(need) => {
                // With room for the index behind a packet: one read receives both.
                input.reserve((need + wire::INDEX).saturating_sub(input.len()));
                return Ok(());
            }
        };
        input.advance(read);
        connection.consumed += read as u64;
        if last {
            connection.outstanding.pop_front();
            connection.rest = None;
        }
    }
    Ok(())
}

/// Least time between two listings for each session that is listed.
const EACH: Duration = Duration::from_millis(1);

/// Receives listings.
pub trait Lister {
    /// The relay daemon has replied to CONNECT. Called first and once.
    fn connected(&mut self, relayd: Relayd) {
        let _ = relayd;
    }

    /// A session of the listing under way.
    fn session_listed(&mut self, session: SessionInfo);

    /// The listing is complete. A session that is being read and is not listed was destroyed; its
    /// streams may have packets left.
    fn listing_done(&mut self, sessions: u32);
}

/// One connection that lists sessions. See [`super`] for the duties of its driver.
#[derive(Debug)]
pub struct Listing {
    /// Announced minor version.
    minor: u32,
    /// Time between two listings.
    pause: Duration,
    /// Time between two listings until `busy_until`.
    pause_busy: Duration,
    busy_time: Duration,
    busy_until: Duration,
    connection: Connection,
    /// Time of the next LIST; `None` while a reply is due.
    due: Option<Duration>,
    /// Sessions in the reply under way.
    listed: u32,
    /// Sum of the numbers of the sessions of the reply under way. The relay daemon uses no number twice.
    numbers: u64,
    /// Sessions and sum of the last listing.
    last: Option<(u32, u64)>,
}

impl Replies for Listing {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl Listing {
    /// For one connection.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            minor: settings.announced(),
            pause: settings.list.max(Duration::from_millis(10)),
            pause_busy: settings.list_busy.max(Duration::from_millis(10)),
            busy_time: settings.busy_time,
            busy_until: Duration::ZERO,
            connection: Connection::new(settings.reply_time),
            due: None,
            listed: 0,
            numbers: 0,
            last: None,
        }
    }

    /// Makes the first requests. Called once, before all other methods.
    pub fn start(&mut self, now: Now, out: &mut BytesMut) {
        // Both in one write, although the first reply decides the layout of the second.
        self.connection.start(
            now.monotonic,
            &[Request::Connect { minor: self.minor }, Request::ListSessions],
            out,
        );
        self.connection.plan(now.monotonic, self.due.into_iter());
    }

    /// Parses all complete replies at the front of `input`, and reserves room for the rest of an
    /// incomplete one. `out` is to be sent at once.
    ///
    /// # Errors
    /// The connection must be closed. `Malformed`, `Limit`: the relay daemon breaks the protocol;
    /// `Unsupported`: its major version differs.
    pub fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        lister: &mut dyn Lister,
    ) -> Result<(), SessionError> {
        self.connection.received(now, input);
        replies(self, input, |listing, request, input| {
            listing.reply(now.monotonic, request, input, lister)
        })?;
        self.send_due(now.monotonic, out);
        Ok(())
    }

    /// Sends requests that are due. Called at [`Self::next_wakeup`]; an earlier call does nothing.
    ///
    /// # Errors
    /// [`SessionError::Timeout`]: the relay daemon does not answer; the connection must be closed.
    pub fn tick(&mut self, now: Now, out: &mut BytesMut) -> Result<(), SessionError> {
        self.connection.check_timeout(now.monotonic)?;
        self.send_due(now.monotonic, out);
        Ok(())
    }

    /// Time of the next [`Self::tick`] on the monotonic clock of [`Now`]. `None` only before
    /// [`Self::start`].
    #[must_use]
    pub const fn next_wakeup(&self) -> Option<Duration> {
        self.connection.wakeup
    }

    /// Whether a reply is due. The relay daemon sends nothing else.
    #[must_use]
    pub fn awaits_reply(&self) -> bool {
        self.connection.awaits_reply()
    }

    fn send_due(&mut self, now: Duration, out: &mut BytesMut) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.connection.send(Request::ListSessions, out);
        }
        self.connection.plan(now, self.due.into_iter());
    }

    fn reply(
        &mut self,
        now: Duration,
        request: Request,
        input: &[u8],
        lister: &mut dyn Lister,
    ) -> Result<Step, ProtocolError> {
        match request {
            Request::Connect { minor } => {
                lister.connected(read!(self.connection.on_connect(minor, input)?));
                Ok(Step::Last(wire::CONNECT))
            }
            Request::ListSessions => self.on_list(now, input, lister),
            _ => Err(malformed("an answer to what is not asked here")),
        }
    }

    fn on_list(
        &mut self,
        now: Duration,
        input: &[u8],
        lister: &mut dyn Lister,
    ) -> Result<Step, ProtocolError> {
        let (left, read) = match self.connection.rest {
            None => {
                let count = read!(wire::word(input));
                wire::within("sessions.listed", count, limits::LISTED)?;
                (self.listed, self.numbers) = (count, 0);
                (count, wire::WORD)
            }
            Some(left) => {
                let (info, read) = read!(wire::session(input, self.connection.minor)?);
                self.numbers = self.numbers.wrapping_add(info.id);
                lister.session_listed(info);
                (left.saturating_sub(1), read)
            }
        };
        self.connection.rest = Some(left);
        if left > 0 {
            return Ok(Step::Part(read));
        }
        lister.listing_done(self.listed);
        let listing = (self.listed, self.numbers);
        if self.last.replace(listing).is_some_and(|last| last != listing) {
            self.busy_until = now + self.busy_time;
        }
        // Of many sessions a listing is long: it is not asked for more often than it is worth.
        let busy = self.pause_busy.max(EACH * self.listed).min(self.pause);
        self.due = Some(now + if now < self.busy_until { busy } else { self.pause });
        Ok(Step::Last(read))
    }
}
