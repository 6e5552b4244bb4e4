//! The task that controls sessions. It carries out the actions of the pure
//! [`Controller`]: runs the `lttng` program, one command at a time, and saves the state file.
//! Meanwhile it accepts requests, a new configuration and the viewers' notices.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pmda::process::{effective_user, group_name, user_name};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::control::{
    Action, Code, Command, Controller, Exit, Invocation, Probe, Reply, Report, SessionSpec,
    SessionWatch, Socket, State,
};
use super::super::limits::{OUTPUT_MAX, REQUESTS_MAX, STATE_MAX, STDERR_MAX};
use super::super::metrics::STATUS;
use crate::clock::now;
use crate::confine::aside;
use crate::net::state_file;
use crate::store::ControlQueue;
/// Receives the answer to a request, on a worker; must not block.
pub type OnAnswer = Box<dyn FnOnce(Result<String, String>) + Send>;

/// Settings of the control.
#[derive(Clone, Debug)]
pub struct ControlOptions {
    /// The `lttng` program: a name in PATH or a path.
    pub program: PathBuf,
    /// Records which sessions are managed. Its folder must exist; each write replaces the whole
    /// file or leaves the old one.
    pub state_file: PathBuf,
    /// The sessions of the configuration.
    pub sessions: Vec<SessionSpec>,
}

enum Message {
    Request(Command, OnAnswer),
    Configure(Vec<SessionSpec>),
}

/// Handle to the control of sessions, for any thread. The control ends with the token that it was
/// started with and leaves sessions as they are.
#[derive(Clone)]
pub struct SessionControl {
    messages: Sender<Message>,
    reports: watch::Receiver<Vec<Report>>,
    seen: Arc<SessionWatch>,
}

impl SessionControl {
    /// Starts the task. `control_queue` shows the status of all sessions.
    #[must_use]
    pub fn start(
        runtime: &Handle,
        tasks: &TaskTracker,
        stop: CancellationToken,
        options: ControlOptions,
        control_queue: Arc<ControlQueue>,
    ) -> Self {
        let (messages, receiver) = channel(REQUESTS_MAX);
        let noticed = Arc::new(Notify::new());
        let wake = Arc::clone(&noticed);
        let seen = Arc::new(SessionWatch::new(move || wake.notify_one()));
        let controller = controller(&options);
        let reports = controller.reports();
        seen.manage(reports.iter().map(|r| r.name.as_str()));
        let (published, reports) = watch::channel(reports);
        let driver = Driver {
            program: options.program,
            state_file: options.state_file,
            controller,
            messages: receiver,
            noticed,
            seen: Arc::clone(&seen),
            requests: HashMap::new(),
            next_request: 0,
            control_queue,
            published,
            reported: Vec::new(),
            save_failed: false,
        };
        tasks.spawn_on(
            async move {
                tokio::select! {
                    () = driver.run() => {}
                    () = stop.cancelled() => {}
                }
            },
            runtime,
        );
        Self { messages, reports, seen }
    }

    /// Queues a request. `on_answer` is called once: at once if too many requests wait, otherwise
    /// when the request is done or has failed. It is not called if the PMDA stops before.
    pub fn request(&self, command: Command, on_answer: OnAnswer) {
        use tokio::sync::mpsc::error::TrySendError::{Closed, Full};
        let (message, why) = match self.messages.try_send(Message::Request(command, on_answer)) {
            Ok(()) => return,
            Err(Full(message)) => (message, "too many requests wait: try again later"),
            Err(Closed(message)) => (message, "the PMDA stops"),
        };
        if let Message::Request(_, on_answer) = message {
            on_answer(Err(why.to_owned()));
        }
    }

    /// Replaces the sessions of the configuration. `false`: too many requests wait, try again.
    #[must_use]
    pub fn configure(&self, sessions: Vec<SessionSpec>) -> bool {
        self.messages.try_send(Message::Configure(sessions)).is_ok()
    }

    /// The state of all managed sessions, after each change.
    #[must_use]
    pub fn reports(&self) -> watch::Receiver<Vec<Report>> {
        self.reports.clone()
    }

    /// Receives the viewers' sightings of managed sessions.
    #[must_use]
    pub fn session_watch(&self) -> &Arc<SessionWatch> {
        &self.seen
    }
}

fn controller(options: &ControlOptions) -> Controller {
    let state = saved(&options.state_file).unwrap_or_else(|why| {
        log::warn!(
            "lttng: {}: {why}; sessions that this PMDA created before count as somebody else's",
            options.state_file.display()
        );
        Default::default()
    });
    let wall = now().wall;
    let microseconds =
        wall.sec.cast_unsigned().wrapping_mul(1_000_000).wrapping_add(u64::from(wall.nsec / 1000));
    Controller::new(&options.sessions, state, microseconds)
}

