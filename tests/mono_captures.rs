//! Every capture and vector of the counters-agent protocol: whole, byte by byte and cut at every
//! position the session reports the same updates, and these are what an independent decoder found
//! (qa/corpus/mono/expected.json).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs,
    reason = "a test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::BytesMut;
use pmdaapm::contract::{Recorded, SampleValue, Session, SessionError};
use pmdaapm::model::{Now, Stamp, Value};
use pmdaapm::sources::Source;
use pmdaapm::sources::mono::{Inspector, Mono, Origin, Settings};
use proptest::prelude::*;

/// The updates of a session, in a form that can be compared.
#[derive(Clone, Debug, Default, PartialEq)]
struct Told {
    lines: Vec<String>,
    keys: BTreeMap<u32, String>,
    last: BTreeMap<String, SampleValue>,
    samples: Vec<Vec<(u32, SampleValue)>>,
    skews: Vec<i64>,
    messages: u64,
    identities: usize,
    dialect: String,
}

impl Told {
    fn of(seen: &Recorded) -> Self {
        let log = seen.log();
        let identity = log.lines.iter().position(|line| line.starts_with("identity "));
        let first = log
            .lines
            .iter()
            .position(|line| ["define ", "sample "].into_iter().any(|kind| line.starts_with(kind)));
        assert!(first.is_none() || identity.is_some_and(|at| Some(at) < first), "{:?}", log.lines);
        // The whole descriptions are made from these lines.
        let specs = log.specs.values().map(|spec| spec.persist.clone());
        let keys: BTreeMap<_, _> =
            log.specs.iter().map(|(slot, spec)| (*slot, spec.key.clone())).collect();
        let last = log.samples.iter().flatten();
        let last = last.map(|(slot, value)| (keys[slot].clone(), value.clone())).collect();
        let text = |line: &String| {
            let (_, text) = line.strip_prefix("set ")?.split_once(" Text(\"")?;
            Some(text.strip_suffix("\")")?.to_owned())
        };
        let number = |line: &String| {
            let (_, number) = line.strip_prefix("set ")?.split_once(" I64(")?;
            number.strip_suffix(')')?.parse().ok()
        };
        Self {
            lines: log.lines.iter().cloned().chain(specs).collect(),
            last,
            samples: log.samples.clone(),
            skews: log.lines.iter().filter_map(number).collect(),
            messages: log.messages,
            identities: log.identities.len(),
            dialect: log.lines.iter().rev().find_map(text).unwrap_or_default(),
            keys,
        }
    }
}

fn recorded() -> Recorded {
    Recorded::new(&Mono::TABLE).with_lines()
}

const NOW: Now =
    Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, monotonic: Duration::from_secs(100) };

/// Feeds the pieces; returns the updates, the sent bytes and the result.
fn talk<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Told, Vec<u8>, Result<(), SessionError>) {
    talk_with(Settings::default(), pieces)
}

fn talk_with<'a>(
    settings: Settings,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Told, Vec<u8>, Result<(), SessionError>) {
    let peer = Origin { address: "file:/x".into(), fallback: "x".into(), ..Origin::default() };
    let mut session = Inspector::new(peer, settings);
    let (mut told, mut input, mut out) = (recorded(), BytesMut::new(), BytesMut::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        if let Err(e) = session.feed(NOW, &mut input, &mut out, &mut told) {
            return (Told::of(&told), out.to_vec(), Err(e));
        }
    }
    (Told::of(&told), out.to_vec(), Ok(()))
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/mono")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(corpus().join(name)).unwrap()
}

