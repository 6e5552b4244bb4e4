use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use test_kit::zorka::{Captured, capture, corpus, fib};

use super::*;
use crate::contract::Recorded;
use crate::model::{HeapSize, RowItem, Stamp};
use crate::sources::Source;
use crate::sources::zorka::Zorka;
use crate::sources::zorka::wire::{self, Begin, Content, Definition, FLAG_ERROR, Record, unwrap};

const ALL: Settings = Settings { signatures: true, statements: true, stacks: true };

fn at(seconds: u64) -> Now {
    Now {
        wall: Stamp::from_millis(1_795_000_000_000 + 1000 * seconds as i64),
        monotonic: Duration::from_secs(seconds),
    }
}

/// An agent and its session.
struct Agent {
    meter: Meter,
    names: Names,
    seen: Recorded,
}

impl Agent {
    fn new(settings: Settings) -> Self {
        let (mut meter, mut seen) = (Meter::new(settings), Recorded::new(&Zorka::TABLE));
        let slow = Arc::new(SlowCalls::new(&Arc::default()));
        meter.start("a1", "shop", &MergedLatencies::new(&Arc::default()), &slow, &mut seen);
        Self { meter, names: Names::new(&Arc::default()), seen }
    }

    fn define(&mut self, bytes: &[u8]) {
        let names = &mut self.names;
        let _ = wire::definitions(bytes, &mut |definition| match definition {
            Definition::Symbol { id, text } => names.define_symbol(id, text),
            Definition::Method { id, class, name, signature } => {
                names.define_method(id, class, name, signature);
            }
            Definition::Attribute { .. } | Definition::Unknown => {}
        });
        names.settle();
    }

    fn count(&mut self, now: Now, bytes: &[u8], body: &TraceBody) {
        let mut copies = Copies::default();
        copies.find(body);
        let context = TraceContext { trace_id: None, bytes, base64: false, copies: &copies };
        self.meter.trace(now, &context, body, &mut self.names, &mut self.seen);
        self.meter.report(&mut self.seen);
    }

    fn trace(&mut self, now: Now, bytes: &[u8]) {
        let mut body = TraceBody::default();
        let _ = wire::trace(bytes, &mut body);
        self.count(now, bytes, &body);
    }

    fn request(&mut self, now: Now, request: &Captured) {
        let reset = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("x-zorka-session-reset") && value == "true"
        };
        let bytes = |content| unwrap(content, &request.body, 1 << 24).unwrap().bytes;
        if request.status >= 300 {
        } else if request.path.ends_with("/session") {
            self.names.reset();
        } else if request.path.ends_with("/agd") {
            if request.headers.iter().any(reset) {
                self.names.reset();
            }
            self.define(&bytes(Content::Definitions));
        } else if request.path.ends_with("/trc") {
            self.trace(now, &bytes(Content::Trace));
        }
    }

    fn row(&self, item: RowItem, key: &str) -> u64 {
        self.seen.cell(item, key).unwrap_or_else(|| panic!("no row {key}"))
    }
}

fn number(json: &Json) -> u64 {
    json.as_u64().unwrap_or_else(|| panic!("{json}"))
}

