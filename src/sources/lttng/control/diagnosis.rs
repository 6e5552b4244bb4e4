//! Why a session records or does not: a code that never changes, and one sentence for the user; and the sightings that
//! tell it, whether relay daemons list a session and events come. All viewers report to the
//! [`Controller`](super::Controller) by these only.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::CommandError;
use super::mi::Answer;
use super::spec::{Buffers, Domain, SessionSpec};

/// Result of a diagnosis. Alarms and tests depend on the codes: never change them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Code {
    /// The session records.
    Ok,
    /// No command has run yet.
    #[default]
    Pending,
    /// The session is stopped on request.
    Stopped,
    /// The session is destroyed on request.
    Destroyed,
    /// No `lttng` program.
    NotInstalled,
    /// No session daemon.
    NoSessiond,
    /// This user may not connect to the session daemon.
    NotPermitted,
    /// The relay daemon does not answer the session daemon.
    RelaydUnreachable,
    /// The session is active, but the relay daemon has lost it.
    RelaydLost,
    /// No instrumented program has registered.
    NoApplication,
    /// Some patterns match no tracepoint.
    NoEvent,
    /// A session of this name exists that this PMDA did not create.
    NotOurs,
    /// The session records, but the last events of ending programs may be lost.
    PerPidTail,
    /// The consumer daemon is gone.
    NoConsumer,
    /// The kernel or loggers cannot be traced here.
    NoDomain,
    /// LTTng rejects a value of the configuration or request.
    Refused,
    /// A command exceeded its time limit.
    Timeout,
    /// Any other failure.
    Failed,
}

impl Code {
    /// The code in `control.status`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Pending => "pending",
            Self::Stopped => "stopped",
            Self::Destroyed => "destroyed",
            Self::NotInstalled => "not_installed",
            Self::NoSessiond => "no_sessiond",
            Self::NotPermitted => "not_permitted",
            Self::RelaydUnreachable => "relayd_unreachable",
            Self::RelaydLost => "relayd_lost",
            Self::NoApplication => "no_application",
            Self::NoEvent => "no_event",
            Self::NotOurs => "not_ours",
            Self::PerPidTail => "per_pid_tail",
            Self::NoConsumer => "no_consumer",
            Self::NoDomain => "no_domain",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Failed => "failed",
        }
    }
}

/// State of a session, and advice for the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Code for alarms.
    pub code: Code,
    /// One sentence for the user.
    pub text: String,
}

/// Result of connecting to a session daemon's socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    /// The socket does not exist.
    Absent,
    /// No process listens on the socket.
    Dead,
    /// Permission denied; the group that may connect.
    Denied(String),
    /// A process listens.
    Alive,
}

/// Result of looking for session daemons after none has answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// Name or number of the PMDA's user.
    pub user: String,
    /// Path and state of each socket where session daemons listen.
    pub sockets: Vec<(String, Socket)>,
}

impl std::fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.word(), self.text)
    }
}

/// Most patterns in a text.
const SHOWN: usize = 5;

impl Diagnosis {
    /// A code with a sentence.
    #[must_use]
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Why no session daemon answers.
    #[must_use]
    pub fn of_daemon(probe: &Probe) -> Self {
        for (path, socket) in &probe.sockets {
            if let Socket::Denied(group) = socket {
                let user = &probe.user;
                let text = format!(
                    "a session daemon's socket {path} is there, but only for root and group {group}, and user {user} is not in it: \
                     usermod -aG {group} {user}, then start the PMDA again"
                );
                return Self::new(Code::NotPermitted, text);
            }
        }
        if let Some((path, _)) = probe.sockets.iter().find(|s| s.1 == Socket::Alive) {
            return Self::new(
                Code::NoSessiond,
                format!(
                    "the session daemon at {path} listens but did not answer, or has only just started"
                ),
            );
        }
        if let Some((path, _)) = probe.sockets.iter().find(|s| s.1 == Socket::Dead) {
            let text = format!(
                "no session daemon: {path} is there, but nobody listens, so it has died: start lttng-sessiond again"
            );
            return Self::new(Code::NoSessiond, text);
        }
        let text = "no session daemon runs: start lttng-sessiond, as root for the programs of all users (systemctl start lttng-sessiond)";
        Self::new(Code::NoSessiond, text)
    }

