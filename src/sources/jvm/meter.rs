//! What is shown of one process.

use std::time::Duration;

use super::metrics as m;
use super::process::{Bounds, State, Usage, Who};
use super::reader::{Reader, Reading};
use super::reason::overflow_words;
use super::rows::{Rows, SYSTEM, USER};
use super::state::{Facts, Figures, Longest};
use super::wire::Refusal;
use crate::contract::{Identity, Peer, Service};
use crate::model::{Condition, MetricItem, Value};
use crate::read::glob;

/// Time that a JVM may need until its performance data is ready.
const STARTING: Duration = Duration::from_secs(10);

/// Time after which what a JVM says of itself is complete.
const COMPLETE: Duration = Duration::from_millis(1_500);

/// A counter or gauge of the performance data, and whether its metric has 32 bits.
type Shown = (MetricItem, bool, fn(&Figures) -> Option<u64>);

const SHOWN: [Shown; 26] = [
    (m::PAUSE_COUNT, false, |f| f.pauses.count),
    (m::PAUSE_TOTAL, false, |f| f.pauses.total),
    (m::PAUSE_LAST, false, |f| f.pauses.last),
    (m::GC_RUNNING, true, |f| f.collecting.map(u64::from)),
    (m::GC_CPU, false, |f| f.gc_cpu_time),
    (m::HEAP_TOTAL, false, |f| f.heap.total),
    (m::HEAP_COMMITTED, false, |f| f.heap.committed),
    (m::HEAP_MAX, false, |f| f.heap.max),
    (m::SAFEPOINT_COUNT, false, |f| f.safepoints),
    (m::SAFEPOINT_TIME, false, |f| f.safepoint_time),
    (m::SAFEPOINT_SYNC, false, |f| f.sync_time),
    (m::VM_OPERATION, false, |f| f.vm_operation_time),
    (m::LOCK_COUNT, false, |f| f.contentions),
    (m::THREADS, true, |f| f.threads),
    (m::THREADS_DAEMON, true, |f| f.threads_daemon),
    (m::THREADS_PEAK, true, |f| f.threads_peak),
    (m::THREADS_CREATED, false, |f| f.threads_started),
    (m::CLASSES, false, |f| f.classes),
    (m::CLASS_LOADED, false, |f| f.classes_loaded),
    (m::CLASS_UNLOADED, false, |f| f.classes_unloaded),
    (m::CLASS_TIME, false, |f| f.class_load_time),
    (m::JIT_METHODS, false, |f| f.jit_methods),
    (m::JIT_BAILOUTS, false, |f| f.jit_bailouts),
    (m::JIT_INVALIDATED, false, |f| f.jit_invalidated),
    (m::JIT_TIME, false, |f| f.jit_time),
    (m::JIT_CODE, false, |f| f.jit_code_bytes),
];

/// The metrics of one process.
#[derive(Debug)]
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

impl Meter {
    /// Of a process that has not been read. `before`: processor time that the process had used when it
    /// became this program.
    pub(crate) fn new(who: Who, before: Option<(u64, u64)>) -> Self {
        let reader = Reader::new(who.hints.clone());
        Self {
            cpu: None,
            before,
            is_new: who.is_new,
            who,
            reader,
            instance: String::new(),
            renamed: false,
            state: State::Starting,
            shown_state: None,
            via: "",
            figures: None,
            region: None,
            last_cause: String::new(),
            longest: Longest::default(),
            shown_longest: None,
            rows: Rows::default(),
            labels: Vec::new(),
            shown_via: "",
        }
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
        self.state != State::Starting && (whole || age >= COMPLETE)
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
            Ok(reading) => State::Read(missing(&reading)),
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
            way: 0,
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
        self.state = State::Read(missing(&reading));
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
        self.figures(&new, peer);
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

    /// Those that are not as before.
    fn figures(&mut self, new: &Figures, peer: &mut Peer) {
        let old = self.figures.replace(*new);
        for (item, small, figure) in SHOWN {
            let (before, now) = (old.as_ref().and_then(figure), figure(new));
            if before != now {
                peer.show(item, now.map(|value| sized(small, value)));
            }
        }
    }

    /// It is no longer read: what it said last is not what it is.
    fn hide(&mut self, peer: &mut Peer) {
        if self.figures.is_none() {
            return;
        }
        self.figures(&Figures::default(), peer);
        (self.figures, self.region, self.shown_longest) = (None, None, None);
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

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        let who = &self.who;
        let texts = [&who.owner, &who.command, &who.hints.comm, &self.instance, &self.last_cause];
        size_of::<Self>()
            + self.reader.memory()
            + texts.map(|text| text.capacity()).iter().sum::<usize>()
            + self
                .labels
                .iter()
                .map(|(_, text)| text.capacity() + size_of::<(&str, String)>())
                .sum::<usize>()
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

fn sized(small: bool, value: u64) -> Value {
    if small { Value::U32(u32::try_from(value).unwrap_or(u32::MAX)) } else { Value::U64(value) }
}

/// What is missing of a region that was read, in words; empty: nothing.
fn missing(reading: &Reading<'_>) -> String {
    if reading.overflow == 0 {
        String::new()
    } else {
        overflow_words(reading.used, reading.overflow)
    }
}

fn refused(refusal: Refusal, age: Duration) -> State {
    if !refusal.is_starting() {
        State::Refused(refusal.to_string())
    } else if age < STARTING {
        State::Starting
    } else {
        State::Refused("its performance data is never ready".to_owned())
    }
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
