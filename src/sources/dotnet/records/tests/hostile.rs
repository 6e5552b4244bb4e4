//! Event types and streams that want memory, names or time.

use std::sync::Arc;

use super::kit::{all, capture, play_into, recorded};
use crate::contract::Recorded;
use crate::model::{HeapSize, Stamp};
use crate::sources::dotnet::limits::{
    EVENT_TYPES, RECORD_MESSAGE, RECORD_PARAMETERS, RECORD_TEXT, WAITING,
};
use crate::sources::dotnet::records::{Records, Settings};
use crate::sources::dotnet::wire::nettrace::{Event, EventType, Field, FieldType};
use crate::sources::dotnet::{Config, metrics as m};

fn event_type(index: u32, name: &str, fields: Vec<(&str, FieldType)>) -> EventType {
    EventType {
        index,
        provider: Arc::from("Hostile\n\"Provider\0"),
        id: index,
        version: 0,
        level: 4,
        keywords: 0,
        name: name.into(),
        opcode: 0,
        fields: fields.into_iter().map(|(name, kind)| Field { name: name.into(), kind }).collect(),
        complete: true,
    }
}

fn event<'a>(event_type: &'a EventType, payload: &'a [u8]) -> Event<'a> {
    Event {
        event_type,
        time: 0,
        thread: 1,
        capture_thread: 1,
        sequence: 1,
        stack: 0,
        activity: &[0; 16],
        related: &[0; 16],
        sorted: false,
        payload,
    }
}

const NOW: Stamp = Stamp { sec: 1_800_000_000, nsec: 0 };

fn records() -> Records {
    Records::new(Settings::new(&all()))
}

/// One record of a type and payload.
fn one(event_type: &EventType, payload: &[u8], peer: &mut Recorded) {
    let mut records = records();
    records.application(&event(event_type, payload), NOW, &mut (), peer);
    records.release(peer);
}

#[test]
fn fields_of_one_name_and_without_names() {
    let fields =
        ["a b", "a_b", "a b", "", "", "日本", "a\u{7}b"].map(|name| (name, FieldType::U8)).to_vec();
    let (mut peer, hostile) = (recorded(), event_type(0, "E\tv", fields));
    one(&hostile, &[1, 2, 3, 4, 5, 6, 7], &mut peer);
    let records = peer.records();
    let values: Vec<_> = records[0].params[4..].iter().map(|(_, v)| v.as_str()).collect();
    assert_eq!(values, ["1", "2", "3", "4", "5", "6", "7"]);
    let log = peer.log();
    let keys: std::collections::HashSet<_> = log.specs.values().map(|s| &s.key).collect();
    assert_eq!(keys.len(), 7, "{keys:?}");
    for spec in log.specs.values() {
        let texts = [&spec.key, &spec.path, &spec.oneline, &spec.help, &spec.persist];
        assert!(texts.iter().all(|text| !text.contains(char::is_control)), "{spec:?}");
        assert!(spec.labels.iter().all(|(_, text)| !text.contains(char::is_control)));
    }
    // Slots are odd.
    assert!(log.specs.keys().all(|slot| slot % 2 == 1));
}

#[test]
fn ten_thousand_fields_are_bounded() {
    let names: Vec<_> = (0..10_000).map(|n| format!("field{n}")).collect();
    let fields = names.iter().map(|name| (name.as_str(), FieldType::U8)).collect();
    let (mut peer, hostile) = (recorded(), event_type(0, "Wide", fields));
    one(&hostile, &vec![7; 10_000], &mut peer);
    assert_eq!(peer.log().specs.len(), RECORD_PARAMETERS);
    let record = &peer.records()[0];
    let others = record.get("fields").unwrap();
    assert!(others.starts_with("field4096=7 field4097=7 ") && others.len() <= RECORD_TEXT + 20);
}

