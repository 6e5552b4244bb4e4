//! The metrics of one agent: a walk over the records of each of its trace bodies, without those that were
//! counted before.

mod methods;
mod rows;
mod skip;
mod sql;

pub(crate) use self::methods::write_name;

use std::sync::Arc;
use std::time::Duration;

use self::methods::{Called, Exceptions, Methods, OUTERMOST, Stacks, unresolved};
use self::rows::{Attributes, Known, SpanSums, Types, kind_of, text};
use super::metrics as m;
use super::names::Names;
use super::shape::Copies;
use super::trees::Trees;
use super::wire::{
    Begin, Dialect, FLAG_CLOSED, FLAG_ERROR, FLAG_OVERFLOW, NONE, Record, TraceBody,
};
use crate::contract::Peer;
use crate::meter::{MergedLatencies, MergedLatency, SlowCalls};
use crate::model::{HeapSize, MetricItem, Now, Value};

/// Slot of the row of the service.
const SERVICE: u32 = 0;
/// Slot of an open record without an end.
const UNTIMED: u32 = u32::MAX;
/// Time without a trace after which caches are freed: most agents are idle.
const IDLE: Duration = Duration::from_secs(15);

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

/// A trace body that is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceContext<'a> {
    /// The request's trace id.
    pub(crate) trace_id: Option<&'a str>,
    /// The body without base64 and compression.
    pub(crate) bytes: &'a [u8],
    /// It came as base64.
    pub(crate) base64: bool,
    /// Its records that are copies.
    pub(crate) copies: &'a Copies,
}

/// The metrics of one agent. They go on when the agent opens another session.
#[derive(Debug)]
pub(crate) struct Meter {
    settings: Settings,
    name: Box<str>,
    /// What requests count until the next report: an agent may have no peer yet.
    requests: Vec<(MetricItem, u64)>,
    /// The durations of all agents of the service.
    service: Option<Arc<MergedLatency>>,
    pub(crate) trees: Trees,
    /// None while the agent is idle.
    sums: Option<Box<Sums>>,
    /// See [`Methods::generation`](methods::Methods::generation).
    generation: u32,
    dialect: &'static str,
    /// Time of the last trace.
    last: Duration,
}

crate::heap_size!(Meter { name, requests, trees, sums });

