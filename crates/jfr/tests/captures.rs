//! Recordings of JDK 17 and 25: events, times, names and stacks are those of `jfr summary` and `jfr print --json`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test"
)]

mod kit;

use std::collections::BTreeMap;

use jfr::{Chunk, Key, Known, Names, Record, Value, class_name, known};
use kit::capture;
use serde_json::Value as Json;

const CAPTURES: [&str; 2] = ["jdk17", "jdk25"];

fn truth(name: &str) -> (String, BTreeMap<String, Vec<Json>>) {
    let text = String::from_utf8(capture(&format!("{name}.truth.txt.gz"))).unwrap();
    let (summary, documents) = text.split_at(text.find("\n{").unwrap());
    let mut events: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for document in serde_json::Deserializer::from_str(documents).into_iter::<Json>() {
        for event in document.unwrap()["recording"]["events"].as_array().unwrap() {
            let kind = event["type"].as_str().unwrap().to_owned();
            events.entry(kind).or_default().push(event["values"].clone());
        }
    }
    (summary.to_owned(), events)
}

/// `PT1M2.5S` in ns.
fn duration(text: &str) -> i64 {
    let text = text.strip_prefix("PT").unwrap().strip_suffix('S').unwrap();
    let (minutes, seconds) = text.split_once('M').unwrap_or(("0", text));
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let part: i64 = format!("{part:0<9}").parse().unwrap();
    (minutes.parse::<i64>().unwrap() * 60 + whole.parse::<i64>().unwrap()) * 1_000_000_000 + part
}

/// The time of a day of an RFC 3339 text in ns.
fn time_of_day(text: &str) -> i64 {
    let text = text.split_once('T').unwrap().1.strip_suffix('Z').unwrap();
    let parts: Vec<&str> = text.splitn(3, ':').collect();
    let hours: i64 = parts[0].parse().unwrap();
    (hours * 60 + parts[1].parse::<i64>().unwrap()) * 60_000_000_000
        + duration(&format!("PT{}S", parts[2]))
}

#[test]
fn counts_and_stacks_are_those_of_the_jdk() {
    for name in CAPTURES {
        let (bytes, (summary, _)) = (capture(&format!("{name}.jfr.gz")), truth(name));
        let chunk = Chunk::open(&bytes).unwrap();
        assert_eq!((chunk.header().version, chunk.header().size), ((2, 1), bytes.len() as u64));
        let (mut counts, mut stacks) = (BTreeMap::new(), BTreeMap::<Key, u64>::new());
        for event in chunk.events().map(Result::unwrap) {
            *counts.entry(event.class().name().to_owned()).or_insert(0) += 1;
            if let Some(Known::Sample(sample)) = known(chunk.header(), &event) {
                assert!(
                    sample.thread.is_some_and(|thread| !thread.name.is_empty() && thread.id > 0)
                );
                *stacks.entry(sample.stack.unwrap()).or_default() += 1;
            }
        }
        let said: BTreeMap<String, i32> = summary
            .lines()
            .filter_map(|line| line.trim().strip_prefix("jdk.")?.split_once(' '))
            .map(|(kind, rest)| {
                (format!("jdk.{kind}"), rest.split_whitespace().next().unwrap().parse().unwrap())
            })
            .filter(|(kind, _)| !["jdk.CheckPoint", "jdk.Metadata"].contains(&&**kind))
            .collect();
        assert!(counts == said && said.len() == 7, "{counts:?} {said:?}");
        let mut names = Names::new(&chunk);
        let mut folded = BTreeMap::<String, u64>::new();
        for (key, count) in stacks {
            *folded.entry(names.stack(key).folded()).or_default() += count;
        }
        let given = String::from_utf8(capture(&format!("{name}.stacks"))).unwrap();
        let given = given.lines().map(|line| line.rsplit_once(' ').unwrap());
        assert_eq!(
            folded,
            given.map(|(stack, n)| (stack.to_owned(), n.parse().unwrap())).collect()
        );
    }
}