    /// Why a command has failed.
    #[must_use]
    pub fn of_error(error: &CommandError, spec: &SessionSpec) -> Self {
        let (name, url) = (&spec.name, &spec.url);
        let (code, text) = match error {
            CommandError::NotInstalled => (Code::NotInstalled, "the lttng program is not installed or not in PATH: install lttng-tools".to_owned()),
            CommandError::NotStarted(why) => (Code::NotInstalled, format!("the lttng program cannot be run: {why}")),
            CommandError::TimedOut => (Code::Timeout, "the lttng program did not end in time: the session daemon hangs, or a program that it waits for".into()),
            CommandError::Killed(signal) => (Code::Failed, format!("the lttng program was killed by signal {signal}; it is tried again")),
            CommandError::Garbled(why) => (Code::Failed, format!("lttng has not answered as it should: {why}")),
            CommandError::NoDaemon => (Code::NoSessiond, "no session daemon answers".into()),
            CommandError::Exists | CommandError::Denied => return Self::not_ours(name),
            CommandError::NotFound => (Code::Failed, format!("session {name} has gone meanwhile; it is made again")),
            CommandError::RelaydUnreachable => (
                Code::RelaydUnreachable,
                format!("the session daemon does not reach a relay daemon at {url}: start lttng-relayd there, or mend url"),
            ),
            CommandError::RelaydIncompatible => {
                (Code::RelaydUnreachable, format!("the relay daemon at {url} has another major version than the session daemon"))
            }
            CommandError::NoConsumer => (
                Code::NoConsumer,
                "the session daemon has lost its consumer and cannot make channels any more: restart lttng-sessiond (programs register again by themselves)".into(),
            ),
            CommandError::StartedOnce => (Code::Failed, format!("session {name} was started once, so it takes no more channels and contexts; it is made again")),
            CommandError::NoKernel(text) => (Code::NoDomain, format!("the kernel cannot be traced: {text}")),
            CommandError::NoAgents => (Code::NoDomain, "loggers cannot be traced: the session daemon found no TCP port for them (--agent-tcp-port)".into()),
            CommandError::Refused(text) => (Code::Refused, format!("LTTng does not take it: {text}")),
            CommandError::Failed { code, text } => (Code::Failed, format!("lttng failed with status {code}: {text}")),
        };
        Self::new(code, text)
    }

    /// A session of this name has another owner.
    #[must_use]
    pub fn not_ours(name: &str) -> Self {
        let text = format!(
            "a session {name} exists that this PMDA did not make, so it is left alone; it can still be viewed: destroy it \
             (lttng destroy {name}), or give ours another name"
        );
        Self::new(Code::NotOurs, text)
    }

    /// The relay daemon was restarted.
    #[must_use]
    pub fn lost(name: &str) -> Self {
        let text = format!(
            "session {name} is active, but the relay daemon does not have it (was it restarted?): it is destroyed and made again"
        );
        Self::new(Code::RelaydLost, text)
    }

    /// An active session.
    #[must_use]
    pub fn recording(spec: &SessionSpec, version: &str) -> Self {
        if spec.buffers == Some(Buffers::Pid) && !at_least(version, (2, 15)) {
            let text = format!(
                "recording; with buffers = \"pid\" LTTng {version} loses the last events of programs that end (2.15 does not): prefer \"uid\""
            );
            return Self::new(Code::PerPidTail, text);
        }
        Self::new(Code::Ok, "recording")
    }

    /// Why no event comes, by the list of programs and their tracepoints. `None`: every pattern
    /// matches a tracepoint.
    #[must_use]
    pub fn of_programs(spec: &SessionSpec, answer: &Answer) -> Option<Self> {
        if answer.processes.is_empty() {
            let what = if spec.domain == Domain::Ust {
                "instrumented program"
            } else {
                "program with such loggers"
            };
            let text = format!(
                "no {what} has registered with the session daemon: none runs, it is another user's, or its tracing library did not load"
            );
            return Some(Self::new(Code::NoApplication, text));
        }
        let fits = |p: &String| {
            answer.tracepoints.iter().any(|t| crate::events::glob(p.as_bytes(), t.as_bytes()))
        };
        let idle: Vec<&str> = spec.events.iter().filter(|p| !fits(p)).map(String::as_str).collect();
        if idle.is_empty() {
            return None;
        }
        let shown = idle.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
        let more = if idle.len() > SHOWN {
            format!(" and {} more", idle.len() - SHOWN)
        } else {
            String::new()
        };
        let (tracepoints, programs) = (answer.tracepoints.len(), answer.processes.len());
        let text = format!(
            "{shown}{more}: fits none of the {tracepoints} tracepoints of the {programs} programs that run (lttng list --userspace shows them)"
        );
        Some(Self::new(Code::NoEvent, text.replace("--userspace", spec.domain.option())))
    }
}

/// Whether a version such as `2.13.9` is at least `wanted`; `false` for an unknown version.
fn at_least(version: &str, wanted: (u32, u32)) -> bool {
    let mut parts = version.split('.').map(|p| p.parse::<u32>().ok());
    matches!((parts.next().flatten(), parts.next().flatten()), (Some(major), Some(minor)) if (major, minor) >= wanted)
}

