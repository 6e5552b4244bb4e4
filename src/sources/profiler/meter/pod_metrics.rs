//! Makes metrics and event records of what a pod tells.

use std::sync::Arc;
use std::time::Duration;

use super::accounting::{Accounting, REST};
use super::stacks::Stacks;
use crate::events::flags::POINT;
use crate::model::{EventParam, Identity, Now, Stamp, Update, Value};
use crate::sources::Sink;
use crate::sources::define::start_counters;
use crate::sources::profiler::metrics::{self as m, ns};
use crate::sources::profiler::records::call_record::{Entry, Records};
use crate::sources::profiler::records::pending::{Budget, Waiting};
use crate::sources::profiler::streams::error::Corrupt;
use crate::sources::profiler::streams::gc::GcPause;
use crate::sources::profiler::streams::record::{
    BigValue, Block, Call, Chunk, File, Observer, Pause, TraceEvent, TraceKind,
};
use crate::sources::profiler::wire::command::{Hello, Opened};
use crate::sources::profiler::wire::identity::PodName;
use crate::sources::profiler::words::Words;
use crate::sources::profiler::words::method_name::{clean, is_loss_report};

/// Bytes of a part of an instance name.
const NAME_PART: usize = 100;
/// Agents flush every 5 s, some that have nothing to say every 10 s.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Seconds without data after which all is given up that can be made again: agents that have
/// something to say say it every 5 s. Time of roots that go on has been counted by then.
const SILENT: u8 = 15;

/// What a connection's metrics need from one read to the next.
#[derive(Debug)]
pub(crate) struct Pod {
    address: String,
    name: String,
    numbers: Accounting,
    streams: Vec<StreamTotals>,
    stacks: Option<Stacks>,
    waiting: Waiting,
    records: Records,
    /// The method by which the agent reports its losses: no call of the application.
    report: Option<u32>,
    longest_pause: u64,
    words: usize,
    refused: u64,
    scratch: Entry,
    message: bool,
    /// Seconds since the last data.
    silent: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct StreamTotals {
    sums: [u64; 4],
}

impl StreamTotals {
    fn add(&mut self, item: u16, more: u64) {
        if let Some(sum) = self.sums.get_mut(usize::from(item)) {
            *sum += more;
        }
    }
}

/// A pod while its connection is being read.
pub(crate) struct Meter<'a> {
    pub(crate) pod: &'a mut Pod,
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) now: Now,
}

