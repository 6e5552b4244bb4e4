//! What is shown of one process.

use std::time::Duration;

use super::rows::{Rows, SYSTEM, USER, show, sized};
use super::state::{Facts, Figures, Longest, Reader, Who};
use super::wire::Refusal;
use super::{limits, metrics as m};
use crate::contract::{Identity, Peer, Service};
use crate::model::{Condition, HeapSize, MetricItem, Value};
use crate::read::glob;

/// How far reading has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Its performance data is not ready.
    #[default]
    Starting,
    /// This user may not read it: why.
    Denied(String),
    /// It is read, and with words if some of it is missing.
    Read(String),
    /// There is none, or none that can be understood: why.
    Refused(String),
}

impl HeapSize for State {
    fn heap_size(&self) -> usize {
        match self {
            Self::Starting => 0,
            Self::Denied(why) | Self::Read(why) | Self::Refused(why) => why.heap_size(),
        }
    }
}

impl State {
    const fn number(&self) -> u32 {
        match self {
            Self::Starting => 0,
            Self::Denied(_) => 1,
            Self::Read(_) => 3,
            Self::Refused(_) => 5,
        }
    }

    pub(super) fn words(&self) -> &str {
        match self {
            Self::Starting => "starting",
            Self::Denied(why) | Self::Read(why) | Self::Refused(why) => why,
        }
    }
}

/// What /proc has and is read often: memory, threads, processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Bytes that are resident.
    pub(crate) resident: Option<u64>,
    /// Bytes in swap.
    pub(crate) swap: Option<u64>,
    /// All threads of the process.
    pub(crate) threads: Option<u64>,
    /// Processor time of user and system in ns.
    pub(crate) cpu: (u64, u64),
}

/// What is read seldom: limits, and open files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    /// Bytes of memory that the container may use; `None`: there is no limit.
    pub(crate) memory: Option<u64>,
    /// Bytes that it uses.
    pub(crate) memory_usage: Option<u64>,
    /// Processes of it that were killed for want of memory.
    pub(crate) oom_kills: Option<u64>,
    /// Processors that it may use; `None`: there is no limit.
    pub(crate) cpus: Option<f64>,
    /// Open files.
    pub(crate) files: Option<u64>,
    /// Most open files.
    pub(crate) files_limit: Option<u64>,
}

/// The metrics of one process.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    who: Who,
    reader: Reader,
    /// The instance; empty: it has not been introduced.
    instance: String,
    /// See [`Meter::is_renamed`].
    renamed: bool,
    state: State,
    /// The state that is shown.
    shown_state: Option<State>,
    via: &'static str,
    figures: Option<Figures>,
    /// What is shown of the region itself: overflow and entries.
    region: Option<(u64, u32)>,
    last_cause: String,
    longest: Longest,
    shown_longest: Option<u64>,
    /// Processor time of the process, user and system, in ns.
    cpu: Option<(u64, u64)>,
    /// The same when the process became this program, if it was another one.
    before: Option<(u64, u64)>,
    /// All that it has counted counts for its service; `false`: what comes.
    is_new: bool,
    rows: Rows,
    /// What the instance is labelled with.
    labels: Vec<(&'static str, String)>,
    shown_via: &'static str,
}

impl HeapSize for Meter {
    fn heap_size(&self) -> usize {
        let labels: usize = self.labels.iter().map(|(_, text)| text.heap_size()).sum();
        self.who.heap_size()
            + self.reader.heap_size()
            + self.instance.heap_size()
            + self.state.heap_size()
            + self.shown_state.heap_size()
            + self.last_cause.heap_size()
            + self.labels.heap_size()
            + labels
    }
}

impl Meter {
    /// Of a process that has not been read. `before`: processor time that the process had used when it
    /// became this program.
    pub(crate) fn new(who: Who, before: Option<(u64, u64)>) -> Self {
        let reader = Reader::new(who.hints.clone());
        Self { before, is_new: who.is_new, who, reader, ..Self::default() }
    }

    /// The same process, of which nothing has been shown: its name is another one, or it was turned
    /// away. What its service has been told of stays told.
    pub(crate) fn again(&mut self) {
        self.instance.clear();
        self.renamed = false;
        (self.shown_state, self.figures, self.region) = (None, None, None);
        self.last_cause.clear();
        self.shown_longest = None;
        (self.rows, self.shown_via) = (Rows::default(), "");
    }

    /// What the host knows of it.
    pub(crate) const fn who(&self) -> &Who {
        &self.who
    }

    /// The name of its service, program or main thread.
    pub(crate) fn name(&self) -> &str {
        let facts = self.reader.facts().map(|facts| facts.names.shown());
        facts.filter(|name| !name.is_empty()).unwrap_or(&self.who.hints.comm)
    }

    /// Its name is one of these, in which `*` is any text.
    pub(crate) fn is_wanted(&self, patterns: &[String]) -> bool {
        patterns.iter().any(|pattern| glob(pattern.as_bytes(), self.name().as_bytes()))
    }

