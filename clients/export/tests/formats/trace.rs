//! What a reader makes of a trace, in either format.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::wire::{Message, Wire};

/// What was read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Trace {
    /// (process, thread, name, category, start, length), sorted. Without a length: an instant.
    pub(crate) slices: Vec<(String, String, String, String, i64, Option<i64>)>,
    /// (process, name, time, value).
    pub(crate) counters: Vec<(String, String, i64, String)>,
    /// Names of cause and effect.
    pub(crate) arrows: BTreeSet<(String, String)>,
    /// Attributes of all events: (category, name, value).
    pub(crate) attributes: BTreeSet<(String, String, String)>,
    /// What its rules forbid.
    pub(crate) wrong: Vec<String>,
}

/// The packets of a file of Perfetto.
pub(crate) fn packets(bytes: &[u8]) -> Vec<Message> {
    let file = Message::of(bytes).expect("a trace");
    assert!(file.0.iter().all(|(field, _)| *field == 1), "only packets");
    file.messages(1).collect()
}

/// Reads Perfetto's packets as its reader does: by time, then by place; an end closes what began last.
pub(crate) fn perfetto(packets: &[Message]) -> Trace {
    let mut trace = Trace::default();
    let mut names: BTreeMap<(u64, u64), String> = BTreeMap::new();
    let mut tracks: BTreeMap<u64, (Option<u64>, String)> = BTreeMap::new();
    let mut steps: Vec<(i64, u64, u64, String, String, Vec<u64>)> = Vec::new();
    let mut cleared = false;
    for (number, packet) in packets.iter().enumerate() {
        let mut check = |holds: bool, what: &str| {
            if !holds {
                trace.wrong.push(format!("packet {number}: {what}"));
            }
        };
        check(packet.number(10) == Some(1), "no sequence");
        let flags = packet.number(13).unwrap_or(0);
        cleared |= flags & 1 == 1;
        check(cleared && flags & 2 == 2, "its sequence was not cleared");
        if let Some(interned) = packet.message(12) {
            for kind in 1..4 {
                for one in interned.messages(kind) {
                    let known =
                        names.insert((kind, one.number(1).unwrap_or(0)), one.text(2).unwrap());
                    check(known.is_none(), "a name comes twice");
                }
            }
        }
        let mut name = |of: &Message, kind: u64, by_number: u64, itself: u64| {
            let found = match of.number(by_number) {
                Some(number) => names.get(&(kind, number)).cloned(),
                None => of.text(itself),
            };
            check(found.is_some(), "a name that is not known");
            found.unwrap_or_default()
        };
        if let Some(event) = packet.message(11) {
            let track = event.number(11).unwrap_or(0);
            let kind = event.number(9).unwrap_or(0);
            let at = i64::try_from(packet.number(8).unwrap_or(0)).unwrap();
            let (mut called, mut category) = (String::new(), String::new());
            if matches!(kind, 1 | 3) {
                called = name(&event, 2, 10, 23);
                category = name(&event, 1, 3, 22);
                for one in event.messages(4) {
                    let key = name(&one, 3, 1, 10);
                    let value = one.0.iter().find(|(field, _)| (2..7).contains(field));
                    let value = match value {
                        Some((6, Wire::Bytes(bytes))) => String::from_utf8(bytes.clone()).unwrap(),
                        Some((4, Wire::Number(number))) => number.cast_signed().to_string(),
                        Some((5, Wire::Fixed(bits))) => f64::from_bits(*bits).to_string(),
                        Some((2, Wire::Number(is_so))) => (*is_so == 1).to_string(),
                        other => panic!("a value {other:?}"),
                    };
                    trace.attributes.insert((category.clone(), key, value));
                }
                if let Some(id) = event.text(53) {
                    trace.attributes.insert((category.clone(), "trace".into(), id));
                }
            }
            let flows = event.all(47).filter_map(|flow| match flow {
                Wire::Fixed(id) => Some(*id),
                _ => None,
            });
            let flows = flows.collect();
            check(tracks.contains_key(&track), "its track has no descriptor");
            if kind == 4 {
                let value = match (event.number(30), event.number(44)) {
                    (Some(number), None) => number.cast_signed().to_string(),
                    (None, Some(bits)) => f64::from_bits(bits).to_string(),
                    _ => String::new(),
                };
                let (process, of) = place(&tracks, track);
                trace.counters.push((process, of, at, value));
            } else {
                steps.push((at, kind, track, called, category, flows));
            }
        }
        if let Some(track) = packet.message(60) {
            let parent = track.number(5);
            check(parent.is_none_or(|parent| tracks.contains_key(&parent)), "no parent");
            let process = track.message(3).and_then(|process| process.text(6));
            let name = track.text(2).or(process).unwrap_or_default();
            let known = tracks.insert(track.number(1).unwrap(), (parent, name));
            check(known.is_none(), "a track comes twice");
        }
    }
    steps.sort_by_key(|step| step.0);
    let mut open: BTreeMap<u64, Vec<(i64, String, String)>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (at, kind, track, name, category, ids) in steps {
        for id in ids {
            flows.entry(id).or_default().push(name.clone());
        }
        let (process, thread) = place(&tracks, track);
        let open = open.entry(track).or_default();
        match kind {
            1 => open.push((at, name, category)),
            2 => match open.pop() {
                Some((start, name, category)) => {
                    trace.slices.push((process, thread, name, category, start, Some(at - start)));
                }
                None => trace.wrong.push(format!("an end without a begin on {thread}")),
            },
            _ => trace.slices.push((process, thread, name, category, at, None)),
        }
    }
    for (id, ends) in flows {
        match ends.as_slice() {
            [from, to] => drop(trace.arrows.insert((from.clone(), to.clone()))),
            _ => trace.wrong.push(format!("arrow {id} has {} ends", ends.len())),
        }
    }
    for _ in open.into_values().flatten() {
        trace.wrong.push("a slice without an end".into());
    }
    trace.slices.sort();
    trace
}