/// The facts of qa/corpus/zorka/expected.json about one capture.
fn check(agent: &Agent, expected: &Json, file: &str) {
    let count = |item| agent.seen.count(item);
    let map = |name: &str| expected[name].as_object().unwrap();
    let sum = |of: &serde_json::Map<String, Json>| of.values().map(number).sum::<u64>();
    let spans = |what: &str| map("spans").values().map(|s| number(&s[what])).sum::<u64>();
    for (item, expected, what) in [
        (m::RECORDS_RECEIVED, number(&expected["records"]), "records"),
        (m::RECORDS, number(&expected["records_once"]), "records once"),
        (m::SPANS_RECEIVED, number(&expected["spans_all"]), "spans received"),
        (m::SPANS, spans("count"), "spans"),
        (m::SPAN_ERRORS, spans("errors"), "failed spans"),
        (m::SPAN_TIME, spans("sum_ns"), "time of spans"),
        (m::OVERFLOWS, spans("overflow"), "overflows"),
        (m::EXCEPTIONS_RECEIVED, sum(map("exceptions")), "exceptions received"),
        (m::EXCEPTIONS, sum(map("exceptions_once")), "exceptions"),
        (m::UNCLOSED, number(&expected["unclosed"]), "unclosed"),
        (m::RECORDS_MODERN, expected["dialects"]["M"].as_u64().unwrap_or(0), "modern"),
        (m::RECORDS_LEGACY, expected["dialects"]["L"].as_u64().unwrap_or(0), "legacy"),
    ] {
        assert_eq!(count(item), expected, "{file}: {what}");
    }
    for (kind, of) in map("spans") {
        let items = [
            (m::TYPE_COUNT, "count"),
            (m::TYPE_ERRORS, "errors"),
            (m::TYPE_OVERFLOW, "overflow"),
            (m::TYPE_TIME, "sum_ns"),
            (m::TYPE_MAX, "max_ns"),
            (m::TYPE_CALLS, "calls"),
        ];
        for (item, name) in items {
            let value = agent.row(item, kind);
            assert_eq!(value, number(&of[name]), "{file}: {kind} {name}");
        }
    }
    let histogram: u64 = agent.seen.rows(m::TYPE_HISTOGRAM).into_values().sum();
    assert_eq!(histogram, spans("count"), "{file}: histogram");
    for (class, of) in map("exceptions") {
        let once = map("exceptions_once").get(class).map_or(0, number);
        assert_eq!(agent.row(m::CLASS_RECEIVED, class), number(of), "{file}: {class}");
        assert_eq!(agent.row(m::CLASS_COUNT, class), once, "{file}: {class} once");
    }
    let methods = map("methods");
    assert_eq!(agent.seen.rows(m::METHOD_COUNT).len(), methods.len(), "{file}: methods");
    for (method, of) in methods {
        let items = [
            (m::METHOD_COUNT, "recs"),
            (m::METHOD_ERRORS, "errors"),
            (m::METHOD_TOTAL_TIME, "sum_ns"),
            (m::METHOD_MAX, "max_ns"),
            (m::METHOD_SELF_TIME, "self_ns"),
        ];
        for (item, name) in items {
            let value = agent.seen.cell(item, method).unwrap_or(0);
            assert_eq!(value, number(&of[name]), "{file}: {method} {name}");
        }
        let [time, total] =
            [m::METHOD_TIME, m::METHOD_TOTAL_TIME].map(|item| agent.row(item, method));
        assert!(time <= total, "{file}: {method}: {time} {total}");
    }
    let own: u64 = methods.values().map(|of| number(&of["self_ns"])).sum();
    let stacks: u64 = agent.seen.rows(m::STACK_TIME).into_values().sum();
    // Negative self time of a single record is not carried to others with the same stack.
    assert!(stacks >= own && stacks <= own + 40 * 65_536, "{file}: {stacks} {own}");
}

#[test]
fn captures_give_the_facts_that_were_computed_apart() {
    let facts = std::fs::read_to_string(corpus().join("expected.json")).unwrap();
    let facts: BTreeMap<String, Json> = serde_json::from_str(&facts).unwrap();
    let mut checked = 0;
    for (file, expected) in facts {
        let path = corpus().join(&file);
        // Some captures are kept elsewhere.
        if !path.exists() {
            continue;
        }
        let mut agent = Agent::new(ALL);
        for (n, request) in capture(&path).iter().enumerate() {
            agent.request(at(n as u64 / 10), request);
            if n % 3 == 0 {
                agent.meter.tick(at(n as u64 / 10), &mut agent.seen);
            }
        }
        agent.meter.tick(at(100), &mut agent.seen);
        check(&agent, &expected, &file);
        checked += 1;
    }
    assert!(checked >= 14, "{checked}");
}

#[test]
fn an_agent_that_is_silent_between_all_requests_counts_the_same() {
    let facts = std::fs::read_to_string(corpus().join("expected.json")).unwrap();
    let facts: BTreeMap<String, Json> = serde_json::from_str(&facts).unwrap();
    for file in ["real-2.0.3/demo-errors.jsonl", "real-1.90.5/web-jetty-h2.jsonl"] {
        let mut agent = Agent::new(ALL);
        let mut now = 0;
        for request in capture(&corpus().join(file)) {
            agent.request(at(now), &request);
            // Sometimes caches are freed, sometimes everything is.
            for _ in 0..(now % 7) * 4 {
                now += 5;
                agent.meter.tick(at(now), &mut agent.seen);
            }
            now += 1;
        }
        agent.meter.tick(at(now), &mut agent.seen);
        check(&agent, &facts[file], file);
        agent.meter.tick(at(now + 86_400), &mut agent.seen);
        agent.meter.tick(at(now + 86_401), &mut agent.seen);
        let memory = agent.meter.heap_size();
        assert!(memory <= "a1".len() + "shop".len(), "{memory}");
        assert_eq!(agent.seen.rows(m::TYPE_P50).len(), 0);
    }
}

