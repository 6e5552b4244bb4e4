//! Event records of spans and exceptions, from the same body that the meter counts: `event.span` for each
//! counted span, `event.exception` for each report of an exception in a record that is counted.

mod attributes;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;

pub(crate) use self::attributes::Allowed;

use std::cell::OnceCell;
use std::fmt::Write;
use std::hash::BuildHasher as _;
use std::time::Duration;

use foldhash::quality::FixedState;

use self::attributes::{Role, public, push, push_id};
use super::limits::{
    RECORD_ATTRIBUTES, RECORD_MESSAGE, RECORD_NAME, RECORD_STATEMENT, RECORD_VALUE,
};
use super::meter::{TraceContext, dialect, write_name};
use super::metrics as m;
use super::names::Names;
use super::shape::{Counted, Shape, Top};
use super::trees::{LEAST, Trees, tree};
use super::wire::{
    Attribute, AttributeValue, Begin, ClassName, Dialect, Exception, FLAG_ERROR, FLAG_OVERFLOW,
    NONE, Record, TraceBody,
};
use crate::contract::{Peer, Record as EventRecord};
use crate::events::flags::{ID, PARENT, POINT};
use crate::events::{Batch, TextWriter};
use crate::model::Stamp;

/// Most nanoseconds between the clock of a span within another one and its place in that one, if
/// they belong together: the clock is in milliseconds.
const CLOCK_STEP: i128 = 2_000_000;

/// A body whose spans become records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spans<'a> {
    /// Time of arrival.
    pub(crate) now: Stamp,
    pub(crate) context: TraceContext<'a>,
    pub(crate) body: &'a TraceBody,
    pub(crate) names: &'a Names,
    /// The service of spans that have no `local.service`; may be empty.
    pub(crate) service: &'a str,
}

/// The ids of a body's spans.
#[derive(Clone, Copy, Debug)]
struct Ids<'a> {
    spans: &'a Spans<'a>,
    /// All that are counted.
    all: &'a [Counted],
    /// Of all bytes of the body, once it is needed.
    hash: &'a OnceCell<u64>,
}

impl Ids<'_> {
    /// The id of a span. Of one whose agent gave none it is made of the body and its place there: the same when the body comes again.
    fn of(&self, span: &Counted, begin: &Begin) -> u64 {
        if begin.id != 0 {
            return begin.id;
        }
        let state = FixedState::default();
        let body = self.hash.get_or_init(|| state.hash_one(self.spans.context.bytes));
        state.hash_one((*body, span.record)).max(1)
    }

    /// The id of the span that caused it; 0: none is known.
    fn parent(&self, span: &Counted, begin: &Begin) -> u64 {
        if begin.parent != 0 {
            return begin.parent;
        }
        let outer = self.all.get(span.outer as usize);
        outer.and_then(|of| Some(self.of(of, self.spans.at(of)?.1))).unwrap_or_default()
    }
}

/// Makes records; has memory that is used again from body to body and from agent to agent.
#[derive(Debug, Default)]
pub(crate) struct SpanRecords {
    shape: Shape,
    top: Top,
    /// Attributes that are shown: record, position, role.
    shown: Vec<(u32, u32, Role)>,
    /// Exceptions: record, position.
    exceptions: Vec<(u32, u32)>,
    name: String,
    /// See [`Ids`].
    hash: OnceCell<u64>,
}

crate::heap_size!(SpanRecords { shape, top, shown, exceptions, name });

impl SpanRecords {
    /// Reports the records of a body.
    pub(crate) fn emit(&mut self, spans: &Spans<'_>, allowed: &Allowed, peer: &mut Peer) {
        self.shape.find(spans.body, spans.context.copies);
        if self.shape.spans.is_empty() && self.shape.reports.is_empty() {
            return;
        }
        self.attributes(spans, allowed);
        self.exceptions.clear();
        let exceptions = (0..).zip(&spans.body.exceptions);
        self.exceptions.extend(exceptions.map(|(at, exception)| (exception.record, at)));
        self.exceptions.sort_unstable();
        self.hash = OnceCell::new();
        for n in 0..self.shape.spans.len() {
            self.span(spans, n, peer);
        }
        for exception in &spans.body.exceptions {
            self.exception(spans, exception, peer);
        }
    }

