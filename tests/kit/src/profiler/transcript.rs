//! The records of one connection, in the format of the independent decoder
//! (qa/corpus/profiler/expect.py).

use std::collections::BTreeMap;
use std::fmt::{Arguments, Write};
use std::sync::Arc;

use flate2::Crc;
use pmdaapm::sources::profiler::*;
use serde_json::{Value, json};

/// The records of one file, a line each: their number and CRC.
#[derive(Default)]
pub struct Records {
    pub lines: u64,
    crc: Crc,
    /// Lines of an unfinished block of the trace: the decoder in Python drops them.
    deferred: String,
    deferred_lines: u64,
}

impl Records {
    fn defer(&mut self, line: Arguments<'_>) {
        writeln!(self.deferred, "{line}").unwrap();
        self.deferred_lines += 1;
    }

    fn flush(&mut self) {
        self.crc.update(self.deferred.as_bytes());
        self.lines += self.deferred_lines;
        self.deferred.clear();
        self.deferred_lines = 0;
    }

    fn line(&mut self, line: Arguments<'_>) {
        self.defer(line);
        self.flush();
    }

    pub fn crc32(&self) -> u32 {
        self.crc.sum()
    }
}

/// All records of one connection. Sums have the names of facts.json.
#[derive(Default)]
pub struct Transcript {
    /// CRC of all records in their order, to compare a whole session with one in pieces.
    all: Crc,
    scratch: String,
    /// By `NAME.SEQUENCE`.
    pub files: BTreeMap<String, (Records, BTreeMap<&'static str, Value>)>,
    at: String,
    pub hello: Option<(Option<u64>, String, String, String)>,
    pub words: u64,
    pub flushes: u64,
    pub lost: u64,
    pub corrupt: Vec<String>,
    pub torn: Vec<String>,
    pub closed: Option<bool>,
    pub late: u64,
    pub gc: Vec<(u32, String, u64, Option<i64>)>,
    depth: i64,
    threads: std::collections::BTreeSet<u64>,
    block_counts: BTreeMap<&'static str, i64>,
}

impl Transcript {
    /// A digest of all records, in their order.
    pub fn digest(&self) -> (u32, u32) {
        (self.all.sum(), self.all.amount())
    }

    fn note(&mut self, line: Arguments<'_>) {
        self.scratch.clear();
        writeln!(self.scratch, "{line}").unwrap();
        self.all.update(self.scratch.as_bytes());
    }

    fn file(&mut self) -> &mut (Records, BTreeMap<&'static str, Value>) {
        self.files.get_mut(&self.at).unwrap()
    }

    fn add(&mut self, what: &'static str, n: i64) {
        let old = self.file().1.entry(what).or_insert(json!(0));
        *old = json!(old.as_i64().unwrap() + n);
    }

    fn first(&mut self, what: &'static str, n: i64) {
        self.file().1.entry(what).or_insert(json!(n));
    }

    fn best(&mut self, what: &'static str, n: i64, pick: fn(i64, i64) -> i64) {
        let old = self.file().1.entry(what).or_insert(json!(n));
        *old = json!(pick(old.as_i64().unwrap(), n));
    }

    fn set(&mut self, what: &'static str, n: Value) {
        self.file().1.insert(what, n);
    }
}

fn signed(n: u64) -> i64 {
    n.try_into().unwrap()
}

impl Observer for Transcript {
    fn hello(&mut self, h: &Hello<'_>) {
        self.note(format_args!("{h:?}"));
        assert!(self.hello.is_none() && self.files.is_empty(), "hello is once and first");
        self.hello = Some((h.version, h.namespace.into(), h.service.into(), h.pod.into()));
    }

    fn opened(&mut self, o: &Opened<'_>) {
        self.note(format_args!("{o:?}"));
        self.files.insert(format!("{}.{}", o.name, o.sequence), Default::default());
        self.at = format!("{}.{}", o.name, o.sequence);
        self.set("requested_seq", json!(o.requested));
        self.set("reset", json!(i32::from(o.reset)));
    }

    fn chunk(&mut self, c: &Chunk<'_>) {
        self.note(format_args!("{c:?}"));
        self.at = format!("{}.{}", c.file.name, c.file.sequence);
        self.add("chunks", 1);
        self.add("bytes", c.size as i64);
        assert_eq!(self.file().1["bytes"], json!(c.offset + c.size as u64));
    }

