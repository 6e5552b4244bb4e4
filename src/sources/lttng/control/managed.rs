//! One managed session: its wanted and its applied specification, its phase and its failures.
//! What is kept of it over restarts: that it is ours, and the commands applied to it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::limits::{BACKOFF, BACKOFF_MAX, LOST_GRACE, SESSIONS_MAX, STATE_MAX};
use super::CommandError;
use super::command::Command;
use super::diagnosis::{Code, Diagnosis};
use super::mi::ListedSession;
use super::plan::{Applied, Plan, PlanInput, Step, is_ours, plan};
use super::spec::{SessionSpec, context};

/// Most marks that are kept.
const MARKS: usize = 4;

/// State of a session in the session daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionPhase {
    /// Unknown: no session daemon answers.
    #[default]
    Unknown,
    /// No session of this name exists.
    Absent,
    /// A session of this name exists that this PMDA did not create.
    Foreign,
    /// Ours, not recording.
    Stopped,
    /// Ours, recording.
    Active,
}

/// State of a managed session, for metrics and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Name of the session.
    pub name: String,
    /// State in the session daemon.
    pub phase: SessionPhase,
    /// The session is in the configuration; else a user created it.
    pub configured: bool,
    /// Why the session records or does not.
    pub diagnosis: Diagnosis,
    /// Failures in a row.
    pub failures: u32,
    /// Number of creations since the PMDA started.
    pub made: u64,
}

/// A request that is answered after the next work on its session.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRequest {
    pub(super) id: u64,
    /// The current plan includes the request.
    pub(super) planned: bool,
}

#[derive(Debug)]
pub(super) struct ManagedSession {
    pub(super) spec: SessionSpec,
    pub(super) base: Option<SessionSpec>,
    /// Marks of created and attempted sessions, the newest last.
    pub(super) marks: Vec<String>,
    pub(super) applied: Option<Applied>,
    /// To be destroyed.
    pub(super) gone: bool,
    /// To be destroyed and created again.
    pub(super) recreate: bool,
    pub(super) phase: SessionPhase,
    pub(super) diagnosis: Diagnosis,
    failures: u32,
    losses: u32,
    pub(super) retry_at: Duration,
    made_at: Duration,
    made: u64,
    /// Specification when the plan was made; commands are for this one.
    planned: SessionSpec,
    /// Specification before the pending requests.
    before: Option<SessionSpec>,
    pub(super) pending: Vec<PendingRequest>,
    /// Time of the next list of programs; `None`: no list is needed.
    pub(super) programs_due: Option<Duration>,
}

impl ManagedSession {
    pub(super) fn new(spec: SessionSpec, base: Option<SessionSpec>) -> Self {
        Self::restored(Saved { spec, base, marks: Vec::new(), applied: None, gone: false })
    }

    pub(super) fn restored(saved: Saved) -> Self {
        let Saved { spec, base, marks, applied, gone } = saved;
        Self {
            planned: spec.clone(),
            spec,
            base,
            marks,
            applied,
            gone,
            recreate: false,
            phase: SessionPhase::Unknown,
            diagnosis: Diagnosis::new(Code::Pending, "nothing has been tried yet"),
            failures: 0,
            losses: 0,
            retry_at: Duration::ZERO,
            made_at: Duration::ZERO,
            made: 0,
            before: None,
            pending: Vec::new(),
            programs_due: None,
        }
    }

    pub(super) fn saved(&self) -> Saved {
        let Self { spec, base, marks, applied, gone, .. } = self;
        Saved {
            spec: spec.clone(),
            base: base.clone(),
            marks: marks.clone(),
            applied: applied.clone(),
            gone: *gone,
        }
    }

    pub(super) fn report(&self) -> Report {
        Report {
            name: self.spec.name.clone(),
            phase: self.phase,
            configured: self.base.is_some(),
            diagnosis: self.diagnosis.clone(),
            failures: self.failures,
            made: self.made,
        }
    }

    /// Applies the configuration.
    pub(super) fn configure(&mut self, spec: &SessionSpec) {
        if self.base.as_ref() != Some(spec) {
            self.spec.clone_from(spec);
            self.base = Some(spec.clone());
            self.gone = false;
            self.retry_at = Duration::ZERO;
        }
    }

