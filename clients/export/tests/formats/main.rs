//! Whether files say what the records say: read by readers that have nothing in common with the writers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::type_complexity, reason = "a test")]

mod profiles;
mod trace;
mod wire;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use export::chrome::Chrome;
use export::exporter::{Exporter, Summary};
use export::meaning::Pairs;
use export::perfetto::Perfetto;
use export::read::{Lines, Sampled};
use export::timeline::{Format, Number, Timeline};
use serde_json::Value as Json;

use trace::{Trace, chrome, packets, perfetto};
use wire::{Message, Wire};

const OWN: &str = include_str!("../data/timeline.events.json");
const KINDS: &str = include_str!("../data/kinds.events.json");

/// A file in memory that two have.
#[derive(Debug, Default, Clone)]
struct File(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

impl std::io::Write for File {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes lines; between each two so much time passes.
fn write<F: Format>(mut timeline: Timeline<F>, lines: &str, between: Duration) -> Summary {
    let (mut pairs, mut now) = (Pairs::default(), Instant::now());
    for record in Lines::new(lines.as_bytes(), "web1") {
        pairs.add(record.unwrap(), &mut |record| timeline.add(&record, now).unwrap());
        now += between;
        timeline.tick(now).unwrap();
    }
    pairs.finish(&mut |record| timeline.add(&record, now).unwrap());
    timeline.finish().unwrap()
}

fn as_perfetto(lines: &str, between: Duration) -> Vec<u8> {
    let file = File::default();
    write(Timeline::new(Perfetto::new(file.clone())), lines, between);
    file.0.take()
}

fn as_chrome(lines: &str, between: Duration) -> String {
    let file = File::default();
    write(Timeline::new(Chrome::new(file.clone())), lines, between);
    String::from_utf8(file.0.take()).unwrap()
}

/// What the records themselves say: (process, category, start, length) of those that are alone, and how many were missed.
fn said(lines: &str) -> (BTreeMap<(String, String, i64, Option<i64>), usize>, u64) {
    const AT_END: [&str; 6] = [
        "profiler.pause",
        "dotnet.gc",
        "dotnet.contention",
        "dotnet.method",
        "mono.gc",
        "mono.contention",
    ];
    let (mut found, mut missed) = (BTreeMap::new(), 0);
    for line in lines.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        missed += line["missed"].as_u64().unwrap_or(0);
        let text = |name: &str| line[name].as_str().unwrap();
        let kind = format!("{}.{}", text("source"), text("kind"));
        let flags = line["flags"].to_string();
        if line.get("parameters").is_none() || kind == "mono.sample" {
            continue;
        }
        let end = flags.contains("\"end\"");
        if end
            && (kind == "dotnet.application"
                || !line["parameters"]["event"].to_string().contains("other"))
        {
            continue;
        }
        let time: jiff::Timestamp = text("time").parse().unwrap();
        let at = i64::try_from(time.as_nanosecond()).unwrap();
        let parameter = |name: &str| line["parameters"][name].as_i64();
        let background = line["parameters"]["type"] == "background";
        let length = match parameter("pause") {
            Some(pause) if kind.ends_with(".gc") && !background => Some(pause),
            _ => parameter("duration"),
        };
        let start = if AT_END.contains(&&*kind) { at - length.unwrap_or(0) } else { at };
        let process = format!("{} ({})", text("instance"), text("source"));
        // Their lengths are looked at by themselves.
        let length = if flags.contains("\"start\"") { Some(-1) } else { length };
        *found.entry((process, kind, start, length)).or_default() += 1;
    }
    (found, missed)
}

/// All in which a trace differs from the records.
fn differs(trace: &Trace, lines: &str) -> Vec<String> {
    let mut wrong = trace.wrong.clone();
    let (mut expected, missed) = said(lines);
    let mut told = 0;
    for (process, thread, name, category, start, length) in &trace.slices {
        if category == "missed" {
            told += name.split(' ').next().unwrap().parse::<u64>().unwrap();
            continue;
        }
        if category == "call tree" {
            continue;
        }
        let key = |length| (process.clone(), category.clone(), *start, length);
        let known = [*length, Some(-1)].map(key);
        let known = known.iter().find(|key| expected.get(key).is_some_and(|left| *left > 0));
        match known.and_then(|key| expected.get_mut(key)) {
            Some(left) => *left -= 1,
            None => {
                wrong.push(format!("{process} {thread} {name} {start} {length:?} is of no record"))
            }
        }
    }
    let left = expected.iter().filter(|(_, left)| **left > 0);
    wrong.extend(left.map(|(record, _)| format!("{record:?} is missing")));
    if told != missed {
        wrong.push(format!("{told} records missed instead of {missed}"));
    }
    wrong
}

const NEVER: Duration = Duration::ZERO;
const NONE: [&str; 0] = [];

#[test]
fn each_slice_is_its_record() {
    for lines in [OWN, KINDS] {
        // At once, and as it is watched.
        for between in [NEVER, Duration::from_secs(1), Duration::from_secs(11)] {
            let trace = perfetto(&packets(&as_perfetto(lines, between)));
            assert_eq!(differs(&trace, lines), NONE, "Perfetto, {between:?}");
            let other = chrome(&as_chrome(lines, between));
            assert_eq!(differs(&other, lines), NONE, "Chrome, {between:?}");
            assert_eq!(other.slices, trace.slices);
            let counted = |trace: &Trace| {
                let mut counters = trace.counters.clone();
                counters.sort();
                counters
            };
            assert_eq!(counted(&other), counted(&trace));
        }
    }
}

#[test]
fn threads_arrows_trees_and_attributes_are_there() {
    let trace = perfetto(&packets(&as_perfetto(OWN, NEVER)));
    let arrows: Vec<_> = trace.arrows.iter().map(|(from, to)| (&**from, &**to)).collect();
    let expected = [
        ("GET OrdersClient.get", "GET OrderController.list"),
        ("Main.run", "Main.run"),
        ("Order", "Pay"),
    ];
    assert_eq!(arrows, expected);
    let on = |thread: &str| -> Vec<(&str, i64, Option<i64>)> {
        let there = trace.slices.iter().filter(|slice| slice.1 == thread);
        there.map(|slice| (&*slice.2, slice.4 % 1_000_000_000, slice.5)).collect()
    };
    let tree = [
        ("A.a", 206_000_000, Some(3_000_000)),
        ("B.b", 206_000_000, Some(2_000_000)),
        ("C.c", 200_000_000, Some(6_000_000)),
        ("Main.run", 200_000_000, Some(10_000_000)),
    ];
    assert_eq!(on("call tree"), tree);
    let events = [
        ("apm:levels", 400_000_003, None),
        ("apm:step_begin", 400_000_002, Some(7)),
        ("apm:work_begin", 400_000_001, Some(8)),
    ];
    assert_eq!(on("app 22142"), events);
    assert_eq!(on("22143"), [("apm:other_end", 400_000_010, None)]);
    assert_eq!(on("cpu 1"), [("sched_switch", 400_000_011, None)]);
    assert_eq!(on("serial"), [("uart", 400_000_012, None)]);
    assert_eq!(on("101").len(), 3);
    assert_eq!(on("worker").len(), 2);
    assert_eq!(on("stops").len(), 2);
    let has = |category: &str, name: &str, value: &str| {
        assert!(
            trace.attributes.contains(&(category.into(), name.into(), value.into())),
            "{category} {name}={value} is not in {:?}",
            trace.attributes
        );
    };
    has("zorka.span", "trace", "78e5eff426cc737a8e0e91f3e2845c7d");
    has("zorka.exception", "exception.message", "article 5305");
    has("dotnet.exception", "exception.message", "ä \"quoted\" \u{1} <text>");
    has("lttng.record", "process.executable.name", "app");
    has("missed", "apm.missed", "7");
    has("call tree", "apm.synthetic", "true");
    has("call tree", "apm.executions", "7");
    has("profiler.tree", "trace", "0000000000000000defc044a09325626");
    let user: Vec<_> = trace.counters.iter().filter(|one| one.1 == "system.user_time").collect();
    assert_eq!(user.len(), 2);
    assert_eq!((&*user[0].0, &*user[0].3), ("Goods.exe:200000 (mono)", "650000000"));
}

#[test]
fn metrics_are_counters_beside() {
    let file = File::default();
    let mut timeline = Timeline::new(Perfetto::new(file.clone()));
    let instance = export::model::Instance { name: "shop/orders/pod".into(), ..Default::default() };
    for (time, value) in
        [(1, Number::Int(-3)), (2, Number::Float(f64::NAN)), (3, Number::Float(0.5))]
    {
        let (source, name, unit) = ("profiler", "call.count", "count / sec");
        let value = Sampled { source, instance: &instance, name, unit, time, value };
        timeline.counter(&value).unwrap();
    }
    timeline.finish().unwrap();
    let bytes = file.0.take();
    let trace = perfetto(&packets(&bytes));
    let counter = |time, value: &str| {
        ("shop/orders/pod (profiler)".to_owned(), "call.count".to_owned(), time, value.to_owned())
    };
    assert_eq!(trace.counters, [counter(1, "-3"), counter(3, "0.5")]);
    let descriptors = packets(&bytes);
    let descriptors = descriptors.iter().filter_map(|packet| packet.message(60)?.message(8));
    assert_eq!(descriptors.filter_map(|one| one.text(6)).collect::<Vec<_>>(), ["count / sec"]);
}

#[test]
fn an_empty_trace_is_one() {
    assert_eq!(perfetto(&packets(&as_perfetto("", NEVER))), Trace::default());
    assert_eq!(chrome(&as_chrome("", NEVER)), Trace::default());
}

#[test]
fn a_file_that_grows_can_be_read() {
    let file = File::default();
    let mut timeline = Timeline::new(Perfetto::new(file.clone()));
    let mut now = Instant::now();
    for record in Lines::new(OWN.as_bytes(), "web1") {
        timeline.add(&record.unwrap(), now).unwrap();
        now += Duration::from_secs(4);
        timeline.tick(now).unwrap();
        let written = perfetto(&packets(&file.0.borrow()));
        let wrong: Vec<_> = written.wrong.iter().filter(|one| !one.starts_with("arrow")).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
    // Slices come before the end, with no more than twice the patience.
    assert!(perfetto(&packets(&file.0.borrow())).slices.len() > 20);
    timeline.finish().unwrap();
    let wrong = perfetto(&packets(&file.0.borrow())).wrong;
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A call of a trace, and one that it causes in another process, as their processes' clocks say it.
fn caused(cause: i64, effect: i64) -> [String; 2] {
    let line = |second: i64, agent: &str, ids: &str| {
        format!(
            r#"{{"time": "2026-11-23T10:{:02}:{:02}.000000000Z", "source": "zorka", "kind": "span", "instance": "{agent}",
            "parameters": {{"trace": "4bf92f3577b34da6a3ce929d0e0e4736", {ids}, "duration": 1000000}}}}"#,
            second / 60,
            second % 60
        )
        .replace('\n', "")
    };
    [
        line(effect, "b/web2", r#""span": "0000000000000002", "parent": "0000000000000001""#),
        line(cause, "a/web1", r#""span": "0000000000000001""#),
    ]
}

#[test]
fn arrows_of_a_growing_file_have_both_ends() {
    for (cause, effect) in [(0, 1), (1, 0), (0, 15), (15, 0)] {
        let file = File::default();
        let mut timeline = Timeline::new(Perfetto::new(file.clone()));
        let mut now = Instant::now();
        for record in Lines::new(caused(cause, effect).join("\n").as_bytes(), "web1") {
            timeline.add(&record.unwrap(), now).unwrap();
            timeline.tick(now).unwrap();
            now += Duration::from_secs(11);
        }
        timeline.finish().unwrap();
        let trace = perfetto(&packets(&file.0.borrow()));
        assert!(trace.wrong.is_empty(), "{cause} {effect}: {:?}", trace.wrong);
        assert_eq!(trace.slices.len(), 2);
    }
}

#[test]
fn one_clock_that_is_ahead_draws_all_early_once() {
    let file = File::default();
    let mut timeline = Timeline::new(Perfetto::new(file.clone()));
    let mut now = Instant::now();
    let mut drawn = Vec::new();
    for second in [3000, 0, 20, 40, 60] {
        let [line, _] = caused(second, second);
        let record = Lines::new(line.as_bytes(), "web1").next().unwrap().unwrap();
        timeline.add(&record, now).unwrap();
        timeline.tick(now).unwrap();
        drawn.push(perfetto(&packets(&file.0.borrow())).slices.len());
        now += Duration::from_secs(11);
    }
    // Each but the second waits for the turn behind its own.
    assert_eq!(drawn, [0, 2, 2, 3, 4]);
}

/// A packet that a mistake is made of.
fn place(packets: &[Message], which: impl Fn(&Message) -> bool) -> usize {
    packets.iter().position(which).expect("a packet")
}

fn is(kind: u64) -> impl Fn(&Message) -> bool {
    move |packet| packet.message(11).is_some_and(|event| event.number(9) == Some(kind))
}

#[test]
fn mistakes_are_found() {
    type Mistake = fn(&mut Vec<Message>);
    let mistakes: [(&str, Mistake); 10] = [
        ("not cleared", |packets| packets[0].set(&[13], Wire::Number(2))),
        ("no sequence", |packets| packets[5].0.retain(|(field, _)| *field != 10)),
        ("an end is lost", |packets| drop(packets.remove(place(packets, is(2))))),
        ("a begin is lost", |packets| drop(packets.remove(place(packets, is(1))))),
        ("an instant is lost", |packets| drop(packets.remove(place(packets, is(3))))),
        ("a start is shifted", |packets| {
            let at = place(packets, is(1));
            let time = packets[at].number(8).unwrap();
            packets[at].set(&[8], Wire::Number(time + 1));
        }),
        ("a name is lost", |packets| {
            packets.remove(place(packets, |packet| packet.message(12).is_some()));
        }),
        ("a track is lost", |packets| {
            packets.remove(place(packets, |packet| packet.message(60).is_some()));
        }),
        ("an arrow has one end", |packets| {
            let at =
                place(packets, |packet| packet.message(11).is_some_and(|e| e.number(47).is_some()));
            packets[at].set(&[11, 47], Wire::Fixed(7));
        }),
        ("slices overlap", |packets| {
            // All lanes become one.
            let name = |packet: &Message| packet.message(60)?.text(2);
            let tracks: Vec<u64> = packets
                .iter()
                .filter(|packet| name(packet).as_deref() == Some("http-1"))
                .filter_map(|packet| packet.message(60)?.number(1))
                .collect();
            for packet in packets.iter_mut() {
                let track = packet.message(11).and_then(|event| event.number(11));
                if track.is_some_and(|track| tracks.contains(&track)) {
                    packet.set(&[11, 11], Wire::Number(tracks[0]));
                }
            }
        }),
    ];
    let whole = packets(&as_perfetto(OWN, NEVER));
    assert_eq!(differs(&perfetto(&whole), OWN), NONE);
    for (what, mistake) in mistakes {
        let mut packets = whole.clone();
        mistake(&mut packets);
        assert_ne!(differs(&perfetto(&packets), OWN), NONE, "{what}");
    }
}
