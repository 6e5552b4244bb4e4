//! Bounds on everything that a region, a map or a command line can cause, each with its reason.
//! Numbers of sections are those of docs/protocols/jvm-hsperfdata.md.

use std::time::Duration;

/// Bytes of a region. 32 KiB by default; -XX:PerfDataMemorySize is set by hand, seldom above 1 MiB.
pub(crate) const REGION: usize = 16 << 20;
/// A region that needs more than this is read each [`LARGE_EVERY`] seconds: JVMs use 9 to 17 KB, and a file
/// made to be read costs its user's processes their figures and nobody else's.
pub(crate) const LARGE: usize = 256 << 10;
/// Readings of others between two of a large region.
pub(crate) const LARGE_EVERY: u32 = 16;
/// Entries of a directory. JVMs have 133 to 249 (section 3); this many take 6 ms.
pub(crate) const ENTRIES: u32 = 65_536;
/// Bytes of a counter's name. The longest of all captures has 56.
pub(crate) const NAME: usize = 1024;
/// Bytes of a text that is looked at. -XX:PerfMaxStringConstLength is 1,024 by default.
pub(crate) const TEXT: usize = 4096;
/// Readings that parse a directory anew because it ended early, though its prologue stays the same.
/// An entry is filled in within microseconds; a file made to be parsed for ever is not followed.
pub(crate) const RETRIES: u8 = 8;
/// A region is read in whole pages: entries come seldom, and what is beyond the bytes in use costs as much as they do.
/// One that has grown into the next page is read twice, once.
pub(crate) const PAGE: usize = 4096;
/// Characters of a name of a program or service, as of other sources.
pub(crate) const PROGRAM: usize = 64;
/// Processes that are instances at once; more are not read.
pub(crate) const PROCESSES: usize = 4_000;
/// Processes of which a report waits while a reading hangs: each may have an open file. Others are found again.
pub(crate) const REPORTS: usize = PROCESSES;
/// Bytes of a command line.
pub(crate) const COMMAND: u64 = 64 << 10;
/// Characters of a command line that are shown: as many as a JVM keeps of it.
pub(crate) const SHOWN: usize = 1024;
/// Bytes of a process's environment.
pub(crate) const ENVIRONMENT: u64 = 256 << 10;
/// Bytes of a list of mounts that are read: some 4,000 of them.
pub(crate) const MOUNTS: u64 = 1 << 20;
/// Time that a JVM may need until its performance data is ready.
pub(crate) const STARTING: Duration = Duration::from_secs(10);
/// Time after which what a JVM says of itself is complete.
pub(crate) const COMPLETE: Duration = Duration::from_millis(1_500);
/// Rows of the table in which HotSpot tells of its fields, some 3,000 of 48 bytes.
pub(crate) const ROWS: usize = 20_000;
/// Bytes of a row.
pub(crate) const ROW: usize = 256;
/// Rows that are read at once.
pub(crate) const ROWS_AT_ONCE: usize = 500;
/// Time that a reading of a process's memory may take: that of a user's making can hold it up as long as it likes.
pub(crate) const MEMORY_TIME: Duration = Duration::from_millis(500);
/// Readings after which a process is unread whose memory is gone: it has ended, or executes another program, and
/// is found so.
pub(crate) const LOST: u8 = 10;
/// Rows of a process in a table of classes: the memory of most programs is in fewer.
pub(crate) const CLASSES: usize = 200;
/// Names of classes in a histogram; the others are in its sums only. Programs have up to 50,000.
pub(crate) const CLASS_NAMES: usize = 65_536;
/// Threads in deadlocks that are named.
pub(crate) const DEADLOCKED: usize = 8;
/// Bytes of the name of a thread.
pub(crate) const THREAD: usize = 128;
/// Bytes of the name of a class or method.
pub(crate) const METHOD: usize = 512;
/// Stacks, and methods, of one process's recordings with a row of their own.
pub(crate) const ROWS_OF_PROFILE: usize = 500;
/// Different stacks of a recording; what has no room is `other`.
pub(crate) const STACKS: usize = 16_384;
/// Different methods of a recording; what has no room is `other`.
pub(crate) const METHODS: usize = 65_536;
/// Frames of a stack: the JVM takes 64 unless it is told to take more.
pub(crate) const FRAMES: usize = 256;
/// Bytes of a stack's name; longer ones lose their outermost frames.
pub(crate) const STACK_NAME: usize = 1500;
/// Records of each kind that a recording makes, and collections whose pauses are kept.
pub(crate) const RECORDS: usize = 1000;
/// Pauses of a collection that are told.
pub(crate) const PHASES: usize = 16;
/// Bytes of a text of a record.
pub(crate) const MESSAGE: usize = 4 << 10;
/// Age of a process before which it is not asked to open its door, but waited for: HotSpot catches SIGQUIT from its
/// start on, but one that is just starting may execute another program.
pub(crate) const ATTACH_AGE: Duration = Duration::from_secs(3);
/// Time in which the door must be open. JVMs take 10 to 40 ms.
pub(crate) const DOOR: Duration = Duration::from_secs(5);
/// Time between two looks at what a process does.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// Time within which a request ends that is stopped, apart from what the JVM needs.
pub(crate) const STOP: Duration = Duration::from_millis(100);
/// Time that the end of the PMDA waits for recordings to be stopped: that takes some 50 ms.
pub(crate) const LAST_WORD: Duration = Duration::from_secs(1);
/// Time between an answer of a process and the next request to it.
pub(crate) const REST: Duration = Duration::from_secs(1);
/// Requests that run at the same time, each to another process.
pub(crate) const REQUESTS: usize = 4;
/// Requests that run or were given up.
pub(crate) const THREADS_OF_REQUESTS: usize = 16;
/// Bytes of the number that an answer begins with, and of the end of its line.
pub(crate) const RESULT: usize = 10;
/// Characters of a text of a JVM that are part of an answer.
pub(crate) const SAID: usize = 200;
/// Time that the answer to a command may take: a histogram of a large heap takes many seconds.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Bytes of an answer; a longer one is refused. A dump of 1,000 threads has some 2 MB.
pub(crate) const ANSWER: usize = 16 << 20;
/// Bytes of a recording. It is told to keep 24 MB.
pub(crate) const RECORDING: u64 = 64 << 20;
/// Time after which a request is given up. It goes on in its thread, and the JVMs of its user are not asked until that
/// has ended.
pub(crate) const PATIENCE: Duration = Duration::from_secs(200);