    /// Its instance has another name or other labels than it would have by now.
    pub(crate) const fn is_renamed(&self) -> bool {
        self.renamed
    }

    /// What its name and labels are made of has been read anew.
    fn named(&mut self) {
        self.renamed = !self.instance.is_empty() && self.labels != self.labels();
    }

    /// The host knows it otherwise now: by the name of its user, say. It is the same program.
    pub(crate) fn known_as(&mut self, who: Who) {
        (self.who.owner, self.who.container) = (who.owner, who.container);
        self.named();
    }

    /// It can be introduced: it was read, or will not be. What a JVM says of itself comes a moment after
    /// its performance data is ready.
    pub(crate) fn is_known(&self, age: Duration) -> bool {
        let whole = self.reader.facts().is_none_or(|facts| facts.is_complete);
        self.state != State::Starting && (whole || age >= limits::COMPLETE)
    }

    /// Processor time of the process, user and system, in ns.
    pub(crate) const fn processor_time(&self) -> Option<(u64, u64)> {
        self.cpu
    }

    /// How far reading has come.
    #[cfg(fuzzing)]
    pub(crate) const fn state(&self) -> &State {
        &self.state
    }

    /// Bytes of the region to read.
    pub(crate) fn want(&self) -> usize {
        self.reader.want()
    }

    /// How it is read: `mapping`, `file`, `memory`; empty: not at all.
    pub(crate) const fn via(&mut self, via: &'static str) {
        self.via = via;
    }

    /// It is not read.
    pub(crate) fn unread(&mut self, state: State) {
        self.state = state;
    }

    /// Reads a copy of the region, for its names. `age`: since the process was found.
    pub(crate) fn learn(&mut self, region: &[u8], age: Duration) {
        self.state = match self.reader.read(region) {
            Ok(reading) => State::Read(missing(reading.used, reading.overflow)),
            Err(refusal) => refused(refusal, age),
        };
        self.named();
    }

    /// Introduces the process.
    pub(crate) fn start(&mut self, peer: &mut Peer) {
        let name = self.name().to_owned();
        self.instance = format!("{name}:{}", self.who.pid);
        self.renamed = false;
        self.labels = self.labels();
        let (who, facts) = (&self.who, self.reader.facts());
        peer.is(Identity {
            name: self.instance.clone(),
            peer: format!("process {}", who.pid),
            labels: self.labels.clone(),
            resumes: true,
            process: Some(format!("{}@{}", who.pid, who.start)),
            service: Some(self.service(name)),
            ..Identity::default()
        });
        text(m::OWNER, &who.owner, peer);
        peer.set(m::CONTAINER_PID, who.inner_pid);
        if let Some(started) = who.started {
            peer.set(m::START_TIME, started);
        }
        text(m::COMMAND, &who.command, peer);
        if let Some(facts) = facts {
            tell(facts, peer);
        }
        let more = u64::from(self.is_new);
        peer.row_add(0, m::SERVICE_STARTS, more);
        self.tick(peer);
    }

    /// Labels of the instance: what is known by now.
    fn labels(&self) -> Vec<(&'static str, String)> {
        let who = &self.who;
        let mut labels = vec![
            ("service", self.name().to_owned()),
            ("pid", who.pid.to_string()),
            ("container_pid", who.inner_pid.to_string()),
            ("user", who.owner.clone()),
        ];
        if let Some(container) = &who.container {
            labels.push(("container", container.clone()));
        }
        if let Some(facts) = self.reader.facts() {
            let version = facts.version.as_deref().map(|version| ("jdk", version.to_owned()));
            let collector = facts.collector.map(|kind| ("collector", kind.name().to_owned()));
            let vendor = facts.vendor.as_deref().map(|vendor| ("vendor", vendor.to_owned()));
            labels.extend([version, collector, vendor].into_iter().flatten());
        }
        labels
    }

    /// Its service.
    fn service(&self, name: String) -> Service {
        let before = self.before.map(|(user, system)| {
            [(USER, user), (SYSTEM, system)].map(|(slot, time)| (m::CPU_TIME, slot, time)).to_vec()
        });
        Service {
            labels: vec![("service", name.clone())],
            name,
            is_new: self.is_new,
            before: before.unwrap_or_default(),
        }
    }

    /// The copy ends before the region does, which has grown: more is to be read.
    pub(crate) fn needs_more(&mut self, region: &[u8]) -> bool {
        self.reader.needs_more(region)
    }

    /// Reads a copy of the region, and shows it. `age`: since the process was found.
    pub(crate) fn read(&mut self, region: &[u8], age: Duration, now: Duration, peer: &mut Peer) {
        let reading = match self.reader.read(region) {
            Ok(reading) => reading,
            Err(refusal) => {
                self.state = refused(refusal, age);
                return;
            }
        };
        self.state = State::Read(missing(reading.used, reading.overflow));
        let fresh = reading.fresh;
        if fresh {
            tell(reading.facts, peer);
        }
        let counters = (reading.overflow, reading.entries);
        if self.region.replace(counters) != Some(counters) {
            peer.set(m::OVERFLOW, counters.0);
            peer.set(m::ENTRIES, counters.1);
        }
        let cause =
            reading.last_cause.filter(|cause| *cause != self.last_cause && *cause != "No GC");
        if let Some(cause) = cause {
            self.last_cause = cause.into_owned();
            peer.set(m::LAST_CAUSE, Value::text(&self.last_cause));
        }
        let new = reading.figures;
        self.longest.feed(now, &new);
        show(self.figures.replace(new).as_ref(), &new, peer);
        self.rows.read(&self.instance, &new, peer);
        let max = self.longest.longest(now);
        if self.shown_longest != max {
            self.shown_longest = max;
            peer.show(m::PAUSE_MAX, max);
        }
        if fresh {
            self.named();
        }
    }

