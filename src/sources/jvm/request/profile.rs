//! A recording of Flight Recorder: samples by stack and method, and records of collections, exceptions and waits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jfr::{Chunk, Collection, Enter, Key, Known, Names, Pause, Stack, Thread, Thrown, known};

use super::super::{limits, metrics as m};
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::events::flags::POINT;
use crate::meter::{clean, folded};
use crate::model::{EventKindId, HeapSize, ParamItem, RowItem, Stamp, TableId, cut};

/// A recording ends by itself so long after it should have been stopped: the PMDA may have ended.
const LONGER: Duration = Duration::from_secs(30);

/// What is recorded. Nothing of the profiles that JDKs have: they record the environment, which has secrets.
const SETTINGS: &str = "settings=none dumponexit=false maxsize=24M \
     +jdk.ExecutionSample#enabled=true +jdk.ExecutionSample#period=20ms \
     +jdk.JavaMonitorEnter#enabled=true +jdk.JavaMonitorEnter#threshold=10ms +jdk.JavaMonitorEnter#stackTrace=true \
     +jdk.JavaExceptionThrow#enabled=true +jdk.JavaExceptionThrow#stackTrace=true \
     +jdk.ExceptionStatistics#enabled=true +jdk.ExceptionStatistics#period=everyChunk \
     +jdk.GarbageCollection#enabled=true +jdk.GCPhasePause#enabled=true";

/// The command that begins a recording into `path`.
pub(crate) fn start(name: &str, path: &str, length: Duration) -> String {
    let seconds = (length + LONGER).as_secs();
    format!("JFR.start name={name} filename={path} duration={seconds}s {SETTINGS}")
}

/// The command that ends it, and writes the file before it answers.
pub(crate) fn stop(name: &str, path: &str) -> String {
    format!("JFR.stop name={name} filename={path}")
}

/// The thread of a JVM that answers.
const ASKER: &str = "Attach Listener";
/// Stands for outer frames that are missing.
const MORE: &str = "...";

/// Samples by name.
#[derive(Debug, Default)]
struct Samples {
    all: u64,
    stacks: HashMap<String, u64>,
    /// In the method itself, and with what it called.
    methods: HashMap<Arc<str>, (u64, u64)>,
}

/// One record.
#[derive(Debug)]
struct Record {
    kind: EventKindId,
    /// End of what it tells, ns since 1970.
    time: i64,
    numbers: Vec<(ParamItem, u64)>,
    texts: Vec<(ParamItem, String)>,
}

/// What a recording has.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    samples: Samples,
    records: Vec<Record>,
    /// How many there were, by kind.
    seen: [usize; m::EVENT_KINDS.len()],
    /// Those for which there was no room.
    missed: u64,
    /// Events that cannot be decoded.
    bad: u64,
    /// What the JVM has thrown since its start, at the end.
    throwables: Option<u64>,
}

impl Profile {
    pub(super) fn read(mut recording: &[u8]) -> Result<Self, String> {
        let mut found = Self::default();
        while !recording.is_empty() {
            let chunk = Chunk::open(recording).map_err(|e| format!("the recording: {e}"))?;
            found.chunk(&chunk);
            let size = usize::try_from(chunk.header().size).unwrap_or(usize::MAX);
            recording = recording.get(size..).unwrap_or_default();
        }
        // The recorder writes them thread by thread.
        found.records.sort_by_key(|record| record.time);
        Ok(found)
    }

