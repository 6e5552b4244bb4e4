//! The live viewer protocol, without I/O and without a clock: one connection to a relay daemon that
//! lists its sessions, and one more for each session that is read.
//!
//! ```text
//!  Listing  start ─▶ CONNECT, LIST ─▶ LIST once a second ─▶ Roster: a session that matches a pattern ─▶ Start
//!
//!  Reading  start ─▶ CONNECT, CREATE, ATTACH ─▶ streams
//!  trace:   METADATA until nothing is new ◀── flag 1 of any reply ── its streams wait until then
//!  stream:  INDEX ─ok─▶ PACKET + next INDEX in one write ─▶ … ─retry, beacon─▶ asked again when data is due (`backoff`)
//!           INDEX ─hung up─▶ gone;  last of its session ─▶ NEW_STREAMS ─session over─▶ End ─▶ Roster; may be listed again
//! ```
//!
//! Each session needs a connection of its own. For a connection the relay daemon keeps *one*
//! folder: that of the session whose streams were opened last. Streams of another session that open
//! later would be read from there: from the wrong file, or not at all.
//!
//! A [`Reading`] serves one connection and reports to an [`Observer`]. The [`ReplayFilter`]
//! outlives connections, so that no packet is reported twice. It is part of the [`Start`] from the
//! [`Roster`] and of the [`End`] that goes back to it.
//!
//! Requests are pipelined: one write has the requests of all streams that are due. For one stream
//! that is at most a packet and the index behind it, in this order. The relay daemon reads packets
//! from the file of the *latest* index, so with two indexes ahead it would read from the wrong file
//! when files are rotated or cleared.
//!
//! # Duties of the driver
//! * connects, sets `TCP_NODELAY`, calls `start` and sends `out`;
//! * reads into the spare capacity of `input`, which is as large as the expected reply, so that a
//!   packet is never copied; calls `feed` and sends `out` at once;
//! * calls `tick` at `next_wakeup` and sends `out`;
//! * sets `TCP_QUICKACK` before each read. The relay daemon has Nagle's algorithm on, so the second
//!   of two writes waits for the delayed ack, 40 ms each time. Second writes are the rest of LIST,
//!   ATTACH, METADATA and `NEW_STREAMS`, and the index behind every packet;
//! * after each listing takes the sessions to read from the roster, and makes a connection for
//!   each;
//! * when reading [is over](Reading::is_over), after an error, or when the connection is gone,
//!   calls [`Reading::close`] and passes the end to [`Roster::ended`]; connects again for listings
//!   with back-off.
//!
//! Bytes pass [`wire`] → `connection` → `reading::replies` → `streams` → [`Observer`]; requests pass
//! `streams` → `reading` → [`wire`].
//!
//! This page has the nouns of the protocol, the settings, and the events of reading a session: the contract with the
//! metrics and records made of it. Nothing here depends on CTF.

mod connection;
mod reading;
mod roster;
mod wire;

use std::time::Duration;

use super::limits;
pub use super::limits::{
    METADATA, METADATA_REPLY, METADATA_SESSION, OUTSTANDING, PACKET, PARTIAL, SESSIONS, STREAMS,
};
use crate::events::glob;
pub use connection::{Lister, Listing};
pub use reading::{End, OpenStreams, Reading, Start};
pub use roster::{ReplayFilter, Roster};

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

/// A pattern of sessions, `host/session`; `*` matches any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    host: String,
    session: String,
}

impl Pattern {
    /// Longest pattern in bytes: names have 64 and 255 at most.
    const LENGTH: usize = 1024;

    /// Parses `host/session`, or `session` for any host. Session names have no slash.
    ///
    /// `None` if a side is empty or the whole is longer than 1024 bytes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, session) = text.split_once('/').unwrap_or(("*", text));
        let sound = !host.is_empty()
            && !session.is_empty()
            && !session.contains('/')
            && text.len() <= Self::LENGTH;
        sound.then(|| Self { host: host.to_owned(), session: session.to_owned() })
    }

    /// Whether a session matches.
    #[must_use]
    pub fn fits(&self, host: &str, session: &str) -> bool {
        glob(self.host.as_bytes(), host.as_bytes())
            && glob(self.session.as_bytes(), session.as_bytes())
    }
}

