//! What a program's sums have of a process: each way says its totals, and what no way has said
//! before counts, so that a process counts once whatever ways see it.

use std::sync::Arc;

use super::host::Key;
use super::processes::Processes;

/// A sum over the processes of a program that several ways have a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// `program.exceptions.count`.
    Exceptions,
    /// `program.gc.count`.
    Collections,
}

/// Totals of a process that its program's sums have; `None`: no way has said any.
pub(super) type Counted = [Option<u64>; 2];

/// The totals of one process.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(super) processes: Arc<Processes>,
    pub(super) key: Key,
    /// Which program of the process it is of.
    pub(super) number: u32,
    /// The program began before this PMDA.
    pub(super) older: bool,
}

impl Tally {
    /// What the sum grows by if this is a total since the start of the process. The first one of a
    /// process that began before this PMDA adds nothing.
    pub(crate) fn since_start(&self, sum: Sum, total: u64) -> u64 {
        self.grown(sum, total, self.older)
    }

    /// The same for a total of what came from a stream: all of it was read by this PMDA.
    pub(crate) fn of_stream(&self, sum: Sum, total: u64) -> u64 {
        self.grown(sum, total, false)
    }

    fn grown(&self, sum: Sum, total: u64, passes: bool) -> u64 {
        self.processes.grown(self.key, self.number, (sum, total), passes)
    }
}
