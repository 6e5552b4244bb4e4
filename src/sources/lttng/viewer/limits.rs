//! Bounds on everything that a relay daemon can cause, each with its reason. "Spec" is
//! specs/lttng-live-and-ctf.md, part i.

use std::time::Duration;

/// Sessions that one LIST may announce. They are read one by one and only those that fit are kept.
pub(super) const LISTED: u32 = 16_384;
/// Sessions that fit and are remembered with the reason why they are not attached.
pub(super) const CANDIDATES: usize = 1024;
/// Sessions that are read at once, of all relay daemons, unless configured (`lttng.max_sessions`).
/// Each has a connection.
pub const SESSIONS: usize = 256;
/// Bytes of a host or session name with its length in front (minor 15). LTTng's own bounds are 64
/// and 255.
pub(super) const NAME: u32 = 4096;
/// Streams that one reply may announce: 71 MB of records, read one by one. A host with 256
/// processors and 60 processes of its own buffers has as many.
pub(super) const RECORDS: u32 = 16_384;
/// Streams of one session open at once, unless configured; metadata streams count. Each costs about
/// 0.7 KiB and its path.
pub const STREAMS: usize = 8192;
/// Bytes of path and channel of a stream with what finds it, as a rule.
pub(super) const STREAM_NAMES: usize = 256;
/// Streams of packets of all sessions of one relay daemon open at once.
pub(super) const CROWD: usize = 32_768;
/// Bytes of the content of one packet, unless configured. Sub-buffers have 16 KiB to 1 MiB as a
/// rule.
pub const PACKET: usize = 16 << 20;
/// Bytes of one reply to METADATA. 160 classes of .NET have 77 KB; a kernel with all its system
/// calls 1.5 MB.
pub const METADATA_REPLY: usize = 16 << 20;
/// Bytes of the metadata of one trace in all, unless it begins anew.
pub const METADATA: u64 = 64 << 20;
/// Bytes of the metadata of all open traces of one session.
pub const METADATA_SESSION: u64 = 256 << 20;
/// Bytes of packets of one session that have come in part. Relay daemons of LTTng send packets
/// whole.
pub const PARTIAL: usize = 32 << 20;
/// Pieces of one packet.
pub(super) const PIECES: u32 = 16_384;
/// Requests sent and not answered: 9 KB, which any socket takes without the relay daemon reading,
/// so that neither side can wait for the other.
pub const OUTSTANDING: usize = 256;
/// Time without a byte while a reply is due.
pub(super) const REPLY_TIME: Duration = Duration::from_secs(10);
/// Refused reads of one packet until it is given up; the time between them doubles, so this is 2.5
/// s.
pub(super) const PACKET_TRIES: u32 = 10;
/// Time that packets wait for metadata that does not come, or that the reader says is not whole;
/// also the time that a trace stays after its last stream, for one more of it to come.
pub(super) const METADATA_TIME: Duration = Duration::from_secs(5);
/// Shortest time between two `NEW_STREAMS` of one session: a flag that is always set must not spin.
pub(super) const FLAGGED: Duration = Duration::from_millis(20);
/// Time between two `NEW_STREAMS` of one session without a reason (spec: the safety net), and
/// between the first two METADATA of a trace that has no streams, to learn that it is gone.
pub(super) const SAFETY_NET: Duration = Duration::from_secs(1);
/// The longest time between two of the latter.
pub(super) const CHECK: Duration = Duration::from_secs(30);
/// First and longest time between two attempts to attach that were refused or of which the relay
/// daemon lost the session.
pub(super) const ATTACH_FIRST: Duration = Duration::from_secs(1);
pub(super) const ATTACH_RETRY: Duration = Duration::from_secs(30);
/// The same after the connection broke.
pub(super) const BROKEN_FIRST: Duration = Duration::from_millis(250);
pub(super) const BROKEN_RETRY: Duration = Duration::from_secs(5);
/// What was read for so long begins with the first again.
pub(super) const LASTED: Duration = Duration::from_secs(10);
/// Time without news in which the streams of a destroyed session are read to their ends.
pub(super) const CLOSING: Duration = Duration::from_secs(5);
/// Streams remembered by [`super::ReplayFilter`], and by [`super::Roster`] after their connections are
/// gone: 80 bytes each.
pub(super) const SEEN_STREAMS: usize = 16_384;
/// Sessions remembered by [`super::Roster`].
pub(super) const SEEN_SESSIONS: usize = 4096;
/// First bytes of the metadata that tell one trace from another: they have its UUID in all three
/// encodings.
pub(super) const IDENTITY: usize = 256;
