//! The life of one session of a runtime, and the connections that it has.

use std::time::Duration;

use crate::sources::dotnet::limits;
use crate::sources::dotnet::wire::ipc::{AnswerError, Request};

/// A session from the request to the end of its stream. A connection is closed before the first
/// bytes of its stream only if they do not come within [`limits::FIRST_BYTES`]: .NET Core 3.1 dies
/// of that (docs/protocols/dotnet.md 0).
#[derive(Debug)]
pub(super) struct Session {
    line: Line,
    stop_line: Line,
    phase: Phase,
    /// It is to be ended as soon as its id is known.
    unwanted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    /// The request is under way.
    Asked {
        until: Duration,
    },
    /// The answer has come, the stream has not begun.
    Opened {
        id: u64,
        until: Duration,
    },
    /// The stream has begun.
    Streaming {
        id: u64,
    },
    /// StopTracing is under way; the stream is read to its end.
    Stopping {
        until: Duration,
        answered: bool,
        ended: bool,
    },
}

/// The time of a phase is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    /// The request has no answer.
    NoAnswer,
    /// The stream has not begun.
    NoStream,
    /// StopTracing has no effect.
    NotStopped,
    /// The stream has ended as was asked for.
    Done,
}

impl Session {
    pub(super) const fn new(line: Line, stop_line: Line) -> Self {
        Self { line, stop_line, phase: Phase::Closed, unwanted: false }
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    pub(super) const fn is_streaming(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. })
    }

    pub(super) const fn is_stopping(&self) -> bool {
        self.unwanted || matches!(self.phase, Phase::Stopping { .. })
    }

    /// The runtime has opened it.
    pub(super) const fn is_open(&self) -> bool {
        matches!(
            self.phase,
            Phase::Opened { .. } | Phase::Streaming { .. } | Phase::Stopping { .. }
        )
    }

    /// Asks for the session.
    pub(super) fn open(&mut self, now: Duration, request: Request, out: &mut Vec<Command>) {
        self.phase = Phase::Asked { until: now + limits::FIRST_BYTES };
        self.unwanted = false;
        out.push(Command::Send(self.line, request));
    }

    /// The runtime has opened the session.
    pub(super) fn opened(&mut self, now: Duration, id: u64, out: &mut Vec<Command>) {
        if matches!(self.phase, Phase::Asked { .. }) {
            self.phase = Phase::Opened { id, until: now + limits::FIRST_BYTES };
            if self.unwanted {
                self.stop(now, limits::STOP, out);
            }
        }
    }

    /// The process may not stream before it is resumed: the time begins now.
    pub(super) fn resumed(&mut self, now: Duration) {
        if let Phase::Opened { until, .. } = &mut self.phase {
            *until = now + limits::FIRST_BYTES;
        }
    }

    /// The stream has begun.
    pub(super) const fn began(&mut self) {
        if let Phase::Opened { id, .. } = self.phase {
            self.phase = Phase::Streaming { id };
        }
    }

    /// Ends the session, at once or as soon as its id is known.
    pub(super) fn stop(&mut self, now: Duration, time: Duration, out: &mut Vec<Command>) {
        match self.phase {
            Phase::Asked { until } => {
                self.unwanted = true;
                if time < limits::STOP {
                    // The PMDA ends, and with it the connection.
                    self.phase = Phase::Asked { until: until.min(now + time) };
                }
            }
            Phase::Opened { id, .. } | Phase::Streaming { id } => {
                self.unwanted = true;
                let until = now + time;
                self.phase = Phase::Stopping { until, answered: false, ended: false };
                out.push(Command::Send(self.stop_line, Request::Stop(id)));
            }
            Phase::Closed | Phase::Stopping { .. } => {}
        }
    }

    /// StopTracing has an answer, or will have none. `true`: the session is closed.
    pub(super) fn stop_answered(&mut self, out: &mut Vec<Command>) -> bool {
        let Phase::Stopping { answered, ended, .. } = &mut self.phase else { return false };
        *answered = true;
        *ended && self.close(out)
    }

    /// The stream has ended. `true`: the session is closed.
    pub(super) fn ended(&mut self, now: Duration, out: &mut Vec<Command>) -> bool {
        match &mut self.phase {
            Phase::Stopping { until, answered: false, ended } => {
                // The answer follows at once; nothing depends on it.
                *ended = true;
                *until = (*until).min(now + limits::FAREWELL);
                false
            }
            _ => self.close(out),
        }
    }

    /// Closes its connections.
    pub(super) fn close(&mut self, out: &mut Vec<Command>) -> bool {
        if matches!(self.phase, Phase::Stopping { .. }) {
            out.push(Command::Close(self.stop_line));
        }
        out.push(Command::Close(self.line));
        self.phase = Phase::Closed;
        self.unwanted = false;
        true
    }

    /// When its phase must be over.
    pub(super) const fn until(&self) -> Option<Duration> {
        match self.phase {
            Phase::Asked { until }
            | Phase::Opened { until, .. }
            | Phase::Stopping { until, .. } => Some(until),
            Phase::Closed | Phase::Streaming { .. } => None,
        }
    }

    /// Closes the session if the time of its phase is over.
    pub(super) fn expire(&mut self, now: Duration, out: &mut Vec<Command>) -> Option<Expired> {
        if self.until().is_none_or(|until| now < until) {
            return None;
        }
        let expired = match self.phase {
            Phase::Asked { .. } => Expired::NoAnswer,
            Phase::Opened { .. } => Expired::NoStream,
            Phase::Stopping { ended: true, .. } => Expired::Done,
            _ => Expired::NotStopped,
        };
        self.close(out);
        Some(expired)
    }
}

/// The connections that a process can have at once, each with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// ProcessInfo, ResumeRuntime.
    Ask,
    /// The session that stays.
    Main,
    /// StopTracing of that session.
    Stop,
    /// The short session of a CPU profile.
    Burst,
    /// StopTracing of that session.
    BurstStop,
}

/// What the task of a process has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Connects, sends the request with one write and reads its answer.
    Send(Line, Request),
    /// Closes the connection, whatever it does.
    Close(Line),
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The socket's mode keeps us out.
    Permission,
    /// Nobody listens at the socket.
    Refused,
    /// The socket is not there.
    NoSocket,
    /// The process closed the connection before its answer was whole.
    Closed,
    /// The bytes are no answer.
    Answer(AnswerError),
    /// Another error of the operating system, in words.
    Other(String),
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With its end tag.
    Whole,
    /// Without: the process died, or dropped the connection.
    Cut,
    /// It was ended for us, who stood still.
    Halted,
}
