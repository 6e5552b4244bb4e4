//! The module's lifecycle on the program's threads: install, start, stop.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::complaint::complain;
use crate::courier;
use crate::mono::{Api, Gate, Hooks};
use crate::options::Options;
use crate::os::stop::Stop;
use crate::os::sys;

/// Limit for sending the last sample when the program ends.
const LAST_SAMPLE: Duration = Duration::from_millis(400);
/// Limit of the ending program's wait for the thread: [`LAST_SAMPLE`] plus time for the thread to
/// end.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same while the thread resolves a host name. It cannot be interrupted and has no sample to
/// send, so it is left behind if the name server does not answer.
const RESOLVING_PATIENCE: Duration = Duration::from_millis(250);
/// Stack bytes of the thread. The deepest frames are a sample's buffer and libc's resolver.
const STACK: usize = 512 * 1024;

static AGENT: OnceLock<Agent> = OnceLock::new();

struct Agent {
    options: Options,
    api: Api,
    hooks: &'static Hooks,
    gate: Gate,
    running: Mutex<Option<Running>>,
}

/// The module's thread.
struct Running {
    /// The process that started the thread: a forked child has this memory, but not the thread.
    pid: u32,
    stop: Arc<Stop>,
    /// Disconnected when the thread ends.
    ended: Receiver<Infallible>,
    thread: JoinHandle<()>,
}

/// Parses the options and registers the module with Mono, which calls `hooks`. After an error the
/// program runs without the module.
pub(crate) fn install(desc: &str, hooks: &'static Hooks) {
    const WITHOUT: &str = "the program runs without this module";
    let options = match Options::parse(desc) {
        Ok(options) => options,
        Err(wrong) => return complain(&format!("{wrong}; {WITHOUT}")),
    };
    let api = match Api::find() {
        Ok(api) => api,
        Err(missing) => {
            let missing = missing.join(" ");
            return complain(&format!("this runtime has no {missing}; {WITHOUT}"));
        }
    };
    let agent = Agent { options, api, hooks, gate: Gate::new(api), running: Mutex::new(None) };
    if AGENT.set(agent).is_err() {
        return complain("loaded already; the first --profile=apm holds");
    }
    api.install(hooks);
}

/// Called when the runtime is initialized: requests its counters and starts the thread.
pub(crate) fn start() {
    let Some(agent) = AGENT.get() else {
        return;
    };
    agent.api.report_counters(agent.hooks);
    sys::watch_forks();
    match agent.spawn() {
        Ok(running) => {
            *agent.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running)
        }
        Err(error) => complain(&format!("no thread: {error}; nothing is sent")),
    }
}

impl Agent {
    fn spawn(&'static self) -> std::io::Result<Running> {
        let stop = Arc::new(Stop::new()?);
        let (ending, ended) = mpsc::channel();
        let theirs = Arc::clone(&stop);
        let work = move || {
            let _ending = ending;
            let work = || courier::run(&self.options, &self.gate, &theirs);
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                complain("internal error; no more samples are sent");
            }
        };
        // The thread is never attached to the runtime: the first collection would wait for it for
        // ever. The runtime's signals must not reach it (docs/protocols/mono-counters.md section
        // 7).
        let thread = sys::with_signals_blocked(|| {
            let builder = thread::Builder::new().name("apm-counters".to_owned());
            builder.stack_size(STACK).spawn(work)
        })?;
        Ok(Running { pid: std::process::id(), stop, ended, thread })
    }
}

/// Called when the runtime begins to end: the thread sends one last sample, then no counter is
/// read.
pub(crate) fn stop() {
    let Some(agent) = AGENT.get() else {
        return;
    };
    let running = agent.running.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(running) = running.filter(|running| running.pid == std::process::id()) else {
        return;
    };
    running.stop.request(LAST_SAMPLE);
    let mut ended = running.ended.recv_timeout(RESOLVING_PATIENCE);
    if matches!(ended, Err(RecvTimeoutError::Timeout)) && !running.stop.is_resolving() {
        ended = running.ended.recv_timeout(PATIENCE.saturating_sub(RESOLVING_PATIENCE));
    }
    match ended {
        Err(RecvTimeoutError::Disconnected) => drop(running.thread.join()),
        Err(RecvTimeoutError::Timeout) => {}
    }
    agent.gate.shut();
}

/// Whether this process is a forked child of the one that started the thread.
pub(crate) fn is_forked() -> bool {
    let running = AGENT.get().map(|agent| agent.running.try_lock());
    match running {
        Some(Ok(running)) => running.as_ref().is_some_and(|it| it.pid != std::process::id()),
        _ => false,
    }
}
