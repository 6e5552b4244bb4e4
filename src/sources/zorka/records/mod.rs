//! Event records of spans and exceptions, from the same body that the meter counts: `event.span` for each
//! counted span, `event.exception` for each report of an exception in a record that is counted.

mod draft;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;

pub(crate) use self::draft::Allowed;

use std::fmt::Write;

use self::draft::{Draft, Role, public, push, push_id};
use super::limits::{
    RECORD_ATTRIBUTES, RECORD_MESSAGE, RECORD_NAME, RECORD_STATEMENT, RECORD_VALUE,
};
use super::meter::{TraceContext, dialect, write_name};
use super::metrics as m;
use super::names::Names;
use super::shape::{Counted, Shape, Top};
use super::wire::{
    Attribute, AttributeValue, Begin, ClassName, Dialect, Exception, FLAG_ERROR, FLAG_OVERFLOW,
    NONE, Record, TraceBody,
};
use crate::contract::Peer;
use crate::events::flags::{ID, PARENT, POINT};
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

/// Makes records; has memory that is used again from body to body and from agent to agent.
#[derive(Debug, Default)]
pub(crate) struct SpanRecords {
    shape: Shape,
    top: Top,
    draft: Draft,
    /// Attributes that are shown: record, position, role.
    shown: Vec<(u32, u32, Role)>,
    /// Exceptions: record, position.
    exceptions: Vec<(u32, u32)>,
    name: String,
}

crate::heap_size!(SpanRecords { shape, top, draft, shown, exceptions, name });

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
        for n in 0..self.shape.spans.len() {
            self.span(spans, n, peer);
        }
        for exception in &spans.body.exceptions {
            self.exception(spans, exception, peer);
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
        let Self { shape, top, draft, shown, exceptions, name } = self;
        let Some(span) = shape.spans.get(n) else { return };
        let Some((record, begin)) = spans.at(span) else { return };
        draft.clear();
        let parent = match begin.parent {
            0 => {
                shape.spans.get(span.outer as usize).and_then(|o| spans.at(o)).map_or(0, |o| o.1.id)
            }
            id => id,
        };
        let flags = POINT | ids(draft, begin.id, parent);
        spans.common(draft, begin);
        write_name(name, record.method, false, spans.names);
        draft.text(m::P_METHOD, |to| push(to, name.as_bytes(), RECORD_NAME));
        let method = spans.names.get_method(record.method);
        if let Some(signature) = method.and_then(|method| spans.names.symbol(method.signature)) {
            draft.text(m::P_SIGNATURE, |to| push(to, signature.as_bytes(), RECORD_NAME));
        }
        draft.number(m::P_DURATION, record.duration);
        draft.number(m::P_CALLS, record.calls);
        draft.number(m::P_RECORDS, (span.end - span.record).into());
        let error = record.flags & FLAG_ERROR != 0 || record.exceptions > 0;
        draft.positive(m::P_ERROR, error.into());
        draft.positive(m::P_OVERFLOW, (record.flags & FLAG_OVERFLOW != 0).into());
        draft.positive(m::P_NESTED, (record.parent != NONE).into());
        draft.positive(m::P_DEPTH, span.depth.into());

        let first = shown.partition_point(|(of, ..)| *of < span.record);
        let end = shown.partition_point(|(of, ..)| *of <= span.record);
        let own = shown.get(first..end).unwrap_or_default();
        let attribute = |at: u32| spans.body.attributes.get(at as usize);
        for (_, at, role) in own.iter().rev() {
            // The last of several values counts.
            if let (Role::Text(item) | Role::Url(item), Some(attribute)) = (*role, attribute(*at)) {
                let limit = if item == m::P_DB_STATEMENT { RECORD_STATEMENT } else { RECORD_VALUE };
                let is_url = matches!(role, Role::Url(_));
                draft.text(item, |to| {
                    value(to, &attribute.value, spans.context.bytes, limit, is_url)
                });
            }
        }
        draft.text(m::P_SERVICE, |to| push(to, spans.service.as_bytes(), RECORD_VALUE));
        draft.text(m::P_ATTRIBUTES, |to| {
            let begin = to.len();
            let others = own.iter().filter(|(_, _, role)| *role == Role::Other);
            others.filter_map(|(_, at, _)| attribute(*at)).for_each(|a| spans.other(to, begin, a));
        });
        // The exception of its own record; that of a call within it if it failed.
        let own = record.exceptions > 0;
        let report = if own { span.record } else { span.report };
        let found = exceptions.binary_search_by_key(&report, |(of, _)| *of);
        if let Some((_, at)) = found.ok().filter(|_| error).and_then(|at| exceptions.get(at))
            && let Some(exception) = spans.body.exceptions.get(*at as usize)
        {
            spans.describe(draft, exception);
        }
        if span.end - span.record > 1 {
            let inner = shape.spans.get(n + 1..).unwrap_or_default();
            let top = top.find(&spans.body.records, span, inner);
            draft.text(m::P_TOP, |to| {
                let begin = to.len();
                for (method, time) in top {
                    write_name(name, method, false, spans.names);
                    let space = if to.len() == begin { "" } else { " " };
                    let _ = write!(to, "{space}{}={time}", short(name));
                }
            });
        }
        draft.send(m::SPAN, spans.time(&shape.spans, span), flags, peer);
    }

    fn exception(&mut self, spans: &Spans<'_>, exception: &Exception, peer: &mut Peer) {
        let Self { shape, draft, name, .. } = self;
        let Ok(found) = shape.reports.binary_search_by_key(&exception.record, |(of, _)| *of) else {
            return;
        };
        let Some(record) = spans.body.records.get(exception.record as usize) else { return };
        let span = shape.reports.get(found).and_then(|(_, span)| shape.spans.get(*span as usize));
        draft.clear();
        let mut flags = POINT;
        let mut time = spans.now;
        if let Some((span, (of, begin))) = span.and_then(|span| Some((span, spans.at(span)?))) {
            flags |= ids(draft, begin.id, 0);
            spans.common(draft, begin);
            let since = elapsed(of, record) + i128::from(record.duration);
            time = later(spans.time(&shape.spans, span), since.clamp(0, of.duration.into()));
        }
        write_name(name, record.method, false, spans.names);
        draft.text(m::P_METHOD, |to| push(to, name.as_bytes(), RECORD_NAME));
        draft.text(m::P_SERVICE, |to| push(to, spans.service.as_bytes(), RECORD_VALUE));
        spans.describe(draft, exception);
        draft.send(m::EXCEPTION, time, flags, peer);
    }
}