/// A body of records with parents, methods and times: start and duration follow from the order of
/// starts and ends.
fn body(records: &[(u32, u32, u64)]) -> TraceBody {
    let mut body = TraceBody::default();
    for &(parent, method, duration) in records {
        let record = Record {
            parent,
            method,
            duration,
            span: NONE,
            flags: FLAG_CLOSED,
            ..Record::default()
        };
        body.records.push(record);
        if let Some(parent) = body.records.get_mut(parent as usize) {
            parent.children += duration;
        }
    }
    body
}

fn methods(agent: &mut Agent, number: u32) {
    agent.names.define_symbol(1, b"com.x.Shop");
    for n in 0..number {
        agent.names.define_symbol(n + 2, format!("m{n}").as_bytes());
        agent.names.define_method(n, 1, n + 2, 0);
    }
}

#[test]
fn recursion_counts_once_for_time_also_by_way_of_others() {
    let mut agent = Agent::new(Settings::default());
    methods(&mut agent, 3);
    // m0 { m1 { m0 { m1 } m0 } m1 } m0
    let body = body(&[
        (NONE, 0, 100),
        (0, 1, 70),
        (1, 0, 40),
        (2, 1, 30),
        (1, 0, 20),
        (0, 1, 10),
        (NONE, 0, 5),
    ]);
    agent.count(at(0), b"", &body);
    let of = |name: &str| {
        [m::METHOD_COUNT, m::METHOD_TIME, m::METHOD_TOTAL_TIME, m::METHOD_SELF_TIME, m::METHOD_MAX]
            .map(|item| agent.row(item, &format!("com.x.Shop.{name}")))
    };
    assert_eq!(of("m0"), [4, 105, 165, 20 + 10 + 20 + 5, 100]);
    assert_eq!(of("m1"), [3, 80, 110, 10 + 30 + 10, 70]);
}

#[test]
fn overloads_are_one_method_unless_signatures_are_wanted() {
    for signatures in [false, true] {
        let mut agent = Agent::new(Settings { signatures, ..Settings::default() });
        for (id, text) in [(1, "a.B"), (2, "run"), (3, "()V"), (4, "(Ljava/lang/String;)V")] {
            agent.names.define_symbol(id, text.as_bytes());
        }
        agent.names.define_method(1, 1, 2, 3);
        agent.names.define_method(2, 1, 2, 4);
        agent.count(at(0), b"", &body(&[(NONE, 1, 50), (0, 2, 30)]));
        let rows = agent.seen.rows(m::METHOD_TIME);
        let expected: &[(&str, u64)] = match signatures {
            true => &[("a.B.run()V", 50), ("a.B.run(Ljava/lang/String;)V", 30)],
            false => &[("a.B.run", 50)],
        };
        assert!(rows.iter().map(|(key, time)| (&**key, *time)).eq(expected.iter().copied()));
    }
}

#[test]
fn self_time_is_exact_over_bodies_with_longer_children() {
    let mut agent = Agent::new(Settings::default());
    methods(&mut agent, 2);
    let own = |agent: &Agent| agent.row(m::METHOD_SELF_TIME, "com.x.Shop.m0");
    agent.count(at(0), b"", &body(&[(NONE, 0, 100), (0, 1, 130)]));
    assert_eq!(own(&agent), 0);
    // A day of silence keeps the remainder, and a counter never falls.
    agent.meter.tick(at(86_400), &mut agent.seen);
    agent.count(at(86_401), b"", &body(&[(NONE, 0, 50), (0, 1, 30)]));
    assert_eq!(own(&agent), 0);
    agent.count(at(86_402), b"", &body(&[(NONE, 0, 25)]));
    assert_eq!(own(&agent), 15);
    assert_eq!(agent.row(m::METHOD_SELF_TIME, "com.x.Shop.m1"), 160);
}

