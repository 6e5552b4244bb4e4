//! Plans the commands from the existing session to the wanted one.
//!
//! Never used: exclusions, because session daemon 2.13.9 crashes when such a channel is listed, and
//! `list SESSION`, which lists events and thus the exclusions of others.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::limits::{COMMAND_TIME, SLOW_COMMAND_TIME};
use super::mi::ListedSession;
use super::spec::{Blocking, Buffers, Domain, SessionSpec};

/// Purpose of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Shows the version of the program.
    Version,
    /// Lists the sessions.
    List,
    /// Lists the programs of a domain and their tracepoints.
    Programs,
    /// Creates a session of this name.
    Create(String),
    /// Creates the channel.
    Channel,
    /// Enables events.
    Events,
    /// Adds contexts.
    Contexts,
    /// Starts recording.
    Start,
    /// Stops recording.
    Stop,
    /// Destroys the session.
    Destroy,
}

/// One run of the `lttng` program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Purpose.
    pub step: Step,
    /// Arguments.
    pub args: Vec<String>,
    /// Time limit.
    pub limit: Duration,
}

impl Invocation {
    pub(super) fn new(step: Step, args: &[&str]) -> Self {
        // Without --no-sessiond the program starts a session daemon of this user, which has no
        // access to programs of other users.
        let args =
            ["--no-sessiond", "--mi", "xml"].iter().chain(args).map(|a| (*a).to_owned()).collect();
        let slow = matches!(step, Step::Stop | Step::Destroy | Step::Programs);
        Self { step, args, limit: if slow { SLOW_COMMAND_TIME } else { COMMAND_TIME } }
    }

    /// Shows the version of the program.
    #[must_use]
    pub fn version() -> Self {
        Self::new(Step::Version, &["version"])
    }

    /// Lists the sessions of this user; for root, of all users.
    #[must_use]
    pub fn list() -> Self {
        Self::new(Step::List, &["list"])
    }

    /// Lists the programs of a domain.
    #[must_use]
    pub fn programs(domain: Domain) -> Self {
        Self::new(Step::Programs, &["list", domain.option()])
    }
}

/// Commands that have been applied to a session of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// Its specification, with the enabled events and contexts.
    pub spec: SessionSpec,
    /// The channel exists.
    pub channel: bool,
    /// The session was started once: contexts and channels cannot be added any more.
    pub started: bool,
}

impl Applied {
    /// A session that was just created.
    #[must_use]
    pub fn new(spec: &SessionSpec) -> Self {
        let spec = SessionSpec { events: Vec::new(), contexts: Vec::new(), ..spec.clone() };
        Self { spec, channel: false, started: false }
    }

    /// A command has succeeded.
    pub fn done(&mut self, step: &Step, wanted: &SessionSpec) {
        match step {
            Step::Channel => self.channel = true,
            Step::Events => self.spec.events.clone_from(&wanted.events),
            Step::Contexts => self.spec.contexts.clone_from(&wanted.contexts),
            Step::Start => self.started = true,
            _ => {}
        }
    }
}

/// Plan for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Commands to run in order until one fails; empty: the session is as wanted.
    Commands(Vec<Invocation>),
    /// No commands: a session of this name has another owner.
    NotOurs,
}

/// Input of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// Wanted specification.
    pub spec: &'a SessionSpec,
    /// Marks in the paths of created sessions.
    pub marks: &'a [String],
    /// Mark for the next creation.
    pub next_mark: &'a str,
    /// Applied commands.
    pub applied: Option<&'a Applied>,
    /// All sessions that the session daemon lists.
    pub listed: &'a [ListedSession],
    /// Create again: the relay daemon has lost the session, or its creation failed half-way.
    pub recreate: bool,
    /// To be destroyed.
    pub gone: bool,
}

/// Whether the path of a session ends in one of our marks.
#[must_use]
pub fn is_ours(listed: &ListedSession, marks: &[String]) -> bool {
    let path = listed.path.split(" [").next().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    marks.iter().any(|mark| mark == last)
}

/// Compares the wanted with the existing session.
#[must_use]
pub fn plan(s: PlanInput<'_>) -> Plan {
    let name = s.spec.name.as_str();
    let Some(listed) = s.listed.iter().find(|l| l.name == name) else {
        return Plan::Commands(if s.gone { Vec::new() } else { make(s.spec, s.next_mark) });
    };
    if !is_ours(listed, s.marks) {
        return Plan::NotOurs;
    }
    if s.gone {
        return Plan::Commands(vec![destroy(name)]);
    }
    let changes =
        s.applied.filter(|_| !s.recreate).and_then(|applied| change(s.spec, applied, listed));
    Plan::Commands(changes.unwrap_or_else(|| {
        let mut commands = vec![destroy(name)];
        commands.extend(make(s.spec, s.next_mark));
        commands
    }))
}

fn destroy(name: &str) -> Invocation {
    // Without --no-wait, 2.13.9 waits forever if another live session has data. No data is lost:
    // the consumer sends it before it frees its buffers.
    Invocation::new(Step::Destroy, &["destroy", name, "--no-wait"])
}

