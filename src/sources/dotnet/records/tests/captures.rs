//! Captures of real runtimes (qa/corpus/dotnet) have the records that the programs made.

use std::collections::HashMap;

use super::kit::{all, capture, play, play_in};
use crate::contract::RecordedEvent;
use crate::events::flags::{END, ID, POINT, START};
use crate::sources::dotnet::limits::WAITING;
use crate::sources::dotnet::metrics as m;

/// What each type of EventSource parameters is shown as; on 3.1 there are no opcodes.
#[test]
fn types_of_event_sources() {
    for name in ["types-9", "types-31"] {
        let seen = play(name, &all());
        let events = seen.events(m::APPLICATION);
        assert_eq!((events.len(), seen.records().len()), (20, 20), "{name}");
        let types = &events[1];
        assert_eq!(types.flags, POINT);
        let thread = types.get("thread").unwrap();
        let fixed = [
            ("provider", "Pmda-Test"),
            ("event", "Types"),
            ("level", "3"),
            ("thread", thread),
            ("thread_name", &format!("t{thread}")),
        ];
        let own = [
            ("b", "0"),
            ("u1", "201"),
            ("i2", "-6"),
            ("i4", "-100001"),
            ("i8", "-5000000001"),
            ("r4", "2.5"),
            ("r8", "-3.25"),
            ("s", "s中😀1"),
            ("g", "00112233-4455-6677-8899-aabbccddeeff"),
            ("t", "2026-01-02T03:04:05.678Z"),
        ];
        let own = own.map(|(field, value)| {
            let short = if field.len() == 1 { "c_" } else { "" };
            (format!("pmda_test.types.{short}{field}"), value.to_owned())
        });
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let wanted: Vec<_> = fixed.into_iter().chain(own).collect();
        assert_eq!(types.params, wanted, "{name}");
        assert_eq!(events[0].get("pmda_test.types.c_s"), Some(""));
        assert_eq!(events[0].get("pmda_test.types.c_b"), Some("1"));
        let nested = events.iter().find(|e| e.get("event") == Some("Nested")).unwrap();
        assert_eq!(nested.get("pmda_rich.nested.id"), Some("0"));
        assert_eq!(nested.get("pmda_rich.nested.inner"), Some("{Name=\"in0\",Value=1.5}"));
        assert_eq!(nested.get("pmda_rich.nested.after"), Some("7"));
        for (event, bytes) in [("Bytes", "22"), ("Arrays", "33")] {
            let event = events.iter().find(|e| e.get("event") == Some(event)).unwrap();
            assert_eq!(event.get("bytes"), Some(bytes));
            assert_eq!(event.names()[5..], ["bytes"]);
        }
        requests(&events);
    }
}

/// Starts and stops of three requests have the id of their activity, which is the first parameter.
fn requests(events: &[RecordedEvent]) {
    let of = |name| -> Vec<_> { events.iter().filter(|e| e.get("event") == Some(name)).collect() };
    let (starts, stops) = (of("RequestStart"), of("RequestStop"));
    assert_eq!((starts.len(), stops.len()), (3, 3));
    for (n, (start, stop)) in starts.iter().zip(stops).enumerate() {
        assert_eq!((start.flags, stop.flags), (START | ID, END | ID));
        assert_eq!((start.params[0].0.as_str(), &start.params[0]), ("id", &stop.params[0]));
        assert_eq!(start.params[0].1.len(), 36);
        assert_eq!(start.get("pmda_test.requeststart.url"), Some(format!("/x/{n}").as_str()));
        assert_eq!(stop.get("pmda_test.requeststop.status"), Some(format!("20{n}").as_str()));
    }
}

#[test]
fn arrays_of_v2_params_are_texts() {
    let seen = play("handmade-v2params", &all());
    let events = seen.events(m::APPLICATION);
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].get("hand.arrays.ints"), Some("[1,-2,3]"));
    assert_eq!(events[0].get("hand.arrays.words"), Some("[\"one\",\"\"]"));
    assert_eq!(events[1].get("hand.arrays.ints"), Some("[]"));
    assert_eq!(events[1].get("hand.arrays.tail"), Some("10"));
}

/// 60,000 events that three threads wrote within a batch or two all have a record; those of each
/// thread are in their order, however the bytes come. (What can wait is a third of them.)
#[test]
fn all_events_have_records() {
    let bytes = capture("ticks-9");
    for seen in [play_in(&bytes, &all(), usize::MAX, 1), play_in(&bytes, &all(), 7_001, usize::MAX)]
    {
        assert_eq!((seen.records().len(), seen.count(m::MISSED)), (60_000, 0));
        assert!(seen.records().iter().all(|record| record.get("event") == Some("Tick")));
        assert!(seen.log().largest_batch < WAITING + 1000, "{}", seen.log().largest_batch);
        let mut threads = HashMap::<&str, Vec<_>>::new();
        let records = seen.records();
        for record in &records {
            threads.entry(record.get("thread").unwrap()).or_default().push(record.stamp);
        }
        assert_eq!(threads.len(), 3);
        assert!(threads.values().all(|stamps| stamps.is_sorted()));
    }
}

#[test]
fn large_texts_are_whole() {
    let seen = play("big-9", &all());
    let events = seen.events(m::APPLICATION);
    let lengths: Vec<_> = events
        .iter()
        .filter_map(|e| e.get("pmda_test.text.text"))
        .map(|text| text.encode_utf16().count())
        .collect();
    assert_eq!(lengths.len(), 10);
    for length in [100, 30_000, 32_700, 0] {
        assert!(lengths.contains(&length), "{lengths:?}");
    }
    let bytes: Vec<_> = events.iter().filter_map(|e| e.get("bytes")).collect();
    assert_eq!(bytes, ["60012", "60012"]);
}

/// More than the rate are counted, all others have a record.
#[test]
fn records_beyond_the_rate_are_counted() {
    let config = crate::sources::dotnet::Config { records_rate: 1000, ..all() };
    let seen = play("ticks-9", &config);
    let records = seen.events(m::APPLICATION).len() as u64;
    assert!((1000..60_000).contains(&records), "{records}");
    assert_eq!(records + seen.count(m::MISSED), 60_000);
}