impl Meter {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            name: Box::default(),
            requests: Vec::new(),
            service: None,
            trees: Trees::default(),
            sums: None,
            generation: 0,
            dialect: "",
            last: Duration::ZERO,
        }
    }

    /// The peer is identified. `name`: the instance name. `service`: one of `latencies`.
    pub(crate) fn start(
        &mut self,
        name: &str,
        service: &str,
        latencies: &MergedLatencies,
        slow: &Arc<SlowCalls>,
        peer: &mut Peer,
    ) {
        self.name = name.into();
        // What the session before said may be gone.
        self.dialect = "";
        peer.start_counters(m::METRICS);
        self.service = latencies.of(service);
        self.trees.join(service, slow, peer);
    }

    /// Adds to a static metric, with the next report.
    pub(crate) fn add(&mut self, item: MetricItem, more: u64) {
        match self.requests.iter_mut().find(|(of, _)| *of == item) {
            Some((_, sum)) => *sum += more,
            None => self.requests.push((item, more)),
        }
    }

    /// Counts a trace body whose request is answered with success.
    pub(crate) fn trace(
        &mut self,
        now: Now,
        context: &TraceContext<'_>,
        body: &TraceBody,
        names: &mut Names,
        peer: &mut Peer,
    ) {
        let Self { settings, name, sums, generation, .. } = self;
        self.last = now.monotonic;
        peer.add(m::TRACES, 1);
        let TraceContext { bytes, copies, .. } = *context;
        let walked = Walked { agent: name, bytes, body, copies };
        let sums = sums.get_or_insert_with(|| Box::new(Sums::new(*settings, *generation)));
        sums.add(walked, names, peer);
        self.describe(now, context, body, peer);
    }

    /// Sets the metrics that describe the last trace.
    fn describe(
        &mut self,
        now: Now,
        context: &TraceContext<'_>,
        body: &TraceBody,
        peer: &mut Peer,
    ) {
        let arrival = now.wall.as_nanos();
        let value = Value::I64(now.wall.as_millis());
        peer.set(m::LAST_TRACE, value);
        let top = body.spans.iter().find_map(|span| {
            let record = body.records.get(span.record as usize)?;
            let top = record.parent == NONE && record.flags & FLAG_CLOSED != 0;
            top.then_some((span.clock, record.duration))
        });
        if let Some((clock, duration)) = top {
            let age = arrival - i128::from(clock) * 1_000_000 - i128::from(duration);
            let bounded = age.clamp(i64::MIN.into(), i64::MAX.into());
            let value = Value::I64(i64::try_from(bounded).unwrap_or_default());
            peer.set(m::SKEW, value);
        }
        let Some(first) = body.records.first() else { return };
        let dialect = dialect(first.dialect, context.base64);
        if self.dialect != dialect {
            self.dialect = dialect;
            peer.set(m::DIALECT, Value::Text(dialect.into()));
        }
    }

    /// Reports what is kept between reports.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.requests.drain(..).for_each(|(item, more)| peer.add(item, more));
        self.sums.iter_mut().for_each(|sums| sums.methods.report(peer));
    }

    /// As [`report`](Self::report), with what is shown once a second.
    fn settle(&mut self, now: Now, peer: &mut Peer) {
        self.report(peer);
        let Self { service, sums, .. } = self;
        sums.iter_mut().for_each(|sums| sums.second(now.monotonic, service.as_deref(), peer));
        if let Some(service) = service {
            let items = [m::SERVICE_P50, m::SERVICE_P95, m::SERVICE_P99, m::SERVICE_MAX];
            service.report(now.monotonic, (SERVICE, items), m::US, peer);
        }
    }

    /// The agent goes, or another meter follows.
    pub(crate) fn end(&mut self, now: Now, peer: &mut Peer) {
        self.settle(now, peer);
        self.trees.report(now.monotonic, peer, true);
    }

    /// A second has passed.
    pub(crate) fn tick(&mut self, now: Now, peer: &mut Peer) {
        self.settle(now, peer);
        self.trees.report(now.monotonic, peer, false);
        self.requests.shrink_to_fit();
        let Some(sums) = &mut self.sums else { return };
        if now.monotonic.saturating_sub(self.last) >= IDLE {
            sums.free(peer);
            if sums.is_empty() {
                self.generation = sums.methods.generation();
                self.sums = None;
            }
        }
    }
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
struct Sums {
    methods: Methods,
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
struct Walked<'a> {
    /// Name of the agent.
    agent: &'a str,
    bytes: &'a [u8],
    body: &'a TraceBody,
    copies: &'a Copies,
}

impl Sums {
    /// `generation`: that of earlier sums of the same agent.
    fn new(settings: Settings, generation: u32) -> Self {
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
    fn add(&mut self, walked: Walked<'_>, names: &mut Names, peer: &mut Peer) {
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
                    stack = stacks.add(called, record, &body.records, names, peer);
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
    fn second(&mut self, now: Duration, service: Option<&MergedLatency>, peer: &mut Peer) {
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
    fn free(&mut self, peer: &mut Peer) {
        self.methods.free(peer);
        if self.types.is_silent() {
            self.types.free(peer);
        }
        self.attributes.free(peer);
        self.stacks.iter_mut().for_each(|stacks| stacks.free(peer));
        (self.path, self.found) = (Vec::new(), Vec::new());
    }

    /// Nothing would be lost with this value: neither percentiles nor negative self time.
    fn is_empty(&self) -> bool {
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

/// The name of a dialect. `base64`: the body came as base64.
pub(crate) const fn dialect(dialect: Dialect, base64: bool) -> &'static str {
    match dialect {
        Dialect::Modern => "modern",
        Dialect::Legacy if base64 => "legacy_base64",
        Dialect::Legacy => "legacy",
        Dialect::Interim => "interim",
        Dialect::Note => "note",
        Dialect::Streaming => "streaming",
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/meter.rs"]
mod tests;
