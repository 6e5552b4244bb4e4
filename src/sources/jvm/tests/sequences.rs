//! Five states of seven JVMs: what grew is what was ordered and what the JVM's beans told.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::captures;
use crate::sources::jvm::state::{Collections, Figures, Hints, Longest, Reader};

type States = Vec<(Vec<u8>, Json)>;

fn sequences() -> BTreeMap<String, States> {
    let mut all: BTreeMap<String, States> = BTreeMap::new();
    for (name, region, want) in captures() {
        if let Some((sequence, _)) =
            name.rsplit_once('-').filter(|_| name.starts_with("sequences/"))
        {
            all.entry(sequence.into()).or_default().push((region, want));
        }
    }
    assert_eq!(all.len(), 7);
    all
}

/// Readings of one reader, with times in seconds and what the beans told.
fn figures(states: &States) -> Vec<(f64, Figures, &Json)> {
    let mut reader = Reader::new(Hints::default());
    let read = states.iter().map(|(region, want)| {
        let figures = reader.read(region).unwrap().figures;
        (want["monotonic_s"].as_f64().unwrap(), figures, want)
    });
    read.collect()
}

#[test]
fn rates_are_those_of_the_beans() {
    let (mut pairs, mut full) = (0, 0);
    for (name, states) in sequences() {
        for pair in figures(&states).windows(2) {
            let ((before, old, was), (now, new, is)) = (&pair[0], &pair[1]);
            let seconds = now - before;
            assert!((0.5..5.0).contains(&seconds), "{name}");
            let rate =
                |old: Option<u64>, new: Option<u64>| (new.unwrap() - old.unwrap()) as f64 / seconds;
            let bean = |key: &str| {
                let of = |want: &Json| want["beans"][key].as_f64().unwrap();
                (of(is) - of(was)) / seconds
            };
            let equal =
                |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b.abs(), "{name}: {a} {b}");
            equal(rate(old.threads_started, new.threads_started), bean("threads.started"));
            equal(rate(old.classes_loaded, new.classes_loaded), bean("classes.total"));
            equal(rate(old.classes_unloaded, new.classes_unloaded), bean("classes.unloaded"));
            assert_eq!(new.threads_started.unwrap() - old.threads_started.unwrap(), 1);
            assert!(new.classes_loaded.unwrap() - old.classes_loaded.unwrap() >= 10);
            // System.gc() is a full collection of G1 and Parallel.
            if let [_, Some(before), _] = old.collections {
                equal(
                    rate(Some(before.count), Some(new.collections[1].unwrap().count)),
                    bean("asked_gc"),
                );
                full += 1;
            }
            for metric in ["gc.pause.count", "gc.pause.total", "safepoint.time", "jit.time"] {
                let of = |want: &Json| want["metrics"][metric].as_u64();
                let got = |figures: &Figures| match metric {
                    "gc.pause.count" => figures.pauses.count,
                    "gc.pause.total" => figures.pauses.total,
                    "safepoint.time" => figures.safepoint_time,
                    _ => figures.jit_time,
                };
                equal(rate(got(old), got(new)), rate(of(was), of(is)));
            }
            pairs += 1;
        }
    }
    assert_eq!((pairs, full), (28, 20));
}

/// One collection between two readings is known exactly, of more a bound.
#[test]
fn the_longest_pause_is_a_lower_bound() {
    for (name, states) in sequences() {
        let mut longest = Longest::default();
        let mut sum = 0;
        for (at, figures, _) in figures(&states) {
            let now = Duration::from_secs_f64(at);
            longest.feed(now, &figures);
            let told = longest.longest(now);
            if sum == 0 {
                assert_eq!(told, None, "{name}");
                sum = figures.pauses.total.unwrap();
                continue;
            }
            let all = figures.pauses.total.unwrap() - sum;
            assert!(told.unwrap() > 0 && told.unwrap() <= all, "{name}: {told:?} of {all}");
            let last = figures.collections.iter().flatten().filter_map(Collections::pause).max();
            assert!(told >= last.filter(|_| name.contains("parallel")), "{name}");
            let mut later = longest;
            assert_eq!(later.longest(now + Duration::from_secs(70)), None);
        }
    }
}

#[test]
fn a_pause_that_runs_is_told_when_it_has_ended() {
    let young = |count, time, begin, end| {
        let row = "young";
        let one = Collections { row, count, time: Some(time), last: Some((begin, end)) };
        Figures { collections: [Some(one), None, None], ..Figures::default() }
    };
    let second = Duration::from_secs;
    let mut longest = Longest::default();
    longest.feed(second(100), &young(5, 500, 1000, 1100));
    assert_eq!(longest.longest(second(100)), None);
    longest.feed(second(101), &young(6, 500, 2000, 1100));
    assert_eq!(longest.longest(second(101)), None);
    longest.feed(second(102), &young(6, 570, 2000, 2070));
    assert_eq!(longest.longest(second(102)), Some(70));
    // Three: 900 in all, the last one took 10.
    longest.feed(second(103), &young(9, 1470, 3000, 3010));
    assert_eq!(longest.longest(second(103)), Some(300));
    // The counters of another JVM.
    longest.feed(second(104), &young(1, 5, 10, 15));
    assert_eq!(longest.longest(second(158)), Some(300));
    assert_eq!(longest.longest(second(161)), None);
    // A clock that goes back is that of the newest slot.
    longest.feed(second(10), &young(2, 105, 20, 120));
    assert_eq!(longest.longest(second(10)), Some(100));
}
