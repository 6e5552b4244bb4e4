//! Every captured session of a Java profiler agent, whole, byte by byte and cut at many positions:
//! the records and replies are the same, and those of an independent decoder
//! (qa/corpus/profiler/expected.json).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    missing_docs,
    unreachable_pub,
    reason = "a test"
)]

use std::io::Write;

use flate2::Compression;
use pmdaapm::sources::profiler::{Settings, StreamKind};
use proptest::prelude::*;
use serde_json::{Value, json};
use test_kit::profiler::{Transcript, corpus, play, read, script, shared, talk};

const SESSIONS: [&str; 12] = [
    "adv.duplex",
    "badver.duplex",
    "black.duplex",
    "disp.duplex",
    "err-1.duplex",
    "err-2.duplex",
    "gen-head.duplex.gz",
    "load.duplex",
    "parser.test.protocol.gz",
    "refuse.duplex",
    "rotsize.duplex",
    "v3.duplex",
];

const ROTATING: Settings =
    Settings { version: 100_605, rotation_period_ms: 3_600_000, rotation_size: 2 << 20 };

/// The requests of a captured agent.
fn requests(name: &str) -> Vec<u8> {
    play(&script(&read(&corpus().join(name))), ROTATING).0
}

fn expected() -> Value {
    serde_json::from_slice(&read(&corpus().join("expected.json"))).unwrap()
}

/// Compares the transcript of a session with the independent decoder: all sums of all files, and
/// all their records. Returns the count of numbers compared.
fn compare(name: &str, transcript: &Transcript, session: &Value) -> u64 {
    let mut compared = 0;
    let hello = &session["hello"];
    let hello_seen = transcript.hello.as_ref().unwrap();
    assert_eq!(Some(hello_seen.0.unwrap()), hello["client_version"].as_u64());
    assert_eq!(
        [&hello_seen.1, &hello_seen.2, &hello_seen.3].map(|s| json!(s)),
        ["namespace", "service", "pod"].map(|k| hello[k].clone())
    );
    let streams = session["streams"].as_array().unwrap();
    for stream in streams {
        let file = format!("{}.{}", stream["name"].as_str().unwrap(), stream["seq"]);
        let (records, sums) =
            transcript.files.get(&file).unwrap_or_else(|| panic!("{name}: no {file}"));
        let content = &stream["content"];
        for (what, n) in sums {
            let want = if content.get(*what).is_some() && *what != "bytes" {
                &content[*what]
            } else {
                &stream[*what]
            };
            assert_eq!(n, want, "{name} {file} {what}");
            compared += 1;
        }
        if let Some(want) = stream.get("records") {
            assert_eq!(
                json!({"lines": records.lines, "crc32": records.crc32()}),
                *want,
                "{name} {file}"
            );
            compared += 2;
        }
        let torn = content
            .get("torn_tail")
            .or(content.get("unread_tail"))
            .and_then(Value::as_u64)
            .unwrap_or(0)
            > 0;
        assert_eq!(transcript.torn.contains(&file), torn, "{name} {file}");
    }
    assert_eq!(
        transcript.flushes,
        session["commands"]["REQUEST_ACK_FLUSH"].as_u64().unwrap_or(0),
        "{name}"
    );
    assert_eq!(transcript.closed, Some(session["commands"].get("CLOSE").is_some()), "{name}");
    assert_eq!(transcript.corrupt, Vec::<String>::new(), "{name}");
    compared
}

#[test]
fn the_independent_decoder_agrees() {
    let expected = expected();
    assert_eq!(expected.as_object().unwrap().keys().collect::<Vec<_>>(), SESSIONS);
    let mut compared = 0;
    for name in SESSIONS {
        let mut transcript = Transcript::default();
        let (_, end, _) = talk(ROTATING, [&requests(name)[..]], &mut transcript);
        assert_eq!(end, Ok(()), "{name}");
        compared += compare(name, &transcript, &expected[name]);
    }
    assert!(compared > 600, "only {compared} numbers compared");
}