#[test]
fn what_is_not_defined_has_a_number() {
    let mut agent = Agent::new(ALL);
    agent.names.define_symbol(1, b"a.B");
    agent.names.define_method(1, 1, 99, 0);
    let mut body = body(&[(NONE, 1, 50), (0, 7, 30), (1, 7, 10)]);
    body.records[0].span = 0;
    body.records[0].flags |= FLAG_ERROR;
    body.spans.push(Begin { kind: 55, ..Default::default() });
    agent.count(at(0), b"", &body);
    agent.meter.tick(at(1), &mut agent.seen);
    let row = |key: &str| agent.seen.cell(m::METHOD_COUNT, key);
    assert_eq!((row("a.B.#99"), row("#7")), (Some(1), Some(2)));
    assert_eq!(agent.row(m::TYPE_ERRORS, "#55"), 1);
    assert_eq!(agent.row(m::STACK_TIME, "B.#99,#7,#7"), 10);
    // The symbols of method and type, and two calls of an unknown method.
    assert_eq!(agent.seen.count(m::UNRESOLVED), 4);
}

#[test]
fn a_renumbered_session_and_a_second_one_do_not_mix_methods() {
    let mut agent = Agent::new(Settings::default());
    methods(&mut agent, 4);
    let all = body(&[(NONE, 0, 1), (NONE, 1, 10), (NONE, 2, 100), (NONE, 3, 1000)]);
    agent.count(at(0), b"", &all);
    // After a reset the same ids are other methods.
    agent.names.reset();
    agent.names.define_symbol(1, b"com.x.Shop");
    for n in 0..4 {
        agent.names.define_symbol(n + 2, format!("m{}", 3 - n).as_bytes());
        agent.names.define_method(n, 1, n + 2, 0);
    }
    agent.count(at(1), b"", &all);
    // Caches are freed, and with them the numbers of methods.
    agent.meter.tick(at(30), &mut agent.seen);
    agent.meter.tick(at(90), &mut agent.seen);
    agent.meter.tick(at(91), &mut agent.seen);
    let last = body(&[(NONE, 2, 7)]);
    agent.count(at(100), b"", &last);
    let times = [0, 1, 2, 3].map(|n| agent.row(m::METHOD_TIME, &format!("com.x.Shop.m{n}")));
    assert_eq!(times, [1001, 117, 110, 1001]);
}

#[test]
fn percentiles_have_a_minute() {
    let mut agent = Agent::new(Settings::default());
    agent.names.define_symbol(1, b"http");
    let span = |duration: u64| {
        let mut body = body(&[(NONE, 0, duration)]);
        body.records[0].span = 0;
        body.spans.push(Begin { kind: 1, ..Default::default() });
        body
    };
    for n in 1..=100 {
        agent.count(at(5), b"", &span(n * 1_000_000));
    }
    agent.meter.tick(at(6), &mut agent.seen);
    let of = |agent: &Agent, item| agent.seen.cell(item, "http");
    let near = |value: Option<u64>, ms: u64| {
        let value = value.unwrap_or_default();
        value.abs_diff(ms * 1_000_000) <= ms * 10_000
    };
    for (item, ms) in
        [(m::TYPE_P50, 50), (m::TYPE_P95, 95), (m::TYPE_P99, 99), (m::TYPE_RECENT_MAX, 100)]
    {
        assert!(near(of(&agent, item), ms), "{:?} {ms}", of(&agent, item));
    }
    (7..70).for_each(|s| agent.meter.tick(at(s), &mut agent.seen));
    assert_eq!([m::TYPE_P50, m::TYPE_RECENT_MAX].map(|item| of(&agent, item)), [None; 2]);
    assert_eq!(of(&agent, m::TYPE_MAX), Some(100_000_000));
    agent.count(at(80), b"", &span(3_000_000));
    agent.meter.tick(at(81), &mut agent.seen);
    assert!(near(of(&agent, m::TYPE_P50), 3));
    assert_eq!(of(&agent, m::TYPE_COUNT), Some(101));
}

