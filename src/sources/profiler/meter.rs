//! Makes metrics and event records of what a pod tells.

use super::super::Sink;
use super::call_log::{Entry, Waiting, bucket, push_other};
use super::event::{Hello, Opened};
use super::gc_line::GcPause;
use super::identity::PodName;
use super::latency::Latency;
use super::method_name::{self, clean};
use super::methods::{Methods, REST};
use super::metrics as m;
use super::observer::{Chunk, File, Observer};
use super::record::{BigValue, Block, Call, Corrupt, Pause, TraceEvent, TraceKind};
use super::roles::{PARAMETERS_MAX, Role, Roles, Told};
use super::stacks::Stacks;
use super::totals::{Totals, ns};
use super::words::{Mark, Words};
use crate::model::{EventParam, EventValue, Identity, Now, Stamp, Update, Value};
use arrayvec::ArrayVec;
use std::sync::Arc;
use std::time::Duration;

/// Calls that wait for names are all looked at, so not after every word: an agent that sends single words would keep a worker
/// busy.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Bytes of a part of an instance name.
const NAME_PART: usize = 100;
/// `PM_EVENT_FLAG_POINT`.
const POINT: u32 = 1;
/// Agents flush every 5 s; silence of twice that is no longer normal.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What a connection's metrics need from one read to the next.
#[derive(Debug, Default)]
pub(super) struct Pod {
    address: String,
    name: String,
    totals: Totals,
    streams: Vec<StreamTotals>,
    buckets: [u64; m::EDGES.len()],
    methods: Methods,
    stacks: Option<Stacks>,
    waiting: Waiting,
    roles: Roles,
    latency: Latency,
    longest_pause: u64,
    words: usize,
    refused: u64,
    scratch: Entry,
    others: String,
    message: bool,
    new_words: bool,
    look_again: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct StreamTotals {
    sums: [u64; 4],
}

/// The parameters of one record, without an allocation.
type Params<'a> = ArrayVec<EventParam<'a>, { m::PARAMS.len() + PARAMETERS_MAX }>;

impl StreamTotals {
    fn add(&mut self, item: u16, more: u64) {
        if let Some(sum) = self.sums.get_mut(usize::from(item)) {
            *sum += more;
        }
    }
}

/// A pod while its connection is being read.
pub(super) struct Meter<'a> {
    pub(super) pod: &'a mut Pod,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) now: Now,
}

fn stamp(ms: i64) -> Stamp {
    Stamp::from_nanos(i128::from(ms) * 1_000_000)
}

impl Pod {
    pub(super) fn new(address: String, stacks: bool, parameters: Arc<[String]>) -> Self {
        Self { address, stacks: stacks.then(Stacks::default), roles: Roles::new(parameters), ..Self::default() }
    }

    /// The read is over: what it added is told. `end`: nothing more comes.
    pub(super) fn settle(&mut self, now: Now, words: &Words, sink: &mut dyn Sink, end: bool) {
        if !self.waiting.is_empty() && (end || self.new_words && now.mono >= self.look_again) {
            self.new_words = false;
            self.look_again = now.mono + LOOK_EVERY;
            let ready = self.waiting.ready(now.mono, words, end);
            ready.iter().for_each(|entry| self.tell_call(entry, words, sink));
        }
        self.totals.tell(sink);
        for (slot, stream) in (0..).zip(&mut self.streams) {
            for (item, sum) in (0..).zip(&mut stream.sums) {
                let more = std::mem::take(sum);
                if more > 0 {
                    sink.update(Update::RowCount { table: m::STREAMS, slot, item, more });
                }
            }
        }
        for (slot, sum) in (0..).zip(&mut self.buckets) {
            let more = std::mem::take(sum);
            if more > 0 {
                sink.update(Update::RowCount { table: m::BUCKETS, slot, item: 0, more });
            }
        }
        self.methods.tell(sink);
        if self.words != words.len() {
            self.words = words.len();
            sink.update(Update::Set { item: m::WORDS, value: Value::U64(words.len() as u64) });
        }
        if self.refused != words.refused() {
            self.refused = words.refused();
            sink.update(Update::Set { item: m::TRUNCATED, value: Value::U64(words.refused()) });
        }
        if std::mem::take(&mut self.message) {
            sink.update(Update::Message);
        }
    }