    /// It is no longer read: what it said last is not what it is.
    fn hide(&mut self, peer: &mut Peer) {
        let Some(old) = self.figures.take() else { return };
        show(Some(&old), &Figures::default(), peer);
        (self.region, self.shown_longest) = (None, None);
        self.last_cause.clear();
        for item in [m::PAUSE_MAX, m::LAST_CAUSE, m::OVERFLOW, m::ENTRIES] {
            peer.unset(item);
        }
        self.rows.hide(&self.instance, peer);
    }

    /// Figures of the process, by /proc.
    pub(crate) fn usage(&mut self, usage: &Usage, peer: &mut Peer) {
        peer.show(m::WORKING_SET, usage.resident);
        peer.show(m::SWAP, usage.swap);
        peer.show(m::THREADS_NATIVE, usage.threads.map(|threads| sized(true, threads)));
        self.rows.usage(&self.instance, usage.cpu, peer);
        self.cpu = Some(usage.cpu);
    }

    /// Limits of the process, and its open files.
    pub(crate) fn bounds(&mut self, bounds: &Bounds, peer: &mut Peer) {
        peer.show(m::MEMORY_LIMIT, bounds.memory);
        peer.show(m::MEMORY_USAGE, bounds.memory_usage);
        peer.show(m::OOM_KILLS, bounds.oom_kills);
        peer.show(m::CPUS_LIMIT, bounds.cpus);
        peer.show(m::FILES_OPEN, bounds.files);
        peer.show(m::FILES_LIMIT, bounds.files_limit);
    }

    /// About once a second: it is there, whether it is read or not.
    pub(crate) fn tick(&mut self, peer: &mut Peer) {
        peer.message();
        if !matches!(self.state, State::Read(_)) {
            self.hide(peer);
        }
        if std::mem::replace(&mut self.shown_via, self.via) != self.via {
            peer.show(m::VIA, (!self.via.is_empty()).then_some(self.via));
        }
        if self.shown_state.as_ref() == Some(&self.state) {
            return;
        }
        self.shown_state = Some(self.state.clone());
        let (number, words) = (self.state.number(), self.state.words());
        peer.set(m::STATE, number);
        peer.set(m::REASON, Value::text(words));
        let words = || words.to_owned().into();
        peer.condition(match &self.state {
            State::Starting => Condition::Starting(words()),
            State::Denied(_) | State::Refused(_) => Condition::Unread(words()),
            State::Read(missing) if !missing.is_empty() => Condition::Impaired(words()),
            State::Read(_) => Condition::Sound,
        });
    }

    /// It is no longer read, at least not by this name.
    pub(crate) fn end(&mut self, why: &str, peer: &mut Peer) {
        (self.is_new, self.before) = (false, None);
        peer.set(m::STATE, GONE);
        peer.set(m::REASON, Value::text(why));
    }
}

fn text(item: MetricItem, text: &str, peer: &mut Peer) {
    if !text.is_empty() {
        peer.set(item, Value::text(text));
    }
}

/// What a JVM says of itself.
fn tell(facts: &Facts, peer: &mut Peer) {
    let Facts { version, vm, vendor, collector, command, .. } = facts;
    for (item, known) in
        [(m::VERSION, version), (m::VM, vm), (m::VENDOR, vendor), (m::COMMAND, command)]
    {
        text(item, known.as_deref().unwrap_or_default(), peer);
    }
    text(m::COLLECTOR, collector.map_or("", |kind| kind.name()), peer);
}

/// The state of a process that is no longer read.
const GONE: u32 = 6;

/// What is missing of a region that was read, in words; empty: nothing. Where it was full, with an option that makes
/// room: twice of what was needed, at least twice of the default.
pub(super) fn missing(used: usize, overflow: u64) -> String {
    if overflow == 0 {
        return String::new();
    }
    let needed = u64::try_from(used).unwrap_or_default().saturating_add(overflow).min(8 << 20);
    let size = (2 * needed).next_power_of_two().max(65_536);
    format!(
        "its region was full: {overflow} bytes of counters are missing (-XX:PerfDataMemorySize={size})"
    )
}

fn refused(refusal: Refusal, age: Duration) -> State {
    if !refusal.is_starting() {
        State::Refused(refusal.to_string())
    } else if age < limits::STARTING {
        State::Starting
    } else {
        State::Refused("its performance data is never ready".to_owned())
    }
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
