//! The hostile regions of the captures' tools: each gives what its description says.

use serde_json::{Map, Value as Json};

use super::build::{self, Is};
use super::{counters, figure, metrics, read, unpacked};
use crate::sources::jvm::metrics as m;
use crate::sources::jvm::state::Reading;
use crate::sources::jvm::wire::Refusal;

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

fn cases() -> Map<String, Json> {
    serde_json::from_slice(&unpacked("hostile.json.gz")).unwrap()
}

#[test]
fn each_is_refused_or_read_as_told() {
    let (mut refused, mut given) = (0, 0);
    for (name, case) in cases() {
        let region = bytes(case["hex"].as_str().unwrap());
        let got = counters(&region);
        let shown = read(&region, |reading| (metrics(&reading), reading.overflow));
        assert_eq!(got.is_ok(), shown.is_ok(), "{name}");
        if case["want"] == "refuse" {
            let refusal = got.unwrap_err();
            println!("{name}: {refusal}");
            refused += 1;
            continue;
        }
        let (got, _) = got.unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        let want = case["counters"].as_object().unwrap();
        for (counter, value) in want {
            assert_eq!(got.get(counter), Some(value), "{name} {counter}");
        }
        for absent in case["absent"].as_array().into_iter().flatten() {
            assert!(!got.contains_key(absent.as_str().unwrap()), "{name} {absent}");
        }
        if case["partial"] == true {
            assert_eq!(got.len(), want.len(), "{name}");
        }
        let (metrics, overflow) = shown.unwrap();
        if let Some(want) = case.get("overflow") {
            assert_eq!(want, overflow, "{name}");
        }
        if let Some(want) = case.get("gc_time_ns") {
            assert_eq!(&metrics["gc.time"]["young"], want, "{name}");
        }
        given += 1;
    }
    assert_eq!((refused, given), (16, 46));
}

#[test]
fn refusals_say_what_is_wrong() {
    let cases = cases();
    let refusal = |name: &str| counters(&bytes(cases[name]["hex"].as_str().unwrap())).unwrap_err();
    for (name, words) in [
        ("version-3", "the format of its performance data is not known (version 3.0)"),
        ("magic-reversed", "not a performance data file (it begins with [c0, c0, fe, ca])"),
        ("short-31", "not a performance data file (31 bytes)"),
        ("byte-order-7", "its performance data is damaged (byte order 7)"),
        ("count-huge", "its performance data is damaged (2147483647 entries)"),
        ("first-entry-16", "its performance data is damaged (first entry at 16)"),
        ("used-too-large", "its performance data is damaged (1073741824 bytes in use of 371)"),
        ("zeros", "starting"),
    ] {
        assert_eq!(refusal(name).to_string(), words, "{name}");
    }
    for name in ["empty", "zeros", "not-accessible"] {
        assert_eq!(refusal(name), Refusal::Starting, "{name}");
    }
    assert_ne!(refusal("used-negative"), Refusal::Starting);
    let long = vec![0; crate::sources::jvm::limits::REGION + 1];
    assert_eq!(read(&long, |_| ()), Err(Refusal::Length(long.len())));
}

/// Times that cannot be told are left out, sizes below zero have no value.
#[test]
fn what_is_wrong_has_no_value() {
    let cases = cases();
    let shown = |name: &str| {
        read(&bytes(cases[name]["hex"].as_str().unwrap()), |reading| metrics(&reading)).unwrap()
    };
    for name in ["frequency-zero", "frequency-negative", "frequency-missing"] {
        let metrics = shown(name);
        assert_eq!((&metrics["gc.count"]["young"], metrics.get("gc.time")), (&3.into(), None));
        assert_eq!(metrics.get("gc.pause.total"), None, "{name}");
    }
    assert_eq!(shown("negative-sizes").get("memory.pool.used"), None);
    assert_eq!(shown("collector-99")["gc.pause.count"], 3);
    assert_eq!(shown("string-controls")["process.command"], "a b [2J   ");
    assert_eq!(shown("string-controls")["name"], "a_b_[2J");
    assert_eq!(shown("string-latin1")["name"], "Gr\u{fffd}\u{fffd}e");
}

/// `ten-thousand` of the tools, and the most that is walked.
#[test]
fn many_entries() {
    let user = |i: usize| build::entry(&format!("user.counter.{i:05}"), Is::Long(i as i64));
    let mut entries = vec![build::entry("java.threads.live", Is::Long(7))];
    entries.extend((0..10_000).map(user));
    let region = build::region(&entries, 1);
    assert_eq!(counters(&region).unwrap().0["user.counter.09999"], 9999);
    let threads = |reading: Reading<'_>| figure(&reading.figures, m::THREADS);
    let read = |region: &[u8]| read(region, |reading| (reading.entries, threads(reading)));
    assert_eq!(read(&region), Ok((10_001, Some(7))));
    entries.extend((10_000..65_535).map(user));
    assert_eq!(read(&build::region(&entries, 1)), Ok((65_536, Some(7))));
    entries.push(user(65_535));
    assert_eq!(read(&build::region(&entries, 1)), Err(Refusal::Entries(65_537)));
}