    fn call(&mut self, c: &Call<'_>, words: &Dictionary) {
        self.note(format_args!("{c:?}"));
        self.late += u64::from(!c.is_named(words));
        let p = c.pointer;
        let mut line = format!(
            "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
            c.start_ms,
            c.duration_ms,
            c.method,
            c.calls,
            c.logs_written,
            c.logs_generated,
            p.file,
            p.offset,
            p.index,
            c.cpu_ms,
            c.wait_ms,
            c.memory,
            c.file_read,
            c.file_written,
            c.net_read,
            c.net_written,
            c.transactions,
            c.queue_wait_ms,
            c.thread_name.unwrap()
        );
        for p in c.params.iter() {
            write!(line, " {}={}", p.id, p.value).unwrap();
        }
        self.file().0.line(format_args!("{line}"));
        self.first("first_record_ts", c.start_ms);
        self.set("last_record_ts", json!(c.start_ms));
        self.best("min_ts", c.start_ms, i64::min);
        self.best("max_ts", c.start_ms, i64::max);
        self.best("max_duration_ms", signed(c.duration_ms), i64::max);
        for (what, n) in [
            ("calls", 1),
            ("sum_duration_ms", c.duration_ms),
            ("sum_cpu_ms", c.cpu_ms),
            ("sum_wait_ms", c.wait_ms),
            ("sum_memory_bytes", c.memory),
            ("sum_child_calls", c.calls.into()),
            ("sum_logs_generated", c.logs_generated),
            ("sum_logs_written", c.logs_written.into()),
            ("sum_file_read", c.file_read),
            ("sum_file_written", c.file_written),
            ("sum_net_read", c.net_read),
            ("sum_net_written", c.net_written),
            ("sum_transactions", c.transactions),
            ("sum_queue_wait_ms", c.queue_wait_ms.into()),
            ("calls_with_params", u64::from(c.params.count() > 0)),
            ("param_values", c.params.values().into()),
        ] {
            self.add(what, signed(n));
        }
        self.best("threads", i64::from(c.thread) + 1, i64::max);
    }

    fn pause(&mut self, p: &Pause) {
        self.note(format_args!("{p:?}"));
        self.file().0.line(format_args!("{} {}", p.end_ms, p.duration_ms));
        self.add("records", 1);
        self.add("total_ms", p.duration_ms.into());
        self.best("max_ms", p.duration_ms.into(), i64::max);
        self.first("first_end", p.end_ms);
        self.set("last_end", json!(p.end_ms));
    }

    fn trace_block(&mut self, b: &Block) {
        self.note(format_args!("{b:?}"));
        self.file().0.defer(format_args!("block {} {} {}", b.thread, b.start_ms, b.offset));
        self.depth = 0;
        self.block_counts.clear();
    }

    fn trace_event(&mut self, b: &Block, e: &TraceEvent<'_>, _: &Dictionary) {
        self.note(format_args!("{e:?}"));
        assert_eq!(format!("trace.{}", b.file - 1), self.at);
        let t = e.time_ms;
        let records = &mut self.files.get_mut(&self.at).unwrap().0;
        let mut count = |what| *self.block_counts.entry(what).or_default() += 1;
        count("events");
        match e.kind {
            TraceKind::Enter { method } => {
                count("enter");
                self.depth += 1;
                records.defer(format_args!("{t} enter {method}"));
            }
            TraceKind::Exit => {
                count("exit");
                self.depth -= 1;
                records.defer(format_args!("{t} exit"));
            }
            TraceKind::Tag { param, value } => {
                count("tag");
                let (what, kind, value) = match value {
                    TagValue::Inline(text) => ("tag_inline", 0, text.to_string()),
                    TagValue::Indexed(text) => ("tag_indexed", 2, text.to_string()),
                    TagValue::Xml(r) => ("tag_xml", 1, format!("{}:{}", r.file, r.offset)),
                    TagValue::Sql(r) => ("tag_sql_dedup", 3, format!("{}:{}", r.file, r.offset)),
                };
                count(what);
                records.defer(format_args!("{t} tag {param} {kind} {value}"));
            }
        }
    }

