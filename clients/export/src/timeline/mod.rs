//! A time line: processes and threads with what happened there, for viewers of traces.
//!
//! What has no length is written at once. Slices wait, because those of a track have to come in order and
//! an arrow to another process has to be known at both of its ends.

mod format;
mod held;
mod lanes;
mod places;

pub use format::{Format, Number, Said, Track};

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::time::{Duration, Instant};

use crate::exporter::{Exporter, Summary};
use crate::meaning::{Attribute, Attributes, Identity, Ids, Item, SpanId, TraceId};
use crate::model::{Record, Value};
use crate::read::Sampled;
use crate::tree::{self, Tree};

use held::{Held, Slice};
use places::Places;

/// How long a slice waits, live, at least; at most twice as long. Calls of the Java profiler come up to
/// 10 s after their end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A time line in a format.
#[derive(Debug)]
pub struct Timeline<F> {
    format: F,
    places: Places,
    held: Held,
    ids: Ids,
    summary: Summary,
    started: bool,
    said: Vec<u8>,
    /// Trees that were drawn: each lies within itself only.
    trees: u32,
    /// The newest slice of this turn, and that of the turn before; when that ended.
    newest: i64,
    due: (i64, Option<Instant>),
}

impl<F: Format> Timeline<F> {
    /// An empty one.
    pub fn new(format: F) -> Self {
        Self {
            format,
            places: Places::default(),
            held: Held::default(),
            ids: Ids::default(),
            summary: Summary::default(),
            started: false,
            said: Vec::new(),
            trees: 0,
            newest: i64::MIN,
            due: (i64::MIN, None),
        }
    }

    fn count(
        &mut self,
        process: usize,
        (name, unit): (&str, &str),
        time: i64,
        value: Number,
    ) -> io::Result<()> {
        if matches!(value, Number::Float(value) if !value.is_finite()) {
            return Ok(());
        }
        match self.places.counter(process, name, unit, &mut self.format)? {
            Some(track) => self.format.counter(track, time, value),
            None => {
                self.summary.rejected += 1;
                Ok(())
            }
        }
    }

    fn start(&mut self, first: i64) -> io::Result<()> {
        if !self.started {
            self.started = true;
            self.format.start(first.max(0))?;
        }
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let item = Item::new(record);
        self.start(item.start)?;
        let process = self.places.process(&record.origin, &mut self.format)?;
        if record.missed > 0 {
            self.missed(process, &item)?;
            if item.is_loss() {
                return Ok(());
            }
        }
        if &*record.origin.full == "mono.sample" {
            self.summary.sent += 1;
            for (name, value) in &record.parameters {
                if let Some(value) = Number::of(value) {
                    self.count(process, (name, ""), item.start, value)?;
                }
            }
            return Ok(());
        }
        // Nothing is of a trace there.
        let plain = &*record.origin.source == "lttng";
        let identity = (!plain).then(|| self.ids.of(&item));
        self.encode(&item, identity.as_ref())?;
        if let Some(tree) = Tree::of(record) {
            return self.tree(process, &item, &tree);
        }
        let place = self.places.place(process, &item, &mut self.format)?;
        let cause = identity.as_ref().and_then(|id| Some(key(id.trace, id.parent?)));
        if item.length.is_none() && cause.is_none() {
            let Some(place) = self.places.get(place) else { return Ok(()) };
            self.summary.sent += 1;
            return self.format.instant(place.home, item.start, &self.said, &[]);
        }
        let mut slice = Slice::new(item.start, item.length, place);
        if let Some(identity) = &identity {
            slice.key = key(identity.trace, identity.span);
            slice.cause = cause.unwrap_or(0);
            let by_trace = self.places.get(place).is_some_and(|place| place.by_trace);
            slice.group = if by_trace && identity.traced { group(identity.trace) } else { 0 };
        }
        self.hold(slice)
    }

    fn encode(&mut self, item: &Item<'_>, identity: Option<&Identity>) -> io::Result<()> {
        self.said.clear();
        let mut attributes = Attributes::of(item, identity);
        // OTLP has fields for them.
        if let Some(id) = identity.filter(|_| item.is_call()) {
            attributes.set_text("apm.span", id.span.to_string());
            if let Some(parent) = id.parent {
                attributes.set_text("apm.parent", parent.to_string());
            }
        }
        let said = Said {
            name: &item.name(),
            category: &item.record.origin.full,
            attributes: &attributes,
            trace: identity.filter(|id| id.traced).map(|id| id.trace),
        };
        self.format.encode(&said, &mut self.said)
    }

    fn hold(&mut self, slice: Slice) -> io::Result<()> {
        self.newest = self.newest.max(slice.start);
        self.held.add(slice, &self.said);
        if self.held.is_full() {
            let middle = self.held.middle();
            self.draw(middle)?;
        }
        Ok(())
    }

    fn missed(&mut self, process: usize, item: &Item<'_>) -> io::Result<()> {
        let mut attributes = Attributes::default();
        let missed = item.record.missed;
        attributes.set("apm.missed", Attribute::Int(i64::try_from(missed).unwrap_or(i64::MAX)));
        attributes.set_text("apm.record", &*item.record.origin.full);
        let said = Said {
            name: &format!("{missed} records missed"),
            category: "missed",
            attributes: &attributes,
            trace: None,
        };
        self.said.clear();
        self.format.encode(&said, &mut self.said)?;
        let Some(process) = self.places.processes.get(process) else { return Ok(()) };
        self.summary.sent += 1;
        self.format.instant(process.track, item.start, &self.said, &[])
    }

