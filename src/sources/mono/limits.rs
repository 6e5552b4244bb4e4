//! Bounds on everything that a peer can cause, each with its reason. Numbers of sections are those
//! of docs/protocols/mono-counters.md.

use std::time::Duration;

use mono_counters::message;

/// Bytes of one string: names and categories of counters (section 6). The longest of Mono 6.8 has
/// 41.
pub(super) const NAME: usize = message::LONGEST_NAME;
/// Most counters that one Headers can announce, that one List can name and that one connection can
/// number: counts and indexes are signed shorts (section 1). An agent of 2014 continues with
/// negative indexes, which breaks its own framing.
pub(super) const COUNTERS: usize = message::COUNTERS;
/// Bytes of one Hello, List or Sampling message (section 6: 32767 counters of 15 letters took 1.41
/// MB with their sample).
pub(super) const MESSAGE: usize = 4 << 20;
/// Bytes within which any stream must show its dialect: 300 times what captured ones need (section
/// 3.2).
pub(super) const UNDECIDED: usize = 64 << 10;
/// Further undecided bytes for each counter that the first count states, up to 1.5 MiB in all
/// (section 3.2): twice a header of dialect A with a name of usual length, because the sample
/// follows.
pub(super) const UNDECIDED_PER_COUNTER: usize = 44;
/// Different Hellos that connections share: runtimes of a host by version and options. Those of
/// further ones are kept by each connection.
pub(super) const SHARED_HELLOS: usize = 256;
/// Time for the whole Hello (section 3.2); also for the first sample, if it identifies the process.
pub(super) const HELLO_TIME: Duration = Duration::from_secs(10);
/// Requests sent and not answered. Agents answer between two samples; more requests would only wait
/// in the agent's socket.
pub(super) const OUTSTANDING: usize = 64;
/// Requests not yet sent: every counter removed and as many added.
pub(super) const WAITING: usize = 2 * COUNTERS;
/// Control requests of users in progress: as many as the store queues for a peer.
pub(super) const PENDING_REQUESTS: usize = 64;
/// Items in the text of one control request, separated by `;`.
pub(super) const ITEMS: usize = 1024;
/// Bytes of the text that answers a control request; a fetch carries it.
pub(super) const ANSWER: usize = 32 << 10;
/// Bytes of a text value that is stored for a counter that is not shown now; longer ones are not.
pub(super) const REMEMBERED_TEXT: usize = 256;
/// Longest sampling interval; a longer gap between two times of an agent is a stepped clock.
pub(super) const INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// Bytes of one text of a log profiler's header (docs/protocols/mono-mlpd.md 1): the options are
/// those of a command line.
pub(super) const MLPD_HEADER_TEXT: u32 = 64 << 10;
/// Bytes of events in one buffer of a log profiler's stream (docs/protocols/mono-mlpd.md 2): Mono
/// writes 64 KiB, and more only for one event with many roots.
pub(super) const MLPD_BUFFER: u32 = 16 << 20;
/// Bytes of one text in an event; names of methods with many type arguments have some KiB.
pub(super) const MLPD_TEXT: usize = 64 << 10;
/// Frames of one backtrace. Mono writes at most 32.
pub(super) const MLPD_FRAMES: u64 = 1024;
/// Bytes of a list of mounts that are read: some 4,000 of them.
pub(super) const MOUNTS: u64 = 1 << 20;
/// Counters of programs' own categories of one process, over all of its life: an area has room for
/// some 100 at a time, and a program may rename them again and again.
pub(super) const USER_COUNTERS: usize = 1024;
/// Processes whose areas are read.
pub(super) const AREAS: usize = 4096;
/// Processes of which a report waits: each may have an open file. Others are found again.
pub(super) const REPORTS: usize = AREAS;
/// Processes whose start times are remembered, to tell one whose id is used again.
pub(super) const PROCESSES: usize = 4096;
/// Event records of one kind and process a second. A throw with its record takes 2 us.
pub(super) const RECORDS_A_SECOND: u32 = 1000;
/// Nanoseconds from which on a wait for a lock has a record.
pub(super) const CONTENTION_RECORD: u64 = 10_000_000;
/// Records that wait for the end of a flush: two seconds of two kinds.
pub(super) const WAITING_RECORDS: usize = 4096;
/// Bytes of the name of a thread in a record.
pub(super) const THREAD_NAME: usize = 64;
/// Bytes of a stack as a text.
pub(super) const RECORD_STACK: usize = 16 << 10;
/// Methods of one process with a row in `exceptions.by_site`, and in `lock.top`.
pub(super) const SITE_ROWS: usize = 200;
pub(super) const LOCK_ROWS: usize = 100;
/// Classes of one process with a row in tables by class.
pub(super) const TYPE_ROWS: usize = 200;
/// Ids of one table between two reports that wait for their names; the rest has none.
pub(super) const PENDING_IDS: usize = 4096;
/// Frames of a wait among which the waiting method is: three are the lock's own.
pub(super) const FRAMES_OF_WAIT: usize = 6;
/// Pauses of one process that wait for the end of a flush: a pause takes 50 us at least.
pub(super) const PAUSES: usize = 20_000;
/// Live threads of one process.
pub(super) const LIVE_THREADS: usize = 65_536;
/// Types in one heapshot.
pub(super) const LIVE_TYPES: usize = 100_000;
/// Objects whose types are known: only with gcalloc and gcmove, 40 MB.
pub(super) const OBJECTS: usize = 1_000_000;
/// Moves of objects that happen at once: a nursery has 4 MiB.
pub(super) const MOVES: usize = 1 << 18;
/// Bytes of a buffer of a file that is kept until the next one shows that it is whole. Longer ones,
/// which Mono writes for heap shots only, are decoded as they come.
pub(super) const MLPD_KEPT: usize = 128 << 10;
/// Hits of one process that wait for the end of a flush: a second of 160 threads at 100 Hz. More
/// are weighed at once.
pub(super) const PROFILE_HITS: usize = 16_384;
/// Frames of the stacks of these hits.
pub(super) const PROFILE_FRAMES: usize = 65_536;
/// Stacks and methods of one report with a name; the time of more is in `other`.
pub(super) const PROFILE_NAMES: usize = 4096;
/// Bytes of a stack's name.
pub(super) const STACK_NAME: usize = 1500;
/// Bytes of the name of a method, class or thread of the log profiler (docs/protocols/mono-mlpd.md
/// 4): longer ones are cut.
pub(super) const METHOD_NAME: usize = 200;
/// Methods of one stream whose names are kept; a large server compiles some 50 000.
pub(super) const METHODS: usize = 200_000;
/// Classes of one stream whose names are kept, and vtables.
pub(super) const CLASSES: usize = 100_000;
/// Threads of one stream whose names are kept; ended ones are forgotten.
pub(super) const THREADS: usize = 20_000;
/// Time in which a stream of a process that this host does not know must name its program: the
/// first flush comes after a second.
pub(super) const PROGRAM_TIME: Duration = Duration::from_secs(3);
