//! Commands of an agent, their replies, and the types that both carry
//! (docs/protocols/java-profiler.md A.2, A.3). All numbers are big-endian.

pub(super) mod dialogue;

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use super::limits;
use crate::read::{Cursor, Order};

/// A handle of a stream, or the id of a diagnostic command.
pub type Uuid = [u8; 16];

/// The handle in a reply to INIT_STREAM that rejects the stream.
pub(crate) const NULL: Uuid = [0; 16];
/// The ack of RCV_DATA and REQUEST_ACK_FLUSH. The byte counts the diagnostic commands that follow,
/// and agents wait for them: this collector sends none.
pub(crate) const ACK: u8 = 0;
/// Sent in place of an ack before this side closes the connection: the agent starts over.
pub(crate) const ERROR: u8 = 0xff;
/// The reply to the legacy GET_PROTOCOL_VERSION.
pub(crate) const LEGACY_VERSION: u64 = 100_505;

/// One whole command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command<'a> {
    /// GET_PROTOCOL_VERSION_V2.
    Hello { version: u64, pod: &'a str, service: &'a str, namespace: &'a str },
    /// GET_PROTOCOL_VERSION.
    LegacyHello,
    /// INIT_STREAM_V2.
    Open(Open<'a>),
    /// INIT_STREAM, which begins with the identity (docs/protocols/java-profiler.md A.9, 1).
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

/// The body of INIT_STREAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Open<'a> {
    pub(crate) name: &'a str,
    pub(crate) sequence: i32,
    pub(crate) reset: bool,
}

/// A command that breaks the protocol.
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
    /// A command that needs an identified agent came before hello.
    #[error("{0} before hello")]
    BeforeHello(&'static str),
    /// A connection has exactly one hello.
    #[error("second hello")]
    SecondHello,
    /// RCV_DATA with a handle that this connection never got, or that a newer one replaced.
    #[error("data for an unknown handle")]
    Handle,
    /// More stream names than [`limits::STREAMS`].
    #[error("more than {max} streams", max = limits::STREAMS)]
    Streams,
    /// More than [`limits::EMPTY`] commands without a payload in one second.
    #[error("more than {max} commands in a second that carry nothing", max = limits::EMPTY)]
    Empty,
    /// More than [`limits::REPLIES`] bytes of replies are unsent.
    #[error("more than {max} bytes of replies", max = limits::REPLIES)]
    Replies,
    /// The compressed requests are not one sound gzip member.
    #[error("gzip: {0}")]
    Gzip(&'static str),
}

enum Stop {
    Short,
    Error(ProtocolError),
}

/// The command at the front of `bytes` and its length in bytes; `None` when bytes are missing.
///
/// # Errors
/// [`ProtocolError`] and the number of bytes before it, as soon as the first wrong byte is there.
pub(crate) fn command(
    bytes: &[u8],
) -> Result<Option<(Command<'_>, usize)>, (ProtocolError, usize)> {
    let mut c = Cursor::new(bytes, Order::Big);
    match read(&mut c) {
        Ok(command) => Ok(Some((command, c.position()))),
        Err(Stop::Short) => Ok(None),
        Err(Stop::Error(error)) => Err((error, c.position())),
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
        other => return Err(Stop::Error(ProtocolError::Command(other))),
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
    full(c.bytes(length.ok_or(Stop::Error(ProtocolError::Field(stated)))?))
}

fn string<'a>(c: &mut Cursor<'a>) -> Result<&'a str, Stop> {
    std::str::from_utf8(field(c)?).map_err(|_| Stop::Error(ProtocolError::NotUtf8))
}

fn open<'a>(c: &mut Cursor<'a>) -> Result<Open<'a>, Stop> {
    Ok(Open { name: string(c)?, sequence: full(c.i32())?, reset: full(c.i32())? != 0 })
}

/// Appends the reply to INIT_STREAM.
pub(crate) fn opened(out: &mut BytesMut, handle: Uuid, period_ms: u64, size: u64, sequence: i32) {
    out.put_slice(&handle);
    out.put_u64(period_ms);
    out.put_u64(size);
    out.put_i32(sequence);
}

/// Settings that agents get in replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Protocol version in the reply to hello: 100605, or 100705 for a dictionary with ids. Agents
    /// disconnect on any other.
    pub version: u64,
    /// Period after which agents reopen a stream, in milliseconds; 0: never.
    pub rotation_period_ms: u64,
    /// Size at which agents reopen a stream, in bytes; 0: the agent decides.
    pub rotation_size: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { version: 100_605, rotation_period_ms: 0, rotation_size: 0 }
    }
}

