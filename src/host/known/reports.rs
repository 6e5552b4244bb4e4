//! What a finder has told of its processes, and what the task that reads them has not applied yet: it may hang, and
//! processes come and go meanwhile. Of each the newest report is kept, and that some have ended, but not which.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Known;

/// Reports `T` of processes, and what each was told of: one that has changed is reported again.
#[derive(Debug)]
pub struct Reports<K, T> {
    known: Known<K>,
    most: usize,
    waiting: Mutex<Waiting<T>>,
    ready: Notify,
}

#[derive(Debug)]
struct Waiting<T> {
    found: HashMap<u32, Report<T>>,
    /// Some that were known have ended.
    ended: bool,
    /// Some were not taken.
    full: bool,
}

#[derive(Debug)]
struct Report<T> {
    start: u64,
    what: T,
    /// It has ended since. What it has counted can still be read.
    ended: bool,
}

/// The reports since the last ones were taken.
#[derive(Debug)]
pub struct Taken<T> {
    /// Processes by their ids, as they were found last.
    pub found: HashMap<u32, T>,
    /// The starts of those that are known now, if some have ended.
    pub alive: Option<HashMap<u32, u64>>,
    /// Some were not taken: all are to be looked at again.
    pub full: bool,
}

impl<T> Taken<T> {
    /// What is applied, in this order, where these are known with their starts: a process that was found, or
    /// (`None`) that has ended.
    pub fn changes(self, known: impl Iterator<Item = (u32, u64)>) -> Vec<(u32, Option<T>)> {
        let Self { found, alive, .. } = self;
        let alive = |pid, start: Option<u64>| {
            let Some(alive) = &alive else { return true };
            alive.get(&pid).is_some_and(|now| start.is_none_or(|start| start == *now))
        };
        // One that was found otherwise before its end is read so.
        let gone =
            known.filter(|(pid, start)| !found.contains_key(pid) && !alive(*pid, Some(*start)));
        let mut changes: Vec<_> = gone.map(|(pid, _)| (pid, None)).collect();
        for (pid, what) in found {
            changes.push((pid, Some(what)));
            if !alive(pid, None) {
                changes.push((pid, None));
            }
        }
        changes
    }
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { found: HashMap::new(), ended: false, full: false }
    }
}

impl<K: Clone + PartialEq, T> Reports<K, T> {
    /// Of at most so many processes reports wait: others are found again.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { known: Known::default(), most, waiting: Mutex::default(), ready: Notify::new() }
    }

    /// What was told.
    #[must_use]
    pub const fn known(&self) -> &Known<K> {
        &self.known
    }

    /// Whether it looks. If not, nothing of what was told comes back.
    pub fn activate(&self, active: bool) {
        self.known.activate(active);
        if !active {
            std::mem::take(&mut *self.lock());
        }
    }

    /// Tells of a process, if it is not as it was told last.
    pub fn tell(&self, pid: u32, start: u64, known: K, what: T) {
        self.known.tell(pid, start, known, || self.put(pid, start, |_| what));
    }

    /// The same of what was found by what was told before. `join`: with a report that nobody has taken yet.
    pub fn tell_again(&self, pid: u32, start: u64, known: K, join: impl FnOnce(Option<T>) -> T) {
        self.known.tell_again(pid, start, known, || self.put(pid, start, join));
    }

    /// A process has ended.
    pub fn end(&self, pid: u32, start: u64) {
        self.known.end(pid, start, || {
            let mut waiting = self.lock();
            waiting.ended = true;
            let report = waiting.found.get_mut(&pid).filter(|report| report.start == start);
            report.into_iter().for_each(|report| report.ended = true);
            self.ready.notify_one();
        });
    }

    /// What was told of a process was not taken: it will be told again.
    pub fn forget(&self, pid: u32) {
        self.known.forget(pid, || drop(self.lock().found.remove(&pid)));
    }

    /// Waits until there are some.
    pub async fn ready(&self) {
        self.ready.notified().await;
    }

    /// Takes all.
    pub fn take(&self) -> Taken<T> {
        let Waiting { found, ended, full } = std::mem::take(&mut *self.lock());
        // After the reports were taken: what ends from now on is told once more.
        let alive = ended.then(|| self.known.starts());
        let found = found.into_iter().map(|(pid, report)| (pid, report.what)).collect();
        Taken { found, alive, full }
    }

    /// Keeps a report until it is taken. `false`: there is no room for one of this process, which is to be found again.
    fn put(&self, pid: u32, start: u64, what: impl FnOnce(Option<T>) -> T) -> bool {
        let mut waiting = self.lock();
        if waiting.found.len() >= self.most {
            // Those that are there come first.
            waiting.found.retain(|other, report| *other == pid || !report.ended);
        }
        let takes = waiting.found.len() < self.most || waiting.found.contains_key(&pid);
        waiting.full |= !takes;
        if takes {
            let before = waiting.found.remove(&pid).filter(|before| before.start == start);
            let what = what(before.map(|before| before.what));
            waiting.found.insert(pid, Report { start, what, ended: false });
            self.ready.notify_one();
        }
        takes
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
