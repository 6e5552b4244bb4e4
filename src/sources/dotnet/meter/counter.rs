//! EventCounters of the provider System.Runtime (docs/protocols/dotnet.md 7).

/// A counter of System.Runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// percent of all processors
    CpuUsage,
    /// 10^6 bytes
    WorkingSet,
    /// 10^6 bytes
    HeapSize,
    /// collections of generation 0 in the interval, higher ones included
    Gen0Count,
    /// the same for generation 1
    Gen1Count,
    /// the same for generation 2
    Gen2Count,
    /// 10^6 bytes
    Gen0Budget,
    /// threads
    PoolThreads,
    /// contentions in the interval
    Contentions,
    /// work items
    PoolQueue,
    /// work items in the interval
    PoolCompleted,
    /// bytes in the interval
    Allocated,
    /// timers
    Timers,
    /// percent
    Fragmentation,
    /// 10^6 bytes
    Committed,
    /// exceptions in the interval
    Exceptions,
    /// percent
    TimeInGc,
    /// milliseconds in the interval
    PauseTime,
    /// bytes
    Gen0Size,
    /// bytes
    Gen1Size,
    /// bytes
    Gen2Size,
    /// bytes
    LohSize,
    /// bytes
    PohSize,
    /// assemblies
    Assemblies,
    /// bytes since the start of the process
    IlBytes,
    /// methods since the start of the process
    Methods,
    /// milliseconds in the interval
    JitTime,
}

impl Counter {
    /// The counter of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "cpu-usage" => Self::CpuUsage,
            "working-set" => Self::WorkingSet,
            "gc-heap-size" => Self::HeapSize,
            "gen-0-gc-count" => Self::Gen0Count,
            "gen-1-gc-count" => Self::Gen1Count,
            "gen-2-gc-count" => Self::Gen2Count,
            "gen-0-gc-budget" => Self::Gen0Budget,
            "threadpool-thread-count" => Self::PoolThreads,
            "monitor-lock-contention-count" => Self::Contentions,
            "threadpool-queue-length" => Self::PoolQueue,
            "threadpool-completed-items-count" => Self::PoolCompleted,
            "alloc-rate" => Self::Allocated,
            "active-timer-count" => Self::Timers,
            "gc-fragmentation" => Self::Fragmentation,
            "gc-committed" => Self::Committed,
            "exception-count" => Self::Exceptions,
            "time-in-gc" => Self::TimeInGc,
            "total-pause-time-by-gc" => Self::PauseTime,
            "gen-0-size" => Self::Gen0Size,
            "gen-1-size" => Self::Gen1Size,
            "gen-2-size" => Self::Gen2Size,
            "loh-size" => Self::LohSize,
            "poh-size" => Self::PohSize,
            "assembly-count" => Self::Assemblies,
            "il-bytes-jitted" => Self::IlBytes,
            "methods-jitted-count" => Self::Methods,
            "time-in-jit" => Self::JitTime,
            _ => return None,
        })
    }
}
