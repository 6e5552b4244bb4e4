//! Records in, requests out.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::between::mark;
use super::hold::PATIENCE;
use super::{Choice, Layout, Otlp};
use crate::exporter::Exporter;
use crate::meaning::{Item, SpanId};
use crate::model::{Flags, Instance, Origin, Record, Value};

/// A file in memory.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    /// All spans of the lines.
    fn spans(&self) -> Vec<Json> {
        let bytes = self.0.borrow();
        let mut found = Vec::new();
        for line in std::str::from_utf8(&bytes).expect("a text").lines() {
            let request: Json = serde_json::from_str(line).expect("a request");
            for resource in request["resourceSpans"].as_array().expect("resources") {
                let spans = resource["scopeSpans"][0]["spans"].as_array().expect("spans");
                found.extend(spans.iter().cloned());
            }
        }
        found
    }
}

fn otlp(all: bool) -> (Otlp, Shared) {
    let out = Shared::default();
    let choice = Choice { all, shift: 0 };
    (Otlp::file(Box::new(out.clone()), Layout::Lines, choice).expect("a file"), out)
}

/// A record at `at` ms; numbers in its parameters are ms.
pub(super) fn record(kind: &str, instance: &str, at: i64, parameters: &[(&str, &str)]) -> Record {
    let (source, kind) = kind.split_once('.').expect("a kind");
    let instance = Instance { name: instance.into(), ..Instance::default() };
    let parameters = parameters.iter().map(|(name, value)| {
        let number = value.parse().ok().map(|ms: u64| Value::Uint(ms * 1_000_000));
        ((*name).into(), number.unwrap_or_else(|| Value::Text((*value).into())))
    });
    Record {
        time: at * 1_000_000,
        origin: Arc::new(Origin::new(source, kind, Arc::new(instance))),
        flags: Flags::default(),
        missed: 0,
        paired: None,
        parameters: parameters.collect(),
    }
}

fn sent(all: bool, records: &[Record]) -> Vec<Json> {
    let (mut otlp, out) = otlp(all);
    records.iter().for_each(|record| otlp.add(record, Instant::now()).expect("memory"));
    let summary = otlp.finish().expect("memory");
    let spans = out.spans();
    assert_eq!(summary.sent, spans.len() as u64);
    spans
}

fn attribute<'a>(of: &'a Json, name: &str) -> Option<&'a Json> {
    let all = of["attributes"].as_array().expect("attributes");
    all.iter().find(|pair| pair["key"] == name).map(|pair| &pair["value"])
}

fn names(of: &Json) -> Vec<&str> {
    let events = of["events"].as_array().into_iter().flatten();
    events.filter_map(|event| event["name"].as_str()).collect()
}

const TRACE: (&str, &str) = ("trace", "4bf92f3577b34da6a3ce929d0e0e4736");
const SPAN: (&str, &str) = ("span", "00f067aa0ba902b7");

#[test]
fn an_exception_is_an_event_of_its_span_whichever_comes_first() {
    let span = record("zorka.span", "a", 100, &[TRACE, SPAN, ("duration", "50")]);
    let exception = record("zorka.exception", "a", 120, &[TRACE, SPAN]);
    for records in [[&span, &exception], [&exception, &span]] {
        let spans = sent(true, &records.map(Clone::clone));
        assert_eq!(spans.len(), 1);
        assert_eq!(names(&spans[0]), ["exception"]);
        let event = &spans[0]["events"][0];
        assert_eq!(event["timeUnixNano"], "120000000");
        let of = attribute(event, "apm.record").expect("its record");
        assert_eq!(of["stringValue"], "zorka.exception");
    }
    // Of a span that never comes: it has that parent, and an id of its own.
    let spans = sent(false, &[exception]);
    assert_eq!(spans[0]["parentSpanId"], SPAN.1);
    assert_ne!(spans[0]["spanId"], SPAN.1);
    assert_eq!((&spans[0]["traceId"], &spans[0]["status"]["code"]), (&TRACE.1.into(), &2.into()));
    assert_eq!(names(&spans[0]), ["exception"]);
}