    /// Applies a request to the wanted specification. The answer follows the next work on the
    /// session.
    ///
    /// # Errors
    /// The request is impossible.
    pub(super) fn request(&mut self, id: u64, command: Command) -> Result<(), String> {
        let mut spec = self.spec.clone();
        let mut gone = false;
        match command {
            Command::Create(wanted) if self.gone => spec = self.base.clone().unwrap_or(*wanted),
            Command::Create(_) => {
                return Err(format!(
                    "session {} is under control already; destroy it first",
                    spec.name
                ));
            }
            Command::Destroy(_) => gone = true,
            _ if self.gone => {
                return Err(format!("session {} is destroyed; create it first", spec.name));
            }
            Command::Enable(_, patterns) => add(&mut spec.events, patterns),
            Command::Context(_, contexts) => {
                contexts
                    .iter()
                    .try_for_each(|c| context(c, spec.domain))
                    .map_err(|e| e.to_string())?;
                let new = contexts.iter().any(|c| !spec.contexts.contains(c));
                if new && self.applied.as_ref().is_some_and(|a| a.started) {
                    return Err(format!(
                        "session {} was started once, so LTTng takes no more contexts: destroy and create it",
                        spec.name
                    ));
                }
                add(&mut spec.contexts, contexts);
            }
            Command::Start(_) if spec.events.is_empty() => {
                return Err("no events are enabled yet: enable some first".into());
            }
            Command::Start(_) => spec.start = true,
            Command::Stop(_) => spec.start = false,
        }
        spec.check().map_err(|e| e.to_string())?;
        self.before.get_or_insert_with(|| self.spec.clone());
        (self.spec, self.gone, self.retry_at) = (spec, gone, Duration::ZERO);
        self.wait(id);
        Ok(())
    }

    /// Queues a request for an answer after the next work on the session.
    pub(super) fn wait(&mut self, id: u64) {
        self.pending.push(PendingRequest { id, planned: false });
    }

    /// Whether the back-off is over.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        now >= self.retry_at
    }

    /// Sets the phase by the list of sessions.
    pub(super) fn listed(&mut self, listed: &[ListedSession]) {
        self.phase = match listed.iter().find(|l| l.name == self.spec.name) {
            None => SessionPhase::Absent,
            Some(l) if !is_ours(l, &self.marks) => SessionPhase::Foreign,
            Some(l) if l.enabled => SessionPhase::Active,
            Some(_) => SessionPhase::Stopped,
        };
    }

    /// Makes the plan.
    pub(super) fn plan(&mut self, listed: &[ListedSession], next_mark: &str) -> Plan {
        self.planned.clone_from(&self.spec);
        self.pending.iter_mut().for_each(|w| w.planned = true);
        plan(PlanInput {
            spec: &self.spec,
            marks: &self.marks,
            next_mark,
            applied: self.applied.as_ref(),
            listed,
            recreate: self.recreate,
            gone: self.gone,
        })
    }

    /// A session with this mark is about to be created.
    pub(super) fn begin(&mut self, mark: &str) {
        // The session of the mark before may still exist: the status of `destroy` is not reliable.
        let old = self.marks.len().saturating_sub(MARKS - 1);
        self.marks.drain(..old);
        self.marks.push(mark.to_owned());
        self.applied = None;
    }

    /// A command has succeeded.
    pub(super) fn done(&mut self, step: &Step, now: Duration) {
        match step {
            Step::Create(_) => {
                (self.applied, self.recreate) = (Some(Applied::new(&self.planned)), false);
                (self.phase, self.made_at, self.made) = (SessionPhase::Stopped, now, self.made + 1);
            }
            Step::Destroy => (self.applied, self.phase) = (None, SessionPhase::Absent),
            Step::Start => (self.phase, self.programs_due) = (SessionPhase::Active, Some(now)),
            Step::Stop => self.phase = SessionPhase::Stopped,
            _ => {}
        }
        if let Some(applied) = &mut self.applied {
            applied.done(step, &self.planned);
        }
    }

    /// The session is as wanted. Returns the answers of pending requests.
    pub(super) fn settle(&mut self, version: &str) -> Vec<(u64, Result<String, String>)> {
        self.failures = 0;
        self.retry_at = Duration::ZERO;
        let name = &self.planned.name;
        let watched = matches!(self.diagnosis.code, Code::NoApplication | Code::NoEvent)
            && self.programs_due.is_some();
        if self.gone {
            self.diagnosis = Diagnosis::new(
                Code::Destroyed,
                format!("session {name} is destroyed, as it was asked for"),
            );
        } else if self.phase == SessionPhase::Active {
            // A diagnosis of programs stays until the next list of programs.
            if !watched {
                self.diagnosis = Diagnosis::recording(&self.planned, version);
            }
        } else {
            self.diagnosis = Diagnosis::new(
                Code::Stopped,
                format!("session {name} is stopped, as it was asked for"),
            );
        }
        let text = format!(
            "done: session {name} is {}",
            match self.phase {
                SessionPhase::Active => "recording",
                SessionPhase::Stopped => "stopped",
                _ => "destroyed",
            }
        );
        self.answer(&Ok(text))
    }

    /// A command has failed. Returns the answers of pending requests.
    pub(super) fn fail(
        &mut self,
        error: &CommandError,
        now: Duration,
    ) -> Vec<(u64, Result<String, String>)> {
        let diagnosis = Diagnosis::of_error(error, &self.planned);
        let answers = self.answer(&Err(diagnosis.text.clone()));
        let by_request = !answers.is_empty();
        if matches!(error, CommandError::Exists | CommandError::Denied) {
            self.phase = SessionPhase::Foreign;
        }
        let refused = by_request
            && matches!(
                error,
                CommandError::Refused(_) | CommandError::Exists | CommandError::Denied
            );
        // A request that LTTng rejects leaves the specification unchanged.
        if let Some(before) = refused.then(|| self.before.take()).flatten() {
            self.spec = before;
        } else {
            self.give_up(refused);
            // A half-made session that was never started is created again; a started one is kept.
            let started = self.applied.as_ref().is_some_and(|a| a.started);
            self.recreate |= matches!(error, CommandError::StartedOnce)
                || !(started || matches!(error, CommandError::Refused(_)));
            self.diagnosis = diagnosis;
            self.failures = self.failures.saturating_add(1);
            self.retry_at = now + backoff(self.failures);
        }
        answers
    }

    /// The session has another owner. Returns the answers of pending requests.
    pub(super) fn not_ours(&mut self, now: Duration) -> Vec<(u64, Result<String, String>)> {
        self.diagnosis = Diagnosis::not_ours(&self.spec.name);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = now + backoff(self.failures);
        let answers = self.answer(&Err(self.diagnosis.text.clone()));
        self.give_up(!answers.is_empty());
        answers
    }

    /// A session that a user requested and that was refused is not retried.
    fn give_up(&mut self, answers: bool) {
        self.gone |= answers && self.base.is_none() && self.before.is_none();
    }

    fn answer(&mut self, result: &Result<String, String>) -> Vec<(u64, Result<String, String>)> {
        let (planned, later) = self.pending.drain(..).partition::<Vec<_>, _>(|w| w.planned);
        self.pending = later;
        if self.pending.is_empty() && result.is_ok() {
            self.before = None;
        }
        planned.into_iter().map(|w| (w.id, result.clone())).collect()
    }

    /// The relay daemon has lost the session: it is created again, with back-off.
    pub(super) fn lost(&mut self, now: Duration) {
        if self.phase == SessionPhase::Active
            && !self.recreate
            && now.saturating_sub(self.made_at) >= LOST_GRACE
        {
            self.recreate = true;
            self.diagnosis = Diagnosis::lost(&self.spec.name);
            if self.losses > 0 {
                self.retry_at = now + backoff(self.losses);
            }
            self.losses = self.losses.saturating_add(1);
        }
    }

    /// Events come: the session works.
    pub(super) fn active(&mut self, version: &str) {
        (self.losses, self.programs_due) = (0, None);
        if matches!(self.diagnosis.code, Code::NoApplication | Code::NoEvent | Code::RelaydLost)
            && self.phase == SessionPhase::Active
        {
            self.diagnosis = Diagnosis::recording(&self.spec, version);
            self.recreate = false;
        }
    }
}

