use std::collections::BTreeMap;
use std::time::Duration;

use super::providers::{Figure, Reading};
use super::test_kit::{OwnMetrics, events, facts, recorded, replay};
use super::*;
use crate::contract::Recorded;
use crate::model::{HeapSize, Semantics, Units, Value};
use crate::sources::dotnet::meter::Settings;
use crate::sources::dotnet::{limits, metrics as m};

fn counters() -> Counters {
    let mut counters = Counters::default();
    counters.start("app:1");
    counters.stream("SHARED", "apm-1");
    counters
}

fn close(a: f64, b: f64) -> bool {
    // The facts are sums of six decimals.
    (a - b).abs() <= 1e-5 + 1e-9 * a.abs()
}

#[test]
fn event_counters_are_those_of_the_facts() {
    for name in
        ["counters-9", "counters-10", "counters-31", "own-counters-9", "default-9", "default-31"]
    {
        // Samples, sum, last.
        let mut found = BTreeMap::<String, (u64, f64, f64)>::new();
        events(name, |_, event| {
            if *event.event_type.name != *"EventCounters" {
                return;
            }
            let reading = Reading::of(&event.event_type.fields, event.payload).unwrap();
            let value = match reading.figure {
                Figure::Increment(value) | Figure::Mean { mean: value, .. } => value,
            };
            let key = format!("{}/{}", event.event_type.provider, reading.name);
            let entry = found.entry(key).or_default();
            *entry = (entry.0 + 1, entry.1 + value, value);
        });
        let facts = facts(name);
        let expected = facts["counters"].as_object().unwrap();
        assert_eq!(found.len(), expected.len(), "{name}");
        for (key, facts) in expected {
            let (samples, sum, last) = found[key];
            assert_eq!(samples, facts["samples"].as_u64().unwrap(), "{name} {key}");
            assert!(close(sum, facts["sum"].as_f64().unwrap()), "{name} {key}");
            assert!(close(last, facts["last"].as_f64().unwrap()), "{name} {key}");
        }
    }
}

#[test]
fn a_programs_own_counters_are_metrics() {
    let (mut counters, mut seen) = (counters(), recorded());
    let end = replay("own-counters-9", &mut counters, &mut seen);
    assert_eq!(seen.own("pmda_counters.own_rate"), Some(300.0));
    assert_eq!(seen.own("pmda_counters.own_ipoll"), Some(450.0));
    assert_eq!(seen.own("pmda_counters.own_poll"), Some(150.0));
    assert_eq!(seen.own("pmda_counters.own_mean_count"), Some(150.0));
    // Nothing was measured in the last interval.
    for path in ["own_mean", "own_mean_min", "own_mean_max"] {
        assert_eq!(seen.own(&format!("pmda_counters.{path}")), None, "{path}");
    }
    let rate = seen.spec("pmda_counters.own_rate");
    assert_eq!((rate.sem, rate.units), (Semantics::Counter, Units::Count));
    assert_eq!(rate.oneline, "Display of IncrementingEventCounter");
    assert!(rate.help.contains("widgets"), "{}", rate.help);
    assert!(seen.values().iter().all(|value| value.is_finite()));

    counters.tick(end + Duration::from_secs(2), &mut seen);
    assert_eq!(seen.own("pmda_counters.own_poll"), Some(150.0));
    counters.tick(end + Duration::from_secs(86_400), &mut seen);
    assert_eq!(seen.own("pmda_counters.own_poll"), None);
    assert_eq!(seen.own("pmda_counters.own_rate"), Some(300.0));
}

#[test]
fn series_of_meters_are_those_of_the_facts() {
    for name in ["meters-9", "meters-limit-9", "meters-runtime-9", "meters-runtime-10"] {
        let (mut counters, mut seen) = (counters(), recorded());
        replay(name, &mut counters, &mut seen);
        let facts = facts(name);
        for (key, facts) in facts["counters"].as_object().unwrap() {
            let (instrument, tags) = key.strip_suffix(']').unwrap().split_once('[').unwrap();
            let (meter, instrument) = instrument.split_once('/').unwrap();
            let mut row = String::new();
            published::row_name(tags, &mut row);
            let row = format!("app:1::{row}");
            let component = crate::model::component;
            let path = format!("{}.{}", component(meter), component(instrument));
            let number = |of: &str| {
                let of = &facts[of];
                of.as_f64().or_else(|| of.as_str()?.parse().ok()).unwrap()
            };
            let check = |path: &str, expected: f64| {
                let value = seen.in_row(path, &row).unwrap_or(f64::NAN);
                assert!(close(value, expected), "{name} {path} {row}: {value} {expected}");
            };
            match facts["event"].as_str().unwrap() {
                "GaugeValuePublished" => check(&path, number("lastValue")),
                "HistogramValuePublished" => {
                    check(&format!("{path}.count"), number("count_total"));
                    check(&format!("{path}.sum"), number("sum_total"));
                    assert_eq!(seen.in_row(&format!("{path}.p50"), &row), None, "no news");
                }
                _ => check(&path, number("value")),
            }
        }
        let values = facts["counters"].as_object().unwrap().len();
        assert!(seen.values().len() >= values, "{name}");
        assert_eq!(seen.log().unshown, 0, "{name}");
    }
}

