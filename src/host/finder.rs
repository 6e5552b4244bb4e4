//! What a source does to find its processes.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use super::files::ProcDir;
use super::limits;
use super::text::{ProcStat, ProcStatus};
use super::watches::Watches;

/// The eye of a source: it says of each process whether it is one of the source's, and keeps what it has told
/// of it.
pub trait Finder: Send + Sync {
    /// It looks for processes: the configuration wants it.
    fn is_active(&self) -> bool;

    /// Looks at a process. It may block: a turn of looks that has not come back after [`limits::LOOK_TIME`] is left
    /// behind, and the reports of the rest are not made. So nothing is changed here.
    fn look(&self, glance: &Glance, visit: Visit) -> Look;

    /// A process in which it was interested has ended, or cannot be seen any more.
    fn gone(&self, pid: u32, start: u64);

    /// The process that a file of this name is of, which has come, gone or changed in a directory
    /// that is watched.
    fn named(&self, name: &[u8]) -> Option<Named>;
}

/// A process, as the name of a file tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Named {
    /// Its id in its own pid namespace.
    pub inner_pid: u32,
    /// Its start in clock ticks since boot, if the name has it.
    pub start: Option<u64>,
}

/// Which look at a process it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// 1 for the first one at this program of the process.
    pub number: u8,
    /// Earlier ones have shown nothing, it is no longer young, and its name is the same: a look that
    /// costs much need not be made. Every few minutes it is not settled.
    pub settled: bool,
}

/// What a look has shown.
#[derive(Default)]
pub struct Look {
    /// How soon the next one is.
    pub interest: Interest,
    /// What is done if the look came back in time.
    pub report: Option<Box<dyn FnOnce() + Send>>,
}

/// What a finder makes of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interest {
    /// It is none of the source's.
    #[default]
    Nothing,
    /// It is one, and looked at as seldom as others are.
    Seldom,
    /// It is one, and looked at again after [`limits::OFTEN`].
    Often,
}

/// One look at a process, for all finders.
pub struct Glance {
    process: ProcDir,
    stat: ProcStat,
    status: ProcStatus,
    maps: OnceLock<Option<Vec<u8>>>,
    watches: Option<Arc<Watches>>,
}

impl Glance {
    /// `None`: the process has ended.
    pub(super) fn new(
        process: ProcDir,
        status: ProcStatus,
        watches: Option<Arc<Watches>>,
    ) -> Option<Self> {
        let stat = process.stat()?;
        Some(Self { process, stat, status, maps: OnceLock::new(), watches })
    }

    /// A look at this process alone; directories are not watched. `None`: it has ended.
    #[must_use]
    pub fn of(process: ProcDir) -> Option<Self> {
        let status = process.status()?;
        Self::new(process, status, None)
    }

    /// Its files.
    #[must_use]
    pub const fn process(&self) -> &ProcDir {
        &self.process
    }

    /// Its state.
    #[must_use]
    pub const fn stat(&self) -> &ProcStat {
        &self.stat
    }

    /// Its users.
    #[must_use]
    pub const fn status(&self) -> ProcStatus {
        self.status
    }

    /// Its id as this host sees it.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its id as it sees it.
    #[must_use]
    pub fn inner_pid(&self) -> u32 {
        self.status.container_pid.unwrap_or(self.pid())
    }

    /// What it has mapped, at most [`limits::MAPS`] bytes; `None`: this user may not see it.
    #[must_use]
    pub fn maps(&self) -> Option<&[u8]> {
        self.maps.get_or_init(|| self.process.read_most("maps", limits::MAPS)).as_deref()
    }

    /// Watches a directory from now on: files that come there are given to [`Finder::named`].
    pub fn watch(&self, directory: &OwnedFd) {
        if let Some(watches) = &self.watches {
            watches.add(directory);
        }
    }
}
