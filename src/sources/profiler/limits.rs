//! Bounds on everything that an agent can cause, each with its reason. "Spec" is specs/profiler.md.

/// Bytes of one field of a command: a name, or the payload of RCV_DATA. Both sides of the protocol
/// refuse more (spec A.2).
pub const FIELD: usize = 1024;
/// Streams with different names on one connection. Agents open 7 or 8 (spec A.6); 11 names are
/// known.
pub const STREAMS: usize = 32;
/// Replies that one `feed` may leave in the output. The driver sends them all between two of them,
/// and an agent reads its acks before it goes on, so only a bomb gets here.
pub const REPLIES: usize = 256 << 10;
/// Bytes inflated before they are parsed (spec A.7): what a gzip bomb can make us hold.
pub const INFLATED: usize = 16 << 10;
/// Bytes inflated in one turn, after which other connections have theirs: as many as one read of an
/// agent that does not compress.
pub const TURN: usize = 64 << 10;
/// How many times its size a stream may inflate to: real ones get to 20, deflate to 1,030. It
/// counts from [`RATIO_FROM`] bytes on.
pub const RATIO: u64 = 250;
/// Inflated bytes before anything is said about their ratio.
pub const RATIO_FROM: u64 = 1 << 20;
/// Commands between two ticks that carry nothing, a second: an agent flushes every 5 s.
pub const EMPTY: u32 = 10_000;
/// Bytes of the variable part of a gzip header (extra field, name, comment). Agents send none.
pub const GZIP_HEADER: usize = 1024;

/// Bytes of the longest token: the part of a call behind its thread is 6 varints and 8 varlongs,
/// which is 110 (spec B.5).
pub(super) const TOKEN: usize = 128;
/// UTF-16 units that a string may claim. Longer means that the framing is lost; agents cut values
/// near 50000 (spec B.1).
pub const UNITS: u32 = 1 << 20;
/// UTF-16 units of a string that are looked at; the rest is passed over. No word is longer, because
/// a phrase is not.
pub const TEXT: u32 = 8 << 10;
/// Bytes of all values of one call that are kept (spec, figures 3: at most 64 KiB pending in any
/// decoder).
pub const CALL_TEXT: usize = 32 << 10;
/// Values of one call that are kept.
pub const CALL_VALUES: usize = 256;
/// Parameters that a call may claim, and values of one of them. Agents send at most 100 values each
/// (spec B.5).
pub const CLAIMED: u32 = 1024;
/// Bytes that a phrase may claim. Agents close one at 10240 (spec B.1).
pub const PHRASE: u32 = 64 << 10;
/// Threads of one calls file whose names are kept; later ones stay without. A file has 2 MiB or an
/// hour as a rule.
pub const THREADS: usize = 8192;
/// UTF-16 units of a thread's name that are kept.
pub const THREAD_NAME: u32 = 128;
/// UTF-16 units of a parameter's name and of its signature.
pub const PARAM_NAME: u32 = 256;
/// Bytes of a line of a gc log; longer ones are passed over. Lines with pauses have 120.
pub const GC_LINE: usize = 1024;

/// Dictionary of one pod, and the highest id. A real pod has 950 after its start; ids are given to
/// methods when they are first instrumented, so this is a quarter of a million methods.
pub const WORDS: usize = 1 << 18;
/// Bytes of the words of one pod, whether other pods have them too or not. A real pod has 170 KiB.
pub const POD_TEXT: usize = 16 << 20;
/// Bytes of all words of all pods, unless configured.
pub const ALL_TEXT: usize = 256 << 20;
/// Dictionaries that are kept of JVMs without a connection: agents may come back without sending
/// theirs again.
pub const KEPT_PODS: usize = 1024;
/// Bytes of all of them (and at most a quarter of what words of all pods may take), whether others
/// have the same words or not.
pub const KEPT_TEXT: usize = 64 << 20;
/// Seconds that one is kept.
pub const KEPT_SECONDS: u64 = 3600;
/// Bytes of the calls of one pod that wait for names: 5 s of 60,000 short ones a second. All of
/// them become records at once when the names come, and records have 32 MiB unless configured: more
/// would be kept in vain.
pub const WAITING: usize = 64 << 20;
/// Bytes of the calls of all pods that wait for names.
pub const ALL_WAITING: usize = 128 << 20;
/// Bytes of waiting calls that a pod may have even if the others have taken all.
pub const WAITING_LEAST: usize = 64 << 10;
/// Methods of one pod that have no names yet and of which sums are kept; and pairs of method and
/// parameter without a name.
pub(super) const UNNAMED: usize = 4096;
/// Tags with a number whose names are not known yet: those that may turn out to be
/// `calls.corrupted`.
pub(super) const LATE_TAGS: usize = 64;
/// Capacity that a buffer for strings may keep while it is empty: most pods are idle.
pub(super) const IDLE_BUFFER: usize = 256;
