//! Lists the sessions of a relay daemon once a second, more often while they come and go, over a connection that
//! attaches nothing.

use std::time::Duration;

use bytes::BytesMut;

use super::connection::{Connection, Replies, Step, read, replies};
use super::limits;
use super::model::{Relayd, SessionInfo};
use super::settings::Settings;
use super::wire::{self, ProtocolError, Request, malformed};
use crate::contract::SessionError;
use crate::model::Now;

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