    /// A second has passed.
    pub(super) fn tick(&mut self, now: Now, words: &Words, sink: &mut dyn Sink) {
        self.new_words = true;
        self.settle(now, words, sink, false);
        self.stacks.iter_mut().for_each(|s| s.tell(words, sink, false));
        self.tell_latency(now, sink);
    }

    fn tell_latency(&mut self, now: Now, sink: &mut dyn Sink) {
        let items = [m::P50, m::P95, m::P99, m::MAX];
        match self.latency.changed(now.mono) {
            Some(Some(p)) => {
                for (item, ms) in items.into_iter().zip([p.p50, p.p95, p.p99, p.max]) {
                    sink.update(Update::Set { item, value: Value::U64(ns(ms)) });
                }
            }
            Some(None) => items.into_iter().for_each(|item| sink.update(Update::Unset { item })),
            None => {}
        }
    }

    /// The connection is over.
    pub(super) fn close(&mut self, now: Now, words: &Words, sink: &mut dyn Sink) {
        self.settle(now, words, sink, true);
        self.stacks.iter_mut().for_each(|s| s.tell(words, sink, true));
        self.tell_latency(now, sink);
    }

    /// A call with all its names, or without.
    fn tell_call(&mut self, entry: &Entry, words: &Words, sink: &mut dyn Sink) {
        let marked = |mark| words.mark(mark).is_some_and(|id| entry.params.iter().any(|(p, _)| *p == id));
        let error = marked(Mark::Red);
        self.totals.add(m::ERRORS, error.into());
        self.totals.add(m::IDLE, marked(Mark::Idle).into());
        let sums = [1, error.into(), ns(entry.duration_ms), ns(entry.cpu_ms), entry.memory];
        let nameless;
        let method = match self.methods.add(entry.method, sums, words, sink) {
            Some(name) => name,
            None => {
                nameless = method_name::nameless(entry.method);
                &nameless
            }
        };
        let (mut others, mut told) = (std::mem::take(&mut self.others), Told::default());
        others.clear();
        let mut params = Params::new();
        params.push(EventParam::text(m::P_METHOD, method));
        if let Some(thread) = &entry.thread {
            params.push(EventParam::text(m::P_THREAD, thread));
        }
        for (id, value) in entry.params() {
            match self.roles.role(id, words) {
                // The values of a list, and ids of several tracing systems: the first is told.
                Role::Own(id) if told.add(id) => params.push(EventParam { id, value: EventValue::Text(value) }),
                Role::Own(_) => {}
                Role::Other => match words.get(id) {
                    Some(name) => push_other(&mut others, name, value),
                    None => push_other(&mut others, &method_name::nameless(id), value),
                },
                Role::Mark => {}
            }
        }
        if !others.is_empty() {
            params.push(EventParam::text(m::P_PARAMETERS, &others));
        }
        params.push(EventParam::number(m::P_DURATION, ns(entry.duration_ms)));
        let [file_read, file_written, net_read, net_written] = entry.io;
        for (item, number) in [
            (m::P_ERROR, error.into()),
            (m::P_CPU, ns(entry.cpu_ms)),
            (m::P_WAIT, ns(entry.wait_ms)),
            (m::P_QUEUE_WAIT, ns(entry.queue_wait_ms.into())),
            (m::P_MEMORY, entry.memory),
            (m::P_NESTED, entry.nested.into()),
            (m::P_FILE_READ, file_read),
            (m::P_FILE_WRITTEN, file_written),
            (m::P_NET_READ, net_read),
            (m::P_NET_WRITTEN, net_written),
            (m::P_TRANSACTIONS, entry.transactions),
            (m::P_TRACE_FILE, entry.pointer.file.into()),
            (m::P_TRACE_OFFSET, entry.pointer.offset.into()),
            (m::P_TRACE_INDEX, entry.pointer.index.into()),
        ] {
            if number > 0 {
                params.push(EventParam::number(item, number));
            }
        }
        sink.update(Update::Event { kind: m::CALL, stamp: stamp(entry.start_ms), flags: POINT, params: &params });
        drop(params);
        self.others = others;
    }
}

