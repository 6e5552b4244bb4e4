//! The metrics, tables, events, parameters and controls of .NET processes (docs/metrics.md,
//! `apm.dotnet.*`). Archives contain the ids, so these never change.

mod events;
mod roll_up;
mod tables;

pub(crate) use events::*;
pub(super) use roll_up::{RUNTIME, SERVICE, program, tick};
pub(crate) use tables::*;

use crate::catalogue::InDomDef;
use crate::model::Place;
use crate::peer_metrics;

/// First PMID cluster of this source: its static metrics.
pub(crate) const CLUSTER: u16 = 320;

/// The instance domain of processes.
pub(crate) const INDOM: InDomDef = InDomDef {
    serial: 5,
    oneline: ".NET processes",
    help: "One instance for each .NET process of the host and of its containers, also for those that may not be read: NAME:PID, the name of \
     the entry assembly (or of the program) and the process id as the host sees it. A process that is gone stays for a while \
     (limits.forget).",
};

/// EventCounters: `apm.dotnet.counter.PROVIDER.NAME`.
pub(crate) const COUNTERS: Place = Place::Peers("counter");
/// Instruments of meters, by series: `apm.dotnet.meter.METER.INSTRUMENT`.
pub(crate) const METERS: Place = Place::Rows("meter", SERIES);
/// Fields of events: `apm.dotnet.param.PROVIDER.EVENT.FIELD`.
pub(crate) const FIELDS: Place = Place::Param;

/// The places, each with one line of help.
pub(crate) const PLACES: &[(Place, &str)] = &[
    (COUNTERS, "EventCounters of the providers in dotnet.counters, by provider"),
    (METERS, "Instruments of the meters in dotnet.meters, by meter"),
    (FIELDS, "Fields of events of the providers in dotnet.providers, as parameters of records"),
];

