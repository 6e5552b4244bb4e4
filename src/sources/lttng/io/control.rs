//! Runs what [`crate::sources::lttng::control`] decides: the `lttng` program, one command at a
//! time, with a time limit and bounded output; keeps the state file; takes requests and notices
//! meanwhile.

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::pin;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::process::run;
use super::{probe, state_file};
use crate::clock::now;
use crate::sources::lttng::control::limits::REQUESTS_MAX;
use crate::sources::lttng::control::{Action, Code, Command, Controller, Notice, Report, Spec};

/// Takes the answer to a request, on a worker; must not block.
pub type OnAnswer = Box<dyn FnOnce(Result<String, String>) + Send>;

/// What the control works with.
#[derive(Clone, Debug)]
pub struct LttngOptions {
    /// The program: a name in PATH or a path.
    pub program: PathBuf,
    /// Where it is remembered which sessions are ours. Its folder must exist; it is written whole
    /// or not at all.
    pub state_file: PathBuf,
    /// The sessions of the configuration.
    pub sessions: Vec<Spec>,
}

enum Message {
    Request(Command, OnAnswer),
    Notice(Notice),
    Configure(Vec<Spec>),
}

/// Control of LTTng sessions, for any thread. It ends with the token that it was started with, and
/// leaves sessions as they are.
#[derive(Clone)]
pub struct LttngControl {
    messages: Sender<Message>,
}

impl LttngControl {
    /// Starts it. `on_reports` is called on a worker whenever something about the sessions has
    /// changed, with all of them and the version of the program; it must not block.
    #[must_use]
    pub fn start(
        runtime: &Handle,
        tasks: &TaskTracker,
        stop: CancellationToken,
        options: LttngOptions,
        on_reports: impl Fn(&[Report], &str) + Send + 'static,
    ) -> Self {
        let (messages, receiver) = channel(REQUESTS_MAX);
        tasks.spawn_on(
            async move {
                let work = Driver::new(options, receiver, on_reports);
                tokio::select! {
                    () = work.run() => {}
                    () = stop.cancelled() => {}
                }
            },
            runtime,
        );
        Self { messages }
    }

    /// Asks for something. `on_answer` is called once: at once when there are too many requests,
    /// else when it was done or failed; never when the PMDA stops before.
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

    /// The viewer has seen something. What does not find room is dropped: the viewer will see it
    /// again.
    pub fn notice(&self, notice: Notice) {
        let _ = self.messages.try_send(Message::Notice(notice));
    }

    /// The configuration has these sessions now. `false`: there was no room, try again.
    #[must_use]
    pub fn configure(&self, sessions: Vec<Spec>) -> bool {
        self.messages.try_send(Message::Configure(sessions)).is_ok()
    }
}

struct Driver<F> {
    program: PathBuf,
    state_file: PathBuf,
    controller: Controller,
    messages: Receiver<Message>,
    asked: HashMap<u64, OnAnswer>,
    next: u64,
    on_reports: F,
    reported: (Vec<Report>, String),
    save_failed: bool,
}

impl<F: Fn(&[Report], &str)> Driver<F> {
    fn new(options: LttngOptions, messages: Receiver<Message>, on_reports: F) -> Self {
        let LttngOptions { program, state_file, sessions } = options;
        let state = state_file::read(&state_file).unwrap_or_else(|why| {
            let path = state_file.display();
            log::warn!(
                "lttng: {path}: {why}; sessions that were made before now count as somebody else's"
            );
            Default::default()
        });
        let wall = now().wall;
        let seed = wall
            .sec
            .cast_unsigned()
            .wrapping_mul(1_000_000)
            .wrapping_add(u64::from(wall.nsec / 1000));
        let controller = Controller::new(&sessions, state, seed);
        let asked = HashMap::new();
        let reported = (Vec::new(), String::new());
        Self {
            program,
            state_file,
            controller,
            messages,
            asked,
            next: 0,
            on_reports,
            reported,
            save_failed: false,
        }
    }

    async fn run(mut self) {
        loop {
            let action = self.controller.next(now().mono);
            // What is told is saved before, so that it is still so after a restart.
            if !matches!(action, Action::Save(_)) {
                self.tell();
            }
            match action {
                Action::Save(text) => self.save(text).await,
                Action::Run(invocation) => {
                    let program = self.program.clone();
                    let reply = self.meanwhile(run(&program, &invocation)).await;
                    log::debug!(
                        "lttng {}: {:?} {}",
                        invocation.args.join(" "),
                        reply.exit,
                        reply.stderr.trim_end()
                    );
                    self.controller.replied(&reply, now().mono);
                }
                Action::Probe => {
                    let probe = self.meanwhile(probe::look()).await;
                    self.controller.probed(&probe);
                }
                Action::Rest(time) => {
                    tokio::select! {
                        () = sleep(time) => {}
                        Some(message) = self.messages.recv() => self.take(message),
                    }
                }
            }
        }
    }

    /// Takes messages while something is done.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                Some(message) = self.messages.recv() => self.take(message),
            }
        }
    }

    fn take(&mut self, message: Message) {
        let at = now().mono;
        match message {
            Message::Request(command, on_answer) => {
                self.next += 1;
                self.asked.insert(self.next, on_answer);
                self.controller.request(self.next, command, at);
                self.tell();
            }
            Message::Notice(notice) => self.controller.notice(&notice, at),
            Message::Configure(sessions) => self.controller.configure(&sessions, at),
        }
    }

    async fn save(&mut self, text: String) {
        let path = self.state_file.clone();
        let result = tokio::task::spawn_blocking(move || state_file::write(&path, &text)).await;
        let failure = match result {
            Ok(Ok(())) => None,
            Ok(Err(e)) => Some(e.to_string()),
            Err(e) => Some(e.to_string()),
        };
        if let (Some(why), false) = (&failure, self.save_failed) {
            log::warn!(
                "lttng: {}: {why}; after a restart the sessions made now will count as somebody else's",
                self.state_file.display()
            );
        }
        self.save_failed = failure.is_some();
    }

    /// Gives out answers, and reports that have changed.
    fn tell(&mut self) {
        for (id, result) in self.controller.told() {
            if let Some(on_answer) = self.asked.remove(&id) {
                on_answer(result);
            }
        }
        let new = (self.controller.reports(), self.controller.version().to_owned());
        if new == self.reported {
            return;
        }
        for report in &new.0 {
            let (name, diagnosis) = (&report.name, &report.diagnosis);
            let old = self.reported.0.iter().find(|r| r.name == *name).map(|r| &r.diagnosis);
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
        (self.on_reports)(&new.0, &new.1);
        self.reported = new;
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
