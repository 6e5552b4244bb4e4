//! The requests of one process that are under way: each has a connection of its own.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::discovery::Found;
use crate::net::guard::{Guard, Guarded};
use crate::sources::dotnet::session::{Failure, Line};
use crate::sources::dotnet::wire::ipc::{Answer, Request};

type Outcome = Result<Exchanged, Failure>;
type Pending = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Requests that have no answer yet, one for each line at most.
pub(super) struct Lines {
    under_way: Vec<(Line, Pending)>,
    guard: Arc<Guard>,
}

impl Lines {
    pub(super) const fn new(guard: Arc<Guard>) -> Self {
        Self { under_way: Vec::new(), guard }
    }

    /// Sends a request on a line.
    pub(super) fn send(&mut self, line: Line, found: Found, request: Request) {
        self.close(line);
        let guard = Arc::clone(&self.guard);
        self.under_way.push((line, Box::pin(exchange(found, request, guard))));
    }

    /// Closes a line.
    pub(super) fn close(&mut self, line: Line) {
        self.under_way.retain(|(other, _)| *other != line);
        if self.under_way.is_empty() {
            // Most processes have nothing under way for days.
            self.under_way = Vec::new();
        }
    }

    /// Waits for the next answer. Cancel-safe.
    pub(super) async fn next(&mut self) -> (Line, Outcome) {
        poll_fn(|context| {
            for (i, (line, future)) in self.under_way.iter_mut().enumerate() {
                if let Poll::Ready(outcome) = future.as_mut().poll(context) {
                    let line = *line;
                    drop(self.under_way.swap_remove(i));
                    return Poll::Ready((line, outcome));
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Bytes of one read of an answer.
const READ: usize = 1 << 10;

/// An answer that has come.
#[derive(Debug)]
pub(super) struct Exchanged {
    /// The connection: of a collect command the stream follows on it. It is not polled for
    /// readiness any more, and does not block.
    pub(super) socket: Guarded,
    /// The answer's bytes and all that came with it.
    pub(super) input: BytesMut,
    /// Bytes of the answer.
    pub(super) answer: usize,
    /// Bytes of the request.
    pub(super) sent: usize,
}

/// Connects, sends the request with one write, and reads the answer. The time limit is the
/// caller's, who drops this; the request has then been sent whole or not at all.
///
/// # Errors
/// [`Failure`]: there is no answer.
pub(super) async fn exchange(
    found: Found,
    request: Request,
    guard: Arc<Guard>,
) -> Result<Exchanged, Failure> {
    let message = request.encode().map_err(|error| Failure::Other(error.to_string()))?;
    let mut stream = found.connect().await.map_err(|error| failure(&error))?;
    // The program waits for who reads its stream.
    let streams = matches!(request, Request::Collect(..));
    let hold = streams.then(|| guard.hold(&stream)).flatten();
    // The socket's buffer of a new connection has room for the largest message, 64 KiB.
    stream.write_all(&message).await.map_err(|error| failure(&error))?;
    let mut input = BytesMut::new();
    loop {
        input.reserve(READ);
        if stream.read_buf(&mut input).await.map_err(|error| failure(&error))? == 0 {
            return Err(Failure::Closed);
        }
        if let Some((_, answer)) = Answer::parse(&input).map_err(Failure::Answer)? {
            let socket = stream.into_std().map_err(|error| failure(&error))?;
            let socket = Guarded::new(socket, hold);
            return Ok(Exchanged { socket, input, answer, sent: message.len() });
        }
    }
}

fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::Permission,
        io::ErrorKind::ConnectionRefused => Failure::Refused,
        io::ErrorKind::NotFound => Failure::NoSocket,
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::UnexpectedEof => Failure::Closed,
        _ => Failure::Other(error.to_string()),
    }
}
