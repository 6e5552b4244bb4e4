//! What every conversation with a relay daemon has: requests, their replies in order, the version
//! spoken, patience.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, BytesMut};

use super::limits;
use super::observer::Relayd;
use super::wire::{self, Request, Wrong, malformed};
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
pub(super) struct Link {
    /// What is spoken; known from the answer to CONNECT on.
    pub(super) minor: u32,
    /// Bytes of replies before what is in the input.
    pub(super) consumed: u64,
    /// Records or sessions of the reply at the front that have not been read.
    pub(super) rest: Option<u32>,
    /// Requests that are not answered, in the order in which the replies come.
    outstanding: VecDeque<Request>,
    /// Those that wait for room: all but indexes and packets. They go first.
    waiting: VecDeque<Request>,
    /// Bytes that had come, and when the last of them did.
    heard: (u64, Duration),
    /// Time without a byte while a reply is due.
    patience: Duration,
    pub(super) wakeup: Option<Duration>,
}

impl Link {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            minor: 0,
            consumed: 0,
            rest: None,
            outstanding: VecDeque::new(),
            waiting: VecDeque::new(),
            heard: (0, Duration::ZERO),
            patience,
            wakeup: None,
        }
    }

    /// The connection is there: these are the first requests.
    pub(super) fn start(&mut self, now: Duration, requests: &[Request], out: &mut BytesMut) {
        self.heard = (0, now);
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
        self.waiting.push_back(request);
    }

    /// Whether the relay daemon owes a reply.
    pub(super) fn awaits_reply(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Requests that may still be sent.
    pub(super) fn room(&self) -> usize {
        limits::OUTSTANDING.saturating_sub(self.outstanding.len())
    }

    pub(super) fn send_waiting(&mut self, out: &mut BytesMut) {
        while self.room() > 0 {
            let Some(request) = self.waiting.pop_front() else { break };
            self.send(request, out);
        }
    }

    /// Bytes have come.
    pub(super) fn heard(&mut self, now: Now, input: &BytesMut) {
        let come = self.consumed + input.len() as u64;
        if come > self.heard.0 {
            self.heard = (come, now.mono);
        }
    }

    /// # Errors
    /// [`SessionError::Timeout`]: nothing comes, and a reply is due.
    pub(super) fn patient(&self, now: Duration) -> Result<(), SessionError> {
        let late = self.awaits_reply() && now.saturating_sub(self.heard.1) >= self.patience;
        if late { Err(SessionError::Timeout("reply")) } else { Ok(()) }
    }

    /// Finds the next wake-up: when something is to be asked, or patience ends.
    pub(super) fn plan(&mut self, now: Duration, due: impl Iterator<Item = Duration>) {
        let owed = self.awaits_reply().then(|| self.heard.1 + self.patience);
        // An error has ended the connection if nothing is due; a second is never wrong.
        self.wakeup = due.chain(owed).min().or(Some(now + Duration::from_secs(1)));
    }

    /// The answer to CONNECT.
    pub(super) fn on_connect(
        &mut self,
        ours: u32,
        input: &[u8],
    ) -> Result<Result<Relayd, usize>, Wrong> {
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
pub(super) trait Talk {
    fn link(&mut self) -> &mut Link;

    /// Nothing that comes is of interest any more.
    fn done(&self) -> bool {
        false
    }
}

/// Reads all replies that are complete; `reply` reads the reply to a request as far as it is there.
pub(super) fn replies<T: Talk>(
    talk: &mut T,
    input: &mut BytesMut,
    mut reply: impl FnMut(&mut T, Request, &[u8]) -> Result<Step, Wrong>,
) -> Result<(), SessionError> {
    while !talk.done() {
        let Some(request) = talk.link().outstanding.front().copied() else {
            return if input.is_empty() {
                Ok(())
            } else {
                Err(talk.link().place(malformed("bytes that nobody asked for")))
            };
        };
        let step = reply(talk, request, input);
        let link = talk.link();
        let (read, last) = match step.map_err(|error| link.place(error))? {
            Step::Part(read) => (read, false),
            Step::Last(read) => (read, true),
            Step::Need(need) => {
                // Room for the index behind a packet as well: one read takes both.
                input.reserve((need + wire::INDEX).saturating_sub(input.len()));
                return Ok(());
            }
        };
        input.advance(read);
        link.consumed += read as u64;
        if last {
            link.outstanding.pop_front();
            link.rest = None;
        }
    }
    Ok(())
}
