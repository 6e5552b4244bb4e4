//! Bounds on everything that a process or another program can cause.

use std::time::Duration;

/// The age from which EventCounters and meters are read by an entry of `dotnet.processes` that has none.
/// A program that ends during their first report, whose code is compiled meanwhile, dies or hangs now
/// and then; programs that end so early are mostly jobs and builds, whose status counts.
pub const COUNTERS_AGE: Duration = Duration::from_secs(60);
/// Processes that are instances at once; more are counted and not read.
pub const PROCESSES: usize = 2_000;
/// Processes of which a report waits until the task is at leisure. Others are found again.
pub const REPORTS: usize = 4_096;
/// Bytes of a nettrace block: runtimes send at most 100 KiB and a header (docs/protocols/dotnet.md 3).
pub const BLOCK: usize = 1 << 20;
/// Bytes of the name of a nettrace object.
pub const OBJECT_NAME: usize = 32;
/// Event types of one session.
pub const EVENT_TYPES: usize = 16_384;
/// Bytes of all event types of one session.
pub const TYPES: usize = 4 << 20;
/// Lists of labels between two sequence points (nettrace 6).
pub const LABELS: usize = 65_536;
/// Fields of one event type, nested ones included.
pub const FIELDS: usize = 256;
/// Depth of objects and arrays within fields.
pub const DEPTH: usize = 8;
/// Bytes of names of one event type: provider, event, fields.
pub const NAMES: usize = 16 << 10;
/// Threads of one session whose numbers of events are kept.
pub const THREADS: usize = 65_536;
/// Types of exceptions, and of allocated objects, of one process with a row of their own.
pub const TYPE_ROWS: usize = 200;
/// Reasons of collections, tiers and the like of one process with a row of their own: runtimes have a
/// handful.
pub const REASON_ROWS: usize = 20;
/// Locks of one process with a row of their own.
pub const LOCK_ROWS: usize = 100;
/// Waits, and methods that are being compiled, of one process: each thread has one at most.
pub const OPEN_PAIRS: usize = 4096;
/// Pauses of one process that have begun: the runtime has one at a time, and threads that wait for
/// theirs.
pub const OPEN_PAUSES: usize = 64;
/// Garbage collections of one process that have begun: a background one, one within it, and those
/// whose end was lost.
pub const OPEN_COLLECTIONS: usize = 16;
/// Frames of a stack; deeper ones lose their outermost frames.
pub const FRAMES: usize = 256;
/// Stacks between two sequence points that are kept for names of locks and stacks of records.
pub const STACKS: usize = 8192;
/// Methods of a process that its profiles know by their addresses.
pub const PROFILE_METHODS: usize = 131_072;
/// Bytes of their names.
pub const PROFILE_NAMES: usize = 16 << 20;
/// Bytes of one method's name.
pub const METHOD_NAME: usize = 512;
/// Different stacks of one burst; the time of others is in the row `other`.
pub const PROFILE_STACKS: usize = 16_384;
/// Stacks, and methods, of one process's profile with a row of their own.
pub const PROFILE_ROWS: usize = 500;
/// Frames of the stacks of one burst.
pub const PROFILE_FRAMES: usize = 524_288;
/// Stacks that a runtime numbers between two sequence points.
pub const PROFILE_IDS: usize = 65_536;
/// Threads that a burst samples.
pub const PROFILE_THREADS: usize = 16_384;
/// Numbers of samples of a stack, a thread and 100 ms that wait for the end of the burst; of more
/// the processor time is given out at once.
pub const PROFILE_COUNTS: usize = 262_144;
/// Bytes of a stack's name; longer ones lose their outermost frames.
pub const STACK_NAME: usize = 1500;
/// Bytes of texts from runtimes: command lines, assemblies, types.
pub const TEXT: usize = 4 << 10;
/// Bytes of records of one process and kind that wait for the end of their batch: more are not in
/// the order of time. A runtime sends 100 KiB of each thread's events and then those of the next
/// one, and records of small events are 16 times as long.
pub const WAITING: usize = 2 << 20;
/// Bytes of the message of a record.
pub const RECORD_MESSAGE: usize = 4 << 10;
/// Names of threads of one process that are kept.
pub const THREAD_NAMES: usize = 1024;
/// Characters of the name of a thread: Linux has at most 15.
pub const THREAD_NAME: usize = 32;
/// Bytes of a stack as a text.
pub const RECORD_STACK: usize = 16 << 10;
/// Bytes of the text of a field, an object or an array of an application event.
pub const RECORD_TEXT: usize = 64 << 10;
/// Parameters that the events of one process define.
pub const RECORD_PARAMETERS: usize = 4096;

