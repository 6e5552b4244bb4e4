//! The metrics, tables, events, parameters and controls of JVMs (docs/metrics.md, `apm.jvm.*`), and what they are
//! called in every source. Archives contain the ids, so these never change.

mod events;

pub(crate) use events::*;

use super::limits;
use crate::catalogue::{InDomDef, Part, RollUp, ServiceOf, ServiceSum, Services, TableDef};
use crate::model::{Leaf, RowItem, TableId};
use crate::{listed, peer_metrics, row_metrics};

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 384;

/// The instance domain of processes.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 90,
    oneline: "Java virtual machines",
    help: "One instance for each running JVM of this host and of its containers, called NAME:PID: the service that it was told to be \
     (-Dspring.application.name, -Dotel.service.name, OTEL_SERVICE_NAME), else its jar without the version, or its main class \
     without the package. An instance stays for a while after its process has gone (limits.forget).",
};

peer_metrics! {
    VERSION 0 "process.version" Text Discrete None Text "Version of Java"
        "The property java.version: 17.0.9, 1.8.0_504.";
    VM 1 "process.vm" Text Discrete None Text "Virtual machine and its version"
        "The properties java.vm.name and java.vm.version.";
    VENDOR 2 "process.vendor" Text Discrete None Text "Vendor of the virtual machine"
        "The property java.vm.vendor.";
    COMMAND 3 "process.command" Text Discrete None Text "Main class or jar, and its arguments"
        "As the JVM has it (sun.rt.javaCommand), cut at 1024 bytes; of one that is not read, its command line. It can hold secrets, so \
            it is no label. Arguments of the JVM itself are not shown.";
    COLLECTOR 4 "process.collector" Text Discrete None Text "Garbage collector"
        "Serial, Parallel, CMS, G1, ZGC, ZGC generational, Shenandoah or Epsilon.";
    START_TIME 5 "process.start_time" I64 Discrete Milliseconds Cell "Time of the process's start"
        "Milliseconds since 1970-01-01 00:00 UTC, by /proc.";
    OWNER 6 "process.owner" Text Discrete None Text "User of the process"
        "Name of the effective user that the process runs as, or its number.";
    CONTAINER_PID 7 "process.container_pid" U32 Discrete None Cell "Process id within the container"
        "The innermost process id; the same as the host's for a process that is in no container.";
    VIA 8 "process.via" Text Discrete None Text "How the performance data is read"
        "mapping: the mapped file by /proc/PID/map_files. file: the file below the root of the process. memory: the memory of the \
            process, where it has no file (jvm.memory). Empty: it is not read.";
    STATE 9 "session.state" U32 Discrete None Cell "State of reading"
        "0 found: its performance data is not ready. 1 no permission. 3 read: all is well. 5 refused: it has none, or none that can be \
            understood. 6 gone: it has ended, or is no longer read.";
    REASON 10 "session.reason" Text Discrete None Text "State of reading in words"
        "What is the matter, and what can be done. Metrics that come from /proc have values in most states.";
    OVERFLOW 11 "session.overflow" U64 Instant Bytes Cell "Bytes of counters that found no room"
        "The JVM's region was full (-XX:PerfDataMemorySize): metrics are missing.";
    ENTRIES 12 "session.entries" U32 Instant Count Cell "Counters of the performance data"
        "Those that were understood. JVMs have 133 to 249, some of which come after the start.";
    PAUSE_COUNT 16 "gc.pause.count" U64 Counter Count Cell "Garbage collection pauses"
        "Times that the program stood still for a collection. Of ZGC and of concurrent cycles each cycle has several. Of Shenandoah, and of \
            ZGC of JDK 11: all safepoints.";
    PAUSE_TOTAL 17 "gc.pause.total" U64 Counter Nanoseconds Cell "Time of garbage collection pauses"
        "Its rate is the share of time in which the program stood still for them. The time to stop its threads is safepoint.sync_time. Of \
            Shenandoah, and of ZGC of JDK 11: of all safepoints.";
    PAUSE_LAST 18 "gc.pause.last" U64 Instant Nanoseconds Cell "Length of the newest pause"
        "Of the collection that ended last. No value of Shenandoah.";
    PAUSE_MAX 19 "gc.pause.max" U64 Instant Nanoseconds Recent "Longest pause of the last minute"
        "As far as is known: the JVM tells sums and the last pause, and is read once a second. With more than one pause in a second it is a \
            lower bound. No value if there was none.";
    GC_RUNNING 20 "gc.running" U32 Instant None Cell "A collection is running"
        "1 while one runs, else 0, as of the last reading, which is once a second.";
    LAST_CAUSE 21 "gc.last_cause" Text Discrete None Text "Cause of the last collection"
        "As HotSpot calls it: Allocation Failure, System.gc(), G1 Evacuation Pause, Metadata GC Threshold.";
    GC_CPU 22 "gc.cpu.time" U64 Counter Nanoseconds Cell "Processor time of the collector's threads"
        "As of the last collection. JDK 22 and later.";
    HEAP_TOTAL 23 "gc.heap.total" U64 Instant Bytes Cell "Memory of objects on the heap"
        "Objects that nobody refers to count until they are collected. Of ZGC, and of Serial and Parallel from JDK 25 on, it is of the end of \
            the last collection: a heap that fills meanwhile is not seen, but memory.working_set is.";
    HEAP_COMMITTED 24 "gc.heap.committed" U64 Instant Bytes Cell "Memory that the heap has of the system"
        "Used or not. Both survivor spaces count.";
    HEAP_MAX 25 "gc.heap.max" U64 Discrete Bytes Cell "Limit of the heap"
        "As -Xmx sets it, or a quarter of the memory that the JVM sees. Compare it with memory.limit: the JVM needs more than its heap.";
    SAFEPOINT_COUNT 32 "safepoint.count" U64 Counter Count Cell "Safepoints"
        "Times that all threads stood still: for collections and for other operations of the JVM.";
    SAFEPOINT_TIME 33 "safepoint.time" U64 Counter Nanoseconds Cell "Time at safepoints"
        "From the moment that all threads stood still. With safepoint.sync_time it is how long the program was held up.";
    SAFEPOINT_SYNC 34 "safepoint.sync_time" U64 Counter Nanoseconds Cell "Time to stop all threads"
        "From the wish to the moment that all of them stood still. It can be a multiple of the pause: a loop without a check is waited for.";
    VM_OPERATION 35 "vm_operation.time" U64 Counter Nanoseconds Cell "Time of operations of the VM thread"
        "Operations within safepoints and without; not the time to stop threads.";
    LOCK_COUNT 36 "lock.contention.count" U64 Counter Count Cell "Waits for monitors"
        "Of synchronized only. The JVM does not tell how long they took. Up to JDK 24.";
    THREADS 40 "threads.count" U32 Instant Count Cell "Threads of Java"
        "Platform threads that live now; no virtual threads, none of the collector and the compiler.";
    THREADS_DAEMON 41 "threads.daemon" U32 Instant Count Cell "Daemon threads of Java"
        "Part of threads.count: those that do not keep the JVM from ending.";
    THREADS_PEAK 42 "threads.peak" U32 Instant Count Cell "Most threads of Java at once"
        "Since the start of the JVM, or since somebody has reset it.";
    THREADS_CREATED 43 "threads.created" U64 Counter Count Cell "Threads of Java that were started"
        "Since the start of the JVM. A high rate means that no pool is used.";
    THREADS_NATIVE 44 "threads.native" U32 Instant Count Cell "All threads of the process"
        "By /proc: also those of the collector, of the compiler and of libraries.";
    CLASSES 48 "classes" U64 Instant Count Cell "Classes that are loaded now"
        "Those of the CDS archive included. One that only grows is a leak of class loaders.";
    CLASS_LOADED 49 "class.loaded" U64 Counter Count Cell "Classes loaded"
        "Since the start of the JVM, those of the CDS archive included.";
    CLASS_UNLOADED 50 "class.unloaded" U64 Counter Count Cell "Classes unloaded"
        "Since the start of the JVM, with their class loaders.";
    CLASS_TIME 51 "class.load_time" U64 Counter Nanoseconds Cell "Time to load classes"
        "Since the start of the JVM, in all threads.";
    JIT_METHODS 56 "jit.methods" U64 Counter Count Cell "Methods compiled"
        "Since the start of the JVM; one that is compiled again counts again. No value with -Xint.";
    JIT_BAILOUTS 57 "jit.bailouts" U64 Counter Count Cell "Compilations given up"
        "Methods that the compiler could not compile: they are interpreted.";
    JIT_INVALIDATED 58 "jit.invalidated" U64 Counter Count Cell "Compiled methods thrown away"
        "An assumption of the compiler was wrong: the method is interpreted and compiled again.";
    JIT_TIME 59 "jit.time" U64 Counter Nanoseconds Cell "Time to compile methods"
        "Sum over all compiler threads, since the start of the JVM.";
    JIT_CODE 60 "jit.code_bytes" U64 Counter Bytes Cell "Machine code made"
        "Since the start of the JVM; not the size of the code cache, from which code is removed.";
    WORKING_SET 64 "memory.working_set" U64 Instant Bytes Cell "Resident memory of the process"
        "VmRSS of /proc: heap, metaspace, code, stacks, buffers and libraries.";
    SWAP 65 "memory.swap" U64 Instant Bytes Cell "Memory of the process in swap"
        "VmSwap of /proc. A heap in swap makes each collection slow.";
    MEMORY_LIMIT 66 "memory.limit" U64 Instant Bytes Cell "Memory limit of the container"
        "The lowest memory.max of the control groups that the process is in. No value: there is none. A process that needs more is killed.";
    MEMORY_USAGE 67 "memory.usage" U64 Instant Bytes Cell "Memory that the container uses"
        "memory.current of the control group with that limit: all processes in it, and the files that they have cached.";
    OOM_KILLS 68 "memory.oom_kills" U64 Counter Count Cell "Processes of the container killed for want of memory"
        "oom_kill of that control group.";
    CPUS_LIMIT 69 "cpus.limit" F64 Instant None Cell "Processors that the container may use"
        "The lowest cpu.max of the control groups that the process is in. No value: there is no limit.";
    FILES_OPEN 70 "files.open" U64 Instant Count Cell "Open files of the process"
        "Descriptors, by /proc: files, sockets, pipes.";
    FILES_LIMIT 71 "files.limit" U64 Instant Count Cell "Most files that the process may have open"
        "The soft limit (ulimit -n). Where files.open comes near to it, connections fail.";
    DEADLOCKED 80 "threads.deadlocked" U32 Instant Count Cell "Threads that wait for each other for ever"
        "As of the last control.threads; no value before.";
    SAMPLES 81 "profile.samples" U64 Counter Count Cell "Samples of stacks"
        "Sum over all recordings (control.profile).";
    BURSTS 82 "profile.bursts" U64 Counter Count Cell "Recordings"
        "Recordings of Flight Recorder that were read.";
    THROWABLES 83 "profile.throwables" U64 Instant Count Cell "Exceptions and errors made since the start"
        "By the JVM's own count, as of the end of the last recording; also those that were caught.";
    MISSED 84 "records.missed" U64 Counter Count Cell "Events of recordings without a record"
        "Each recording has at most 1000 records of each kind.";
}

