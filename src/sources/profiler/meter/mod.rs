//! Metrics and event records of one pod, from the records of its agent.

mod accounting;
mod pack;
pub(super) mod pending;
mod roles;
mod stacks;
mod thread;
mod trees;

pub(super) use self::roles::restore;
pub use self::roles::{PARAMETER_NAME_MAX, PARAMETERS_MAX, is_parameter_name};

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use self::accounting::{Accounting, Marks, REST, is_loss_report};
use self::pack::CallRecords;
use self::pending::{PendingBudget, PendingCall, PendingCalls};
use self::stacks::Stacks;
use self::trees::{Pauses, Trees};
use super::dictionary::Dictionary;
use super::limits;
use super::metrics::{self as m, ns};
use super::streams::gc::GcPause;
use super::streams::record::{
    BigValue, Block, Call, Chunk, File, Observer, Pause, TraceEvent, TraceKind,
};
use super::streams::scan::DecodeError;
use super::streams::trace::{EventPlace, ShortEvents, StepCounts, StepVisitor};
use super::wire::{Hello, Opened, PodName};
use crate::contract::{Identity, Peer, Service};
use crate::events::flags::POINT;
use crate::meter::{MergedLatencies, SlowCalls, clean};
use crate::model::{HeapSize, Now, Stamp, Value, another_host};

/// Bytes of one part of an instance name, at most.
const NAME_PART: usize = 100;
/// Longest usual silence: agents flush every 5 s, some idle ones every 10 s.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Seconds without data after which caches are freed: agents send pending data every 5 s. The time
/// of unfinished roots has been counted by then.
const IDLE: u8 = 15;

/// The metrics of one connection's pod.
#[derive(Debug)]
pub(crate) struct PodMetrics {
    address: String,
    /// Both ends of its connection.
    pub(crate) ends: Option<(SocketAddr, SocketAddr)>,
    name: String,
    accounting: Accounting,
    /// Streams with a row: their numbers are slots.
    streams: usize,
    stacks: Option<Stacks>,
    pending: PendingCalls,
    records: CallRecords,
    /// Id of the method by which the agent reports lost calls; its calls are not counted as the
    /// application's.
    loss_report: Option<u32>,
    longest_pause: u64,
    words: usize,
    rejected: u64,
    latencies: Arc<MergedLatencies>,
    pauses: Pauses,
    scratch: PendingCall,
    message: bool,
    /// Seconds since the last data.
    idle: u8,
}

crate::heap_size!(PodMetrics {
    address,
    name,
    accounting,
    stacks,
    pending,
    records,
    pauses,
    scratch
});

/// Observes one read of a connection.
pub(crate) struct PodObserver<'a> {
    pub(crate) pod: &'a mut PodMetrics,
    pub(crate) peer: &'a mut Peer,
    pub(crate) now: Now,
}

impl PodMetrics {
    pub(crate) fn new(
        address: String,
        stacks: bool,
        parameters: Arc<[String]>,
        pending: Arc<PendingBudget>,
        latencies: Arc<MergedLatencies>,
        slow: Arc<SlowCalls>,
    ) -> Self {
        Self {
            address,
            ends: None,
            name: String::new(),
            accounting: Accounting::default(),
            streams: 0,
            stacks: stacks.then(|| Stacks::new(Trees::new(slow))),
            pending: PendingCalls::new(pending),
            records: CallRecords::new(parameters),
            loss_report: None,
            longest_pause: 0,
            words: 0,
            rejected: 0,
            latencies,
            pauses: Pauses::default(),
            scratch: PendingCall::default(),
            message: false,
            idle: 0,
        }
    }

    /// Reports the sums of one read. `end`: the connection ends.
    pub(crate) fn report(&mut self, now: Now, words: &Dictionary, peer: &mut Peer, end: bool) {
        self.release_calls(now, words, peer, end);
        if end {
            self.accounting.methods.expire(now.monotonic, true, peer);
        }
        self.accounting.report(peer);
        if self.words != words.len() {
            self.words = words.len();
            peer.set(m::WORDS, words.len() as u64);
        }
        if self.rejected != words.rejected() {
            self.rejected = words.rejected();
            peer.set(m::TRUNCATED, words.rejected());
        }
        if std::mem::take(&mut self.message) {
            peer.message();
        }
    }

    /// Counts pauses that have come behind their calls.
    fn settle(&mut self, peer: &mut Peer) {
        let suspended_ms = self.pauses.settle();
        if suspended_ms > 0 {
            peer.add(m::SUSPENDED, ns(suspended_ms));
        }
    }

