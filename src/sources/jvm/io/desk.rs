//! One request at a time, in a thread of its own: nothing waits for it, and one that hangs is left alone.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use super::attach::{Target, ask};
use crate::host::Host;
use crate::model::ControlId;
use crate::sources::jvm::limits;
use crate::sources::jvm::metrics::Request;
use crate::sources::jvm::request::Found;

/// What became of a request.
type Outcome = Result<Found, String>;

/// Who asks JVMs.
#[derive(Default)]
pub(super) struct Desk {
    /// `jvm.attach`
    pub(super) is_open: bool,
    running: Option<Running>,
    /// One that was given up.
    left: Option<JoinHandle<()>>,
}

struct Running {
    pid: u32,
    start: u64,
    control: ControlId,
    began: Instant,
    outcome: Receiver<Outcome>,
    thread: JoinHandle<()>,
}

/// What became of the request to a process.
pub(super) struct Done {
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) control: ControlId,
    pub(super) outcome: Outcome,
}

impl Desk {
    /// Begins to ask. `Err`: why not, in words for the answer.
    pub(super) fn begin(
        &mut self,
        (control, request): (ControlId, Request),
        target: Target,
        host: &Arc<Host>,
    ) -> Result<(), String> {
        self.left.take_if(|thread| thread.is_finished());
        if let Some(running) = &self.running {
            return Err(format!("refused: process {} is being asked, one at a time", running.pid));
        }
        if self.left.is_some() {
            return Err("refused: a request before has not come back".to_owned());
        }
        let (sender, outcome) = sync_channel(1);
        let (pid, start, host) = (target.pid, target.start, Arc::clone(host));
        let work = move || {
            let answer = ask(host.proc(), target, request);
            let _ = sender.send(answer.and_then(|answer| request.read(&answer)));
        };
        let thread = Builder::new().name("jvm-attach".to_owned()).spawn(work);
        let thread = thread.map_err(|e| format!("failed: no thread: {e}"))?;
        let began = Instant::now();
        self.running = Some(Running { pid, start, control, began, outcome, thread });
        Ok(())
    }

    /// A request that has come back, or is given up.
    pub(super) fn done(&mut self) -> Option<Done> {
        let running = self.running.as_ref()?;
        let outcome = match running.outcome.try_recv() {
            Ok(outcome) => outcome,
            Err(TryRecvError::Disconnected) => Err("it could not be read".to_owned()),
            Err(TryRecvError::Empty) if running.began.elapsed() < limits::PATIENCE => return None,
            Err(TryRecvError::Empty) => Err("it does not come back".to_owned()),
        };
        let Running { pid, start, control, thread, .. } = self.running.take()?;
        self.left = Some(thread);
        Some(Done { pid, start, control, outcome })
    }
}
