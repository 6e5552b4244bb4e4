//! The processes of this host: which of them to look at now, and what has changed.

use std::collections::HashMap;
use std::time::Duration;

use super::access::Access;
use crate::sources::mono::limits;

/// Looks at a young process: what it executes and whether it has an area can still change.
const YOUNG_LOOKS: u8 = 4;
/// Time between two looks at a young process: a little less than that of scans.
const YOUNG: Duration = Duration::from_millis(900);
/// Time between two looks at one of Mono that cannot be read.
const CLOSED: Duration = Duration::from_secs(10);
/// Time between two looks at others, longer by up to [`SPREAD`] seconds: a shell that becomes a
/// Mono program keeps its id and its start time.
const OTHER: Duration = Duration::from_secs(45);
const SPREAD: u32 = 30;

/// What a look at a process has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Clock ticks since boot.
    pub start: u64,
    /// Name of the main thread.
    pub comm: Vec<u8>,
    /// Process id in the innermost pid namespace.
    pub inner_pid: u32,
    /// A thread of the kernel.
    pub kernel: bool,
    /// Whether it is one of Mono. `None`: it is not, as far as this user can see.
    pub access: Option<Access>,
}

/// A change of the processes of Mono.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A new one, or one that can now, or can no longer, be read.
    Found { pid: u32, start: u64, access: Access },
    /// A known one has ended.
    Gone { pid: u32, start: u64 },
}

#[derive(Debug)]
struct Entry {
    /// Inode of /proc/PID: new for each process, and sometimes for an old one.
    inode: u64,
    /// Of the latest look; 0: not looked at yet.
    start: u64,
    inner_pid: u32,
    comm: Vec<u8>,
    looks: u8,
    /// Monotonic time of the next look.
    next: Duration,
    access: Option<Access>,
    /// Number of the listing that had it.
    listing: u64,
}

/// All processes.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: HashMap<u32, Entry>,
    listing: u64,
}

impl Table {
    /// The processes that there are now, with the inodes of their folders.
    pub(crate) fn listed(&mut self, list: &[(u32, u64)], changes: &mut Vec<Change>) {
        self.listing += 1;
        for &(pid, inode) in list {
            if self.entries.len() >= limits::LISTED && !self.entries.contains_key(&pid) {
                continue;
            }
            let entry = self.entries.entry(pid).or_insert(Entry {
                inode,
                start: 0,
                inner_pid: pid,
                comm: Vec::new(),
                looks: 0,
                next: Duration::ZERO,
                access: None,
                listing: 0,
            });
            entry.listing = self.listing;
            if entry.inode != inode {
                (entry.inode, entry.next) = (inode, Duration::ZERO);
            }
        }
        let listing = self.listing;
        self.entries.retain(|&pid, entry| {
            let here = entry.listing == listing;
            if !here && entry.access.is_some() {
                changes.push(Change::Gone { pid, start: entry.start });
            }
            here
        });
    }

    /// An area with this number has come or gone: looks at the processes that call themselves so.
    pub(crate) fn named(&mut self, number: u32) {
        let named = self.entries.iter_mut().filter(|(_, entry)| entry.inner_pid == number);
        named.for_each(|(_, entry)| entry.next = Duration::ZERO);
    }

    /// A process that was found is not known: finds it again.
    pub(crate) fn again(&mut self, pid: u32) {
        if let Some(entry) = self.entries.get_mut(&pid) {
            (entry.access, entry.looks, entry.next) = (None, 0, Duration::ZERO);
        }
    }

    /// Looks at all processes as if they were new.
    pub(crate) fn look_again(&mut self) {
        for entry in self.entries.values_mut() {
            (entry.looks, entry.next) = (0, Duration::ZERO);
        }
    }

    /// The processes to look at now, at most [`limits::LOOKS`], new ones and those of Mono first;
    /// and the name that a process must still have for its files not to be looked at.
    pub(crate) fn due(&mut self, now: Duration) -> Vec<(u32, Option<Vec<u8>>)> {
        let due = self.entries.iter().filter(|(_, entry)| entry.next <= now);
        let mut due: Vec<_> = due
            .map(|(&pid, entry)| (entry.looks >= YOUNG_LOOKS && entry.access.is_none(), pid))
            .collect();
        if due.len() > limits::LOOKS {
            due.select_nth_unstable(limits::LOOKS);
            due.truncate(limits::LOOKS);
        }
        due.sort_unstable();
        let settled = |old, pid| {
            let entry = self.entries.get(&pid).filter(|_| old)?;
            Some(entry.comm.clone())
        };
        due.into_iter().map(|(old, pid)| (pid, settled(old, pid))).collect()
    }

    /// The process still has the name that it had, so nothing else was looked at.
    pub(crate) fn unchanged(&mut self, pid: u32, start: u64, now: Duration) -> bool {
        match self.entries.get_mut(&pid) {
            Some(entry) if entry.start == start => {
                entry.next = now.saturating_add(rest(pid, OTHER));
                true
            }
            _ => false,
        }
    }

    /// A look has not come back: what is known of the process stays.
    pub(crate) fn unanswered(&mut self, pid: u32, now: Duration) {
        if let Some(entry) = self.entries.get_mut(&pid) {
            entry.next = now.saturating_add(YOUNG);
        }
    }

    /// The result of a look; `None`: the process has ended, or nothing of it can be read.
    pub(crate) fn looked(
        &mut self,
        pid: u32,
        look: Option<Look>,
        now: Duration,
        changes: &mut Vec<Change>,
    ) {
        let Some(entry) = self.entries.get_mut(&pid) else { return };
        let mut leave = |entry: &mut Entry| {
            if entry.access.take().is_some() {
                changes.push(Change::Gone { pid, start: entry.start });
            }
        };
        let Some(look) = look else {
            leave(entry);
            (entry.start, entry.looks, entry.next) = (0, YOUNG_LOOKS, now + CLOSED);
            return;
        };
        if entry.start != look.start {
            leave(entry);
            entry.looks = 0;
        } else if entry.comm != look.comm {
            // Another program.
            entry.looks = 0;
        }
        (entry.start, entry.inner_pid, entry.comm) = (look.start, look.inner_pid, look.comm);
        entry.looks = entry.looks.saturating_add(1);
        let wait = match &look.access {
            _ if look.kernel => Duration::MAX / 2,
            Some(Access::Open) => rest(pid, OTHER),
            _ if entry.looks < YOUNG_LOOKS => YOUNG,
            Some(_) => CLOSED,
            None => rest(pid, OTHER),
        };
        entry.next = now.saturating_add(wait);
        match look.access {
            // A look that shows nothing: it executes another program, which has no area.
            None => leave(entry),
            // Its area may not be there yet.
            Some(Access::Off(_)) if entry.looks < 2 && entry.access.is_none() => {}
            Some(access) if entry.access.as_ref() != Some(&access) => {
                entry.access = Some(access.clone());
                changes.push(Change::Found { pid, start: entry.start, access });
            }
            Some(_) => {}
        }
    }
}

fn rest(pid: u32, least: Duration) -> Duration {
    least + Duration::from_secs((pid % SPREAD).into())
}