#[test]
fn units_semantics_and_texts_come_from_instruments() {
    let (mut counters, mut seen) = (counters(), recorded());
    let end = replay("meters-9", &mut counters, &mut seen);
    for (path, sem, units, oneline) in [
        ("test_requests", Semantics::Counter, Units::Count, "requests"),
        ("test_bytes", Semantics::Counter, Units::Bytes, "observed"),
        ("test_temperature", Semantics::Instant, Units::None, "gauge"),
        ("test_active", Semantics::Instant, Units::Count, "active now"),
        ("test_duration.sum", Semantics::Counter, Units::Seconds, "how long"),
        ("test_duration.count", Semantics::Counter, Units::Count, "how long"),
        ("test_duration.p99", Semantics::Instant, Units::Seconds, "how long"),
    ] {
        let spec = seen.spec(&format!("pmda_meter.{path}"));
        assert_eq!((spec.sem, spec.units, &*spec.oneline), (sem, units, oneline), "{path}");
        assert_eq!(restore(&spec.persist), Some(spec));
    }
    let odd = "app:1::route=/odd,=x,status=500";
    assert_eq!(seen.in_row("pmda_meter.test_requests", odd), Some(76.0));
    assert_eq!(seen.cell(m::SERIES_UPDATES, odd.strip_prefix("app:1::").unwrap()), Some(5));
    assert_eq!(seen.cell(m::SERIES_UPDATES, "-"), Some(6));
    assert_eq!(seen.value(m::METER_LIMITED), Some(Value::U32(0)));

    counters.tick(end + Duration::from_secs(10), &mut seen);
    assert_eq!(seen.in_row("pmda_meter.test_active", "app:1::-"), None);
    assert_eq!(seen.in_row("pmda_meter.test_temperature", "app:1::-"), None);
    assert_eq!(seen.in_row("pmda_meter.test_bytes", "app:1::-"), Some(6000.0));

    let (mut runtime, mut seen) = (self::counters(), recorded());
    replay("meters-runtime-9", &mut runtime, &mut seen);
    for level in ["thread_count", "queue_length"] {
        let path = format!("system_runtime.dotnet_thread_pool_{level}");
        assert_eq!(seen.spec(&path).sem, Semantics::Instant, "{path}");
    }
}

#[test]
fn limits_and_other_sessions_are_reported() {
    let (mut counters, mut seen) = (counters(), recorded());
    let end = replay("meters-limit-9", &mut counters, &mut seen);
    assert_eq!(seen.value(m::METER_LIMITED), Some(Value::U32(1)));
    let later = end + Duration::from_secs(20);
    assert!(!counters.asks_again(end) && counters.asks_again(later));
    let texts: Vec<_> = std::iter::from_fn(|| counters.report()).map(|r| r.text).collect();
    assert!(texts.iter().any(|text| text.contains("more series")), "{texts:?}");
    let owner = counters.owner().unwrap().to_owned();
    assert!(owner.starts_with("session "), "{owner}");
    assert_eq!(seen.value(m::METER_OWNER), Some(Value::text(&owner)));

    let session = owner.strip_prefix("session ").unwrap();
    let mut same = Counters::default();
    same.start("app:1");
    same.stream(session, "apm-1");
    let mut seen = recorded();
    replay("meters-limit-9", &mut same, &mut seen);
    assert_eq!((same.owner(), seen.value(m::METER_OWNER)), (None, Some(Value::text(""))));
    assert!(!same.asks_again(later), "they are its own");
}

#[test]
fn counters_go_on_in_another_stream() {
    let (mut counters, mut seen) = (counters(), recorded());
    replay("meters-9", &mut counters, &mut seen);
    counters.stream("SHARED", "apm-1");
    replay("meters-9", &mut counters, &mut seen);
    let odd = "app:1::route=/odd,=x,status=500";
    assert_eq!(seen.in_row("pmda_meter.test_requests", odd), Some(152.0));
    // It is observed: the program's own sum began anew.
    assert_eq!(seen.in_row("pmda_meter.test_duration.count", "app:1::route=/a"), Some(302.0));
    assert!(counters.heap_size() < 32 << 10, "{}", counters.heap_size());
}

