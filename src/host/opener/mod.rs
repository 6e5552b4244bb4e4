//! Opens files and sockets of other users' processes for the PMDA, which has no rights of its own.
//!
//! ```text
//!  PMDA, user pcp, no capability          opener, user pcp, a few capabilities
//!  host ─ ask(process, request) ──▶ worker: checks names, owner, device, type ─▶ a descriptor
//!     └── no answer in a second ──▶ keeper: ends the worker, starts another one
//! ```
//!
//! The opener is this program, started before the PMDA gives up its rights. It reads nothing that a peer wrote: what it
//! opens, the PMDA reads. A request names a process by its id and the inode of its folder in /proc, so that it is never
//! another one's file that is opened. A worker that hangs, as in a file system of a user's making, is given up; that
//! user's processes wait then, and no others.

mod child;
mod message;
mod names;
mod rights;
mod worker;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pmda::process::{send_with, start_again};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::confine::Confine;
use crate::model::Grants;
pub use child::main;
use message::Answer;
pub(super) use message::{OPENS, Part, Parts, Place, Process, Request, SOCKETS};
pub use names::Names;
pub use rights::give_up;

/// The argument that makes this program the opener.
pub const ARGUMENT: &str = "--opener";
/// Time for an answer. /proc answers in microseconds.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time for which a user's processes are not asked for when one of them had no answer. It doubles each time, up to the
/// longest, so who has [`HANGING`] of them hang needs days for it; as long after one it is the first again.
const PAUSE: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Users whose processes had no answer that are remembered; of more all are forgotten.
const USERS: usize = 1_024;
/// Workers that hang, and one that works. With so many the opener answers when one of them has come back.
const HANGING: usize = 16;
/// Time between two lines of the log.
const LINE: Duration = Duration::from_secs(60);

const MEMORY: &str = "memory";
const CONNECT: &str = "connect";
const BECOME: &str = "become";

/// What the arguments of the opener grant.
fn granted(words: &[String]) -> Grants {
    let has = |word: &str| words.iter().any(|given| given == word);
    Grants { memory: has(MEMORY), connect: has(CONNECT), others: has(BECOME) }
}

