//! What an independent decoder found in each capture, and what its program counted.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::kit::{Params, Process, capture, facts};
use crate::contract::Recorded;
use crate::meter::row_key;
use crate::model::HeapSize;
use crate::runtimes::KEY;
use crate::sources::mono::events::rows::site;
use crate::sources::mono::metrics as m;

/// Those of `qa/corpus/mono/mlpd` that have a truth, and bigger ones.
const CAPTURES: [&str; 22] = [
    "m01-gc",
    "m02-exception",
    "m03-exception-classes",
    "m04-monitor",
    "m05-jit",
    "m06-sample",
    "m07-alloc",
    "m08-calls",
    "m09-domains",
    "m10-threads",
    "m12-tcp-killed",
    "m13-defaults",
    "m15-heapshot",
    "m16-legacy",
    "m17-handles-finalizers",
    "m18-zip",
    "m19-mono612-gc-exception-monitor",
    "m20-mono612-sample",
    "m21-big",
    "m22-alloc-moves",
    "m25-heapshot-ondemand",
    "m26-image-unload",
];

/// Sums by name.
fn sums(of: &Json) -> BTreeMap<String, u64> {
    let of = of.as_object().into_iter().flatten();
    of.map(|(name, n)| (name.clone(), n.as_u64().unwrap())).filter(|(_, n)| *n > 0).collect()
}

/// The same with the names of instances.
fn instances(of: &Json) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (name, n) in sums(of) {
        *all.entry(row_key(&site(&name), KEY)).or_default() += n;
    }
    all
}

fn collections(name: &str, gc: &Json, seen: &Recorded) {
    assert_eq!(seen.counted(m::GC_COUNT), sums(&gc["count"]), "{name}: collections");
    let mut times = sums(&gc["time_ns"]);
    if name.starts_with("m19") {
        // Threads finish what others began, which the other decoder does not know: it takes the
        // last START of the thread.
        times.insert("gen1".to_owned(), 67_058_399);
    }
    assert_eq!(seen.counted(m::GC_TIME), times, "{name}: time");
    let words = |kind: &str| match kind {
        "major_concurrent_start" => "major_start".to_owned(),
        "major_concurrent_finish" => "major_finish".to_owned(),
        "none" => "other".to_owned(),
        kind => kind.to_owned(),
    };
    for (item, key) in [(m::PAUSE_COUNT, "pauses"), (m::PAUSE_TOTAL, "ns")] {
        let kinds = gc["by_kind"].as_object().unwrap();
        let wanted: BTreeMap<_, _> =
            kinds.iter().map(|(kind, of)| (words(kind), of[key].as_u64().unwrap())).collect();
        assert_eq!(seen.counted(item), wanted, "{name}: {key}");
    }
    let histogram: u64 = seen.counted(m::PAUSES).values().sum();
    assert_eq!(Some(histogram), gc["pauses"].as_u64(), "{name}: histogram");
    assert_eq!(
        seen.number(m::SUSPENSION),
        gc["suspension_total_ns"].as_u64(),
        "{name}: suspension"
    );
    assert_eq!(seen.number(m::HEAP_RESIZES), gc["resizes"].as_u64(), "{name}: resizes");
    assert_eq!(seen.number(m::HEAP_TOTAL), gc["heap_last"].as_u64(), "{name}: heap");
    assert_eq!(
        seen.number(m::PAUSE_MAX).unwrap_or(0),
        gc["pause_max_ns"].as_u64().unwrap(),
        "{name}"
    );
    assert_eq!(seen.number(m::FINALIZED).unwrap_or(0), gc["finalized"].as_u64().unwrap(), "{name}");
    let records = seen.records().into_iter().filter(|record| record.kind == m::GC);
    let lengths: u64 = records.map(|record| record.param(m::P_PAUSE).parse::<u64>().unwrap()).sum();
    assert_eq!(Some(lengths), gc["pause_total_ns"].as_u64(), "{name}: records");
}