#[test]
fn thirty_thousand_methods_have_slots_until_they_begin_anew() {
    let mut agent = Agent::new(Settings::default());
    let number = 31_000;
    methods(&mut agent, number);
    let count = |agent: &mut Agent, first: u32| {
        let records: Vec<_> = (first..first + 1000).map(|n| (NONE, n, u64::from(n) + 1)).collect();
        agent.count(at(0), b"", &body(&records));
    };
    (0..number).step_by(1000).for_each(|first| count(&mut agent, first));
    let rows = |agent: &Agent| agent.seen.rows(m::METHOD_COUNT).len();
    assert_eq!(rows(&agent), crate::sources::zorka::limits::METHOD_ROWS + 1);
    // Those that had none come first in the next second.
    agent.meter.tick(at(1), &mut agent.seen);
    (0..number).step_by(1000).rev().for_each(|first| count(&mut agent, first));
    assert_eq!(rows(&agent), number as usize + 1);
    assert_eq!(agent.row(m::METHOD_COUNT, "other"), 2 * 1000);
    let all = agent.seen.rows(m::METHOD_COUNT).into_values().sum::<u64>();
    assert_eq!(all, 2 * u64::from(number));
    assert!(agent.meter.heap_size() < 6 << 20, "{}", agent.meter.heap_size());
    (1..100).for_each(|s| agent.meter.tick(at(s), &mut agent.seen));
    assert!(agent.meter.heap_size() < 1024, "{}", agent.meter.heap_size());
}

#[test]
fn twenty_agents_have_their_own_sums() {
    let mut agents: Vec<Agent> = (0..20).map(|_| Agent::new(Settings::default())).collect();
    for round in 1..=5_u64 {
        for (n, agent) in (0..).zip(&mut agents) {
            methods(agent, 3);
            let records: Vec<_> = (0..=n).map(|i| (NONE, i as u32 % 3, round * (n + 1))).collect();
            agent.count(at(round), b"", &body(&records));
        }
    }
    for (n, agent) in (0..).zip(&agents) {
        assert_eq!(agent.seen.count(m::RECORDS), 5 * (n + 1));
        let time: u64 = agent.seen.rows(m::METHOD_TIME).into_values().sum();
        assert_eq!(time, 15 * (n + 1) * (n + 1));
    }
}

#[test]
fn a_large_trace_adds_up() {
    let trace = fib(4096);
    let mut agent = Agent::new(ALL);
    agent.trace(at(0), &trace.body);
    agent.meter.tick(at(1), &mut agent.seen);
    assert_eq!(agent.seen.count(m::RECORDS), 4096);
    assert_eq!(agent.seen.rows(m::METHOD_SELF_TIME).into_values().sum::<u64>(), trace.time);
    assert_eq!(agent.seen.rows(m::STACK_TIME).into_values().sum::<u64>(), trace.time);
    assert_eq!(agent.row(m::METHOD_TIME, "#1"), trace.time);
}

#[test]
fn attributes_make_rows() {
    let rows = |file: &str| {
        let mut agent = Agent::new(ALL);
        for request in capture(&corpus().join(file)) {
            agent.request(at(1), &request);
        }
        let sorted =
            |item| agent.seen.rows(item).into_iter().map(|(k, n)| format!("{k} {n}")).collect();
        let mut of = [m::HTTP_STATUS, m::DB_COUNT, m::DB_ERRORS, m::STATEMENT_COUNT].map(sorted);
        of.iter_mut().for_each(|rows: &mut Vec<String>| rows.sort_unstable());
        (agent, of.map(|rows| rows.join("; ")))
    };
    let (agent, of) = rows("real-2.0.3/web-jetty-h2-dtrace.jsonl");
    let statements = "a1::CREATE_TABLE_ITEM(ID_INT_PRIMARY_KEY,_NAME_VARCHAR(?)) 1; \
                      a1::SELECT_*_FROM_NO_SUCH_TABLE 2; \
                      a1::SELECT_COUNT(*)_FROM_SYSTEM_RANGE(?)_A_WHERE_MOD(A.X*?,_?)_=_? 1";
    assert_eq!(of, ["2xx 14; 4xx 1", "sql 22", "sql 2", statements]);
    let failed = "a1::SELECT_*_FROM_NO_SUCH_TABLE";
    assert_eq!(agent.row(m::STATEMENT_ERRORS, failed), 2);
    let labels = agent.seen.log().row_labels[&(m::STATEMENTS, failed.to_owned())].clone();
    assert!(labels.iter().any(|(_, text)| text == "SELECT * FROM NO_SUCH_TABLE"), "{labels:?}");
    let Some(Value::I64(skew)) = agent.seen.value(m::SKEW) else { panic!("a skew") };
    assert!(skew < 0, "{skew}");
    // Agents before 1.90.7 have other names for the same.
    let (_, of) = rows("real-1.90.6/web-jetty-h2.jsonl");
    let statements = "a1::create_table_item(id_int_primary_key,_name_varchar(?)) 1";
    assert_eq!(of, ["2xx 7; 4xx 1", "sql 7", "sql 0", statements]);
}
