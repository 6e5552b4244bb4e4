//! Every capture and vector of the counters-agent protocol: whole, byte by byte and cut at every position the session tells
//! the same, and it is what an independent decoder found (qa/corpus/mono/expected.json).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs,
    reason = "a test"
)]

use bytes::BytesMut;
use pmdaapm::model::{Now, Stamp, Update, Value};
use pmdaapm::sources::mono::{Inspector, Peer, Settings};
use pmdaapm::sources::{Session, SessionError, Sink};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a session told, in a form that can be compared.
#[derive(Clone, Debug, Default, PartialEq)]
struct Told {
    lines: Vec<String>,
    keys: BTreeMap<u32, String>,
    last: BTreeMap<String, Value>,
    sizes: Vec<usize>,
    identities: usize,
    dialect: String,
}

impl Sink for Told {
    fn update(&mut self, update: Update<'_>) {
        self.lines.push(format!("{update:?}"));
        match update {
            Update::Identity(_) => self.identities += 1,
            Update::Define { slot, spec } => {
                assert_eq!(self.identities, 1, "a metric before the identity");
                assert!(self.keys.insert(slot, spec.key.clone()).is_none(), "slot {slot} defined twice");
            }
            Update::Set { value: Value::Text(text), .. } => self.dialect = text.into(),
            Update::Sample { values, .. } => {
                assert_eq!(self.identities, 1, "a sample before the identity");
                self.sizes.push(values.len());
                for (slot, value) in values {
                    self.last.insert(self.keys[slot].clone(), value.clone());
                }
            }
            _ => {}
        }
    }
}

const NOW: Now = Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, mono: Duration::from_secs(100) };

/// Feeds the pieces; what was told, what was sent, how it ended.
fn talk<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Told, Vec<u8>, Result<(), SessionError>) {
    let peer = Peer { address: "file:/x".into(), fallback: "x".into(), ..Peer::default() };
    let mut session = Inspector::new(peer, Settings::default());
    let (mut told, mut input, mut out) = (Told::default(), BytesMut::new(), BytesMut::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        if let Err(e) = session.feed(NOW, &mut input, &mut out, &mut told) {
            return (told, out.to_vec(), Err(e));
        }
    }
    (told, out.to_vec(), Ok(()))
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/mono")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(corpus().join(name)).unwrap()
}