    fn trace_block_end(&mut self, b: &Block, events: u32) {
        self.note(format_args!("end of {b:?} {events}"));
        assert_eq!(i64::from(events), self.block_counts.get("events").copied().unwrap_or(0));
        self.file().0.flush();
        for (what, n) in std::mem::take(&mut self.block_counts) {
            self.add(what, n);
        }
        self.add("blocks", 1);
        self.add("finish", 1);
        self.add("balanced_blocks", i64::from(self.depth == 0));
        self.best("min_real", b.start_ms, i64::min);
        self.best("max_real", b.start_ms, i64::max);
        self.threads.insert(b.thread);
        let threads = self.threads.len();
        if !self.at.starts_with("trace.0") {
            return;
        }
        self.set("threads", json!(threads));
    }

    fn calls_lost(&mut self, calls: u64) {
        self.note(format_args!("lost {calls}"));
        self.lost += calls;
    }

    fn word(&mut self, id: u32, word: Option<&Arc<str>>, _: &Dictionary) {
        self.note(format_args!("word {id} {word:?}"));
        let word = word.unwrap();
        self.words += 1;
        self.file().0.line(format_args!("{id} {word}"));
        self.add("words", 1);
        // The decoder in Python calls them units, but counts code points.
        self.add("utf16_units", word.chars().count() as i64);
    }

    fn dictionary_reset(&mut self, _: &Dictionary) {
        self.note(format_args!("forgotten"));
        self.words = 0;
    }

    fn definition(&mut self, d: &Definition<'_>) {
        self.note(format_args!("{d:?}"));
        let line = format!(
            "{} {} {} {} {}",
            d.name,
            u8::from(d.indexed),
            u8::from(d.list),
            d.order,
            d.signature
        );
        self.file().0.line(format_args!("{line}"));
        self.add("params", 1);
        self.add("indexed", d.indexed.into());
        self.add("lists", d.list.into());
        self.add("signed", (!d.signature.is_empty()).into());
    }

    fn xml(&mut self, v: &BigValue<'_>) {
        self.note(format_args!("xml {v:?}"));
        self.value("xml", v);
    }

    fn sql(&mut self, v: &BigValue<'_>) {
        self.note(format_args!("sql {v:?}"));
        self.value("sql", v);
    }

    fn gc_pause(&mut self, p: &GcPause<'_>) {
        self.note(format_args!("{p:?}"));
        self.gc.push((p.number, p.kind.into(), p.duration_ns, p.end_ms));
    }

    fn corrupt(&mut self, file: &File<'_>, at: u64, why: DecodeError) {
        self.note(format_args!("corrupt {file:?} {at} {why:?}"));
        self.corrupt.push(format!("{}.{} at {at}: {why}", file.name, file.sequence));
    }

    fn ended(&mut self, file: &File<'_>, torn: bool) {
        self.note(format_args!("ended {file:?} {torn}"));
        if torn {
            if file.kind == StreamKind::Trace {
                // The decoder in Python drops an incomplete block, but has counted the types of its
                // tags.
                self.at = format!("{}.{}", file.name, file.sequence);
                for (what, n) in std::mem::take(&mut self.block_counts) {
                    self.add(what, if what.starts_with("tag_") { n } else { 0 });
                }
            }
            self.torn.push(format!("{}.{}", file.name, file.sequence));
        }
    }

    fn flush(&mut self) {
        self.note(format_args!("flush"));
        self.flushes += 1;
    }

    fn command_result(&mut self, id: &Uuid, ok: bool) {
        self.note(format_args!("result {id:?} {ok}"));
    }

    fn closed(&mut self, orderly: bool) {
        self.note(format_args!("closed {orderly}"));
        assert!(self.closed.replace(orderly).is_none(), "closed twice");
    }
}

impl Transcript {
    fn value(&mut self, name: &str, v: &BigValue<'_>) {
        assert_eq!(format!("{name}.{}", v.file - 1), self.at);
        self.file().0.line(format_args!("{} {}", v.offset, v.text));
        self.add("values", 1);
        let length = v.text.chars().count() as i64;
        self.add("utf16_units", length);
        self.best("longest", length, i64::max);
    }
}
