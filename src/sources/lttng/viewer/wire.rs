//! Encodes requests and decodes replies (docs/protocols/lttng.md (i); tables on the page of
//! [`super::super`]). Nothing here has state.

use std::time::Duration;

use bytes::{BufMut, BytesMut};

use super::super::limits;
use super::{Index, Seek, SessionInfo, TraceFormat};
use crate::contract::SessionError;
use crate::read::{Cursor, Order};

const MAJOR: u32 = 2;
/// From this minor version on names have lengths, and sessions in CTF 2 are listed.
const FORMATS: u32 = 15;
/// From this minor version on DETACH exists.
pub(super) const DETACH: u32 = 8;

/// All requests, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Connect { minor: u32 },
    ListSessions,
    AttachSession { session: u64, seek: Seek },
    GetNextIndex { stream: u64 },
    GetPacket { stream: u64, offset: u64, length: u32 },
    GetMetadata { stream: u64 },
    GetNewStreams { session: u64 },
    CreateSession,
    DetachSession { session: u64 },
}

impl Request {
    const fn command(self) -> (u32, u64) {
        match self {
            Self::Connect { .. } => (1, 20),
            Self::ListSessions => (2, 0),
            Self::AttachSession { .. } => (3, 20),
            Self::GetNextIndex { .. } => (4, 8),
            Self::GetPacket { .. } => (5, 20),
            Self::GetMetadata { .. } => (6, 8),
            Self::GetNewStreams { .. } => (7, 8),
            Self::CreateSession => (8, 0),
            Self::DetachSession { .. } => (9, 8),
        }
    }

    /// Appends header and body.
    pub(super) fn encode(self, out: &mut BytesMut) {
        let (command, size) = self.command();
        out.put_u64(size);
        out.put_u32(command);
        out.put_u32(0);
        match self {
            Self::Connect { minor } => {
                out.put_u64(0);
                out.put_u32(MAJOR);
                out.put_u32(minor);
                // Connection type: commands. The other type was never implemented.
                out.put_u32(1);
            }
            Self::AttachSession { session, seek } => {
                out.put_u64(session);
                out.put_u64(0);
                out.put_u32(match seek {
                    Seek::Beginning => 1,
                    Seek::Last => 2,
                });
            }
            Self::GetPacket { stream, offset, length } => {
                out.put_u64(stream);
                out.put_u64(offset);
                out.put_u32(length);
            }
            Self::GetNextIndex { stream: id }
            | Self::GetMetadata { stream: id }
            | Self::GetNewStreams { session: id }
            | Self::DetachSession { session: id } => out.put_u64(id),
            Self::ListSessions | Self::CreateSession => {}
        }
    }
}

/// Status of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexStatus {
    Ok,
    Retry,
    HungUp,
    Error,
    Inactive,
}

/// Status of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketStatus {
    Ok,
    Retry,
    Error,
}

/// Flags of index and packet replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(u32);

impl Flags {
    pub(super) const fn new_metadata(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) const fn new_streams(self) -> bool {
        self.0 & 2 != 0
    }
}

/// Error in a reply. The caller adds the offset.
pub(super) type ProtocolError = SessionError;

pub(super) fn malformed(what: impl Into<String>) -> ProtocolError {
    SessionError::Malformed { offset: 0, what: what.into() }
}

/// The fixed part of a reply, or the number of bytes that it has.
type Fixed<T> = Result<T, usize>;

const fn cursor(bytes: &[u8]) -> Cursor<'_> {
    Cursor::new(bytes, Order::Big)
}

macro_rules! fixed {
    ($bytes:expr, $size:expr, |$c:ident| $read:expr) => {{
        let mut $c = cursor($bytes);
        // A closure, so that `?` returns `None` for short input.
        #[allow(clippy::redundant_closure_call)]
        let read = (|| $read)();
        read.ok_or($size)
    }};
}

/// Reply to CONNECT: major, minor.
pub(super) fn connect(bytes: &[u8]) -> Fixed<(u32, u32)> {
    fixed!(bytes, CONNECT, |c| {
        let _viewer = c.u64()?;
        let version = (c.u32()?, c.u32()?);
        c.u32()?;
        Some(version)
    })
}
pub(super) const CONNECT: usize = 20;

/// The relay daemon's minor version, if its major version is ours.
pub(super) fn minor((major, minor): (u32, u32)) -> Result<u32, ProtocolError> {
    if major == MAJOR {
        Ok(minor)
    } else {
        Err(SessionError::Unsupported(format!("relay daemon of protocol {major}.{minor}")))
    }
}

/// One number: replies to CREATE and DETACH, the count of LIST.
pub(super) fn word(bytes: &[u8]) -> Fixed<u32> {
    fixed!(bytes, WORD, |c| c.u32())
}
pub(super) const WORD: usize = 4;

/// Two numbers: status and count of ATTACH and `NEW_STREAMS`.
pub(super) fn pair(bytes: &[u8]) -> Fixed<(u32, u32)> {
    fixed!(bytes, PAIR, |c| Some((c.u32()?, c.u32()?)))
}
pub(super) const PAIR: usize = 8;

