//! Answers of real JVMs, and of those that say what they like.

use std::io::Read;
use std::path::Path;

use super::super::Jvm;
use super::super::limits;
use super::*;
use crate::contract::Recorded;
use crate::model::{EventKindId, MetricItem, RowItem, Value};
use crate::sources::Source;

fn recorded() -> Recorded {
    Recorded::new(&Jvm::TABLE)
}

fn cell(seen: &Recorded, item: RowItem, key: &str) -> Option<u64> {
    seen.log().rows.get(&(item, key.to_owned())).copied()
}

fn number(seen: &Recorded, item: MetricItem) -> Option<Value> {
    seen.log().values.get(&item).cloned()
}

#[test]
fn classes_by_their_memory() {
    let answer = b" num     #instances         #bytes  class name (module)\n\
        -------------------------------------------------------\n\
        \x20  1:          2147        1162448  [B (java.base@17.0.15)\n\
        \x20  2:             7          33032  [[Ljava.lang.String; (java.base@17.0.15)\n\
        \x20  3:             5          31840  shop.Order\n\
        \x20  4:             1          16  shop.Order\n\
        x: 1 2 bad\n   5: 1\n\
        Total          2160        1227336\n";
    let found = Histogram::read(answer).unwrap();
    let seen = recorded();
    let text = found.show("shop:7", &mut seen.peer());
    assert_eq!(text, "done: 2160 objects of 4 classes, 1227336 bytes; 3 classes have rows");
    for (class, objects, bytes) in [
        ("byte[]", 2147, 1_162_448),
        ("java.lang.String[][]", 7, 33_032),
        ("shop.Order", 6, 31_856),
    ] {
        assert_eq!(cell(&seen, m::CLASS_OBJECTS, class), Some(objects), "{class}");
        assert_eq!(cell(&seen, m::CLASS_BYTES, class), Some(bytes), "{class}");
    }
    let again = Histogram::read(b"1: 9 99 shop.Other\n").unwrap();
    again.show("shop:7", &mut seen.peer());
    assert_eq!(cell(&seen, m::CLASS_BYTES, "shop.Other"), Some(99));
    assert_eq!(cell(&seen, m::CLASS_BYTES, "shop.Order"), None, "what was before is gone");
    assert!(Histogram::read(b"Usage: GC.class_histogram\n").is_err());
    let many: String = (0..5000).map(|n| format!("{n}: 1 {} c{n}\n", 9000 - n)).collect();
    let found = Histogram::read(many.as_bytes()).unwrap();
    assert_eq!(found.rows_and_classes(), (limits::CLASSES, 5000));
    // A class of many loaders, each of which has little.
    let loaders = "9: 1 50 shop.Script\n".repeat(500);
    let found = Histogram::read([many, loaders].concat().as_bytes()).unwrap();
    let seen = recorded();
    let _ = found.show("shop:7", &mut seen.peer());
    assert_eq!(cell(&seen, m::CLASS_BYTES, "shop.Script"), Some(25_000));
    let many: String = (0..limits::CLASS_NAMES + 9).map(|n| format!("{n}: 1 8 c{n}\n")).collect();
    let found = Histogram::read(many.as_bytes()).unwrap();
    assert_eq!(found.rows_and_classes(), (limits::CLASSES, limits::CLASS_NAMES + 9));
    let answer = reset(m::HISTOGRAM, &mut seen.peer());
    assert_eq!(answer, "reset: what comes next begins at 0");
    assert_eq!(cell(&seen, m::CLASS_BYTES, "shop.Script"), None);
}

#[test]
fn threads_by_their_states() {
    let answer = b"2026-11-26 21:38:01\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6):\n\n\
        \"main\" #1 prio=5\n   java.lang.Thread.State: RUNNABLE\n\
        \"a\" #2\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\
        \"b\" #3\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\
        \"c\" #4\n   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\
        \"not a deadlock\":\n   java.lang.Thread.State: ODD\n\
        Found one Java-level deadlock:\n=============================\n\
        \"dead 1\":\n  waiting to lock monitor 0x1, which is held by \"dead-2\"\n\
        \"dead-2\":\n  waiting to lock monitor 0x2\n\n\
        Java stack information for the threads listed above:\n\"dead 1\":\n\tat Load.take(Load.java:9)\n\
        Found 1 deadlock.\n";
    let seen = recorded();
    let text = Dump::read(answer).unwrap().show("shop:7", &mut seen.peer());
    assert_eq!(
        text,
        "done: 4 threads: 1 runnable, 2 blocked, 1 timed_waiting; 2 wait for each other for ever: dead_1, dead-2"
    );
    let states = ["new", "runnable", "blocked", "waiting", "timed_waiting", "terminated"];
    let counts = states.map(|state| cell(&seen, m::STATE_THREADS, state));
    assert_eq!(counts, [0, 1, 2, 0, 1, 0].map(Some));
    assert_eq!(number(&seen, m::DEADLOCKED), Some(Value::from(2_u32)));
    let text = Dump::read(b"Full thread dump\n").unwrap().show("shop:7", &mut seen.peer());
    assert_eq!(text, "done: 0 threads: ; no deadlock");
    assert_eq!(number(&seen, m::DEADLOCKED), Some(Value::from(0_u32)));
    assert!(Dump::read(b"").is_err() && Dump::read(&[0xff; 99]).is_err());
}

