//! What the finder has told and the task has not applied yet. A reading may hang, and processes come and go
//! meanwhile: of each the newest report is kept, and that some have ended, but not which.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::finder::Access;
use crate::sources::jvm::limits;
use crate::sources::jvm::process::Who;

/// Reports that wait.
#[derive(Debug, Default)]
pub(super) struct Reports {
    waiting: Mutex<Waiting>,
    ready: Notify,
}

/// The reports since the last ones were taken.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// JVMs, and those that can be read otherwise than before.
    pub(super) found: HashMap<u32, Found>,
    /// Some that were known have ended: what the finder does not know any more.
    pub(super) ended: bool,
    /// Some were not taken: they are to be looked at again.
    pub(super) full: bool,
}

/// A process, as it was found last.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) who: Who,
    pub(super) access: Access,
    /// It has ended since. What it has counted can still be read.
    ended: bool,
}

impl Reports {
    /// There is room for a report of this process. If not, it is to be found again.
    pub(super) fn takes(&self, pid: u32) -> bool {
        let mut waiting = self.lock();
        if waiting.found.len() >= limits::REPORTS {
            // Those that are there come first.
            waiting.found.retain(|other, found| *other == pid || !found.ended);
        }
        let takes = waiting.found.len() < limits::REPORTS || waiting.found.contains_key(&pid);
        waiting.full |= !takes;
        takes
    }

    /// A process was found.
    pub(super) fn found(&self, who: Who, mut access: Access) {
        let mut waiting = self.lock();
        if let Some(before) = waiting.found.remove(&who.pid)
            && before.who.start == who.start
            && matches!(access, Access::Kept(_))
        {
            // What was open is here, nobody has taken it yet.
            access = before.access;
        }
        waiting.found.insert(who.pid, Found { who, access, ended: false });
        self.ready.notify_one();
    }

    /// One that was known has ended.
    pub(super) fn gone(&self, pid: u32, start: u64) {
        let mut waiting = self.lock();
        waiting.ended = true;
        if let Some(found) = waiting.found.get_mut(&pid).filter(|found| found.who.start == start) {
            found.ended = true;
        }
        self.ready.notify_one();
    }

    /// What was told of a process is not needed.
    pub(super) fn forget(&self, pid: u32) {
        self.lock().found.remove(&pid);
    }

    /// Nothing of what was told is needed.
    pub(super) fn clear(&self) {
        drop(self.take());
    }

    /// Waits until there are some.
    pub(super) async fn ready(&self) {
        self.ready.notified().await;
    }

    /// Takes all.
    pub(super) fn take(&self) -> Waiting {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