/// The counted span that begins in a record.
fn span_at(spans: &[Counted], record: u32) -> Option<&Counted> {
    let at = spans.binary_search_by_key(&record, |span| span.record).ok()?;
    spans.get(at)
}

/// Adds ids, which come first; returns the flags that say so.
fn ids(draft: &mut Draft, id: u64, parent: u64) -> u32 {
    let mut flags = 0;
    for (item, id, flag) in [(m::P_SPAN, id, ID), (m::P_PARENT, parent, PARENT)] {
        if id != 0 {
            draft.text(item, |to| push_id(to, id));
            flags |= flag;
        }
    }
    flags
}

impl Spans<'_> {
    fn at(&self, span: &Counted) -> Option<(&Record, &Begin)> {
        let record = self.body.records.get(span.record as usize)?;
        Some((record, self.body.spans.get(record.span as usize)?))
    }

    /// Adds what records of spans and exceptions have in common.
    fn common(&self, draft: &mut Draft, begin: &Begin) {
        let id = self.context.trace_id.unwrap_or_default();
        draft.text(m::P_TRACE, |to| push(to, id.as_bytes(), RECORD_NAME));
        if begin.kind != 0 {
            draft.text(m::P_TYPE, |to| self.symbol(to, begin.kind));
        }
        if let Some(first) = self.body.records.first() {
            let name = dialect(first.dialect, self.context.base64);
            draft.text(m::P_DIALECT, |to| to.push_str(name));
        }
    }

    /// Appends a symbol, or `#` and its number.
    fn symbol(&self, to: &mut String, id: u32) {
        match self.names.symbol(id) {
            Some(text) => push(to, text.as_bytes(), RECORD_NAME),
            None => drop(write!(to, "#{id}")),
        }
    }

    /// Appends `name=value` to the parameter `attributes`, which begins at `begin`.
    fn other(&self, to: &mut String, begin: usize, attribute: &Attribute) {
        let start = to.len();
        if start > begin {
            to.push(' ');
        }
        self.symbol(to, attribute.name);
        to.push('=');
        let named = to.len();
        let bytes = self.context.bytes;
        let is_url = match &attribute.value {
            AttributeValue::Text(text) => memchr::memmem::find(text.of(bytes), b"://").is_some(),
            _ => false,
        };
        value(to, &attribute.value, bytes, RECORD_VALUE, is_url);
        if to.len() == named || to.len() - begin > RECORD_ATTRIBUTES {
            to.truncate(start);
        }
    }

    /// Adds an exception.
    fn describe(&self, draft: &mut Draft, exception: &Exception) {
        let bytes = self.context.bytes;
        draft.text(m::P_EXCEPTION_CLASS, |to| match exception.class {
            ClassName::Symbol(id) => self.symbol(to, id),
            ClassName::Text(text) => push(to, text.of(bytes), RECORD_NAME),
        });
        if let Some(message) = exception.message {
            let message = message.of(bytes);
            draft.text(m::P_EXCEPTION_MESSAGE, |to| push(to, message, RECORD_MESSAGE));
        }
        if let Some(frame) = exception.first {
            draft.text(m::P_EXCEPTION_FRAME, |to| {
                self.symbol(to, frame.class);
                to.push('.');
                self.symbol(to, frame.method);
                to.push('(');
                if frame.file != 0 {
                    self.symbol(to, frame.file);
                }
                if frame.line != 0 {
                    let _ = write!(to, ":{}", frame.line);
                }
                to.push(')');
            });
        }
        draft.positive(m::P_EXCEPTION_FRAMES, exception.frames.into());
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
fn value(to: &mut String, value: &AttributeValue, body: &[u8], max: usize, is_url: bool) {
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
