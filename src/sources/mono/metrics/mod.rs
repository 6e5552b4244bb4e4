//! The metrics, tables, events, parameters and controls of Mono processes (docs/metrics.md,
//! `apm.mono.*`) beside those of their counters. Archives contain the ids, so these never change.

mod tables;

pub(super) use tables::*;

use crate::catalogue::{ControlDef, InDomDef, Part, RollUp, ServiceOf, Services};
use crate::model::TableCell::{Counter, Delta, Milliseconds, Others, Param, Peer, Value};
use crate::model::{ControlId, EventKind, EventKindId, EventTable, InDom, Leaf};
use crate::{event_params, listed, peer_metrics};

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 64;

/// The instance domain of processes.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 1,
    oneline: "Mono processes",
    help: "One instance for each Mono process of this host that is seen in any way (the apm agent module, the log profiler, the shared area \
     in /dev/shm), and for each of another host that connects, called PROGRAM:PID, with @ADDRESS behind it when it is on another host. \
     A process whose agent does not say who it is has the address of its connection or the name of its file instead. An instance stays \
     for a while after its process has gone (limits.forget).",
};

peer_metrics! {
    COUNTERS 0 "counters" U32 Instant Count Cell
        "Counters that the process samples now"
        "Counters announced and added, without those removed. Mono 6.8 has 188, all of which its agent sends unless it is told \
            otherwise. Each that matches mono.select is a metric below apm.mono.counter.";
    SAMPLES 1 "samples" U64 Counter Count Cell
        "Sampling messages read"
        "Sampling messages read from this process. Its rate is the sampling rate; 0 while the process is up \
            means that it hangs or is stopped. Goes on when the process connects again.";
    SKEW 2 "skew" I64 Instant Nanoseconds Cell
        "Arrival of the newest sample minus the time that the agent put on it"
        "The difference of the two clocks plus the way. On one host it is the delay of the sample: much more than a few \
            milliseconds means that this PMDA or the process cannot keep up. A large value that stays the same is a clock that \
            is wrong. No value for agents of the oldest dialect, whose times count from the start of their machine.";
    INTERVAL 3 "interval" U64 Instant Nanoseconds Cell
        "Time between the newest two samples, by the agent's clock"
        "The agent's interval option plus the time that it takes to sample. An interval far above the usual one means that the \
            process was held up: a long collection, a stopped container, a machine without processor time.";
    DIALECT 4 "dialect" Text Discrete None Text
        "Which dialect of the counters-agent protocol the process speaks"
        "note: the public protocol, spoken by the apm agent module. 2014-A, 2014-B, 2014-C: agents of Mono's source in March \
            2014, of which A takes no requests and no request is sent to any that could harm its process. Then the byte order.";

    // 5 to 7 are controls.
    COMMAND 8 "process.command" Text Discrete None Text "Command line"
        "From /proc, or as the module reports it. Cut if it is long.";
    START_TIME 9 "process.start_time" I64 Discrete Milliseconds Cell "Time of the process's start"
        "Milliseconds since 1970-01-01 00:00 UTC.";
    OWNER 10 "process.owner" Text Discrete None Text "User of the process"
        "Name of the user that the process runs as, or its number.";
    CONTAINER_PID 11 "process.container_pid" U32 Discrete None Cell "Process id within the container"
        "The innermost process id; the same as the host's for a process that is in no container.";
    VIA 12 "process.via" Text Discrete None Text "How the process is read"
        "module (the apm agent module), stream (the log profiler) and area (the shared area in /dev/shm), parted by commas: those that \
            see the process now. A value that several of them have comes from the first of them, in this order.";
    STATE 13 "session.state" U32 Discrete None Cell "State of reading"
        "0 found: nothing of it has been read yet. 1 no permission. 2 connected: no values yet. 3 read: all is well. 5 refused. 6 gone: \
            it has ended, or is no longer read. Of several ways the one that has come furthest counts. Whether a process that is \
            read is silent is in apm.agent.state.";
    REASON 14 "session.reason" Text Discrete None Text "State of reading in words"
        "What is the matter and what can be done: permissions of the shared area, a layout of it that is not known, and why a process \
            is no longer read.";
    OPTIONS 15 "session.options" Text Discrete None Text "Options of the log profiler"
        "As the program's command line or MONO_ENV_OPTIONS has them: log:nodefaults,counter,exception. They decide which metrics have \
            values.";
    PORT 16 "session.port" U32 Discrete None Cell "Command port of the log profiler"
        "The log profiler listens on this TCP port on all addresses and asks nobody who he is: whoever reaches it can make the program \
            collect. Firewall it.";
    BYTES 17 "session.bytes" U64 Counter Bytes Cell "Bytes of log profiler streams"
        "Read from the process or its file.";
    STREAM_EVENTS 18 "session.events" U64 Counter Count Cell "Events received"
        "All events of log profiler streams.";
    LAG 19 "session.lag" U64 Instant Nanoseconds Recent "Age of the newest event when it was read"
        "Log profilers send once a second. A growing lag means that the reader is late. Only of processes of this host.";
    DUPLICATE 20 "session.duplicate" U64 Counter Count Cell "Counter values that another way had already"
        "Values of counters in a log profiler's stream that were dropped, since the module or another stream of the same process feeds \
            them. The option counter is not needed there.";
    HOLES 21 "session.holes" U64 Counter Count Cell "Holes in a log profiler's file"
        "The profiler does not notice that a write has failed (a full disk): a part of the file is missing, and counters that are sums \
            of differences have no values from there on.";
    UNKNOWN 22 "events.unknown" U64 Counter Count Cell "Events of a kind that is not known"
        "The rest of their buffer is lost.";
    BAD 23 "events.bad" U64 Counter Count Cell "Buffers with events that could not be decoded"
        "The rest of the buffer is lost, and counters that are sums of differences have no values from there on.";
    MISSED 24 "records.missed" U64 Counter Count Cell "Event records not made"
        "Events beyond 1,000 a second of a process; they count in all other metrics.";

    PAUSE_MAX 32 "gc.pause.max" U64 Instant Nanoseconds Recent "Longest pause of the last minute"
        "No value if there was none. Needs the log profiler with gc.";
    PAUSE_LAST 33 "gc.pause.last" U64 Instant Nanoseconds Cell "The last pause"
        "No value before the first one. Needs the log profiler with gc.";
    SUSPENSION 34 "gc.suspension.total" U64 Counter Nanoseconds Cell "Time to suspend threads for garbage collections"
        "The part of pauses in which the runtime waited for threads to stop. Long ones come from threads that cannot be stopped at \
            once. Needs the log profiler with gc.";
    HEAP_TOTAL 35 "gc.heap.total" U64 Instant Bytes Cell "Size of the managed heap"
        "Sections of the major heap and the nursery, as of the last change. Needs the log profiler with gc.";
    HEAP_RESIZES 36 "gc.heap.resizes" U64 Counter Count Cell "Changes of the size of the managed heap"
        "Each sets gc.heap.total. Needs the log profiler with gc.";
    FINALIZED 37 "gc.finalized" U64 Counter Count Cell "Finalizers that ran"
        "Needs the log profiler with finalization.";
    ALLOC_BYTES 38 "alloc.bytes" U64 Counter Bytes Cell "Bytes allocated"
        "Exact, not sampled. Needs the log profiler with gcalloc, which slows allocation down many times: not for production.";
    ALLOC_OBJECTS 39 "alloc.objects" U64 Counter Count Cell "Objects allocated"
        "Exact, as alloc.bytes. Needs the log profiler with gcalloc: not for production.";
    HEAP_SHOTS 40 "heap.shots" U64 Counter Count Cell "Heapshots that are complete"
        "Walks of the whole heap, each of which stops the program. Needs the log profiler with heapshot.";

    EXCEPTIONS 64 "exceptions.count" U64 Counter Count Cell "Exceptions thrown"
        "Also those that are caught; an exception that is thrown again (throw;) counts again, and the runtime itself throws one when it \
            sets up the console. From the log profiler with exception, else from the shared area.";
    CONTENTION_COUNT 65 "lock.contention.count" U64 Counter Count Cell "Contended locks"
        "Times that a thread had to wait for a lock of Monitor. Monitor.Wait is no contention. Needs the log profiler with monitor; \
            runtime.contentions of the shared area is up to twice as many.";
    CONTENTION_TIME 66 "lock.contention.time" U64 Counter Nanoseconds Cell "Time waited for locks"
        "Sum over all threads, also of waits that failed. Needs the log profiler with monitor.";
    CONTENTION_FAILED 67 "lock.contention.failed" U64 Counter Count Cell "Waits for locks that ended without the lock"
        "Time-outs of Monitor.TryEnter, among lock.contention.count. Needs the log profiler with monitor.";
    POOL_THREADS 68 "pool.threads" U32 Instant Count Cell "Threads of the thread pool"
        "Worker threads that exist now. From the shared area.";
    POOL_COMPLETED 69 "pool.completed" U64 Counter Count Cell "Work items completed"
        "By the thread pool, since the start of the process. From the shared area.";
    THREADS 70 "threads.count" U32 Instant Count Cell "Managed threads"
        "Threads that exist now, the one that runs Main among them, without those of the runtime itself (finalizer, domain unloader, \
            profiler). Needs the log profiler.";
    THREADS_CREATED 71 "threads.created" U64 Counter Count Cell "Managed threads created"
        "Since reading began, without the one that runs Main and those of the runtime itself. Needs the log profiler.";
    JIT_METHODS 72 "jit.methods" U64 Counter Count Cell "Methods compiled"
        "Since the start of the process. Code that was compiled ahead of time is not among them; a method that several domains compile \
            counts for each. The counter JIT/Compiled methods, else from the shared area.";
    JIT_TIME 73 "jit.time" U64 Counter Nanoseconds Cell "Time to compile methods"
        "Sum over all threads. The counter JIT/Total time spent JITting of the module or of the log profiler with counter.";
    JIT_CODE 74 "jit.code_bytes" U64 Counter Bytes Cell "Bytes of machine code"
        "Of methods compiled. The counter JIT/Native code size of the module or of the log profiler with counter.";
    ASSEMBLIES 75 "assemblies" U32 Instant Count Cell "Assemblies loaded"
        "Assemblies that are loaded now, once for each domain. Needs the log profiler.";
    DOMAINS 76 "domains" U32 Instant Count Cell "Application domains"
        "Domains that exist now, the root domain among them; .NET has but one. Needs the log profiler.";
    CLASSES 77 "classes" U32 Instant Count Cell "Classes loaded"
        "Classes whose loading the stream has told, arrays and instances of generic classes among them. Needs the log profiler.";

    // The shared area, by its own words.
    RUNTIME_THROWN 96 "runtime.exceptions_thrown" U64 Counter Count Cell "Exceptions thrown, by the shared area"
        "Since the start of the process; thrown again counts again. Starts at 1 in programs that use the console.";
    RUNTIME_FILTERS 97 "runtime.exceptions_filters" U64 Counter Count Cell "Exception filters that ran, by the shared area"
        "Since the start of the process: clauses when of C#.";
    RUNTIME_FINALLYS 98 "runtime.exceptions_finallys" U64 Counter Count Cell "Finally clauses that ran for exceptions, by the shared area"
        "Since the start of the process; finally clauses that run without an exception do not count.";
    RUNTIME_GC0 99 "runtime.gc_collections0" U64 Counter Count Cell "Minor collections, by the shared area"
        "As GC.CollectionCount(0) of Mono, which does not count major collections; that of .NET does.";
    RUNTIME_GC1 100 "runtime.gc_collections1" U64 Counter Count Cell "Major collections, by the shared area"
        "As GC.CollectionCount(1) of Mono.";
    RUNTIME_JIT_METHODS 101 "runtime.jit_methods" U64 Counter Count Cell "Methods compiled, by the shared area"
        "Since the start of the process, as the counter JIT/Compiled methods.";
    RUNTIME_JIT_BYTES 102 "runtime.jit_bytes" U64 Counter Bytes Cell "Bytes of IL compiled, by the shared area"
        "Since the start of the process.";
    RUNTIME_CONTENTIONS 103 "runtime.contentions" U64 Counter Count Cell "Contended locks, by the shared area"
        "An indication only: up to 2 for each contended lock. lock.contention.count is exact, where it has a value.";
    RUNTIME_POOL_COMPLETED 104 "runtime.pool_completed" U64 Counter Count Cell "Work items completed, by the shared area"
        "By the thread pool, since the start of the process.";
    RUNTIME_POOL_THREADS 105 "runtime.pool_threads" U32 Instant Count Cell "Threads of the thread pool, by the shared area"
        "Worker threads that exist now: those that the pool keeps are among them.";
    RUNTIME_APPDOMAINS 106 "runtime.appdomains" U32 Instant Count Cell "Application domains, by the shared area"
        "Domains that exist now, the root domain among them.";
    RUNTIME_APPDOMAINS_TOTAL 107 "runtime.appdomains_total" U64 Counter Count Cell "Application domains made, by the shared area"
        "Since the start of the process. Less runtime.appdomains, it is the number of those that were unloaded.";
    RUNTIME_HANDLES 108 "runtime.handles_created" U64 Counter Count Cell "GC handles made, by the shared area"
        "Since the start of the process, those that were freed among them.";
    RUNTIME_SYNC_BLOCKS 109 "runtime.sync_blocks" U32 Instant Count Cell "Objects with a lock structure, by the shared area"
        "Objects that were locked under contention, or locked and hashed, and are still alive.";
    RUNTIME_LOADER_BYTES 110 "runtime.loader_bytes" U64 Instant Bytes Cell "Memory of loaded metadata, by the shared area"
        "Bytes in the memory pools of domains and images.";
}

