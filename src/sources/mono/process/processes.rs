//! The processes that have seats.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::facts::{Facts, Host, Key, Said, Via};
use super::seat::{Chair, Counted, Seat};
use super::{Share, Way};
use crate::sources::mono::limits;

/// The processes of this host, shared by all ways.
pub(crate) struct Processes {
    host: Arc<dyn Host>,
    table: Mutex<Table>,
    /// Changes with every seat that is taken, left, or sees otherwise.
    pub(super) changes: AtomicU64,
}

impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processes").finish_non_exhaustive()
    }
}

/// A peer that may take a seat when it has said who it is.
#[derive(Clone, Debug)]
pub(crate) struct Joining {
    /// The processes of this host.
    pub processes: Arc<Processes>,
    /// Where the peer's bytes come from.
    pub via: Via,
}

impl Joining {
    /// Takes a seat, as [`Processes::join`] does.
    pub(crate) fn join(&self, way: Way, said: &Said<'_>) -> Option<Seat> {
        self.processes.join(way, &self.via, said)
    }
}

#[derive(Default)]
pub(super) struct Table {
    pub(super) live: HashMap<Key, Process>,
    /// Processes by process id, also those that have gone.
    pub(super) known: HashMap<u32, Known>,
    /// Seats that were ever taken.
    seats: u64,
}

impl Table {
    /// What is known of a program of a process. What is read late of one that is no longer executed
    /// is left out.
    pub(super) fn program(&mut self, key: Key, number: u32) -> Option<&mut Known> {
        let known = self.known.get_mut(&key.pid);
        known.filter(|known| (known.start, known.number) == (key.start, number))
    }
}

/// What is remembered of a process.
#[derive(Default)]
pub(super) struct Known {
    pub(super) start: u64,
    /// Programs that it has executed before this one, as far as they were seen.
    number: u32,
    /// Name of the program, by its command line.
    program: Option<String>,
    /// The program has ended.
    pub(super) ended: bool,
    /// No seat was taken for the program yet, and one for another program before.
    begins: bool,
    pub(super) counted: Counted,
}

impl Known {
    /// It executes another program.
    pub(super) fn next(&mut self) {
        let number = self.number.saturating_add(1);
        *self = Self { start: self.start, number, begins: true, ..Self::default() };
    }
}

/// A process that has a seat.
pub(super) struct Process {
    pub(super) chairs: Vec<Arc<Chair>>,
    /// It has ended, which one of its ways has seen.
    pub(super) ended: bool,
}

impl Processes {
    /// No process has a seat yet.
    pub(crate) fn new(host: Arc<dyn Host>) -> Arc<Self> {
        Arc::new(Self { host, table: Mutex::default(), changes: AtomicU64::default() })
    }

    /// Takes a seat for a peer that says so of itself. `None`: its process is not one of this host,
    /// or cannot be found; it is called as before then.
    pub(crate) fn join(self: &Arc<Self>, way: Way, via: &Via, said: &Said<'_>) -> Option<Seat> {
        let facts = self.host.find(via, said)?;
        Some(self.seat(way, facts))
    }

    /// Takes a seat for a process that was found on this host.
    pub(crate) fn seat(self: &Arc<Self>, way: Way, facts: Facts) -> Seat {
        let key = facts.key();
        let mut table = self.lock();
        table.seats += 1;
        let number = table.seats;
        if table.known.len() >= limits::PROCESSES && !table.known.contains_key(&key.pid) {
            let Table { live, known, .. } = &mut *table;
            known.retain(|&pid, known| live.contains_key(&Key { pid, start: known.start }));
        }
        let program = facts.program();
        // By an empty command line nothing is told from anything.
        let said = Some(&program).filter(|_| !facts.command.is_empty());
        let Table { live, known, .. } = &mut *table;
        let is_seen = live.contains_key(&key);
        let fresh = Known { start: key.start, ..Known::default() };
        let known = match known.entry(key.pid) {
            Entry::Vacant(entry) => entry.insert(fresh),
            Entry::Occupied(entry) => {
                let known = entry.into_mut();
                if known.start != key.start {
                    *known = Known { begins: true, ..fresh };
                } else if known.ended
                    || known.program.as_ref().zip(said).is_some_and(|(a, b)| a != b)
                {
                    known.next();
                }
                known
            }
        };
        known.program = said.cloned().or(known.program.take());
        // Other ways to the program show their values already.
        let resumes = !std::mem::take(&mut known.begins) || is_seen;
        let process = live.entry(key).or_insert(Process { chairs: Vec::new(), ended: false });
        process.ended = false;
        let chair = Arc::new(Chair::new(way, number));
        process.chairs.push(Arc::clone(&chair));
        let number = known.number;
        drop(table);
        self.changed();
        let name = format!("{program}:{}", key.pid);
        Seat { processes: Arc::clone(self), name, program, facts, resumes, number, chair }
    }

    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Whether this is true of one of the seats of a process.
    pub(super) fn any(&self, key: Key, is: impl Fn(&Chair) -> bool) -> bool {
        let table = self.lock();
        table.live.get(&key).is_some_and(|process| process.chairs.iter().any(|chair| is(chair)))
    }

    /// A seat wants to feed these metrics, or no longer does.
    pub(super) fn claim(&self, key: Key, chair: &Chair, share: Share, feeds: bool) {
        let table = self.lock();
        if feeds {
            chair.claims.fetch_or(share.bit(), Ordering::Relaxed);
        } else {
            chair.claims.fetch_and(!share.bit(), Ordering::Relaxed);
        }
        if let Some(process) = table.live.get(&key) {
            process.settle();
        }
    }

    /// Decides anew who feeds what.
    pub(super) fn settle(&self, key: Key) {
        if let Some(process) = self.lock().live.get(&key) {
            process.settle();
        }
    }

    /// A seat is left.
    pub(super) fn leave(&self, key: Key, chair: &Chair) {
        if let Entry::Occupied(mut entry) = self.lock().live.entry(key) {
            entry.get_mut().chairs.retain(|other| other.number != chair.number);
            if entry.get().chairs.is_empty() {
                entry.remove();
            } else {
                entry.get().settle();
            }
        }
        self.changed();
    }

    /// Processes that have seats.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().live.len()
    }

    /// Processes whose start times are known.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.lock().known.len()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Decides who feeds what: of those who want to one that has all, of these the best way, and of
    /// one way the newest seat.
    fn settle(&self) {
        for share in Share::ALL {
            let claims =
                |chair: &&Arc<Chair>| chair.claims.load(Ordering::Relaxed) & share.bit() != 0;
            let best = self.chairs.iter().filter(claims);
            let best = best.min_by_key(|chair| {
                let damaged = chair.damaged.load(Ordering::Relaxed);
                (damaged, share.rank(chair.way), u64::MAX - chair.number)
            });
            for chair in &self.chairs {
                if best.is_some_and(|best| best.number == chair.number) {
                    chair.feeds.fetch_or(share.bit(), Ordering::Relaxed);
                } else {
                    chair.feeds.fetch_and(!share.bit(), Ordering::Relaxed);
                }
            }
        }
    }
}
