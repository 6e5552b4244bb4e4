//! The processor time of a process's threads, from `/proc/PID/task/TID/schedstat`.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

use crate::sources::dotnet::limits;
use crate::sources::dotnet::profile::Clock;

/// Bytes of a file that are read: the line `NSpid` of a status is within them.
const FILE: u64 = 4096;

/// The threads of one process.
#[derive(Debug, Default)]
pub(super) struct Threads {
    pid: u32,
    /// By their ids in the process's pid namespace, if that is another than ours: their ids here.
    inner: Option<HashMap<u64, u64>>,
}

impl Threads {
    /// `inner_pid`: the process id as the process sees it.
    pub(super) fn new(pid: u32, inner_pid: u32) -> Self {
        Self { pid, inner: (pid != inner_pid).then(HashMap::new) }
    }

    /// Ids of all threads.
    fn list(&self) -> Option<Vec<u64>> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid)).ok()?;
        let ids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
        Some(ids.take(limits::PROFILE_THREADS).collect())
    }

    fn read(&self, thread: u64, file: &str) -> Option<String> {
        let path = format!("/proc/{}/task/{thread}/{file}", self.pid);
        let mut text = String::new();
        File::open(path).ok()?.take(FILE).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Nanoseconds on a processor: the first number of the file.
    fn time(&self, thread: u64) -> Option<u64> {
        self.read(thread, "schedstat")?.split_ascii_whitespace().next()?.parse().ok()
    }

    /// The id of a thread in the process's pid namespace.
    fn inner_id(&self, thread: u64) -> Option<u64> {
        let status = self.read(thread, "status")?;
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        ids.split_ascii_whitespace().next_back()?.parse().ok()
    }

    /// Looks up threads that came since the last time.
    fn look(&mut self) {
        let Some(mut known) = self.inner.take() else { return };
        let all = self.list().unwrap_or_default();
        let mut outer: HashMap<u64, u64> = known.iter().map(|(i, o)| (*o, *i)).collect();
        known.clear();
        for thread in all {
            if let Some(inner) = outer.remove(&thread).or_else(|| self.inner_id(thread)) {
                known.insert(inner, thread);
            }
        }
        self.inner = Some(known);
    }
}

impl Clock for Threads {
    fn all(&mut self) -> Option<HashMap<u64, u64>> {
        if self.pid == 0 {
            return None;
        }
        // The kernel gives ids again: what was known of the last burst's threads may be wrong.
        self.inner.iter_mut().for_each(HashMap::clear);
        self.look();
        let ids: Vec<(u64, u64)> = match &self.inner {
            Some(inner) => inner.iter().map(|(inner, outer)| (*inner, *outer)).collect(),
            None => self.list()?.into_iter().map(|id| (id, id)).collect(),
        };
        let times: HashMap<u64, u64> =
            ids.iter().filter_map(|(id, outer)| Some((*id, self.time(*outer)?))).collect();
        (!times.is_empty()).then_some(times)
    }

    fn one(&mut self, thread: u64) -> Option<u64> {
        let outer = match &self.inner {
            _ if self.pid == 0 => return None,
            Some(inner) => match inner.get(&thread) {
                Some(outer) => *outer,
                None => {
                    self.look();
                    *self.inner.as_ref()?.get(&thread)?
                }
            },
            None => thread,
        };
        self.time(outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_threads_have_times_that_grow() {
        let pid = std::process::id();
        let mut threads = Threads::new(pid, pid);
        let before = threads.all().expect("a process sees its own threads");
        let thread = u64::from(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 30 {}
        let after = threads.one(thread).expect("this thread");
        assert!(after > before.get(&thread).copied().unwrap_or(u64::MAX), "{before:?} {after}");
        assert_eq!(threads.one(u64::MAX), None);
        assert_eq!(Threads::new(0, 1).all(), None);
        // As if the ids were others: the namespace of a process without one of its own is ours.
        let mut inner = Threads { pid, inner: Some(HashMap::new()) };
        assert!(inner.one(thread).is_some_and(|time| time >= after));
    }
}