listed! {
    /// Kinds of events.
    EVENTS: EventKind as EventKindId;
    /// Samples.
    SAMPLE = EventKind {
        name: "sample",
        cluster: CLUSTER + 1,
        what: "one Sampling message of a Mono process: the counters that changed",
        help: "A record has one parameter for each counter in the message, named and typed like apm.mono.counter.*, with the value \
               that the counter had then. An agent sends a counter only when it has changed, so a record may have few parameters \
               or none. The time is that of arrival; apm.mono.skew tells how far the agent's own clock is off.",
        table: EventTable {
            columns: &[
                ("counter", Counter),
                ("value", Value),
                ("delta", Delta),
            ],
            duration: None,
        },
    };
    /// One pause for garbage collection.
    GC = EventKind {
        name: "gc",
        cluster: CLUSTER + 3,
        what: "one pause for garbage collection",
        help: "The time is that of its end. A concurrent major collection has two pauses: major_start and major_finish. Needs the log \
               profiler with gc.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("pause_ms", Milliseconds(P_PAUSE)),
                ("suspension_ms", Milliseconds(P_SUSPENSION)),
                ("kind", Param(P_KIND)),
                ("generation", Param(P_GENERATION)),
                ("after", Param(P_AFTER)),
                ("fields", Others(0)),
            ],
            duration: Some(P_PAUSE),
        },
    };
    /// One exception thrown.
    EXCEPTION = EventKind {
        name: "exception",
        cluster: CLUSTER + 4,
        what: "one exception thrown, or thrown again",
        help: "At most 1,000 a second of each process; the rest is counted in records.missed. The log profiler does not say what was \
               thrown, only where: the class is known only if it has gcalloc and gcmove too. Needs the log profiler with exception.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("site", Param(P_SITE)),
                ("type", Param(P_TYPE)),
                ("thread", Param(P_THREAD)),
                ("stack", Param(P_STACK)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
    /// One wait for a lock that took 10 ms or longer.
    CONTENTION = EventKind {
        name: "contention",
        cluster: CLUSTER + 5,
        what: "one wait for a lock that took 10 ms or longer",
        help: "The time is that of its end. Needs the log profiler with monitor.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("site", Param(P_SITE)),
                ("lock", Param(P_LOCK)),
                ("result", Param(P_RESULT)),
                ("thread", Param(P_THREAD)),
                ("stack", Param(P_STACK)),
                ("fields", Others(0)),
            ],
            duration: Some(P_DURATION),
        },
    };
}

