//! The conversation that lists the sessions of a relay daemon, once a second. It attaches nothing.

use std::time::Duration;

use bytes::BytesMut;

use super::connection::{Connection, Replies, Step, read, replies};
use super::limits;
use super::model::{Relayd, SessionInfo};
use super::settings::Settings;
use super::wire::{self, ProtocolError, Request, malformed};
use crate::model::Now;
use crate::sources::SessionError;

/// Takes what is listed.
pub trait Lister {
    /// The relay daemon has answered. Comes first and once.
    fn connected(&mut self, relayd: Relayd) {
        let _ = relayd;
    }

    /// There is a session.
    fn session_listed(&mut self, session: SessionInfo);

    /// That were all sessions. One that is read and not listed is being destroyed; there may be
    /// more to read.
    fn listing_done(&mut self, sessions: u32);
}

/// One connection that lists. See the page of [`super`] for what its driver owes it.
#[derive(Debug)]
pub struct Listing {
    /// The minor version that we announce.
    minor: u32,
    /// Time between two listings.
    pause: Duration,
    connection: Connection,
    /// When to list again; `None`: a LIST is not answered.
    due: Option<Duration>,
    /// Sessions of the listing that is being read.
    listed: u32,
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
            connection: Connection::new(settings.reply_time),
            due: None,
            listed: 0,
        }
    }

    /// The connection is there: makes the first requests. To be called once, before anything else.
    pub fn start(&mut self, now: Now, out: &mut BytesMut) {
        // Both in one write: the layout of the second reply is told by the first.
        self.connection.start(
            now.mono,
            &[Request::Connect { minor: self.minor }, Request::ListSessions],
            out,
        );
        self.connection.plan(now.mono, self.due.into_iter());
    }

    /// Bytes have come. Consumes all replies that are complete from the front of `input`, leaves a
    /// partial one and reserves room for what it lacks. `out` is to be sent at once.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed. `Malformed` and `Limit` are the relay daemon's fault; `Unsupported`: it
    /// speaks another protocol.
    pub fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        lister: &mut dyn Lister,
    ) -> Result<(), SessionError> {
        self.connection.received(now, input);
        replies(self, input, |listing, request, input| {
            listing.reply(now.mono, request, input, lister)
        })?;
        self.send_due(now.mono, out);
        Ok(())
    }

    /// Time has passed. To be called at [`Self::next_wakeup`]; calling it more often does nothing.
    ///
    /// # Errors
    /// [`SessionError::Timeout`]: the relay daemon does not answer; the connection must be closed.
    pub fn tick(&mut self, now: Now, out: &mut BytesMut) -> Result<(), SessionError> {
        self.connection.check_timeout(now.mono)?;
        self.send_due(now.mono, out);
        Ok(())
    }

    /// When [`Self::tick`] is to be called, on the monotonic clock of [`Now`]. `None` only before
    /// [`Self::start`].
    #[must_use]
    pub const fn next_wakeup(&self) -> Option<Duration> {
        self.connection.wakeup
    }

    /// Whether the relay daemon owes a reply. When it does not, it says nothing.
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
                self.listed = count;
                (count, wire::WORD)
            }
            Some(left) => {
                let (info, read) = read!(wire::session(input, self.connection.minor)?);
                lister.session_listed(info);
                (left.saturating_sub(1), read)
            }
        };
        self.connection.rest = Some(left);
        if left > 0 {
            return Ok(Step::Part(read));
        }
        lister.listing_done(self.listed);
        self.due = Some(now + self.pause);
        Ok(Step::Last(read))
    }
}
