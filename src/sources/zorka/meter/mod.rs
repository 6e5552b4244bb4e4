//! The metrics of one agent, from its trace bodies.

mod methods;
mod rows;
mod skip;
mod sql;
mod walk;

pub(crate) use self::methods::write_name;
pub(crate) use self::walk::{Copies, Settings};

use std::sync::Arc;
use std::time::Duration;

use self::walk::{Sums, Walked};
use super::metrics as m;
use super::names::Names;
use super::wire::{Dialect, FLAG_CLOSED, NONE, TraceBody};
use crate::contract::Peer;
use crate::meter::{MergedLatencies, MergedLatency};
use crate::model::{MetricItem, Now, Value};

/// Slot of the row of the service.
const SERVICE: u32 = 0;
/// Time without a trace after which caches are freed: most agents are idle.
const IDLE: Duration = Duration::from_secs(15);

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
    /// None while the agent is idle.
    sums: Option<Box<Sums>>,
    /// See [`Methods::generation`](methods::Methods::generation).
    generation: u32,
    dialect: &'static str,
    /// Time of the last trace.
    last: Duration,
}

crate::heap_size!(Meter { name, requests, sums });

impl Meter {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            name: Box::default(),
            requests: Vec::new(),
            service: None,
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
        peer: &mut Peer,
    ) {
        self.name = name.into();
        peer.start_counters(m::METRICS);
        self.service = latencies.of(service);
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

    /// As [`report`](Self::report), with what is shown once a second: the agent goes, or another
    /// meter follows.
    pub(crate) fn settle(&mut self, now: Now, peer: &mut Peer) {
        self.report(peer);
        let Self { service, sums, .. } = self;
        sums.iter_mut().for_each(|sums| sums.second(now.monotonic, service.as_deref(), peer));
        if let Some(service) = service {
            let items = [m::SERVICE_P50, m::SERVICE_P95, m::SERVICE_P99, m::SERVICE_MAX];
            service.report(now.monotonic, (SERVICE, items), m::US, peer);
        }
    }

    /// A second has passed.
    pub(crate) fn tick(&mut self, now: Now, peer: &mut Peer) {
        self.settle(now, peer);
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