#[test]
fn stops_are_events_of_spans_that_they_fall_into() {
    let call = |pod: &str, at, thread: &str| {
        record("profiler.call", pod, at, &[("duration", "50"), ("thread", thread)])
    };
    // A pause ends at its time: 90 to 110, 200 to 210, and one that is over when the call begins.
    let pause = |at, long: &str| record("profiler.pause", "a/b/c", at, &[("duration", long)]);
    let records = [
        pause(110, "20"),
        pause(210, "10"),
        pause(100, "5"),
        call("a/b/c", 100, "main"),
        call("a/b/d", 100, "main"),
        pause(149, "1"),
    ];
    let spans = sent(false, &records);
    assert_eq!(spans.len(), 2);
    let with = spans.iter().find(|span| !names(span).is_empty()).expect("a span with events");
    assert_eq!(names(with), ["gc.pause", "gc.pause"]);
    // The first one began before the span.
    assert_eq!(with["events"][0]["timeUnixNano"], "100000000");
    assert_eq!(with["events"][1]["timeUnixNano"], "148000000");
    let long = |n: usize| attribute(&with["events"][n], "apm.pause").map(|v| v["intValue"].clone());
    assert_eq!((long(0), long(1)), (Some("20000000".into()), Some("1000000".into())));
    assert_eq!(attribute(&with["events"][0], "apm.record"), None);
    // With all they are spans, and no events.
    let all = sent(true, &records);
    assert_eq!((all.len(), all.iter().flat_map(names).count()), (6, 0));
}

#[test]
fn waits_for_locks_are_events_of_their_thread() {
    let span = |thread| {
        let more = [TRACE, ("duration", "50"), ("thread", thread), ("span", thread)];
        record("zorka.span", "a", 100, &more)
    };
    let mut wait = record("jvm.contention", "a", 110, &[("duration", "5"), ("thread", "http-1")]);
    // The same process, as both say it.
    let labels = [("host".into(), "web1".into()), ("pid".into(), "7".into())];
    let of = |record: &mut Record| {
        let instance = Instance { labels: labels.clone().into(), ..Instance::default() };
        let origin = Origin::new(&record.origin.source, &record.origin.kind, Arc::new(instance));
        record.origin = Arc::new(origin);
    };
    let mut spans = [span("http-1"), span("http-2")];
    spans.iter_mut().for_each(&of);
    of(&mut wait);
    let [first, second] = spans;
    let spans = sent(false, &[first, wait, second]);
    let waited: Vec<_> = spans.iter().map(names).collect();
    assert_eq!(waited, [vec!["lock.wait"], vec![]]);
}

#[test]
fn trees_are_spans_below_their_call() {
    let of = [("duration", "10"), ("thread", "main")];
    let call = record("profiler.call", "a/b/c", 100, &of);
    let text = "0,10000,1000,,1,R.r 1,3000,1000,5,2,A.a 2,2000,2000,,7,B.b 1,6000,6000,0,1,C.c";
    let tree = record("profiler.tree", "a/b/c", 100, &[of[0], of[1], ("tree", text)]);
    let spans = sent(true, &[call, tree]);
    let by_name = |name: &str| spans.iter().find(|span| span["name"] == name).expect("a span");
    let call = spans.iter().find(|span| attribute(span, "apm.record").is_some()).expect("a call");
    let parents = [("C.c", call), ("A.a", call), ("B.b", by_name("A.a"))];
    for (name, parent) in parents {
        let span = by_name(name);
        assert_eq!(
            (&span["parentSpanId"], &span["traceId"]),
            (&parent["spanId"], &call["traceId"])
        );
        assert_eq!(attribute(span, "apm.synthetic").expect("a mark")["boolValue"], true);
    }
    assert_eq!(by_name("A.a")["startTimeUnixNano"], "106000000");
    assert_eq!(attribute(by_name("A.a"), "apm.self").expect("a time")["intValue"], "1000000");
    assert_eq!(spans.len(), 4);
}

#[test]
fn missed_records_are_seen() {
    let mut loss = record("zorka.span", "a", 100, &[]);
    loss.missed = 17;
    let spans = sent(false, &[loss.clone(), loss]);
    assert_eq!(spans.len(), 2);
    assert_ne!(spans[0]["spanId"], spans[1]["spanId"]);
    assert_eq!(
        (&spans[0]["name"], &spans[0]["status"]["code"]),
        (&"17 records missed".into(), &2.into())
    );
    assert_eq!(attribute(&spans[0], "apm.missed").expect("a number")["intValue"], "17");
}