impl Pod {
    pub(crate) fn new(
        address: String,
        stacks: bool,
        parameters: Arc<[String]>,
        waiting: Arc<Budget>,
    ) -> Self {
        Self {
            address,
            name: String::new(),
            numbers: Accounting::default(),
            streams: Vec::new(),
            stacks: stacks.then(Stacks::default),
            waiting: Waiting::new(waiting),
            records: Records::new(parameters),
            report: None,
            longest_pause: 0,
            words: 0,
            refused: 0,
            scratch: Entry::default(),
            message: false,
            silent: 0,
        }
    }

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.numbers.memory()
            + self.stacks.as_ref().map_or(0, Stacks::memory)
            + self.waiting.memory()
    }

    /// The read is over: what it added is told. `end`: nothing more comes.
    pub(crate) fn settle(&mut self, now: Now, words: &Words, sink: &mut dyn Sink, end: bool) {
        self.release(now, words, sink, end);
        if end {
            self.numbers.methods.expire(now.mono, true);
        }
        self.numbers.tell(sink);
        for (slot, stream) in (0..).zip(&mut self.streams) {
            for (item, sum) in (0..).zip(&mut stream.sums) {
                let more = std::mem::take(sum);
                if more > 0 {
                    sink.update(Update::RowCount { table: m::STREAMS, slot, item, more });
                }
            }
        }
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

    /// Calls that need not wait any longer become records.
    fn release(&mut self, now: Now, words: &Words, sink: &mut dyn Sink, end: bool) {
        let Self { numbers, waiting, records, report, .. } = self;
        waiting.release(now.mono, words, end, |entry| {
            let named = entry.is_named(words);
            if let Some(call) = &entry.uncounted {
                if *report == Some(entry.method) {
                    return;
                }
                numbers.call(call, entry, named, now, words, sink);
            }
            numbers.totals.add(m::NAMELESS, (!named).into());
            records.tell(entry, numbers.methods.name(entry.method), words, sink);
        });
    }

    /// A second has passed.
    pub(crate) fn tick(&mut self, now: Now, words: &Words, sink: &mut dyn Sink) {
        self.scratch.shrink();
        self.numbers.methods.expire(now.mono, false);
        self.settle(now, words, sink, false);
        self.stacks.iter_mut().for_each(|s| s.tell(words, sink, false));
        self.numbers.tell_latency(now, sink);
        self.silent = self.silent.saturating_add(1);
        if self.silent == SILENT {
            self.stacks.iter_mut().for_each(|s| s.rest(sink));
            self.records.rest();
            self.numbers.methods.rest();
        }
    }

    /// The connection is over.
    pub(crate) fn close(&mut self, now: Now, words: &Words, sink: &mut dyn Sink) {
        self.settle(now, words, sink, true);
        self.stacks.iter_mut().for_each(|s| s.tell(words, sink, true));
        self.numbers.tell_latency(now, sink);
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
        let name =
            format!("{}/{}/{}", part(hello.namespace), part(hello.service), part(who.server));
        let mut labels = vec![
            ("namespace", hello.namespace.to_owned()),
            ("service", hello.service.to_owned()),
            ("pod", hello.pod.to_owned()),
        ];
        labels.extend(who.started_ms.map(|ms| ("started", Stamp::from_millis(ms).to_string())));
        self.pod.name.clone_from(&name);
        let process = Some(hello.pod.to_owned());
        let peer = self.pod.address.clone();
        self.sink.update(Update::Identity(Identity { name, peer, labels, resumes: true, process }));
        self.sink.update(Update::Interval(HEARTBEAT));
        if let Some(ms) = who.started_ms {
            self.sink.update(Update::Set { item: m::START_TIME, value: Value::I64(ms) });
        }
        self.pod.records.define(self.sink);
        // What the connection before has said of itself is not true of this one.
        for item in [m::P50, m::P95, m::P99, m::MAX, m::SUSPEND_MAX] {
            self.sink.update(Update::Unset { item });
        }
        for item in [m::WORDS, m::TRUNCATED] {
            self.sink.update(Update::Set { item, value: Value::U64(0) });
        }
        start_counters(m::metrics(), self.sink);
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
        self.pod.silent = 0;
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
        self.sink.update(Update::Event {
            kind: m::CHUNK,
            stamp: self.now.wall,
            flags: POINT,
            params: &params,
        });
        self.pod.message = true;
    }

    fn call(&mut self, call: &Call<'_>, words: &Words) {
        let Self { pod, sink, now } = self;
        if pod.report == Some(call.method) {
            return;
        }
        pod.scratch.take(call);
        let named = call.is_named(words);
        if !named && may_be_loss_report(call, words) {
            // Counted when its name has come, and not before.
            let entry = Entry { uncounted: Some(Box::new(call.numbers())), ..pod.scratch.clone() };
            return pod.waiting.push(now.mono, &entry);
        }
        pod.numbers.call(call, &pod.scratch, named, *now, words, *sink);
        if named {
            pod.records.tell(&pod.scratch, pod.numbers.methods.name(call.method), words, *sink);
        } else {
            pod.waiting.push(now.mono, &pod.scratch);
        }
    }

    fn pause(&mut self, pause: &Pause) {
        let took = ns(pause.duration_ms.into());
        self.pod.numbers.totals.add(m::SUSPENDS, 1);
        self.pod.numbers.totals.add(m::SUSPEND_TIME, took);
        if took > self.pod.longest_pause {
            self.pod.longest_pause = took;
            self.sink.update(Update::Set { item: m::SUSPEND_MAX, value: Value::U64(took) });
        }
        let params = [EventParam::number(m::P_DURATION, took)];
        self.sink.update(Update::Event {
            kind: m::PAUSE,
            stamp: Stamp::from_millis(pause.end_ms),
            flags: POINT,
            params: &params,
        });
    }

    fn trace_block(&mut self, _: &Block) {
        self.pod.numbers.totals.add(m::TRACE_BLOCKS, 1);
    }

    #[inline(always)]
    fn trace_event(&mut self, block: &Block, event: &TraceEvent<'_>, _: &Words) {
        if let Some(stacks) = &mut self.pod.stacks {
            stacks.event(block, event);
        }
        let kind = match event.kind {
            TraceKind::Enter { .. } => m::TRACE_ENTERS,
            TraceKind::Exit => m::TRACE_EXITS,
            TraceKind::Tag { .. } => m::TRACE_TAGS,
        };
        self.pod.numbers.totals.add(kind, 1);
        self.pod.numbers.totals.add(m::TRACE_EVENTS, 1);
    }

    fn calls_lost(&mut self, calls: u64) {
        self.pod.numbers.totals.add(m::CORRUPTED, calls);
    }

    fn word(&mut self, id: u32, word: Option<&Arc<str>>, words: &Words) {
        let Self { pod, sink, now } = self;
        let word = word.map(|w| &**w);
        if word.is_some_and(is_loss_report) {
            pod.report = Some(id);
        } else if pod.report == Some(id) {
            pod.report = None;
        }
        pod.stacks.iter_mut().for_each(|s| s.word(id, word));
        pod.numbers.word(id, word, *now, words, *sink);
        pod.waiting.word();
    }

    fn words_forgotten(&mut self) {
        self.pod.report = None;
        self.pod.numbers.forget_words();
        self.pod.stacks.iter_mut().for_each(Stacks::forget_words);
        self.pod.records.forget_words();
    }

    fn xml(&mut self, _: &BigValue<'_>) {
        self.pod.numbers.totals.add(m::XML_VALUES, 1);
    }

    fn sql(&mut self, _: &BigValue<'_>) {
        self.pod.numbers.totals.add(m::SQL_VALUES, 1);
    }

    fn gc_pause(&mut self, pause: &GcPause<'_>) {
        self.pod.numbers.totals.add(m::GC_COUNT, 1);
        self.pod.numbers.totals.add(m::GC_TIME, pause.duration_ns);
    }

    fn corrupt(&mut self, file: &File<'_>, at: u64, why: Corrupt) {
        self.pod.numbers.totals.add(m::ERROR_CORRUPT, 1);
        if let Some(totals) = self.stream(file.stream) {
            totals.add(m::STREAM_ERRORS, 1);
        }
        let line = format!(
            "stream {} cannot be read behind byte {at}: {why}",
            clean(file.name, NAME_PART)
        );
        self.sink.update(Update::Error(&line));
    }

    fn ended(&mut self, _: &File<'_>, torn: bool) {
        self.pod.numbers.totals.add(m::ERROR_TORN, torn.into());
    }

    fn flush(&mut self) {
        self.pod.numbers.totals.add(m::FLUSHES, 1);
        self.pod.message = true;
    }
}

/// A call whose method has no name yet may turn out to be the agent's report of losses: such a call
/// has nothing nested in it and no parameter but `call.red` = 1.
fn may_be_loss_report(call: &Call<'_>, words: &Words) -> bool {
    call.calls == 1
        && call.params.count() == 1
        && words.get(call.method).is_none()
        && call.params.iter().all(|p| p.value.units() == 1 && p.value.is("1"))
}