    fn chunk(&mut self, chunk: &Chunk<'_>) {
        let (mut names, mut stacks) = (Stacks::new(chunk), HashMap::<Key, u64>::new());
        let mut pauses: HashMap<i64, Vec<Pause<'_>>> = HashMap::new();
        let mut collections = Vec::new();
        for event in chunk.events() {
            let Ok(event) = event else {
                self.bad += 1;
                continue;
            };
            match known(chunk.header(), &event) {
                // What answers runs too, and what waits in native code may have no Java.
                Some(Known::Sample(sample)) if is_asker(sample.thread.as_ref()) => {}
                Some(Known::Sample(sample)) if sample.is_native && sample.stack.is_none() => {}
                Some(Known::Sample(sample)) => {
                    self.samples.all += 1;
                    if let Some(key) = sample.stack {
                        *stacks.entry(key).or_default() += 1;
                    }
                }
                Some(Known::Enter(enter)) => {
                    self.record(m::CONTENTION, || wait(&enter, &mut names))
                }
                Some(Known::Thrown(thrown)) if !is_asker(thrown.thread.as_ref()) => {
                    self.record(m::EXCEPTION, || throw(&thrown, &mut names))
                }
                Some(Known::Throwables(all)) => {
                    self.throwables = Some(self.throwables.map_or(all, |known| known.max(all)));
                }
                Some(Known::Collection(collection)) if collections.len() < limits::RECORDS => {
                    collections.push(collection);
                }
                Some(Known::Collection(_)) => {
                    self.saw(m::GC);
                    self.missed += 1;
                }
                Some(Known::Pause(pause)) if pauses.len() < limits::RECORDS => {
                    let of = pauses.entry(pause.id).or_default();
                    if of.len() < limits::PHASES {
                        of.push(pause);
                    }
                }
                _ => {}
            }
        }
        for one in collections {
            let phases = pauses.remove(&one.id).unwrap_or_default();
            self.record(m::GC, || collection(&one, &phases));
        }
        for (key, count) in stacks {
            self.samples.add(&names.of(key), count);
        }
    }

    fn record(&mut self, kind: EventKindId, make: impl FnOnce() -> Record) {
        if self.saw(kind) <= limits::RECORDS {
            self.records.push(make());
        } else {
            self.missed += 1;
        }
    }

    /// Counts one. Returns how many there were.
    fn saw(&mut self, kind: EventKindId) -> usize {
        let Some(seen) = self.seen.get_mut(kind.index()) else { return usize::MAX };
        *seen += 1;
        *seen
    }

    pub(super) fn show(&self, instance: &str, peer: &mut Peer) -> String {
        let Samples { all, stacks, methods } = &self.samples;
        let mut ranked: Vec<_> = stacks.iter().map(|(name, n)| (&**name, [*n, 0])).collect();
        add_rows(m::STACKS, "stack", &[m::STACK_SAMPLES], &mut ranked, instance, peer);
        let mut ranked: Vec<_> =
            methods.iter().map(|(name, (own, total))| (&**name, [*own, *total])).collect();
        let items = [m::METHOD_SELF, m::METHOD_TOTAL];
        add_rows(m::METHODS, "method", &items, &mut ranked, instance, peer);
        for (item, more) in
            [(m::SAMPLES, *all), (m::BURSTS, 1), (m::MISSED, self.missed + self.bad)]
        {
            peer.add(item, more);
        }
        peer.show(m::THROWABLES, self.throwables);
        for Record { kind, time, numbers, texts } in &self.records {
            peer.record(*kind, Stamp::from_nanos((*time).into()), POINT, |record| {
                numbers.iter().for_each(|(item, value)| record.number(*item, *value));
                texts.iter().for_each(|(item, text)| record.text(*item, text));
            });
        }
        let count = |kind: EventKindId| self.seen.get(kind.index()).copied().unwrap_or(0);
        let missed = match self.missed {
            0 => String::new(),
            missed => format!("; {missed} events have no record"),
        };
        let bad = match self.bad {
            0 => String::new(),
            bad => format!("; {bad} events cannot be decoded"),
        };
        format!(
            "done: {all} samples, {} stacks, {} methods; {} collections, {} exceptions, {} waits for monitors{missed}{bad}",
            stacks.len(),
            methods.len(),
            count(m::GC),
            count(m::EXCEPTION),
            count(m::CONTENTION)
        )
    }
}

