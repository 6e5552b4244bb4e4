//! Hands events to the source that understands their provider, beside the records.

use std::sync::Arc;

use super::super::metrics::provider;
use super::packer::Timestamps;
use crate::ctf;
use crate::ctf::schema::{Encoding, EnvValue, Scope};
use crate::ctf::{
    Event, EventPlan, EventVisitor, Kind, Node, NodeId, Packed, StreamPlan, Visitor, decode_string,
};
use crate::model::Now;
use crate::sources::foreign::{ForeignEvent, ForeignFeed, ForeignReaders};

/// The field that has the whole payload where fields do not.
const DATA: &str = "__data__";

/// The tap of a trace, and how many classes of each stream were looked at.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    seen: Vec<usize>,
    tap: Option<Tap>,
}

impl Taps {
    /// The tap of a trace with classes that somebody wants.
    #[inline]
    pub(crate) fn of(
        &mut self,
        trace: &ctf::Trace,
        stream: usize,
        plan: &StreamPlan,
        readers: &ForeignReaders,
    ) -> Option<&mut Tap> {
        if self.seen.get(stream) != Some(&plan.events().len()) {
            self.look(trace, stream, plan, readers);
        }
        self.tap.as_mut()
    }

    /// Looks for new classes that somebody wants.
    #[cold]
    fn look(
        &mut self,
        trace: &ctf::Trace,
        stream: usize,
        plan: &StreamPlan,
        readers: &ForeignReaders,
    ) {
        if self.seen.len() <= stream {
            self.seen.resize(stream + 1, 0);
        }
        let Some(seen) = self.seen.get_mut(stream) else { return };
        let new = plan.events().get(*seen..).unwrap_or_default();
        let before = std::mem::replace(seen, plan.events().len());
        let wanted = |event: &EventPlan| readers.of(provider(&event.name)).is_some();
        if self.tap.is_none() && !new.iter().any(wanted) {
            return;
        }
        let tap = self.tap.get_or_insert_with(|| Tap::new(trace));
        if tap.streams.len() <= stream {
            tap.streams.resize(stream + 1, Vec::new());
        }
        let new: Vec<_> = new.iter().map(|event| tap.class(event, readers)).collect();
        if let Some(classes) = tap.streams.get_mut(stream) {
            classes.resize(before, None);
            classes.extend(new);
        }
    }
}

/// What a trace hands to other sources.
pub(crate) struct Tap {
    host: Box<str>,
    feeds: Vec<(Box<str>, Box<dyn ForeignFeed>)>,
    /// By data stream class, then by event record class.
    streams: Vec<Vec<Option<Class>>>,
    /// The process of all events, in traces of one process.
    process: Option<u64>,
    payload: Vec<u8>,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap").field("feeds", &self.feeds.len()).finish_non_exhaustive()
    }
}

/// An event record class that is wanted.
#[derive(Clone, Debug)]
struct Class {
    /// Position among the feeds.
    feed: usize,
    number: u32,
    parts: Arc<[Part]>,
}

/// What becomes of the value of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Nothing,
    Process,
    Thread,
    /// So many bytes of a number.
    Number(usize),
    Single,
    Double,
    Text(Encoding),
    Bytes,
}

impl Tap {
    fn new(trace: &ctf::Trace) -> Self {
        let host = match trace.schema().env("hostname") {
            Some(EnvValue::Text(host)) => host,
            _ => "",
        };
        Self {
            host: host.into(),
            feeds: Vec::new(),
            streams: Vec::new(),
            process: number(trace, "vpid"),
            payload: Vec::new(),
        }
    }

    fn class(&mut self, event: &EventPlan, readers: &ForeignReaders) -> Option<Class> {
        let provider = provider(&event.name);
        let feed = match self.feeds.iter().position(|(name, _)| **name == *provider) {
            Some(feed) => feed,
            None => {
                self.feeds.push((provider.into(), readers.of(provider)?.open(&self.host)));
                self.feeds.len() - 1
            }
        };
        let name = event.name.get(provider.len() + 1..)?;
        let number = self.feeds.get_mut(feed)?.1.class(name)?;
        Some(Class { feed, number, parts: parts(event.nodes()) })
    }
}

fn number(trace: &ctf::Trace, key: &str) -> Option<u64> {
    match trace.schema().env(key)? {
        EnvValue::Integer(number) => u64::try_from(*number).ok(),
        EnvValue::Text(_) => None,
    }
}

/// What becomes of each node.
fn parts(nodes: &[Node]) -> Arc<[Part]> {
    let top = |node: &Node| {
        node.parent.is_some_and(|parent| {
            nodes.get(parent.index()).is_some_and(|parent| parent.parent.is_none())
        })
    };
    let is_blob = nodes.iter().any(|n| n.scope == Scope::Payload && top(n) && &*n.name == DATA);
    nodes
        .iter()
        .map(|node| match (node.scope, &*node.name) {
            _ if !top(node) => Part::Nothing,
            (Scope::CommonContext | Scope::Context, "vpid") => Part::Process,
            (Scope::CommonContext | Scope::Context, "vtid") => Part::Thread,
            (Scope::Payload, DATA) => Part::Bytes,
            (Scope::Payload, _) if !is_blob => part(node.kind),
            _ => Part::Nothing,
        })
        .collect()
}