/// Where reading of a session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seek {
    /// With the oldest packet of the relay daemon.
    #[default]
    Beginning,
    /// With the first packet that is complete after the attach, for sessions of the first listing.
    /// Younger sessions and sessions that were read before begin with the oldest packet
    /// ([`ReplayFilter`] skips reported packets).
    Last,
}

/// Settings of the viewer of one relay daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A session that matches any of these patterns is read.
    pub patterns: Vec<Pattern>,
    /// Where reading begins.
    pub seek: Seek,
    /// Time between two requests for a stream whose data is due; at least 0.25 ms for each stream
    /// that is open on this relay daemon ([`OpenStreams`]).
    pub poll: Duration,
    /// Time between two listings: the longest delay until a new session is found.
    pub list: Duration,
    /// Time between two listings for [`Self::busy_time`] after a session has come or gone: others that come and go
    /// soon after it are found, too. More where many sessions are listed.
    pub list_busy: Duration,
    /// How long listings stay frequent after a session has come or gone.
    pub busy_time: Duration,
    /// Longest time without a byte while a reply is due; after it the connection is closed.
    pub reply_time: Duration,
    /// Most streams of a session open at once.
    pub streams: usize,
    /// Most bytes of a packet's content; larger packets are skipped.
    pub packet: usize,
    /// Announced minor version, 4 to [`MINOR`]; lower than that only in tests.
    pub minor: u32,
}

impl Settings {
    /// The announced minor version.
    pub(super) fn announced(&self) -> u32 {
        self.minor.clamp(4, MINOR)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            seek: Seek::default(),
            poll: Duration::from_millis(5),
            list: Duration::from_secs(1),
            list_busy: Duration::from_millis(100),
            busy_time: Duration::from_secs(10),
            reply_time: limits::REPLY_TIME,
            streams: limits::STREAMS,
            packet: limits::PACKET,
            minor: MINOR,
        }
    }
}

/// A session was attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached<'a> {
    /// The session, as it was listed.
    pub session: &'a SessionInfo,
    /// Where reading begins. With [`Seek::Last`] the `events_discarded` of a stream's first packet
    /// is history, not loss. Streams that open later are always read from their beginning.
    pub seek: Seek,
    /// Number of streams that the attach announces.
    pub streams: u32,
}

/// Why a matching session is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// Another viewer is attached; the protocol allows one.
    Busy,
    /// Attached since our last connection: the relay daemon has not noticed that ours ended, or
    /// another viewer was quicker.
    Ours,
    /// The session is gone, or has a format that this minor version does not support.
    Unknown,
    /// The session was not created with `--live`.
    NotLive,
    /// The relay daemon does not support the seek.
    BadSeek,
    /// `lttng.max_sessions` is reached.
    Limit,
}

/// State of a trace's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The metadata is complete: packets may follow.
    Nothing,
    /// The metadata ends within a declaration, or between two of them before the one that a packet
    /// needs: packets, or this packet, wait for the rest, at most 5 s.
    More,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its stream.
    pub stream: &'a StreamInfo,
    /// Its index entry.
    pub index: &'a Index,
    /// Content without padding: `content_size` / 8 bytes, rounded up.
    pub bytes: &'a [u8],
    /// Metadata may still come: [`Observer::packet`] may answer [`Need::More`].
    pub may_wait: bool,
}

/// A stream was idle up to a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon<'a> {
    /// The stream.
    pub stream: &'a StreamInfo,
    /// Cycles of the trace's clock.
    pub timestamp_end: u64,
    /// Stream class.
    pub class: u64,
}

/// Why a packet is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Skipped {
    /// Reported before: a replay after a reconnect.
    Replayed,
    /// Larger than [`Settings::packet`].
    TooLarge,
    /// The index entry is impossible: no content, or more content than packet.
    BadIndex,
    /// The relay daemon could not read the packet: its file was cleared or rotated away.
    Unreadable,
}