struct Driver {
    program: PathBuf,
    state_file: PathBuf,
    controller: Controller,
    messages: Receiver<Message>,
    noticed: Arc<Notify>,
    seen: Arc<SessionWatch>,
    /// Requests without an answer, by their number.
    requests: HashMap<u64, OnAnswer>,
    next_request: u64,
    control_queue: Arc<ControlQueue>,
    published: watch::Sender<Vec<Report>>,
    /// The reports that were logged last.
    reported: Vec<Report>,
    save_failed: bool,
}

impl Driver {
    async fn run(mut self) {
        loop {
            let action = self.controller.next(now().monotonic);
            // An answer is sent only after its state is saved, so that it remains true after a
            // restart.
            if !matches!(action, Action::Save(_)) {
                self.publish();
            }
            match action {
                Action::Save(text) => self.save(text).await,
                Action::Run(invocation) => {
                    let program = self.program.clone();
                    let work = aside::run(run(program, invocation.clone()));
                    let reply = self.listen_during(work).await;
                    let reply = reply.unwrap_or_else(|e| no_reply(Exit::NotStarted(e.to_string())));
                    log::debug!(
                        "lttng {}: {:?} {}",
                        invocation.args.join(" "),
                        reply.exit,
                        reply.stderr.trim_end()
                    );
                    self.controller.replied(&reply, now().monotonic);
                }
                Action::Probe => {
                    // Not answered: the PMDA ends.
                    if let Ok(probe) = self.listen_during(aside::run(look())).await {
                        self.controller.probed(&probe);
                    }
                }
                Action::Idle(time) => {
                    tokio::select! {
                        () = sleep(time) => {}
                        () = self.noticed.notified() => self.notices(),
                        Some(message) = self.messages.recv() => self.message(message),
                    }
                }
            }
        }
    }

    /// Handles messages and notices until `work` is done.
    async fn listen_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.noticed.notified() => self.notices(),
                Some(message) = self.messages.recv() => self.message(message),
            }
        }
    }

    fn notices(&mut self) {
        for notice in self.seen.take() {
            self.controller.notice(&notice, now().monotonic);
        }
    }

    fn message(&mut self, message: Message) {
        let at = now().monotonic;
        match message {
            Message::Request(command, on_answer) => {
                self.next_request += 1;
                self.requests.insert(self.next_request, on_answer);
                self.controller.request(self.next_request, command, at);
                self.publish();
            }
            Message::Configure(sessions) => self.controller.configure(&sessions, at),
        }
    }

    async fn save(&mut self, text: String) {
        let path = self.state_file.clone();
        let result = aside::spawn_blocking(move || state_file::write(&path, &text)).await;
        let failure = match result {
            Ok(Ok(())) => None,
            Ok(Err(e)) => Some(e.to_string()),
            Err(e) => Some(e.to_string()),
        };
        if let (Some(why), false) = (&failure, self.save_failed) {
            log::warn!(
                "lttng: {}: {why}; after a restart the sessions created now count as somebody else's",
                self.state_file.display()
            );
        }
        self.save_failed = failure.is_some();
    }

    /// Answers finished requests, and publishes reports that have changed.
    fn publish(&mut self) {
        for (id, result) in self.controller.answers() {
            if let Some(on_answer) = self.requests.remove(&id) {
                on_answer(result);
            }
        }
        let new = self.controller.reports();
        if new == self.reported {
            return;
        }
        for Report { name, diagnosis, .. } in &new {
            let old = self.reported.iter().find(|r| r.name == *name).map(|r| &r.diagnosis);
            if old == Some(diagnosis) {
                continue;
            }
            match diagnosis.code {
                Code::Pending => {}
                Code::Ok | Code::Stopped | Code::Destroyed | Code::PerPidTail => {
                    log::info!("lttng session {name}: {diagnosis}")
                }
                _ => log::warn!("lttng session {name}: {diagnosis}"),
            }
        }
        self.control_queue.answer(STATUS, &status(&new));
        self.seen.manage(new.iter().map(|r| r.name.as_str()));
        self.published.send_replace(new.clone());
        self.reported = new;
    }
}

