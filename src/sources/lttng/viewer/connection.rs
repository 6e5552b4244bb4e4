//! One connection to a relay daemon: requests, their replies in order, the protocol version and the
//! reply time limit.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, BytesMut};

use super::limits;
use super::model::Relayd;
use super::wire::{self, ProtocolError, Request, malformed};
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
