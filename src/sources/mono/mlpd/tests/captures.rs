//! What an independent decoder found in each capture (NAME.facts.json).

use std::collections::HashMap;
use std::fs;
use std::hash::Hash;

use bytes::BytesMut;
use serde_json::{Map, Value as Json, json};

use super::facts::{Facts, Last};
use super::{captures, folders, read, stream};
use crate::sources::mono::mlpd::{Decoder, MlpdError};

fn facts(name: &str) -> Option<Json> {
    let paths = folders().map(|folder| folder.join(format!("{name}.facts.json")));
    let text = paths.iter().find_map(|path| fs::read_to_string(path).ok())?;
    Some(serde_json::from_str(&text).unwrap())
}

/// All that is in `wanted` is in `found`.
fn same(name: &str, wanted: &Json, found: &Json) {
    for (key, value) in wanted.as_object().into_iter().flatten() {
        match (value, &found[key]) {
            (Json::Object(_), found @ Json::Object(_)) => {
                same(&format!("{name}: {key}"), value, found)
            }
            (_, Json::Null) => {}
            (value, found) => assert_eq!(value, found, "{name}: {key}"),
        }
    }
}

/// Compares sums by name with the largest `top` ones of the oracle.
fn largest<K: Copy + Eq + Hash>(
    what: &str,
    sums: &HashMap<K, u64>,
    name: impl Fn(K) -> String,
    wanted: &Json,
    top: usize,
) {
    let mut by_name = HashMap::<String, u64>::new();
    for (key, sum) in sums {
        *by_name.entry(name(*key)).or_default() += sum;
    }
    let wanted = wanted.as_object().cloned().unwrap_or_else(Map::new);
    assert_eq!(by_name.len().min(top), wanted.len(), "{what}: {by_name:?}");
    for (name, sum) in &wanted {
        assert_eq!(by_name.get(name).copied(), sum.as_u64(), "{what}: {name}");
    }
}

fn seconds(time: u64, start: u64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let seconds = time.wrapping_sub(start).cast_signed() as f64 / 1e9;
    (seconds * scale).round() / scale
}

