//! Losses by the numbers that each thread gives its events (docs/protocols/dotnet.md 3, "Loss").

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::sources::dotnet::limits;

/// Events that the process could not write, and what else the numbers show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Numbers that are missing between events.
    pub gaps: u64,
    /// Numbers that are missing at sequence points.
    pub points: u64,
    /// Threads whose numbers began anew: the OS reused the id.
    pub resets: u64,
    /// Events of threads beyond `limits::THREADS`: not checked.
    pub unchecked: u64,
}

impl Losses {
    /// All lost events.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.gaps + self.points
    }
}

/// The last number of each thread.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    last: HashMap<u64, u32, RandomState>,
    losses: Losses,
}

/// Events of one thread that follow each other in a block. The first run of a block has none.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) thread: u64,
    /// The last number; 0: none yet.
    pub(super) last: u32,
    /// The thread is one of those whose numbers are kept.
    tracked: bool,
    /// Events of the run.
    pub(super) events: u64,
}

/// Numbers are ahead by less than this.
const AHEAD: u32 = 1 << 31;

impl Sequences {
    pub(super) const fn losses(&self) -> Losses {
        self.losses
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.last.allocation_size()
    }

    /// Begins a run of events of one thread.
    pub(super) fn begin(&self, thread: u64) -> Run {
        let last = self.last.get(&thread).copied();
        let tracked = last.is_some() || self.last.len() < limits::THREADS;
        Run { thread, last: last.unwrap_or(0), tracked, events: 0 }
    }

    /// Ends a run of events.
    pub(super) fn end(&mut self, run: &Run) {
        if run.tracked {
            self.last.insert(run.thread, run.last);
        } else {
            self.losses.unchecked += run.events;
        }
    }

    /// An event whose number does not follow: the losses before it.
    #[cold]
    pub(super) fn odd(&mut self, run: &Run, number: u32) -> u64 {
        if !run.tracked {
            return 0;
        }
        let step = number.wrapping_sub(run.last);
        if (number == 1 && run.last != 0) || step == 0 || step >= AHEAD {
            self.losses.resets += 1;
            return 0;
        }
        let lost = u64::from(step - 1);
        self.losses.gaps += lost;
        lost
    }

    /// One thread of a sequence point: the losses it shows. A thread that never came has lost all.
    pub(super) fn point(&mut self, thread: u64, number: u32) -> u64 {
        let room = self.last.len() < limits::THREADS;
        let lost = match self.last.entry(thread) {
            Entry::Occupied(mut e) => {
                let step = number.wrapping_sub(*e.get());
                if step >= AHEAD {
                    return 0;
                }
                e.insert(number);
                step
            }
            Entry::Vacant(e) if room => *e.insert(number),
            Entry::Vacant(_) => return 0,
        };
        self.losses.points += u64::from(lost);
        u64::from(lost)
    }

    /// The thread ended.
    pub(super) fn remove(&mut self, thread: u64) {
        self.last.remove(&thread);
    }

    /// Forgets all threads.
    pub(super) fn clear(&mut self) {
        self.last.clear();
    }
}