    /// Bytes of open calls, which are charged to all connections together.
    pub(crate) fn shared(&self) -> usize {
        self.stacks.as_ref().map_or(0, |stacks| stacks.trees.charged())
    }

    /// Emits pending calls whose names have arrived or whose wait is over.
    fn release_calls(&mut self, now: Now, words: &Dictionary, peer: &mut Peer, end: bool) {
        let Self { accounting, pending, records, loss_report, pauses, .. } = self;
        let is_known =
            |entry: &PendingCall| pauses.are_known(&entry.numbers) && entry.is_named(words);
        pending.release(now.monotonic, end, is_known, |entry| {
            let call = &entry.call();
            let marks = Marks::of(call.method, entry.ids(), words);
            if entry.uncounted {
                if *loss_report == Some(call.method) {
                    return;
                }
                accounting.call(call, entry.ids(), marks, now, words, peer);
            }
            peer.add(m::NAMELESS, (!marks.named).into());
            let method = || accounting.methods.name(call.method);
            let facts = (marks.error, pauses.of(call));
            records.pack(call, entry.params(), facts, method, words, peer);
        });
    }

    /// A second has passed. Returns true once when the agent falls silent.
    pub(crate) fn tick(&mut self, now: Now, words: &Dictionary, peer: &mut Peer) -> bool {
        if self.scratch.heap_size() > limits::IDLE_BUFFER {
            self.scratch = PendingCall::default();
        }
        self.accounting.methods.expire(now.monotonic, false, peer);
        self.report(now, words, peer, false);
        self.settle(peer);
        if let Some(stacks) = &mut self.stacks {
            stacks.report(words, peer, false);
            let known = (words, &self.pauses, &mut self.records.roles);
            stacks.trees.report(now.monotonic, known, peer, false);
            stacks.watch(peer);
        }
        self.accounting.show_percentiles(now, peer);
        self.idle = self.idle.saturating_add(1);
        let silent = self.idle == IDLE;
        if silent {
            self.stacks.iter_mut().for_each(|s| s.shrink(peer));
            self.records.shrink();
            self.pauses.shrink();
            self.accounting.methods.shrink();
        }
        silent
    }

    /// The connection has ended.
    pub(crate) fn close(&mut self, now: Now, words: &Dictionary, peer: &mut Peer) {
        self.report(now, words, peer, true);
        self.settle(peer);
        if let Some(stacks) = &mut self.stacks {
            stacks.report(words, peer, true);
            let known = (words, &self.pauses, &mut self.records.roles);
            stacks.trees.report(now.monotonic, known, peer, true);
        }
        self.accounting.show_percentiles(now, peer);
    }
}