fn place(tracks: &BTreeMap<u64, (Option<u64>, String)>, track: u64) -> (String, String) {
    match tracks.get(&track) {
        Some((Some(parent), name)) => {
            (tracks.get(parent).map(|of| of.1.clone()).unwrap_or_default(), name.clone())
        }
        Some((None, name)) => (name.clone(), String::new()),
        None => Default::default(),
    }
}

/// Reads a trace of Chrome. Arrows and attributes are not read.
pub(crate) fn chrome(text: &str) -> Trace {
    let file: Json = serde_json::from_str(text).expect("JSON");
    let mut trace = Trace::default();
    let first: i64 = file["otherData"]["first_unix_nano"].as_str().unwrap().parse().unwrap();
    let mut names: BTreeMap<(u64, u64, bool), String> = BTreeMap::new();
    let mut open: BTreeMap<(u64, u64), Vec<(i64, i64)>> = BTreeMap::new();
    // A number with a point in it, as it is written: doubles would do, too.
    let nanos = |number: &Json| {
        let (whole, part) = number.to_string().split_once('.').map_or_else(
            || (number.to_string(), "000".to_owned()),
            |(whole, part)| (whole.to_owned(), format!("{part:0<3}")),
        );
        whole.parse::<i64>().unwrap() * 1000 + part.parse::<i64>().unwrap()
    };
    for event in file["traceEvents"].as_array().unwrap() {
        let (pid, tid) = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        let at = event.get("ts").map_or(0, nanos) + first;
        let process = names.get(&(pid, 0, true)).cloned().unwrap_or_default();
        let thread = names.get(&(pid, tid, false)).cloned().unwrap_or_default();
        match event["ph"].as_str().unwrap() {
            "M" => {
                let name = event["args"]["name"].as_str().unwrap().to_owned();
                names.insert((pid, tid, event["name"] == "process_name"), name);
            }
            "X" => {
                let length = nanos(&event["dur"]);
                open.entry((pid, tid)).or_default().push((at, length));
                trace.slices.push((process, thread, text("name"), text("cat"), at, Some(length)));
            }
            "i" => trace.slices.push((process, thread, text("name"), text("cat"), at, None)),
            "C" => {
                let value = event["args"]["value"].to_string();
                trace.counters.push((process, text("name"), at, value));
            }
            other => trace.wrong.push(format!("an event {other}")),
        }
    }
    for (track, mut slices) in open {
        slices.sort_by_key(|(at, length)| (*at, -length));
        let mut ends: Vec<i64> = Vec::new();
        for (at, length) in slices {
            while ends.pop_if(|end| *end <= at).is_some() {}
            if ends.last().is_some_and(|end| at + length > *end) {
                trace.wrong.push(format!("slices overlap on {track:?}"));
            }
            ends.push(at + length);
        }
    }
    trace.slices.sort();
    trace
}
