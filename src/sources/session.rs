//! The helper for protocols whose peer is one byte stream.

use bytes::BytesMut;

use super::{Held, Sink};
use crate::model::{Control, Now};

/// Why a conversation ends, by whose fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The peer sent what its protocol does not allow.
    #[error("malformed at byte {offset}: {what}")]
    Malformed {
        /// Bytes of the stream before the fault.
        offset: u64,
        /// What was wrong.
        what: String,
    },
    /// The peer asked for more than a named limit.
    #[error("limit {limit} exceeded: {got} > {max}")]
    Limit {
        /// Name of the limit.
        limit: &'static str,
        /// What was asked for.
        got: u64,
        /// What is allowed.
        max: u64,
    },
    /// A sound message of a version or protocol that is not spoken here.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The peer did not say enough in time.
    #[error("no {0} in time")]
    Timeout(&'static str),
    /// Nothing is wrong: the conversation is over (a newer connection took over, say).
    #[error("closed: {0}")]
    Closed(&'static str),
}

/// One peer's conversation, without I/O and without a clock.
///
/// The driver owes it: `feed` whenever bytes have come, `tick` about once a second, `close` exactly
/// once at the end, and nothing after an error except `close`. Bytes in `out` are to be sent in
/// order.
pub trait Session: Send {
    /// Consumes whole tokens from the front of `input`, leaves a partial one. Never blocks, never
    /// panics on any input.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed.
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError>;

    /// There is more to do of what has been fed: a call of `feed` does a bounded piece of work, and
    /// a few bytes can mean a lot of it. The driver calls `feed` again, with the same input,
    /// once others have had their turn.
    fn unfinished(&self) -> bool {
        false
    }

    /// What it holds now. Asked for after each call, so it must be quick.
    fn held(&self) -> Held {
        Held::default()
    }

    /// Time has passed.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed.
    fn tick(
        &mut self,
        now: Now,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError>;

    /// A user's request.
    ///
    /// # Errors
    /// [`SessionError::Closed`] when the request is to end.
    fn control(
        &mut self,
        now: Now,
        request: &Control,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError>;

    /// The connection is gone or about to be closed by us; `out` is sent if it still can be.
    fn close(&mut self, now: Now, out: &mut BytesMut, sink: &mut dyn Sink);

    /// The peer has said who or at least what it is. Until then it counts against `limits.pending`.
    fn established(&self) -> bool;
}
