//! Connections to one process and what happens on them.

use crate::sources::dotnet::ipc::{AnswerError, Request};

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
