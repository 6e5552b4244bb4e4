//! Rounds: list, compare, do what is missing, look why there are no events. One command at a time.
//!
//! ```text
//!          ┌────────────── no session daemon ── Probe ◀─┐
//!          ▼                                            │
//!  Rest ─(due)─▶ List ─▶ Work: session by session ─▶ Look ─▶ Rest
//!    ▲                    commands until one fails      │
//!    └──────────────────────────────────────────────────┘
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use super::cli::mi::Listed;
use super::cli::{Fault, Reply};
use super::command::Command;
use super::diagnosis::{Diagnosis, Probe};
use super::limits::{LOOK_PERIOD, PERIOD, SESSIONS_MAX};
use super::managed::{Managed, Phase, Report, back_off};
use super::plan::{Invocation, Plan, Step};
use super::session_watch::Notice;
use super::spec::{Domain, Spec};
use super::state::State;

/// What the caller is to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Save this, in one piece, before anything else. A failure is no reason to stop.
    Save(String),
    /// Run this and tell with [`Controller::replied`].
    Run(Invocation),
    /// Find out why no session daemon answers and tell with [`Controller::probed`].
    Probe,
    /// Nothing for so long, or until a request or notice comes.
    Rest(Duration),
}

/// The answer to a request: its number, and what was done or why not.
pub type Told = (u64, Result<String, String>);

#[derive(Debug)]
enum Round {
    Rest,
    Version,
    List,
    Work { listed: Vec<Listed>, next: usize, commands: VecDeque<Invocation>, mark: String },
    Look,
    Probe,
}

/// All sessions under control.
///
/// The caller asks [`Controller::next`] what to do, does it, tells the result, and asks again.
/// Times are of any clock that never goes back.
#[derive(Debug)]
pub struct Controller {
    sessions: Vec<Managed>,
    round: Round,
    /// The command that runs, and of a session's: which.
    running: Option<(Invocation, Option<usize>)>,
    due: Duration,
    failures: u32,
    version: String,
    told: Vec<Told>,
    dirty: bool,
    /// What was given out to be saved last.
    saved: String,
    seed: u64,
    marks: u64,
}

impl Controller {
    /// Takes up what was saved. `seed` makes marks different from those of other runs: the time in
    /// microseconds, say.
    #[must_use]
    pub fn new(specs: &[Spec], state: State, seed: u64) -> Self {
        let sessions = state.sessions.into_iter().map(Managed::restored).collect();
        let mut controller = Self {
            sessions,
            round: Round::Version,
            running: None,
            due: Duration::ZERO,
            failures: 0,
            version: String::new(),
            told: Vec::new(),
            dirty: false,
            saved: String::new(),
            seed,
            marks: 0,
        };
        controller.configure(specs, Duration::ZERO);
        controller
    }

    /// The configuration is this from now on. Sessions that it no longer has are destroyed; those
    /// that users made stay.
    pub fn configure(&mut self, specs: &[Spec], now: Duration) {
        for session in &mut self.sessions {
            if session.base.is_some() && !specs.iter().any(|s| s.name == session.spec.name) {
                (session.base, session.gone, session.not_before) = (None, true, Duration::ZERO);
            }
        }
        for spec in specs {
            let room = self.sessions.len() < SESSIONS_MAX;
            match self.sessions.iter_mut().find(|s| s.spec.name == spec.name) {
                Some(session) => session.configure(spec),
                None if room => self.sessions.push(Managed::new(spec.clone(), Some(spec.clone()))),
                None => {}
            }
        }
        (self.due, self.dirty) = (now, true);
    }

