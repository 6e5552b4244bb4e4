//! Some requests at a time, each in a thread of its own: nothing waits for one, and one that hangs is left alone.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::attach::{Stop, Target};
use super::errand::asked;
use crate::clock;
use crate::host::Host;
use crate::model::{Charge, ControlId, HeapSize, Memory, Purpose};
use crate::sources::jvm::limits;
use crate::sources::jvm::metrics::Request;
use crate::sources::jvm::request::Found;

/// What became of a request, what that holds, and when it came.
type Outcome = (Result<Found, String>, Charge, Duration);

/// Who asks JVMs.
pub(super) struct Desk {
    /// `jvm.attach`
    pub(super) is_open: bool,
    memory: Arc<Memory>,
    running: Vec<Running>,
}

struct Running {
    pid: u32,
    owner: String,
    control: ControlId,
    began: Instant,
    /// `None`: nobody waits for it, and its thread has not ended.
    outcome: Option<Receiver<Outcome>>,
    /// It did not come back in time.
    hangs: bool,
    stop: Arc<Stop>,
    thread: JoinHandle<()>,
}

/// What became of the request to a process.
pub(super) struct Done {
    pub(super) pid: u32,
    pub(super) control: ControlId,
    pub(super) outcome: Result<Found, String>,
    /// When it came.
    pub(super) at: Duration,
    /// Held until it is shown.
    _held: Option<Charge>,
}

impl Desk {
    pub(super) const fn new(memory: Arc<Memory>) -> Self {
        Self { is_open: false, memory, running: Vec::new() }
    }

    /// Begins to ask a process of `owner`. `Err`: why not, in words for the answer.
    pub(super) fn begin(
        &mut self,
        (control, request): (ControlId, Request),
        (target, owner): (Target, &str),
        host: &Arc<Host>,
    ) -> Result<(), String> {
        let host = Arc::clone(host);
        self.run((control, request), target.pid, owner, move |stop, held| {
            asked(&host, target, request, stop, held)
        })
    }

    fn run(
        &mut self,
        (control, request): (ControlId, Request),
        pid: u32,
        owner: &str,
        ask: impl FnOnce(&Stop, &mut Charge) -> Result<Vec<u8>, String> + Send + 'static,
    ) -> Result<(), String> {
        self.running.retain(|one| one.outcome.is_some() || !one.thread.is_finished());
        let all = &self.running;
        if all.iter().any(|one| one.pid == pid) {
            return Err("refused: it is being asked already".to_owned());
        }
        if all.iter().any(|one| one.hangs && one.owner == owner) {
            return Err(format!("refused: a JVM of {owner} has not come back from a request"));
        }
        if all.iter().filter(|one| !one.hangs).count() >= limits::REQUESTS
            || all.len() >= limits::THREADS_OF_REQUESTS
        {
            return Err(format!("refused: {} processes are being asked", all.len()));
        }
        let (sender, outcome) = sync_channel(1);
        let mut held = Charge::new(Arc::clone(&self.memory), Purpose::Definitions);
        let stop = Arc::new(Stop::default());
        let stopped = Arc::clone(&stop);
        let work = move || {
            let answer = ask(&stopped, &mut held);
            let found = answer.and_then(|answer| request.read(&answer));
            held.set(found.as_ref().map_or(0, Found::heap_size));
            let _ = sender.send((found, held, clock::now().monotonic));
        };
        let thread = Builder::new().name("jvm-attach".to_owned()).spawn(work);
        let thread = thread.map_err(|e| format!("failed: no thread: {e}"))?;
        let (owner, began, outcome) = (owner.to_owned(), Instant::now(), Some(outcome));
        self.running.push(Running {
            pid,
            owner,
            control,
            began,
            outcome,
            hangs: false,
            stop,
            thread,
        });
        Ok(())
    }

    /// The control whose answer a process owes.
    pub(super) fn owes(&self, pid: u32) -> Option<ControlId> {
        let one = self.running.iter().find(|one| one.pid == pid)?;
        one.outcome.as_ref().map(|_| one.control)
    }

    /// The process is not what was asked: what it answers is not shown. Returns the control that waits for it.
    pub(super) fn forget(&mut self, pid: u32) -> Option<ControlId> {
        let one = self.running.iter_mut().find(|one| one.pid == pid)?;
        one.stop.set();
        one.outcome.take().map(|_| one.control)
    }

    /// All end soon, recordings too.
    pub(super) fn stop(&self) {
        self.running.iter().for_each(|one| one.stop.set());
    }

    /// A thread has not ended that was not given up.
    pub(super) fn is_busy(&self) -> bool {
        self.running.iter().any(|one| !one.hangs && !one.thread.is_finished())
    }

    /// Requests that have come back, or are given up.
    pub(super) fn done(&mut self, now: Instant) -> Vec<Done> {
        let done = |one: &mut Running| {
            let failed = |why: &str| (Err(why.to_owned()), None, clock::now().monotonic);
            let (outcome, _held, at) = match one.outcome.as_ref()?.try_recv() {
                Ok((outcome, held, at)) => (outcome, Some(held), at),
                Err(TryRecvError::Disconnected) => failed("it could not be read"),
                Err(TryRecvError::Empty) if now < one.began + limits::PATIENCE => return None,
                Err(TryRecvError::Empty) => {
                    one.hangs = true;
                    one.stop.set();
                    failed("it does not come back")
                }
            };
            one.outcome = None;
            Some(Done { pid: one.pid, control: one.control, outcome, at, _held })
        };
        self.running.iter_mut().filter_map(done).collect()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
