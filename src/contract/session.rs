//! Sessions: for protocols whose peer is one byte stream.

use bytes::BytesMut;

use super::{Held, Peer};
use crate::contract::Control;
use crate::model::{Departure, Now};

/// Why a session ends.
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
    /// The peer exceeded a limit.
    #[error("limit {limit} exceeded: {got} > {max}")]
    Limit {
        /// Name of the limit.
        limit: &'static str,
        /// The value that the peer asked for.
        got: u64,
        /// The largest value allowed.
        max: u64,
    },
    /// A valid message of an unsupported version or protocol.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The peer did not send a required message in time.
    #[error("no {0} in time")]
    Timeout(&'static str),
    /// A regular end (a newer connection took over, say).
    #[error("closed: {0}")]
    Closed(&'static str),
}

impl SessionError {
    /// The end in words for operators.
    #[must_use]
    pub fn departure(&self) -> Departure {
        match self {
            Self::Malformed { what, .. } => Departure::lost(format!("protocol error: {what}")),
            Self::Timeout(what) => Departure::lost(format!("silent too long: no {what} in time")),
            Self::Limit { .. } | Self::Unsupported(_) => Departure::lost(self.to_string()),
            Self::Closed(why) => Departure::regular(*why),
        }
    }
}

/// One peer's session, without I/O and without a clock.
///
/// The driver calls `feed` whenever bytes have arrived, `tick` about once a second, and `close`
/// exactly once at the end; after an error it calls only `close`. It sends the bytes in `out` in
/// order.
pub trait Session: Send {
    /// Consumes whole tokens from the front of `input` and leaves a partial one. Never blocks,
    /// never panics on any input.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed.
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError>;

    /// There is more work for the bytes already fed: a call of `feed` does a bounded piece of work,
    /// and a few bytes can cause a lot of it. The driver calls `feed` again with the same input
    /// after the turns of other sessions.
    fn unfinished(&self) -> bool {
        false
    }

    /// Bytes that the session uses now. Called after each call, so it must be fast.
    fn held(&self) -> Held {
        Held::default()
    }

    /// About a second has passed since the last call.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed.
    fn tick(&mut self, now: Now, out: &mut BytesMut, peer: &mut Peer) -> Result<(), SessionError>;

    /// A user's request.
    ///
    /// # Errors
    /// [`SessionError::Closed`] when the request ends the session.
    fn control(
        &mut self,
        now: Now,
        request: &Control,
        out: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError>;

    /// The connection has ended or is about to be closed by the PMDA; `out` is sent if possible.
    fn close(&mut self, now: Now, out: &mut BytesMut, peer: &mut Peer);

    /// The protocol has a last message: a connection that ends without it is lost.
    fn says_goodbye(&self) -> bool {
        false
    }

    /// The peer has identified itself, or at least its protocol. Until then it counts against
    /// `limits.pending`.
    fn established(&self) -> bool;
}
