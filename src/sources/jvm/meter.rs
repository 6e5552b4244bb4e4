//! What is shown of one process.

use std::time::Duration;

use super::metrics::Request;
use super::rows::{Rows, SYSTEM, USER};
use super::state::{Collector, Facts, Figures, Longest, Reader, Reading, Who};
use super::wire::Refusal;
use super::{limits, metrics as m};
use crate::contract::{Identity, Peer, Service};
use crate::heap_size;
use crate::model::{Condition, MetricItem, Value};
use crate::read::glob;

/// How far reading has come, as the metric has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its performance data is not ready.
    #[default]
    Starting = 0,
    /// This user may not read it.
    Denied = 1,
    /// It is read.
    Read = 3,
    /// There is none, or none that can be understood.
    Refused = 5,
    /// It is no longer read.
    Gone = 6,
}

/// How far reading has come, and why not further; of what is read, what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(super) stage: Stage,
    pub(super) why: String,
}
heap_size!(State { why });

impl Default for State {
    fn default() -> Self {
        Self::new(Stage::Starting, "starting")
    }
}

impl State {
    pub(crate) fn new(stage: Stage, why: impl Into<String>) -> Self {
        Self { stage, why: why.into() }
    }

    fn tell(&self, peer: &mut Peer) {
        peer.set(m::STATE, self.stage as u32);
        peer.set(m::REASON, Value::text(&self.why));
    }

    fn condition(&self) -> Condition {
        let why = || self.why.clone().into();
        match self.stage {
            Stage::Starting => Condition::Starting(why()),
            Stage::Denied | Stage::Refused => Condition::Unread(why()),
            Stage::Read if !self.why.is_empty() => Condition::Impaired(why()),
            Stage::Read | Stage::Gone => Condition::Sound,
        }
    }
}

/// The metrics of one process.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    reader: Reader,
    /// The instance; empty: it has not been introduced.
    instance: String,
    /// What the instance is labelled with.
    labels: Vec<(&'static str, String)>,
    /// See [`Meter::is_renamed`].
    renamed: bool,
    state: State,
    via: &'static str,
    longest: Longest,
    /// Processor time of the process, user and system, in ns.
    cpu: Option<(u64, u64)>,
    /// The same when the process became this program, if it was another one.
    before: Option<(u64, u64)>,
    /// All that it has counted counts for its service; `false`: what comes.
    is_new: bool,
    told: Told,
}

/// What the instance shows.
#[derive(Debug, Default)]
struct Told {
    state: Option<State>,
    via: &'static str,
    figures: Option<Figures>,
    /// Of the region itself: overflow and entries.
    region: Option<(u64, u32)>,
    last_cause: String,
    rows: Rows,
}

heap_size!(Meter { reader, instance, each labels, state, told });
heap_size!(Told { state, last_cause });

impl Meter {
    /// Of a process that has not been read. `before`: processor time that the process had used when it
    /// became this program.
    pub(crate) fn new(who: Who, before: Option<(u64, u64)>) -> Self {
        Self { before, is_new: who.is_new, reader: Reader::new(who), ..Self::default() }
    }

    /// The same process, of which nothing has been shown: its name is another one, or it was turned
    /// away. What its service has been told of stays told.
    pub(crate) fn again(&mut self) {
        self.instance.clear();
        self.renamed = false;
        self.told = Told::default();
    }

    /// What the host knows of it.
    pub(crate) const fn who(&self) -> &Who {
        &self.reader.who
    }

    /// The name of its service, program or main thread.
    pub(crate) fn name(&self) -> &str {
        let facts = self.reader.facts().map(|facts| facts.names.shown());
        facts.filter(|name| !name.is_empty()).unwrap_or(&self.who().comm)
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
        let known = &mut self.reader.who;
        (known.owner, known.container) = (who.owner, who.container);
        self.named();
    }

    /// It can be introduced: it was read, or will not be. What a JVM says of itself comes a moment after
    /// its performance data is ready.
    pub(crate) fn is_known(&self, age: Duration) -> bool {
        let whole = self.reader.facts().is_none_or(|facts| facts.is_complete);
        self.state.stage != Stage::Starting && (whole || age >= limits::COMPLETE)
    }

    /// Processor time of the process, user and system, in ns.
    pub(crate) const fn processor_time(&self) -> Option<(u64, u64)> {
        self.cpu
    }

    /// The instance.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// It is HotSpot: its performance data is read.
    pub(crate) fn is_read(&self) -> bool {
        self.state.stage == Stage::Read
    }

    /// Whether it can be asked this.
    ///
    /// # Errors
    /// Why not, in words for the answer.
    pub(crate) fn can(&self, request: Request) -> Result<(), String> {
        let facts = self.reader.facts();
        let release = facts.and_then(|facts| facts.release);
        let needs = request.needs();
        if release.is_none_or(|release| release < needs) {
            return Err(format!("refused: it takes JDK {needs} or later"));
        }
        // With +DisableAttachMechanism it would print its threads to its standard output.
        if facts.is_none_or(|facts| !facts.takes_requests) {
            return Err(
                "refused: the JVM takes no requests (-XX:+DisableAttachMechanism)".to_owned()
            );
        }
        Ok(())
    }

    /// How far reading has come.
    #[cfg(fuzzing)]
    pub(crate) const fn state(&self) -> &State {
        &self.state
    }