/// Why a stream has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamEnd {
    /// The orderly end.
    HungUp,
    /// The relay daemon has lost the stream or cannot read it.
    Error,
}

/// Why reading a session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionEnd {
    /// The session was destroyed, and all packets are read.
    Closed,
    /// The relay daemon reports that no viewer is attached. The session is attached again if it is
    /// still listed.
    Lost,
    /// The connection is gone.
    Disconnected,
    /// Memory is short.
    Full,
}

/// A breach of the protocol after which reading continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Violation {
    /// A stream was announced twice, or with the number of another stream. The first one stays.
    StreamRepeated,
    /// [`Settings::streams`] or the limit of the relay daemon is reached: the stream is not
    /// read.
    TooManyStreams,
    /// The metadata of a trace was not complete in time. Its packets are reported nevertheless.
    MetadataMissing,
}

/// Receives the events of one session, in the order of the connection. All methods but
/// [`metadata`](Self::metadata) do nothing by default.
///
/// * The session is [`attached`](Self::attached) or [`refused`](Self::refused). Streams are
///   [`opened`](Self::stream_opened) at any time. [`session_over`](Self::session_over) ends the
///   session with all its streams and traces; closing the connection is
///   [`SessionEnd::Disconnected`]. A session that is created again under its name has another
///   number.
/// * Metadata comes before the packets that need it. With the next attach a trace begins anew, with
///   its whole metadata.
/// * Packets of one stream come in order, and once, as long as the [`ReplayFilter`] is
///   passed on. Packets of different streams are in no order. Bytes are borrowed and unchecked.
/// * Loss is the difference of `events_discarded` between two packets of a stream. After
///   `lttng clear` offsets begin at 0 again and packets are missing; nothing else shows it.
pub trait Observer {
    /// The session is attached.
    fn attached(&mut self, attached: Attached<'_>) {
        let _ = attached;
    }

    /// The attach was refused. It is retried with back-off.
    fn refused(&mut self, session: &SessionInfo, why: Refused) {
        let _ = (session, why);
    }

    /// The session has ended, with all its streams and traces.
    fn session_over(&mut self, session: &SessionInfo, why: SessionEnd) {
        let _ = (session, why);
    }

    /// A stream is open. The metadata stream of a trace may open after its data streams, but its
    /// bytes come before their packets.
    fn stream_opened(&mut self, stream: &StreamInfo) {
        let _ = stream;
    }

    /// A data stream has ended. Its trace stays until [`Self::trace_gone`].
    fn stream_ended(&mut self, stream: &StreamInfo, why: StreamEnd) {
        let _ = (stream, why);
    }

    /// More metadata of a trace, never empty. It continues the metadata since the attach or the
    /// last [`metadata_restart`](Self::metadata_restart).
    fn metadata(&mut self, trace: TraceKey, bytes: &[u8]) -> Need;

    /// The metadata begins anew (`lttng metadata regenerate`).
    fn metadata_restart(&mut self, trace: TraceKey) {
        let _ = trace;
    }

    /// A trace is gone: its process or session has ended, or it has had no stream for 5 s. Its
    /// last stream has ended.
    fn trace_gone(&mut self, trace: TraceKey) {
        let _ = trace;
    }

    /// A packet. [`Need::More`]: its stream class is not in the metadata yet, nothing was counted, and
    /// it is reported again, after more metadata or when none comes. Only if it
    /// [may wait](Packet::may_wait).
    fn packet(&mut self, packet: Packet<'_>) -> Need {
        let _ = packet;
        Need::Nothing
    }

    /// A packet is skipped. Its index entry is valid: `events_discarded` may have grown.
    fn skipped(&mut self, stream: &StreamInfo, index: &Index, why: Skipped) {
        let _ = (stream, index, why);
    }

    /// A stream was idle. Called once for each new time.
    fn beacon(&mut self, beacon: Beacon<'_>) {
        let _ = beacon;
    }

    /// The relay daemon broke the protocol; reading continues.
    fn violation(&mut self, violation: Violation) {
        let _ = violation;
    }
}

#[cfg(test)]
#[path = "tests/settings.rs"]
mod tests;