event_params! {
    P_THREAD 1 "thread_id" U64 None "thread id, as the process sees it";
    P_THREAD_NAME 2 "thread_name" Text None "name of the thread";
    P_KIND 3 "kind" Text None "kind of pause: minor, major, major_start, major_finish or other";
    P_GENERATION 4 "generation" U32 None "generation that was collected: 0 minor, 1 major";
    P_PAUSE 5 "pause" U64 Nanoseconds "time that the program stood still";
    P_SUSPENSION 6 "suspension" U64 Nanoseconds "time until all threads stood still";
    P_AFTER 7 "after" U64 Bytes "size of the heap after the pause";
    P_SITE 8 "site" Text None "method that threw, or that waited";
    P_TYPE 9 "type" Text None "class of the exception or of the lock, if it is known";
    P_STACK 10 "stack" Text None "stack, outermost method first";
    P_DURATION 11 "duration" U64 Nanoseconds "how long it took";
    P_LOCK 12 "lock" Text None "address of the lock";
    P_RESULT 13 "result" Text None "done or failed";
}

const fn control(
    item: u16,
    name: &'static str,
    needs_text: bool,
    (oneline, help): (&'static str, &'static str),
) -> ControlDef {
    let (cluster, indom, storable) = (CLUSTER, InDom::Peers, true);
    let takes = |_: &str| true;
    ControlDef { name, cluster, item, indom, storable, needs_text, takes, oneline, help }
}

