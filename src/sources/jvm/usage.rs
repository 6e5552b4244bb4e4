//! Figures of a process that the host has.

/// What is read often: memory, threads, processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Bytes that are resident.
    pub(crate) resident: Option<u64>,
    /// Bytes in swap.
    pub(crate) swap: Option<u64>,
    /// All threads of the process.
    pub(crate) threads: Option<u64>,
    /// Processor time of user and system in ns.
    pub(crate) cpu: (u64, u64),
}

/// What is read seldom: limits, and open files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    /// Bytes of memory that the container may use; `None`: there is no limit.
    pub(crate) memory: Option<u64>,
    /// Bytes that it uses.
    pub(crate) memory_usage: Option<u64>,
    /// Processes of it that were killed for want of memory.
    pub(crate) oom_kills: Option<u64>,
    /// Processors that it may use; `None`: there is no limit.
    pub(crate) cpus: Option<f64>,
    /// Open files.
    pub(crate) files: Option<u64>,
    /// Most open files.
    pub(crate) files_limit: Option<u64>,
}