#[expect(clippy::too_many_lines, reason = "a list of facts")]
fn compare(name: &str, wanted: &Json, f: &Facts) {
    let h = &f.header;
    let start = h.start_ns.unwrap_or(f.first_time.unwrap_or(0));
    let gone = |start: u64| f.profiler_gone.is_some_and(|gone| start >= gone);
    let pauses: Vec<_> = f.pauses.iter().filter(|p| !gone(p.start)).collect();
    let last: Vec<_> = f.pauses.iter().filter(|p| gone(p.start)).collect();
    let by_kind = |kind: &str| {
        let of: Vec<_> = pauses.iter().filter(|p| p.kind == kind).collect();
        let ns = of.iter().map(|p| p.ns).sum::<u64>();
        (!of.is_empty()).then(|| json!({ "pauses": of.len(), "ns": ns }))
    };
    let kinds = ["minor", "major", "major_concurrent_start", "major_concurrent_finish", "none"];
    let generation = |(g, n): (&u8, &u64)| (format!("gen{g}"), json!(n));
    let seen = |time: u64| seconds(time, start, 6);
    let ours = json!({
        "header": {
            "major": h.major, "minor": h.minor, "format": h.version, "pointer": h.pointer_size,
            "start_ms": h.start_ms, "start_ns": h.start_ns, "flags": 0,
            "timer_overhead_ns": h.timer_overhead, "pid": h.pid, "port": h.port,
            "args": h.options, "arch": h.architecture, "os": h.system,
        },
        "buffers": f.buffers,
        "threads": f.threads.len(),
        "events": f.events,
        "time": {
            "before_buffer_base": f.before_base, "backwards_in_a_thread": f.backwards,
            "first_s": f.first_time.map(seen), "last_s": f.first_time.map(|_| seen(f.last_time)),
        },
        "sync": f.sync,
        "gc": {
            "count": f.gc_own.iter().map(generation).collect::<Map<_, _>>(),
            "time_ns": f.gc_time().iter().map(generation).collect::<Map<_, _>>(),
            "events": f.gc_events,
            "pauses": pauses.len(),
            "pause_total_ns": pauses.iter().map(|p| p.ns).sum::<u64>(),
            "pause_max_ns": pauses.iter().map(|p| p.ns).max().unwrap_or(0),
            "suspension_total_ns": pauses.iter().map(|p| p.stopping).sum::<u64>(),
            "at_shutdown": last.iter().map(|p| json!({"kind": p.kind, "ns": p.ns}))
                .collect::<Vec<_>>(),
            "by_kind": kinds.iter().filter_map(|kind| Some((*kind).to_owned()).zip(by_kind(kind)))
                .collect::<Map<_, _>>(),
            "resizes": f.resizes.len(), "heap_last": f.resizes.last(),
            "heap_max": f.resizes.iter().max().unwrap_or(&0), "moves": f.moves,
            "finalized": f.finalized, "handles": f.handles, "roots": f.roots,
        },
        "exceptions": { "thrown": f.throws, "clauses": f.clauses },
        "monitor": {
            "events": f.monitors, "wait_ns": f.wait, "wait_max_ns": f.wait_max,
            "locks": f.locks.len(), "open": f.open.len(),
        },
        "jit": {
            "methods": f.named, "repeated": f.named_again, "implausible_sizes": f.odd_sizes,
            "code_bytes": f.code, "dynamic": f.dynamic, "helper_bytes": f.helper_bytes,
        },
        "alloc": {
            "objects": f.allocs.values().sum::<u64>(),
            "bytes": f.alloc_bytes.values().sum::<u64>(),
        },
        "samples": {
            "hits": f.hits, "native": f.native, "stacks": f.stacks.len(),
            "usyms": f.symbols.len(),
        },
        "counters": {
            "descriptors": f.counters.len(), "desc_events": f.counters_described,
            "samples": f.samples.len(),
            "times_s": f.samples.iter().map(|t| seconds(*t, start, 3)).collect::<Vec<_>>(),
        },
    });
    same(name, wanted, &ours);

    let w = |a: &str, b: &str| wanted[a][b].clone();
    let method = |id: u64| f.method(Some(id));
    let at = |what: &str| format!("{name}: {what}");
    largest(&at("sites"), &f.throw_site, |m| f.method(m), &w("exceptions", "by_site"), 25);
    largest(&at("thrown"), &f.throw_class, |c| f.class(c), &w("exceptions", "by_class"), 25);
    largest(&at("waits"), &f.wait_site, |m| f.method(m), &w("monitor", "by_site"), 25);
    largest(&at("wait ns"), &f.wait_site_ns, |m| f.method(m), &w("monitor", "by_site_ns"), 25);
    largest(&at("allocs"), &f.allocs, |c| f.class(Some(c)), &w("alloc", "by_class"), 25);
    let bytes = w("alloc", "by_class_bytes");
    largest(&at("bytes"), &f.alloc_bytes, |c| f.class(Some(c)), &bytes, 25);
    largest(&at("self"), &f.self_hits, method, &w("samples", "self"), 10);
    largest(&at("total"), &f.total_hits, method, &w("samples", "total"), 15);
    for (call, sums) in &f.calls {
        largest(&at(call), sums, method, &w("calls", call), 25);
        let total = sums.values().sum::<u64>();
        assert_eq!(wanted["calls"]["totals"][call].as_u64(), Some(total), "{name}: {call}");
    }
    let shots = wanted["heapshots"].as_array().cloned().unwrap_or_default();
    assert_eq!(shots.len(), f.shots.len(), "{name}");
    for (shot, wanted) in f.shots.iter().zip(&shots) {
        assert_eq!(wanted["objects"].as_u64(), Some(shot.objects), "{name}");
        assert_eq!(wanted["bytes"].as_u64(), Some(shot.bytes), "{name}");
        assert_eq!(wanted["at_s"].as_f64(), Some(seconds(shot.time, start, 3)), "{name}");
        largest(&at("live"), &shot.by_vtable, |c| f.class(Some(c)), &wanted["top"], 8);
    }
    let mut names = f.names.clone();
    if let Some(assemblies) = names.get_mut("assembly") {
        assemblies.iter_mut().for_each(|n| n.truncate(n.find(',').unwrap_or(n.len())));
        assemblies.sort();
        assemblies.dedup();
    }
    assert_eq!(json!(names), wanted["names"], "{name}");
    let helpers = wanted["jit"]["helpers"].as_object().unwrap().values();
    assert_eq!(helpers.map(|n| n.as_u64().unwrap()).sum::<u64>(), f.helpers, "{name}");
    // Names may be in the stream twice, with values of their own; the last one is in the facts.
    let values = f.values.iter().map(|(i, value)| (&f.counters[i].1, value));
    for (counter, value) in values.collect::<HashMap<_, _>>() {
        let wanted = &wanted["counters"]["last"][counter];
        match value {
            Last::Integer(value) => assert_eq!(wanted.to_string(), value.to_string(), "{counter}"),
            Last::Double(value) => assert_eq!(wanted.as_f64(), Some(*value), "{name}: {counter}"),
            Last::Text(value) => assert_eq!(wanted.as_str(), value.as_deref(), "{counter}"),
        }
    }
}