impl HeapSize for Profile {
    fn heap_size(&self) -> usize {
        let Samples { stacks, methods, .. } = &self.samples;
        let names = stacks.keys().map(String::len).chain(methods.keys().map(|name| name.len()));
        let texts =
            self.records.iter().flat_map(|record| record.texts.iter().map(|(_, t)| t.len()));
        let row = size_of::<(Arc<str>, (u64, u64))>();
        let tables = (stacks.capacity() + methods.capacity()) * row;
        tables + self.records.capacity() * size_of::<Record>() + names.chain(texts).sum::<usize>()
    }
}

impl Samples {
    fn add(&mut self, frames: &[Arc<str>], count: u64) {
        let name = folded(frames, limits::STACK_NAME);
        if self.stacks.len() < limits::STACKS || self.stacks.contains_key(&name) {
            *self.stacks.entry(name).or_default() += count;
        } else {
            *self.stacks.entry(OTHER.to_owned()).or_default() += count;
        }
        if let Some(leaf) = frames.first() {
            self.method(leaf).0 += count;
        }
        let mut known = HashSet::new();
        // A recursive method counts once.
        for frame in frames.iter().filter(|frame| ***frame != *MORE && known.insert(*frame)) {
            self.method(frame).1 += count;
        }
    }

    fn method(&mut self, name: &Arc<str>) -> &mut (u64, u64) {
        let fits = self.methods.len() < limits::METHODS || self.methods.contains_key(name);
        self.methods.entry(if fits { Arc::clone(name) } else { OTHER.into() }).or_default()
    }
}

/// The thread is the one that answers requests.
fn is_asker(thread: Option<&Thread<'_>>) -> bool {
    thread.is_some_and(|thread| thread.name == ASKER)
}

/// Adds to rows `INSTANCE::NAME`, those with most first.
fn add_rows(
    table: TableId,
    label: &'static str,
    items: &[RowItem],
    rows: &mut [(&str, [u64; 2])],
    instance: &str,
    peer: &mut Peer,
) {
    rows.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then(a.cmp(b)));
    for (name, counts) in rows {
        // The slot of each row in turn: there may be more rows than a session has slots.
        peer.row_of_process(table, 0, instance, (label, name));
        for (item, more) in items.iter().zip(counts).filter(|(_, more)| **more > 0) {
            peer.row_add(0, *item, *more);
        }
    }
    peer.free_rows(table);
}

/// The stacks of a chunk, with names that can be a part of an instance's name. Each is made once.
struct Stacks<'c> {
    names: Names<'c>,
    clean: HashMap<Arc<str>, Arc<str>>,
    stacks: HashMap<Key, Vec<Arc<str>>>,
}

impl<'c> Stacks<'c> {
    fn new(chunk: &'c Chunk<'c>) -> Self {
        Self { names: Names::new(chunk), clean: HashMap::new(), stacks: HashMap::new() }
    }

    /// Innermost first.
    fn of(&mut self, key: Key) -> Vec<Arc<str>> {
        if let Some(known) = self.stacks.get(&key) {
            return known.clone();
        }
        let Stack { frames, is_cut } = self.names.stack(key);
        let is_cut = is_cut || frames.len() > limits::FRAMES;
        let mut frames: Vec<_> = frames
            .into_iter()
            .take(limits::FRAMES)
            .map(|frame| Arc::clone(self.clean.entry(frame).or_insert_with_key(|f| method(f))))
            .collect();
        frames.extend(is_cut.then(|| Arc::from(MORE)));
        if self.stacks.len() < limits::STACKS {
            self.stacks.insert(key, frames.clone());
        }
        frames
    }

    /// Outermost first, as a text of records.
    fn text(&mut self, key: Option<Key>) -> Option<String> {
        key.map(|key| folded(&self.of(key), limits::STACK_NAME))
    }
}