impl Observer for PodObserver<'_> {
    fn hello(&mut self, hello: &Hello<'_>) {
        let pod_name = PodName::of(hello.pod);
        let part = |text: &str| match clean(text, NAME_PART) {
            empty if empty.is_empty() => "unknown".to_owned(),
            part => part,
        };
        let (namespace, service) = (part(hello.namespace), part(hello.service));
        let name = format!("{namespace}/{service}/{}", part(pod_name.server));
        let mut labels = vec![
            ("namespace", hello.namespace.to_owned()),
            ("service", hello.service.to_owned()),
            ("pod", hello.pod.to_owned()),
        ];
        labels
            .extend(pod_name.started_ms.map(|ms| ("started", Stamp::from_millis(ms).to_string())));
        self.pod.name.clone_from(&name);
        let process = Some(hello.pod.to_owned());
        let address = self.pod.address.clone();
        self.peer.is(Identity {
            name,
            host: another_host(&address),
            peer: address,
            labels,
            resumes: true,
            process,
            service: Some(Service {
                name: format!("{namespace}/{service}"),
                labels: vec![("namespace", namespace.clone()), ("service", service.clone())],
                ..Service::default()
            }),
            ends: self.pod.ends.map(Box::new),
            ..Identity::default()
        });
        self.peer.interval(HEARTBEAT);
        if let Some(ms) = pod_name.started_ms {
            self.peer.set(m::START_TIME, ms);
        }
        self.pod.records.define(self.peer);
        // Values of an earlier connection do not apply to this one.
        for item in [m::P50, m::P95, m::P99, m::MAX, m::SUSPEND_MAX] {
            self.peer.unset(item);
        }
        for item in [m::WORDS, m::TRUNCATED] {
            self.peer.set(item, Value::U64(0));
        }
        self.peer.start_counters(m::METRICS);
        for (slot, key) in (0..).zip(m::buckets()) {
            self.peer.row(m::BUCKETS, slot, Some(&key));
            self.peer.row_add(slot, m::BUCKET_CALLS, 0);
        }
        self.peer.row(m::METHODS, REST, None);
        let Self { pod: PodMetrics { accounting, latencies, .. }, .. } = self;
        let service = format!("{namespace}/{service}");
        accounting.service = latencies.of(&service);
        if let Some(stacks) = &mut self.pod.stacks {
            stacks.trees.join(&service, self.peer);
            stacks.watch(self.peer);
        }
    }

    fn opened(&mut self, opened: &Opened<'_>) {
        let Ok(slot) = u32::try_from(opened.stream) else { return };
        if self.pod.streams <= opened.stream {
            self.pod.streams = opened.stream + 1;
            let key = format!("{}::{}", self.pod.name, clean(opened.name, NAME_PART));
            self.peer.row(m::STREAMS, slot, Some(&key));
            for item in m::STREAM_ITEMS {
                self.peer.row_add(slot, item, 0);
            }
        }
        self.peer.row_add(slot, m::STREAM_ROTATIONS, opened.again.into());
        self.pod.message = true;
    }

    fn chunk(&mut self, chunk: &Chunk<'_>) {
        self.pod.idle = 0;
        if let Some(stacks) = &mut self.pod.stacks {
            stacks.trees.now = self.now.monotonic;
        }
        let size = chunk.size as u64;
        let slot = slot(&chunk.file);
        self.peer.row_add(slot, m::STREAM_BYTES, size);
        self.peer.row_add(slot, m::STREAM_CHUNKS, 1);
        // Up to a third of a pod's records, and few watch the protocol.
        if self.peer.is_watched(m::CHUNK) {
            self.peer.record(m::CHUNK, self.now.wall, POINT, |record| {
                record.text(m::P_STREAM, chunk.file.name);
                record.number(m::P_SEQUENCE, chunk.file.sequence.cast_unsigned().into());
                record.number(m::P_SIZE, size);
                record.number(m::P_OFFSET, chunk.offset);
            });
        }
        self.pod.message = true;
    }

    fn call(&mut self, call: &Call<'_>, words: &Dictionary) {
        let Self { pod, peer, now } = self;
        if pod.loss_report == Some(call.method) {
            return;
        }
        if let Some(stacks) = &mut pod.stacks {
            stacks.trees.call(call);
        }
        let suspended_ms = pod.pauses.call(call);
        if suspended_ms > 0 {
            peer.add(m::SUSPENDED, ns(suspended_ms));
        }
        let marks = Marks::of(call.method, call.params.ids(), words);
        if marks.named && pod.pauses.are_known(call) {
            pod.accounting.call(call, call.params.ids(), marks, *now, words, peer);
            let method = || pod.accounting.methods.name(call.method);
            let params = call.params.iter().map(|param| (param.id, param.value));
            let facts = (marks.error, suspended_ms);
            return pod.records.pack(call, params, facts, method, words, peer);
        }
        pod.scratch.take(call);
        // Then it is counted when its name arrives.
        pod.scratch.uncounted = may_be_loss_report(call, words);
        if !pod.scratch.uncounted {
            pod.accounting.call(call, call.params.ids(), marks, *now, words, peer);
        }
        pod.pending.push(now.monotonic, &pod.scratch);
    }

    fn pause(&mut self, pause: &Pause) {
        if pause.end_ms <= self.now.wall.as_millis().saturating_add(limits::PAUSE_AHEAD_MS) {
            self.pod.pauses.add(pause);
            self.pod.pending.news();
        }
        let took = ns(pause.duration_ms.into());
        self.peer.add(m::SUSPENDS, 1);
        self.peer.add(m::SUSPEND_TIME, took);
        if took > self.pod.longest_pause {
            self.pod.longest_pause = took;
            self.peer.set(m::SUSPEND_MAX, took);
        }
        self.peer.record(m::PAUSE, Stamp::from_millis(pause.end_ms), POINT, |record| {
            record.number(m::P_DURATION, took);
        });
    }

    fn trace_block(&mut self, _: &Block) {
        self.peer.add(m::TRACE_BLOCKS, 1);
    }

    fn wants_trace_events(&self) -> bool {
        false
    }

    fn trace_event(&mut self, block: &Block, event: &TraceEvent<'_>, _: &Dictionary) {
        self.pod.stacks.iter_mut().for_each(|stacks| stacks.event(block, event));
        let mut counts = StepCounts::default();
        match event.kind {
            TraceKind::Enter { .. } => counts.enters = 1,
            TraceKind::Exit => counts.exits = 1,
            TraceKind::Tag { .. } => counts.tags = 1,
        }
        self.count_steps(counts);
    }

    #[inline]
    fn short_events(&mut self, block: &Block, events: &mut ShortEvents<'_>) {
        let stacks = self.pod.stacks.as_mut();
        if !stacks.is_some_and(|stacks| stacks.short_events(block, events)) {
            events.read(&mut OnlyCounted);
        }
        self.count_steps(events.counts());
    }

    fn calls_lost(&mut self, calls: u64) {
        self.peer.add(m::CORRUPTED, calls);
    }

    fn word(&mut self, id: u32, word: Option<&Arc<str>>, words: &Dictionary) {
        let Self { pod, peer, now } = self;
        let word = word.map(|w| &**w);
        if word.is_some_and(is_loss_report) {
            pod.loss_report = Some(id);
        } else if pod.loss_report == Some(id) {
            pod.loss_report = None;
        }
        pod.stacks.iter_mut().for_each(|s| s.word(id, word));
        pod.accounting.word(id, word, *now, words, peer);
        pod.pending.news();
    }

    fn dictionary_reset(&mut self, words: &Dictionary) {
        if words.is_empty() {
            // What waits gets its names from the new one.
            return;
        }
        self.pod.release_calls(self.now, words, self.peer, true);
        self.pod.loss_report = None;
        self.pod.accounting.reset_dictionary(self.peer);
        self.pod.stacks.iter_mut().for_each(|s| s.reset_dictionary(self.peer));
        self.pod.records.reset_dictionary();
    }

    fn xml(&mut self, _: &BigValue<'_>) {
        self.peer.add(m::XML_VALUES, 1);
    }

    fn sql(&mut self, value: &BigValue<'_>) {
        if let Some(stacks) = &mut self.pod.stacks {
            stacks.trees.sql(value);
        }
        self.peer.add(m::SQL_VALUES, 1);
    }

    fn gc_pause(&mut self, pause: &GcPause<'_>) {
        self.peer.add(m::GC_COUNT, 1);
        self.peer.add(m::GC_TIME, pause.duration_ns);
    }

    fn corrupt(&mut self, file: &File<'_>, at: u64, why: DecodeError) {
        self.peer.add(m::ERROR_CORRUPT, 1);
        self.peer.row_add(slot(file), m::STREAM_ERRORS, 1);
        let line = format!(
            "stream {} cannot be read behind byte {at}: {why}",
            clean(file.name, NAME_PART)
        );
        self.peer.error(&line);
    }

    fn ended(&mut self, _: &File<'_>, torn: bool) {
        self.peer.add(m::ERROR_TORN, torn.into());
    }

    fn flush(&mut self) {
        self.peer.add(m::FLUSHES, 1);
        self.pod.message = true;
    }
}