fn recording(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/jvm/jfr");
    let packed = std::fs::read(root.join(name)).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_recording_becomes_rows_and_records() {
    let bytes = recording("jdk17.jfr.gz");
    let seen = recorded();
    let text = Profile::read(&bytes).unwrap().show("shop:7", &mut seen.peer());
    assert_eq!(
        text,
        "done: 99 samples, 1 stacks, 1 methods; 9 collections, 0 exceptions, 29 waits for monitors"
    );
    assert_eq!(cell(&seen, m::STACK_SAMPLES, "Load.main"), Some(99));
    assert_eq!(cell(&seen, m::METHOD_SELF, "Load.main"), Some(99));
    assert_eq!(cell(&seen, m::METHOD_TOTAL, "jdk.jfr.internal.dcmd.DCmdStart.execute"), None);
    assert_eq!(number(&seen, m::SAMPLES), Some(Value::from(99_u64)));
    let records = |kind: EventKindId| seen.log().events.iter().filter(|e| e.kind == kind).count();
    assert_eq!([m::GC, m::EXCEPTION, m::CONTENTION].map(records), [9, 0, 29]);
    let log = seen.log();
    let collection = format!("{:?}", log.events.iter().find(|e| e.kind == m::GC).unwrap());
    assert!(collection.contains("GC Pause ") && collection.contains("us"), "{collection}");
    let both = [&bytes[..], &bytes[..]].concat();
    drop(log);
    Profile::read(&both).unwrap().show("shop:7", &mut seen.peer());
    assert_eq!(cell(&seen, m::STACK_SAMPLES, "Load.main"), Some(297), "two chunks more");
    assert_eq!(reset(m::PROFILE, &mut seen.peer()), "reset: what comes next begins at 0");
    assert_eq!(cell(&seen, m::STACK_SAMPLES, "Load.main"), None);
}

#[test]
fn what_has_no_record_is_counted() {
    let seen = recorded();
    let text = profile::full(3).show("shop:7", &mut seen.peer());
    let tail = "0 collections, 1003 exceptions, 0 waits for monitors; 3 events have no record";
    assert!(text.ends_with(tail), "{text}");
    assert_eq!(seen.log().events.len(), limits::RECORDS);
    assert_eq!(number(&seen, m::MISSED), Some(Value::from(3_u64)));
}

#[test]
fn events_that_cannot_be_decoded_are_told() {
    let mut bytes = recording("jdk25.jfr.gz");
    let mut at = jfr::HEADER;
    // The first one that is short; 0 and 1 are of the chunk itself.
    while bytes[at] >= 0x80 || bytes[at + 1] < 2 {
        let size = (0..4).map(|n| (n, usize::from(bytes[at + n])));
        let end = size.clone().position(|(_, byte)| byte < 0x80).unwrap_or(3);
        at += size.take(end + 1).map(|(n, byte)| (byte & 0x7f) << (7 * n)).sum::<usize>();
    }
    bytes[at] = 3;
    let text = Profile::read(&bytes).unwrap().show("shop:7", &mut recorded().peer());
    assert!(text.ends_with(" events cannot be decoded"), "{text}");
}

#[test]
fn a_stack_that_is_cut_says_so() {
    let found = profile::sampled(&["a.C.leaf", "a.C.run", "a.C.run", "..."], 5);
    let seen = recorded();
    let text = found.show("shop:7", &mut seen.peer());
    assert!(text.starts_with("done: 5 samples, 1 stacks, 2 methods;"), "{text}");
    assert_eq!(cell(&seen, m::STACK_SAMPLES, "...,a.C.run,a.C.run,a.C.leaf"), Some(5));
    assert_eq!(cell(&seen, m::METHOD_TOTAL, "a.C.run"), Some(5), "once each time");
    assert_eq!(cell(&seen, m::METHOD_SELF, "a.C.leaf"), Some(5));
}

#[test]
fn a_recording_that_is_cut_is_refused() {
    let bytes = recording("jdk25.jfr.gz");
    for at in [1, 67, 68, 5000, bytes.len() - 1] {
        let error = Profile::read(&bytes[..at]).unwrap_err();
        assert!(error.starts_with("the recording: "), "{error}");
    }
    assert!(Profile::read(&[&bytes[..], b"more"].concat()).is_err());
    assert!(Profile::read(&bytes).is_ok());
}

#[test]
fn hidden_classes_have_one_name() {
    for (name, clean) in [
        ("Load$$Lambda$1+0x00007f5bb9000a08.925858445.run", "Load$$Lambda.run"),
        ("Load$$Lambda.0x0000000093040210.run", "Load$$Lambda.run"),
        ("a.B.c", "a.B.c"),
        ("a.B c,d", "a.B_c;d"),
    ] {
        assert_eq!(&*profile::method(name), clean);
    }
}

#[test]
fn what_is_asked() {
    let parse = |control, text| Request::parse(control, text);
    assert_eq!(parse(m::HISTOGRAM, " "), Ok(Request::Histogram(false)));
    assert_eq!(parse(m::HISTOGRAM, "live"), Ok(Request::Histogram(true)));
    assert_eq!(parse(m::DUMP, ""), Ok(Request::Threads));
    assert_eq!(parse(m::PROFILE, "reset"), Ok(Request::Reset));
    assert_eq!(parse(m::HISTOGRAM, "reset"), Ok(Request::Reset));
    let five = std::time::Duration::from_secs(5);
    for text in ["5", " 5s", "5 s"] {
        assert_eq!(parse(m::PROFILE, text), Ok(Request::Profile(five)), "{text}");
    }
    for text in ["", "0", "61", "-1", "1.5", "five", "live"] {
        assert!(parse(m::PROFILE, text).is_err(), "{text}");
    }
    assert!(parse(m::HISTOGRAM, "5").is_err() && parse(m::DUMP, "reset").is_err());
    let start = start("n", "/tmp/f/recording.jfr", five);
    assert!(
        start.starts_with(
            "JFR.start name=n filename=/tmp/f/recording.jfr duration=35s settings=none "
        )
    );
    assert!(
        start.len() < 1024,
        "an argument of the protocol has at most 1,024 bytes: {}",
        start.len()
    );
}
