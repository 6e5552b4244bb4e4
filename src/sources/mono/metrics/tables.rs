//! The tables, instance domains beside the processes, and the metrics of their rows.

use super::CLUSTER;
use crate::catalogue::{InDomDef, TableDef};
use crate::model::{RowItem, TableId};
use crate::sources::mono::limits;
use crate::{listed, row_metrics};

/// Lower bounds of the ranges of pauses in us.
pub(crate) const PAUSE_EDGES: [u64; 14] = [
    0, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000,
];

/// Lower bounds of the ranges of waits for locks in us.
pub(crate) const CONTENTION_EDGES: [u64; 20] = [
    0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000,
    500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

pub(crate) fn pause_buckets() -> Vec<String> {
    crate::meter::bucket_names(&PAUSE_EDGES)
}

pub(crate) fn contention_buckets() -> Vec<String> {
    crate::meter::bucket_names(&CONTENTION_EDGES)
}

/// A table of rows that all processes share.
const fn shared(
    name: &'static str,
    cluster: u16,
    max: usize,
    score: RowItem,
    indom: InDomDef,
) -> TableDef {
    let (cluster, of_peer, per_peer, initial) = (CLUSTER + cluster, false, 0, Vec::new);
    TableDef { name, cluster, indom, of_peer, max, per_peer, score, initial }
}

/// A table of rows of processes.
const fn of_peers(
    name: &'static str,
    cluster: u16,
    max: usize,
    score: RowItem,
    indom: InDomDef,
) -> TableDef {
    TableDef { of_peer: true, ..shared(name, cluster, max, score, indom) }
}

listed! {
    /// The tables.
    TABLES: TableDef as TableId;
    /// Rows: names of programs.
    PROGRAMS = shared("program", 2, 500, PROGRAM_SAMPLES, InDomDef {
        serial: 10,
        oneline: "Mono programs",
        help: "One instance for each program, the processes of which are the instances PROGRAM:PID of other metrics. It stays when its \
         processes have gone, so its counters go on over restarts of the program. Those with most samples in the last minutes have instances, what the others add is in the instance other.",
    });
    /// Generations of Mono heaps.
    GENERATIONS = of_peers("generation", 7, 8192, GC_COUNT, InDomDef {
        serial: 11,
        oneline: "Generations of Mono heaps",
        help: "One instance for each generation of each process: PROCESS::gen0 (minor collections) and PROCESS::gen1 (major ones).",
    });
    /// Kinds of Mono garbage collection pauses.
    PAUSE_KINDS = of_peers("kind", 8, 16384, PAUSE_TOTAL, InDomDef {
        serial: 12,
        oneline: "Kinds of Mono garbage collection pauses",
        help: "One instance for each kind of each process: PROCESS::minor, major, major_start and major_finish (the two pauses of a concurrent major collection), and other (no collection: the unload of a domain, for example).",
    });
    /// Lengths of Mono garbage collection pauses.
    PAUSE_BUCKETS = TableDef {
        initial: pause_buckets,
        ..shared("pause", 9, PAUSE_EDGES.len() + 1, PAUSES, InDomDef {
            serial: 13,
            oneline: "Lengths of Mono garbage collection pauses",
            help: "One instance for each range of lengths: LO-HI in us, LO included.",
        })
    };
    /// Lengths of waits for Mono locks.
    CONTENTION_BUCKETS = TableDef {
        initial: contention_buckets,
        ..shared("contention", 10, CONTENTION_EDGES.len() + 1, CONTENTIONS, InDomDef {
            serial: 14,
            oneline: "Lengths of waits for Mono locks",
            help: "One instance for each range of lengths: LO-HI in us, LO included.",
        })
    };
    /// Methods of Mono processes that throw.
    SITES = TableDef {
        per_peer: limits::SITE_ROWS,
        ..of_peers("site", 11, 16384, SITE_EXCEPTIONS, InDomDef {
            serial: 15,
            oneline: "Methods of Mono processes that throw",
            help: "One instance for each method that threw in each process: PROCESS::NAMESPACE.CLASS:METHOD(ARGUMENTS). A process's 200 methods with most in the last minutes have instances, what its others add is in PROCESS::other.",
        })
    };
    /// Classes of Mono exceptions.
    EXCEPTION_TYPES = TableDef {
        per_peer: limits::TYPE_ROWS,
        ..of_peers("exception", 12, 16384, EXCEPTION_TYPE, InDomDef {
            serial: 16,
            oneline: "Classes of Mono exceptions",
            help: "One instance for each class of exception that each process threw: PROCESS::NAMESPACE.CLASS; PROCESS::? are objects whose class is not known. A process's 200 classes with most in the last minutes have instances, what its others add is in PROCESS::other.",
        })
    };
    /// Kinds of Mono exception clauses.
    CLAUSES = of_peers("clause", 13, 16384, CLAUSE, InDomDef {
        serial: 17,
        oneline: "Kinds of Mono exception clauses",
        help: "One instance for each kind of each process: PROCESS::catch, filter, finally and fault.",
    });
    /// Methods of Mono processes that wait for locks.
    LOCKS = TableDef {
        per_peer: limits::LOCK_ROWS,
        ..of_peers("lock", 14, 16384, LOCK_TIME, InDomDef {
            serial: 18,
            oneline: "Methods of Mono processes that wait for locks",
            help: "One instance for each method that waited for a lock in each process: PROCESS::NAMESPACE.CLASS:METHOD(ARGUMENTS), the innermost that is not of Monitor itself. A process's 100 methods with most in the last minutes have instances, what its others add is in PROCESS::other.",
        })
    };
    /// Kinds of Mono GC handles.
    HANDLES = of_peers("handle", 48, 16384, HANDLE_COUNT, InDomDef {
        serial: 19,
        oneline: "Kinds of Mono GC handles",
        help: "One instance for each kind of each process: PROCESS::weak, weak_track, normal and pinned.",
    });
    /// Classes that Mono processes allocate.
    ALLOC_TYPES = TableDef {
        per_peer: limits::TYPE_ROWS,
        ..of_peers("allocation", 49, 16384, ALLOC_TYPE_BYTES, InDomDef {
            serial: 80,
            oneline: "Classes that Mono processes allocate",
            help: "One instance for each class of objects that each process allocated: PROCESS::NAMESPACE.CLASS. A process's 200 classes with most in the last minutes have instances, what its others add is in PROCESS::other.",
        })
    };
    /// Classes of live objects of Mono processes.
    LIVE_TYPES = of_peers("live", 50, 16384, LIVE_BYTES, InDomDef {
        serial: 81,
        oneline: "Classes of live objects of Mono processes",
        help: "One instance for each class of objects in the last heapshot of each process: PROCESS::NAMESPACE.CLASS. The 200 classes with most bytes have instances, the others are together in PROCESS::other.",
    });
    /// Stacks of Mono methods.
    STACKS = shared("stack", 51, 500, STACK_SAMPLES, InDomDef {
        serial: 82,
        oneline: "Stacks of Mono methods",
        help: "One instance for each stack of managed methods, of all processes: NAMESPACE.CLASS.METHOD of each frame, outermost first, parted by commas, as flame graphs want it. Those with most processor time in the last minutes have instances, what the others add is in the instance other.",
    });
    /// Methods in Mono profiles.
    METHODS = shared("method", 52, 500, METHOD_SELF, InDomDef {
        serial: 83,
        oneline: "Methods in Mono profiles",
        help: "One instance for each method in samples, of all processes. Those with most processor time in the last minutes have instances, what the others add is in the instance other.",
    });
    /// What sampled Mono threads did.
    SAMPLE_STATES = of_peers("state", 53, 16384, STATE_SAMPLES, InDomDef {
        serial: 84,
        oneline: "What sampled Mono threads did",
        help: "One instance for each state of each process: PROCESS::running, blocked and native.",
    });
    /// Rows `program,Outer.method,Inner.method`.
    PROGRAM_STACKS = shared("program_stack", 54, 2000, PROGRAM_STACK_TIME, InDomDef {
        serial: 85,
        oneline: "Stacks of methods of Mono programs",
        help: "One instance for each stack of managed methods of each program: PROGRAM, then NAMESPACE.CLASS.METHOD of each frame, outermost first, parted by commas: the program is the outermost frame of a flame graph. Those with most processor time in the last minutes have instances, what the others add is in the instance other.",
    });
}

row_metrics! {
    PROGRAM_PROCESSES PROGRAMS 0 "program.processes" U64 Instant Count Members
        "Processes of the program"
        "Those that are connected now; 0 when all have gone.";
    PROGRAM_STARTS PROGRAMS 1 "program.starts" U64 Counter Count
        "Processes of the program that came"
        "Processes that connected since this PMDA started; one that connects again does not count again. A fast growth is a \
            program that is restarted again and again.";
    PROGRAM_SAMPLES PROGRAMS 2 "program.samples" U64 Counter Count
        "Sampling messages read from processes of the program"
        "Of all its processes, as apm.mono.samples.";
    PROGRAM_GC_COUNT PROGRAMS 3 "program.gc.count" U64 Counter Count "Garbage collections of the program" "Of both generations and of all its processes, each once: those with the log profiler and gc, and those whose shared area is read. A process that began before this PMDA counts from the first reading of its area on, and one that only its module shows not at all: see apm.mono.program.counter.gc. Goes on when a process ends and another one starts.";
    PROGRAM_PAUSE_COUNT PROGRAMS 4 "program.gc.pause.count" U64 Counter Count "Garbage collection pauses of the program" "Of all kinds and of those of its processes that have the log profiler with gc.";
    PROGRAM_PAUSE_TOTAL PROGRAMS 5 "program.gc.pause.total" U64 Counter Nanoseconds "Time of garbage collection pauses of the program" "Of all kinds and of those of its processes that have the log profiler with gc: its rate is the share of time, summed over the processes.";
    PROGRAM_EXCEPTIONS PROGRAMS 6 "program.exceptions.count" U64 Counter Count "Exceptions thrown in the program" "Of all its processes, each once, as apm.mono.exceptions.count: those with the log profiler and exception, and those whose shared area is read, as program.gc.count.";
    PROGRAM_CONTENTION_COUNT PROGRAMS 7 "program.lock.contention.count" U64 Counter Count "Contended locks in the program" "As apm.mono.lock.contention.count, of those of its processes that have the log profiler with monitor.";
    PROGRAM_CONTENTION_TIME PROGRAMS 8 "program.lock.contention.time" U64 Counter Nanoseconds "Time waited for locks in the program" "As apm.mono.lock.contention.time, of those of its processes that have the log profiler with monitor.";
    GC_COUNT GENERATIONS 0 "gc.count" U64 Counter Count "Garbage collections" "Of just this generation, as GC.CollectionCount of Mono counts them (apm.dotnet.gc.own, not apm.dotnet.gc.count, which adds the higher generations). Mono does one more major collection when a program ends. Needs the log profiler with gc.";
    GC_TIME GENERATIONS 1 "gc.time" U64 Counter Nanoseconds "Time of garbage collections" "From start to end, by generation. The program runs during most of a concurrent major collection: see gc.pause.total. Needs the log profiler with gc.";
    PAUSE_TOTAL PAUSE_KINDS 0 "gc.pause.total" U64 Counter Nanoseconds "Time of garbage collection pauses" "From the begin of the suspension to the end of the restart, by kind (apm.dotnet.gc.pause.total is their sum). Its rate is the share of time that the program stood still. Needs the log profiler with gc.";
    PAUSE_COUNT PAUSE_KINDS 1 "gc.pause.count" U64 Counter Count "Garbage collection pauses" "By kind (apm.dotnet.gc.pause.count is their sum). The pause at the end of a program, which waits for the profiler itself, does not count. Needs the log profiler with gc.";
    PAUSES PAUSE_BUCKETS 0 "gc.pause.histogram" U64 Counter Count "Pauses by length" "Pauses for garbage collections of all processes whose length in us is in the range. Needs the log profiler with gc.";
    CONTENTIONS CONTENTION_BUCKETS 0 "lock.contention.histogram" U64 Counter Count "Waits for locks by length" "Of all processes whose length in us is in the range. Needs the log profiler with monitor.";
    SITE_EXCEPTIONS SITES 0 "exceptions.by_site" U64 Counter Count "Exceptions thrown, by the method that threw" "Thrown, whether they were caught or not; .NET has exceptions.by_type instead. Needs the log profiler with exception and maxframes of at least 1.";
    EXCEPTION_TYPE EXCEPTION_TYPES 0 "exceptions.by_type" U64 Counter Count "Exceptions thrown, by class" "The stream does not have the class of an exception: it is known only of objects whose allocation and moves it has. Needs the log profiler with exception, gcalloc and gcmove: not for production.";
    CLAUSE CLAUSES 0 "exceptions.clauses" U64 Counter Count "Exception clauses that ran" "By kind; those of catch are the exceptions that were caught. Those of finally are all that ran, thrown or not (each lock, using and foreach has one), as Mono 6.8 reports them: runtime.exceptions_finallys has those that ran for exceptions. Needs the log profiler with exception.";
    LOCK_TIME LOCKS 0 "lock.top.time" U64 Counter Nanoseconds "Time that the method waited for locks" "Sum over all threads. Needs the log profiler with monitor and maxframes of some 8.";
    LOCK_COUNT LOCKS 1 "lock.top.count" U64 Counter Count "Waits of the method for locks" "By any thread of the process. Needs the log profiler with monitor and maxframes of some 8.";
    HANDLE_COUNT HANDLES 0 "gc.handles" U64 Instant Count "GC handles in use" "Made less destroyed since reading began, by kind. Needs the log profiler with gchandle.";
    ALLOC_TYPE_BYTES ALLOC_TYPES 0 "alloc.by_type.bytes" U64 Counter Bytes "Bytes allocated, by class" "Exact, not sampled. Needs the log profiler with gcalloc: not for production.";
    ALLOC_TYPE_COUNT ALLOC_TYPES 1 "alloc.by_type.count" U64 Counter Count "Objects allocated, by class" "Exact, not sampled. Needs the log profiler with gcalloc: not for production.";
    LIVE_BYTES LIVE_TYPES 0 "heap.live.bytes" U64 Instant Bytes "Bytes of live objects, by class" "Of the last heapshot that is complete. Needs the log profiler with heapshot.";
    LIVE_OBJECTS LIVE_TYPES 1 "heap.live.objects" U64 Instant Count "Live objects, by class" "Of the last heapshot that is complete. Needs the log profiler with heapshot.";
    STACK_SAMPLES STACKS 0 "profile.stacks" U64 Counter Nanoseconds "Processor time by stack" "Samples of running threads, each weighted with the time between two samples. Needs the log profiler with sample.";
    METHOD_SELF METHODS 0 "profile.methods.self" U64 Counter Nanoseconds "Processor time in the method itself" "From the same samples as profile.stacks.";
    METHOD_TOTAL METHODS 1 "profile.methods.total" U64 Counter Nanoseconds "Processor time in the method and what it called" "From the same samples as profile.stacks; of a recursive method once a sample.";
    STATE_SAMPLES SAMPLE_STATES 0 "profile.samples" U64 Counter Count "Samples of stacks by state of the thread" "The profiler samples all threads at each tick, also those that wait: only those that run used the processor, and only they count in profile.stacks. Needs the log profiler with sample.";
    PROGRAM_STACK_TIME PROGRAM_STACKS 0 "program.stack.time" U64 Counter Nanoseconds "Processor time of a stack of the program" "As apm.mono.profile.stacks, by program.";
}