/// What the JDK prints of an event, and what is here, in the same words.
fn compare(chunk: &Chunk<'_>, event: &Record<'_>, said: &Json) -> usize {
    const DAY: i64 = 86_400_000_000_000;
    let (mut compared, header) = (0, chunk.header());
    let time = |ticks: &Value<'_>| header.time(ticks.int().unwrap()).rem_euclid(DAY);
    for (field, value) in event.fields() {
        let said = &said[field];
        match (field, said) {
            ("startTime", Json::String(text)) => assert_eq!(time(&value), time_of_day(text)),
            (_, Json::String(text)) if text.starts_with("PT") => {
                assert_eq!(header.ns(value.int().unwrap()), duration(text), "{field}");
            }
            (_, Json::String(text)) => assert_eq!(&*value.text().unwrap(), text, "{field}"),
            (_, Json::Number(number)) => match value {
                Value::Int(is) => assert_eq!(number.as_i64().unwrap(), is, "{field}"),
                Value::Float(is) => {
                    assert!((number.as_f64().unwrap() - is).abs() < 1e-6, "{field}")
                }
                _ => panic!("{field}: {value:?} {number}"),
            },
            ("eventThread" | "previousOwner", Json::Object(said)) => {
                let thread = value.record().unwrap();
                assert_eq!(thread.get("osThreadId").int(), said["osThreadId"].as_i64());
                assert_eq!(thread.get("javaName").text().as_deref(), said["javaName"].as_str());
            }
            ("monitorClass", Json::Object(said)) => {
                let class = class_name(&value).unwrap();
                assert_eq!(class, said["name"].as_str().unwrap().replace('/', "."));
            }
            ("stackTrace", Json::Object(said)) => {
                let stack = Names::new(chunk).stack(event.key(field).unwrap());
                let said = said["frames"].as_array().unwrap();
                // The JDK's text has the first frames only.
                for (said, frame) in said.iter().zip(&stack.frames) {
                    let method = &said["method"];
                    let class = method["type"]["name"].as_str().unwrap().replace('/', ".");
                    assert_eq!(**frame, format!("{class}.{}", method["name"].as_str().unwrap()));
                }
                assert!(!said.is_empty() && stack.frames.len() >= said.len());
            }
            (_, Json::Null) => assert!(matches!(value, Value::Null), "{field}: {value:?}"),
            _ => panic!("{field}: {value:?} {said}"),
        }
        compared += 1;
    }
    compared
}

#[test]
fn each_value_is_that_of_the_jdk() {
    for name in CAPTURES {
        let (bytes, (_, mut said)) = (capture(&format!("{name}.jfr.gz")), truth(name));
        let chunk = Chunk::open(&bytes).unwrap();
        let mut compared = 0;
        let mut events: Vec<_> = chunk.events().map(Result::unwrap).collect();
        // The JDK prints them in the order of their ends.
        let int = |event: &Record<'_>, field| event.get(field).int().unwrap_or(0);
        events.sort_by_key(|event| int(event, "startTime") + int(event, "duration"));
        for event in events {
            let Some(said) = said.get_mut(event.class().name()) else { continue };
            compared += compare(&chunk, &event, &said.remove(0));
        }
        assert!(said.values().all(Vec::is_empty));
        assert!(compared > 250, "{compared}");
    }
}

#[test]
fn typed_events_are_those_of_the_jdk() {
    for name in CAPTURES {
        let (bytes, (_, said)) = (capture(&format!("{name}.jfr.gz")), truth(name));
        let chunk = Chunk::open(&bytes).unwrap();
        let all: Vec<_> = chunk.events().map(Result::unwrap).collect();
        let all: Vec<_> = all.iter().filter_map(|event| known(chunk.header(), event)).collect();
        let ns = |json: &Json| duration(json.as_str().unwrap());
        let collections: Vec<_> = all
            .iter()
            .filter_map(|event| match event {
                Known::Collection(c) => Some((
                    c.id,
                    c.duration,
                    c.pauses,
                    c.longest,
                    c.name.as_deref().unwrap(),
                    c.cause.as_deref().unwrap(),
                )),
                _ => None,
            })
            .collect();
        let given = said["jdk.GarbageCollection"].iter().map(|e| {
            (
                e["gcId"].as_i64().unwrap(),
                ns(&e["duration"]),
                ns(&e["sumOfPauses"]),
                ns(&e["longestPause"]),
                e["name"].as_str().unwrap(),
                e["cause"].as_str().unwrap(),
            )
        });
        assert_eq!(collections, given.collect::<Vec<_>>());
        let pauses: i64 =
            all.iter().map(|e| if let Known::Pause(p) = e { p.duration } else { 0 }).sum();
        assert_eq!(
            pauses,
            said["jdk.GCPhasePause"].iter().map(|e| ns(&e["duration"])).sum::<i64>()
        );
        let waits: Vec<_> = all
            .iter()
            .filter_map(|e| if let Known::Enter(enter) = e { Some(enter) } else { None })
            .collect();
        assert_eq!(
            waits.iter().map(|e| e.duration).sum::<i64>(),
            said["jdk.JavaMonitorEnter"].iter().map(|e| ns(&e["duration"])).sum::<i64>()
        );
        assert!(waits.iter().all(|e| e.class.is_some() && e.thread.is_some() && e.stack.is_some()));
        let thrown: Vec<_> = all
            .iter()
            .filter_map(|e| if let Known::Throwables(n) = e { Some(*n) } else { None })
            .collect();
        let given =
            said["jdk.ExceptionStatistics"].iter().map(|e| e["throwables"].as_u64().unwrap());
        assert_eq!(thrown, given.collect::<Vec<_>>());
    }
}