const fn part(kind: Kind) -> Part {
    match kind {
        Kind::Unsigned(bits) | Kind::Signed(bits) | Kind::Boolean(bits) => match bits {
            8 | 16 | 32 | 64 => Part::Number(bits as usize / 8),
            _ => Part::Nothing,
        },
        Kind::Float(32) => Part::Single,
        Kind::Float(64) => Part::Double,
        Kind::String(encoding) => Part::Text(encoding),
        _ => Part::Nothing,
    }
}

/// The visitor of one packet: that of its records, and a tap beside it.
pub(crate) struct Tapped<'v, 't, V> {
    pub(crate) recorder: &'v mut V,
    tap: &'t mut Tap,
    stream: usize,
    timestamps: Timestamps<'t>,
    now: Now,
    /// The current event becomes a record.
    recorded: bool,
    current: Option<Current>,
}

/// An event that is being read.
struct Current {
    class: Class,
    cycles: u64,
    process: Option<u64>,
    thread: u64,
}

impl<'v, 't, V> Tapped<'v, 't, V> {
    pub(crate) const fn new(
        recorder: &'v mut V,
        tap: &'t mut Tap,
        stream: usize,
        timestamps: Timestamps<'t>,
        now: Now,
    ) -> Self {
        Self { recorder, tap, stream, timestamps, now, recorded: false, current: None }
    }

    fn number(&mut self, node: NodeId, value: u64) {
        let Some(current) = &mut self.current else { return };
        match current.class.parts.get(node.index()) {
            Some(Part::Number(bytes)) => {
                let raw = value.to_le_bytes();
                self.tap.payload.extend_from_slice(raw.get(..*bytes).unwrap_or_default());
            }
            Some(Part::Process) => current.process = Some(value),
            Some(Part::Thread) => current.thread = value,
            _ => {}
        }
    }

    fn part(&self, node: NodeId) -> Part {
        let parts = self.current.as_ref().map(|current| &current.class.parts);
        parts.and_then(|parts| parts.get(node.index())).copied().unwrap_or(Part::Nothing)
    }
}

impl<'t, 'a, V: EventVisitor<'t, 'a>> EventVisitor<'t, 'a> for Tapped<'_, '_, V> {
    fn ready(&mut self, event: &Event<'t>) -> bool {
        self.recorder.ready(event)
    }

    fn event(&mut self, event: &Event<'t>) -> bool {
        self.recorded = self.recorder.event(event);
        self.tap.payload.clear();
        let class = self.tap.streams.get(self.stream).and_then(|all| all.get(event.class.index));
        self.current = class.cloned().flatten().map(|class| Current {
            class,
            cycles: event.cycles,
            process: self.tap.process,
            thread: 0,
        });
        self.recorded || self.current.is_some()
    }

    fn skipped(&mut self) {
        self.recorder.skipped();
    }

    fn done(&mut self) {
        if self.recorded {
            self.recorder.done();
        } else {
            self.recorder.skipped();
        }
        let Some(Current { class, cycles, process, thread }) = self.current.take() else { return };
        let Tap { feeds, payload, .. } = &mut *self.tap;
        if let Some((_, feed)) = feeds.get_mut(class.feed) {
            let stamp = self.timestamps.stamp(cycles);
            let event = ForeignEvent { class: class.number, process, thread, stamp, payload };
            feed.event(self.now, &event);
        }
    }
}

impl<'a, V: Visitor<'a>> Visitor<'a> for Tapped<'_, '_, V> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        if self.recorded {
            self.recorder.unsigned(node, value);
        }
        self.number(node, value);
    }

    fn signed(&mut self, node: NodeId, value: i64) {
        if self.recorded {
            self.recorder.signed(node, value);
        }
        self.number(node, value.cast_unsigned());
    }

    #[expect(clippy::cast_possible_truncation, reason = "it was widened from 32 bits")]
    fn float(&mut self, node: NodeId, value: f64) {
        if self.recorded {
            self.recorder.float(node, value);
        }
        match self.part(node) {
            Part::Single => {
                self.tap.payload.extend_from_slice(&(value as f32).to_le_bytes());
            }
            Part::Double => self.tap.payload.extend_from_slice(&value.to_le_bytes()),
            _ => {}
        }
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        if self.recorded {
            self.recorder.string(node, value);
        }
        if let Part::Text(encoding) = self.part(node) {
            let text = decode_string(value, encoding);
            let units = text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes);
            self.tap.payload.extend(units);
        }
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        if self.recorded {
            self.recorder.blob(node, value);
        }
        if self.part(node) == Part::Bytes {
            self.tap.payload.extend_from_slice(value);
        }
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        if self.part(node) == Part::Bytes {
            self.tap.payload.extend_from_slice(items.bytes());
        }
        if self.recorded {
            self.recorder.packed(node, items);
        }
    }

    fn open(&mut self, node: NodeId, count: u64) {
        if self.recorded {
            self.recorder.open(node, count);
        }
    }

    fn close(&mut self, node: NodeId) {
        if self.recorded {
            self.recorder.close(node);
        }
    }
}

#[cfg(test)]
#[path = "tests/tap.rs"]
mod tests;
