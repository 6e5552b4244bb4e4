//! The processes of this host: which of them each finder looks at, and when.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::finder::{Interest, Named, Visit};
use super::limits::{self, FINDERS};
use super::text::ProcStat;

/// Looks at a young process: what it executes and whether it has its files can still change.
const YOUNG_LOOKS: u8 = 6;
/// Time from each of the first looks at a process to the next one, a little less than that of scans.
const YOUNG: [Duration; YOUNG_LOOKS as usize - 1] = [
    Duration::from_millis(900),
    Duration::from_millis(900),
    Duration::from_millis(900),
    Duration::from_millis(1_900),
    Duration::from_millis(3_900),
];
/// Time between two looks at others, longer by up to [`SPREAD`] seconds: a shell that becomes another program
/// keeps its id and its start time.
const SELDOM: Duration = Duration::from_secs(45);
/// Of so many looks at one that has shown nothing, one is a whole one: a program can load a runtime late.
const WHOLE: u8 = 5;
/// Spreads looks over time, so that not all fall into one scan.
const SPREAD: u32 = 30;

/// A set of finders: a bit for each, by its number.
pub(super) type Finders = u8;
const _: () = assert!(FINDERS <= Finders::BITS as usize, "a bit for each finder");

/// A process that has ended, or is another one now, and the finders that were interested in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) finders: Finders,
}

/// What is known of a process before a look, which can show that it is another one.
#[derive(Debug)]
pub(super) struct Before {
    start: u64,
    comm: Vec<u8>,
    /// Finders whose time has come.
    pub(super) due: Finders,
    active: Finders,
    visits: [Visit; FINDERS],
}

impl Before {
    fn is(&self, stat: &ProcStat) -> bool {
        self.start == stat.start && self.comm == stat.comm
    }

    /// The finders that look at it, of those that are active: all of them, if it is another process or program than
    /// before.
    pub(super) fn due_at(&self, stat: &ProcStat) -> Finders {
        if self.is(stat) { self.due } else { self.active }
    }

    /// No finder that is due makes a look that costs much, unless it is another program.
    pub(super) fn is_settled(&self) -> bool {
        let mut due = self.visits.iter().enumerate().filter(|(n, _)| self.due & 1 << n != 0);
        due.all(|(_, visit)| visit.settled)
    }

    /// Which look of a finder it is.
    pub(super) fn visit(&self, finder: usize, stat: &ProcStat) -> Visit {
        let known = self.visits.get(finder).filter(|_| self.is(stat));
        known.copied().unwrap_or(Visit { number: 1, settled: false })
    }
}

/// What one finder knows of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Eye {
    looks: u8,
    /// Monotonic time of the next look.
    next: Duration,
    interest: Interest,
    /// Earlier looks have shown nothing, and nothing says that it has become another program.
    settled: bool,
    /// Looks since the last whole one at a process that has shown nothing.
    short: u8,
}

#[derive(Debug)]
struct Entry {
    /// Inode of /proc/PID: new for each process, and sometimes for an old one.
    inode: u64,
    /// Of the latest look; 0: not looked at yet.
    start: u64,
    inner_pid: u32,
    comm: Vec<u8>,
    eyes: [Eye; FINDERS],
    /// Number of the listing that had it.
    listing: u64,
}

impl Entry {
    fn interested(&self) -> Finders {
        let seen = (0..).zip(&self.eyes).filter(|(_, eye)| eye.interest != Interest::Nothing);
        seen.fold(0, |all, (n, _)| all | 1 << n)
    }

    /// All that was known of it is of another process.
    fn leave(&mut self, pid: u32, gone: &mut Vec<Gone>) {
        let finders = self.interested();
        if finders != 0 {
            gone.push(Gone { pid, start: self.start, finders });
        }
        self.eyes = [Eye::default(); FINDERS];
    }
}

/// All processes.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: HashMap<u32, Entry>,
    listing: u64,
    /// Files of processes that have come or gone, by finder.
    named: [HashSet<Named>; FINDERS],
}

impl Table {
    /// The processes that there are now, with the inodes of their folders.
    pub(super) fn listed(&mut self, list: &[(u32, u64)], gone: &mut Vec<Gone>) {
        self.listing += 1;
        for &(pid, inode) in list {
            if self.entries.len() >= limits::PROCESSES && !self.entries.contains_key(&pid) {
                continue;
            }
            let entry = self.entries.entry(pid).or_insert(Entry {
                inode,
                start: 0,
                inner_pid: pid,
                comm: Vec::new(),
                eyes: [Eye::default(); FINDERS],
                listing: 0,
            });
            entry.listing = self.listing;
            if entry.inode != inode {
                entry.inode = inode;
                entry.eyes.iter_mut().for_each(|eye| eye.next = Duration::ZERO);
            }
        }
        let listing = self.listing;
        self.entries.retain(|&pid, entry| {
            let here = entry.listing == listing;
            if !here {
                entry.leave(pid, gone);
            }
            here
        });
    }

    /// A file of a process has come, gone or changed: the finder looks at it.
    pub(super) fn named(&mut self, finder: usize, named: Named) {
        let Some(all) = self.named.get_mut(finder) else { return };
        if all.len() < limits::NAMED {
            all.insert(named);
        } else {
            all.clear();
            self.look_again(finder);
        }
    }