    /// Reads its region.
    pub(crate) const fn reader(&mut self) -> &mut Reader {
        &mut self.reader
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
            Ok(reading) => read(&reading),
            Err(refusal) => refused(refusal, age),
        };
        self.named();
    }

    /// Introduces the process.
    pub(crate) fn start(&mut self, peer: &mut Peer) {
        let name = self.name().to_owned();
        self.instance = format!("{name}:{}", self.who().pid);
        self.renamed = false;
        self.labels = self.labels();
        let (who, facts) = (self.who(), self.reader.facts());
        peer.is(Identity {
            name: self.instance.clone(),
            peer: format!("process {}", who.pid),
            labels: self.labels.clone(),
            // All is said anew: what another program of this process has said is not this one's.
            resumes: false,
            process: Some(format!("{}@{}", who.pid, who.start)),
            service: Some(self.service(name)),
            ..Identity::default()
        });
        text(m::OWNER, &who.owner, peer);
        peer.set(m::CONTAINER_PID, who.inner_pid);
        peer.show(m::START_TIME, who.started);
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
        let (who, facts) = (self.who(), self.reader.facts());
        let fact = |of: fn(&Facts) -> Option<&str>| facts.and_then(of).map(str::to_owned);
        let labels = [
            ("service", Some(self.name().to_owned())),
            ("pid", Some(who.pid.to_string())),
            ("container_pid", Some(who.inner_pid.to_string())),
            ("user", Some(who.owner.clone())),
            ("container", who.container.clone()),
            ("jdk", fact(|facts| facts.version.as_deref())),
            ("collector", fact(|facts| facts.collector.map(Collector::name))),
            ("vendor", fact(|facts| facts.vendor.as_deref())),
        ];
        labels.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
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

    /// Reads a copy of the region, and shows it. `age`: since the process was found.
    pub(crate) fn read(&mut self, region: &[u8], age: Duration, peer: &mut Peer) {
        let reading = match self.reader.read(region) {
            Ok(reading) => reading,
            Err(refusal) => {
                self.state = refused(refusal, age);
                return;
            }
        };
        self.state = read(&reading);
        let (fresh, new) = (reading.fresh, reading.figures);
        if fresh {
            tell(reading.facts, peer);
        }
        let told = &mut self.told;
        let counters = (reading.overflow, reading.entries);
        if told.region.replace(counters) != Some(counters) {
            peer.set(m::OVERFLOW, counters.0);
            peer.set(m::ENTRIES, counters.1);
        }
        let cause =
            reading.last_cause.filter(|cause| *cause != told.last_cause && *cause != "No GC");
        if let Some(cause) = cause {
            told.last_cause = cause.into_owned();
            peer.set(m::LAST_CAUSE, Value::text(&told.last_cause));
        }
        if let Some(pause) = self.longest.since(&new) {
            peer.longest(m::PAUSE_MAX, pause);
        }
        self.show(Some(&new), peer);
        if fresh {
            self.named();
        }
    }

    /// Shows each figure that is not as before. `None`: it is no longer read, and what it said last is not what it is.
    fn show(&mut self, new: Option<&Figures>, peer: &mut Peer) {
        let (old, shown) = (self.told.figures.take(), new.copied().unwrap_or_default());
        let before = old.unwrap_or_default();
        for ((item, value), (_, before)) in shown.metrics().zip(before.metrics()) {
            if value != before {
                peer.show(item, value);
            }
        }
        self.told.rows.read(&self.instance, &shown, peer);
        self.told.figures = new.copied();
    }

    fn hide(&mut self, peer: &mut Peer) {
        // A pause that comes meanwhile may be long ago when it is read again.
        self.longest = Longest::default();
        if self.told.figures.is_none() {
            return;
        }
        self.show(None, peer);
        self.told.region = None;
        self.told.last_cause.clear();
        for item in [m::PAUSE_MAX, m::LAST_CAUSE, m::OVERFLOW, m::ENTRIES] {
            peer.unset(item);
        }
    }

    /// Processor time of the process, user and system, in ns.
    pub(crate) fn used(&mut self, cpu: (u64, u64), peer: &mut Peer) {
        self.told.rows.used(&self.instance, cpu, peer);
        self.cpu = Some(cpu);
    }

    /// About once a second: it is there, whether it is read or not.
    pub(crate) fn tick(&mut self, peer: &mut Peer) {
        peer.message();
        if self.state.stage != Stage::Read {
            self.hide(peer);
        }
        if std::mem::replace(&mut self.told.via, self.via) != self.via {
            peer.show(m::VIA, (!self.via.is_empty()).then_some(self.via));
        }
        if self.told.state.as_ref() != Some(&self.state) {
            self.told.state = Some(self.state.clone());
            self.state.tell(peer);
            peer.condition(self.state.condition());
        }
    }

    /// It is no longer read, at least not by this name.
    pub(crate) fn end(&mut self, why: &str, peer: &mut Peer) {
        (self.is_new, self.before) = (false, None);
        State::new(Stage::Gone, why).tell(peer);
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

fn read(reading: &Reading<'_>) -> State {
    State::new(Stage::Read, missing(reading.used, reading.overflow))
}

fn refused(refusal: Refusal, age: Duration) -> State {
    if refusal != Refusal::Starting {
        State::new(Stage::Refused, refusal.to_string())
    } else if age < limits::STARTING {
        State::default()
    } else {
        State::new(Stage::Refused, "its performance data is never ready")
    }
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
