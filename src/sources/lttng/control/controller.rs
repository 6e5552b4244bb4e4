//! Rounds of control: list sessions, compare, run the missing commands, diagnose why no events
//! come. One command runs at a time.
//!
//! ```text
//!          ┌────────────── no session daemon ── Probe ◀─┐
//!          ▼                                            │
//!  Idle ─(due)─▶ List ─▶ Work: session by session ─▶ Programs ─▶ Idle
//!    ▲                    commands until one fails      │
//!    └──────────────────────────────────────────────────┘
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use super::super::limits::{PERIOD, PROGRAMS_PERIOD, SESSIONS_MAX};
use super::command::Command;
use super::diagnosis::{Code, Diagnosis, Notice, Probe};
use super::managed::{ManagedSession, Report, SessionPhase, State, backoff};
use super::mi::ListedSession;
use super::plan::{Invocation, Plan, Step};
use super::spec::{Domain, SessionSpec};
use super::{CommandError, Reply};

/// The next action of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Save this text as the whole state file, before anything else. A failure is ignored.
    Save(String),
    /// Run this command and report with [`Controller::replied`].
    Run(Invocation),
    /// Diagnose why no session daemon answers and report with [`Controller::probed`].
    Probe,
    /// Wait for this time, or until a request or notice arrives.
    Idle(Duration),
}

/// The answer to a request: its number, and the result or the reason of the failure.
pub type RequestAnswer = (u64, Result<String, String>);

#[derive(Debug)]
enum Round {
    Idle,
    Version,
    List,
    Work { listed: Vec<ListedSession>, next: usize, commands: VecDeque<Invocation>, mark: String },
    Programs,
    Probe,
}

/// All managed sessions.
///
/// The caller repeats: [`Controller::next`], carry out the action, report its result. Times are of
/// any monotonic clock.
#[derive(Debug)]
pub struct Controller {
    sessions: Vec<ManagedSession>,
    round: Round,
    /// The running command, and the index of its session.
    running: Option<(Invocation, Option<usize>)>,
    due: Duration,
    failures: u32,
    version: String,
    answers: Vec<RequestAnswer>,
    /// Answers about sessions that record, until the programs of this round are listed.
    held: Vec<(String, RequestAnswer)>,
    dirty: bool,
    /// The latest text of [`Action::Save`].
    saved: String,
    seed: u64,
    marks: u64,
}

impl Controller {
    /// Continues with a saved state. `seed` makes marks unique over runs: for example the time in
    /// microseconds.
    #[must_use]
    pub fn new(specs: &[SessionSpec], state: State, seed: u64) -> Self {
        let sessions = state.sessions.into_iter().map(ManagedSession::restored).collect();
        let mut controller = Self {
            sessions,
            round: Round::Version,
            running: None,
            due: Duration::ZERO,
            failures: 0,
            version: String::new(),
            answers: Vec::new(),
            held: Vec::new(),
            dirty: false,
            saved: String::new(),
            seed,
            marks: 0,
        };
        controller.configure(specs, Duration::ZERO);
        controller
    }

    /// Replaces the sessions of the configuration. Sessions that it no longer has are destroyed;
    /// sessions that users created stay.
    pub fn configure(&mut self, specs: &[SessionSpec], now: Duration) {
        for session in &mut self.sessions {
            if session.base.is_some() && !specs.iter().any(|s| s.name == session.spec.name) {
                (session.base, session.gone, session.retry_at) = (None, true, Duration::ZERO);
            }
        }
        for spec in specs {
            let room = self.sessions.len() < SESSIONS_MAX;
            match self.sessions.iter_mut().find(|s| s.spec.name == spec.name) {
                Some(session) => session.configure(spec),
                None if room => {
                    self.sessions.push(ManagedSession::new(spec.clone(), Some(spec.clone())))
                }
                None => {}
            }
        }
        (self.due, self.dirty) = (now, true);
    }

