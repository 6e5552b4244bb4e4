//! What an independent decoder found in each capture (NAME.facts.json).

use std::collections::{BTreeMap, HashMap};
use std::fs;

use serde_json::{Value as Json, json};

use super::{captures, corpus, read, stream};
use crate::sources::dotnet::wire::nettrace::{Event, EventType, Header, Ips, Values, Visitor};

#[derive(Default)]
struct Facts {
    header: Header,
    by_event: BTreeMap<String, u64>,
    threads: HashMap<u64, u64>,
    /// Frames of the stacks since the last point.
    stacks: HashMap<u32, usize>,
    with_stack: u64,
    points: u64,
    lost: u64,
    payload: u64,
    out_of_order: u64,
    times: Vec<u64>,
    /// Bytes behind the fields that the stream describes.
    rest: BTreeMap<String, usize>,
    missing: Vec<String>,
    sorted_until: u64,
}

impl Visitor for Facts {
    fn header(&mut self, header: &Header) {
        self.header = header.clone();
    }

    fn event_type(&mut self, event_type: &EventType) {
        assert!(event_type.complete, "{event_type:?}");
    }

    fn event(&mut self, event: &Event<'_>) {
        let t = event.event_type;
        *self.by_event.entry(format!("{}/{}v{}", t.provider, t.id, t.version)).or_default() += 1;
        *self.threads.entry(event.capture_thread).or_default() += 1;
        let frames = if event.stack == 0 { 0 } else { self.stacks[&event.stack] };
        self.with_stack += u64::from(frames > 0);
        self.payload += event.payload.len() as u64;
        self.out_of_order += u64::from(self.times.last().is_some_and(|last| event.time < *last));
        self.times.push(event.time);
        assert!(event.time >= self.sorted_until, "nothing after a sorted event is older");
        if event.sorted {
            self.sorted_until = event.time;
        }
        let mut values = Values::new(&t.fields, event.payload);
        values.by_ref().for_each(drop);
        let name = format!("{}/{}_V{}", t.provider, t.name, t.version);
        // A payload may end between two fields.
        if values.missing() > 0 && !values.rest().is_empty() {
            self.missing.push(name);
        } else if !t.fields.is_empty() && !values.rest().is_empty() {
            *self.rest.entry(name).or_default() += values.rest().len();
        }
    }

    fn stack(&mut self, id: u32, ips: Ips<'_>) {
        assert_eq!(ips.iter().count(), ips.len());
        self.stacks.insert(id, ips.len());
    }

    fn point(&mut self) {
        self.points += 1;
        self.stacks.clear();
    }

    fn lost(&mut self, events: u64) {
        assert!(events > 0);
        self.lost += events;
    }
}

/// `2026-11-21T21:13:19.454` in ms since 1970. All captures are of November 2026 or January 2026.
fn wall_ms(text: &str) -> i64 {
    let n = |a: usize, b: usize| text[a..b].parse::<i64>().unwrap();
    let days = match &text[..7] {
        "2026-01" => 20_454,
        "2026-11" => 20_758,
        other => panic!("{other}"),
    } + n(8, 10)
        - 1;
    (((days * 24 + n(11, 13)) * 60 + n(14, 16)) * 60 + n(17, 19)) * 1000 + n(20, 23)
}

fn compare(name: &str) {
    let text = fs::read_to_string(corpus().join(format!("{name}.facts.json"))).unwrap();
    let facts: Json = serde_json::from_str(&text).unwrap();
    let bytes = stream(name);
    let mut found = Facts::default();
    let (reader, done) = read(&bytes, &mut found);
    assert_eq!(done, Ok(()), "{name}");

    let losses = reader.losses();
    assert_eq!(found.lost, losses.lost(), "{name}");
    let mut threads: Vec<_> = found.threads.values().copied().collect();
    threads.sort_unstable_by(|a, b| b.cmp(a));
    let relative = |time: u64| time.wrapping_sub(found.header.ticks).cast_signed();
    let ends = [found.times.iter().min(), found.times.iter().max()];
    let ends = ends.map(|time| time.map(|time| relative(*time)));
    let ours = json!({
        "bytes": bytes.len(),
        "complete": reader.ended(),
        "rest": bytes.len() as u64 - reader.offset(),
        "event_types": reader.event_types(),
        "events": reader.events(),
        "lost": {
            "gaps": losses.gaps,
            "sequence_points": losses.points,
            "resets": losses.resets,
        },
        "sequence_points": found.points,
        "out_of_order": found.out_of_order,
        "threads": found.threads.len(),
        "stacks": found.with_stack,
        "capture_threads": threads,
        "first_last_ns": ends,
        "payload_bytes": found.payload,
        "bytes_left_over": found.rest,
        "undecodable": {},
    });
    for (key, value) in ours.as_object().unwrap() {
        assert_eq!(&facts[key], value, "{name}: {key}");
    }
    assert_eq!(losses.unchecked, 0);
    assert!(found.missing.is_empty(), "{name}: {:?}", found.missing);

    let mut by_event = BTreeMap::new();
    for (key, count) in facts["by_event"].as_object().unwrap() {
        let (event, _name) = key.split_once(' ').unwrap();
        *by_event.entry(event.to_owned()).or_insert(0) += count.as_u64().unwrap();
    }
    assert_eq!(found.by_event, by_event, "{name}");

    let (header, wanted) = (found.header, &facts["header"]);
    assert_eq!(reader.header(), Some(&header));
    let number = |key: &str| wanted[key].as_u64();
    let ms = header.utc.sec * 1000 + i64::from(header.utc.nsec) / 1_000_000;
    assert_eq!(ms, wall_ms(wanted["utc"].as_str().unwrap()), "{name}");
    assert_eq!(Some(u64::from(header.version)), number("version"));
    assert_eq!(Some(header.ticks), number("qpc"));
    assert_eq!(Some(header.frequency), number("frequency"));
    assert_eq!(Some(u64::from(header.pointer_size)), number("pointer"));
}

#[test]
fn all_captures_have_the_numbers_of_an_independent_decoder() {
    captures().iter().for_each(|name| compare(name));
}

#[test]
fn received_and_lost_are_what_the_program_wrote() {
    for (name, written) in [
        ("drops-31", 240_000),
        ("drops-9", 240_000),
        ("drops-10", 240_000),
        ("drops-stuck-9", 200_000),
    ] {
        let mut found = Facts::default();
        let (reader, _) = read(&stream(name), &mut found);
        let ticks = found.by_event.iter().find(|(event, _)| event.starts_with("Pmda-Test/1v"));
        assert_eq!(ticks.unwrap().1 + reader.losses().lost(), written, "{name}");
    }
}