/// A line for each session.
fn status(reports: &[Report]) -> String {
    let line = |r: &Report| format!("{} {}: {}", r.name, r.diagnosis.code.word(), r.diagnosis.text);
    reports.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Reads the state file of managed sessions; a missing file is an empty state.
///
/// # Errors
/// The file cannot be read or parsed.
fn saved(path: &Path) -> Result<State, String> {
    let text = state_file::read(path, STATE_MAX).map_err(|e| e.to_string())?;
    text.map_or_else(|| Ok(State::default()), |text| State::parse(&text))
}

/// Bytes of one read.
const READ: usize = 16 << 10;
/// Time limit of waiting for a killed program; after it the runtime reaps the process.
const KILL_TIME: Duration = Duration::from_secs(1);

/// Runs a command within its time limit. Dropping the future kills the process. It inherits the
/// environment, `LTTNG_HOME` included.
async fn run(program: PathBuf, invocation: Invocation) -> Reply {
    let spawned = tokio::process::Command::new(program)
        .args(&invocation.args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return no_reply(Exit::NotInstalled),
        Err(e) => return no_reply(Exit::NotStarted(e.to_string())),
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let ended = timeout(invocation.limit, converse(&mut child, &mut stdout, &mut stderr)).await;
    let exit = match ended {
        Ok(Ok(status)) => exit(status),
        Ok(Err(Cut::TooMuch)) => Exit::TooMuch,
        Ok(Err(Cut::Io(e))) => Exit::NotStarted(e.to_string()),
        Err(_) => Exit::TimedOut,
    };
    if matches!(exit, Exit::TooMuch | Exit::TimedOut) {
        // Children of the program may keep the pipes open, so these are not read to their ends.
        let _ = timeout(KILL_TIME, child.kill()).await;
    }
    Reply { exit, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
}

const fn no_reply(exit: Exit) -> Reply {
    Reply { exit, stdout: Vec::new(), stderr: String::new() }
}

/// Why the output was not read to its end.
enum Cut {
    /// More standard output than the limit.
    TooMuch,
    Io(std::io::Error),
}

impl From<std::io::Error> for Cut {
    fn from(e: std::io::Error) -> Self {
        Self::Io(e)
    }
}

/// Reads both outputs to their ends.
async fn converse(
    child: &mut Child,
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
) -> Result<ExitStatus, Cut> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    tokio::try_join!(
        async {
            if keep(out, stdout, OUTPUT_MAX, false).await? { Ok(()) } else { Err(Cut::TooMuch) }
        },
        async { Ok(keep(err, stderr, STDERR_MAX, true).await?) },
    )?;
    Ok(child.wait().await?)
}

/// Reads up to `max` bytes. `false`: there are more; with `drain` they are read and dropped,
/// otherwise reading ends.
async fn keep(
    source: Option<impl AsyncRead + Unpin>,
    kept: &mut Vec<u8>,
    max: usize,
    drain: bool,
) -> std::io::Result<bool> {
    let Some(mut source) = source else { return Ok(true) };
    let (mut buffer, mut whole) = (vec![0; READ], true);
    loop {
        let n = source.read(&mut buffer).await?;
        if n == 0 {
            return Ok(whole);
        }
        let room = max - kept.len();
        kept.extend_from_slice(buffer.get(..n.min(room)).unwrap_or_default());
        whole &= n <= room;
        if !whole && !drain {
            return Ok(false);
        }
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

/// Longest time for a connection to a socket.
const CONNECT_TIME: Duration = Duration::from_secs(1);
/// Socket of root's session daemon.
const ROOT_SOCKET: &str = "/var/run/lttng/client-lttng-sessiond";

/// Connects to the sockets that the program connects to.
async fn look() -> Probe {
    let user = effective_user();
    let mut paths = vec![PathBuf::from(ROOT_SOCKET)];
    if user != 0 {
        let home = std::env::var_os("LTTNG_HOME").or_else(|| std::env::var_os("HOME"));
        paths.extend(home.map(|home| Path::new(&home).join(".lttng/client-lttng-sessiond")));
    }
    let mut sockets = Vec::new();
    for path in paths {
        sockets.push((path.display().to_string(), socket(&path).await));
    }
    // A user or group without a name is shown by its number. Their lists can be on a server.
    let name = aside::spawn_blocking(move || user_name(user)).await.ok().flatten();
    Probe { user: name.unwrap_or_else(|| user.to_string()), sockets }
}

async fn socket(path: &Path) -> Socket {
    // The connection is closed at once. For the session daemon that is a client without a request.
    match timeout(CONNECT_TIME, UnixStream::connect(path)).await {
        Err(_) | Ok(Ok(_)) => Socket::Alive,
        Ok(Err(e)) if e.kind() == ErrorKind::NotFound => Socket::Absent,
        Ok(Err(e)) if e.kind() == ErrorKind::PermissionDenied => {
            let gid = std::fs::metadata(path).map(|file| file.gid());
            let group = aside::spawn_blocking(move || {
                let gid = gid.ok()?;
                Some(group_name(gid).unwrap_or_else(|| gid.to_string()))
            });
            Socket::Denied(group.await.ok().flatten().unwrap_or_else(|| "tracing".to_owned()))
        }
        Ok(Err(_)) => Socket::Dead,
    }
}

#[cfg(test)]
#[path = "tests/control.rs"]
mod control_tests;

#[cfg(test)]
#[path = "tests/probe.rs"]
mod probe_tests;
