//! Metrics of one process.

use crate::peer_metrics;

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
        "mapping: the mapped file by /proc/PID/map_files. file: the file below the root of the process. memory: the mapping in the \
            memory of the process. Empty: it is not read.";
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
}