impl Meter<'_> {
    fn stream(&mut self, stream: usize) -> Option<&mut StreamTotals> {
        self.pod.streams.get_mut(stream)
    }
}

impl Observer for Meter<'_> {
    fn hello(&mut self, hello: &Hello<'_>) {
        let who = PodName::of(hello.pod);
        let part = |text: &str| match clean(text, NAME_PART) {
            empty if empty.is_empty() => "unknown".to_owned(),
            part => part,
        };
        let name = format!("{}/{}/{}", part(hello.namespace), part(hello.service), part(who.server));
        let mut labels =
            vec![("namespace", hello.namespace.to_owned()), ("service", hello.service.to_owned()), ("pod", hello.pod.to_owned())];
        labels.extend(who.started_ms.map(|ms| ("started", stamp(ms).to_string())));
        self.pod.name.clone_from(&name);
        let process = Some(hello.pod.to_owned());
        let peer = self.pod.address.clone();
        self.sink.update(Update::Identity(Identity { name, peer, labels, resumes: true, process }));
        self.sink.update(Update::Interval(HEARTBEAT));
        if let Some(ms) = who.started_ms {
            self.sink.update(Update::Set { item: m::START_TIME, value: Value::I64(ms) });
        }
        self.pod.roles.define(self.sink);
        // Everything that is counted has a value from the start: 0 is not "unknown".
        let gauges = [m::P50, m::P95, m::P99, m::MAX, m::START_TIME, m::SUSPEND_MAX];
        let static_metrics = m::metrics().into_iter().filter(|d| d.area == crate::model::Area::Source);
        for def in static_metrics.filter(|d| !gauges.contains(&d.item)) {
            self.sink.update(Update::Count { item: def.item, more: 0 });
        }
        for (slot, key) in (0..).zip(m::buckets()) {
            self.sink.update(Update::Row { table: m::BUCKETS, slot, key: Some(&key) });
            self.sink.update(Update::RowCount { table: m::BUCKETS, slot, item: 0, more: 0 });
        }
        self.sink.update(Update::Row { table: m::METHODS, slot: REST, key: None });
    }

    fn opened(&mut self, opened: &Opened<'_>) {
        let Ok(slot) = u32::try_from(opened.stream) else { return };
        if self.pod.streams.len() <= opened.stream {
            self.pod.streams.resize(opened.stream + 1, StreamTotals::default());
            let key = format!("{}::{}", self.pod.name, clean(opened.name, NAME_PART));
            self.sink.update(Update::Row { table: m::STREAMS, slot, key: Some(&key) });
            for item in [m::STREAM_BYTES, m::STREAM_CHUNKS, m::STREAM_ROTATIONS, m::STREAM_ERRORS] {
                self.sink.update(Update::RowCount { table: m::STREAMS, slot, item, more: 0 });
            }
        }
        if let Some(totals) = self.stream(opened.stream) {
            totals.add(m::STREAM_ROTATIONS, opened.again.into());
        }
        self.pod.message = true;
    }

    fn chunk(&mut self, chunk: &Chunk<'_>) {
        let size = chunk.size as u64;
        if let Some(totals) = self.stream(chunk.file.stream) {
            totals.add(m::STREAM_BYTES, size);
            totals.add(m::STREAM_CHUNKS, 1);
        }
        let params = [
            EventParam::text(m::P_STREAM, chunk.file.name),
            EventParam::number(m::P_SEQUENCE, chunk.file.sequence.cast_unsigned().into()),
            EventParam::number(m::P_SIZE, size),
            EventParam::number(m::P_OFFSET, chunk.offset),
        ];
        self.sink.update(Update::Event { kind: m::CHUNK, stamp: self.now.wall, flags: POINT, params: &params });
        self.pod.message = true;
    }

    fn call(&mut self, call: &Call<'_>, words: &Words) {
        self.pod.totals.call(call);
        if let Some(sum) = self.pod.buckets.get_mut(bucket(call.duration_ms) as usize) {
            *sum += 1;
        }
        self.pod.latency.record(self.now.mono, call.duration_ms);
        let mut entry = std::mem::take(&mut self.pod.scratch);
        entry.take(call);
        if call.is_named(words) {
            self.pod.tell_call(&entry, words, self.sink);
        } else {
            self.pod.waiting.push(self.now.mono, &entry);
        }
        self.pod.scratch = entry;
    }

    fn pause(&mut self, pause: &Pause) {
        let took = ns(pause.duration_ms.into());
        self.pod.totals.add(m::SUSPENDS, 1);
        self.pod.totals.add(m::SUSPEND_TIME, took);
        if took > self.pod.longest_pause {
            self.pod.longest_pause = took;
            self.sink.update(Update::Set { item: m::SUSPEND_MAX, value: Value::U64(took) });
        }
        let params = [EventParam::number(m::P_DURATION, took)];
        self.sink.update(Update::Event { kind: m::PAUSE, stamp: stamp(pause.end_ms), flags: POINT, params: &params });
    }

    fn trace_block(&mut self, _: &Block) {
        self.pod.totals.add(m::TRACE_BLOCKS, 1);
    }

    fn trace_event(&mut self, block: &Block, event: &TraceEvent<'_>, _: &Words) {
        if let Some(stacks) = &mut self.pod.stacks {
            stacks.event(block, event);
        }
        let kind = match event.kind {
            TraceKind::Enter { .. } => m::TRACE_ENTERS,
            TraceKind::Exit => m::TRACE_EXITS,
            TraceKind::Tag { .. } => m::TRACE_TAGS,
        };
        self.pod.totals.add(kind, 1);
        self.pod.totals.add(m::TRACE_EVENTS, 1);
    }

    fn calls_lost(&mut self, calls: u64) {
        self.pod.totals.add(m::CORRUPTED, calls);
    }

    fn word(&mut self, _: u32, _: Option<&Arc<str>>) {
        self.pod.new_words = true;
    }

    fn words_forgotten(&mut self) {
        self.pod.methods.forget_words();
        self.pod.stacks.iter_mut().for_each(Stacks::forget_words);
        self.pod.roles.forget_words();
    }

    fn xml(&mut self, _: &BigValue<'_>) {
        self.pod.totals.add(m::XML_VALUES, 1);
    }

    fn sql(&mut self, _: &BigValue<'_>) {
        self.pod.totals.add(m::SQL_VALUES, 1);
    }

    fn gc_pause(&mut self, pause: &GcPause<'_>) {
        self.pod.totals.add(m::GC_COUNT, 1);
        self.pod.totals.add(m::GC_TIME, pause.duration_ns);
    }

    fn corrupt(&mut self, file: &File<'_>, at: u64, why: Corrupt) {
        self.pod.totals.add(m::ERROR_CORRUPT, 1);
        if let Some(totals) = self.stream(file.stream) {
            totals.add(m::STREAM_ERRORS, 1);
        }
        let line = format!("stream {} cannot be read behind byte {at}: {why}", clean(file.name, NAME_PART));
        self.sink.update(Update::Error(&line));
    }

    fn ended(&mut self, _: &File<'_>, torn: bool) {
        self.pod.totals.add(m::ERROR_TORN, torn.into());
    }

    fn flush(&mut self) {
        self.pod.totals.add(m::FLUSHES, 1);
        self.pod.message = true;
    }
}
