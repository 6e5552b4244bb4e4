//! The tables, instance domains beside the processes, and the metrics of their rows.

use super::CLUSTER;
use crate::catalogue::{InDomDef, TableDef};
use crate::model::TableId;
use crate::{listed, row_metrics};

listed! {
    /// The tables.
    TABLES: TableDef as TableId;
    /// Collectors of a process.
    COLLECTORS = TableDef {
        name: "collector",
        cluster: CLUSTER + 1,
        indom: InDomDef {
            serial: 91,
            oneline: "Collectors of JVMs",
            help: "PROCESS::young (collections of new objects), full (of the whole heap, while the program stands still), concurrent (pauses of \
             cycles that run beside the program; CMS and G1 from JDK 11 on, ZGC) and major (of generational ZGC). Shenandoah has none: its counters \
             count phases, not collections.",
        },
        of_peer: true,
        max: 8192,
        per_peer: 0,
        score: GC_COUNT,
        initial: Vec::new,
    };
    /// Memory pools of a process.
    POOLS = TableDef {
        name: "pool",
        cluster: CLUSTER + 2,
        indom: InDomDef {
            serial: 92,
            oneline: "Memory pools of JVMs",
            help: "PROCESS::eden, survivor0, survivor1 and old (Serial, Parallel, CMS, G1); young and old (generational ZGC); heap (ZGC, \
             Shenandoah, Epsilon); metaspace, and class_space, which is a part of it.",
        },
        of_peer: true,
        max: 16384,
        per_peer: 0,
        score: POOL_COMMITTED,
        initial: Vec::new,
    };
    /// Modes of processor time.
    MODES = TableDef {
        name: "mode",
        cluster: CLUSTER + 3,
        indom: InDomDef {
            serial: 93,
            oneline: "Processor time of JVMs",
            help: "PROCESS::user and PROCESS::system.",
        },
        of_peer: true,
        max: 8192,
        per_peer: 0,
        score: CPU_TIME,
        initial: Vec::new,
    };
    /// Rows: names of services.
    SERVICES = TableDef {
        name: "service",
        cluster: CLUSTER + 4,
        indom: InDomDef {
            serial: 94,
            oneline: "Services of JVMs",
            help: "One instance for each name that JVMs have, without the process id. It stays when its processes have gone, so its counters go on over \
             restarts. Those with most processor time in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 500,
        per_peer: 0,
        score: SERVICE_CPU,
        initial: Vec::new,
    };
}

row_metrics! {
    GC_COUNT COLLECTORS 0 "gc.count" U64 Counter Count "Collections" "Since the start of the JVM. Of concurrent and major, and of young of generational ZGC, it is the number of pauses: a cycle has several.";
    GC_TIME COLLECTORS 1 "gc.time" U64 Counter Nanoseconds "Time of collections" "Since the start of the JVM: the time in which the program stood still for them.";
    POOL_USED POOLS 0 "memory.pool.used" U64 Instant Bytes "Memory in use in the pool" "metaspace and class_space are of the last collection; so are the others of ZGC, and of Serial and Parallel from JDK 25 on.";
    POOL_COMMITTED POOLS 1 "memory.pool.committed" U64 Instant Bytes "Memory that the pool has of the system" "Used or not; the low 12 bits, which some releases add, are cleared.";
    POOL_MAX POOLS 2 "memory.pool.max" U64 Instant Bytes "Limit of the pool" "No value where it is the whole heap or reserved address space.";
    CPU_TIME MODES 0 "cpu.time" U64 Counter Nanoseconds "Processor time" "Of the process since its start, by /proc.";
    SERVICE_PROCESSES SERVICES 0 "service.processes" U64 Instant Count Members "Processes of the service" "Those that are there now; 0 when all have gone.";
    SERVICE_STARTS SERVICES 1 "service.starts" U64 Counter Count "Starts of processes of the service" "Processes that began while this PMDA ran.";
    SERVICE_GC_COUNT SERVICES 2 "service.gc.count" U64 Counter Count "Collections of the service" "Of all its processes while this PMDA read them, as apm.jvm.gc.count. Goes on when a process ends and another one starts.";
    SERVICE_PAUSE_COUNT SERVICES 3 "service.gc.pause.count" U64 Counter Count "Garbage collection pauses of the service" "Of all its processes, as apm.jvm.gc.pause.count.";
    SERVICE_PAUSE_TOTAL SERVICES 4 "service.gc.pause.total" U64 Counter Nanoseconds "Time of garbage collection pauses of the service" "Of all its processes, as apm.jvm.gc.pause.total: its rate is the share of time, summed over the processes.";
    SERVICE_SAFEPOINT SERVICES 5 "service.safepoint.time" U64 Counter Nanoseconds "Time at safepoints of the service" "Of all its processes, as apm.jvm.safepoint.time.";
    SERVICE_CLASSES SERVICES 6 "service.class.loaded" U64 Counter Count "Classes loaded by the service" "Of all its processes, as apm.jvm.class.loaded.";
    SERVICE_JIT SERVICES 7 "service.jit.time" U64 Counter Nanoseconds "Time to compile methods of the service" "Of all its processes, as apm.jvm.jit.time.";
    SERVICE_LOCKS SERVICES 8 "service.lock.contention.count" U64 Counter Count "Waits for monitors of the service" "Of all its processes, as apm.jvm.lock.contention.count.";
    SERVICE_CPU SERVICES 9 "service.cpu.time" U64 Counter Nanoseconds "Processor time of the service" "Of all its processes, user and system, while this PMDA knew them.";
}
