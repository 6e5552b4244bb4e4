//! The walk over the records of a body, without those that were counted before.

use std::time::Duration;

use super::methods::{Called, Exceptions, Methods, OUTERMOST, Stacks, unresolved};
use super::rows::{Attributes, Known, SpanSums, Types, kind_of, text};
use crate::contract::Peer;
use crate::meter::MergedLatency;
use crate::model::HeapSize;
use crate::sources::zorka::metrics as m;
use crate::sources::zorka::names::Names;
use crate::sources::zorka::wire::{
    Begin, Dialect, FLAG_CLOSED, FLAG_ERROR, FLAG_OVERFLOW, FLAG_SENT, NONE, Record, TraceBody,
};

/// Slot of an open record without an end.
const UNTIMED: u32 = u32::MAX;

/// What the configuration says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Names of methods have the types of their arguments.
    pub(crate) signatures: bool,
    /// Statements have rows.
    pub(crate) statements: bool,
    /// Stacks have rows.
    pub(crate) stacks: bool,
}

/// A record that contains the present one.
#[derive(Clone, Copy, Debug)]
struct Open {
    record: u32,
    /// Slot of its method.
    slot: u32,
    /// Its stack.
    stack: u32,
    /// It is a span that is counted, or within one.
    in_span: bool,
}

/// An attribute of a counted span that sums are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    record: u32,
    known: Known,
    /// Position of the attribute.
    at: u32,
}

/// Sums of an agent that is not idle.
#[derive(Debug)]
pub(crate) struct Sums {
    pub(crate) methods: Methods,
    types: Types,
    exceptions: Exceptions,
    attributes: Attributes,
    /// Statements have rows.
    statements: bool,
    /// None: turned off.
    stacks: Option<Stacks>,
    path: Vec<Open>,
    found: Vec<Found>,
}

crate::heap_size!(Sums { methods, types, attributes, stacks, path, found });

/// A body and what is known about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walked<'a> {
    /// Name of the agent.
    pub(crate) agent: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) body: &'a TraceBody,
    pub(crate) copies: &'a Copies,
}