/// A type of events `EventCounters` and payloads of it.
mod made {
    use std::sync::Arc;

    use crate::sources::dotnet::wire::nettrace::{Event, EventType, Field, FieldType};

    fn field(name: &str, kind: FieldType) -> Field {
        Field { name: name.into(), kind }
    }

    pub(super) fn mean() -> EventType {
        let fields = vec![
            field("Name", FieldType::Text),
            field("Mean", FieldType::F64),
            field("Count", FieldType::I32),
            field("Min", FieldType::F64),
            field("Max", FieldType::F64),
            field("IntervalSec", FieldType::F32),
        ];
        let payload = vec![field("Payload", FieldType::Object(fields))];
        EventType {
            index: 0,
            provider: Arc::from("P"),
            id: 1,
            version: 0,
            level: 0,
            keywords: 0,
            name: "EventCounters".into(),
            opcode: 0,
            fields: vec![field("", FieldType::Object(payload))],
            complete: true,
        }
    }

    pub(super) fn payload(name: &str, mean: f64, count: i32, interval: f32) -> Vec<u8> {
        let mut out: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        out.extend(mean.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend([mean - 1.0, mean + 1.0].into_iter().flat_map(f64::to_le_bytes));
        out.extend(interval.to_le_bytes());
        out
    }

    pub(super) fn event<'a>(event_type: &'a EventType, payload: &'a [u8]) -> Event<'a> {
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
}

#[test]
fn a_process_has_so_many_counters_and_the_rest_is_counted() {
    let (mut counters, mut seen) = (counters(), recorded());
    let (mean, mut meter) = (made::mean(), Meter::new(Settings::default()));
    for round in 0..3 {
        for n in 0..limits::EVENT_COUNTERS + 500 {
            let payload = made::payload(&format!("c{n}"), 5.0, 1, 1.0);
            let now = Duration::from_secs(round);
            assert!(counters.event(now, &made::event(&mean, &payload), &mut meter, &mut seen));
        }
    }
    assert_eq!((seen.log().specs.len(), seen.log().unshown), (limits::DYNAMIC_METRICS, 500));
    assert!(counters.heap_size() < 1 << 20, "{}", counters.heap_size());
    let payload = made::payload("c0", 5.0, 1, 1.0);
    for end in 0..payload.len() {
        let event = made::event(&mean, &payload[..end]);
        counters.event(Duration::ZERO, &event, &mut meter, &mut seen);
    }
}

#[test]
fn means_end_doubles_are_not_means_and_what_was_not_measured_has_no_value() {
    let (mut counters, mut seen) = (counters(), recorded());
    let (mean, mut meter) = (made::mean(), Meter::new(Settings::default()));
    let mut report = |at: f64, value: f64, count: i32, interval: f32, seen: &mut Recorded| {
        let payload = made::payload("c", value, count, interval);
        let at = Duration::from_secs_f64(at);
        counters.event(at, &made::event(&mean, &payload), &mut meter, seen);
        counters.tick(at, seen);
    };
    report(1.0, 5.0, 1, 1.0, &mut seen);
    let path = |seen: &Recorded, ending: &str| seen.own(&format!("c_p.c_c{ending}"));
    assert_eq!((path(&seen, ""), path(&seen, "_count")), (Some(5.0), None), "it is just polled");
    report(2.0, 7.0, 3, 1.0, &mut seen);
    assert_eq!(path(&seen, "_count"), Some(4.0), "values before count as well");
    assert_eq!((path(&seen, "_min"), path(&seen, "_max")), (Some(6.0), Some(8.0)));
    report(2.01, 100.0, 1, 0.01, &mut seen);
    assert_eq!((path(&seen, ""), path(&seen, "_count")), (Some(7.0), Some(5.0)));
    report(3.0, 0.0, 0, 1.0, &mut seen);
    assert_eq!(
        (path(&seen, ""), path(&seen, "_min"), path(&seen, "_count")),
        (None, None, Some(5.0))
    );
    report(4.0, 1.0, 1, 1.0, &mut seen);
    assert_eq!(path(&seen, ""), Some(1.0));
    // A day later, with reports of another tool's shorter interval in between.
    for n in 0..100 {
        report(5.0 + f64::from(n) / 20.0, 2.0, 1, 0.05, &mut seen);
    }
    assert_eq!(path(&seen, ""), Some(2.0));
    report(86_400.0, f64::NAN, 1, 1.0, &mut seen);
    assert_eq!((path(&seen, ""), path(&seen, "_count")), (None, Some(106.0 + 1.0)));
}