/// `Shop$$Lambda.run` for `Shop$$Lambda$1+0x00007f5bb9000a08.925858445.run`: each run has other numbers.
pub(super) fn method(name: &str) -> Arc<str> {
    let name = match (name.find("$$Lambda"), name.rfind('.')) {
        (Some(at), Some(dot)) if dot > at => {
            let end = at + "$$Lambda".len();
            [name.get(..end).unwrap_or(name), name.get(dot..).unwrap_or_default()].concat()
        }
        _ => name.to_owned(),
    };
    clean(&name.replace(',', ";"), limits::METHOD).into()
}

fn ns(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The texts that are there, cut.
fn texts<const N: usize>(all: [(ParamItem, Option<&str>); N]) -> Vec<(ParamItem, String)> {
    let of = |text| cut(text, limits::MESSAGE).to_owned();
    all.into_iter().filter_map(|(item, text)| Some((item, of(text?)))).collect()
}

fn wait(enter: &Enter<'_>, names: &mut Stacks<'_>) -> Record {
    let stack = names.text(enter.stack);
    Record {
        kind: m::CONTENTION,
        time: enter.time.saturating_add(enter.duration),
        numbers: vec![(m::P_DURATION, ns(enter.duration))],
        texts: texts([
            (m::P_LOCK, enter.class.as_deref()),
            (m::P_LOCK_OWNER, enter.owner.as_ref().map(|thread| &*thread.name)),
            (m::P_THREAD, enter.thread.as_ref().map(|thread| &*thread.name)),
            (m::P_STACK, stack.as_deref()),
        ]),
    }
}

fn throw(thrown: &Thrown<'_>, names: &mut Stacks<'_>) -> Record {
    let stack = names.text(thrown.stack);
    Record {
        kind: m::EXCEPTION,
        time: thrown.time,
        numbers: Vec::new(),
        texts: texts([
            (m::P_TYPE, thrown.class.as_deref()),
            (m::P_MESSAGE, thrown.message.as_deref()),
            (m::P_THREAD, thrown.thread.as_ref().map(|thread| &*thread.name)),
            (m::P_STACK, stack.as_deref()),
        ]),
    }
}

fn collection(one: &Collection<'_>, phases: &[Pause<'_>]) -> Record {
    let phase = |pause: &Pause<'_>| {
        let name = pause.name.as_deref().unwrap_or("pause");
        format!("{name} {} us", pause.duration / 1000)
    };
    let phases = phases.iter().map(phase).collect::<Vec<_>>().join(", ");
    Record {
        kind: m::GC,
        time: one.time.saturating_add(one.duration),
        numbers: vec![
            (m::P_NUMBER, ns(one.id)),
            (m::P_DURATION, ns(one.duration)),
            (m::P_PAUSE, ns(one.pauses)),
            (m::P_LONGEST, ns(one.longest)),
        ],
        texts: texts([
            (m::P_TYPE, one.name.as_deref()),
            (m::P_REASON, one.cause.as_deref()),
            (m::P_PHASES, (!phases.is_empty()).then_some(&*phases)),
        ]),
    }
}

/// As of a recording with so many exceptions more than have records.
#[cfg(test)]
pub(super) fn full(more: usize) -> Profile {
    let mut found = Profile::default();
    for _ in 0..limits::RECORDS + more {
        let make =
            || Record { kind: m::EXCEPTION, time: 1, numbers: Vec::new(), texts: Vec::new() };
        found.record(m::EXCEPTION, make);
    }
    found
}

/// As of a recording with so many samples of one stack, innermost frame first.
#[cfg(test)]
pub(super) fn sampled(frames: &[&str], count: u64) -> Profile {
    let mut found = Profile::default();
    let frames: Vec<Arc<str>> = frames.iter().map(|frame| Arc::from(*frame)).collect();
    found.samples.all = count;
    found.samples.add(&frames, count);
    found
}
