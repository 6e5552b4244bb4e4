//! One request on a connection of its own, and its answer.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::found::Found;
use crate::net::guard::{Guard, Guarded};
use crate::sources::dotnet::ipc::{Answer, Request};
use crate::sources::dotnet::session::Failure;

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
