//! Five states of seven JVMs: what grew is what was ordered and what the JVM's beans told.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{captures, figure};
use crate::sources::jvm::metrics as m;
use crate::sources::jvm::state::{Collections, Figures, Longest, Reader, Who};

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
    let mut reader = Reader::new(Who::default());
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
            let both = |item| [old, new].map(|figures| figure(figures, item));
            let grows = |item| rate(both(item)[0], both(item)[1]);
            let bean = |key: &str| {
                let of = |want: &Json| want["beans"][key].as_f64().unwrap();
                (of(is) - of(was)) / seconds
            };
            let equal =
                |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b.abs(), "{name}: {a} {b}");
            equal(grows(m::THREADS_CREATED), bean("threads.started"));
            equal(grows(m::CLASS_LOADED), bean("classes.total"));
            equal(grows(m::CLASS_UNLOADED), bean("classes.unloaded"));
            let more = both(m::THREADS_CREATED).map(Option::unwrap);
            assert_eq!(more[1] - more[0], 1);
            assert!(grows(m::CLASS_LOADED) * seconds > 9.5);
            // System.gc() is a full collection of G1 and Parallel.
            if let [_, Some(before), _] = old.collections {
                equal(
                    rate(Some(before.count), Some(new.collections[1].unwrap().count)),
                    bean("asked_gc"),
                );
                full += 1;
            }
            for (metric, item) in [
                ("gc.pause.count", m::PAUSE_COUNT),
                ("gc.pause.total", m::PAUSE_TOTAL),
                ("safepoint.time", m::SAFEPOINT_TIME),
                ("jit.time", m::JIT_TIME),
            ] {
                let of = |want: &Json| want["metrics"][metric].as_u64();
                equal(grows(item), rate(of(was), of(is)));
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
        for (_, figures, _) in figures(&states) {
            let told = longest.since(&figures);
            let total = figures.pauses.total.unwrap();
            let before = std::mem::replace(&mut sum, total);
            if before == 0 {
                assert_eq!(told, None, "{name}");
                continue;
            }
            let all = total - before;
            assert!(told.unwrap() > 0 && told.unwrap() <= all, "{name}: {told:?} of {all}");
            let last = figures.collections.iter().flatten().filter_map(Collections::pause).max();
            assert!(told >= last.filter(|_| name.contains("parallel")), "{name}");
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
    let mut longest = Longest::default();
    for (figures, told) in [
        (young(5, 500, 1000, 1100), None),
        (young(6, 500, 2000, 1100), None),
        (young(6, 570, 2000, 2070), Some(70)),
        // Three: 900 in all, the last one took 10.
        (young(9, 1470, 3000, 3010), Some(300)),
        (young(9, 1470, 3000, 3010), None),
        // The counters of another JVM.
        (young(1, 5, 10, 15), None),
        (young(2, 105, 20, 120), Some(100)),
    ] {
        assert_eq!(longest.since(&figures), told, "{figures:?}");
    }
}