    /// Keeps the trees of the slowest spans of the body that was told last, if somebody reads trees.
    pub(crate) fn trees(
        &mut self,
        spans: &Spans<'_>,
        now: Duration,
        trees: &mut Trees,
        peer: &mut Peer,
    ) {
        let Self { shape, name, hash, .. } = self;
        for span in shape.spans.iter().filter(|span| span.outer == NONE) {
            let Some((record, begin)) = spans.at(span) else { continue };
            let Some(ticket) = trees.offer(now, record.duration) else { continue };
            let Some(tree) = tree(&spans.body.records, span, spans.context.copies) else {
                continue;
            };
            let text = tree.text(trees.size(), LEAST, false, |method| {
                write_name(name, method, false, spans.names);
                name.clone()
            });
            let partial = record.flags & FLAG_OVERFLOW != 0;
            peer.add(m::TREES_PARTIAL, partial.into());
            let mut batch = Batch::default();
            let id = Ids { spans, all: &shape.spans, hash }.of(span, begin);
            batch.record(spans.time(&shape.spans, span), POINT | PARENT);
            let mut to = peer.newest(&mut batch);
            // It is a child of its span.
            ids(&mut to, 0, id);
            ids(&mut to, id, 0);
            spans.common(&mut to, begin);
            write_name(name, record.method, false, spans.names);
            to.write(m::P_METHOD, |text| push(text, name.as_bytes(), RECORD_NAME));
            to.write(m::P_SERVICE, |text| push(text, spans.service.as_bytes(), RECORD_VALUE));
            to.number(m::P_DURATION, record.duration);
            to.number(m::P_CALLS, record.calls);
            let error = record.flags & FLAG_ERROR != 0 || record.exceptions > 0;
            to.positive(m::P_ERROR, error.into());
            to.text(m::P_TREE, &text.text);
            to.number(m::P_NODES, text.nodes as u64);
            to.positive(m::P_PARTIAL, partial.into());
            trees.keep(ticket, batch, peer);
        }
    }

    /// Finds the attributes that are shown.
    fn attributes(&mut self, spans: &Spans<'_>, allowed: &Allowed) {
        let Self { shape, shown, .. } = self;
        shown.clear();
        for (at, attribute) in (0..).zip(&spans.body.attributes) {
            if span_at(&shape.spans, attribute.record).is_some()
                && let Some(role) = spans.names.symbol(attribute.name).and_then(|n| allowed.role(n))
            {
                shown.push((attribute.record, at, role));
            }
        }
        if !shown.is_sorted_by_key(|(record, at, _)| (*record, *at)) {
            shown.sort_unstable_by_key(|(record, at, _)| (*record, *at));
        }
    }

    fn span(&mut self, spans: &Spans<'_>, n: usize, peer: &mut Peer) {
        let Self { shape, top, shown, exceptions, name, hash } = self;
        let Some(span) = shape.spans.get(n) else { return };
        let Some((record, begin)) = spans.at(span) else { return };
        let own = Ids { spans, all: &shape.spans, hash };
        let (id, parent) = (own.of(span, begin), own.parent(span, begin));
        let flags = POINT | flags(id, parent);
        peer.record(m::SPAN, spans.time(&shape.spans, span), flags, |to| {
            ids(to, id, parent);
            spans.common(to, begin);
            write_name(name, record.method, false, spans.names);
            to.write(m::P_METHOD, |text| push(text, name.as_bytes(), RECORD_NAME));
            let method = spans.names.get_method(record.method);
            if let Some(signature) = method.and_then(|method| spans.names.symbol(method.signature))
            {
                to.write(m::P_SIGNATURE, |text| push(text, signature.as_bytes(), RECORD_NAME));
            }
            to.number(m::P_DURATION, record.duration);
            to.number(m::P_CALLS, record.calls);
            to.number(m::P_RECORDS, (span.end - span.record).into());
            let error = record.flags & FLAG_ERROR != 0 || record.exceptions > 0;
            to.positive(m::P_ERROR, error.into());
            to.positive(m::P_OVERFLOW, (record.flags & FLAG_OVERFLOW != 0).into());
            to.positive(m::P_NESTED, (record.parent != NONE).into());
            to.positive(m::P_DEPTH, span.depth.into());

            let first = shown.partition_point(|(of, ..)| *of < span.record);
            let end = shown.partition_point(|(of, ..)| *of <= span.record);
            let own = shown.get(first..end).unwrap_or_default();
            let attribute = |at: u32| spans.body.attributes.get(at as usize);
            for (_, at, role) in own.iter().rev() {
                // The last of several values counts.
                if let (Role::Text(item) | Role::Url(item), Some(attribute)) =
                    (*role, attribute(*at))
                {
                    let limit =
                        if item == m::P_DB_STATEMENT { RECORD_STATEMENT } else { RECORD_VALUE };
                    let is_url = matches!(role, Role::Url(_));
                    to.write(item, |text| {
                        value(text, &attribute.value, spans.context.bytes, limit, is_url)
                    });
                }
            }
            to.write(m::P_SERVICE, |text| push(text, spans.service.as_bytes(), RECORD_VALUE));
            to.write(m::P_ATTRIBUTES, |text| {
                let others = own.iter().filter(|(_, _, role)| *role == Role::Other);
                others.filter_map(|(_, at, _)| attribute(*at)).for_each(|a| spans.other(text, a));
            });
            // The exception of its own record; that of a call within it if it failed.
            let own = record.exceptions > 0;
            let report = if own { span.record } else { span.report };
            let found = exceptions.binary_search_by_key(&report, |(of, _)| *of);
            if let Some((_, at)) = found.ok().filter(|_| error).and_then(|at| exceptions.get(at))
                && let Some(exception) = spans.body.exceptions.get(*at as usize)
            {
                spans.describe(to, exception);
            }
            if span.end - span.record > 1 {
                let inner = shape.spans.get(n + 1..).unwrap_or_default();
                let top = top.find(&spans.body.records, span, inner);
                to.write(m::P_TOP, |text| {
                    for (method, time) in top {
                        write_name(name, method, false, spans.names);
                        let _ = text.pair(|to| to.push(short(name)), |to| write!(to, "{time}"));
                    }
                });
            }
        });
    }