/// Age at which a process knows its own name: before, runtimes tell the program instead of the entry
/// assembly and its arguments.
pub const YOUNG: Duration = Duration::from_secs(1);
/// Time for a connection and the answer to a request.
pub const ANSWER: Duration = Duration::from_secs(5);
/// Time for the answer to a collect command, and then for the first bytes of its stream: longer,
/// since .NET Core 3.1 dies when a connection is closed before (docs/protocols/dotnet.md 0).
pub const FIRST_BYTES: Duration = Duration::from_secs(30);
/// Time for a session to end after StopTracing: one batch, 100 ms, unless the process is stopped.
pub const STOP: Duration = Duration::from_secs(5);
/// The same when the PMDA stops: less than the time that it has for that.
pub const STOP_ALL: Duration = Duration::from_secs(2);
/// Time for the answer that follows the end of a stream, and for the last request.
pub const FAREWELL: Duration = Duration::from_millis(500);
/// Time between two attempts to resume a process that may wait for that.
pub const RESUME: Duration = Duration::from_secs(10);
/// A session that has lasted this long works: the next failure is a first one.
pub const SETTLED: Duration = Duration::from_secs(60);
/// EventCounters must come within three of their intervals and this.
pub const SILENCE: Duration = Duration::from_secs(10);
/// Time between two looks at a process whose EventCounters have stopped.
pub const CHECK: Duration = Duration::from_secs(30);
/// The same of a process that has never sent any: some programs have none.
pub const CHECK_MUTE: Duration = Duration::from_secs(300);
/// Connections to `dotnet.listen` whose program has not advertised itself.
pub const ARRIVING: usize = 256;
/// The same of one user.
pub const ARRIVING_USER: usize = 64;
/// Idle connections of one process to `dotnet.listen`; a runtime has one.
pub const IDLE: usize = 2;

/// Metrics that one process defines: EventCounters and instruments.
pub const DYNAMIC_METRICS: usize = 2_000;
/// EventCounters of one process.
pub const EVENT_COUNTERS: usize = 2_000;
/// Instruments of one process.
pub const INSTRUMENTS: usize = 1_000;
/// Series of one process, over all instruments; a session has 1,000 unless another tool asked for
/// more.
pub const SERIES: usize = 4_000;
/// Sets of tags of one process.
pub const SERIES_ROWS: usize = 1_000;
/// Bytes of the name, unit or description of a counter, instrument or session.
pub const NAME: usize = 500;
/// Bytes of the tags of a series and of the quantiles of a histogram.
pub const TAGS: usize = 2_000;
/// Bytes of a number as text.
pub const NUMBER: usize = 64;
/// Reports about meters that wait.
pub const METER_REPORTS: usize = 16;
/// Time after which meters that another tool has are asked for again.
pub const METER_RETRY: Duration = Duration::from_secs(600);
/// Longest time between two reports of meters that is believed.
pub const METER_INTERVAL: Duration = Duration::from_secs(3600);
/// Processes whose events come from traces of LTTng.
pub const FED: usize = 256;
/// Bytes of the events of such a process that wait for older ones; with more they are counted early.
pub const FED_BYTES: usize = 256 << 10;
/// Events of such a process that wait for older ones.
pub const FED_EVENTS: usize = 16_384;
