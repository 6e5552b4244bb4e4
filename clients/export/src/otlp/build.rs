//! Records as spans with their events.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use crate::exporter::{Exporter, Summary};
use crate::meaning::{Attribute, Attributes, Identity, Ids, Item, Role, SpanId};
use crate::model::Record;
use crate::tree::{Node, Tree};

use super::batch::{Batch, Form};
use super::between::Streams;
use super::hold::{Held, Hold};
use super::span::{Event, Span};

/// What becomes a span.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice {
    /// Not only calls, activities and exceptions, but all records.
    pub all: bool,
    /// ns that are added to all times.
    pub shift: i64,
}

/// What takes requests.
pub(super) trait Target {
    /// Takes one, and delivers it now or later, in this order.
    fn send(&mut self, batch: Batch) -> io::Result<()>;
    /// Whether it should get one now.
    fn is_ready(&self) -> bool;
    /// All are delivered, or given up.
    fn finish(&mut self) -> io::Result<Summary>;
}

/// Records to OTLP.
pub struct Otlp {
    choice: Choice,
    form: Form,
    ids: Ids,
    hold: Hold,
    batch: Batch,
    target: Box<dyn Target>,
    /// Spans that were delivered before this program was started.
    pub(super) known: HashSet<SpanId>,
    pub(super) streams: Streams,
}

impl Otlp {
    pub(super) fn new(
        choice: Choice,
        form: Form,
        target: Box<dyn Target>,
        known: HashSet<SpanId>,
    ) -> Self {
        let (ids, hold, streams) = Default::default();
        Self { choice, form, ids, hold, batch: Batch::new(form), target, known, streams }
    }

    /// `noted`: that it was delivered is remembered.
    fn put(&mut self, record: &Record, mut span: Span<'_>, noted: bool) -> io::Result<()> {
        let (stream, first) = self.streams.meet(&record.origin);
        if self.known.contains(&span.span) {
            return Ok(());
        }
        if first && self.known.contains(&stream) {
            self.streams.gap(record);
        }
        let shift = self.choice.shift;
        if shift != 0 {
            let events = span.events.iter_mut().map(|event| &mut event.time);
            for time in events.chain([&mut span.start, &mut span.end]) {
                *time = time.saturating_add(shift);
            }
            span.attributes.set("apm.shift", Attribute::Int(shift));
        }
        if !self.batch.add(record, &span, noted) {
            self.flush()?;
            self.batch.add(record, &span, noted);
        }
        if noted {
            self.batch.note_stream(stream);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.target.send(std::mem::replace(&mut self.batch, Batch::new(self.form)))
    }

    /// A span that says how many records are not there: backends have no other place for it.
    fn missed(&mut self, record: &Record, identity: &Identity) -> io::Result<()> {
        let mut attributes = Attributes::default();
        let missed = i64::try_from(record.missed).unwrap_or(i64::MAX);
        attributes.set("apm.missed", Attribute::Int(missed));
        attributes.set_text("apm.record", &*record.origin.full);
        let at = record.time.max(0);
        let span = Span {
            trace: identity.trace,
            span: Ids::below(identity.trace, identity.span, "missed"),
            parent: None,
            name: format!("{missed} records missed").into(),
            role: Role::Internal,
            start: at,
            end: at,
            attributes,
            events: Vec::new(),
            dropped: 0,
            failed: Some(Cow::Borrowed("")),
        };
        self.put(record, span, true)
    }

    /// The tree of a call as spans below it. Its last one is noted for all: before it, all were delivered.
    fn tree(&mut self, record: &Record, tree: &Tree<'_>) -> io::Result<()> {
        let call = crate::tree::call(record);
        let nodes = tree.nodes();
        let id = |node: &Node<'_>| {
            Ids::below(call.trace, call.span, &format!("{} {}", node.number, node.name))
        };
        let last = nodes.last().map(id);
        if last.is_some_and(|last| self.known.contains(&last)) {
            self.streams.meet(&record.origin);
            return Ok(());
        }
        // Of each level: the newest span.
        let mut open = vec![call.span];
        for node in nodes {
            open.truncate(node.depth);
            let own = id(&node);
            let span = Span {
                trace: call.trace,
                span: own,
                parent: open.last().copied(),
                name: Cow::Borrowed(node.name),
                role: Role::Internal,
                start: node.start,
                end: node.end,
                attributes: node.attributes(),
                events: Vec::new(),
                dropped: 0,
                failed: None,
            };
            open.push(own);
            self.put(record, span, last == Some(own))?;
        }
        Ok(())
    }

