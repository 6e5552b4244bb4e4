//! The nouns of the viewer protocol: relay daemon, session, trace, stream, index.

use std::time::Duration;

/// The highest minor version of the protocol, of lttng-tools 2.15 and later.
pub const MINOR: u32 = 15;

/// The relay daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relayd {
    /// Announced minor version: that of the release up to 14; 2.15 and later announce 15.
    pub minor: u32,
    /// Minor version in use: the lower of both. Below 15 sessions in CTF 2 are not listed.
    pub effective: u32,
}

/// Encoding of a session's traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// CTF 1.8; also below minor 15, where no other encoding is listed.
    Ctf1,
    /// CTF 2.
    Ctf2,
    /// Unknown number, from a later release.
    Other(u32),
}

/// A session in a listing. One recording session is up to three sessions of the relay daemon, for
/// the kernel, 64-bit and 32-bit programs, with the same host and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Number in this relay daemon; a restarted relay daemon begins at 1 again.
    pub id: u64,
    /// Host that is traced.
    pub host: String,
    /// Name of the session.
    pub name: String,
    /// Period of flushes or beacons; 0: the session is not live and cannot be attached.
    pub live_timer: Duration,
    /// Viewers attached.
    pub clients: u32,
    /// Streams, metadata included.
    pub streams: u32,
    /// Encoding.
    pub format: TraceFormat,
}

/// One trace: all streams that share metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceKey {
    /// Session, as [`SessionInfo::id`].
    pub session: u64,
    /// `ctf_trace_id`.
    pub trace: u64,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// Number in this relay daemon, the same after a reconnect.
    pub id: u64,
    /// Its trace.
    pub trace: TraceKey,
    /// The stream has the trace's metadata and no packets.
    pub metadata: bool,
    /// `ust/uid/0/64-bit`, `ust/pid/NAME-PID-YYYYMMDD-HHMMSS`, `kernel`.
    pub path: String,
    /// `NAME_CPU`, or `metadata`.
    pub channel: String,
}

/// Index entry of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Byte offset in the file; begins at 0 again after `lttng clear` and in each new file.
    pub offset: u64,
    /// Bits, padding included.
    pub packet_size: u64,
    /// Bits without padding.
    pub content_size: u64,
    /// Cycles of the trace's clock.
    pub timestamp_begin: u64,
    /// Cycles of the trace's clock.
    pub timestamp_end: u64,
    /// Events that the tracer has discarded since the beginning of the stream.
    pub events_discarded: u64,
    /// Stream class.
    pub stream_class: u64,
}
