//! Messages of the diagnostics socket in both directions (docs/protocols/dotnet.md 2). Requests are
//! whole values that are sent with one write: a runtime waits for the rest of half a request for
//! ever, and some end by a signal if a request is not what they expect. Only requests that no runtime
//! dies of can be built (docs/protocols/dotnet.md 0).

use std::fmt;

use super::wanted::{Provider, Wanted};
use crate::sources::dotnet::limits;

/// Versions of ProcessInfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoCommand {
    /// .NET 5.
    One,
    /// .NET 6 or 7.
    Two,
    /// .NET 8.
    Three,
}

/// Versions of CollectTracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CollectCommand {
    /// .NET Core 3.0. Rundown and stacks are on.
    One,
    /// .NET Core 3.1. Stacks are on.
    Two,
    /// .NET 8.
    Three,
    /// .NET 9: keywords of the rundown.
    Four,
    /// .NET 10: filters of events.
    Five,
}

impl CollectCommand {
    /// The command of a runtime's major version; `None`: the version is not known.
    #[must_use]
    pub const fn of_version(major: Option<u32>) -> Self {
        match major {
            Some(10..) => Self::Five,
            Some(9) => Self::Four,
            Some(8) => Self::Three,
            _ => Self::Two,
        }
    }

    /// The command of the runtimes before.
    #[must_use]
    pub const fn older(self) -> Option<Self> {
        match self {
            Self::Five => Some(Self::Four),
            Self::Four => Some(Self::Three),
            Self::Three => Some(Self::Two),
            Self::Two => Some(Self::One),
            Self::One => None,
        }
    }

    const fn id(self) -> u8 {
        match self {
            Self::One => 2,
            Self::Two => 3,
            Self::Three => 4,
            Self::Four => 5,
            Self::Five => 6,
        }
    }
}

/// Most providers of a session: some runtimes die of more than 1000.
pub(super) const PROVIDERS: usize = 256;
/// Most MiB of a runtime's buffer.
const BUFFER: u32 = 1024;
/// The stream format `Nettrace`. Runtimes die of others.
const NETTRACE: u32 = 1;

/// A request that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No provider, or too many.
    #[error("{0} providers: a session has 1 to {PROVIDERS}")]
    Providers(usize),
    /// A name is empty or has a NUL.
    #[error("the name or an argument of a provider is empty or has a NUL")]
    Name,
    /// The message's size has 16 bits.
    #[error("the request has {0} bytes; a message has at most 65535")]
    Size(usize),
}

/// A request to a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// What process is it?
    Info(InfoCommand),
    /// Opens a session: a stream follows the answer.
    Collect(CollectCommand, Wanted),
    /// Ends a session.
    Stop(u64),
    /// Lets a process start that waits for it.
    Resume,
}

impl Request {
    /// The bytes of the message, for one write.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn encode(&self) -> Result<Vec<u8>, RequestError> {
        let (set, id, payload) = match self {
            Self::Info(InfoCommand::One) => (4, 0, Vec::new()),
            Self::Info(InfoCommand::Two) => (4, 4, Vec::new()),
            Self::Info(InfoCommand::Three) => (4, 8, Vec::new()),
            Self::Resume => (4, 1, Vec::new()),
            Self::Stop(session) => (2, 1, session.to_le_bytes().to_vec()),
            Self::Collect(command, collect) => {
                (2, command.id(), collect_payload(*command, collect)?)
            }
        };
        let length = HEADER + payload.len();
        let size = u16::try_from(length).map_err(|_| RequestError::Size(length))?;
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(b"DOTNET_IPC_V1\0");
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&[set, id, 0, 0]);
        bytes.extend_from_slice(&payload);
        Ok(bytes)
    }
}

/// Some runtimes die of a buffer of 0 MiB.
fn collect_payload(command: CollectCommand, wanted: &Wanted) -> Result<Vec<u8>, RequestError> {
    let count = wanted.providers.len();
    if count == 0 || count > PROVIDERS {
        return Err(RequestError::Providers(count));
    }
    let mut out = Vec::new();
    if command == CollectCommand::Five {
        // The stream comes over this connection.
        out.extend_from_slice(&0_u32.to_le_bytes());
    }
    out.extend_from_slice(&wanted.buffer.clamp(1, BUFFER).to_le_bytes());
    out.extend_from_slice(&NETTRACE.to_le_bytes());
    match command {
        CollectCommand::One => {}
        CollectCommand::Two => out.push(u8::from(wanted.rundown != 0)),
        CollectCommand::Three => {
            out.extend_from_slice(&[u8::from(wanted.rundown != 0), u8::from(wanted.stacks)]);
        }
        CollectCommand::Four | CollectCommand::Five => {
            out.extend_from_slice(&wanted.rundown.to_le_bytes());
            out.push(u8::from(wanted.stacks));
        }
    }
    count_of(&mut out, count)?;
    for provider in &wanted.providers {
        provider_entry(provider, command, &mut out)?;
    }
    Ok(out)
}