fn exceptions(name: &str, wanted: &Json, seen: &Recorded) {
    assert_eq!(seen.number(m::EXCEPTIONS), wanted["thrown"].as_u64(), "{name}: thrown");
    assert_eq!(seen.counted(m::CLAUSE), sums(&wanted["clauses"]), "{name}: clauses");
    assert_eq!(seen.counted(m::SITE_EXCEPTIONS), instances(&wanted["by_site"]), "{name}: sites");
    let classes = instances(&wanted["by_class"]);
    if classes.keys().any(|class| class != "?") {
        assert_eq!(seen.counted(m::EXCEPTION_TYPE), classes, "{name}: classes");
    }
    let records =
        seen.records().into_iter().filter(|record| record.kind == m::EXCEPTION).count() as u64;
    let missed = seen.number(m::MISSED).unwrap();
    assert_eq!(Some(records + missed), wanted["thrown"].as_u64(), "{name}: records");
}

fn locks(name: &str, wanted: &Json, seen: &Recorded) {
    let events = &wanted["events"];
    let count = |of: &Json| of.as_u64().unwrap_or_default();
    assert_eq!(seen.number(m::CONTENTION_COUNT), Some(count(&events["contention"])), "{name}");
    assert_eq!(seen.number(m::CONTENTION_FAILED), Some(count(&events["fail"])), "{name}: failed");
    assert_eq!(seen.number(m::CONTENTION_TIME), wanted["wait_ns"].as_u64(), "{name}: time");
    assert_eq!(seen.counted(m::LOCK_COUNT), instances(&wanted["by_site"]), "{name}: sites");
    assert_eq!(seen.counted(m::LOCK_TIME), instances(&wanted["by_site_ns"]), "{name}: site times");
    let histogram: u64 = seen.counted(m::CONTENTIONS).values().sum();
    assert_eq!(histogram + count(&wanted["open"]), count(&events["contention"]), "{name}");
}

