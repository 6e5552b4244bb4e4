//! Metrics of the rows of tables.

use super::tables::*;
use crate::row_metrics;

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
    STACK_SAMPLES STACKS 0 "profile.stacks" U64 Counter Nanoseconds "Processor time by stack" "Samples of stacks, each weighted with the processor time that its thread used since its last sample. In bursts only: on request (profile.run) or by dotnet.profile_every.";
    METHOD_SELF METHODS 0 "profile.methods.self" U64 Counter Nanoseconds "Processor time in the method itself" "From the same samples as profile.stacks.";
    METHOD_TOTAL METHODS 1 "profile.methods.total" U64 Counter Nanoseconds "Processor time in the method and what it called" "From the same samples as profile.stacks; of a recursive method once a sample.";
    SERIES_UPDATES SERIES 0 "meter.reports" U64 Counter Count "Reports of the series" "Intervals in which the process reported an instrument with these tags.";
}
