//! When to ask a process what: the state machine of one process, without I/O and without a clock
//! (docs/protocols/dotnet.md 0, 2).
//!
//! ```text
//!  found ─▶ ProcessInfo 3, 2, 1 ─▶ CollectTracing 5..1 ─▶ stream ─▶ StopTracing ─▶ end of stream
//!    ▲             │ no answer, error    │                  │ silence: ProcessInfo, new session
//!    └─ back-off ──┴─────────────────────┴──────────────────┘
//! ```

mod choice;
mod collect;
mod next;
mod outcome;
#[cfg(test)]
mod tests;
mod told;

pub use choice::Choice;
pub use collect::{Command, End, Failure, Line};
pub use told::{Reach, State};

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::wire::ipc::{Answer, CollectCommand, Info, InfoCommand, Request};
use super::wire::wanted;
use super::wire::wanted::{Extent, Version};
use super::{Config, limits};
use collect::Session;
use outcome::Backoff;

/// The request on [`Line::Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// What process is it?
    Info(InfoCommand),
    /// Is it alive?
    Check,
    /// It may start now.
    Resume,
}

/// When to ask one process what. Its owner calls it whenever something happens and at
/// [`Process::wakeup`], and carries out the commands in their order.
#[derive(Debug)]
pub struct Process {
    config: Arc<Config>,
    client: Arc<str>,
    reach: Reach,
    state: State,
    reason: Cow<'static, str>,
    info: Option<Info>,
    /// The next version of ProcessInfo to ask; `None`: all were asked.
    next_info: Option<InfoCommand>,
    /// The newest collect command that the runtime may know.
    collect: Option<CollectCommand>,
    asked: Option<(Asked, Duration)>,
    main: Session,
    burst: Session,
    /// End of the burst's samples, once they come.
    burst_until: Option<Duration>,
    burst_length: Duration,
    /// What the open session was asked with.
    opened_with: Arc<Config>,
    extent: Extent,
    /// The session id that it asked meters with.
    meter_session: String,
    /// Entries of the configuration that it could not ask for.
    left_out: usize,
    backoff: Backoff,
    /// Runtimes tell an early client the program instead of the entry assembly.
    settled: Duration,
    /// The runtime's answer was late enough.
    named: bool,
    /// No attempt before.
    retry: Duration,
    /// When the process was found, or resumed.
    found: Duration,
    /// How old it was then.
    age: Duration,
    /// EventCounters have come once: the program has started.
    started: bool,
    /// The session is being ended to be opened again with meters.
    upgrading: bool,
    /// The process may wait for ResumeRuntime on the port.
    resume: bool,
    /// No further attempt of that before.
    resume_after: Duration,
    /// An attempt has failed: a process that waits is not kept waiting.
    tried: bool,
    /// Reading is wanted.
    wanted: bool,
    /// The entries of the configuration that want it; none: whoever asked does.
    choices: Vec<Choice>,
    /// Nothing is opened any more.
    stopping: bool,
    began: Duration,
    /// Time of the last EventCounters of this session.
    counted: Option<Duration>,
    /// Events of the runtime came in this session.
    heard: bool,
    /// No check before.
    next_check: Duration,
    /// The EventCounters of this session have stopped.
    silenced: bool,
    /// The last stream ended before its end tag.
    cut: bool,
    /// Why the session is being ended, if the process is to blame.
    fault: Option<Cow<'static, str>>,
    sessions: u64,
    restarts: u64,
    errors: u64,
    commands: Vec<Command>,
}

impl Process {
    /// A process that was found at `now`. `client`: the name of this PMDA in sessions, letters,
    /// digits and `-`. `age`: of the process; `None`: not known, it is taken for a new one.
    #[must_use]
    pub fn new(
        config: Arc<Config>,
        client: Arc<str>,
        now: Duration,
        age: Option<Duration>,
    ) -> Self {
        // Who tells no start time connects to us, mostly after its start.
        let young = age.map_or(Duration::ZERO, |age| limits::YOUNG.saturating_sub(age));
        let settled = now + young;
        Self {
            opened_with: Arc::clone(&config),
            config,
            client,
            extent: Extent::Events,
            meter_session: String::new(),
            left_out: 0,
            reach: Reach::Off(Arc::from(told::NOT_ASKED)),
            state: State::Found,
            reason: Cow::Borrowed(told::NOT_ASKED),
            info: None,
            next_info: Some(InfoCommand::Three),
            collect: None,
            asked: None,
            main: Session::new(Line::Main, Line::Stop),
            burst: Session::new(Line::Burst, Line::BurstStop),
            burst_until: None,
            burst_length: Duration::ZERO,
            backoff: Backoff::new(),
            settled,
            named: false,
            retry: settled,
            found: now,
            age: age.unwrap_or_default(),
            started: false,
            upgrading: false,
            resume: false,
            resume_after: Duration::ZERO,
            tried: false,
            wanted: true,
            choices: Vec::new(),
            stopping: false,
            began: Duration::ZERO,
            counted: None,
            heard: false,
            next_check: Duration::ZERO,
            silenced: false,
            cut: false,
            fault: None,
            sessions: 0,
            restarts: 0,
            errors: 0,
            commands: Vec::new(),
        }
    }

