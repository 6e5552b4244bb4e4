//! The tables, instance domains beside the processes, and the metrics of their rows.

use super::CLUSTER;
use crate::catalogue::{InDomDef, TableDef};
use crate::model::TableId;
use crate::sources::dotnet::limits;
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

listed! {
    /// The tables.
    TABLES: TableDef as TableId;
    /// Generations of .NET heaps.
    GENERATIONS = TableDef {
        name: "generation",
        cluster: CLUSTER + 10,
        indom: InDomDef {
            serial: 60,
            oneline: "Generations of .NET heaps",
            help: "One instance for each generation of each process: PROCESS::gen0, gen1, gen2, loh (large objects), poh (pinned objects), and background for the time of background collections.",
        },
        of_peer: true,
        max: 16384,
        per_peer: 0,
        score: GC_COUNT,
        initial: Vec::new,
    };
    /// Reasons of .NET garbage collections.
    REASONS = TableDef {
        name: "reason",
        cluster: CLUSTER + 11,
        indom: InDomDef {
            serial: 61,
            oneline: "Reasons of .NET garbage collections",
            help: "One instance for each reason of collections of each process: PROCESS::REASON.",
        },
        of_peer: true,
        max: 16384,
        per_peer: limits::REASON_ROWS,
        score: GC_REASON,
        initial: Vec::new,
    };
    /// Lengths of .NET garbage collection pauses.
    PAUSE_BUCKETS = TableDef {
        name: "pause",
        cluster: CLUSTER + 12,
        indom: InDomDef {
            serial: 62,
            oneline: "Lengths of .NET garbage collection pauses",
            help: "One instance for each range of lengths: LO-HI in us, LO included.",
        },
        of_peer: false,
        max: PAUSE_EDGES.len() + 1,
        per_peer: 0,
        score: PAUSES,
        initial: pause_buckets,
    };
    /// Lengths of waits for .NET locks.
    CONTENTION_BUCKETS = TableDef {
        name: "contention",
        cluster: CLUSTER + 13,
        indom: InDomDef {
            serial: 63,
            oneline: "Lengths of waits for .NET locks",
            help: "One instance for each range of lengths: LO-HI in us, LO included.",
        },
        of_peer: false,
        max: CONTENTION_EDGES.len() + 1,
        per_peer: 0,
        score: CONTENTIONS,
        initial: contention_buckets,
    };
    /// Types of .NET exceptions.
    EXCEPTION_TYPES = TableDef {
        name: "exception",
        cluster: CLUSTER + 14,
        indom: InDomDef {
            serial: 64,
            oneline: "Types of .NET exceptions",
            help: "One instance for each type of exception that each process threw: PROCESS::NAMESPACE.TYPE. A process's 200 types with most in the last minutes have instances, what its others add is in PROCESS::other.",
        },
        of_peer: true,
        max: 16384,
        per_peer: limits::TYPE_ROWS,
        score: EXCEPTION_TYPE,
        initial: Vec::new,
    };
    /// Types that .NET processes allocate.
    ALLOC_TYPES = TableDef {
        name: "allocation",
        cluster: CLUSTER + 48,
        indom: InDomDef {
            serial: 65,
            oneline: "Types that .NET processes allocate",
            help: "One instance for each type of objects that each process allocated: PROCESS::NAMESPACE.TYPE. A process's 200 types with most in the last minutes have instances, what its others add is in PROCESS::other.",
        },
        of_peer: true,
        max: 16384,
        per_peer: limits::TYPE_ROWS,
        score: ALLOC_TYPE_BYTES,
        initial: Vec::new,
    };
    /// .NET locks that threads waited for.
    LOCKS = TableDef {
        name: "lock",
        cluster: CLUSTER + 49,
        indom: InDomDef {
            serial: 66,
            oneline: ".NET locks that threads waited for",
            help: "One instance for each lock of each process: PROCESS::lock@ID, or with dotnet.locks the method that waited. A process's 100 locks with most in the last minutes have instances, what its others add is in PROCESS::other.",
        },
        of_peer: true,
        max: 16384,
        per_peer: limits::LOCK_ROWS,
        score: LOCK_TIME,
        initial: Vec::new,
    };
    /// Reasons of adjustments of .NET thread pools.
    ADJUSTMENTS = TableDef {
        name: "adjustment",
        cluster: CLUSTER + 50,
        indom: InDomDef {
            serial: 67,
            oneline: "Reasons of adjustments of .NET thread pools",
            help: "One instance for each reason of each process: PROCESS::REASON.",
        },
        of_peer: true,
        max: 8192,
        per_peer: limits::REASON_ROWS,
        score: ADJUSTMENT,
        initial: Vec::new,
    };
    /// Tiers of .NET compilation.
    TIERS = TableDef {
        name: "tier",
        cluster: CLUSTER + 51,
        indom: InDomDef {
            serial: 68,
            oneline: "Tiers of .NET compilation",
            help: "One instance for each tier of each process: PROCESS::TIER.",
        },
        of_peer: true,
        max: 8192,
        per_peer: limits::REASON_ROWS,
        score: JIT_TIER,
        initial: Vec::new,
    };
    /// Kinds of waits of .NET threads.
    WAITS = TableDef {
        name: "wait",
        cluster: CLUSTER + 52,
        indom: InDomDef {
            serial: 69,
            oneline: "Kinds of waits of .NET threads",
            help: "One instance for each kind of each process: PROCESS::monitor and PROCESS::other.",
        },
        of_peer: true,
        max: 4096,
        per_peer: limits::REASON_ROWS,
        score: WAIT_TIME,
        initial: Vec::new,
    };
    /// Processor time of .NET processes.
    CPU = TableDef {
        name: "mode",
        cluster: CLUSTER + 53,
        indom: InDomDef {
            serial: 70,
            oneline: "Processor time of .NET processes",
            help: "PROCESS::user and PROCESS::system.",
        },
        of_peer: true,
        max: 4096,
        per_peer: 0,
        score: CPU_TIME,
        initial: Vec::new,
    };
    /// Stacks of .NET methods.
    STACKS = TableDef {
        name: "stack",
        cluster: CLUSTER + 54,
        indom: InDomDef {
            serial: 71,
            oneline: "Stacks of .NET methods",
            help: "One instance for each stack of managed methods of each process: PROCESS::NAMESPACE.TYPE.METHOD,NAMESPACE.TYPE.METHOD, outermost first, parted by commas, as flame graphs want it. A process's 500 with most processor time in the last minutes have instances, what its others add is in PROCESS::other, until profile.run is told to reset.",
        },
        of_peer: true,
        max: 16384,
        per_peer: limits::PROFILE_ROWS,
        score: STACK_SAMPLES,
        initial: Vec::new,
    };
    /// Methods in .NET profiles.
    METHODS = TableDef {
        name: "method",
        cluster: CLUSTER + 55,
        indom: InDomDef {
            serial: 72,
            oneline: "Methods in .NET profiles",
            help: "One instance for each method in samples of each process: PROCESS::NAMESPACE.TYPE.METHOD. A process's 500 with most processor time in the last minutes have instances, what its others add is in PROCESS::other, until profile.run is told to reset.",
        },
        of_peer: true,
        max: 16384,
        per_peer: limits::PROFILE_ROWS,
        score: METHOD_SELF,
        initial: Vec::new,
    };
    /// Series of .NET meters.
    SERIES = TableDef {
        name: "series",
        cluster: CLUSTER + 56,
        indom: InDomDef {
            serial: 73,
            oneline: "Series of .NET meters",
            help: "One instance for each set of tags of each process: PROCESS::KEY=VALUE,KEY=VALUE, sorted by key; PROCESS::- has no tags.",
        },
        of_peer: true,
        max: 16384,
        per_peer: 0,
        score: SERIES_UPDATES,
        initial: Vec::new,
    };
    /// Rows: names of programs.
    SERVICES = TableDef {
        name: "service",
        cluster: CLUSTER + 58,
        indom: InDomDef {
            serial: 74,
            oneline: ".NET programs",
            help: "One instance for each program: the name of the entry assembly (or of the program), without the process id that the instances of processes have. It stays when its processes have gone. Those with most processor time in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 500,
        per_peer: 0,
        score: SERVICE_CPU,
        initial: Vec::new,
    };
    /// Rows `service::lo-hi` in us.
    SERVICE_PAUSES = TableDef {
        name: "service_pause",
        cluster: CLUSTER + 59,
        indom: InDomDef {
            serial: 75,
            oneline: "Lengths of garbage collection pauses of .NET programs",
            help: "One instance for each range of lengths of each program: PROGRAM::LO-HI in us, LO included.",
        },
        of_peer: false,
        max: 500 * PAUSE_EDGES.len(),
        per_peer: 0,
        score: SERVICE_PAUSE_HISTOGRAM,
        initial: Vec::new,
    };
    /// Rows `service::Namespace.Type`.
    SERVICE_EXCEPTION_TYPES = TableDef {
        name: "service_exception",
        cluster: CLUSTER + 60,
        indom: InDomDef {
            serial: 76,
            oneline: "Types of exceptions of .NET programs",
            help: "One instance for each type of exception of each program: PROGRAM::NAMESPACE.TYPE. Those thrown most in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 2000,
        per_peer: 0,
        score: SERVICE_EXCEPTION_TYPE,
        initial: Vec::new,
    };
    /// Rows `service,Outer.method,Inner.method`.
    SERVICE_STACKS = TableDef {
        name: "service_stack",
        cluster: CLUSTER + 61,
        indom: InDomDef {
            serial: 77,
            oneline: "Stacks of methods of .NET programs",
            help: "One instance for each stack of managed methods of each program: PROGRAM, then NAMESPACE.TYPE.METHOD of each frame, outermost first, parted by commas: the program is the outermost frame of a flame graph. Those with most processor time in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 2000,
        per_peer: 0,
        score: SERVICE_STACK_TIME,
        initial: Vec::new,
    };
}

row_metrics! {
    GC_COUNT GENERATIONS 0 "gc.count" U64 Counter Count "Garbage collections" "Of this generation or a higher one, as GC.CollectionCount counts them.";
    GC_OWN GENERATIONS 1 "gc.own" U64 Counter Count "Garbage collections of just this generation" "As OpenTelemetry's dotnet.gc.collections counts them.";
    GC_TIME GENERATIONS 2 "gc.time" U64 Counter Nanoseconds "Time of garbage collections" "From start to end, by generation; background collections apart. The program runs during most of a background collection: see gc.pause.total.";
    HEAP_SIZE GENERATIONS 3 "gc.heap.size" U64 Instant Bytes "Size of the generation" "After the last collection.";
    HEAP_PROMOTED GENERATIONS 4 "gc.heap.promoted" U64 Counter Bytes "Bytes that survived collections" "Promoted from the generation, sum over collections.";
    GC_REASON REASONS 0 "gc.by_reason" U64 Counter Count "Garbage collections by reason" "As the runtime tells it.";
    PAUSES PAUSE_BUCKETS 0 "gc.pause.histogram" U64 Counter Count "Pauses by length" "Pauses for garbage collections of all processes whose length in us is in the range.";
    CONTENTIONS CONTENTION_BUCKETS 0 "lock.contention.histogram" U64 Counter Count "Waits for locks by length" "Of all processes whose length in us is in the range.";
    EXCEPTION_TYPE EXCEPTION_TYPES 0 "exceptions.by_type" U64 Counter Count "Exceptions thrown, by type" "Thrown, whether they were caught or not.";
    ALLOC_TYPE_BYTES ALLOC_TYPES 0 "alloc.by_type.bytes" U64 Counter Bytes "Bytes allocated, by type (sampled)" "An estimate: a sample stands for some 100 KiB. Costs the process 2 us a sample; only with dotnet.allocations or LTTng.";
    ALLOC_TYPE_SAMPLES ALLOC_TYPES 1 "alloc.by_type.samples" U64 Counter Count "Samples of allocations, by type" "To judge the error of alloc.by_type.bytes.";
    LOCK_TIME LOCKS 0 "lock.top.time" U64 Counter Nanoseconds "Time waited for the lock" "Sum over all threads. .NET 8 and later.";
    LOCK_COUNT LOCKS 1 "lock.top.count" U64 Counter Count "Waits for the lock" "By any thread of the process. .NET 8 and later.";
    ADJUSTMENT ADJUSTMENTS 0 "pool.adjustments" U64 Counter Count "Adjustments of the thread pool by reason" "Of the number of its threads.";
    JIT_TIER TIERS 0 "jit.by_tier" U64 Counter Count "Methods compiled by tier" "Only with dotnet.jit or LTTng.";
    WAIT_TIME WAITS 0 "wait.time" U64 Counter Nanoseconds "Time in waits" "Of all threads: monitor is Monitor.Wait, other all other wait handles. .NET 9 and later, only with dotnet.waits.";
    CPU_TIME CPU 0 "cpu.time" U64 Counter Nanoseconds "Processor time" "Of the process since its start, by /proc.";
    STACK_SAMPLES STACKS 0 "profile.stacks" U64 Counter Nanoseconds "Processor time by stack" "Samples of stacks, each weighted with the processor time that its thread used since its last sample. In bursts only: on request (profile.run) or by dotnet.profile_every. Sums of all bursts since the process was first read, or since profile.run was told to reset.";
    METHOD_SELF METHODS 0 "profile.methods.self" U64 Counter Nanoseconds "Processor time in the method itself" "From the same samples as profile.stacks.";
    METHOD_TOTAL METHODS 1 "profile.methods.total" U64 Counter Nanoseconds "Processor time in the method and what it called" "From the same samples as profile.stacks; of a recursive method once a sample.";
    SERIES_UPDATES SERIES 0 "meter.reports" U64 Counter Count "Reports of the series" "Intervals in which the process reported an instrument with these tags.";
    SERVICE_PROCESSES SERVICES 0 "service.processes" U64 Instant Count Members "Processes of the program" "Those that are there now; 0 when all have gone.";
    SERVICE_GC_COUNT SERVICES 1 "service.gc.count" U64 Counter Count "Garbage collections of the program" "Of all generations and of all its processes while this PMDA read them. Goes on when a process ends and another one starts.";
    SERVICE_PAUSE_COUNT SERVICES 2 "service.gc.pause.count" U64 Counter Count "Garbage collection pauses of the program" "Of all its processes, as apm.dotnet.gc.pause.count.";
    SERVICE_PAUSE_TOTAL SERVICES 3 "service.gc.pause.total" U64 Counter Nanoseconds "Time of garbage collection pauses of the program" "Of all its processes, as apm.dotnet.gc.pause.total: its rate is the share of time, summed over the processes.";
    SERVICE_PAUSE_P50 SERVICES 4 "service.gc.pause.p50" U64 Instant Nanoseconds Recent "Median pause of the program in the last minute" "Of pauses of all its processes, made from one histogram. No value if there were none, or if no process is there. Of two significant digits.";
    SERVICE_PAUSE_P95 SERVICES 5 "service.gc.pause.p95" U64 Instant Nanoseconds Recent "95th percentile of pauses of the program in the last minute" "Of pauses of all its processes, made from one histogram. No value if there were none, or if no process is there. Of two significant digits.";
    SERVICE_PAUSE_P99 SERVICES 6 "service.gc.pause.p99" U64 Instant Nanoseconds Recent "99th percentile of pauses of the program in the last minute" "Of pauses of all its processes, made from one histogram. No value if there were none, or if no process is there. Of two significant digits.";
    SERVICE_PAUSE_MAX SERVICES 7 "service.gc.pause.max" U64 Instant Nanoseconds Recent "Longest pause of the program in the last minute" "Of pauses of all its processes. No value if there were none, or if no process is there. Of two significant digits.";
    SERVICE_EXCEPTIONS SERVICES 8 "service.exceptions.count" U64 Counter Count "Exceptions thrown in the program" "Of all its processes, as apm.dotnet.exceptions.count.";
    SERVICE_CONTENTION_COUNT SERVICES 9 "service.lock.contention.count" U64 Counter Count "Contended locks in the program" "Of all its processes, as apm.dotnet.lock.contention.count.";
    SERVICE_CONTENTION_TIME SERVICES 10 "service.lock.contention.time" U64 Counter Nanoseconds "Time waited for locks in the program" "Of all its processes, as apm.dotnet.lock.contention.time.";
    SERVICE_ALLOC SERVICES 11 "service.alloc.bytes" U64 Counter Bytes "Bytes allocated by the program" "Of all its processes, as apm.dotnet.alloc.bytes.";
    SERVICE_CPU SERVICES 12 "service.cpu.time" U64 Counter Nanoseconds "Processor time of the program" "Of all its processes, user and system, while this PMDA knew them.";
    SERVICE_PAUSE_HISTOGRAM SERVICE_PAUSES 0 "service.gc.pause.histogram" U64 Counter Count "Pauses of the program by length" "Pauses for garbage collections of all its processes whose length in us is in the range.";
    SERVICE_EXCEPTION_TYPE SERVICE_EXCEPTION_TYPES 0 "service.exceptions.by_type" U64 Counter Count "Exceptions thrown in the program, by type" "Of all its processes, as apm.dotnet.exceptions.by_type.";
    SERVICE_STACK_TIME SERVICE_STACKS 0 "service.stack.time" U64 Counter Nanoseconds "Processor time of a stack of the program" "As apm.dotnet.profile.stacks, by program.";
}
