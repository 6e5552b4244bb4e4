//! What every conversation with a relay daemon has: requests, their replies in order, the version
//! spoken, patience.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, BytesMut};

use super::limits;
use super::model::Relayd;
use super::wire::{self, ProtocolError, Request, malformed};
use crate::model::Now;
use crate::sources::SessionError;

/// How far the front of the input went.
pub(super) enum Step {
    /// So many bytes are read; the reply goes on.
    Part(usize),
    /// So many bytes are read; they were the end of the reply.
    Last(usize),
    /// So many bytes must be there to go on.
    Need(usize),
}

/// Reads a fixed part, or says how many bytes it has.
macro_rules! read {
    ($fixed:expr) => {
        match $fixed {
            Ok(read) => read,
            Err(need) => return Ok(Step::Need(need)),
        }
    };
}
pub(super) use read;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// What is spoken; known from the answer to CONNECT on.
    pub(super) minor: u32,
    /// Bytes of replies before what is in the input.
    pub(super) consumed: u64,
    /// Records or sessions of the reply at the front that have not been read.
    pub(super) rest: Option<u32>,
    /// Requests that are not answered, in the order in which the replies come.
    outstanding: VecDeque<Request>,
    /// Those that wait for room: all but indexes and packets. They go first.
    queued: VecDeque<Request>,
    /// Bytes that had come, and when the last of them did.
    received: (u64, Duration),
    /// Time without a byte while a reply is due.
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

    /// The connection is there: these are the first requests.
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

    /// To be sent with the next write.
    pub(super) fn push(&mut self, request: Request) {
        self.queued.push_back(request);
    }

    /// Whether the relay daemon owes a reply.
    pub(super) fn awaits_reply(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Requests that may still be sent.
    pub(super) fn room(&self) -> usize {
        limits::OUTSTANDING.saturating_sub(self.outstanding.len())
    }

    pub(super) fn send_queued(&mut self, out: &mut BytesMut) {
        while self.room() > 0 {
            let Some(request) = self.queued.pop_front() else { break };
            self.send(request, out);
        }
    }

    /// Bytes have come.
    pub(super) fn received(&mut self, now: Now, input: &BytesMut) {
        let come = self.consumed + input.len() as u64;
        if come > self.received.0 {
            self.received = (come, now.mono);
        }
    }

    /// # Errors
    /// [`SessionError::Timeout`]: nothing comes, and a reply is due.
    pub(super) fn check_timeout(&self, now: Duration) -> Result<(), SessionError> {
        let late = self.awaits_reply() && now.saturating_sub(self.received.1) >= self.reply_time;
        if late { Err(SessionError::Timeout("reply")) } else { Ok(()) }
    }

    /// Finds the next wake-up: when something is to be asked, or patience ends.
    pub(super) fn plan(&mut self, now: Duration, due: impl Iterator<Item = Duration>) {
        let owed = self.awaits_reply().then(|| self.received.1 + self.reply_time);
        // An error has ended the connection if nothing is due; a second is never wrong.
        self.wakeup = due.chain(owed).min().or(Some(now + Duration::from_secs(1)));
    }

    /// The answer to CONNECT.
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

    /// An error with its place in the stream.
    fn place(&self, error: SessionError) -> SessionError {
        match error {
            SessionError::Malformed { what, .. } => {
                SessionError::Malformed { offset: self.consumed, what }
            }
            other => other,
        }
    }
}

/// A conversation.
pub(super) trait Replies {
    fn connection(&mut self) -> &mut Connection;

    /// Nothing that comes is of interest any more.
    fn done(&self) -> bool {
        false
    }
}

/// Reads all replies that are complete; `reply` reads the reply to a request as far as it is there.
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
                // Room for the index behind a packet as well: one read takes both.
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