/// A session that no relay daemon lists for this time is lost; a new session is listed after its
/// first program or within a second.
const LOST: Duration = Duration::from_secs(5);
/// A session without events for this time is silent.
const SILENT: Duration = Duration::from_secs(30);
/// Shortest time between two notices about one session.
const REPEAT: Duration = Duration::from_secs(10);

/// A change that the viewers see in a managed session, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A relay daemon answers, and for 5 s none has listed this session.
    Lost(String),
    /// The session is listed, but no event has come for 30 s.
    Silent(String),
    /// Events come.
    Active(String),
}

#[derive(Debug, Default)]
struct Sighting {
    /// Relay daemons that list it in the listing under way.
    listing: BTreeSet<Arc<str>>,
    /// Relay daemons whose latest complete listing has it.
    listed: BTreeSet<Arc<str>>,
    /// Time of the latest listing that has it, or of the first one after it became managed.
    present: Option<Duration>,
    /// Time of the latest events, or of the first listing that has it.
    active: Option<Duration>,
    /// Time of the latest notice.
    noticed: Option<Duration>,
}

impl Sighting {
    fn may_notice(&self, now: Duration) -> bool {
        self.noticed.is_none_or(|at| now.saturating_sub(at) >= REPEAT)
    }
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<String, Sighting>,
    notices: Vec<Notice>,
}

/// Managed sessions as the viewers see them. Shared by the control of sessions and the viewers of
/// all relay daemons.
#[derive(Default)]
pub struct SessionWatch {
    state: Mutex<State>,
    on_notice: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for SessionWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionWatch").field("state", &self.state).finish_non_exhaustive()
    }
}

impl SessionWatch {
    /// `on_notice` runs on the viewer's thread after each new notice and must not block.
    #[must_use]
    pub fn new(on_notice: impl Fn() + Send + Sync + 'static) -> Self {
        Self { on_notice: Some(Box::new(on_notice)), ..Self::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the names of the managed sessions.
    pub fn manage<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) {
        let mut state = self.state();
        state.sessions.retain(|name, _| names.clone().any(|n| n == name));
        for name in names {
            state.sessions.entry(name.to_owned()).or_default();
        }
    }

    /// Notices since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state().notices)
    }

    /// Adds a notice.
    pub fn notice(&self, notice: Notice) {
        self.state().notices.push(notice);
        self.notify();
    }

    fn notify(&self) {
        if let Some(on_notice) = &self.on_notice {
            on_notice();
        }
    }

    /// A session of this name is in the listing of `relay` that is under way.
    pub(crate) fn listed(&self, relay: &Arc<str>, name: &str) {
        if let Some(sighting) = self.state().sessions.get_mut(name) {
            sighting.listing.insert(Arc::clone(relay));
        }
    }

    /// The listing of `relay` is complete.
    pub(crate) fn listing_done(&self, relay: &Arc<str>, now: Duration) {
        let mut state = self.state();
        let State { sessions, notices } = &mut *state;
        let before = notices.len();
        for (name, sighting) in sessions {
            if sighting.listing.remove(relay) {
                sighting.listed.insert(Arc::clone(relay));
            } else {
                sighting.listed.remove(relay);
            }
            let may_notice = sighting.may_notice(now);
            if sighting.listed.is_empty() {
                sighting.active = None;
                let present = *sighting.present.get_or_insert(now);
                if may_notice && now.saturating_sub(present) >= LOST {
                    sighting.noticed = Some(now);
                    notices.push(Notice::Lost(name.clone()));
                }
            } else {
                sighting.present = Some(now);
                let active = *sighting.active.get_or_insert(now);
                if may_notice && now.saturating_sub(active) >= SILENT {
                    sighting.noticed = Some(now);
                    notices.push(Notice::Silent(name.clone()));
                }
            }
        }
        let news = notices.len() > before;
        drop(state);
        if news {
            self.notify();
        }
    }

    /// The connection that lists the sessions of `relay` is gone.
    pub(crate) fn disconnected(&self, relay: &Arc<str>) {
        for sighting in self.state().sessions.values_mut() {
            sighting.listing.remove(relay);
            sighting.listed.remove(relay);
        }
    }

    /// `events` events of a session have arrived.
    pub(crate) fn events(&self, name: &str, events: u64, now: Duration) {
        let mut state = self.state();
        let State { sessions, notices } = &mut *state;
        let Some(sighting) = sessions.get_mut(name).filter(|_| events > 0) else { return };
        sighting.active = Some(now);
        if sighting.may_notice(now) {
            sighting.noticed = Some(now);
            notices.push(Notice::Active(name.to_owned()));
            drop(state);
            self.notify();
        }
    }
}

#[cfg(test)]
#[path = "tests/diagnosis.rs"]
mod diagnosis_tests;

#[cfg(test)]
#[path = "tests/session_watch.rs"]
mod session_watch_tests;