/// What a source has done in a process of its own, which begins with the rights of the opener: its name, and what is
/// run with a socket whose other end the PMDA has.
pub type Errand = (&'static str, fn(OwnedFd));

/// The message that brings the socket of a worker.
const WORKER: &[u8] = b"opens";

/// The PMDA's side.
pub struct Opener {
    grants: Grants,
    state: Mutex<State>,
}

struct State {
    keeper: OwnedFd,
    /// `None` in tests.
    child: Option<Child>,
    /// `None`: a new one is to be started.
    worker: Option<OwnedFd>,
    /// The keeper has ended.
    over: bool,
    /// Users whose processes had no answer: until when they are not asked for, and for how long.
    paused: HashMap<u32, (Instant, Duration)>,
    /// When the log had a line of it.
    said: Option<Instant>,
}

impl Opener {
    /// Starts the opener, if this process has rights of which it can keep some. It becomes `user`, and
    /// gives up what `confine` says.
    ///
    /// # Errors
    /// No process can be started.
    pub fn start(user: &str, grants: Grants, confine: Confine) -> io::Result<Option<Self>> {
        if !rights::has_any() {
            return Ok(None);
        }
        let (keeper, theirs) = pair()?;
        let granted = [(grants.memory, MEMORY), (grants.connect, CONNECT), (grants.others, BECOME)];
        let mut arguments = vec![ARGUMENT, user];
        arguments.extend(granted.into_iter().filter(|(is, _)| *is).map(|(_, word)| word));
        confine.words().for_each(|word| arguments.push(word));
        let child = start_again(arguments, theirs)?;
        Ok(Some(Self::with(keeper, Some(child), grants)))
    }

    fn with(keeper: OwnedFd, child: Option<Child>, grants: Grants) -> Self {
        let (paused, said) = (HashMap::new(), None);
        let state = State { keeper, child, worker: None, over: false, paused, said };
        Self { grants, state: Mutex::new(state) }
    }

    /// What it was started with.
    #[must_use]
    pub const fn grants(&self) -> Grants {
        self.grants
    }

    /// Starts an errand. Returns the PMDA's end of its socket, which closes when it could not be started.
    ///
    /// # Errors
    /// The opener has ended, or does not answer.
    pub fn send(&self, errand: &str) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        send_with(self.state().keeper.as_fd(), errand.as_bytes(), &[theirs.as_fd()])?;
        Ok(ours)
    }

    /// Asks for a file of a process; `user` tells whose it is.
    pub(super) fn ask(&self, process: Process, user: u32, request: &Request) -> Answer {
        let bytes = request.encode(process).ok_or(Errno::NAMETOOLONG)?;
        self.state().ask(user, &bytes)
    }

    /// Asks for files of at most [`OPENS`] processes of this user. For each of them: what was opened.
    pub(super) fn ask_for_files(
        &self,
        all: &[(Process, Parts)],
        user: u32,
    ) -> Vec<Vec<(Part, OwnedFd)>> {
        let messages = all.iter().filter_map(|(one, parts)| Request::Open(*parts).encode(*one));
        let message: Vec<u8> = messages.flatten().collect();
        let answer =
            if all.is_empty() { return Vec::new() } else { self.state().ask(user, &message) };
        let (number, passed) = answer.unwrap_or_default();
        let mut passed = passed.into_iter();
        let opened = number.to_le_bytes().into_iter().take(all.len());
        opened.map(|parts| Parts::of(parts.into()).all().zip(passed.by_ref()).collect()).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ask(&mut self, user: u32, bytes: &[u8]) -> Answer {
        let waits = |(until, _): &(Instant, Duration)| Instant::now() < *until;
        if self.over || self.paused.get(&user).is_some_and(waits) {
            return Err(Errno::TIMEDOUT);
        }
        let worker = self.worker()?;
        match send_with(worker.as_fd(), bytes, &[]).and_then(|()| answer(worker)) {
            Ok(Some(answer)) => answer,
            lost => {
                self.worker = None;
                let pause = self.pause(user, Instant::now());
                let why =
                    if matches!(lost, Err(Errno::TIMEDOUT)) { "had no answer" } else { "was lost" };
                self.say(&format!(
                    "a request of the process {ARGUMENT} {why}; processes of user {user} are not looked at for {} s",
                    pause.as_secs()
                ));
                Err(Errno::TIMEDOUT)
            }
        }
    }

    /// The user's processes are not asked for so long.
    fn pause(&mut self, user: u32, now: Instant) -> Duration {
        self.paused.retain(|_, (until, _)| now < *until + LONGEST);
        if self.paused.len() >= USERS && !self.paused.contains_key(&user) {
            self.paused.clear();
        }
        let (until, length) = self.paused.entry(user).or_insert((now, PAUSE / 2));
        *length = (*length * 2).min(LONGEST);
        *until = now + *length;
        *length
    }

    /// The worker, or a new one.
    fn worker(&mut self) -> Result<&OwnedFd, Errno> {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => {
                let (ours, theirs) = pair()?;
                if let Err(e) = send_with(self.keeper.as_fd(), WORKER, &[theirs.as_fd()]) {
                    self.end();
                    return Err(e);
                }
                ours
            }
        };
        Ok(self.worker.insert(worker))
    }

    /// Nobody can start another one: the PMDA has no rights any more.
    fn end(&mut self) {
        self.over = true;
        let why = match message::receive(self.keeper.as_fd()) {
            Ok((text, _)) if !text.is_empty() => format!(": {}", String::from_utf8_lossy(&text)),
            _ => String::new(),
        };
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
        log::error!(
            "the process {ARGUMENT} has ended{why}; processes of other users are read no more until the PMDA is started \
             again"
        );
    }

    fn say(&mut self, text: &str) {
        if self.said.is_none_or(|said| said.elapsed() >= LINE) {
            self.said = Some(Instant::now());
            log::warn!("{text}");
        }
    }
}

/// Waits for an answer. `None`: the worker has ended.
fn answer(worker: &OwnedFd) -> Result<Option<Answer>, Errno> {
    let until = Instant::now() + PATIENCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let time = Timespec::try_from(left).map_err(|_| Errno::TIMEDOUT)?;
        match poll(&mut [PollFd::new(worker, PollFlags::IN)], Some(&time)) {
            Ok(0) => return Err(Errno::TIMEDOUT),
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
        match message::receive(worker.as_fd()) {
            Ok((bytes, passed)) => return Ok(message::answered(&bytes, passed)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
}

fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// For `fuzz/fuzz_targets/proc_texts.rs`: one that is read is written as it came.
#[cfg(fuzzing)]
pub(super) fn is_request(bytes: &[u8]) -> bool {
    Request::decode_all(bytes).is_some_and(|all| {
        let again = all.iter().filter_map(|(process, request)| request.encode(*process));
        assert_eq!(again.flatten().collect::<Vec<u8>>(), bytes);
        true
    })
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
