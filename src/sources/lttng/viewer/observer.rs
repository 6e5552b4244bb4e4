//! What a relay daemon tells: the contract between the viewer and what makes metrics and events of
//! traces. Nothing here knows CTF.

use super::model::{Index, SessionInfo, StreamInfo, TraceKey};
use super::settings::Seek;

/// A session was attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached<'a> {
    /// Which.
    pub session: &'a SessionInfo,
    /// Where reading begins. With [`Seek::Last`] the `events_discarded` of a stream's first packet
    /// is history, not loss. It does not hold for streams that open later: those are read from
    /// their beginning.
    pub seek: Seek,
    /// Streams that follow.
    pub streams: u32,
}

/// Why a session that fits is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// Another viewer has it; the protocol allows one.
    Busy,
    /// It has been attached ever since we had it: the relay daemon has not noticed that our
    /// connection is gone, or another viewer was quicker.
    Ours,
    /// It is gone, or is in a format that older minors do not show.
    Unknown,
    /// It was not created with `--live`.
    NotLive,
    /// The relay daemon does not know the seek.
    BadSeek,
    /// As many sessions are read as may be.
    Limit,
}

/// What the reader of metadata says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// All bytes so far make sense: packets may come.
    Nothing,
    /// The bytes end inside a declaration: packets are held back until more have come, 5 s at most.
    More,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its stream.
    pub stream: &'a StreamInfo,
    /// What the index says of it.
    pub index: &'a Index,
    /// Its content, without the padding: `content_size` / 8 bytes, rounded up.
    pub bytes: &'a [u8],
}

/// Nothing happened in a stream up to a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon<'a> {
    /// The stream.
    pub stream: &'a StreamInfo,
    /// Cycles of the trace's clock.
    pub timestamp_end: u64,
    /// Stream class.
    pub class: u64,
}

/// Why a packet is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Skipped {
    /// It was told before: a replay after a reconnect.
    Replayed,
    /// Larger than [`super::Settings::packet`].
    TooLarge,
    /// Its index cannot be true: no content, or more content than packet.
    BadIndex,
    /// The relay daemon would not read it, or read less than was asked: its file was cleared or
    /// rotated away.
    Unreadable,
}

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamEnd {
    /// The orderly end.
    HungUp,
    /// The relay daemon does not know it any more, or cannot read it.
    Error,
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionEnd {
    /// It was destroyed and everything is read.
    Closed,
    /// The relay daemon says that we are not attached (any more). It is attached again if it is
    /// still listed.
    Lost,
    /// The connection is gone.
    Disconnected,
    /// It was given up: there is no memory for it.
    Full,
}

/// A breach of the protocol that costs nothing but what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Violation {
    /// A stream was announced again, or with a number that another one has. The first one stands.
    StreamRepeated,
    /// [`super::Settings::streams`] is reached, or as many are open on the relay daemon as may be;
    /// the stream is not read.
    TooManyStreams,
    /// A trace's metadata did not come in time, or was never whole. Its packets come nevertheless.
    MetadataMissing,
}

/// Takes what a relay daemon tells of a session, in the order of the connection. All methods but
/// one do nothing unless they are written.
///
/// * The session is [`attached`](Self::attached), or [`refused`](Self::refused). Its streams are
///   [`opened`](Self::stream_opened), more of them at any time, and it ends with
///   [`session_over`](Self::session_over), which ends all streams and traces that have not ended,
///   without a word for each. If it is still attached when reading is closed it is over then
///   ([`SessionEnd::Disconnected`]). What is destroyed and created again under the same name has another
///   number.
/// * Metadata comes before the packets that need it. Everything about a trace begins anew with the
///   next attach: metadata is sent in full again.
/// * Packets of one stream come in order, each once as long as [`super::ReplayFilter`] is handed on; those
///   of different streams are in no order. Bytes are borrowed: copy what is to stay. They are
///   whatever was sent.
/// * Loss is the difference of `events_discarded` of two packets of a stream. `lttng clear` makes
///   offsets begin anew and packets disappear; nothing else tells of it.
pub trait Observer {
    /// A session is being read.
    fn attached(&mut self, attached: Attached<'_>) {
        let _ = attached;
    }

    /// The relay daemon does not let us read it. Tried again with back-off.
    fn refused(&mut self, session: &SessionInfo, why: Refused) {
        let _ = (session, why);
    }

    /// A session is over, with all its streams and traces.
    fn session_over(&mut self, session: &SessionInfo, why: SessionEnd) {
        let _ = (session, why);
    }

    /// A stream exists. The metadata stream of a trace can be told after data streams of it, but
    /// its bytes come first.
    fn stream_opened(&mut self, stream: &StreamInfo) {
        let _ = stream;
    }

    /// Nothing more comes of a stream of packets. The trace stays until it is
    /// [`gone`](Self::trace_gone).
    fn stream_ended(&mut self, stream: &StreamInfo, why: StreamEnd) {
        let _ = (stream, why);
    }

    /// More metadata of a trace, never empty; a continuation of what came since the attach or the
    /// last [`metadata_restart`](Self::metadata_restart).
    fn metadata(&mut self, trace: TraceKey, bytes: &[u8]) -> Need;

    /// The metadata that follows is not a continuation: it is all sent again (`lttng metadata
    /// regenerate`).
    fn metadata_restart(&mut self, trace: TraceKey) {
        let _ = trace;
    }

    /// A trace's metadata is not read any more: its process or session is gone, or it has had no
    /// stream for 5 s since its last.
    fn trace_gone(&mut self, trace: TraceKey) {
        let _ = trace;
    }

    /// A packet.
    fn packet(&mut self, packet: Packet<'_>) {
        let _ = packet;
    }

    /// A packet that is not given, and why. Its index counts nevertheless: `events_discarded` may
    /// have grown.
    fn skipped(&mut self, stream: &StreamInfo, index: &Index, why: Skipped) {
        let _ = (stream, index, why);
    }

    /// A stream was idle. Told once for each new time.
    fn beacon(&mut self, beacon: Beacon<'_>) {
        let _ = beacon;
    }

    /// The relay daemon did what it should not.
    fn violation(&mut self, violation: Violation) {
        let _ = violation;
    }
}
