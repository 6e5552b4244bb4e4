//! What the PMDA and its child tell each other: a kind and the number of a connection.

use std::os::fd::{BorrowedFd, OwnedFd};

use pmda::process::{receive_with, send_with};
use rustix::io::Errno;

/// Bytes of a message.
const SIZE: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A connection with this number comes with it.
    Hold(u64),
    /// It has been closed.
    Release(u64),
    /// The PMDA works.
    Beat,
    /// From the child: all connections were ended.
    Cut,
}

impl Message {
    fn encode(self) -> [u8; SIZE] {
        let (kind, id) = match self {
            Self::Hold(id) => (b'h', id),
            Self::Release(id) => (b'r', id),
            Self::Beat => (b'b', 0),
            Self::Cut => (b'c', 0),
        };
        let mut bytes = [kind; SIZE];
        if let Some(number) = bytes.last_chunk_mut() {
            *number = id.to_le_bytes();
        }
        bytes
    }

    /// Who sends something else is not there: it is taken for a sign of life.
    fn decode(bytes: [u8; SIZE]) -> Self {
        let id = bytes.last_chunk().map_or(0, |number| u64::from_le_bytes(*number));
        match bytes.first() {
            Some(b'h') => Self::Hold(id),
            Some(b'r') => Self::Release(id),
            Some(b'c') => Self::Cut,
            _ => Self::Beat,
        }
    }
}

/// Sends without waiting.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    message: Message,
    connection: Option<BorrowedFd<'_>>,
) -> Result<(), Errno> {
    send_with(socket, &message.encode(), connection.as_slice())
}

/// Receives without waiting; `None`: the other side has ended.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Result<Option<(Message, Option<OwnedFd>)>, Errno> {
    let mut bytes = [0; SIZE];
    let (received, passed) = receive_with(socket, &mut bytes)?;
    Ok((received > 0).then(|| (Message::decode(bytes), passed.into_iter().next_back())))
}
