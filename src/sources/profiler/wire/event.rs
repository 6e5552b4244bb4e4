//! What the transport tells, and what it is told.

use super::command::{Uuid, Wrong};
use super::kind::StreamKind;

/// What is asked of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The version that hello is answered with: 100605, or 100705 for a dictionary with ids.
    /// Agents leave at any other.
    pub version: u64,
    /// Agents reopen a stream after so many milliseconds; 0: never.
    pub rotation_period_ms: u64,
    /// Agents reopen a stream after so many bytes; 0: when they like.
    pub rotation_size: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { version: 100_605, rotation_period_ms: 0, rotation_size: 0 }
    }
}

/// Why a connection must be closed, and after how many bytes of it (inflated, if it is compressed).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {at}: {what}")]
pub struct Fault {
    /// Bytes before what is wrong.
    pub at: u64,
    /// What is wrong.
    pub what: Wrong,
}

/// Who an agent says it is. Any of the names can be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello<'a> {
    /// Version that the agent offers: 100605 in 2023, 100705 since 2025; `None` from legacy
    /// agents.
    pub version: Option<u64>,
    /// Namespace; `unknown` unless configured.
    pub namespace: &'a str,
    /// Service; `unknown` unless configured.
    pub service: &'a str,
    /// Server name, `_`, start of the JVM in milliseconds since 1970. The same after a reconnect.
    pub pod: &'a str,
}

/// A stream was opened, for the first time or again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Which of the connection's streams: the same when it is opened again.
    pub stream: usize,
    /// Its name.
    pub name: &'a str,
    /// What its bytes are.
    pub kind: StreamKind,
    /// The handle that was given out.
    pub handle: Uuid,
    /// The sequence that was asked for: 0 at first, then that of the last file + 1.
    pub requested: i32,
    /// The sequence that was given: never lower than asked for, nor as low as the last. References
    /// say it + 1.
    pub sequence: i32,
    /// What the pod's dictionary has is to be forgotten.
    pub reset: bool,
    /// The stream was open before: this is a rotation.
    pub again: bool,
    /// Rotation period that was given, in milliseconds; 0: never.
    pub rotation_period_ms: u64,
    /// Rotation size that was given, in bytes; 0: never.
    pub rotation_size: u64,
}

/// What an agent did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// It said who it is. Once, and before anything else.
    Hello(Hello<'a>),
    /// It opened a stream.
    Opened(Opened<'a>),
    /// It sent a piece of a stream: 0 to 1024 bytes.
    Data {
        /// Which, as in [`Opened`].
        stream: usize,
        /// The piece.
        payload: &'a [u8],
    },
    /// It wants all acks: the end of a stream's turn in the flush cycle.
    Flush,
    /// It answers a diagnostic command. We send none.
    CommandResult {
        /// Id of the command.
        id: Uuid,
        /// It worked.
        ok: bool,
    },
    /// It says good-bye: the JVM ends orderly.
    Close,
}
