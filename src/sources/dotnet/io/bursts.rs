//! CPU profiles of one process: when a burst is due, its short session beside the other one, and what /proc has of
//! threads: names, and the processor time, from `/proc/PID/task/TID/schedstat`.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

use bytes::BytesMut;

use super::reading::{TURN, Turn, read, with_buffer};
use crate::confine::aside;
use crate::contract::Peer;
use crate::net::guard::Guarded;
use crate::sources::dotnet::discovery::Target;
use crate::sources::dotnet::metrics::PROFILE_RUN;
use crate::sources::dotnet::profile::{Clock, Profile};
use crate::sources::dotnet::records::Lookup;
use crate::sources::dotnet::session::End;
use crate::sources::dotnet::{limits, profile};

/// Time between two reads: the weights of samples are as exact as that.
const STEP: Duration = Duration::from_millis(25);

/// The profile of a process, and the session of a burst.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    profile: Profile,
    threads: Threads,
    reading: Option<Reading>,
    /// When the schedule wants the next burst.
    due: Option<Duration>,
}

crate::heap_size!(Bursts { profile, threads, reading });

/// The stream of a burst.
#[derive(Debug)]
struct Reading {
    socket: Guarded,
    input: BytesMut,
    /// The stream cannot be decoded: its bytes are thrown away.
    discards: bool,
    next: Duration,
}

crate::heap_size!(Reading { input });

impl Bursts {
    pub(super) fn new(target: &Target) -> Self {
        Self { threads: Threads::new(target.pid, target.container_pid), ..Self::default() }
    }

    /// The schedule wants a burst. Processes take turns, by their numbers.
    pub(super) fn is_due(&mut self, now: Duration, every: Duration, number: u32) -> bool {
        if every.is_zero() {
            self.due = None;
            return false;
        }
        match self.due {
            Some(due) if due > now => false,
            Some(_) => {
                self.due = Some(now + every);
                true
            }
            None => {
                self.due = Some(now + every.mul_f64(f64::from(number % 64) / 64.0));
                false
            }
        }
    }

    /// The session is about to be asked for.
    pub(super) fn begin(&mut self) {
        self.profile.begin(&mut self.threads);
    }

    /// The session is open. `input`: bytes of its stream that came with the answer.
    pub(super) fn opened(&mut self, socket: Guarded, input: BytesMut, now: Duration) {
        self.reading = Some(Reading { socket, input, discards: false, next: now });
    }

    /// The session is about to be stopped.
    pub(super) fn stopping(&mut self) {
        self.profile.stopping(&mut self.threads);
    }

    /// When the next turn is due.
    pub(super) fn next(&self) -> Option<Duration> {
        self.reading.as_ref().map(|reading| reading.next)
    }

    /// The stream has begun.
    pub(super) fn began(&self) -> bool {
        self.profile.began()
    }

    /// Reads what is there, and decodes it.
    pub(super) fn turn(&mut self, now: Duration) -> Turn {
        let mut turn = Turn::default();
        let Some(reading) = &mut self.reading else { return turn };
        with_buffer(|buffer| {
            while let Some(bytes) = read(&mut reading.socket, buffer, &mut turn) {
                if !reading.discards {
                    reading.input.extend_from_slice(bytes);
                }
            }
        });
        let fed = self.profile.feed(&mut reading.input, &mut self.threads);
        self.threads.forget_times();
        if let Err(error) = fed {
            turn.fault = Some(error.to_string());
            self.discard();
        }
        if turn.end.is_some() && self.profile.is_whole() {
            turn.end = Some(End::Whole);
        }
        if let Some(reading) = &mut self.reading {
            reading.next = if turn.bytes >= TURN { now } else { now + STEP };
        }
        turn
    }

    /// Throws away what still comes.
    pub(super) fn discard(&mut self) {
        if let Some(reading) = &mut self.reading {
            reading.discards = true;
            reading.input = BytesMut::new();
        }
    }

    /// Ends the burst if the session has ended. `owner`: the instance.
    pub(super) fn settle(&mut self, is_open: bool, owner: &str, peer: &mut Peer) {
        if is_open || !self.profile.is_running() {
            return;
        }
        let why = (!self.profile.began()).then_some("the process gave no session");
        self.reading = None;
        let text = self.profile.finish(why, owner, peer);
        answer(text, peer);
    }

    /// Takes the rows of the process away.
    pub(super) fn reset(peer: &mut Peer) {
        profile::forget_rows(peer);
        answer("reset: what comes next begins at 0".to_owned(), peer);
    }
}

/// Sets the value of `profile.run`.
pub(super) fn answer(text: String, peer: &mut Peer) {
    peer.answer(PROFILE_RUN, text);
}

/// Most threads of a container that are looked at for one name.
const NAMED: usize = 1024;
/// Bytes of a file that are read: the line `NSpid` of a status is within them.
const FILE: u64 = 4096;

/// The threads of one process.
#[derive(Debug, Default)]
pub(super) struct Threads {
    pid: u32,
    /// By their ids in the process's pid namespace, if that is another than ours: their ids here.
    inner: Option<HashMap<u64, u64>>,
    /// Their times, and those that were asked for before.
    times: HashMap<u64, Option<u64>>,
    asked: Vec<u64>,
    before: Vec<u64>,
}

crate::heap_size!(Threads { inner, times, asked, before });

impl Threads {
    /// `inner_pid`: the process id as the process sees it.
    pub(super) fn new(pid: u32, inner_pid: u32) -> Self {
        Self { pid, inner: (pid != inner_pid).then(HashMap::new), ..Self::default() }
    }

    /// Does what reads files: who decodes may not.
    fn aside<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) -> Option<T> {
        let mut threads = std::mem::take(self);
        let done = aside::wait(move || {
            let found = work(&mut threads);
            (threads, found)
        });
        let (threads, found) = done?;
        *self = threads;
        Some(found)
    }

    /// Times are read anew from here on, at once those of the threads that were asked for since the last time.
    fn forget_times(&mut self) {
        self.times.clear();
        self.before = std::mem::take(&mut self.asked);
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

impl Lookup for Threads {
    fn thread_name(&mut self, thread: u64) -> Option<String> {
        self.aside(move |threads| threads.name(thread))?
    }
}

impl Clock for Threads {
    fn all(&mut self) -> Option<HashMap<u64, u64>> {
        self.aside(Self::all_times)?
    }

    fn one(&mut self, thread: u64) -> Option<u64> {
        if !self.times.contains_key(&thread) {
            self.aside(move |threads| {
                let before = std::mem::take(&mut threads.before);
                for thread in before.into_iter().chain([thread]) {
                    let time = threads.one_time(thread);
                    threads.times.insert(thread, time);
                }
            })?;
        }
        if !self.asked.contains(&thread) {
            self.asked.push(thread);
        }
        self.times.get(&thread).copied().flatten()
    }
}

impl Threads {
    fn name(&self, thread: u64) -> Option<String> {
        let is = |id: &u64| self.inner_id(*id) == Some(thread);
        let outer = match self.inner {
            // The process counts its threads in another namespace.
            Some(_) => self.list()?.into_iter().take(NAMED).find(is)?,
            None => thread,
        };
        Some(self.read(outer, "comm")?.trim_end().to_owned())
    }

    fn all_times(&mut self) -> Option<HashMap<u64, u64>> {
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

    fn one_time(&mut self, thread: u64) -> Option<u64> {
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
        let mut inner = Threads { pid, inner: Some(HashMap::new()), ..Threads::default() };
        assert!(inner.one(thread).is_some_and(|time| time >= after));
    }
}
