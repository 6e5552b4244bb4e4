//! Every capture against the numbers of an independent decoder.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use test_kit::zorka::{Captured, capture, corpus};

use crate::kit::World;

/// The requests of a capture that the recorded collector accepted.
pub fn replay(world: &World, requests: &[Captured]) {
    // Ids of the recorded collector, and ours.
    let mut ids: HashMap<String, String> = HashMap::new();
    let mut open = 0;
    for request in requests.iter().filter(|request| request.status < 300) {
        if open != request.connection {
            world.close(open);
            open = request.connection;
        }
        let headers: Vec<(&str, &str)> = request
            .headers
            .iter()
            .map(|(name, value)| {
                let session = name.eq_ignore_ascii_case("X-Zorka-Session-UUID");
                let key = if session { "session" } else { value };
                (name.as_str(), ids.get(key).unwrap_or(value).as_str())
            })
            .collect();
        let mut body = request.body.clone();
        if request.path.ends_with("/session") {
            let mut json: Value = serde_json::from_slice(&body).unwrap();
            for value in json.as_object_mut().unwrap().values_mut() {
                let ours = ids.get(value.as_str().unwrap()).cloned();
                if let Some(ours) = ours {
                    *value = ours.into();
                }
            }
            body = json.to_string().into_bytes();
        }
        let answer = world.send(open, &request.path, &headers, &body);
        assert_eq!(answer.status, request.status, "{}", request.path);
        let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        // As the recorded collector answered, according to the headers of its agents.
        for (theirs, ours) in [
            ("1", "id"),
            ("00000000-0000-0000-0000-000000000001", "uuid"),
            ("ABCDEFGH", "authkey"),
            ("ABCDEFGHIJKLMNOP", "authkey"),
            ("session", "session"),
        ] {
            match &json[ours] {
                Value::Null => {}
                Value::String(text) => drop(ids.insert(theirs.into(), text.clone())),
                other => drop(ids.insert(theirs.into(), other.to_string())),
            }
        }
    }
    world.wait(1);
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Sums by key, without zeros.
fn sums<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (key, more) in all.filter(|(_, more)| *more > 0) {
        *sums.entry(key.to_owned()).or_default() += more;
    }
    sums
}

fn compare(file: &str, world: &World, expected: &Value) {
    let names = world.names();
    let [agent] = &names[..] else { panic!("{file}: {names:?}") };
    let is = |metric: &str, value: &Value| {
        assert_eq!(world.value(agent, metric), number(value), "{file}: {metric}");
    };
    for endpoint in ["agd", "trc", "register", "session"] {
        is(&format!("request.{endpoint}.count"), &expected["requests"][endpoint]);
        if endpoint != "session" {
            is(&format!("request.{endpoint}.bytes"), &expected["body_bytes"][endpoint]);
        }
    }
    is("trace.count", &expected["requests"]["trc"]);
    is("trace.ids", &expected["trace_ids"]);
    is("definition.symbols", &expected["symbols_received"]);
    is("definition.methods", &expected["methods_received"]);
    is("symbols", &expected["symbols_live"]);
    is("methods", &expected["methods_live"]);
    is("reset.count", &expected["resets"]);
    is("record.received", &expected["records"]);
    is("record.count", &expected["records_once"]);
    is("span.received", &expected["spans_all"]);
    is("unclosed.count", &expected["unclosed"]);
    is("decode_errors", &expected["decode_errors"]);
    is("record.modern", &expected["dialects"]["M"]);
    is("record.legacy", &expected["dialects"]["L"]);
    is("duplicate.count", &Value::Null);
    is("request.rejected", &Value::Null);

    let object = |name: &str| expected[name].as_object().unwrap().clone();
    for (metric, field) in [
        ("type.count", "count"),
        ("type.errors", "errors"),
        ("type.time", "sum_ns"),
        ("type.calls", "calls"),
        ("type.overflow", "overflow"),
    ] {
        let spans = object("spans");
        let keys: Vec<_> = spans.iter().map(|(k, v)| (format!("{agent}::{k}"), v)).collect();
        let of = sums(keys.iter().map(|(k, v)| (k.as_str(), number(&v[field]))));
        let rows = world.rows(metric);
        let rows = sums(rows.iter().map(|(k, n)| (k.as_str(), *n)));
        assert_eq!(rows, of, "{file}: {metric}");
    }
    for (metric, field) in [
        ("method.count", "recs"),
        ("method.errors", "errors"),
        ("method.total_time", "sum_ns"),
        ("method.self_time", "self_ns"),
    ] {
        let methods = object("methods");
        let name = |whole: &'_ str| whole.split('(').next().unwrap_or(whole).to_owned();
        let names: Vec<_> = methods.iter().map(|(k, v)| (name(k), number(&v[field]))).collect();
        let of = sums(names.iter().map(|(k, n)| (k.as_str(), *n)));
        let rows = world.rows(metric);
        assert_eq!(sums(rows.iter().map(|(k, n)| (k.as_str(), *n))), of, "{file}: {metric}");
    }
    for (metric, field) in
        [("exception.class.count", "exceptions_once"), ("exception.class.received", "exceptions")]
    {
        let of = object(field);
        let rows = world.rows(metric);
        let rows = sums(rows.iter().map(|(k, n)| (k.as_str(), *n)));
        assert_eq!(rows, sums(of.iter().map(|(k, n)| (k.as_str(), number(n)))), "{file}: {metric}");
    }
}

#[test]
fn every_capture_has_the_numbers_of_an_independent_decoder() {
    let text = std::fs::read_to_string(corpus().join("expected.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let mut seen = 0;
    for (file, expected) in all.as_object().unwrap() {
        let path = corpus().join(file);
        // Some captures are kept elsewhere.
        if !path.exists() {
            continue;
        }
        seen += 1;
        let world = World::new();
        replay(&world, &capture(&path));
        compare(file, &world, expected);
    }
    assert!(seen >= 14, "{seen} captures");
}