#[test]
#[ignore = "reads ../shared/data/profiler"]
fn the_independent_decoder_agrees_on_large_captures() {
    let facts: Value = serde_json::from_slice(&read(&shared().join("facts.json"))).unwrap();
    let (mut seen, mut absent) = (0, Vec::new());
    for (path, facts) in facts.as_object().unwrap() {
        let Some(session) = facts.get("session") else { continue };
        let file = shared().join(path);
        if !file.exists() {
            absent.push(path);
            continue;
        }
        let requests = play(&script(&read(&file)), ROTATING).0;
        let mut transcript = Transcript::default();
        assert_eq!(talk(ROTATING, [&requests[..]], &mut transcript).1, Ok(()), "{path}");
        compare(path, &transcript, session);
        seen += 1;
    }
    println!("{seen} captures; not on this machine: {absent:?}");
    assert!(seen >= 12, "{seen}");
}

#[test]
fn figures_of_the_specification() {
    let of = |name| {
        let mut transcript = Transcript::default();
        let (_, _, connection) = talk(ROTATING, [&requests(name)[..]], &mut transcript);
        (transcript, connection)
    };
    let (test_service, connection) = of("parser.test.protocol.gz");
    let sum = |file: &str, what: &str| test_service.files[file].1[what].as_u64().unwrap();
    assert_eq!((sum("suspend.0", "records"), sum("suspend.0", "total_ms")), (504, 38_546));
    assert_eq!((sum("calls.0", "calls"), sum("calls.0", "sum_duration_ms")), (45, 115_584));
    assert_eq!((test_service.words, test_service.late), (942, 0));
    assert_eq!(connection.streams().dictionary().len(), 942);
    // One line of the log in 3 has a pause; INDEX: Serial collector, 49 pauses.
    assert_eq!((test_service.gc.len(), &*test_service.gc[0].1), (49, "Young (Allocation Failure)"));
    assert_eq!(
        test_service.gc[0],
        (0, "Young (Allocation Failure)".into(), 105_563_000, Some(1_690_201_585_553))
    );
    let chunks: Vec<_> = connection
        .streams()
        .all()
        .iter()
        .map(|s| (s.kind(), s.counts().chunks, s.counts().bytes))
        .collect();
    let want = [
        (StreamKind::Trace, 57, 44_290),
        (StreamKind::Calls, 34, 28_874),
        (StreamKind::Xml, 9, 7541),
        (StreamKind::Sql, 4, 1825),
        (StreamKind::Dictionary, 375, 331_255),
        (StreamKind::Suspend, 19, 1275),
        (StreamKind::Gc, 30, 17_246),
        (StreamKind::Params, 5, 3704),
    ];
    assert_eq!(chunks, want);
    // 91 of 256 calls precede their words; 80 of 182 in rotsize, whose calls refer to two files of
    // the trace each.
    assert_eq!(of("load.duplex").0.late, 91);
    let (rotsize, connection) = of("rotsize.duplex");
    assert_eq!(rotsize.late, 80);
    let rotations: Vec<_> =
        connection.streams().all().iter().map(|s| (s.name(), s.counts().rotations)).collect();
    assert_eq!(rotations[..3], [("trace", 3), ("calls", 3), ("xml", 0)]);
    assert_eq!(of("err-1.duplex").0.torn, ["calls.0"]);
    let adv = of("adv.duplex").1;
    let words = adv.streams().dictionary();
    assert_eq!(words.get(53).map(|w| &**w), Some(""));
    assert_eq!(
        (0..59).filter(|id| words.get(*id).unwrap().chars().any(|c| c > '\u{ffff}')).count(),
        2
    );
}

#[test]
fn every_reply_is_the_agents_due() {
    for name in SESSIONS {
        let (requests, replies) = play(&script(&read(&corpus().join(name))), ROTATING);
        let mut transcript = Transcript::default();
        let (whole, ..) = talk(ROTATING, [&requests[..]], &mut transcript);
        assert!(whole == replies, "{name}: replies in one piece");
    }
}