    /// A user's request. [`Controller::answers`] returns its answer, once.
    pub fn request(&mut self, id: u64, command: Command, now: Duration) {
        let name = command.session().to_owned();
        let room = self.sessions.len() < SESSIONS_MAX;
        let result = match (self.sessions.iter_mut().find(|s| s.spec.name == name), command) {
            (Some(session), command) => session.request(id, command),
            (None, Command::Create(spec)) if room => {
                let mut session = ManagedSession::new(*spec, None);
                session.wait(id);
                self.sessions.push(session);
                Ok(())
            }
            (None, Command::Create(_)) => Err(format!("there are {SESSIONS_MAX} sessions already")),
            (None, _) => {
                let known = self
                    .sessions
                    .iter()
                    .map(|s| s.spec.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ");
                Err(format!(
                    "no session {name} is under control here; there are: {}",
                    if known.is_empty() { "none" } else { &known }
                ))
            }
        };
        match result {
            Ok(()) => (self.due, self.dirty) = (now, true),
            Err(why) => self.answers.push((id, Err(why))),
        }
    }

    /// A notice from the viewers.
    pub fn notice(&mut self, notice: &Notice, now: Duration) {
        let (Notice::Lost(name) | Notice::Silent(name) | Notice::Active(name)) = notice;
        let Some(session) = self.sessions.iter_mut().find(|s| s.spec.name == *name) else { return };
        match notice {
            Notice::Lost(_) => {
                session.lost(now);
                self.due = self.due.min(now.max(session.retry_at));
            }
            Notice::Silent(_) => {
                session.programs_due.get_or_insert(now);
                self.due = self.due.min(now);
            }
            Notice::Active(_) => session.active(&self.version),
        }
    }

    /// Answers since the last call.
    pub fn answers(&mut self) -> Vec<RequestAnswer> {
        std::mem::take(&mut self.answers)
    }

    /// State of all managed sessions.
    #[must_use]
    pub fn reports(&self) -> Vec<Report> {
        self.sessions.iter().map(ManagedSession::report).collect()
    }

    /// Version of the `lttng` program; empty before the first command.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The next action.
    pub fn next(&mut self, now: Duration) -> Action {
        if let Some((invocation, _)) = &self.running {
            return Action::Idle(invocation.limit);
        }
        loop {
            if std::mem::take(&mut self.dirty) {
                let text =
                    State::new(self.sessions.iter().map(ManagedSession::saved).collect()).text();
                if text != self.saved {
                    self.saved.clone_from(&text);
                    return Action::Save(text);
                }
            }
            match &mut self.round {
                Round::Idle if self.sessions.is_empty() => return Action::Idle(PERIOD),
                Round::Idle if now < self.due => return Action::Idle(self.due.saturating_sub(now)),
                Round::Idle => {
                    self.round = if self.version.is_empty() { Round::Version } else { Round::List }
                }
                // Without managed sessions no command is needed.
                Round::Version if self.sessions.is_empty() => self.round = Round::Idle,
                Round::Version => return self.run(Invocation::version(), None),
                Round::List => return self.run(Invocation::list(), None),
                Round::Work { next, commands, mark, .. } => {
                    let session = next.checked_sub(1);
                    match (
                        commands.front().map(|c| c.step.clone()),
                        session.and_then(|i| self.sessions.get_mut(i)),
                    ) {
                        (Some(Step::Create(_)), Some(managed))
                            if managed.marks.last() != Some(mark) =>
                        {
                            // The mark is saved before the session exists, so that a crash in
                            // between leaves no session without a known owner.
                            managed.begin(mark);
                            self.dirty = true;
                        }
                        (Some(_), _) => {
                            if let Some(invocation) = commands.pop_front() {
                                return self.run(invocation, session);
                            }
                        }
                        (None, _) => self.advance(now),
                    }
                }
                Round::Programs => match self.programs_domain(now) {
                    Some(domain) => return self.run(Invocation::programs(domain), None),
                    None => self.finish(now),
                },
                Round::Probe => return Action::Probe,
            }
        }
    }

    fn run(&mut self, invocation: Invocation, session: Option<usize>) -> Action {
        self.running = Some((invocation.clone(), session));
        Action::Run(invocation)
    }

    /// Continues with the next session, or ends the work.
    fn advance(&mut self, now: Duration) {
        let Round::Work { listed, next, commands, mark } = &mut self.round else { return };
        let Some(session) = self.sessions.get_mut(*next) else {
            self.round = Round::Programs;
            return;
        };
        *next += 1;
        session.listed(listed);
        if !session.is_due(now) {
            return;
        }
        self.marks += 1;
        let safe = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
        *mark = format!(
            "{}-apm-{:x}-{}",
            session.spec.name.chars().map(safe).collect::<String>(),
            self.seed,
            self.marks
        );
        match session.plan(listed, mark) {
            Plan::NotOurs => {
                self.answers.extend(session.not_ours(now));
                self.dirty = true;
            }
            Plan::Commands(list) if list.is_empty() => {
                let at = *next - 1;
                self.settle(at);
            }
            Plan::Commands(list) => *commands = list.into(),
        }
    }

    /// The domain whose programs must be listed.
    fn programs_domain(&self, now: Duration) -> Option<Domain> {
        let wants = |s: &&ManagedSession| {
            s.phase == SessionPhase::Active
                && s.spec.domain != Domain::Kernel
                && s.programs_due.is_some_and(|at| at <= now)
        };
        self.sessions.iter().find(wants).map(|s| s.spec.domain)
    }

    /// A session is as it was asked for. Its answers are held.
    fn settle(&mut self, at: usize) {
        let Some(session) = self.sessions.get_mut(at) else { return };
        let answers = session.settle(&self.version);
        let name = &session.spec.name;
        self.held.extend(answers.into_iter().map(|answer| (name.clone(), answer)));
    }

    /// Gives the answers that were held. A session that records, but whose events fit nothing in the programs that
    /// run, is most often a wrong name.
    fn release(&mut self) {
        for (name, (id, mut result)) in std::mem::take(&mut self.held) {
            let session = self.sessions.iter().find(|s| s.spec.name == name);
            if let Some(ManagedSession { diagnosis, .. }) = session
                && diagnosis.code == Code::NoEvent
                && let Ok(text) = &mut result
            {
                text.push_str(", but ");
                text.push_str(&diagnosis.text);
            }
            self.answers.push((id, result));
        }
    }

    fn finish(&mut self, now: Duration) {
        self.release();
        let over = |s: &ManagedSession| {
            s.gone
                && s.base.is_none()
                && matches!(s.phase, SessionPhase::Absent | SessionPhase::Foreign)
        };
        self.sessions.retain(|s| !(over(s) && s.pending.is_empty()));
        self.round = Round::Idle;
        let waits =
            |s: &ManagedSession| (s.is_due(now) && !s.pending.is_empty()) || s.retry_at > now;
        let soonest = self.sessions.iter().filter(|s| waits(s)).map(|s| s.retry_at.max(now)).min();
        self.due = (now + PERIOD).min(soonest.unwrap_or(Duration::MAX));
        self.dirty = true;
    }

    /// The result of [`Action::Run`].
    pub fn replied(&mut self, reply: &Reply, now: Duration) {
        let Some((invocation, session)) = self.running.take() else { return };
        let judged = reply.judge(&invocation.step);
        match (&invocation.step, judged) {
            (Step::Version, judged) => {
                self.version = judged.map(|a| a.version).unwrap_or_default();
                self.round = Round::List;
            }
            (Step::List, Ok(answer)) => {
                self.failures = 0;
                self.round = Round::Work {
                    listed: answer.sessions,
                    next: 0,
                    commands: VecDeque::new(),
                    mark: String::new(),
                };
            }
            (Step::List, Err(error)) => self.no_daemon(&error, now),
            (Step::Programs, judged) => {
                self.programs_listed(&invocation, judged.ok().as_ref(), now)
            }
            (step, Ok(_)) => {
                let done =
                    matches!(&self.round, Round::Work { commands, .. } if commands.is_empty());
                if let Some(session) = session.and_then(|i| self.sessions.get_mut(i)) {
                    session.done(step, now);
                }
                if let Some(at) = session.filter(|_| done) {
                    self.settle(at);
                }
                self.dirty = true;
            }
            (_, Err(error)) => {
                self.dirty = true;
                if let Some(session) = session.and_then(|i| self.sessions.get_mut(i)) {
                    self.answers.extend(session.fail(&error, now));
                }
                if error == CommandError::NoDaemon {
                    self.no_daemon(&error, now);
                } else if let Round::Work { commands, .. } = &mut self.round {
                    commands.clear();
                }
            }
        }
    }

    /// No session daemon: every session fails.
    fn no_daemon(&mut self, error: &CommandError, now: Duration) {
        self.release();
        self.failures = self.failures.saturating_add(1);
        for session in &mut self.sessions {
            session.phase = SessionPhase::Unknown;
            session.diagnosis = Diagnosis::of_error(error, &session.spec);
            session.pending.iter_mut().for_each(|w| w.planned = true);
            self.answers.extend(session.fail(error, now));
            session.retry_at = Duration::ZERO;
            session.recreate = false;
        }
        self.due = now + backoff(self.failures);
        self.round = if *error == CommandError::NoDaemon { Round::Probe } else { Round::Idle };
    }

    /// The result of [`Action::Probe`].
    pub fn probed(&mut self, probe: &Probe) {
        if matches!(self.round, Round::Probe) {
            let diagnosis = Diagnosis::of_daemon(probe);
            self.sessions.iter_mut().for_each(|s| s.diagnosis.clone_from(&diagnosis));
            self.round = Round::Idle;
        }
    }

    fn programs_listed(
        &mut self,
        invocation: &Invocation,
        answer: Option<&super::mi::Answer>,
        now: Duration,
    ) {
        for session in &mut self.sessions {
            let same = Invocation::programs(session.spec.domain).args == invocation.args;
            if !same
                || session.phase != SessionPhase::Active
                || session.programs_due.is_none_or(|at| at > now)
            {
                continue;
            }
            let found = answer.and_then(|a| Diagnosis::of_programs(&session.spec, a));
            // Listed again while tracepoints are missing; otherwise only after a notice.
            session.programs_due = found.is_some().then(|| now + PROGRAMS_PERIOD);
            session.diagnosis =
                found.unwrap_or_else(|| Diagnosis::recording(&session.spec, &self.version));
        }
    }
}

#[cfg(test)]
#[path = "tests/controller/mod.rs"]
mod tests;
