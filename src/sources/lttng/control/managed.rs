//! One session under control: what is wanted of it, what was done, how it goes.

use std::time::Duration;

use super::cli::CommandError;
use super::cli::mi::ListedSession;
use super::command::Command;
use super::diagnosis::{Code, Diagnosis};
use super::limits::{BACKOFF, BACKOFF_MAX, LOST_GRACE};
use super::plan::{Applied, Plan, PlanInput, Step, is_ours, plan};
use super::spec::{SessionSpec, context};
use super::state::Saved;

/// Marks that are remembered.
const MARKS: usize = 4;

/// How a session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionPhase {
    /// Not known: no session daemon answers.
    #[default]
    Unknown,
    /// There is none.
    Absent,
    /// There is one of that name that is not ours.
    Foreign,
    /// It is ours and does not record.
    Stopped,
    /// It is ours and records.
    Active,
}

/// How a session is, for metrics and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub name: String,
    /// How it is.
    pub phase: SessionPhase,
    /// It comes from the configuration; else a user made it.
    pub configured: bool,
    /// What is the matter.
    pub diagnosis: Diagnosis,
    /// Failures in a row.
    pub failures: u32,
    /// How often it was made, since the PMDA started.
    pub made: u64,
}

/// A request that waits until its session has been dealt with.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRequest {
    pub(super) id: u64,
    /// The plan was made after it came.
    pub(super) planned: bool,
}

#[derive(Debug)]
pub(super) struct ManagedSession {
    pub(super) spec: SessionSpec,
    pub(super) base: Option<SessionSpec>,
    /// Marks of sessions that we have made or tried to make, the newest last.
    pub(super) marks: Vec<String>,
    pub(super) applied: Option<Applied>,
    /// It is to be gone.
    pub(super) gone: bool,
    /// It is to be made anew.
    pub(super) recreate: bool,
    pub(super) phase: SessionPhase,
    pub(super) diagnosis: Diagnosis,
    failures: u32,
    losses: u32,
    pub(super) retry_at: Duration,
    made_at: Duration,
    made: u64,
    /// As it was when the plan was made: what is done is done for this.
    planned: SessionSpec,
    /// As it was before requests that wait.
    before: Option<SessionSpec>,
    pub(super) pending: Vec<PendingRequest>,
    /// Whether its events have programs is to be looked up, not before the time.
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

    /// What the configuration wants now.
    pub(super) fn configure(&mut self, spec: &SessionSpec) {
        if self.base.as_ref() != Some(spec) {
            self.spec.clone_from(spec);
            self.base = Some(spec.clone());
            self.gone = false;
            self.retry_at = Duration::ZERO;
        }
    }

    /// Takes a request about this session; it is answered when the session has been dealt with.
    ///
    /// # Errors
    /// Why it cannot be done at all.
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

    /// A request is answered when this session has been dealt with.
    pub(super) fn wait(&mut self, id: u64) {
        self.pending.push(PendingRequest { id, planned: false });
    }

    /// Whether there is no time to wait for.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        now >= self.retry_at
    }

    /// How it is, as the list says.
    pub(super) fn listed(&mut self, listed: &[ListedSession]) {
        self.phase = match listed.iter().find(|l| l.name == self.spec.name) {
            None => SessionPhase::Absent,
            Some(l) if !is_ours(l, &self.marks) => SessionPhase::Foreign,
            Some(l) if l.enabled => SessionPhase::Active,
            Some(_) => SessionPhase::Stopped,
        };
    }

    /// What is to be done.
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

    /// The mark is about to be used.
    pub(super) fn begin(&mut self, mark: &str) {
        // The one before may exist still: `destroy` says that it failed when it did not, and the
        // other way round.
        let old = self.marks.len().saturating_sub(MARKS - 1);
        self.marks.drain(..old);
        self.marks.push(mark.to_owned());
        self.applied = None;
    }

    /// A command has done what it should.
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

    /// It is as it should be; requests that are answered.
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
            // What was found out about programs stays until it is looked up again.
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

    /// A command has failed.
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
        // A request that LTTng does not take leaves things as they were.
        if let Some(before) = refused.then(|| self.before.take()).flatten() {
            self.spec = before;
        } else {
            self.give_up(refused);
            // Half a session that has recorded nothing is best made anew; one that was started is
            // not thrown away for this.
            let started = self.applied.as_ref().is_some_and(|a| a.started);
            self.recreate |= matches!(error, CommandError::StartedOnce)
                || !(started || matches!(error, CommandError::Refused(_)));
            self.diagnosis = diagnosis;
            self.failures = self.failures.saturating_add(1);
            self.retry_at = now + backoff(self.failures);
        }
        answers
    }

    /// It is somebody else's.
    pub(super) fn not_ours(&mut self, now: Duration) -> Vec<(u64, Result<String, String>)> {
        self.diagnosis = Diagnosis::not_ours(&self.spec.name);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = now + backoff(self.failures);
        let answers = self.answer(&Err(self.diagnosis.text.clone()));
        self.give_up(!answers.is_empty());
        answers
    }

    /// A session that a user asked for, and was told that it cannot be, is not tried again.
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

    /// The relay daemon does not have it. Each time in a row it is waited longer: it might be of no
    /// use.
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

    /// Events come.
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

/// 1 s, 2 s, 4 s, … [`BACKOFF_MAX`].
pub(super) fn backoff(failures: u32) -> Duration {
    BACKOFF.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(BACKOFF_MAX)
}