/// Streams from an agent: all files but the requests.
fn streams() -> Vec<(String, Vec<u8>)> {
    let names =
        std::fs::read_dir(corpus()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter(|n| n.ends_with(".bin") && !n.starts_with("v-req") && !n.starts_with("v-probe"))
        .collect();
    names.sort();
    assert!(names.len() >= 22, "where is the corpus?");
    names.into_iter().map(|n| (n.clone(), read(&n))).collect()
}

#[test]
fn pieces_make_no_difference() {
    let check = |name: String, bytes: Vec<u8>| {
        let whole = talk([&bytes[..]]);
        assert_eq!(talk(bytes.chunks(1)), whole, "{name} byte by byte");
        // Each cut reads the stream again: every position of the first 4 KiB, then one in 61.
        let cuts = (0..bytes.len()).filter(|n| *n < 4096 || n % 61 == 0);
        for cut in cuts {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(talk([head, tail]), whole, "{name} cut at {cut}");
        }
    };
    std::thread::scope(|threads| {
        for (name, bytes) in streams() {
            threads.spawn(move || check(name, bytes));
        }
    });
}

/// The time of a sample by the independent decoder, in nanoseconds since 1970; dialect A has
/// another clock.
fn sent(time: &serde_json::Value) -> i128 {
    (i128::from(time.as_i64().unwrap()) - 116_444_736_000_000_000) * 100
}

#[test]
fn the_independent_decoder_agrees() {
    let expected: serde_json::Value = serde_json::from_slice(&read("expected.json")).unwrap();
    let mut compared = 0;
    for (name, file) in expected.as_object().unwrap() {
        let (told, _, end) = talk([&read(name)[..]]);
        assert_eq!(end, Ok(()), "{name}");
        let (samples, counters) =
            (file["samples"].as_array().unwrap(), file["counters"].as_array().unwrap());
        if samples.is_empty() && counters.is_empty() {
            // A Hello without counters cannot be distinguished from other dialects before a
            // sample or a time-out.
            continue;
        }
        assert_eq!(Some(told.messages), file["messages"].as_u64(), "{name}");
        let order = if file["endian"] == "le" { "little-endian" } else { "big-endian" };
        assert!(told.dialect.ends_with(order), "{name} {}", told.dialect);
        let by_index: BTreeMap<u64, &serde_json::Value> =
            counters.iter().map(|c| (c[0].as_u64().unwrap(), c)).collect();
        let word = |index: u64, field: usize| by_index[&index][field].as_str().unwrap();
        let keys: BTreeMap<u32, String> = by_index
            .keys()
            .map(|i| (*i as u32, format!("{}/{}", word(*i, 1), word(*i, 2))))
            .collect();
        assert_eq!(told.keys, keys, "{name}");

        let skews: Vec<i128> = samples.iter().map(|s| NOW.wall.as_nanos() - sent(&s[0])).collect();
        let told_skews: Vec<i128> = told.skews.iter().map(|skew| i128::from(*skew)).collect();
        assert_eq!(told_skews, if file["dialect"] == "A" { vec![] } else { skews }, "{name}");
        assert_eq!(told.samples.len(), samples.len(), "{name}");
        for (n, (found, sample)) in told.samples.iter().zip(samples).enumerate() {
            let found: Vec<_> =
                found.iter().map(|(slot, value)| (u64::from(*slot), comparable(value))).collect();
            let values = sample.as_array().unwrap().iter().skip(1);
            let want: Vec<_> = values
                .map(|v| (v[0].as_u64().unwrap(), &v[1]))
                .map(|(i, raw)| (i, mapped(raw, word(i, 3), word(i, 4), word(i, 5))))
                .collect();
            assert_eq!(found, want, "{name}, sample {n}");
            compared += want.len();
        }
    }
    assert!(compared > 2900, "only {compared} values compared");
}

#[test]
fn facts_of_the_captures() {
    let told = |name| talk([&read(name)[..]]).0;
    // INDEX: first and last samples of the capture with three counters.
    let three = told("a-hello3-20samples.a2i.bin");
    let first = [
        (0, SampleValue::Wrapping32(0)),
        (1, SampleValue::Wrapping32(4)),
        (2, Value::I64(11_137_024).into()),
    ];
    assert_eq!(three.samples[0], first);
    assert_eq!(three.last["GC/Minor GC collections"], SampleValue::Wrapping32(593));
    assert_eq!(three.samples.iter().filter(|s| s.iter().any(|(slot, _)| *slot == 1)).count(), 4);
    // 23 276 582 ticks of 100 ns are 2.33 seconds.
    assert_eq!(told("c-file-12counters.bin").last["GC/Minor GC time"], Value::U64(2_327_658_200));
    let all = told("v-note-alltypes-be.bin");
    assert_eq!(all.last["JIT/JIT time (µs)"], Value::U64(1_500_000));
    assert_eq!(all.last["Runtime/Version"], Value::text("6.8.0.105"));
    assert_eq!(all.last["GC/ulong time"], Value::U64(u64::MAX), "2^63+5 ticks saturate");
    for (name, dialect) in [
        ("v-note-alltypes-le.bin", "note little-endian"),
        ("v-srcA-be.bin", "2014-A big-endian"),
        ("v-srcB-le.bin", "2014-B little-endian"),
        ("v-srcC-le.bin", "2014-C little-endian"),
    ] {
        assert_eq!(told(name).dialect, dialect);
    }
    assert_eq!(told("v-edge-32bit-word-le.bin").last["GC/Memgov alloc"], Value::I64(21_495_808));
}

#[test]
fn a_hello_without_counters_or_samples_is_taken_after_a_while() {
    let mut session =
        Inspector::new(Origin { fallback: "x".into(), ..Origin::default() }, Settings::default());
    let (mut told, mut out) = (recorded(), BytesMut::new());
    let mut input = BytesMut::from(&read("v-edge-empty-hello-le.bin")[..]);
    assert_eq!(session.feed(NOW, &mut input, &mut out, &mut told), Ok(()));
    assert!(!session.established());
    let later = Now { monotonic: NOW.monotonic + Duration::from_secs(11), ..NOW };
    assert_eq!(session.tick(later, &mut out, &mut told), Ok(()));
    assert!(session.established());
    assert_eq!(
        {
            let told = Told::of(&told);
            (told.identities, told.messages, told.dialect)
        },
        (1, 1, "note little-endian".to_owned())
    );
    // Its samples have no time limit.
    input.extend_from_slice(&read("f-empty-hello.a2i.bin")[5..]);
    assert_eq!(session.feed(later, &mut input, &mut out, &mut told), Ok(()));
    assert_eq!((told.log().samples.len(), input.len()), (3, 0));
}

/// Section 8 of the specification, by the words of the independent decoder: the value in the unit
/// of the metric.
fn mapped(raw: &serde_json::Value, ty: &str, unit: &str, variance: &str) -> String {
    let scale = match (ty, unit) {
        ("time_interval", _) => 1000,
        ("long" | "ulong", "time") => 100,
        _ => 1,
    };
    let whole = raw.as_i64().map(i128::from).or(raw.as_u64().map(i128::from));
    match (ty, whole) {
        ("string", _) => raw.as_str().unwrap().into(),
        ("double", _) => format!("{:?}", raw.as_f64().unwrap()),
        // The bits of a counter of 32 bits, since it wraps.
        ("int" | "uint", Some(v)) if variance == "monotonic" => (v as u32).to_string(),
        (_, Some(v)) if variance == "monotonic" => {
            (v.max(0) * scale).min(u64::MAX.into()).to_string()
        }
        (_, Some(v)) => (v * scale).to_string(),
        (_, None) => panic!("{raw} as {ty}"),
    }
}

fn comparable(value: &SampleValue) -> String {
    match value {
        SampleValue::Wrapping32(v) => v.to_string(),
        SampleValue::Value(value) => match value {
            Value::I32(v) => v.to_string(),
            Value::U32(v) => v.to_string(),
            Value::I64(v) => v.to_string(),
            Value::U64(v) => v.to_string(),
            Value::F32(v) => format!("{v:?}"),
            Value::F64(v) => format!("{v:?}"),
            Value::Text(v) => v.to_string(),
            _ => panic!("{value:?}"),
        },
    }
}

#[test]
fn what_must_be_rejected_is() {
    for name in ["bad-index", "bad-size", "huge-string", "bad-utf8"] {
        let (_, out, end) = talk([&read(&format!("v-edge-{name}-le.bin"))[..]]);
        assert!(
            matches!(end, Err(SessionError::Malformed { .. } | SessionError::Limit { .. })),
            "{name}: {end:?}"
        );
        assert!(out.is_empty());
    }
    let (_, _, end) = talk([&read("v-edge-http.bin")[..]]);
    assert!(matches!(end, Err(SessionError::Malformed { .. })), "{end:?}");
}

#[test]
fn a_version_that_nobody_speaks_is_not_waited_for() {
    let mut session = Inspector::new(Origin::default(), Settings::default());
    let (mut told, mut out) = (recorded(), BytesMut::new());
    let mut input = BytesMut::from(&read("v-edge-version2-le.bin")[..]);
    let fed = session.feed(NOW, &mut input, &mut out, &mut told);
    let later = Now { monotonic: NOW.monotonic + Duration::from_secs(11), ..NOW };
    let end = fed.and_then(|()| session.tick(later, &mut out, &mut told));
    assert!(end.is_err() && told.identity().is_none(), "{end:?}");
}

#[test]
fn unknown_numbers_cost_nothing_but_a_name() {
    let (told, _, end) = talk([&read("v-edge-unknown-enum-le.bin")[..]]);
    assert_eq!(end, Ok(()));
    assert_eq!(told.samples.iter().map(Vec::len).collect::<Vec<_>>(), [3]);
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
    // Counters beyond limits.names are not kept: by default there are 4096.
    let kept = talk([&bytes[..]]);
    assert_eq!((kept.0.samples.len(), kept.0.samples[0].len(), &kept.2), (1, 4096, &Ok(())));
    let all = || Settings { names: 32_767, ..Settings::default() };
    let whole = talk_with(all(), [&bytes[..]]);
    assert_eq!((whole.0.samples.len(), whole.0.samples[0].len(), &whole.2), (1, 32_767, &Ok(())));
    // Byte by byte the run time must not grow with the square of the length.
    assert_eq!(talk_with(all(), bytes.chunks(1)), whole);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Damaged streams in random pieces never panic, give the same as whole, and have the identity
    /// at most once and first.
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