    fn exception(&mut self, spans: &Spans<'_>, exception: &Exception, peer: &mut Peer) {
        let Self { shape, name, hash, .. } = self;
        let Ok(found) = shape.reports.binary_search_by_key(&exception.record, |(of, _)| *of) else {
            return;
        };
        let Some(record) = spans.body.records.get(exception.record as usize) else { return };
        let span = shape.reports.get(found).and_then(|(_, span)| shape.spans.get(*span as usize));
        let within = span.and_then(|span| Some((span, spans.at(span)?)));
        let (mut id, mut time) = (0, spans.now);
        if let Some((span, (of, begin))) = within {
            let since = elapsed(of, record) + i128::from(record.duration);
            time = later(spans.time(&shape.spans, span), since.clamp(0, of.duration.into()));
            id = Ids { spans, all: &shape.spans, hash }.of(span, begin);
        }
        peer.record(m::EXCEPTION, time, POINT | flags(id, 0), |to| {
            ids(to, id, 0);
            if let Some((_, (_, begin))) = within {
                spans.common(to, begin);
            }
            write_name(name, record.method, false, spans.names);
            to.write(m::P_METHOD, |text| push(text, name.as_bytes(), RECORD_NAME));
            to.write(m::P_SERVICE, |text| push(text, spans.service.as_bytes(), RECORD_VALUE));
            spans.describe(to, exception);
        });
    }
}

/// The counted span that begins in a record.
fn span_at(spans: &[Counted], record: u32) -> Option<&Counted> {
    let at = spans.binary_search_by_key(&record, |span| span.record).ok()?;
    spans.get(at)
}

/// Flags of a record with these ids; 0: there is none.
const fn flags(id: u64, parent: u64) -> u32 {
    (if id == 0 { 0 } else { ID }) | if parent == 0 { 0 } else { PARENT }
}

/// Adds ids, which come first.
fn ids(to: &mut EventRecord<'_>, id: u64, parent: u64) {
    for (item, id) in [(m::P_SPAN, id), (m::P_PARENT, parent)] {
        if id != 0 {
            to.write(item, |text| push_id(text, id));
        }
    }
}