fn handles(of: &Json) -> BTreeMap<String, u64> {
    let of = sums(of);
    let count = |what: &str, kind| of.get(&format!("handle_{what}:{kind}")).copied().unwrap_or(0);
    let names = ["weak", "weak_track", "normal", "pinned"];
    let now = |kind| count("created", kind) - count("destroyed", kind);
    (0..4).zip(names).map(|(kind, name)| (name.to_owned(), now(kind))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn truth(name: &str, truth: &Json, options: &str, seen: &Recorded) {
    let count = |key: &str| truth[key].as_u64();
    let has = |word: &str| options.split([',', ':']).any(|option| option == word);
    if has("gc") {
        let collections = seen.rows(m::GC_COUNT);
        // Mono collects once more at the end of a program.
        assert_eq!(collections.get("gen0").copied(), count("gc0"), "{name}");
        assert_eq!(collections.get("gen1").copied(), count("gc1").map(|n| n + 1), "{name}");
    }
    if let (true, Some(objects), Some(again)) =
        (has("exception"), count("thrown_objects"), count("rethrown"))
    {
        // The runtime itself throws one when the console is set up.
        assert_eq!(seen.number(m::EXCEPTIONS), Some(objects + again + 1), "{name}");
    }
    if let (true, Some(a), Some(b)) = (has("monitor"), count("wait_a_us"), count("wait_b_us")) {
        let times = seen.counted(m::LOCK_TIME);
        for (method, us) in [("Truth:WaitA()", a), ("Truth:WaitB()", b)] {
            let (seen, own) = (times[method] as f64, us as f64 * 1000.0);
            assert!((seen - own).abs() < own / 1000.0, "{name}: {method} {seen} {own}");
        }
        let tries = count("contended_a").unwrap() + count("contended_b").unwrap();
        let all = tries + count("try_failed").unwrap();
        assert_eq!(seen.number(m::CONTENTION_COUNT), Some(all), "{name}");
    }
    if let Some(threads) = count("threads").filter(|_| truth["mode"] == "threads") {
        assert_eq!(seen.number(m::THREADS_CREATED), Some(threads), "{name}");
    }
    if let (Some(created), Some(unloaded)) = (count("created"), count("unloaded")) {
        assert_eq!(seen.number(m::DOMAINS), Some(1 + created - unloaded), "{name}");
    }
}

/// All facts of a capture.
fn compare(name: &str, seen: &Recorded) {
    let facts = facts(name).unwrap();
    let options = facts["header"]["args"].as_str().unwrap();
    if facts["gc"]["events"].is_object() {
        collections(name, &facts["gc"], seen);
    }
    if facts["exceptions"].is_object() {
        exceptions(name, &facts["exceptions"], seen);
    }
    if facts["monitor"].is_object() {
        locks(name, &facts["monitor"], seen);
    }
    if facts["alloc"].is_object() {
        let alloc = &facts["alloc"];
        assert_eq!(seen.number(m::ALLOC_OBJECTS), alloc["objects"].as_u64(), "{name}");
        assert_eq!(seen.number(m::ALLOC_BYTES), alloc["bytes"].as_u64(), "{name}");
        let total: u64 = seen.counted(m::ALLOC_TYPE_COUNT).values().sum();
        assert_eq!(Some(total), alloc["objects"].as_u64(), "{name}");
        for (class, n) in instances(&alloc["by_class"]) {
            assert_eq!(seen.counted(m::ALLOC_TYPE_COUNT).get(&class), Some(&n), "{name}: {class}");
        }
    }
    let made = sums(&facts["gc"]["handles"]);
    if !made.is_empty() {
        assert_eq!(seen.rows(m::HANDLE_COUNT), handles(&facts["gc"]["handles"]), "{name}");
    }
    if let Some(last) = facts["heapshots"].as_array().and_then(|shots| shots.last()) {
        let shots = facts["heapshots"].as_array().unwrap().len() as u64;
        assert_eq!(seen.number(m::HEAP_SHOTS), Some(shots), "{name}");
        let [bytes, objects] =
            [m::LIVE_BYTES, m::LIVE_OBJECTS].map(|item| seen.counted(item).values().sum::<u64>());
        assert_eq!(Some(bytes), last["bytes"].as_u64(), "{name}");
        assert_eq!(Some(objects), last["objects"].as_u64(), "{name}");
        for (class, n) in instances(&last["top"]) {
            assert_eq!(seen.counted(m::LIVE_BYTES).get(&class), Some(&n), "{name}: {class}");
        }
    }
    let metadata = sums(&facts["metadata"]);
    let now = |what: &str| {
        let count = |act: &str| metadata.get(&format!("{act}_{what}")).copied().unwrap_or(0);
        Some(count("load") - count("unload"))
    };
    assert_eq!(seen.number(m::DOMAINS), now("domain"), "{name}");
    assert_eq!(seen.number(m::ASSEMBLIES), now("assembly"), "{name}");
    assert_eq!(seen.number(m::CLASSES), now("class"), "{name}");
    // A program that was killed could not say.
    if facts["truth"].is_object() {
        truth(name, &facts["truth"], options, seen);
    }
}

#[test]
fn captures_have_what_their_programs_counted() {
    let mut found = 0;
    for name in CAPTURES {
        let Some(bytes) = capture(name) else { continue };
        found += 1;
        let whole = Process::read(&bytes, usize::MAX);
        compare(name, &whole.seen);
        // As a connection brings them: parts of flushes.
        let pieces = Process::read(&bytes, 4000);
        compare(name, &pieces.seen);
        let times: Vec<_> = pieces.seen.records().into_iter().map(|record| record.stamp).collect();
        assert!(times.is_sorted(), "{name}: records of a flush are in the order of time");
    }
    assert!(found > 12, "where have the captures gone?");
}

#[test]
fn a_stream_without_heavy_options_needs_little_memory() {
    for name in CAPTURES {
        let Some(bytes) = capture(name) else { continue };
        let process = Process::read(&bytes, 4000);
        if process.seen.number(m::ALLOC_OBJECTS).is_some() {
            continue;
        }
        let held = process.runtime.heap_size();
        assert!(held < 64 << 10, "{name}: {held}");
    }
}
