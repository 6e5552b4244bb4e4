//! What is known of a process beside its performance data.

use super::reader::Hints;

/// What the host knows of a process. It does not change while it lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Who {
    /// Process id as this host sees it.
    pub(crate) pid: u32,
    /// Time of the start in clock ticks since boot.
    pub(crate) start: u64,
    /// Time of the start in ms since 1970, if it is known.
    pub(crate) started: Option<i64>,
    /// Process id as the process sees it.
    pub(crate) inner_pid: u32,
    /// Name of its user, or the number.
    pub(crate) owner: String,
    /// The container that it is in.
    pub(crate) container: Option<String>,
    /// Command line, for one whose performance data is not read.
    pub(crate) command: String,
    /// It began while this PMDA ran: all that it has counted counts for its service.
    pub(crate) is_new: bool,
    /// What its name is made of, beside its performance data.
    pub(crate) hints: Hints,
}

/// How far reading has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its performance data is not ready.
    Starting,
    /// This user may not read it: why.
    Denied(String),
    /// It is read, and with words if some of it is missing.
    Read(String),
    /// There is none, or none that can be understood: why.
    Refused(String),
}

impl State {
    pub(super) const fn number(&self) -> u32 {
        match self {
            Self::Starting => 0,
            Self::Denied(_) => 1,
            Self::Read(_) => 3,
            Self::Refused(_) => 5,
        }
    }

    pub(super) fn words(&self) -> &str {
        match self {
            Self::Starting => "starting",
            Self::Denied(why) | Self::Read(why) | Self::Refused(why) => why,
        }
    }
}

/// What /proc has and is read often: memory, threads, processor time.
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
