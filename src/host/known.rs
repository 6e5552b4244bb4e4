//! What a finder has told of its processes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The processes that a finder has told of, each with its start and what was told; and whether it looks at all.
/// A process of another start is another one.
#[derive(Debug)]
pub struct Known<T> {
    active: AtomicBool,
    all: Mutex<HashMap<u32, (u64, T)>>,
}

impl<T> Default for Known<T> {
    /// It does not look yet.
    fn default() -> Self {
        Self { active: AtomicBool::new(false), all: Mutex::default() }
    }
}

impl<T: Clone + PartialEq> Known<T> {
    /// It looks for processes.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// Whether it looks. If not, all that is known is forgotten: returns the ids.
    pub fn activate(&self, active: bool) -> Vec<u32> {
        let mut all = self.lock();
        self.active.store(active, Ordering::Relaxed);
        if active { Vec::new() } else { all.drain().map(|(pid, _)| pid).collect() }
    }

    /// What was told of a process.
    #[must_use]
    pub fn get(&self, pid: u32, start: u64) -> Option<T> {
        let all = self.lock();
        all.get(&pid).filter(|known| known.0 == start).map(|known| known.1.clone())
    }

    /// Tells this of a process if it is not what was told last, and the finder looks. What is told stays in
    /// the order of what is known: `tell` must not wait.
    pub fn tell(&self, pid: u32, start: u64, what: T, tell: impl FnOnce()) {
        let mut all = self.lock();
        let now = (start, what);
        if self.is_active() && all.get(&pid) != Some(&now) {
            all.insert(pid, now);
            tell();
        }
    }

    /// Tells the end of a process if it was known.
    pub fn end(&self, pid: u32, start: u64, tell: impl FnOnce()) {
        let mut all = self.lock();
        if all.get(&pid).is_some_and(|known| known.0 == start) {
            all.remove(&pid);
            tell();
        }
    }

    /// What was told of a process was not taken: it will be told again.
    pub fn forget(&self, pid: u32) {
        self.lock().remove(&pid);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, (u64, T)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn each_change_is_told_once() {
        let known = Known::default();
        let tells = |pid, start, what| {
            let told = Cell::new(false);
            known.tell(pid, start, what, || told.set(true));
            told.get()
        };
        let ends = |pid, start| {
            let told = Cell::new(false);
            known.end(pid, start, || told.set(true));
            told.get()
        };
        assert!(!tells(5, 50, "open"), "it does not look");
        known.activate(true);
        assert!(tells(5, 50, "open") && !tells(5, 50, "open"));
        assert!(tells(5, 50, "closed"));
        assert_eq!((known.get(5, 50), known.get(5, 51)), (Some("closed"), None));
        assert!(tells(5, 51, "closed"), "its id is used again");
        assert!(!ends(5, 50) && ends(5, 51) && !ends(5, 51));
        tells(6, 60, "open");
        known.forget(6);
        assert!(tells(6, 60, "open"));
        assert_eq!(known.activate(false), [6]);
        assert_eq!(known.get(6, 60), None);
    }
}