    /// The finder looks at a process as if it were new.
    pub(super) fn again(&mut self, finder: usize, pid: u32) {
        let eye = self.entries.get_mut(&pid).and_then(|entry| entry.eyes.get_mut(finder));
        if let Some(eye) = eye {
            (eye.looks, eye.next, eye.settled) = (0, Duration::ZERO, false);
        }
    }

    /// The finder looks at all processes as if they were young.
    pub(super) fn look_again(&mut self, finder: usize) {
        for eye in self.entries.values_mut().filter_map(|entry| entry.eyes.get_mut(finder)) {
            (eye.looks, eye.next, eye.settled) = (eye.looks.min(1), Duration::ZERO, false);
        }
    }

    /// The processes to look at now, at most [`limits::LOOKS`], and the finders that do: first those
    /// whose files have changed, then those that are some finder's, new ones, others.
    pub(super) fn due(&mut self, now: Duration, active: Finders) -> Vec<(u32, Finders)> {
        let mut due: Vec<(u8, u32, Finders)> = Vec::new();
        for (&pid, entry) in &mut self.entries {
            let (mut first, mut finders) = (u8::MAX, 0);
            for (n, (eye, named)) in entry.eyes.iter_mut().zip(&self.named).enumerate() {
                if active & 1 << n == 0 {
                    continue;
                }
                let file = |start| named.contains(&Named { inner_pid: entry.inner_pid, start });
                let rank = if !named.is_empty() && (file(Some(entry.start)) || file(None)) {
                    // It may have become another program.
                    eye.settled = false;
                    0
                } else if eye.next > now {
                    continue;
                } else if eye.interest != Interest::Nothing {
                    1
                } else {
                    2 + u8::from(eye.looks > 0)
                };
                (first, finders) = (first.min(rank), finders | 1 << n);
            }
            if finders != 0 {
                due.push((first, pid, finders));
            }
        }
        self.named.iter_mut().for_each(HashSet::clear);
        if due.len() > limits::LOOKS {
            due.select_nth_unstable(limits::LOOKS);
            due.truncate(limits::LOOKS);
        }
        due.sort_unstable();
        due.into_iter().map(|(_, pid, finders)| (pid, finders)).collect()
    }

    /// What is known of a process now; `None`: it is not known.
    pub(super) fn before(&self, pid: u32, (due, active): (Finders, Finders)) -> Option<Before> {
        let entry = self.entries.get(&pid)?;
        let visit = |eye: Eye| Visit { number: eye.looks.saturating_add(1), settled: eye.settled };
        let (start, comm) = (entry.start, entry.comm.clone());
        Some(Before { start, comm, due, active, visits: entry.eyes.map(visit) })
    }

    /// Who a process is now.
    pub(super) fn seen(&mut self, pid: u32, stat: &ProcStat, inner_pid: u32, gone: &mut Vec<Gone>) {
        let Some(entry) = self.entries.get_mut(&pid) else { return };
        if entry.start != stat.start {
            entry.leave(pid, gone);
        } else if entry.comm != stat.comm {
            // Another program.
            entry.eyes.iter_mut().for_each(|eye| (eye.looks, eye.settled) = (0, false));
        }
        (entry.start, entry.inner_pid) = (stat.start, inner_pid);
        entry.comm.clone_from(&stat.comm);
    }

    /// A look has come back.
    pub(super) fn looked(&mut self, pid: u32, finder: usize, interest: Interest, now: Duration) {
        let eye = self.entries.get_mut(&pid).and_then(|entry| entry.eyes.get_mut(finder));
        let Some(eye) = eye else { return };
        eye.looks = eye.looks.saturating_add(1);
        eye.interest = interest;
        let young = YOUNG.get(usize::from(eye.looks - 1));
        let nothing = interest == Interest::Nothing && young.is_none();
        eye.short = if nothing { (eye.short + 1) % WHOLE } else { 0 };
        eye.settled = eye.short != 0;
        let spread = Duration::from_secs((pid % SPREAD).into());
        let wait = match (interest, young) {
            (Interest::Seldom, _) | (Interest::Nothing, None) => SELDOM + spread,
            (_, Some(young)) => *young,
            (Interest::Often, None) => limits::OFTEN + spread / 3,
        };
        eye.next = now.saturating_add(wait);
    }

    /// A look has not come back: what is known of the process stays.
    pub(super) fn unanswered(&mut self, pid: u32, finder: usize, now: Duration) {
        let eye = self.entries.get_mut(&pid).and_then(|entry| entry.eyes.get_mut(finder));
        if let Some(eye) = eye {
            eye.next = now.saturating_add(YOUNG[0]);
        }
    }

    /// A thread of the kernel is not looked at.
    pub(super) fn kernel(&mut self, pid: u32) {
        self.later(pid, Duration::MAX);
    }

    /// The process has ended, or nothing of it can be read.
    pub(super) fn ended(&mut self, pid: u32, now: Duration, gone: &mut Vec<Gone>) {
        let Some(entry) = self.entries.get_mut(&pid) else { return };
        entry.leave(pid, gone);
        entry.start = 0;
        self.later(pid, now.saturating_add(limits::OFTEN));
    }

    fn later(&mut self, pid: u32, next: Duration) {
        let Some(entry) = self.entries.get_mut(&pid) else { return };
        entry.eyes.iter_mut().for_each(|eye| eye.next = next);
    }
}

#[cfg(test)]
#[path = "tests/table.rs"]
mod tests;
