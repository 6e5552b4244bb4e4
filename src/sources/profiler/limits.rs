//! Bounds on everything that an agent can cause, each with its reason. Letters refer to
//! docs/protocols/java-profiler.md.

use std::time::Duration;

/// Bytes of one field of a command: a name, or the payload of RCV_DATA. Both sides of the protocol
/// reject longer ones (A.2).
pub const FIELD: usize = 1024;
/// Streams with different names on one connection. Agents open 7 or 8 (A.6); 11 names are known.
pub const STREAMS: usize = 32;
/// Bytes of replies that one `feed` may leave in the output. The driver sends all of them between
/// two calls of `feed`, and an agent reads its acks before it sends more: only an attack reaches
/// this limit.
pub const REPLIES: usize = 256 << 10;
/// Bytes inflated before they are parsed (A.7): the memory that a gzip bomb can take.
pub const INFLATED: usize = 16 << 10;
/// Bytes inflated in one turn, after which other connections are served: the size of one read of an
/// uncompressed connection.
pub const TURN: usize = 64 << 10;
/// Largest ratio of inflated to compressed bytes: real connections reach 20, deflate 1,030. The
/// ratio counts from [`RATIO_FROM`] bytes on.
pub const RATIO: u64 = 250;
/// Inflated bytes before the ratio counts.
pub const RATIO_FROM: u64 = 1 << 20;
/// Commands without a payload in one second, the time between two ticks: an agent flushes every
/// 5 s.
pub const EMPTY: u32 = 10_000;
/// Bytes of the variable part of a gzip header (extra field, name, comment). Agents send none.
pub const GZIP_HEADER: usize = 1024;

/// Bytes of the longest token: the numbers of a call behind its thread are 6 varints and 8
/// varlongs, 110 bytes (B.5).
pub(super) const TOKEN: usize = 128;
/// UTF-16 units that a string may claim. More means that the framing is lost; agents cut values
/// near 50000 (B.1).
pub const UNITS: u32 = 1 << 20;
/// UTF-16 units of a string that are kept; the rest is skipped. No word is longer, because no
/// phrase is.
pub const TEXT: u32 = 8 << 10;
/// Bytes of all values of one call that are kept. With all other buffers of a decoder this stays
/// below 64 KiB.
pub const CALL_TEXT: usize = 32 << 10;
/// Values of one call that are kept.
pub const CALL_VALUES: usize = 256;
/// Parameters that a call may claim, and values of one of them. Agents send at most 100 values of
/// each (B.5).
pub const CLAIMED: u32 = 1024;
/// Bytes that a phrase may claim. Agents close one at 10240 (B.1).
pub const PHRASE: u32 = 64 << 10;
/// Threads of one file of calls whose names are kept; later threads have no name. A file usually
/// has 2 MiB or covers an hour.
pub const THREADS: usize = 8192;
/// UTF-16 units of a thread's name that are kept.
pub const THREAD_NAME: u32 = 128;
/// UTF-16 units of a parameter's name and of its signature.
pub const PARAM_NAME: u32 = 256;
/// Bytes of a line of a gc log; longer lines are skipped. Lines with pauses have 120.
pub const GC_LINE: usize = 1024;

/// Words of one pod, and the highest id: a quarter of a million. A real pod has 950 after its
/// start; methods get ids when they are first instrumented.
pub const WORDS: usize = 1 << 18;
/// Bytes of the words of one pod, shared with other pods or not. A real pod has 170 KiB.
pub const POD_TEXT: usize = 16 << 20;
/// Bytes of all words of all pods, unless configured.
pub const ALL_TEXT: usize = 256 << 20;
/// Dictionaries of disconnected JVMs that are kept: agents may reconnect without sending theirs
/// again.
pub const KEPT_PODS: usize = 1024;
/// Bytes of all kept dictionaries (and at most a quarter of the limit for words of all pods),
/// shared with other pods or not.
pub const KEPT_TEXT: usize = 64 << 20;
/// Seconds for which such a dictionary is kept.
pub const KEPT_SECONDS: u64 = 3600;
/// Longest time that a call waits for names: agents flush every 5 s, idle ones every 10 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(11);
/// Bytes of the pending calls of one pod: 5 s of 60,000 short calls a second. All of them become
/// records at once when their names arrive, and records have 32 MiB unless configured: more would
/// not fit.
pub const PENDING: usize = 64 << 20;
/// Bytes of the pending calls of all pods.
pub const ALL_PENDING: usize = 128 << 20;
/// Bytes of pending calls that each pod may have even if other pods use up the common limit.
pub const PENDING_LEAST: usize = 64 << 10;
/// Bytes of the events of one root that are kept for its tree. The start of a real service has 4.3 KB, a call with
/// 10,000 statements about 100 KB.
pub(super) const TREE_ROOT: usize = 64 << 10;
/// Bytes of the events of all roots of one connection that are kept.
pub(super) const TREE_PEER: usize = 1 << 20;
/// Slow calls of one pod that have come before the end of their root.
pub(super) const TREE_CALLS: usize = 32;
/// Shortest call whose record waits for the pauses that may have fallen into it, in milliseconds: those of shorter
/// ones, of which there are many, have the pauses that are known when they come.
pub(super) const SUSPENDED_MS: u64 = 100;
/// Calls of one pod that pauses may have fallen into which are not known yet; 64 KiB.
pub(super) const OPEN_CALLS: usize = 4096;
/// Values of the stream `sql` of one pod whose texts are kept while somebody reads trees, and their bytes.
pub(super) const STATEMENTS: usize = 1024;
/// See [`STATEMENTS`].
pub(super) const STATEMENT_BYTES: usize = 256 << 10;
/// Bytes of such a text.
pub(super) const STATEMENT: usize = 4096;
/// Pauses of one pod that are kept, to tell which part of a call they were: 96 KiB. A real pod has 500 in the first
/// 95 s, and far fewer later.
pub(super) const PAUSES: usize = 4096;
/// Age of such a pause, in milliseconds.
pub(super) const PAUSE_AGE_MS: i64 = 600_000;
/// A pause that ends so long before the one before it, in milliseconds: the clock was set back.
pub(super) const PAUSE_BACK_MS: i64 = 60_000;
/// A pause that ends so far in the future, in milliseconds, is counted and falls into no call: no later one would.
/// Clocks of pods differ by less.
pub(super) const PAUSE_AHEAD_MS: i64 = 3_600_000;
/// Methods of one pod without a name whose sums are kept; also pairs of method and parameter
/// without a name.
pub(super) const UNNAMED: usize = 4096;
/// Tags with a number whose names have not arrived yet: any of them may be `calls.corrupted`.
pub(super) const LATE_TAGS: usize = 64;
/// Capacity in bytes that an empty buffer for strings may keep: most pods are idle.
pub(super) const IDLE_BUFFER: usize = 256;