    /// The next command to carry out.
    pub fn commands(&mut self) -> std::vec::Drain<'_, Command> {
        self.commands.drain(..)
    }

    /// State of reading.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The state in words.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What the runtime tells of itself, if it has answered.
    #[must_use]
    pub const fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }

    /// Name of the entry assembly; empty: not known.
    #[must_use]
    pub fn entry(&self) -> &str {
        self.info.as_ref().filter(|_| self.named).map_or("", |info| &info.entry)
    }

    /// Nothing more is known by asking: its name, for one.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.info.is_some() || self.next_info.is_none() || self.tried
    }

    /// How it is read; `None`: it is not.
    #[must_use]
    pub const fn via(&self) -> Option<&'static str> {
        match self.reach {
            _ if self.main.is_closed() => None,
            Reach::Port => Some("port"),
            _ => Some("socket"),
        }
    }

    /// It will be asked, or has been and may still answer.
    #[must_use]
    pub const fn waits(&self) -> bool {
        self.reach.is_open() && self.wanted && !self.stopping
    }

    /// Version of the runtime.
    #[must_use]
    pub fn version(&self) -> Version {
        self.info.as_ref().map_or_else(Version::default, |info| Version::parse(&info.version))
    }

    /// Sessions opened again, and those that ended with a fault.
    #[must_use]
    pub const fn counts(&self) -> (u64, u64) {
        (self.restarts, self.errors)
    }

    /// All sessions have ended, and no more will begin.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.stopping
            && self.main.is_closed()
            && self.burst.is_closed()
            && self.asked.is_none()
            && !self.resume
    }

    /// Sets whether the process can be connected to.
    pub fn reach(&mut self, now: Duration, reach: Reach) {
        if reach == self.reach {
            return;
        }
        self.resume |= reach == Reach::Port;
        if !self.reach.is_open() && reach.is_open() {
            // One that connects to us may wait for us: without a least age it is asked at once.
            let port = reach == Reach::Port;
            self.retry = if port { now } else { now.max(self.settled) };
        }
        self.reach = reach;
        self.advance(now);
    }

    /// Sets whether the process is to be read.
    pub fn want(&mut self, now: Duration, wanted: bool) {
        self.wanted = wanted;
        if !wanted {
            self.burst.stop(now, self.stop_time(), &mut self.commands);
            self.main.stop(now, self.stop_time(), &mut self.commands);
        }
        self.advance(now);
    }

    /// Sets which entries of the configuration are for its name and user. None: it is not read.
    pub fn choose(&mut self, now: Duration, choices: Vec<Choice>) {
        self.choices = choices;
        let wanted = !self.choices.is_empty() && !self.is_left_out();
        if !wanted || self.has_other_extent(now) {
            self.burst.stop(now, self.stop_time(), &mut self.commands);
            self.main.stop(now, self.stop_time(), &mut self.commands);
        }
        self.renew_reason();
        self.want(now, !self.choices.is_empty());
    }

    /// The configuration has changed: a session that would be another one is opened again.
    pub fn configure(&mut self, now: Duration, config: Arc<Config>) {
        self.config = config;
        let version = self.version();
        let of = |config| wanted::wanted(config, version, &self.client, self.extent(now));
        if !self.main.is_closed() && of(&self.opened_with) != of(&self.config) {
            self.main.stop(now, self.stop_time(), &mut self.commands);
        }
        self.advance(now);
    }

    /// Ends the session and opens another one: another tool has left what both wanted.
    pub fn reopen(&mut self, now: Duration) {
        if self.main.is_streaming() && !self.main.is_stopping() {
            self.main.stop(now, self.stop_time(), &mut self.commands);
        }
        self.advance(now);
    }

    /// Ids that the session asked meters with: its own and this client's. The former is empty if
    /// it asked for none.
    #[must_use]
    pub fn meters(&self) -> (&str, &str) {
        (&self.meter_session, &self.client)
    }

    /// Ends all sessions, and opens no more.
    pub fn stop(&mut self, now: Duration) {
        self.stopping = true;
        if self.asked.take().is_some() {
            self.commands.push(Command::Close(Line::Ask));
        }
        self.burst.stop(now, self.stop_time(), &mut self.commands);
        self.main.stop(now, self.stop_time(), &mut self.commands);
        self.advance(now);
    }

    /// The process has ended.
    pub fn gone(&mut self) {
        self.stopping = true;
        self.resume = false;
        if self.asked.take().is_some() {
            self.commands.push(Command::Close(Line::Ask));
        }
        for session in [&mut self.main, &mut self.burst] {
            if !session.is_closed() {
                session.close(&mut self.commands);
            }
        }
        self.say(State::Gone, told::GONE);
    }

    /// Opens a session for a CPU profile of this length. `false`: not now.
    pub fn burst(&mut self, now: Duration, length: Duration) -> bool {
        let ready = self.main.is_streaming() && !self.main.is_stopping() && self.burst.is_closed();
        let Some(command) = self.collect.filter(|_| ready && !self.stopping) else { return false };
        self.burst_length = length;
        self.burst_until = None;
        let request = Request::Collect(command, wanted::profile(&self.config));
        self.burst.open(now, request, &mut self.commands);
        true
    }

    /// A CPU profile is under way.
    #[must_use]
    pub const fn is_bursting(&self) -> bool {
        !self.burst.is_closed()
    }

    /// A request has its answer.
    pub fn answered(&mut self, now: Duration, line: Line, answer: &Answer<'_>) {
        match line {
            Line::Ask => self.ask_answered(now, answer),
            Line::Main => self.main_answered(now, answer),
            Line::Burst => match (answer.session(), answer) {
                (Some(id), _) => self.burst.opened(now, id, &mut self.commands),
                (None, Answer::Refused(code)) => self.burst_failed(told::refusal(*code)),
                (None, Answer::Done(_)) => self.burst_failed(told::SHORT_SESSION.to_owned()),
            },
            Line::Stop => self.main_stop_answered(now),
            Line::BurstStop => {
                self.burst.stop_answered(&mut self.commands);
            }
        }
        self.advance(now);
    }

    /// A request has no answer.
    pub fn failed(&mut self, now: Duration, line: Line, failure: &Failure) {
        match line {
            Line::Ask => {
                self.commands.push(Command::Close(Line::Ask));
                self.ask_failed(now, failure);
            }
            Line::Main => {
                self.main.close(&mut self.commands);
                self.fail_with(now, failure);
            }
            Line::Burst => self.burst_failed(told::failure(failure)),
            // The stream may end all the same; if it does not, its time does.
            Line::Stop => self.main_stop_answered(now),
            Line::BurstStop => {
                self.burst.stop_answered(&mut self.commands);
            }
        }
        self.advance(now);
    }

    /// The stream of a session has begun.
    pub fn began(&mut self, now: Duration, line: Line) {
        match line {
            Line::Main => {
                self.main.began();
                if self.main.is_streaming() {
                    self.began = now;
                    self.counted = None;
                    self.heard = false;
                    (self.silenced, self.cut) = (false, false);
                    self.say(State::Streaming, self.streaming());
                }
            }
            Line::Burst => {
                self.burst.began();
                self.burst_until = Some(now + self.burst_length);
            }
            Line::Ask | Line::Stop | Line::BurstStop => {}
        }
        self.advance(now);
    }

    /// Events of the runtime itself came on the main line.
    pub const fn heard(&mut self) {
        self.heard = true;
    }

    /// EventCounters came on the main line.
    pub fn counted(&mut self, now: Duration) {
        if !self.has_counters() {
            // An entry of dotnet.providers asks for them: they prove nothing.
            return;
        }
        self.counted = Some(now);
        if !self.takes_meters() {
            self.started = true;
            self.upgrading = !self.config.meters.is_empty() && self.main.is_streaming();
            if self.upgrading {
                self.main.stop(now, self.stop_time(), &mut self.commands);
                return self.advance(now);
            }
        }
        self.started = true;
        self.settle(now);
        if self.main.is_streaming() && !matches!(self.reason, Cow::Borrowed(told::STREAMING)) {
            self.say(State::Streaming, told::STREAMING);
        }
    }

    /// A stream cannot be decoded: its session is ended; what still comes of it is thrown away.
    pub fn undecodable(&mut self, now: Duration, line: Line, why: &str) {
        match line {
            Line::Main => {
                self.main.stop(now, self.stop_time(), &mut self.commands);
                self.fail(now, why.to_owned().into(), true);
                self.fault = Some(std::mem::take(&mut self.reason));
            }
            Line::Burst => {
                self.errors += 1;
                self.burst.stop(now, self.stop_time(), &mut self.commands);
            }
            Line::Ask | Line::Stop | Line::BurstStop => {}
        }
        self.advance(now);
    }

    /// When [`Process::advance`] must be called at the latest.
    #[must_use]
    pub fn wakeup(&self) -> Option<Duration> {
        let idle = self.main.is_closed()
            && self.asked.is_none()
            && self.wanted
            && !self.stopping
            && !self.is_left_out()
            && self.reach.is_open();
        let asked = self.asked.map(|(_, until)| until);
        let check = self.main.is_streaming().then(|| self.next_look()).flatten();
        let burst = self.burst_until.filter(|_| self.burst.is_streaming());
        let next = idle.then(|| self.next_attempt());
        let resume = (self.asked.is_none() && self.resumes()).then_some(self.resume_after);
        [asked, self.main.until(), self.burst.until(), check, burst, next, resume]
            .into_iter()
            .flatten()
            .min()
    }

    /// Time for a session to end.
    const fn stop_time(&self) -> Duration {
        if self.stopping { limits::STOP_ALL } else { limits::STOP }
    }

    fn say(&mut self, state: State, reason: impl Into<Cow<'static, str>>) {
        self.state = state;
        self.reason = reason.into();
    }
}
