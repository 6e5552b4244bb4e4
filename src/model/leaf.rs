//! The leaves of `apm.runtime` and `apm.service`: one name for what each source has under its own.

use pcp_event::{Semantics, Units, ValueType};

macro_rules! leaves {
    ($($id:ident $item:literal $name:literal $ty:ident $sem:ident $units:ident $oneline:literal $help:literal;)*) => {
        /// A leaf of `apm.runtime` or `apm.service`; its number is its PMID item in both.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Leaf { $(#[doc = $oneline] $id = $item),* }

        /// All leaves.
        pub const LEAVES: &[LeafDef] = &[$(LeafDef {
            leaf: Leaf::$id, name: $name, ty: ValueType::$ty, sem: Semantics::$sem, units: Units::$units,
            oneline: $oneline, help: $help,
        }),*];
    };
}

/// A leaf in PCP's terms.
#[derive(Clone, Copy, Debug)]
pub struct LeafDef {
    /// The leaf.
    pub leaf: Leaf,
    /// Name below `apm.runtime` or `apm.service`.
    pub name: &'static str,
    /// Value type.
    pub ty: ValueType,
    /// Semantics.
    pub sem: Semantics,
    /// Units.
    pub units: Units,
    /// One line of help.
    pub oneline: &'static str,
    /// More help.
    pub help: &'static str,
}

leaves! {
    State 0 "state" Text Instant None "How the runtime is, in words" "As apm.agent.state.";
    Since 1 "since" Text Discrete None "Since when it is connected or read, or gone" "As apm.agent.since.";
    Restarts 2 "restarts" U64 Counter Count "New processes under this name" "Of sources whose instances outlive a process.";
    Instances 3 "instances" U32 Instant Count "Connected processes, pods or agents of the service" "Those that are there now.";
    CpuTime 8 "cpu.time" U64 Counter Nanoseconds "Processor time" "User and system.";
    CpuUser 9 "cpu.user" U64 Counter Nanoseconds "Processor time in user mode" "Part of cpu.time.";
    CpuSystem 10 "cpu.system" U64 Counter Nanoseconds "Processor time in the kernel" "Part of cpu.time.";
    MemoryResident 16 "memory.resident" U64 Instant Bytes "Resident memory" "Working set of the process.";
    MemoryLimit 17 "memory.limit" U64 Instant Bytes "Memory limit of the container" "No value if there is none.";
    HeapUsed 24 "heap.used" U64 Instant Bytes "Memory of objects on the managed heap" "Objects that nobody refers to any more count until they are collected.";
    HeapCommitted 25 "heap.committed" U64 Instant Bytes "Memory that the managed heap has of the system" "Used or not.";
    HeapLimit 26 "heap.limit" U64 Instant Bytes "Limit of the managed heap" "What it may grow to.";
    Threads 32 "threads" U32 Instant Count "Managed threads" "Threads that exist now.";
    GcCount 40 "gc.count" U64 Counter Count "Garbage collections" "Of all generations, each counted once.";
    GcTime 41 "gc.time" U64 Counter Nanoseconds "Time of garbage collections" "From start to end; of concurrent ones the program runs meanwhile.";
    PauseCount 48 "gc.pause.count" U64 Counter Count "Garbage collection pauses" "Times that the program stood still for a collection.";
    PauseTime 49 "gc.pause.time" U64 Counter Nanoseconds "Time of garbage collection pauses" "Its rate is the share of time in which the program stood still.";
    PauseMax 50 "gc.pause.max" U64 Instant Nanoseconds "Longest pause of the last minute" "No value if there was none.";
    PauseP50 51 "gc.pause.p50" U64 Instant Nanoseconds "Median pause of the last minute" "No value if there was none.";
    PauseP95 52 "gc.pause.p95" U64 Instant Nanoseconds "95th percentile of pauses of the last minute" "No value if there was none.";
    PauseP99 53 "gc.pause.p99" U64 Instant Nanoseconds "99th percentile of pauses of the last minute" "No value if there was none.";
    AllocBytes 56 "alloc.bytes" U64 Counter Bytes "Bytes allocated" "On the managed heap.";
    Exceptions 64 "exceptions.count" U64 Counter Count "Exceptions thrown" "Also those that are caught.";
    LockCount 72 "lock.count" U64 Counter Count "Contended locks" "Times that a thread had to wait for a lock.";
    LockTime 73 "lock.time" U64 Counter Nanoseconds "Time waited for locks" "Sum over all threads.";
    JitTime 80 "jit.time" U64 Counter Nanoseconds "Time to compile methods" "Sum over all threads.";
    Calls 88 "calls.count" U64 Counter Count "Calls, requests or spans" "Outermost ones that have ended, as the source counts them.";
    CallErrors 89 "calls.errors" U64 Counter Count "Calls that failed" "Part of calls.count.";
    CallTime 90 "calls.time" U64 Counter Nanoseconds "Time that calls took" "Divide its rate by that of calls.count for the mean.";
    LatencyP50 96 "latency.p50" U64 Instant Nanoseconds "Median duration of calls in the last minute" "No value if there was none.";
    LatencyP95 97 "latency.p95" U64 Instant Nanoseconds "95th percentile of the duration of calls in the last minute" "No value if there was none.";
    LatencyP99 98 "latency.p99" U64 Instant Nanoseconds "99th percentile of the duration of calls in the last minute" "No value if there was none.";
    LatencyMax 99 "latency.max" U64 Instant Nanoseconds "Longest call in the last minute" "No value if there was none.";
}

impl Leaf {
    /// The value means now: there is none of a peer that is silent or gone.
    #[must_use]
    pub fn is_instant(self) -> bool {
        self.def().is_some_and(|def| def.sem == Semantics::Instant)
    }

    /// Units of its values.
    #[must_use]
    pub fn units(self) -> Units {
        self.def().map_or(Units::None, |def| def.units)
    }

    fn def(self) -> Option<&'static LeafDef> {
        LEAVES.iter().find(|def| def.leaf == self)
    }
}