impl Spans<'_> {
    fn at(&self, span: &Counted) -> Option<(&Record, &Begin)> {
        let record = self.body.records.get(span.record as usize)?;
        Some((record, self.body.spans.get(record.span as usize)?))
    }

    /// Adds what records of spans and exceptions have in common.
    fn common(&self, to: &mut EventRecord<'_>, begin: &Begin) {
        let id = self.context.trace_id.unwrap_or_default();
        to.write(m::P_TRACE, |text| push(text, id.as_bytes(), RECORD_NAME));
        if begin.kind != 0 {
            to.write(m::P_TYPE, |text| self.symbol(text, begin.kind));
        }
        if let Some(first) = self.body.records.first() {
            let name = dialect(first.dialect, self.context.base64);
            to.write(m::P_DIALECT, |text| text.push(name));
        }
    }

    /// Appends a symbol, or `#` and its number.
    fn symbol(&self, to: &mut TextWriter<'_>, id: u32) {
        match self.names.symbol(id) {
            Some(text) => push(to, text.as_bytes(), RECORD_NAME),
            None => drop(write!(to, "#{id}")),
        }
    }

    /// Appends `name=value` to the parameter `attributes`.
    fn other(&self, to: &mut TextWriter<'_>, attribute: &Attribute) {
        let start = to.len();
        let bytes = self.context.bytes;
        let is_url = match &attribute.value {
            AttributeValue::Text(text) => memchr::memmem::find(text.of(bytes), b"://").is_some(),
            _ => false,
        };
        let named = |to: &mut TextWriter<'_>| self.symbol(to, attribute.name);
        let has_value = to.pair(named, |to| {
            value(to, &attribute.value, bytes, RECORD_VALUE, is_url);
            !to.is_empty()
        });
        if !has_value || to.len() > RECORD_ATTRIBUTES {
            to.truncate(start);
        }
    }

    /// Adds an exception.
    fn describe(&self, record: &mut EventRecord<'_>, exception: &Exception) {
        let bytes = self.context.bytes;
        record.write(m::P_EXCEPTION_CLASS, |to| match exception.class {
            ClassName::Symbol(id) => self.symbol(to, id),
            ClassName::Text(text) => push(to, text.of(bytes), RECORD_NAME),
        });
        if let Some(message) = exception.message {
            let message = message.of(bytes);
            record.write(m::P_EXCEPTION_MESSAGE, |to| push(to, message, RECORD_MESSAGE));
        }
        if let Some(frame) = exception.first {
            record.write(m::P_EXCEPTION_FRAME, |to| {
                self.symbol(to, frame.class);
                to.push(".");
                self.symbol(to, frame.method);
                to.push("(");
                if frame.file != 0 {
                    self.symbol(to, frame.file);
                }
                if frame.line != 0 {
                    let _ = write!(to, ":{}", frame.line);
                }
                to.push(")");
            });
        }
        record.positive(m::P_EXCEPTION_FRAMES, exception.frames.into());
    }

    /// The start of a span: its clock. In a modern body the place within the outermost span around
    /// it is more precise.
    fn time(&self, all: &[Counted], span: &Counted) -> Stamp {
        let Some((record, begin)) = self.at(span) else { return self.now };
        let own = Stamp::from_millis(begin.clock);
        let outer = all.get(span.outer as usize).and_then(|outer| self.at(outer));
        let Some((outer, around)) = outer.filter(|_| record.dialect == Dialect::Modern) else {
            return own;
        };
        let placed = later(Stamp::from_millis(around.clock), elapsed(outer, record));
        let apart = (placed.as_nanos() - own.as_nanos()).abs();
        if apart <= CLOCK_STEP { placed } else { own }
    }
}

/// Nanoseconds between the starts of two records.
fn elapsed(from: &Record, to: &Record) -> i128 {
    let unit = match to.dialect {
        Dialect::Legacy | Dialect::Interim => 65_536,
        Dialect::Modern | Dialect::Streaming | Dialect::Note => 1,
    };
    (i128::from(to.start) - i128::from(from.start)) * unit
}

fn later(stamp: Stamp, ns: i128) -> Stamp {
    Stamp::from_nanos(stamp.as_nanos() + ns)
}

/// Appends the value of an attribute; nothing for the text `null`, which agents write where there
/// is no value, and for arrays and maps.
fn value(to: &mut TextWriter<'_>, value: &AttributeValue, body: &[u8], max: usize, is_url: bool) {
    let _ = match value {
        AttributeValue::Text(text) => {
            let text = text.of(body);
            if text != b"null" {
                let [first, second] = if is_url { public(text) } else { [text, b""] };
                let start = to.len();
                push(to, first, max);
                push(to, second, max.saturating_sub(to.len() - start));
            }
            Ok(())
        }
        AttributeValue::Int(value) => write!(to, "{value}"),
        AttributeValue::Float(value) => write!(to, "{value}"),
        AttributeValue::Bool(value) => write!(to, "{value}"),
        AttributeValue::Null | AttributeValue::Other(_) => Ok(()),
    };
}

/// `Class.method` of `package.Class.method`.
fn short(name: &str) -> &str {
    name.rmatch_indices('.').nth(1).and_then(|(dot, _)| name.get(dot + 1..)).unwrap_or(name)
}