#[test]
fn facts_of_every_capture() {
    let mut compared = 0;
    for (name, path) in captures() {
        let Some(wanted) = facts(&name) else {
            assert!(name.starts_with("v-"), "{name} has no facts");
            continue;
        };
        let bytes = stream(&path);
        let end = wanted["end"].as_str().unwrap();
        let end = end.strip_prefix("cut in the gzip stream; ").unwrap_or(end);
        // The oracle does not decode the cut buffer.
        let cut = end
            .strip_prefix("cut in a buffer of ")
            .map_or(0, |rest| 48 + rest.split(' ').nth(2).unwrap().parse::<usize>().unwrap());
        let mut f = Facts::default();
        let (decoder, left, done) = read(&bytes[..bytes.len() - cut], &mut f);
        let words: Vec<_> = end.split([' ', ',']).collect();
        match (done, &words[..]) {
            (Err(MlpdError::Flags(1)), _) if name == "v-flags" => continue,
            (Ok(()), ["end"]) => assert!(decoder.between_buffers() && left == 0, "{name}"),
            (Ok(()), ["cut", "in", "a", "buffer", "header", "", n, ..]) => {
                assert_eq!((decoder.between_buffers(), left.to_string().as_str()), (true, *n));
            }
            (Ok(()), ["cut", "in", "a", "buffer", "of", ..]) => {
                assert!(decoder.between_buffers() && left == 0, "{name}");
                let (cut, _, done) = read(&bytes, &mut Facts::default());
                let refused = matches!(done, Err(MlpdError::BufferLength(_)));
                assert!(refused == (name == "v-huge-length"), "{name}");
                assert!(refused || !cut.between_buffers(), "{name}");
            }
            (
                Err(MlpdError::NoBuffer(at) | MlpdError::SecondHeader(at)),
                ["no", "buffer", "id", "at", n],
            ) => assert_eq!(at.to_string(), **n),
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(decoder.events(), f.events.values().sum::<u64>(), "{name}");
        assert_eq!(wanted["bad"].as_array().unwrap().len(), f.bad.len(), "{name}: {:?}", f.bad);
        compare(&name, &wanted, &f);
        compared += 1;
    }
    assert!(compared > 30, "only {compared} captures have facts");
}

/// Fed byte by byte, an event comes with its last byte: this is its size.
#[test]
fn bytes_of_every_event() {
    for (name, path) in captures() {
        let Some(wanted) = facts(&name).filter(|f| f["end"] == "end") else { continue };
        let bytes = stream(&path);
        if bytes.len() > 200_000 || name == "v-flags" {
            continue;
        }
        let (mut decoder, mut f, mut input) =
            (Decoder::default(), Facts::default(), BytesMut::new());
        let mut sizes = std::collections::BTreeMap::<&str, u64>::new();
        let mut buffers = 0;
        for byte in bytes {
            input.extend_from_slice(&[byte]);
            let before = decoder.offset();
            let in_buffer = f.buffers > 0 && f.bad.is_empty();
            decoder.feed(&mut input, &mut f).unwrap();
            // What was consumed belongs to the last event; headers of buffers belong to none.
            let consumed = decoder.offset() - before;
            if let (true, true, Some(last)) = (in_buffer, buffers == f.buffers, f.last) {
                *sizes.entry(last).or_default() += consumed;
            }
            buffers = f.buffers;
        }
        if f.bad.is_empty() {
            assert_eq!(json!(sizes), wanted["event_bytes"], "{name}");
        }
    }
}
