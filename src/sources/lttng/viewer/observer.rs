//! The events of reading a session: the contract between the viewer protocol and the metrics and
//! records made of it. Nothing here depends on CTF.

use super::model::{Index, SessionInfo, StreamInfo, TraceKey};
use super::settings::Seek;

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
    /// Larger than [`super::Settings::packet`].
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
    /// [`super::Settings::streams`] or the limit of the relay daemon is reached: the stream is not
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
/// * Packets of one stream come in order, and once, as long as the [`super::ReplayFilter`] is
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