    /// A user's request. It is answered through [`Controller::told`], sooner or later, once.
    pub fn request(&mut self, id: u64, command: Command, now: Duration) {
        let name = command.session().to_owned();
        let room = self.sessions.len() < SESSIONS_MAX;
        let result = match (self.sessions.iter_mut().find(|s| s.spec.name == name), command) {
            (Some(session), command) => session.request(id, command),
            (None, Command::Create(spec)) if room => {
                let mut session = Managed::new(*spec, None);
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
            Err(why) => self.told.push((id, Err(why))),
        }
    }

    /// The viewer has seen something.
    pub fn notice(&mut self, notice: &Notice, now: Duration) {
        let (Notice::Lost(name) | Notice::Silent(name) | Notice::Active(name)) = notice;
        let Some(session) = self.sessions.iter_mut().find(|s| s.spec.name == *name) else { return };
        match notice {
            Notice::Lost(_) => {
                session.lost(now);
                self.due = self.due.min(now.max(session.not_before));
            }
            Notice::Silent(_) => {
                session.look.get_or_insert(now);
                self.due = self.due.min(now);
            }
            Notice::Active(_) => session.flows(&self.version),
        }
    }

    /// Answers to requests, each once.
    pub fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// How all sessions are.
    #[must_use]
    pub fn reports(&self) -> Vec<Report> {
        self.sessions.iter().map(Managed::report).collect()
    }

    /// Version of the `lttng` program; empty: not known yet.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What is to be done now.
    pub fn next(&mut self, now: Duration) -> Action {
        if let Some((invocation, _)) = &self.running {
            return Action::Rest(invocation.limit);
        }
        loop {
            if std::mem::take(&mut self.dirty) {
                let text = State::new(self.sessions.iter().map(Managed::saved).collect()).text();
                if text != self.saved {
                    self.saved.clone_from(&text);
                    return Action::Save(text);
                }
            }
            match &mut self.round {
                Round::Rest if self.sessions.is_empty() => return Action::Rest(PERIOD),
                Round::Rest if now < self.due => return Action::Rest(self.due.saturating_sub(now)),
                Round::Rest => {
                    self.round = if self.version.is_empty() { Round::Version } else { Round::List }
                }
                // Without a session there is no reason to run anything.
                Round::Version if self.sessions.is_empty() => self.round = Round::Rest,
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
                            // Saved before it exists: after a crash in between it is ours all the
                            // same.
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
                Round::Look => match self.to_look(now) {
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

    /// The next session's turn, or the end of the work.
    fn advance(&mut self, now: Duration) {
        let Round::Work { listed, next, commands, mark } = &mut self.round else { return };
        let Some(session) = self.sessions.get_mut(*next) else {
            self.round = Round::Look;
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
                self.told.extend(session.not_ours(now));
                self.dirty = true;
            }
            Plan::Commands(list) if list.is_empty() => {
                self.told.extend(session.settle(&self.version))
            }
            Plan::Commands(list) => *commands = list.into(),
        }
    }

    /// The domain whose programs are to be listed.
    fn to_look(&self, now: Duration) -> Option<Domain> {
        let wants = |s: &&Managed| {
            s.phase == Phase::Active
                && s.spec.domain != Domain::Kernel
                && s.look.is_some_and(|at| at <= now)
        };
        self.sessions.iter().find(wants).map(|s| s.spec.domain)
    }

    fn finish(&mut self, now: Duration) {
        let over = |s: &Managed| {
            s.gone && s.base.is_none() && matches!(s.phase, Phase::Absent | Phase::Foreign)
        };
        self.sessions.retain(|s| !(over(s) && s.waiting.is_empty()));
        self.round = Round::Rest;
        let waits = |s: &Managed| (s.is_due(now) && !s.waiting.is_empty()) || s.not_before > now;
        let soonest =
            self.sessions.iter().filter(|s| waits(s)).map(|s| s.not_before.max(now)).min();
        self.due = (now + PERIOD).min(soonest.unwrap_or(Duration::MAX));
        self.dirty = true;
    }

    /// What came of the command of [`Action::Run`].
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
            (Step::List, Err(fault)) => self.no_daemon(&fault, now),
            (Step::Programs, judged) => self.looked(&invocation, judged.ok().as_ref(), now),
            (step, Ok(_)) => {
                let done =
                    matches!(&self.round, Round::Work { commands, .. } if commands.is_empty());
                if let Some(session) = session.and_then(|i| self.sessions.get_mut(i)) {
                    session.done(step, now);
                    if done {
                        self.told.extend(session.settle(&self.version));
                    }
                }
                self.dirty = true;
            }
            (_, Err(fault)) => {
                self.dirty = true;
                if let Some(session) = session.and_then(|i| self.sessions.get_mut(i)) {
                    self.told.extend(session.fail(&fault, now));
                }
                if fault == Fault::NoDaemon {
                    self.no_daemon(&fault, now);
                } else if let Round::Work { commands, .. } = &mut self.round {
                    commands.clear();
                }
            }
        }
    }

    /// Nothing can be done for any session.
    fn no_daemon(&mut self, fault: &Fault, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        for session in &mut self.sessions {
            session.phase = Phase::Unknown;
            session.diagnosis = Diagnosis::of_fault(fault, &session.spec);
            session.waiting.iter_mut().for_each(|w| w.planned = true);
            self.told.extend(session.fail(fault, now));
            session.not_before = Duration::ZERO;
            session.anew = false;
        }
        self.due = now + back_off(self.failures);
        self.round = if *fault == Fault::NoDaemon { Round::Probe } else { Round::Rest };
    }

    /// Why no session daemon answers.
    pub fn probed(&mut self, probe: &Probe) {
        if matches!(self.round, Round::Probe) {
            let diagnosis = Diagnosis::of_daemon(probe);
            self.sessions.iter_mut().for_each(|s| s.diagnosis.clone_from(&diagnosis));
            self.round = Round::Rest;
        }
    }

    fn looked(
        &mut self,
        invocation: &Invocation,
        answer: Option<&super::cli::mi::Answer>,
        now: Duration,
    ) {
        for session in &mut self.sessions {
            let same = Invocation::programs(session.spec.domain).args == invocation.args;
            if !same || session.phase != Phase::Active || session.look.is_none_or(|at| at > now) {
                continue;
            }
            let found = answer.and_then(|a| Diagnosis::of_programs(&session.spec, a));
            // As long as something is missing it is looked up again; else when the viewer asks.
            session.look = found.is_some().then(|| now + LOOK_PERIOD);
            session.diagnosis =
                found.unwrap_or_else(|| Diagnosis::recording(&session.spec, &self.version));
        }
    }
}

#[cfg(test)]
mod tests;
