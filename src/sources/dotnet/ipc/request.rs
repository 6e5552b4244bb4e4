//! Requests to runtimes. Only requests that no runtime dies of can be built
//! (docs/protocols/dotnet.md 0).

use super::answer::HEADER;
use crate::sources::dotnet::wanted::{Provider, Wanted};

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

    /// Stacks can be turned off.
    #[must_use]
    pub const fn can_omit_stacks(self) -> bool {
        matches!(self, Self::Three | Self::Four | Self::Five)
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
    text(out, &provider.name)?;
    text(out, &provider.arguments)?;
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
fn text(out: &mut Vec<u8>, text: &str) -> Result<(), RequestError> {
    if text.is_empty() {
        return count_of(out, 0);
    }
    count_of(out, text.encode_utf16().count() + 1)?;
    for unit in text.encode_utf16().chain([0]) {
        out.extend_from_slice(&unit.to_le_bytes());
    }
    Ok(())
}