/// The rows of a process.
const fn rows(
    name: &'static str,
    (serial, cluster): (u32, u16),
    score: RowItem,
    oneline: &'static str,
    help: &'static str,
) -> TableDef {
    let indom = InDomDef { serial, oneline, help };
    let (of_peer, max, per_peer, initial) = (true, 8192, 0, Vec::new);
    TableDef { name, cluster, indom, of_peer, max, per_peer, score, initial }
}

listed! {
    /// The tables.
    TABLES: TableDef as TableId;
    /// Collectors of a process.
    COLLECTORS = rows("collector", (91, CLUSTER + 1), GC_COUNT,
        "Collectors of JVMs",
        "PROCESS::young (collections of new objects), full (of the whole heap, while the program stands still), concurrent (pauses of \
         cycles that run beside the program; CMS and G1 from JDK 11 on, ZGC) and major (of generational ZGC). Shenandoah has none: its counters \
         count phases, not collections."
    );
    /// Memory pools of a process.
    POOLS = TableDef { max: 16384, ..rows("pool", (92, CLUSTER + 2), POOL_COMMITTED,
        "Memory pools of JVMs",
        "PROCESS::eden, survivor0, survivor1 and old (Serial, Parallel, CMS, G1); young and old (generational ZGC); heap (ZGC, \
         Shenandoah, Epsilon); metaspace, and class_space, which is a part of it."
    ) };
    /// Modes of processor time.
    MODES = rows("mode", (93, CLUSTER + 3), CPU_TIME,
        "Processor time of JVMs",
        "PROCESS::user and PROCESS::system."
    );
    /// Rows: names of services.
    SERVICES = TableDef { of_peer: false, max: 500, ..rows("service", (94, CLUSTER + 4), SERVICE_CPU,
        "Services of JVMs",
        "One instance for each name that JVMs have, without the process id. It stays when its processes have gone, so its counters go on over \
         restarts. Those with most processor time in the last minutes have instances, what the others add is in the instance other."
    ) };
    /// Classes of a process.
    CLASS_ROWS = TableDef { per_peer: limits::CLASSES, ..rows("class", (95, CLUSTER + 6), CLASS_BYTES,
        "Classes of JVMs",
        "PROCESS::PACKAGE.CLASS: the 200 classes whose objects take most memory, as of the last control.histogram. Arrays end in []."
    ) };
    /// States of the threads of a process.
    STATES = rows("thread_state", (96, CLUSTER + 7), STATE_THREADS,
        "States of threads of JVMs",
        "PROCESS::new, runnable, blocked, waiting, timed_waiting, terminated, as of the last control.threads."
    );
    /// Stacks of recordings.
    STACKS = TableDef { max: 16384, per_peer: limits::ROWS_OF_PROFILE, ..rows("stack", (97, CLUSTER + 8), STACK_SAMPLES,
        "Stacks of Java methods",
        "One instance for each stack of Java methods of each process: PROCESS::PACKAGE.CLASS.METHOD,PACKAGE.CLASS.METHOD, outermost first, parted by commas, as flame graphs want it. A process's 500 with most samples in the last minutes have instances, what its others add is in PROCESS::other, until control.profile is told to reset."
    ) };
    /// Methods of recordings.
    METHODS = TableDef { max: 16384, per_peer: limits::ROWS_OF_PROFILE, ..rows("method", (98, CLUSTER + 9), METHOD_SELF,
        "Methods in recordings of JVMs",
        "One instance for each method in samples of each process: PROCESS::PACKAGE.CLASS.METHOD. A process's 500 with most samples in the last minutes have instances, what its others add is in PROCESS::other, until control.profile is told to reset."
    ) };
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
    CLASS_BYTES CLASS_ROWS 0 "histogram.bytes" U64 Instant Bytes "Memory of objects by class" "As of the last control.histogram. What objects refer to is not part of it.";
    CLASS_OBJECTS CLASS_ROWS 1 "histogram.objects" U64 Instant Count "Objects by class" "As of the last control.histogram.";
    STATE_THREADS STATES 0 "threads.by_state" U64 Instant Count "Threads by state" "As of the last control.threads. runnable threads run, wait for a processor, or wait in native code.";
    STACK_SAMPLES STACKS 0 "profile.stacks" U64 Counter Count "Samples by stack" "Each 20 ms the JVM samples up to 5 threads that run Java code, fewer if the machine is busy: shares are right, a sample is no measure of time. On request only (control.profile); sums of all recordings since the process was first read, or since control.profile was told to reset.";
    METHOD_SELF METHODS 0 "profile.methods.self" U64 Counter Count "Samples of the method itself" "From the same samples as profile.stacks.";
    METHOD_TOTAL METHODS 1 "profile.methods.total" U64 Counter Count "Samples of the method and what it called" "From the same samples as profile.stacks; of a recursive method once a sample.";
}