listed! {
    /// Controls: requests to one process each.
    CONTROLS: ControlDef as ControlId;
    /// Sample more counters.
    ADD = control(5, "control.add", true, (
        "Store CATEGORY/NAME here to sample more counters",
        "pmstore -i PROGRAM:PID apm.mono.control.add \"GC/Minor GC collections\". Several are separated by semicolons; * stands \
             for any text. A counter that is added is shown whatever mono.select says. The value is the answer to the last \
             request: OK, EXISTING, NOTFOUND or why it is not possible, for each counter.",
    ));
    /// Sample fewer counters.
    REMOVE = control(6, "control.remove", true, (
        "Store CATEGORY/NAME here to sample fewer counters",
        "As control.add. An agent of 2014 could crash its process on this request, and a file takes none: there the counter goes \
             on being sampled and is only not shown any more. The value is the answer to the last request.",
    ));
    /// List the counters.
    LIST = control(7, "control.list", false, (
        "Store anything here to ask which counters the process has",
        "The value is the answer to the last request: CATEGORY/NAME of all counters of the process, sampled or not, separated by \
             semicolons.",
    ));
}

/// `apm.runtime`.
pub(super) const RUNTIME: &[RollUp] = &[
    RollUp {
        leaf: Leaf::CpuTime,
        parts: &[Part::Dynamic(&["System/User Time", "System/System Time"])],
    },
    RollUp { leaf: Leaf::CpuUser, parts: &[Part::Dynamic(&["System/User Time"])] },
    RollUp { leaf: Leaf::CpuSystem, parts: &[Part::Dynamic(&["System/System Time"])] },
    RollUp { leaf: Leaf::MemoryResident, parts: &[Part::Dynamic(&["System/Working Set"])] },
    RollUp { leaf: Leaf::HeapCommitted, parts: &[Part::Metrics(&[HEAP_TOTAL])] },
    RollUp { leaf: Leaf::Threads, parts: &[Part::Metrics(&[THREADS])] },
    RollUp {
        leaf: Leaf::GcCount,
        parts: &[
            Part::Metrics(&[RUNTIME_GC0, RUNTIME_GC1]),
            Part::Dynamic(&["GC/Minor GC collections", "GC/Major GC collections"]),
            Part::Rows(GC_COUNT),
        ],
    },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Rows(GC_TIME)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(PAUSE_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(PAUSE_TOTAL)] },
    RollUp { leaf: Leaf::PauseMax, parts: &[Part::Metrics(&[PAUSE_MAX])] },
    RollUp { leaf: Leaf::AllocBytes, parts: &[Part::Metrics(&[ALLOC_BYTES])] },
    RollUp { leaf: Leaf::Exceptions, parts: &[Part::Metrics(&[EXCEPTIONS])] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Metrics(&[CONTENTION_COUNT])] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Metrics(&[CONTENTION_TIME])] },
    RollUp { leaf: Leaf::JitTime, parts: &[Part::Metrics(&[JIT_TIME])] },
];