#[test]
fn a_tree_that_was_delivered_is_passed_over_as_a_whole() {
    let of = [("duration", "10"), ("tree", "0,9,9,,1,R.r 1,3,1,5,2,A.a 1,6,6,0,1,C.c")];
    let tree = record("profiler.tree", "a/b/c", 100, &of);
    let ids = |known: &[SpanId]| {
        let (mut otlp, out) = otlp(true);
        otlp.known.extend(known);
        otlp.add(&tree, Instant::now()).expect("memory");
        otlp.finish().expect("memory");
        let ids = out.spans().into_iter().map(|span| {
            let id = span["spanId"].as_str().and_then(|id| u64::from_str_radix(id, 16).ok());
            SpanId(id.expect("an id").to_be_bytes())
        });
        ids.collect::<Vec<_>>()
    };
    let all = ids(&[]);
    assert_eq!(all.len(), 2);
    assert_eq!(ids(&all[1..]), []);
    // A part of it was lost at the end.
    assert_eq!(ids(&all[..1]), all[1..]);
}

#[test]
fn records_between_two_runs_that_have_gone_are_told() {
    let calls = |from: i64| {
        let call = |at| record("profiler.call", "a/b/c", at, &[("duration", "1")]);
        (from..from + 3).map(call).collect::<Vec<_>>()
    };
    let gaps = |known: &[SpanId], records: &[Record]| {
        let (mut otlp, _) = otlp(false);
        otlp.known.extend(known);
        records.iter().for_each(|of| otlp.add(of, Instant::now()).expect("memory"));
        otlp.finish().expect("memory");
        otlp.streams.gaps
    };
    let of = |record: &Record| crate::meaning::Ids::default().of(&Item::new(record)).span;
    let (before, now) = (calls(100), calls(103));
    let stream = mark(&before[0].origin);
    let delivered: Vec<SpanId> = before.iter().map(of).chain([stream]).collect();
    assert_eq!(gaps(&[], &now), 0, "the first run");
    assert_eq!(gaps(&delivered[..3], &now), 0, "a stream that has come meanwhile");
    assert_eq!(gaps(&delivered, &[&before[2..], &now].concat()), 0, "they go on");
    assert_eq!(gaps(&delivered, &now), 1);
}

#[test]
fn all_spans_say_how_much_later_they_are() {
    let of = [("duration", "10"), ("tree", "0,9,9,,1,R.r 1,3,1,5,2,A.a")];
    let mut loss = record("profiler.call", "a/b/c", 100, &of[..1]);
    loss.missed = 3;
    let records = [loss, record("profiler.tree", "a/b/c", 100, &of)];
    let run = |shift| {
        let out = Shared::default();
        let choice = Choice { all: false, shift };
        let mut otlp = Otlp::file(Box::new(out.clone()), Layout::Lines, choice).expect("a file");
        records.iter().for_each(|record| otlp.add(record, Instant::now()).expect("memory"));
        otlp.finish().expect("memory");
        out.spans()
    };
    let (plain, later) = (run(0), run(5_000_000_000));
    assert_eq!((plain.len(), later.len()), (3, 3));
    let time = |span: &Json, name: &str| span[name].as_str().and_then(|n| n.parse::<i64>().ok());
    for (plain, later) in plain.iter().zip(&later) {
        assert_eq!(attribute(plain, "apm.shift"), None);
        assert_eq!(attribute(later, "apm.shift").expect("a mark")["intValue"], "5000000000");
        for name in ["startTimeUnixNano", "endTimeUnixNano"] {
            assert_eq!(time(later, name), time(plain, name).map(|at| at + 5_000_000_000));
        }
    }
}

#[test]
fn live_a_span_waits_for_a_while() {
    let (mut otlp, out) = otlp(false);
    let start = Instant::now();
    otlp.add(&record("zorka.span", "a", 100, &[TRACE, SPAN]), start).expect("memory");
    otlp.tick(start + PATIENCE - Duration::from_millis(1)).expect("memory");
    assert!(out.spans().is_empty());
    otlp.tick(start + PATIENCE).expect("memory");
    assert_eq!(out.spans().len(), 1);
}

#[test]
fn requests_are_bounded() {
    let (mut otlp, out) = otlp(false);
    let title = "x".repeat(10_000);
    for n in 0..4500 {
        let text = if n < 300 { &*title } else { "short" };
        let parameters = [("duration", "1"), ("title", text)];
        let call = record("profiler.call", "a/b/c", n, &parameters);
        otlp.add(&call, Instant::now()).expect("memory");
    }
    assert_eq!(otlp.finish().expect("memory").sent, 4500);
    let bytes = out.0.borrow();
    let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()).collect();
    assert!(lines.iter().all(|line| line.len() <= 2 << 20));
    assert!(lines.len() <= 6, "{} requests", lines.len());
    for line in lines {
        let request: Json = serde_json::from_slice(line).expect("a request");
        let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
        assert!(spans.is_some_and(|spans| spans.len() <= 2000));
    }
}