impl Sums {
    /// `generation`: that of earlier sums of the same agent.
    pub(crate) fn new(settings: Settings, generation: u32) -> Self {
        Self {
            methods: Methods::new(settings.signatures, generation),
            types: Types::default(),
            exceptions: Exceptions::default(),
            attributes: Attributes::default(),
            statements: settings.statements,
            stacks: settings.stacks.then(Stacks::default),
            path: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Counts a body.
    pub(crate) fn add(&mut self, walked: Walked<'_>, names: &mut Names, peer: &mut Peer) {
        let Walked { body, .. } = walked;
        peer.add(m::RECORDS_RECEIVED, body.records.len() as u64);
        peer.add(m::SPANS_RECEIVED, body.spans.len() as u64);
        peer.add(m::EXCEPTIONS_RECEIVED, body.exceptions.len() as u64);
        peer.add(m::UNCLOSED, body.unclosed.into());
        peer.add(m::UNKNOWN, body.unknown.into());
        peer.add(m::STRAY, body.stray.into());
        peer.add(m::BACKWARDS, body.backwards.into());
        peer.add(m::SKIPPED, body.skipped.into());
        dialects(&body.records, peer);
        self.records(walked, names, peer);
        self.exceptions(walked, names, peer);
        self.attributes(walked, names, peer);
        peer.add(m::UNRESOLVED, self.methods.take_unresolved());
    }

    fn records(&mut self, walked: Walked<'_>, names: &mut Names, peer: &mut Peer) {
        let Walked { body, copies, .. } = walked;
        let mut copies = copies.ranges().iter().copied();
        let mut next_copy = || copies.next().unwrap_or((NONE, NONE));
        let mut copy = next_copy();
        let (mut n, mut counted) = (0, 0);
        while let Some(record) = body.records.get(n as usize) {
            if n == copy.0 {
                (n, copy) = (copy.1, next_copy());
                continue;
            }
            counted += 1;
            while let Some(open) = self.path.last()
                && open.record != record.parent
            {
                self.methods.leave(open.slot);
                self.path.pop();
            }
            let outer = self.path.last();
            let mut in_span = outer.is_some_and(|open| open.in_span);
            let mut stack = outer.map_or(OUTERMOST, |open| open.stack);
            let mut slot = UNTIMED;
            if record.flags & FLAG_CLOSED != 0 {
                slot = self.methods.slot(record.method, names, peer);
                self.methods.add(slot, record);
                if let Some(stacks) = &mut self.stacks {
                    let called = Called { parent: stack, depth: self.path.len(), slot, at: n };
                    stack = stacks.add(called, &body.records, names, peer);
                }
                if let Some(begin) = body.spans.get(record.span as usize) {
                    self.span(walked, record, begin, !in_span, names, peer);
                    in_span = true;
                }
            }
            let next = body.records.get(n as usize + 1);
            if next.is_some_and(|next| next.parent == n) {
                self.methods.enter(slot);
                self.path.push(Open { record: n, slot, stack, in_span });
            }
            n += 1;
        }
        for open in self.path.drain(..) {
            self.methods.leave(open.slot);
        }
        peer.add(m::RECORDS, counted);
    }

    fn span(
        &mut self,
        walked: Walked<'_>,
        record: &Record,
        begin: &Begin,
        outermost: bool,
        names: &Names,
        peer: &mut Peer,
    ) {
        let sums = span_sums(record);
        peer.add(m::SPANS, 1);
        peer.add(m::SPAN_ERRORS, sums.error.into());
        peer.add(m::SPAN_TIME, sums.duration);
        peer.add(m::OVERFLOWS, sums.overflow.into());
        if outermost {
            peer.add(m::CALLS, sums.calls);
        }
        match names.symbol(begin.kind) {
            Some(kind) => self.types.add(walked.agent, kind, sums, peer),
            None => {
                peer.add(m::UNRESOLVED, 1);
                self.types.add(walked.agent, &format!("#{}", begin.kind), sums, peer);
            }
        }
    }

    fn exceptions(&mut self, walked: Walked<'_>, names: &Names, peer: &mut Peer) {
        for exception in &walked.body.exceptions {
            let copy = walked.copies.contains(exception.record);
            self.exceptions.add(exception, copy, walked.bytes, names, peer);
            if !copy {
                peer.add(m::EXCEPTIONS, 1);
                peer.add(m::UNRESOLVED, unresolved(exception, names));
            }
        }
    }

    fn attributes(&mut self, walked: Walked<'_>, names: &Names, peer: &mut Peer) {
        let Walked { agent, bytes, body, copies } = walked;
        let span = |n: u32| {
            let record = body.records.get(n as usize)?;
            let counts = record.span != NONE && record.flags & FLAG_CLOSED != 0;
            (counts && !copies.contains(n)).then_some(record)
        };
        for (at, attribute) in (0..).zip(&body.attributes) {
            if span(attribute.record).is_none() {
                continue;
            }
            match names.symbol(attribute.name).map(Known::of) {
                Some(Some(known)) => self.found.push(Found { record: attribute.record, known, at }),
                Some(None) => {}
                None => peer.add(m::UNRESOLVED, 1),
            }
        }
        self.found.sort_unstable();
        let value = |found: &Found| Some(&body.attributes.get(found.at as usize)?.value);
        for of_span in self.found.chunk_by(|a, b| a.record == b.record) {
            // The last of several values counts.
            let last = |known| value(of_span.iter().rfind(|found| found.known == known)?);
            let Some(record) = of_span.first().and_then(|found| span(found.record)) else {
                continue;
            };
            let sums = span_sums(record);
            if let Some(status) = last(Known::HttpStatus) {
                self.attributes.http(agent, status, bytes, peer);
            }
            let kind = last(Known::DbType).and_then(|value| text(value, bytes));
            let url = last(Known::DbUrl).and_then(|value| text(value, bytes));
            let kind = kind.as_deref().or_else(|| url.as_deref().map(kind_of));
            if let Some(kind) = kind {
                self.attributes.db(agent, kind, sums, peer);
            }
            if self.statements
                && let Some(statement) = last(Known::Statement).and_then(|v| text(v, bytes))
            {
                self.attributes.statement(agent, &statement, kind, sums, peer);
            }
        }
        self.found.clear();
    }

    /// A second has passed: percentiles may have changed. `service`: the durations of all its agents.
    pub(crate) fn second(
        &mut self,
        now: Duration,
        service: Option<&MergedLatency>,
        peer: &mut Peer,
    ) {
        self.types.show_percentiles(now, service, peer);
        // A stack is made of slots of methods.
        let full = self.methods.is_full();
        if full {
            self.methods.free(peer);
        }
        if let Some(stacks) = self.stacks.as_mut().filter(|stacks| full || stacks.is_full()) {
            stacks.free(peer);
        }
    }

    /// Frees what an idle agent does not need; percentiles have a minute.
    pub(crate) fn free(&mut self, peer: &mut Peer) {
        self.methods.free(peer);
        if self.types.is_silent() {
            self.types.free(peer);
        }
        self.attributes.free(peer);
        self.stacks.iter_mut().for_each(|stacks| stacks.free(peer));
        (self.path, self.found) = (Vec::new(), Vec::new());
    }

    /// Nothing would be lost with this value: neither percentiles nor negative self time.
    pub(crate) fn is_empty(&self) -> bool {
        self.heap_size() == 0
    }
}

/// What counts of a span.
fn span_sums(record: &Record) -> SpanSums {
    SpanSums {
        duration: record.duration,
        calls: record.calls,
        error: record.flags & FLAG_ERROR != 0 || record.exceptions > 0,
        overflow: record.flags & FLAG_OVERFLOW != 0,
    }
}

/// Counts records by their layout.
fn dialects(records: &[Record], peer: &mut Peer) {
    if records.iter().all(|record| record.dialect == Dialect::Modern) {
        return peer.add(m::RECORDS_MODERN, records.len() as u64);
    }
    let [mut modern, mut legacy, mut other] = [0, 0, 0];
    for record in records {
        match record.dialect {
            Dialect::Modern => modern += 1,
            Dialect::Legacy | Dialect::Interim => legacy += 1,
            Dialect::Streaming | Dialect::Note => other += 1,
        }
    }
    peer.add(m::RECORDS_MODERN, modern);
    peer.add(m::RECORDS_LEGACY, legacy);
    peer.add(m::RECORDS_OTHER, other);
}

/// The records of a body that are copies: they were counted when their span came alone. A span is a
/// copy if it is within another record and, in the modern layout, has been sent before; in the
/// legacy one, if the root of its tree starts at tick 0, as local tracers write it. All records
/// below a copy are copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// First record, and first record behind, in rising order.
    ranges: Vec<(u32, u32)>,
}

crate::heap_size!(Copies { ranges });

impl Copies {
    /// Finds the copies of a body; those of an earlier body are dropped.
    pub(crate) fn find(&mut self, body: &TraceBody) {
        self.ranges.clear();
        let records = &body.records;
        let at = |n: u32| records.get(n as usize);
        // Most bodies have no span within another.
        if !body.spans.iter().any(|s| at(s.record).is_some_and(|r| is_copy(r, true))) {
            return;
        }
        let (mut n, mut local) = (0, false);
        while let Some(record) = at(n) {
            if record.parent == NONE {
                local = record.start == 0;
            }
            if is_copy(record, local) {
                let end = subtree_end(records, n);
                self.ranges.push((n, end));
                n = end;
            } else {
                n += 1;
            }
        }
    }

    /// Ranges of records, as first and end, in rising order.
    pub(crate) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// The record is a copy.
    pub(crate) fn contains(&self, record: u32) -> bool {
        let behind = self.ranges.partition_point(|(first, _)| *first <= record);
        behind.checked_sub(1).and_then(|n| self.ranges.get(n)).is_some_and(|(_, end)| record < *end)
    }
}

/// A span begins here that is a copy. `local`: its tree is one of a local tracer, if legacy.
fn is_copy(record: &Record, local: bool) -> bool {
    record.span != NONE
        && record.parent != NONE
        && match record.dialect {
            Dialect::Legacy | Dialect::Interim => local,
            Dialect::Modern | Dialect::Streaming | Dialect::Note => record.flags & FLAG_SENT != 0,
        }
}

/// The first record behind those that are in record `at`.
pub(crate) fn subtree_end(records: &[Record], at: u32) -> u32 {
    let inner = records.iter().skip(at as usize + 1);
    let inner = inner.take_while(|r| r.parent != NONE && r.parent >= at).count();
    at.saturating_add(1).saturating_add(u32::try_from(inner).unwrap_or(u32::MAX))
}

#[cfg(test)]
#[path = "tests/walk.rs"]
mod tests;