    fn release(&mut self, held: &Held) -> io::Result<()> {
        let item = Item::new(&held.record);
        let attributes = Attributes::of(&item, Some(&held.identity));
        let mut events: Vec<Event<'_>> = held.events.iter().map(|of| event(of, &item)).collect();
        let named =
            held.key().filter(|_| item.is_exception()).map(|_| crate::tree::call(&held.record));
        let failed = (item.failed() || item.is_exception()).then(|| message(&attributes));
        if item.is_exception() {
            events.push(event(&held.record, &item));
        }
        events.sort_by_key(|event| event.time);
        let span = Span {
            trace: held.identity.trace,
            span: held.identity.span,
            parent: named.map_or(held.identity.parent, |call| Some(call.span)),
            name: item.name(),
            role: item.role(),
            start: item.start,
            end: item.end(),
            attributes,
            events,
            dropped: held.dropped,
            failed,
        };
        self.put(&held.record, span, true)
    }
}

/// An exception or a stop within a span.
fn event<'a>(record: &'a Arc<Record>, within: &Item<'_>) -> Event<'a> {
    let item = Item::new(record);
    let of = Attributes::of(&item, None);
    if item.is_exception() {
        return Event { time: item.start, name: "exception".into(), attributes: of };
    }
    // The record itself is a span of its own, if at all.
    let mut attributes = Attributes::default();
    for (name, value) in of.iter().filter(|(name, _)| *name != "apm.record") {
        attributes.set(name.to_owned(), value.clone());
    }
    let (name, length) =
        if item.is_stop() { ("gc.pause", "apm.pause") } else { ("lock.wait", "apm.wait") };
    let long = i64::try_from(item.length.unwrap_or(0)).unwrap_or(i64::MAX);
    attributes.set(length, Attribute::Int(long));
    // One that began before the span is at its begin.
    Event { time: item.start.max(within.start), name: name.into(), attributes }
}

fn message<'a>(attributes: &Attributes<'a>) -> Cow<'a, str> {
    match attributes.get("exception.message") {
        Some(Attribute::Text(text)) => text.clone(),
        _ => Cow::Borrowed(""),
    }
}

impl Exporter for Otlp {
    fn add(&mut self, record: &Record, now: Instant) -> io::Result<()> {
        let item = Item::new(record);
        let identity = self.ids.of(&item);
        if record.missed > 0 {
            self.missed(record, &identity)?;
        }
        if item.is_loss() {
            return Ok(());
        }
        if let Some(tree) = Tree::of(record) {
            return self.tree(record, &tree);
        }
        let shared = Arc::new(record.clone());
        // With all they are spans of their own, and not events as well.
        let stands = item.is_stop() || &*record.origin.kind == "contention";
        if stands && !self.choice.all {
            self.hold.stop(&shared);
        }
        let own = item.is_call() || item.is_exception() || record.paired.is_some();
        if own || self.choice.all {
            self.hold.add(shared, identity, now);
        }
        while let Some(held) = self.hold.next(None) {
            self.release(&held)?;
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant) -> io::Result<()> {
        while let Some(held) = self.hold.next(Some(now)) {
            self.release(&held)?;
        }
        self.flush()
    }

    fn is_ready(&self) -> bool {
        self.target.is_ready()
    }

    fn finish(&mut self) -> io::Result<Summary> {
        while let Some(held) = self.hold.rest() {
            self.release(&held)?;
        }
        self.flush()?;
        self.target.finish()
    }
}