peer_metrics! {
    VERSION 0 "process.version" Text Discrete None Text "Version of the runtime" "As the runtime tells it: 9.0.7. .NET Core 3.1 and .NET 5 do not tell it.";
    COMMAND 1 "process.command" Text Discrete None Text "Command line" "As the runtime tells it, or from /proc. Cut if it is long.";
    RUNTIME_ID 2 "process.runtime_id" Text Discrete None Text "Runtime identifier" "linux-x64, for example. Of .NET 8 and later.";
    ARCH 3 "process.arch" Text Discrete None Text "Processor architecture" "x64 or arm64, for example.";
    START_TIME 4 "process.start_time" I64 Discrete Milliseconds Cell "Time of the process's start" "Milliseconds since 1970-01-01 00:00 UTC.";
    OWNER 5 "process.owner" Text Discrete None Text "User of the process" "Name of the user that owns the diagnostics socket, or its number.";
    CONTAINER_PID 6 "process.container_pid" U32 Discrete None Cell "Process id within the container" "The innermost process id; the same as the host's for a process that is in no container.";
    VIA 7 "process.via" Text Discrete None Text "How the process is read" "socket (its diagnostics socket), port (it connects to dotnet.listen) or lttng (a live session with DotNETRuntime events).";
    STATE 8 "session.state" U32 Discrete None Cell "State of reading" "0 found, 1 no permission, 2 connected, 3 streaming, 4 stopping, 5 refused, 6 gone.";
    REASON 9 "session.reason" Text Discrete None Text "State of reading in words" "What is the matter and what can be done: permissions, errors of the runtime, and reports that another tool disturbs this one.";
    BYTES 10 "session.bytes" U64 Counter Bytes Cell "Bytes of event streams" "Read from the process.";
    EVENTS 11 "session.events" U64 Counter Count Cell "Events received" "All events of all sessions with the process.";
    LAG 12 "session.lag" U64 Instant Nanoseconds Recent "Age of the newest event when it was read" "Runtimes send in batches of 100 ms. A growing lag means that the reader is late.";
    RESTARTS 13 "session.restarts" U64 Counter Count Cell "Sessions opened again" "After an error, a silence, or an end by the runtime.";
    LOST 14 "events.lost" U64 Counter Count Cell "Events that the process threw away" "Its buffer was full. Counted exactly from the numbers of events; losses at the end of a burst are known only after the next sequence point. Counts of other metrics are exact while this does not move.";
    UNKNOWN 15 "events.unknown" U64 Counter Count Cell "Runtime events without a layout" "Of an id or version that is not known here.";
    BAD 16 "events.bad" U64 Counter Count Cell "Events that could not be decoded" "Their payload is shorter than its layout or a field is not what it must be.";
    ERRORS 17 "session.errors" U64 Counter Count Cell "Sessions that ended with a fault" "Malformed streams, time-outs, and errors of the runtime.";
    MISSED 18 "records.missed" U64 Counter Count Cell "Event records not made" "Events beyond dotnet.records_rate a second; they count in all other metrics.";

    GC_BACKGROUND 32 "gc.background" U64 Counter Count Cell "Background collections" "Garbage collections of generation 2 beside the running program (type 1).";
    GC_FOREGROUND 33 "gc.foreground" U64 Counter Count Cell "Foreground collections" "Garbage collections of generation 0 or 1 during a background one (type 2).";
    PAUSE_TOTAL 34 "gc.pause.total" U64 Counter Nanoseconds Cell "Time of garbage collection pauses" "From the begin of the suspension to the end of the restart. Its rate is the share of time that the program stood still.";
    PAUSE_COUNT 35 "gc.pause.count" U64 Counter Count Cell "Garbage collection pauses" "Suspensions for a garbage collection (reasons 1 and 6). A background collection has several.";
    PAUSE_MAX 36 "gc.pause.max" U64 Instant Nanoseconds Recent "Longest pause of the last minute" "No value if there was none.";
    PAUSE_LAST 37 "gc.pause.last" U64 Instant Nanoseconds Cell "The last pause" "No value before the first one.";
    SUSPENSION 38 "gc.suspension.total" U64 Counter Nanoseconds Cell "Time to suspend threads for garbage collections" "The part of pauses in which the runtime waited for threads to stop. Long ones come from threads that cannot be stopped at once.";
    TIME_IN_GC 39 "gc.time_in_gc" F64 Instant None Cell "Share of time in garbage collections, percent" "The runtime's own figure: time in the last collection as share of the time since the one before. Without ;counters in dotnet.processes it is made of events.";
    HEAP_TOTAL 40 "gc.heap.total" U64 Instant Bytes Cell "Size of the managed heap" "As of now, by the runtime's counter gc-heap-size (of 10^6 bytes); without ;counters in dotnet.processes, and of LTTng, the sum of the generations after the last collection.";
    HEAP_COMMITTED 41 "gc.heap.committed" U64 Instant Bytes Cell "Committed memory of the managed heap" ".NET 6 and later; the runtime's counter gc-committed. Only with ;counters in dotnet.processes.";
    FRAGMENTATION 42 "gc.heap.fragmentation" F64 Instant None Cell "Fragmentation of the heap, percent" ".NET 5 and later; the runtime's counter gc-fragmentation. Only with ;counters in dotnet.processes.";
    BUDGET0 43 "gc.heap.budget0" U64 Instant Bytes Cell "Allocation budget of generation 0" ".NET 8 and later; the runtime's counter gen-0-gc-budget. Only with ;counters in dotnet.processes.";
    PINNED 44 "gc.pinned" U32 Instant Count Cell "Pinned objects" "Seen by the last collection.";
    HANDLES 45 "gc.handles" U32 Instant Count Cell "GC handles in use" "GC handles in use after the last collection.";
    FINALIZATION 46 "gc.finalization.promoted" U64 Instant Count Cell "Objects kept for finalization" "By the last collection.";
    FINALIZED 47 "gc.finalized" U64 Counter Count Cell "Finalizers that ran" "Objects of all runs of the finalizer thread.";
    GC_MODE 48 "gc.mode" Text Discrete None Text "Mode of garbage collection" "workstation or server, concurrent or not, and the pause mode; known after the first collection.";
    MEMORY_LOAD 49 "gc.memory_load" U32 Instant None Cell "Load of physical memory, percent" "As the last collection saw it.";
    ALLOC_BYTES 50 "alloc.bytes" U64 Counter Bytes Cell "Bytes allocated" "The runtime's counter alloc-rate. Without ;counters in dotnet.processes only with dotnet.allocations, and of LTTng: the sum of allocation ticks.";
    ALLOC_LARGE 51 "alloc.large" U64 Counter Bytes Cell "Bytes of large objects allocated" "From allocation ticks of the large object heap; only with dotnet.allocations or LTTng.";

    EXCEPTIONS 64 "exceptions.count" U64 Counter Count Cell "Exceptions thrown" "Also those that are caught. As the runtime counts them (exception-count of System.Runtime, each second), so that lost events do not matter; between, and where no counters come, by events.";
    RETHROWN 65 "exceptions.rethrown" U64 Counter Count Cell "Exceptions thrown again" "Among exceptions.count. Always 0 since .NET 9, which has no event for them: there they are in exceptions.count only, not in exceptions.by_type.";
    NESTED 66 "exceptions.nested" U64 Counter Count Cell "Exceptions thrown while another one was handled" "Among exceptions.count.";
    INNER 67 "exceptions.inner" U64 Counter Count Cell "Exceptions with an inner exception" "Among exceptions.count.";
    CAUGHT 68 "exceptions.caught" U64 Counter Count Cell "Exceptions caught" "Catch blocks entered. Fewer than thrown: some escaped or were caught by native code.";
    CONTENTION_COUNT 69 "lock.contention.count" U64 Counter Count Cell "Contended locks" "Times that a thread had to wait for a lock of Monitor. A lock that is only spun for is none.";
    CONTENTION_TIME 70 "lock.contention.time" U64 Counter Nanoseconds Cell "Time waited for locks" "Sum over all threads.";
    POOL_THREADS 71 "pool.threads" U32 Instant Count Cell "Threads of the thread pool" "Worker threads that exist now. Without ;counters in dotnet.processes known when it changes.";
    POOL_TARGET 72 "pool.target" U32 Instant Count Cell "Threads that the pool wants" "The target of its last adjustment.";
    POOL_QUEUE 73 "pool.queue" U64 Instant Count Cell "Work items that wait" "Length of the queue of the thread pool. Only with ;counters in dotnet.processes.";
    POOL_COMPLETED 74 "pool.completed" U64 Counter Count Cell "Work items completed" "By the thread pool, since reading began. Only with ;counters in dotnet.processes.";
    STARVATION 75 "pool.starvation" U64 Counter Count Cell "Starvation of the thread pool" "Adjustments because work waited and no thread was free (reason 6). The alarm for code that blocks pool threads.";
    POOL_MIN 76 "pool.min" U32 Discrete Count Cell "Least worker threads" "That the thread pool keeps before it adds threads slowly.";
    POOL_MAX 77 "pool.max" U32 Discrete Count Cell "Most worker threads" "That the thread pool may have.";
    POOL_THROUGHPUT 78 "pool.throughput" F64 Instant CountPerSecond Cell "Work items completed a second" "The pool's own measurement, which guides its adjustments.";
    TIMERS 79 "timers" U32 Instant Count Cell "Active timers" "Instances of Timer that are armed. Only with ;counters in dotnet.processes.";
    THREADS_CREATED 80 "threads.created" U64 Counter Count Cell "Managed threads created" "Since reading began.";

    JIT_METHODS 96 "jit.methods" U64 Counter Count Cell "Methods compiled" "Since the start of the process; methods that were compiled again count again. Without ;counters in dotnet.processes only with dotnet.jit, since reading began.";
    JIT_IL_BYTES 97 "jit.il_bytes" U64 Counter Bytes Cell "Bytes of IL compiled" "Since the start of the process. Without ;counters in dotnet.processes only with dotnet.jit, since reading began.";
    JIT_TIME 98 "jit.time" U64 Counter Nanoseconds Cell "Time to compile methods" "Sum over all threads, background ones included. Without ;counters in dotnet.processes only with dotnet.jit.";
    JIT_CODE 99 "jit.code_bytes" U64 Counter Bytes Cell "Bytes of machine code" "Of methods compiled; only with dotnet.jit or LTTng.";
    JIT_PENDING 100 "jit.background_pending" U32 Instant Count Cell "Methods that wait for background compilation" "Only with dotnet.jit or LTTng.";
    ASSEMBLIES 101 "assemblies" U32 Instant Count Cell "Assemblies loaded" "Assemblies that are loaded now. Only with ;counters in dotnet.processes, or LTTng.";
    CPU_USAGE 102 "cpu.usage" F64 Instant None Cell "Use of processors, percent" "Share of all processors that the process may use. Only with ;counters in dotnet.processes; cpu.time is there always.";
    WORKING_SET 103 "memory.working_set" U64 Instant Bytes Cell "Memory in use" "Working set of the process. Only with ;counters in dotnet.processes; PCP's proc.psinfo.rss is there always.";
    CPUS 104 "cpus" U32 Discrete Count Cell "Processors" "That the process may use.";

    METER_LIMITED 112 "meter.limited" U32 Discrete None Cell "1: some series are missing" "The process has more time series or histograms than a session may have.";
    METER_OWNER 113 "meter.owner" Text Discrete None Text "Who owns the meters of the process" "A process has one configuration of meters for all tools. Empty: this one.";
    SAMPLES 120 "profile.samples" U64 Counter Count Cell "Samples of stacks" "Sum over all bursts of the CPU profile.";
    BURSTS 121 "profile.bursts" U64 Counter Count Cell "Bursts of samples" "Bursts of the CPU profile that were completed.";
    UNKNOWN_FRAMES 122 "profile.unknown_frames" U64 Counter Count Cell "Frames without a method" "Stubs and methods whose name has not come.";
    PROFILE_CPU 123 "profile.time" U64 Counter Nanoseconds Cell "Processor time that the samples stand for" "Of all threads during bursts.";
}