fn add(list: &mut Vec<String>, more: Vec<String>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

/// Pause after this number of failures: 1 s, 2 s, 4 s, … [`BACKOFF_MAX`].
pub(super) fn backoff(failures: u32) -> Duration {
    BACKOFF.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(BACKOFF_MAX)
}

/// Version of the format.
const VERSION: u32 = 1;

/// State of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Wanted specification.
    pub spec: SessionSpec,
    /// Specification in the configuration, if any. Changes by users stay until it changes.
    pub base: Option<SessionSpec>,
    /// Marks in the paths of sessions that are ours, the newest last.
    pub marks: Vec<String>,
    /// Applied commands.
    pub applied: Option<Applied>,
    /// To be destroyed.
    pub gone: bool,
}

/// State of all managed sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    version: u32,
    /// The sessions.
    pub sessions: Vec<Saved>,
}

impl Default for State {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl State {
    /// A state in the current format.
    #[must_use]
    pub fn new(sessions: Vec<Saved>) -> Self {
        Self { version: VERSION, sessions }
    }

    /// Parses a saved state.
    ///
    /// # Errors
    /// The text is invalid. Sessions created before are then treated as another owner's.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > STATE_MAX {
            return Err(format!("more than {STATE_MAX} bytes"));
        }
        let state: Self = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if state.version != VERSION {
            return Err(format!("version {} instead of {VERSION}", state.version));
        }
        if state.sessions.len() > SESSIONS_MAX {
            return Err(format!("more than {SESSIONS_MAX} sessions"));
        }
        // The texts reach command lines, so they obey the same rules as the configuration.
        state.sessions.iter().try_for_each(|s| s.spec.check()).map_err(|e| e.to_string())?;
        Ok(state)
    }

    /// The text to save.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "tests/state.rs"]
mod tests;