fn make(spec: &SessionSpec, mark: &str) -> Vec<Invocation> {
    let (live, url) =
        (format!("--live={}", spec.live_timer), format!("--set-url={}/{mark}", spec.url));
    let mut commands = vec![Invocation::new(
        Step::Create(spec.name.clone()),
        &["create", &spec.name, &live, &url],
    )];
    commands.extend(channel(spec));
    commands.extend(events(spec, &spec.events));
    commands.extend(contexts(spec, &spec.contexts));
    commands.extend(spec.start.then(|| start(spec)));
    commands
}

fn start(spec: &SessionSpec) -> Invocation {
    Invocation::new(Step::Start, &["start", &spec.name])
}

/// Missing commands for a session of ours; `None`: it must be created again.
fn change(
    spec: &SessionSpec,
    applied: &Applied,
    listed: &ListedSession,
) -> Option<Vec<Invocation>> {
    let has = &applied.spec;
    let subset = |a: &[String], b: &[String]| a.iter().all(|x| b.contains(x));
    let missing = |a: &[String], b: &[String]| {
        a.iter().filter(|x| !b.contains(x)).cloned().collect::<Vec<_>>()
    };
    let (new_events, new_contexts) =
        (missing(&spec.events, &has.events), missing(&spec.contexts, &has.contexts));
    let fits = spec.same_frame(has)
        && listed.live_timer == spec.live_timer
        && subset(&has.events, &spec.events)
        && subset(&has.contexts, &spec.contexts)
        && !(applied.started
            && (!new_contexts.is_empty() || (!applied.channel && spec.domain.has_channels())));
    if !fits {
        return None;
    }
    let mut commands = Vec::new();
    if !applied.channel {
        commands.extend(channel(spec));
    }
    commands.extend(events(spec, &new_events));
    commands.extend(contexts(spec, &new_contexts));
    match (spec.start, listed.enabled) {
        (true, false) => commands.push(start(spec)),
        (false, true) => commands.push(Invocation::new(Step::Stop, &["stop", &spec.name])),
        _ => {}
    }
    Some(commands)
}

fn session(spec: &SessionSpec) -> String {
    format!("--session={}", spec.name)
}

fn channel(spec: &SessionSpec) -> Option<Invocation> {
    if !spec.domain.has_channels() {
        return None;
    }
    let mut options = vec![spec.domain.option().to_owned(), session(spec)];
    let mut option =
        |name: &str, value: Option<String>| options.extend(value.map(|v| format!("--{name}={v}")));
    option("subbuf-size", spec.subbuf_size.map(|n| n.to_string()));
    option("num-subbuf", spec.num_subbuf.map(|n| n.to_string()));
    let blocking = spec.blocking_timeout.map(|b| match b {
        Blocking::Inf => "inf".to_owned(),
        Blocking::Micros(n) => n.to_string(),
    });
    option("blocking-timeout", blocking);
    let some = |n: u64| (n > 0).then(|| n.to_string());
    option("tracefile-size", some(spec.tracefile_size));
    option("tracefile-count", some(spec.tracefile_count));
    options.extend(spec.buffers.map(|b| match b {
        Buffers::Uid => "--buffers-uid".to_owned(),
        Buffers::Pid => "--buffers-pid".to_owned(),
    }));
    let args: Vec<&str> = ["enable-channel"]
        .into_iter()
        .chain(options.iter().map(String::as_str))
        .chain([spec.channel.as_str()])
        .collect();
    Some(Invocation::new(Step::Channel, &args))
}

/// `--channel`, for domains with channels.
fn of_channel(spec: &SessionSpec) -> Option<String> {
    spec.domain.has_channels().then(|| format!("--channel={}", spec.channel))
}

/// One command for all patterns, because each command takes milliseconds.
fn events(spec: &SessionSpec, patterns: &[String]) -> Option<Invocation> {
    if patterns.is_empty() {
        return None;
    }
    let mut options = vec![spec.domain.option().to_owned(), session(spec)];
    options.extend(of_channel(spec));
    let mut option = |name: &str, value: &Option<String>| {
        options.extend(value.as_ref().map(|v| format!("--{name}={v}")))
    };
    option("loglevel", &spec.loglevel);
    option("loglevel-only", &spec.loglevel_only);
    option("filter", &spec.filter);
    let patterns = patterns.join(",");
    let args: Vec<&str> = ["enable-event"]
        .into_iter()
        .chain(options.iter().map(String::as_str))
        .chain([patterns.as_str()])
        .collect();
    Some(Invocation::new(Step::Events, &args))
}

fn contexts(spec: &SessionSpec, contexts: &[String]) -> Option<Invocation> {
    if contexts.is_empty() {
        return None;
    }
    let mut options = vec![spec.domain.option().to_owned(), session(spec)];
    options.extend(of_channel(spec));
    options.extend(contexts.iter().map(|c| format!("--type={c}")));
    let args: Vec<&str> =
        ["add-context"].into_iter().chain(options.iter().map(String::as_str)).collect();
    Some(Invocation::new(Step::Contexts, &args))
}

#[cfg(test)]
#[path = "tests/plan.rs"]
mod tests;
