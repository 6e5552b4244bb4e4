//! The processes of this host: which of them to look at, and what has changed.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{Look, Socket};
use crate::sources::dotnet::limits;
use crate::sources::dotnet::target::Access;

/// Looks at a young process: its environment and its program can still change, and its socket come.
const YOUNG_LOOKS: u8 = 5;
/// Time between two looks at a young process: a little less than that of scans.
const YOUNG: Duration = Duration::from_millis(1_900);
/// Time between two looks at one of .NET, and at others: a shell that becomes a .NET program keeps
/// its id and its start time. Each is longer by up to [`SPREAD`].
const DOTNET: Duration = Duration::from_secs(10);
const OTHER: Duration = Duration::from_secs(45);
/// Spreads looks over time, so that not all fall into one scan.
const SPREAD: u32 = 30;
/// The look that also reads which files are mapped, which costs as much as all the rest.
const MAPS_LOOK: u8 = 2;

/// A change of the processes of .NET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A new one.
    Found { pid: u32, look: Look, access: Access },
    /// A known one can, or can no longer, be read.
    Access { pid: u32, access: Access },
    /// A known one has ended.
    Gone { pid: u32 },
}

/// A process.
#[derive(Debug)]
struct Entry {
    /// Inode of /proc/PID: new for each process, and sometimes for an old one.
    inode: u64,
    /// Of the latest look; 0: not looked at yet.
    start: u64,
    container_pid: u32,
    comm: Vec<u8>,
    looks: u8,
    /// Monotonic time of the next look.
    next: Duration,
    /// A result of reading maps.
    runtime: Option<bool>,
    /// The access reported last, if it is one of .NET.
    access: Option<Access>,
    /// It has had a socket.
    had_socket: bool,
    /// Number of the listing that had it.
    listing: u64,
}

/// All processes.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: HashMap<u32, Entry>,
    listing: u64,
    /// Sockets that have come or gone: process id as the process sees it, and start time.
    named: HashSet<(u32, u64)>,
    /// More than could be remembered: the next scan looks at all processes.
    again: bool,
}

impl Table {
    /// The processes that there are now, with the inodes of their folders.
    pub(crate) fn listed(&mut self, list: &[(u32, u64)], changes: &mut Vec<Change>) {
        self.listing += 1;
        for &(pid, inode) in list {
            if self.entries.len() >= limits::ENTRIES && !self.entries.contains_key(&pid) {
                continue;
            }
            let entry = self.entries.entry(pid).or_insert(Entry {
                inode,
                start: 0,
                container_pid: 0,
                comm: Vec::new(),
                looks: 0,
                next: Duration::ZERO,
                runtime: None,
                access: None,
                had_socket: false,
                listing: 0,
            });
            entry.listing = self.listing;
            if entry.inode != inode {
                entry.inode = inode;
                entry.next = Duration::ZERO;
            }
        }
        let listing = self.listing;
        self.entries.retain(|&pid, entry| {
            let here = entry.listing == listing;
            if !here && entry.access.is_some() {
                changes.push(Change::Gone { pid });
            }
            here
        });
    }

    /// A socket of this name has come, gone or changed.
    pub(crate) fn named(&mut self, container_pid: u32, start: u64) {
        if self.named.len() < limits::NAMED {
            self.named.insert((container_pid, start));
        } else {
            self.again = true;
        }
    }

    /// Looks at all processes as if they were young.
    pub(crate) const fn look_again(&mut self) {
        self.again = true;
    }

    /// The processes to look at now, at most [`limits::LOOKS`], and whether to read their maps:
    /// first those whose sockets have changed, then those of .NET, new ones, others.
    pub(crate) fn due(&mut self, now: Duration) -> Vec<(u32, bool)> {
        let named = std::mem::take(&mut self.named);
        if std::mem::take(&mut self.again) {
            for entry in self.entries.values_mut().filter(|entry| entry.looks > 0) {
                entry.looks = 1;
                entry.next = Duration::ZERO;
            }
        }
        let mut due: Vec<(u8, u32, bool)> = self
            .entries
            .iter()
            .filter_map(|(&pid, entry)| {
                let rank = if named.contains(&(entry.container_pid, entry.start)) {
                    0
                } else if entry.next > now {
                    return None;
                } else if entry.access.is_some() {
                    1
                } else if entry.looks == 0 {
                    2
                } else {
                    3
                };
                Some((rank, pid, entry.looks == MAPS_LOOK && entry.access.is_none()))
            })
            .collect();
        if due.len() > limits::LOOKS {
            due.select_nth_unstable(limits::LOOKS);
            due.truncate(limits::LOOKS);
        }
        due.sort_unstable();
        let mut maps = limits::MAPS;
        due.into_iter()
            .filter_map(|(_, pid, wanted)| {
                if wanted && maps == 0 {
                    return None;
                }
                maps -= usize::from(wanted);
                Some((pid, wanted))
            })
            .collect()
    }

    /// The result of a look; `None`: the process has ended, or nothing of it can be read. `judge`
    /// says whether it is one of .NET, knowing whether it has had a socket.
    pub(crate) fn looked(
        &mut self,
        pid: u32,
        look: Option<Look>,
        now: Duration,
        judge: impl FnOnce(&Look, bool) -> Option<Access>,
        changes: &mut Vec<Change>,
    ) {
        let Some(entry) = self.entries.get_mut(&pid) else { return };
        let Some(mut look) = look else {
            if entry.access.take().is_some() {
                changes.push(Change::Gone { pid });
            }
            entry.start = 0;
            entry.looks = YOUNG_LOOKS;
            entry.next = now + DOTNET;
            return;
        };
        if entry.start != look.start {
            if entry.access.take().is_some() {
                changes.push(Change::Gone { pid });
            }
            (entry.looks, entry.runtime, entry.had_socket) = (0, None, false);
        } else if entry.comm != look.comm {
            // Another program.
            (entry.looks, entry.runtime) = (0, None);
        }
        (entry.start, entry.container_pid) = (look.start, look.container_pid);
        entry.comm.clone_from(&look.comm);
        entry.runtime = look.runtime.or(entry.runtime);
        look.runtime = entry.runtime;
        entry.looks = entry.looks.saturating_add(1);
        let access = judge(&look, entry.had_socket);
        entry.had_socket |= matches!(look.socket, Socket::Present { .. });
        let wait = match &access {
            _ if look.kernel => Duration::MAX / 2,
            _ if entry.looks < YOUNG_LOOKS => YOUNG,
            Some(_) => DOTNET + Duration::from_secs((pid % (SPREAD / 3)).into()),
            None => OTHER + Duration::from_secs((pid % SPREAD).into()),
        };
        entry.next = now.saturating_add(wait);
        let Some(access) = access else { return };
        if entry.access.as_ref() == Some(&access) {
            return;
        }
        let new = entry.access.replace(access.clone()).is_none();
        changes.push(if new {
            Change::Found { pid, look, access }
        } else {
            Change::Access { pid, access }
        });
    }
}

#[cfg(test)]
mod tests;