/// `apm.runtime`.
pub(super) const RUNTIME: &[RollUp] = &[
    RollUp { leaf: Leaf::CpuTime, parts: &[Part::Rows(CPU_TIME)] },
    RollUp { leaf: Leaf::CpuUser, parts: &[Part::Row(CPU_TIME, "user")] },
    RollUp { leaf: Leaf::CpuSystem, parts: &[Part::Row(CPU_TIME, "system")] },
    RollUp { leaf: Leaf::MemoryResident, parts: &[Part::Metrics(&[WORKING_SET])] },
    RollUp { leaf: Leaf::MemoryLimit, parts: &[Part::Metrics(&[MEMORY_LIMIT])] },
    RollUp { leaf: Leaf::HeapUsed, parts: &[Part::Metrics(&[HEAP_TOTAL])] },
    RollUp { leaf: Leaf::HeapCommitted, parts: &[Part::Metrics(&[HEAP_COMMITTED])] },
    RollUp { leaf: Leaf::HeapLimit, parts: &[Part::Metrics(&[HEAP_MAX])] },
    RollUp { leaf: Leaf::Threads, parts: &[Part::Metrics(&[THREADS])] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(GC_COUNT)] },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Rows(GC_TIME)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Metrics(&[PAUSE_COUNT])] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Metrics(&[PAUSE_TOTAL])] },
    RollUp { leaf: Leaf::PauseMax, parts: &[Part::Metrics(&[PAUSE_MAX])] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Metrics(&[LOCK_COUNT])] },
    RollUp { leaf: Leaf::JitTime, parts: &[Part::Metrics(&[JIT_TIME])] },
];

