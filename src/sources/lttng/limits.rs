//! Bounds on everything that a relay daemon, the `lttng` program, the session daemon and users can cause, each with its
//! reason.

use std::time::Duration;

/// Sessions in one reply to LIST. They are parsed one by one; only matching sessions are kept.
pub(super) const LISTED: u32 = 16_384;
/// Matching sessions that are kept with the reason why they are not attached.
pub(super) const CANDIDATES: usize = 1024;
/// Sessions that are read at once, of all relay daemons, unless configured (`lttng.max_sessions`).
/// Each has a connection.
pub const SESSIONS: usize = 256;
/// Bytes of a host or session name with its length in front (minor 15). LTTng's own bounds are 64
/// and 255.
pub(super) const NAME: u32 = 4096;
/// Streams that one reply may announce: 71 MB of records, read one by one. A host with 256
/// processors and 60 processes with per-process buffers has this many.
pub(super) const RECORDS: u32 = 16_384;
/// Streams of one session open at once, unless configured; metadata streams count. Each costs about
/// 0.7 KiB and its path.
pub const STREAMS: usize = 8192;
/// Typical bytes of path, channel and map entry of a stream.
pub(super) const STREAM_NAMES: usize = 256;
/// Data streams open at once on one relay daemon, over all sessions.
pub(super) const CROWD: usize = 32_768;
/// Bytes of the content of one packet, unless configured. Sub-buffers usually have 16 KiB to 1 MiB.
pub const PACKET: usize = 16 << 20;
/// Bytes of one reply to METADATA. 160 classes of .NET have 77 KB; a kernel with all its system
/// calls 1.5 MB.
pub const METADATA_REPLY: usize = 16 << 20;
/// Bytes of the metadata of one trace since its beginning or last restart.
pub const METADATA: u64 = 64 << 20;
/// Bytes of the metadata of all open traces of one session.
pub const METADATA_SESSION: u64 = 256 << 20;
/// Bytes of incomplete packets of one session. LTTng's relay daemons send packets whole.
pub const PARTIAL: usize = 32 << 20;
/// Pieces of one packet.
pub(super) const PIECES: u32 = 16_384;
/// Requests without a reply: 9 KB. Any socket buffers that much while the relay daemon does not
/// read, so the two sides cannot deadlock.
pub const OUTSTANDING: usize = 256;
/// Longest time without a byte while a reply is due.
pub(super) const REPLY_TIME: Duration = Duration::from_secs(10);
/// Refused reads of one packet before it is skipped. The pause between them doubles: 2.5 s in all.
pub(super) const PACKET_TRIES: u32 = 10;
/// Longest time that packets wait for complete metadata. A trace also stays for this time after its
/// last stream has ended, because another stream may open.
pub(super) const METADATA_TIME: Duration = Duration::from_secs(5);
/// Shortest time between two `NEW_STREAMS` of one session: a flag that is always set must not cause
/// a busy loop.
pub(super) const FLAGGED: Duration = Duration::from_millis(20);
/// Time between two `NEW_STREAMS` of one session without a flag (docs/protocols/lttng.md, (i)
/// Lifecycle), and between the first two METADATA that check whether a trace without streams is
/// gone.
pub(super) const SAFETY_NET: Duration = Duration::from_secs(1);
/// Longest time between two METADATA that check whether a trace is gone.
pub(super) const CHECK: Duration = Duration::from_secs(30);
/// First and longest pause after a refused attach or a lost session.
pub(super) const ATTACH_FIRST: Duration = Duration::from_secs(1);
pub(super) const ATTACH_RETRY: Duration = Duration::from_secs(30);
/// First and longest pause after a broken connection.
pub(super) const BROKEN_FIRST: Duration = Duration::from_millis(250);
pub(super) const BROKEN_RETRY: Duration = Duration::from_secs(5);
/// After a session was read for this time, retries begin with the first pause again.
pub(super) const LASTED: Duration = Duration::from_secs(10);
/// Time without packets after which the rest of a destroyed session is dropped.
pub(super) const CLOSING: Duration = Duration::from_secs(5);
/// Streams kept by [`super::viewer::ReplayFilter`], and by [`super::viewer::Roster`] after their connections are
/// gone: 80 bytes each.
pub(super) const SEEN_STREAMS: usize = 16_384;
/// Sessions kept by [`super::viewer::Roster`].
pub(super) const SEEN_SESSIONS: usize = 4096;
/// First bytes of the metadata that identify a trace: they contain its UUID in all three encodings.
pub(super) const IDENTITY: usize = 256;

/// Bytes of standard output of the `lttng` program. The longest answer lists tracepoints, with
/// about 250 bytes for each tracepoint of each process (410 in a .NET process).
pub(super) const OUTPUT_MAX: usize = 16 << 20;
/// Bytes of standard error: one line for each refused event.
#[cfg(feature = "agent")]
pub(super) const STDERR_MAX: usize = 64 << 10;
/// Levels of elements in an answer; `list` has ten.
pub(super) const DEPTH_MAX: usize = 32;
/// Sessions, channels, events, contexts, processes and different tracepoints in an answer, each.
pub(super) const ITEMS_MAX: usize = 65_536;
/// Bytes of one text in an answer: names are up to 255, paths up to 4096.
pub(super) const TEXT_MAX: usize = 8192;

/// Managed sessions.
pub(super) const SESSIONS_MAX: usize = 64;
/// Bytes of a session's name; relay daemons before 2.11 cut it at 64, session daemons reject 255.
pub(super) const NAME_MAX: usize = 200;
/// Event patterns of a session: they go onto one command line, which has 128 KiB for an argument.
pub(super) const EVENTS_MAX: usize = 256;
/// Bytes of an event pattern (`LTTNG_SYMBOL_NAME_LEN` less its NUL).
pub(super) const EVENT_LENGTH_MAX: usize = 255;
/// Contexts of a session.
pub(super) const CONTEXTS_MAX: usize = 64;
/// Bytes of a filter expression.
pub(super) const FILTER_MAX: usize = 4096;
/// Bytes of a request that a user stores.
pub(super) const REQUEST_MAX: usize = 8192;
/// Requests in the queue.
#[cfg(feature = "agent")]
pub(super) const REQUESTS_MAX: usize = 64;
/// Bytes of the state file.
pub(super) const STATE_MAX: usize = 4 << 20;

/// Time limit of a command. The slowest in practice is the first `enable-event` (it starts the
/// consumer: 0.2 s).
pub(super) const COMMAND_TIME: Duration = Duration::from_secs(10);
/// Time limit of `stop`, `destroy` and the list of tracepoints, which wait for data in transit or
/// for every program.
pub(super) const SLOW_COMMAND_TIME: Duration = Duration::from_secs(30);
/// Time between two comparisons of wanted and existing sessions.
pub(super) const PERIOD: Duration = Duration::from_secs(10);
/// Pause after the first failure; each further one doubles it up to [`BACKOFF_MAX`].
pub(super) const BACKOFF: Duration = Duration::from_secs(1);
/// Longest pause after failures.
pub(super) const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// A session younger than this does not count as lost: the relay daemon may not list it yet.
pub(super) const LOST_GRACE: Duration = Duration::from_secs(5);
/// Shortest time between two lists of tracepoints, which explain why no events come.
pub(super) const PROGRAMS_PERIOD: Duration = Duration::from_secs(30);