fn provider_entry(
    provider: &Provider,
    command: CollectCommand,
    out: &mut Vec<u8>,
) -> Result<(), RequestError> {
    if provider.name.is_empty() || provider.name.contains('\0') || provider.arguments.contains('\0')
    {
        return Err(RequestError::Name);
    }
    out.extend_from_slice(&provider.keywords.to_le_bytes());
    out.extend_from_slice(&provider.level.min(5).to_le_bytes());
    write_text(out, &provider.name)?;
    write_text(out, &provider.arguments)?;
    if command == CollectCommand::Five {
        out.push(u8::from(!provider.only.is_empty()));
        count_of(out, provider.only.len())?;
        for event in &provider.only {
            out.extend_from_slice(&event.to_le_bytes());
        }
    }
    Ok(())
}

fn count_of(out: &mut Vec<u8>, count: usize) -> Result<(), RequestError> {
    let count = u32::try_from(count).map_err(|_| RequestError::Size(count))?;
    out.extend_from_slice(&count.to_le_bytes());
    Ok(())
}

/// A count of UTF-16 units with the NUL, then the units; 0 for an empty text.
fn write_text(out: &mut Vec<u8>, text: &str) -> Result<(), RequestError> {
    if text.is_empty() {
        return count_of(out, 0);
    }
    count_of(out, text.encode_utf16().count() + 1)?;
    for unit in text.encode_utf16().chain([0]) {
        out.extend_from_slice(&unit.to_le_bytes());
    }
    Ok(())
}

/// Bytes of a message's header.
pub const HEADER: usize = 20;
const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";
/// Command set of answers.
const SERVER: u8 = 0xFF;
const OK: u8 = 0;
const ERROR: u8 = 0xFF;

/// An answer of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Done; the command's payload.
    Done(&'a [u8]),
    /// An error of the runtime.
    Refused(Code),
}

/// Bytes that are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Another protocol.
    #[error("the answer does not begin as DOTNET_IPC_V1 does")]
    Magic,
    /// The size is less than that of the header.
    #[error("the answer's size of {0} bytes is less than its header's")]
    Size(u16),
    /// Neither OK nor an error.
    #[error("the answer has command {0:#04x}.{1:#04x}, neither OK nor an error")]
    Command(u8, u8),
    /// An error without a code.
    #[error("the answer is an error without a code")]
    NoCode,
}

impl<'a> Answer<'a> {
    /// Decodes the answer at the front of `input` and its size in bytes; what follows is the
    /// stream. `None`: more bytes are needed. An answer has at most 65,535 bytes.
    ///
    /// # Errors
    /// [`AnswerError`]: the connection must be closed. Told as early as the bytes allow it.
    pub fn parse(input: &'a [u8]) -> Result<Option<(Self, usize)>, AnswerError> {
        let known = input.len().min(MAGIC.len());
        if input.get(..known) != MAGIC.get(..known) {
            return Err(AnswerError::Magic);
        }
        let Some((&[low, high, set, id, _, _], _)) =
            input.get(MAGIC.len()..).and_then(<[u8]>::split_first_chunk)
        else {
            return Ok(None);
        };
        let size = u16::from_le_bytes([low, high]);
        let length = usize::from(size);
        if length < HEADER {
            return Err(AnswerError::Size(size));
        }
        if set != SERVER || (id != OK && id != ERROR) {
            return Err(AnswerError::Command(set, id));
        }
        let Some(payload) = input.get(HEADER..length) else { return Ok(None) };
        let answer = if id == OK {
            Self::Done(payload)
        } else {
            let code = payload.first_chunk().ok_or(AnswerError::NoCode)?;
            Self::Refused(Code(u32::from_le_bytes(*code)))
        };
        Ok(Some((answer, length)))
    }

    /// The session id of an answer to a collect command or StopTracing.
    #[must_use]
    pub fn session(&self) -> Option<u64> {
        match self {
            Self::Done(payload) => payload.first_chunk().map(|id| u64::from_le_bytes(*id)),
            Self::Refused(_) => None,
        }
    }
}

/// The HRESULT of an answer that is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u32);