/// The error that closes a connection, and its position in the (inflated) requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {at}: {what}")]
pub struct Violation {
    /// Bytes before the error.
    pub at: u64,
    /// The error.
    pub what: ProtocolError,
}

/// Identity of an agent. Each name can be empty.
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

/// An opening of a stream: the first, or a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Index among the streams of the connection: the same when it is opened again.
    pub stream: usize,
    /// Name of the stream.
    pub name: &'a str,
    /// Content of the stream.
    pub kind: StreamKind,
    /// The handle in the reply.
    pub handle: Uuid,
    /// Sequence in the request: 0 at first, then that of the last file + 1.
    pub requested: i32,
    /// Sequence in the reply: at least the requested one, and above that of the last file.
    /// References contain sequence + 1.
    pub sequence: i32,
    /// The agent asks to drop the words of its dictionary.
    pub reset: bool,
    /// A rotation: the stream was open before.
    pub again: bool,
    /// Rotation period in the reply, in milliseconds; 0: never.
    pub rotation_period_ms: u64,
    /// Rotation size in the reply, in bytes; 0: never.
    pub rotation_size: u64,
}

/// A command as the streams and metrics need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Hello: once per connection, before any other event.
    Hello(Hello<'a>),
    /// INIT_STREAM, after its reply was decided.
    Opened(Opened<'a>),
    /// RCV_DATA: a piece of a stream.
    Data {
        /// Index of the stream, as in [`Opened`].
        stream: usize,
        /// 0 to 1024 bytes.
        payload: &'a [u8],
    },
    /// REQUEST_ACK_FLUSH: the end of a stream's turn in the flush cycle.
    Flush,
    /// REPORT_COMMAND_RESULT: this collector sends no diagnostic commands.
    CommandResult {
        /// Id of the command.
        id: Uuid,
        /// The command succeeded.
        ok: bool,
    },
    /// CLOSE: the JVM exits normally.
    Close,
}

/// Content of a stream, by its name (docs/protocols/java-profiler.md A.6).
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
    /// `suspend`: times when the JVM was not scheduled.
    Suspend,
    /// `params`: definitions of parameters.
    Params,
    /// `gc`: the JVM's unified log; agents before 3.1.4.
    Gc,
    /// Any other name: only its bytes are counted.
    Opaque,
}

impl StreamKind {
    /// Names with a meaning.
    const KNOWN: [(&'static str, Self); 9] = [
        ("trace", Self::Trace),
        ("calls", Self::Calls),
        ("xml", Self::Xml),
        ("sql", Self::Sql),
        ("dictionary", Self::Dictionary),
        ("posDictionary", Self::PosDictionary),
        ("suspend", Self::Suspend),
        ("params", Self::Params),
        ("gc", Self::Gc),
    ];

    /// The kind of the stream `name`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self::known(name).map_or(Self::Opaque, |(_, kind)| *kind)
    }

    fn known(name: &str) -> Option<&'static (&'static str, Self)> {
        Self::KNOWN.iter().find(|(known, _)| *known == name)
    }

    /// A stream's name to be kept: that of a known kind needs no memory.
    pub(crate) fn keep(name: &str) -> Cow<'static, str> {
        Self::known(name).map_or_else(|| name.to_owned().into(), |(known, _)| (*known).into())
    }

    /// Whether rotation may apply: dictionaries and params are needed whole
    /// (docs/protocols/java-profiler.md A.6).
    #[must_use]
    pub const fn rotates(self) -> bool {
        !matches!(self, Self::Dictionary | Self::PosDictionary | Self::Params)
    }
}

/// A pod's name `<server name>_<epoch ms>`, split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodName<'a> {
    /// The name without the start time.
    pub server: &'a str,
    /// Start of the JVM, in milliseconds since 1970. The same on all connections of one JVM.
    pub started_ms: Option<i64>,
}

impl<'a> PodName<'a> {
    /// Splits the pod name of a hello.
    #[must_use]
    pub fn of(pod: &'a str) -> Self {
        /// 2001 to 2286: 13 digits. Any other text behind a `_` belongs to the name.
        const MILLISECONDS: std::ops::Range<i64> = 1_000_000_000_000..10_000_000_000_000;
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let split = pod.rsplit_once('_').filter(|(_, start)| digits(start));
        match split.and_then(|(server, start)| Some((server, start.parse::<i64>().ok()?))) {
            Some((server, ms)) if MILLISECONDS.contains(&ms) => {
                Self { server, started_ms: Some(ms) }
            }
            _ => Self { server: pod, started_ms: None },
        }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/wire.rs"]
mod tests;