/// Reply to `GET_NEXT_INDEX`: index, status, flags.
pub(super) fn index(bytes: &[u8]) -> Fixed<(Index, u32, Flags)> {
    fixed!(bytes, INDEX, |c| {
        let index = Index {
            offset: c.u64()?,
            packet_size: c.u64()?,
            content_size: c.u64()?,
            timestamp_begin: c.u64()?,
            timestamp_end: c.u64()?,
            events_discarded: c.u64()?,
            stream_class: c.u64()?,
        };
        Some((index, c.u32()?, Flags(c.u32()?)))
    })
}
pub(super) const INDEX: usize = 64;

pub(super) fn index_status(status: u32) -> Result<IndexStatus, ProtocolError> {
    Ok(match status {
        1 => IndexStatus::Ok,
        2 => IndexStatus::Retry,
        // Status 6, end of file, is defined and was never sent.
        3 | 6 => IndexStatus::HungUp,
        4 => IndexStatus::Error,
        5 => IndexStatus::Inactive,
        other => return Err(malformed(format!("status {other} of an index"))),
    })
}

/// The fixed part of the reply to `GET_PACKET`: status, length, flags.
pub(super) fn packet(bytes: &[u8]) -> Fixed<(u32, u32, Flags)> {
    fixed!(bytes, PACKET, |c| Some((c.u32()?, c.u32()?, Flags(c.u32()?))))
}
pub(super) const PACKET: usize = 12;

pub(super) fn packet_status(status: u32) -> Result<PacketStatus, ProtocolError> {
    Ok(match status {
        1 => PacketStatus::Ok,
        2 => PacketStatus::Retry,
        // Status 4, end of file: no such packet exists.
        3 | 4 => PacketStatus::Error,
        other => return Err(malformed(format!("status {other} of a packet"))),
    })
}

/// The fixed part of the reply to `GET_METADATA`: length, status.
pub(super) fn metadata(bytes: &[u8]) -> Fixed<(u64, u32)> {
    fixed!(bytes, METADATA, |c| Some((c.u64()?, c.u32()?)))
}
pub(super) const METADATA: usize = 12;

/// A session of a listing and its number of bytes, or the number of bytes needed.
pub(super) fn session(
    bytes: &[u8],
    minor: u32,
) -> Result<Fixed<(SessionInfo, usize)>, ProtocolError> {
    if minor < FORMATS { Ok(session_fixed(bytes)) } else { session_counted(bytes) }
}
const SESSION_FIXED: usize = 339;
const SESSION_COUNTED: usize = 32;

fn session_fixed(bytes: &[u8]) -> Fixed<(SessionInfo, usize)> {
    fixed!(bytes, SESSION_FIXED, |c| {
        let (id, timer, clients, streams) = (c.u64()?, c.u32()?, c.u32()?, c.u32()?);
        let (host, name) = (text(c.bytes(64)?), text(c.bytes(255)?));
        let live_timer = Duration::from_micros(timer.into());
        Some((
            SessionInfo { id, host, name, live_timer, clients, streams, format: TraceFormat::Ctf1 },
            SESSION_FIXED,
        ))
    })
}

fn session_counted(bytes: &[u8]) -> Result<Fixed<(SessionInfo, usize)>, ProtocolError> {
    let lengths = fixed!(bytes, SESSION_COUNTED, |c| {
        c.bytes(20)?;
        Some((c.u32()?, c.u32()?))
    });
    let (host, name) = match lengths {
        Ok((host, name)) => (
            within("session.host", host, limits::NAME)?,
            within("session.name", name, limits::NAME)?,
        ),
        Err(need) => return Ok(Err(need)),
    };
    let size = SESSION_COUNTED + host + name;
    Ok(fixed!(bytes, size, |c| {
        let (id, timer, clients, streams) = (c.u64()?, c.u32()?, c.u32()?, c.u32()?);
        c.bytes(8)?;
        let format = match c.u32()? {
            0 => TraceFormat::Ctf1,
            1 => TraceFormat::Ctf2,
            other => TraceFormat::Other(other),
        };
        let (host, name) = (text(c.bytes(host)?), text(c.bytes(name)?));
        let live_timer = Duration::from_micros(timer.into());
        Some((SessionInfo { id, host, name, live_timer, clients, streams, format }, size))
    }))
}

/// A stream record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: u64,
    pub(super) trace: u64,
    pub(super) metadata: bool,
    pub(super) path: String,
    pub(super) channel: String,
}

pub(super) fn record(bytes: &[u8]) -> Fixed<Record> {
    // Texts are made once, when the record is complete.
    let whole = bytes.get(..RECORD).ok_or(RECORD)?;
    fixed!(whole, RECORD, |c| {
        let (id, trace, metadata) = (c.u64()?, c.u64()?, c.u32()? != 0);
        Some(Record {
            id,
            trace,
            metadata,
            path: text(c.bytes(4096)?),
            channel: text(c.bytes(255)?),
        })
    })
}
pub(super) const RECORD: usize = 4371;

/// Checks a number against a limit.
pub(super) fn within(limit: &'static str, got: u32, max: u32) -> Result<usize, ProtocolError> {
    if got > max {
        return Err(SessionError::Limit { limit, got: got.into(), max: max.into() });
    }
    // 32 bits fit: there is no 16-bit target.
    Ok(usize::try_from(got).unwrap_or(usize::MAX))
}

/// Text up to the first NUL; bytes that are not UTF-8 are replaced.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

#[cfg(test)]
#[path = "tests/wire.rs"]
mod tests;