/// Positions to cut at: near the ends of commands, where errors are most likely, and many others.
fn cuts(length: usize, budget: usize) -> impl Iterator<Item = usize> {
    let step = (length * length / budget / 2).max(1);
    (0..length).filter(move |n| *n < 2048.min(budget / length) || n % step == step / 2)
}

#[test]
fn pieces_make_no_difference() {
    let check = |name: &str| {
        let requests = requests(name);
        let run = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut transcript = Transcript::default();
            let (replies, end, _) = talk(ROTATING, pieces, &mut transcript);
            (transcript.digest(), replies, end)
        };
        let whole = run(&mut [&requests[..]].into_iter());
        for piece in [1, 3, 1460] {
            assert!(run(&mut requests.chunks(piece)) == whole, "{name} in pieces of {piece}");
        }
        let mut tried = 0;
        for cut in cuts(requests.len(), 2 << 20) {
            let (head, tail) = requests.split_at(cut);
            assert!(run(&mut [head, tail].into_iter()) == whole, "{name} cut at {cut}");
            tried += 1;
        }
        println!("{name}: {} bytes, {tried} cuts", requests.len());
        assert!(tried >= 2, "{name}");
    };
    std::thread::scope(|threads| {
        for name in SESSIONS {
            threads.spawn(move || check(name));
        }
    });
}

#[test]
fn gzip_is_told_by_its_first_bytes() {
    // The requests of an agent with compression, and the same ones without: all commands are equal.
    let plain = read(&corpus().join("gzip.c2s.plain"));
    let packed = std::fs::read(corpus().join("gzip.c2s.gz-raw")).unwrap();
    let run = |bytes: &[u8], piece: usize| {
        let mut transcript = Transcript::default();
        let (replies, end, connection) = talk(ROTATING, bytes.chunks(piece), &mut transcript);
        (
            transcript.digest(),
            replies,
            end,
            connection.dialogue().consumed(),
            connection.dialogue().is_gzip(),
        )
    };
    let want = run(&plain, plain.len());
    // The handles belong to another collector, so the session ends with the first data.
    assert!(want.2.is_err() && !want.4 && want.3 > 100, "{:?}", want.2);
    let got = run(&packed, packed.len());
    assert!(
        got.4 && (&got.0, &got.1, &got.2, got.3) == (&want.0, &want.1, &want.2, want.3),
        "{:?} {:?}",
        got.2,
        want.2
    );

    // Sessions to the end, packed as an agent does: one member, flushed now and then.
    for name in ["load.duplex", "rotsize.duplex", "parser.test.protocol.gz"] {
        let requests = requests(name);
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
        for part in requests.chunks(3000) {
            packer.write_all(part).unwrap();
            packer.flush().unwrap();
        }
        let open_end = packer.get_ref().clone();
        let whole = run(&requests, requests.len());
        for packed in [open_end, packer.finish().unwrap()] {
            for piece in [1, 7, 1000, packed.len()] {
                let got = run(&packed, piece);
                assert!(
                    got.4
                        && (&got.0, &got.1, &got.2, got.3)
                            == (&whole.0, &whole.1, &whole.2, whole.3),
                    "{name} by {piece}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Damaged sessions in random pieces never panic, and have the records of the whole session.
    #[test]
    fn damage_does_none(
        file in prop::sample::select(vec!["adv.duplex", "err-1.duplex", "rotsize.duplex", "v3.duplex"]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let (mut bytes, _) = play(&script(&read(&corpus().join(file))), ROTATING);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let run = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut transcript = Transcript::default();
            let (replies, end, _) = talk(ROTATING, pieces, &mut transcript);
            (transcript.digest(), replies, end)
        };
        let whole = run(&mut [&bytes[..]].into_iter());
        let mut at: Vec<usize> = cuts.iter().map(|c| c.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        prop_assert!(run(&mut at.windows(2).map(|w| &bytes[w[0]..w[1]])) == whole);
    }
}