/// `apm.service`.
pub(super) const SERVICE: Option<Services> = Some(Services {
    table: SERVICES,
    of_peer: ServiceOf::Label("service"),
    leaves: LEAVES,
    sums: SUMS,
    rows: &[],
});

const SUMS: &[ServiceSum] = &[
    ServiceSum::OfRows(GC_COUNT, None, SERVICE_GC_COUNT),
    ServiceSum::OfRows(CPU_TIME, None, SERVICE_CPU),
    ServiceSum::Of(PAUSE_COUNT, SERVICE_PAUSE_COUNT),
    ServiceSum::Of(PAUSE_TOTAL, SERVICE_PAUSE_TOTAL),
    ServiceSum::Of(SAFEPOINT_TIME, SERVICE_SAFEPOINT),
    ServiceSum::Of(CLASS_LOADED, SERVICE_CLASSES),
    ServiceSum::Of(JIT_TIME, SERVICE_JIT),
    ServiceSum::Of(LOCK_COUNT, SERVICE_LOCKS),
];

const LEAVES: &[RollUp] = &[
    RollUp { leaf: Leaf::Restarts, parts: &[Part::Rows(SERVICE_STARTS)] },
    RollUp { leaf: Leaf::Instances, parts: &[Part::Members] },
    RollUp { leaf: Leaf::CpuTime, parts: &[Part::Rows(SERVICE_CPU)] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(SERVICE_GC_COUNT)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(SERVICE_PAUSE_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(SERVICE_PAUSE_TOTAL)] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Rows(SERVICE_LOCKS)] },
    RollUp { leaf: Leaf::JitTime, parts: &[Part::Rows(SERVICE_JIT)] },
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
