//! The module's life inside the program: installed, started, stopped; all on the program's threads.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::complaint::complain;
use crate::mono::{Api, Gate};
use crate::options::Options;
use crate::stop::Stop;
use crate::{courier, hooks, sys};

/// What the last sample may take when the program ends.
const LAST_SAMPLE: Duration = Duration::from_millis(400);
/// What the program waits for the thread at most. It is more than [`LAST_SAMPLE`] only for the
/// thread's way home; a thread that resolves a name cannot be hurried and is left behind.
const PATIENCE: Duration = Duration::from_millis(500);
/// The deepest frames are a sample's buffer and the resolver of libc.
const STACK: usize = 512 * 1024;

static AGENT: OnceLock<Agent> = OnceLock::new();

struct Agent {
    options: Options,
    api: Api,
    gate: Gate,
    running: Mutex<Option<Running>>,
}

/// The thread and the ways to it.
struct Running {
    /// A child made by fork has all this memory but not the thread.
    pid: u32,
    stop: Arc<Stop>,
    /// Disconnected when the thread has nothing left to do.
    ended: Receiver<Infallible>,
    thread: JoinHandle<()>,
}

/// Reads the options and enters the module in Mono's list of profilers; after a complaint the
/// program runs on without it.
pub(crate) fn install(desc: &str) {
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
    let agent = Agent { options, api, gate: Gate::new(api), running: Mutex::new(None) };
    if AGENT.set(agent).is_err() {
        return complain("loaded already; the first --profile=apm holds");
    }
    api.install(hooks::initialized, hooks::shutdown_begin);
}

/// The runtime is initialized: have the counters reported and start the thread.
pub(crate) fn start() {
    let Some(agent) = AGENT.get() else {
        return;
    };
    agent.api.report_counters(hooks::later, hooks::existing);
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
                complain("a mistake of its own; nothing more is sent");
            }
        };
        // Never attached to the runtime, or the first collection would wait for it for ever; and
        // the runtime's signals must not find it (docs/protocols/mono-counters.md section 7).
        let thread = sys::with_signals_blocked(|| {
            let builder = thread::Builder::new().name("apm-counters".to_owned());
            builder.stack_size(STACK).spawn(work)
        })?;
        Ok(Running { pid: std::process::id(), stop, ended, thread })
    }
}

/// The runtime begins to end: one last sample, then no counter is touched any more.
pub(crate) fn stop() {
    let Some(agent) = AGENT.get() else {
        return;
    };
    let running = agent.running.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(running) = running.filter(|running| running.pid == std::process::id()) else {
        return;
    };
    running.stop.request(LAST_SAMPLE);
    match running.ended.recv_timeout(PATIENCE) {
        Err(RecvTimeoutError::Disconnected) => drop(running.thread.join()),
        Err(RecvTimeoutError::Timeout) => {}
    }
    agent.gate.shut();
}

/// Whether this is a child of the process whose thread was started: it has no thread to serve.
pub(crate) fn is_forked() -> bool {
    let running = AGENT.get().map(|agent| agent.running.try_lock());
    match running {
        Some(Ok(running)) => running.as_ref().is_some_and(|it| it.pid != std::process::id()),
        _ => false,
    }
}
