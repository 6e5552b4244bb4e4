//! The commands of an agent and what is answered (spec A.2, A.3). All numbers are big-endian.

use bytes::{BufMut, BytesMut};

use crate::read::{Cursor, Order};
use crate::sources::profiler::limits;

/// A handle of a stream, or the id of a diagnostic command.
pub type Uuid = [u8; 16];

/// The reply to INIT_STREAM that refuses.
pub(crate) const NULL: Uuid = [0; 16];
/// The ack of RCV_DATA and REQUEST_ACK_FLUSH: no diagnostic command follows. Never another: it is a
/// count that agents obey.
pub(crate) const ACK: u8 = 0;
/// Instead of an ack, before a connection is closed: start over.
pub(crate) const ERROR: u8 = 0xff;
/// The reply to the legacy GET_PROTOCOL_VERSION.
pub(crate) const LEGACY_VERSION: u64 = 100_505;

/// One command, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command<'a> {
    /// GET_PROTOCOL_VERSION_V2.
    Hello { version: u64, pod: &'a str, service: &'a str, namespace: &'a str },
    /// GET_PROTOCOL_VERSION.
    LegacyHello,
    /// INIT_STREAM_V2.
    Open(Open<'a>),
    /// INIT_STREAM, which begins with who it is (spec A.9, 1).
    LegacyOpen { namespace: &'a str, service: &'a str, pod: &'a str, open: Open<'a> },
    /// RCV_DATA.
    Data { handle: Uuid, payload: &'a [u8] },
    /// REQUEST_ACK_FLUSH.
    Flush,
    /// REPORT_COMMAND_RESULT.
    Result { id: Uuid, ok: bool },
    /// KEEP_ALIVE, which no agent sends.
    KeepAlive,
    /// CLOSE.
    Close,
}

/// What INIT_STREAM asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Open<'a> {
    pub(crate) name: &'a str,
    pub(crate) sequence: i32,
    pub(crate) reset: bool,
}

/// What an agent cannot mean.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A byte that begins no command: the framing is lost.
    #[error("command {0:#04x}")]
    Command(u8),
    /// A field longer than [`limits::FIELD`], or of negative length.
    #[error("field of {0} bytes")]
    Field(i32),
    /// A name that is not UTF-8.
    #[error("name is not UTF-8")]
    NotUtf8,
    /// Something else came before the agent said who it is.
    #[error("{0} before the agent said who it is")]
    Stranger(&'static str),
    /// The agent said twice who it is.
    #[error("second hello")]
    SecondHello,
    /// A stream of no known handle.
    #[error("data for an unknown handle")]
    Handle,
    /// More streams than [`limits::STREAMS`].
    #[error("more than {max} streams", max = limits::STREAMS)]
    Streams,
    /// More than [`limits::EMPTY`] commands in a second that carry nothing.
    #[error("more than {max} commands in a second that carry nothing", max = limits::EMPTY)]
    Empty,
    /// More replies than [`limits::REPLIES`] are due at once.
    #[error("more than {max} bytes of replies", max = limits::REPLIES)]
    Replies,
    /// What is compressed is not gzip.
    #[error("gzip: {0}")]
    Gzip(&'static str),
}

enum Stop {
    Short,
    ProtocolError(ProtocolError),
}

/// The command at the front of `bytes` and its length; `None` when it is not all there.
///
/// # Errors
/// [`ProtocolError`], as soon as the byte shows that says so, and how many bytes were before it.
pub(crate) fn command(
    bytes: &[u8],
) -> Result<Option<(Command<'_>, usize)>, (ProtocolError, usize)> {
    let mut c = Cursor::new(bytes, Order::Big);
    match read(&mut c) {
        Ok(command) => Ok(Some((command, c.position()))),
        Err(Stop::Short) => Ok(None),
        Err(Stop::ProtocolError(wrong)) => Err((wrong, c.position())),
    }
}

fn read<'a>(c: &mut Cursor<'a>) -> Result<Command<'a>, Stop> {
    Ok(match full(c.u8())? {
        0x01 => Command::LegacyOpen {
            namespace: string(c)?,
            service: string(c)?,
            pod: string(c)?,
            open: open(c)?,
        },
        0x02 => Command::Data { handle: uuid(c)?, payload: field(c)? },
        0x04 => Command::Close,
        0x08 => Command::LegacyHello,
        0x11 => Command::Flush,
        0x12 => Command::KeepAlive,
        0x13 => Command::Result { id: uuid(c)?, ok: full(c.u8())? == b'K' },
        0x14 => Command::Hello {
            version: full(c.u64())?,
            pod: string(c)?,
            service: string(c)?,
            namespace: string(c)?,
        },
        0x15 => Command::Open(open(c)?),
        other => return Err(Stop::ProtocolError(ProtocolError::Command(other))),
    })
}

const fn full<T: Copy>(field: Option<T>) -> Result<T, Stop> {
    match field {
        Some(field) => Ok(field),
        None => Err(Stop::Short),
    }
}

fn uuid(c: &mut Cursor<'_>) -> Result<Uuid, Stop> {
    full(c.bytes(16).and_then(|b| b.try_into().ok()))
}

fn field<'a>(c: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let stated = full(c.i32())?;
    let length = usize::try_from(stated).ok().filter(|n| *n <= limits::FIELD);
    full(c.bytes(length.ok_or(Stop::ProtocolError(ProtocolError::Field(stated)))?))
}

fn string<'a>(c: &mut Cursor<'a>) -> Result<&'a str, Stop> {
    std::str::from_utf8(field(c)?).map_err(|_| Stop::ProtocolError(ProtocolError::NotUtf8))
}

fn open<'a>(c: &mut Cursor<'a>) -> Result<Open<'a>, Stop> {
    Ok(Open { name: string(c)?, sequence: full(c.i32())?, reset: full(c.i32())? != 0 })
}

/// The reply to INIT_STREAM.
pub(crate) fn opened(out: &mut BytesMut, handle: Uuid, period_ms: u64, size: u64, sequence: i32) {
    out.put_slice(&handle);
    out.put_u64(period_ms);
    out.put_u64(size);
    out.put_i32(sequence);
}

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
pub struct Violation {
    /// Bytes before what is wrong.
    pub at: u64,
    /// What is wrong.
    pub what: ProtocolError,
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

/// What the bytes of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamKind {
    /// `trace`: ENTER, EXIT and TAG of all threads.
    Trace,
    /// `calls`: finished root calls.
    Calls,
    /// `xml`: big values.
    Xml,
    /// `sql`: big values that occur often.
    Sql,
    /// `dictionary`: words with running ids.
    Dictionary,
    /// `posDictionary`: ids and words.
    PosDictionary,
    /// `suspend`: when the JVM was not scheduled.
    Suspend,
    /// `params`: what is known of parameters.
    Params,
    /// `gc`: the JVM's unified log; agents before 3.1.4.
    Gc,
    /// Any other name: bytes that are only counted.
    Opaque,
}

impl StreamKind {
    /// Of the name that a stream is opened with.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "trace" => Self::Trace,
            "calls" => Self::Calls,
            "xml" => Self::Xml,
            "sql" => Self::Sql,
            "dictionary" => Self::Dictionary,
            "posDictionary" => Self::PosDictionary,
            "suspend" => Self::Suspend,
            "params" => Self::Params,
            "gc" => Self::Gc,
            _ => Self::Opaque,
        }
    }

    /// Agents may be told to reopen it from time to time; the others are needed whole (spec A.6).
    #[must_use]
    pub const fn rotates(self) -> bool {
        !matches!(self, Self::Dictionary | Self::PosDictionary | Self::Params)
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