/// `apm.service`.
pub(super) const SERVICE: Option<Services> = Some(Services {
    table: PROGRAMS,
    of_peer: ServiceOf::Label("program"),
    leaves: LEAVES,
    sums: &[],
    rows: &[],
});

const LEAVES: &[RollUp] = &[
    RollUp { leaf: Leaf::Restarts, parts: &[Part::Rows(PROGRAM_STARTS)] },
    RollUp { leaf: Leaf::Instances, parts: &[Part::Members] },
    RollUp {
        leaf: Leaf::CpuTime,
        parts: &[Part::Dynamic(&["total System/User Time", "total System/System Time"])],
    },
    RollUp { leaf: Leaf::CpuUser, parts: &[Part::Dynamic(&["total System/User Time"])] },
    RollUp { leaf: Leaf::CpuSystem, parts: &[Part::Dynamic(&["total System/System Time"])] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(PROGRAM_GC_COUNT)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(PROGRAM_PAUSE_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(PROGRAM_PAUSE_TOTAL)] },
    RollUp { leaf: Leaf::Exceptions, parts: &[Part::Rows(PROGRAM_EXCEPTIONS)] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Rows(PROGRAM_CONTENTION_COUNT)] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Rows(PROGRAM_CONTENTION_TIME)] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_help() {
        let metrics = METRICS.iter().chain(ROW_METRICS).map(|m| (m.name, m.oneline, m.help));
        let controls = CONTROLS.iter().map(|c| (c.name, c.oneline, c.help));
        for (name, oneline, help) in metrics.chain(controls) {
            assert!(
                (10..80).contains(&oneline.len()) && help.len() > 20 && !oneline.ends_with('.'),
                "{name}"
            );
            assert!(help.ends_with('.'), "{name}");
        }
    }
}
