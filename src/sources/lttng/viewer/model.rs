//! The things of the viewer protocol: relay daemons, sessions, traces, streams, indexes.

use std::time::Duration;

/// The highest minor version of the protocol, of lttng-tools 2.15 and later.
pub const MINOR: u32 = 15;

/// The relay daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relayd {
    /// Its minor version. It is its release's up to 14 (2.13 says 13); 2.15 and all later ones say
    /// 15.
    pub minor: u32,
    /// What is spoken: the lower of its and ours. Below 15, sessions in CTF 2 are not even listed.
    pub effective: u32,
}

/// Encoding of a session's traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// CTF 1.8; also said when the relay daemon cannot tell, because then there is no other.
    Ctf1,
    /// CTF 2.
    Ctf2,
    /// A number that came later.
    Other(u32),
}

/// A session as it is listed. Host and name are what users know; the kernel, 64-bit and 32-bit
/// applications of one session of theirs are sessions of their own here, with the same host and
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its number in this relay daemon. A restarted one begins at 1 again.
    pub id: u64,
    /// Host that is traced.
    pub host: String,
    /// Name of the session.
    pub name: String,
    /// How often buffers are flushed, or beacons sent; 0: not live, cannot be attached.
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
    /// Its number in this relay daemon, the same after a reconnect to the same one.
    pub id: u64,
    /// Its trace.
    pub trace: TraceKey,
    /// It carries the trace's metadata and no packets.
    pub metadata: bool,
    /// `ust/uid/0/64-bit`, `ust/pid/NAME-PID-YYYYMMDD-HHMMSS`, `kernel`.
    pub path: String,
    /// `NAME_CPU`, or `metadata`.
    pub channel: String,
}

/// What the index says of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Bytes before it in its file. Begins at 0 again after `lttng clear` and in each new file.
    pub offset: u64,
    /// Bits, padding included.
    pub packet_size: u64,
    /// Bits that have a meaning.
    pub content_size: u64,
    /// Cycles of the trace's clock.
    pub timestamp_begin: u64,
    /// Cycles of the trace's clock.
    pub timestamp_end: u64,
    /// Events that the tracer has dropped in this stream since its beginning.
    pub events_discarded: u64,
    /// Stream class.
    pub stream_class: u64,
}