#[test]
fn fields_without_a_parameter_are_in_one_text() {
    let mut peer = recorded();
    peer.log_mut().room = 1;
    let inner = vec![Field { name: "x".into(), kind: FieldType::Bool8 }];
    let fields =
        vec![("a", FieldType::I8), ("b", FieldType::Text), ("c", FieldType::Object(inner))];
    one(&event_type(0, "E", fields), &[0xff, b'h', 0, b'i', 0, 0, 0, 1], &mut peer);
    let record = &peer.records()[0];
    assert_eq!(record.params[4].1, "-1");
    assert_eq!(record.get("fields"), Some(r#"b=hi c="{x=true}""#));
}

/// Payloads that end early keep what there is and are counted; what follows the fields is nothing.
#[test]
fn short_and_long_payloads() {
    let fields = || vec![("aa", FieldType::U32), ("bb", FieldType::Text)];
    for (payload, values, bad) in [
        (&[1, 0, 0, 0, b'x', 0, 0, 0, 9, 9][..], 2, 0),
        (&[1, 0, 0, 0, b'x', 0], 1, 1),
        (&[1, 0], 0, 1),
        (&[], 0, 1),
    ] {
        let mut peer = recorded();
        one(&event_type(0, "E", fields()), payload, &mut peer);
        assert_eq!(peer.records()[0].params.len(), 4 + values);
        assert_eq!(peer.count(m::BAD), bad);
    }
}

/// The same index can have another meaning later.
#[test]
fn types_are_defined_anew() {
    let (mut peer, mut records) = (recorded(), records());
    for (name, kind, payload) in
        [("One", FieldType::U32, [1, 0, 0, 0]), ("Two", FieldType::F32, [0, 0, 128, 63])]
    {
        let one = event_type(3, name, vec![("value", kind)]);
        records.application(&event(&one, &payload), NOW, &mut (), &mut peer);
    }
    records.release(&mut peer);
    let values: Vec<_> =
        peer.records().iter().map(|r| r.params.last().unwrap().1.clone()).collect();
    assert_eq!(values, ["1", "1"]);
}

#[test]
fn texts_of_64_kib_and_more() {
    let mut payload = [b'y', 0].repeat(RECORD_TEXT + 10);
    payload.extend([0, 0]);
    let mut peer = recorded();
    let mut records = records();
    let wide = event_type(0, "E", vec![("t1", FieldType::Text)]);
    let mut most = 0;
    for _ in 0..50 {
        records.application(&event(&wide, &payload), NOW, &mut (), &mut peer);
        most = most.max(records.heap_size());
    }
    records.release(&mut peer);
    assert_eq!(peer.records().len(), 50);
    assert!(peer.records().iter().all(|r| r.params[4].1.ends_with("y…")));
    assert!(peer.log().largest_batch < WAITING + 2 * RECORD_TEXT && most < 4 * WAITING, "{most}");
}

/// A source that is broken says so in event 0.
#[test]
fn messages_of_sources() {
    let mut peer = recorded();
    let message = event_type(0, "EventSourceMessage", vec![("message", FieldType::Text)]);
    let mut payload: Vec<u8> = "ERROR: x".encode_utf16().flat_map(u16::to_le_bytes).collect();
    payload.extend([b'z', 0].repeat(2 * RECORD_MESSAGE));
    payload.extend([0, 0]);
    one(&message, &payload, &mut peer);
    let record = &peer.records()[0];
    assert_eq!((record.kind, peer.log().errors.len()), (m::SESSION, 1));
    let text = record.get("message").unwrap();
    assert!(text.contains("ERROR: x") && text.len() <= RECORD_MESSAGE + 8, "{text}");
}

/// The threads of a process follow one another in each batch; the first event of each run of a
/// thread that nothing older can follow has the flag *sorted*.
#[test]
fn records_are_in_the_order_of_time() {
    let (mut peer, mut records) = (recorded(), records());
    let plain = event_type(0, "E", vec![("aa", FieldType::U32)]);
    let at = |n: u32| Stamp { sec: NOW.sec, nsec: n };
    for batch in 0..20 {
        let first = batch * 3000;
        records.sorted(at(first));
        for thread in 0..3 {
            for n in 0..1000 {
                let stamp = at(first + 3 * n + thread);
                let event = Event { thread: thread.into(), ..event(&plain, &[1; 4]) };
                records.application(&event, stamp, &mut (), &mut peer);
            }
            // Pieces of the stream end anywhere.
            records.release_sorted(&mut peer);
        }
    }
    assert_eq!(peer.records().len(), 57_001);
    records.release(&mut peer);
    assert_eq!(peer.records().len(), 60_000);
    assert!(peer.records().is_sorted_by_key(|record| record.stamp));
}

/// Each event has the flag *sorted*, and times go backward: still quick, and nothing is lost.
#[test]
fn every_event_is_flagged() {
    let (mut peer, mut records) = (recorded(), records());
    let plain = event_type(0, "E", vec![("aa", FieldType::U32)]);
    for n in 0..200_000_i64 {
        let stamp = Stamp { sec: 2_000_000_000 - n, nsec: 0 };
        records.application(&event(&plain, &[1; 4]), stamp, &mut (), &mut peer);
        records.sorted(stamp);
    }
    records.release(&mut peer);
    assert_eq!(peer.records().len() as u64 + peer.count(m::MISSED), 200_000);
}

#[test]
fn idle_processes_have_no_memory() {
    let mut peer = recorded();
    let mut parts = play_into(&capture("gc-exc-9"), &Config::default(), (usize::MAX, 1), &mut peer);
    assert!(parts.records.heap_size() < 4096, "{}", parts.records.heap_size());
    parts.records.restart(&mut peer);
    let fresh = Records::new(Settings::new(&Config::default()));
    assert_eq!(parts.records.heap_size(), fresh.heap_size());
    assert!(size_of::<Records>() < 2048, "{}", size_of::<Records>());
}

#[test]
fn types_at_the_end_of_their_range() {
    let (mut peer, mut records) = (recorded(), records());
    let last = event_type(u32::try_from(EVENT_TYPES).unwrap() - 1, "E", Vec::new());
    records.application(&event(&last, &[1]), NOW, &mut (), &mut peer);
    assert!(records.heap_size() < 64 * EVENT_TYPES);
    records.release(&mut peer);
    assert_eq!(peer.records()[0].get("bytes"), Some("1"));
}