impl Code {
    /// The request is not what its command wants.
    pub const BAD_ENCODING: Self = Self(0x8013_1384);
    /// The runtime is older than the command.
    pub const UNKNOWN_COMMAND: Self = Self(0x8013_1385);
    /// Another protocol.
    pub const UNKNOWN_MAGIC: Self = Self(0x8013_1386);
    /// Not in this runtime.
    pub const NOT_SUPPORTED: Self = Self(0x8013_1515);
    /// Of a collect command: 64 sessions are open.
    pub const FAIL: Self = Self(0x8000_4005);
    /// Too early in the start of the process.
    pub const NOT_YET_AVAILABLE: Self = Self(0x8013_135B);
    /// Too early in the start of the process.
    pub const RUNTIME_UNINITIALIZED: Self = Self(0x8013_1371);
    /// An argument is out of range.
    pub const INVALID_ARGUMENT: Self = Self(0x8007_0057);
    /// A buffer is too small.
    pub const INSUFFICIENT_BUFFER: Self = Self(0x8007_007A);
    /// No such variable.
    pub const NO_VARIABLE: Self = Self(0x8000_00CB);

    /// The code's name in the runtime's sources, without its prefix.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BAD_ENCODING => "BAD_ENCODING",
            Self::UNKNOWN_COMMAND => "UNKNOWN_COMMAND",
            Self::UNKNOWN_MAGIC => "UNKNOWN_MAGIC",
            Self::NOT_SUPPORTED => "NOTSUPPORTED",
            Self::FAIL => "FAIL",
            Self::NOT_YET_AVAILABLE => "NOT_YET_AVAILABLE",
            Self::RUNTIME_UNINITIALIZED => "RUNTIME_UNINITIALIZED",
            Self::INVALID_ARGUMENT => "INVALIDARG",
            Self::INSUFFICIENT_BUFFER => "INSUFFICIENT_BUFFER",
            Self::NO_VARIABLE => "ENVVAR_NOT_FOUND",
            _ => "error",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#010x})", self.name(), self.0)
    }
}

/// What a runtime tells of its process. Texts are cut at `limits::TEXT` bytes; empty ones are
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Process id as the process itself sees it.
    pub pid: u64,
    /// Identifies the runtime.
    pub cookie: [u8; 16],
    /// Command line; of a suspended process only the program.
    pub command: String,
    /// `Linux`, `linux-musl`, …
    pub os: String,
    /// `x64`, `arm64`, …
    pub arch: String,
    /// Name of the entry assembly. Of ProcessInfo2 and later.
    pub entry: String,
    /// Version of the runtime: `9.0.7`. Of ProcessInfo2 and later.
    pub version: String,
    /// Runtime identifier: `linux-x64`. Of ProcessInfo3.
    pub rid: String,
}

impl Info {
    /// Decodes the payload of the answer; `None`: it is too short.
    #[must_use]
    pub fn parse(command: InfoCommand, payload: &[u8]) -> Option<Self> {
        let mut rest = payload;
        if command == InfoCommand::Three {
            // The version of the layout: later ones append fields.
            take::<4>(&mut rest)?;
        }
        let mut info = Self {
            pid: u64::from_le_bytes(*take(&mut rest)?),
            cookie: *take(&mut rest)?,
            command: read_text(&mut rest)?,
            os: read_text(&mut rest)?,
            arch: read_text(&mut rest)?,
            ..Self::default()
        };
        if command != InfoCommand::One {
            info.entry = read_text(&mut rest)?;
            info.version = read_text(&mut rest)?;
        }
        if command == InfoCommand::Three {
            info.rid = read_text(&mut rest)?;
        }
        Some(info)
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (chunk, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(chunk)
}

/// A text: a count of UTF-16 units with the NUL, then the units.
fn read_text(rest: &mut &[u8]) -> Option<String> {
    let units = usize::try_from(u32::from_le_bytes(*take(rest)?)).ok()?;
    let (bytes, after) = rest.split_at_checked(units.checked_mul(2)?)?;
    *rest = after;
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).take_while(|unit| *unit != 0);
    let mut text = String::new();
    for c in char::decode_utf16(units) {
        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
        if text.len() + c.len_utf8() > limits::TEXT {
            break;
        }
        // A text of a metric has no control characters.
        text.push(if c.is_control() { ' ' } else { c });
    }
    Some(text)
}

/// Bytes of the message.
pub const ADVERTISE: usize = 34;

/// A runtime that has connected to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertise {
    /// Identifies the runtime: the same on each of its connections.
    pub cookie: [u8; 16],
    /// Process id as the process itself sees it. Anybody can claim any.
    pub pid: u64,
}

impl Advertise {
    /// Decodes the message; `None`: these bytes are another one.
    #[must_use]
    pub fn parse(bytes: &[u8; ADVERTISE]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (cookie, rest) = rest.split_first_chunk::<16>()?;
        let (pid, _) = rest.split_first_chunk::<8>()?;
        (magic == b"ADVR_V1\0").then(|| Self { cookie: *cookie, pid: u64::from_le_bytes(*pid) })
    }
}

#[cfg(test)]
#[path = "ipc_tests.rs"]
mod tests;