impl PodObserver<'_> {
    /// Counts events of the trace.
    fn count_steps(&mut self, counts: StepCounts) {
        self.peer.add(m::TRACE_ENTERS, counts.enters.into());
        self.peer.add(m::TRACE_EXITS, counts.exits.into());
        self.peer.add(m::TRACE_TAGS, counts.tags.into());
        self.peer.add(m::TRACE_EVENTS, counts.all().into());
    }
}

/// The slot of the row of a file's stream: there are few.
fn slot(file: &File<'_>) -> u32 {
    u32::try_from(file.stream).unwrap_or_default()
}

/// Events that no stack gets.
struct OnlyCounted;

impl StepVisitor for OnlyCounted {
    fn time(&mut self, _: i64) {}
    fn enter(&mut self, _: u32, _: EventPlace) {}
    fn exit(&mut self, _: usize) {}
    fn tag(&mut self, _: u32) {}
}

/// Whether a call whose method has no name yet may be the agent's loss report: that has no nested
/// calls and no parameter but `call.red` = 1.
fn may_be_loss_report(call: &Call<'_>, words: &Dictionary) -> bool {
    call.calls == 1
        && call.params.count() == 1
        && words.get(call.method).is_none()
        && call.params.iter().all(|p| p.value.units() == 1 && p.value.is("1"))
}