/// Streams from an agent: all files but the requests.
fn streams() -> Vec<(String, Vec<u8>)> {
    let names = std::fs::read_dir(corpus()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> =
        names.filter(|n| n.ends_with(".bin") && !n.starts_with("v-req") && !n.starts_with("v-probe")).collect();
    names.sort();
    assert!(names.len() >= 22, "where is the corpus?");
    names.into_iter().map(|n| (n.clone(), read(&n))).collect()
}

#[test]
fn pieces_make_no_difference() {
    for (name, bytes) in streams() {
        let whole = talk([&bytes[..]]);
        assert_eq!(talk(bytes.chunks(1)), whole, "{name} byte by byte");
        // Each cut reads the stream again: every position of the first kilobytes, then one in 61.
        let cuts = (0..bytes.len()).filter(|n| *n < 2048 || n % 61 == 0);
        for cut in cuts {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(talk([head, tail]), whole, "{name} cut at {cut}");
        }
    }
}

#[test]
fn the_independent_decoder_agrees() {
    let expected: serde_json::Value = serde_json::from_slice(&read("expected.json")).unwrap();
    let mut compared = 0;
    for (name, file) in expected.as_object().unwrap() {
        if name.starts_with("v-edge-version2") {
            continue;
        }
        let (told, _, end) = talk([&read(name)[..]]);
        assert_eq!(end, Ok(()), "{name}");
        let sizes: Vec<usize> = file["values"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
        assert_eq!(told.sizes, sizes, "{name}");
        let order = if file["endian"] == "le" { "little" } else { "big" };
        assert!(told.dialect.is_empty() || told.dialect.contains(order), "{name} {}", told.dialect);
        for counter in file["counters"].as_array().unwrap() {
            let text = |field: &str| counter[field].as_str().unwrap();
            let key = format!("{}/{}", text("category"), text("name"));
            let found = told.last.get(&key);
            let want = mapped(&counter["final"], text("type"), text("unit"), text("variance"));
            assert_eq!(found.map(comparable), want, "{name} {key}");
            compared += 1;
        }
    }
    assert!(compared > 400, "only {compared} counters compared");
}

/// Section 8 of the specification, by the words of the independent decoder: the value in the unit of the metric.
fn mapped(raw: &serde_json::Value, ty: &str, unit: &str, variance: &str) -> Option<String> {
    if raw.is_null() {
        return None;
    }
    let scale = match (ty, unit) {
        ("time_interval", _) => 1000,
        ("long" | "ulong", "time") => 100,
        _ => 1,
    };
    let whole = raw.as_i64().map(i128::from).or(raw.as_u64().map(i128::from));
    Some(match (ty, whole) {
        ("string", _) => raw.as_str().unwrap().into(),
        ("double", _) => format!("{:?}", raw.as_f64().unwrap()),
        // The bits of a counter of 32 bits, since it wraps.
        ("int" | "uint", Some(v)) if variance == "monotonic" => (v as u32).to_string(),
        (_, Some(v)) if variance == "monotonic" => (v.max(0) * scale).min(u64::MAX.into()).to_string(),
        (_, Some(v)) => (v * scale).to_string(),
        (_, None) => panic!("{raw} as {ty}"),
    })
}

fn comparable(value: &Value) -> String {
    match value {
        Value::I32(v) => v.to_string(),
        Value::U32(v) | Value::Wrapping32(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::F32(v) => format!("{v:?}"),
        Value::F64(v) => format!("{v:?}"),
        Value::Text(v) => v.to_string(),
    }
}

#[test]
fn what_must_be_rejected_is() {
    for name in ["bad-index", "bad-size", "huge-string", "bad-utf8"] {
        let (_, out, end) = talk([&read(&format!("v-edge-{name}-le.bin"))[..]]);
        assert!(matches!(end, Err(SessionError::Malformed { .. } | SessionError::Limit { .. })), "{name}: {end:?}");
        assert!(out.is_empty());
    }
    let (_, _, end) = talk([&read("v-edge-http.bin")[..]]);
    assert!(matches!(end, Err(SessionError::Malformed { .. })), "{end:?}");
}

#[test]
fn a_version_that_nobody_speaks_is_not_waited_for() {
    let mut session = Inspector::new(Peer::default(), Settings::default());
    let (mut told, mut out) = (Told::default(), BytesMut::new());
    let mut input = BytesMut::from(&read("v-edge-version2-le.bin")[..]);
    let fed = session.feed(NOW, &mut input, &mut out, &mut told);
    let later = Now { mono: NOW.mono + Duration::from_secs(11), ..NOW };
    let end = fed.and_then(|()| session.tick(later, &mut out, &mut told));
    assert!(end.is_err() && told.identities == 0, "{end:?}");
}

#[test]
fn unknown_numbers_cost_nothing_but_a_name() {
    let (told, _, end) = talk([&read("v-edge-unknown-enum-le.bin")[..]]);
    assert_eq!(end, Ok(()));
    assert_eq!(told.sizes, [3]);
    assert!(told.last.keys().any(|k| k.starts_with("unknown_100000/")), "{:?}", told.last);
}

#[test]
fn the_largest_hello_there_can_be() {
    let string = |s: &str| [&(s.len() as i32).to_le_bytes()[..], s.as_bytes()].concat();
    let mut bytes = vec![0, 1, 0, 0xff, 0x7f];
    for n in 0..32_767i16 {
        bytes.extend(0x200u32.to_le_bytes());
        bytes.extend(string(&format!("counter {n:05}")));
        bytes.extend([0u32.to_le_bytes(), 0u32.to_le_bytes(), (1u32 << 28).to_le_bytes()].concat());
        bytes.extend(n.to_le_bytes());
    }
    bytes.push(4);
    bytes.extend(130_400_000_000_000_000i64.to_le_bytes());
    for n in 0..32_767i16 {
        bytes.extend([n.to_le_bytes(), 4i16.to_le_bytes()].concat());
        bytes.extend(i32::from(n).to_le_bytes());
    }
    bytes.extend((-1i16).to_le_bytes());
    let whole = talk([&bytes[..]]);
    assert_eq!((whole.0.sizes.as_slice(), &whole.2), (&[32_767][..], &Ok(())));
    // Byte by byte it must not take time that grows with the square of its length.
    assert_eq!(talk(bytes.chunks(1)), whole);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Damaged streams in random pieces: never a panic, the same as whole, the identity at most once and first.
    #[test]
    fn damage_does_none(
        file in 0..22usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let mut bytes = streams().swap_remove(file).1;
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let whole = talk([&bytes[..]]);
        let mut at: Vec<usize> = cuts.iter().map(|c| c.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces = at.windows(2).map(|w| &bytes[w[0]..w[1]]);
        prop_assert_eq!(talk(pieces), whole);
    }
}