    /// A tree of a call, below its call; that its root is in `self.said` is known.
    fn tree(&mut self, process: usize, item: &Item<'_>, tree: &Tree<'_>) -> io::Result<()> {
        let place = self.places.trees(process, &mut self.format)?;
        let call = tree::call(item.record);
        self.trees = self.trees.wrapping_add(1).max(1);
        let mut root = Slice::new(item.start, item.length, place);
        root.cause = key(call.trace, call.span);
        root.key = key(call.trace, Ids::below(call.trace, call.span, "tree"));
        root.group = self.trees;
        self.hold(root)?;
        for node in tree.nodes() {
            self.said.clear();
            let said = Said {
                name: node.name,
                category: "call tree",
                attributes: &node.attributes(),
                trace: call.traced.then_some(call.trace),
            };
            self.format.encode(&said, &mut self.said)?;
            let length = node.end.saturating_sub(node.start).unsigned_abs();
            let mut slice = Slice::new(node.start, Some(length), place);
            slice.group = self.trees;
            self.hold(slice)?;
        }
        Ok(())
    }

    /// Draws what starts until then.
    fn draw(&mut self, until: i64) -> io::Result<()> {
        let children = self.causes(until);
        let mut flows = Vec::new();
        for slice in self.held.until(until) {
            flows.clear();
            if slice.key != 0 {
                let first = children.partition_point(|(cause, _)| *cause < slice.key);
                let own = children.iter().skip(first).take_while(|(cause, _)| *cause == slice.key);
                flows.extend(own.map(|(_, child)| *child));
            }
            if slice.pointed_at {
                flows.push(slice.key);
            }
            let said = self.held.said(&slice);
            self.summary.sent += 1;
            match slice.end() {
                Some(end) => {
                    let span = (slice.start, end, slice.group);
                    let track = self.places.put(slice.place, span, &mut self.format)?;
                    self.format.begin(track, (slice.start, end), said, &flows)?;
                }
                None => {
                    let home = self.places.get(slice.place).map_or(0, |place| place.home);
                    self.format.instant(home, slice.start, said, &flows)?;
                }
            }
            self.held.forget(&slice);
        }
        self.places.close(&mut self.format)
    }

    /// (cause, effect) where an arrow leads from one to the other: they are on different threads. What has no
    /// length goes to the thread of its cause. An effect that is drawn before its cause, by another clock, has none.
    fn causes(&mut self, until: i64) -> Vec<(u64, u64)> {
        let slices = &mut self.held.slices;
        if slices.iter().all(|slice| slice.cause == 0) {
            return Vec::new();
        }
        let mut known: HashMap<u64, (u32, i64)> = HashMap::new();
        for slice in slices.iter_mut().filter(|slice| slice.key != 0 && slice.end().is_some()) {
            match known.entry(slice.key) {
                Entry::Vacant(new) => drop(new.insert((slice.place, slice.start))),
                // A span that came again has no arrows.
                Entry::Occupied(_) => (slice.key, slice.cause) = (0, 0),
            }
        }
        let process = |place| self.places.get(place).map(|place| place.process);
        let mut found = Vec::new();
        for slice in slices.iter_mut().filter(|slice| slice.cause != 0) {
            let Some((place, start)) = known.get(&slice.cause).copied() else { continue };
            let is_apart = slice.start <= until && start > until;
            if slice.end().is_none() && process(place) == process(slice.place) {
                slice.place = place;
            } else if place != slice.place && !is_apart {
                slice.pointed_at = true;
                found.push((slice.cause, slice.key));
            }
        }
        found.sort_unstable();
        found
    }
}

impl<F: Format> Exporter for Timeline<F> {
    fn add(&mut self, record: &Record, _now: Instant) -> io::Result<()> {
        self.record(record)
    }

    fn counter(&mut self, value: &Sampled<'_>) -> io::Result<()> {
        self.start(value.time)?;
        let process = self.places.of(value.source, value.instance, &mut self.format)?;
        self.count(process, (value.name, value.unit), value.time, value.value)
    }

    fn tick(&mut self, now: Instant) -> io::Result<()> {
        let (until, turn) = self.due;
        if turn.is_none_or(|turn| now.saturating_duration_since(turn) >= PATIENCE) {
            if turn.is_some() {
                self.draw(until)?;
            }
            // One with a clock that is ahead counts for its own turn only.
            self.due = (std::mem::replace(&mut self.newest, i64::MIN), Some(now));
        }
        self.format.flush()
    }

    fn finish(&mut self) -> io::Result<Summary> {
        self.start(0)?;
        self.draw(i64::MAX)?;
        self.format.finish()?;
        Ok(self.summary)
    }
}

impl Number {
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Int(number) => Self::Int(*number),
            Value::Uint(number) => {
                i64::try_from(*number).map_or(Self::Float(*number as f64), Self::Int)
            }
            Value::Float(number) => Self::Float(*number),
            Value::Text(_) => return None,
        })
    }
}

/// A number for a span, by which an arrow has the same one at both of its ends.
fn key(trace: TraceId, span: SpanId) -> u64 {
    let trace = u128::from_be_bytes(trace.0);
    let folded = u64::try_from((trace ^ (trace >> 64)) & u128::from(u64::MAX)).unwrap_or(0);
    (u64::from_be_bytes(span.0) ^ folded.rotate_left(32)).max(1)
}

/// A number for a trace.
fn group(trace: TraceId) -> u32 {
    let trace = u128::from_be_bytes(trace.0);
    let folded = trace ^ (trace >> 64);
    u32::try_from((folded ^ (folded >> 32)) & u128::from(u32::MAX)).unwrap_or(0).max(1)
}
