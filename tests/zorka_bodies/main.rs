//! Every body of qa/corpus/zorka against an independent decoder (events.txt there), whole and cut at
//! every position; every encoding; hostile bodies.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a test")]

use std::time::{Duration, Instant};

use pmdaapm::model::HeapSize;
use pmdaapm::sources::zorka::limits;
use pmdaapm::sources::zorka::wire::{
    Content, Definition, Encoding, ErrorKind, definitions, field, trace, unwrap,
};
use pmdaapm::sources::zorka::wire::{Dialect, FLAG_CLOSED, FLAG_OVERFLOW, NONE, TraceBody};
use test_kit::zorka::{self as kit, corpus};

/// A body of events.txt.
struct Expected {
    name: String,
    content: Content,
    wire: Vec<u8>,
    encoding: &'static str,
    lines: Vec<String>,
    /// The independent decoder gives up.
    fails: bool,
    references: u32,
    unclosed: u32,
}

fn bodies() -> Vec<Expected> {
    let text = std::fs::read_to_string(corpus().join("events.txt")).unwrap();
    let mut all = Vec::<Expected>::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "#" {
            let path = corpus().join(words[1]);
            let wire = if words[1].ends_with(".jsonl") {
                kit::capture(&path)[words[2].parse::<usize>().unwrap()].body.clone()
            } else {
                std::fs::read(path).unwrap()
            };
            let content = if words[3] == "agd" { Content::Definitions } else { Content::Trace };
            let encoding = if words[5] == "base64" { "base64" } else { "raw" };
            all.push(Expected {
                name: format!("{} {}", words[1], words[2]),
                content,
                wire,
                encoding,
                lines: Vec::new(),
                fails: false,
                references: 0,
                unclosed: 0,
            });
            continue;
        }
        let body = all.last_mut().unwrap();
        match words[0] {
            "!" => body.fails = true,
            "." => {
                body.references = words[1].parse().unwrap();
                body.unclosed = words[2].parse().unwrap();
            }
            _ => body.lines.push(line.to_owned()),
        }
    }
    assert!(all.len() > 200, "where have the bodies gone?");
    all
}

/// A negative id is an error here.
fn is_stricter(name: &str) -> bool {
    name.contains("symbol-id-negative")
}

#[test]
fn every_body_is_as_an_independent_decoder_has_it() {
    let mut out = TraceBody::default();
    let (mut records, mut definitions) = (0, 0);
    for expected in bodies().iter().filter(|e| !is_stricter(&e.name)) {
        let Expected { name, content, .. } = expected;
        let Ok(unwrapped) = unwrap(*content, &expected.wire, 1 << 20) else {
            assert!(expected.lines.is_empty(), "{name}");
            continue;
        };
        assert_eq!(unwrapped.encoding.name(), expected.encoding, "{name}");
        let body = &unwrapped.bytes[..];
        let (lines, result) = if *content == Content::Definitions {
            kit::definitions(body)
        } else {
            let result = trace(body, &mut out);
            assert_eq!(out.references, expected.references, "{name}");
            assert_eq!(out.unclosed, expected.unclosed, "{name}");
            records += out.records.len();
            (kit::trace(body, &out), result)
        };
        let unknown = out.unknown > 0 && *content == Content::Trace;
        assert_eq!(result.is_err(), expected.fails && !unknown, "{name}: {result:?}");
        for (line, expected) in lines.iter().zip(&expected.lines) {
            // The independent decoder skips the stack of the note's exceptions.
            if !name.starts_with("synth-note") || !line.starts_with('e') {
                assert_eq!(line, expected, "{name}");
            }
        }
        assert_eq!(lines.len(), expected.lines.len(), "{name}");
        definitions += lines.iter().filter(|l| l.starts_with(['y', 'm'])).count();
    }
    assert!(records > 1_000 && definitions > 800);
}

/// What must hold of every decoded body.
fn check(body: &[u8], out: &TraceBody) {
    let mut children = vec![0_u64; out.records.len()];
    let mut unclosed = 0;
    for (number, record) in out.records.iter().enumerate() {
        if record.parent != NONE {
            assert!((record.parent as usize) < number);
            children[record.parent as usize] += record.duration;
        }
        assert!(record.flags & FLAG_CLOSED != 0 || record.duration == 0);
        unclosed += u32::from(record.flags & FLAG_CLOSED == 0);
        if record.span != NONE {
            assert_eq!(out.spans[record.span as usize].record as usize, number);
        }
    }
    assert_eq!(unclosed, out.unclosed);
    assert!(out.records.iter().map(|r| r.children).eq(children));
    assert!(out.attributes.iter().all(|a| (a.record as usize) < out.records.len()));
    assert!(out.exceptions.iter().all(|e| (e.record as usize) < out.records.len()));
    let slices = out.exceptions.iter().filter_map(|e| e.message);
    assert!(slices.into_iter().all(|s| s.start <= s.end && s.end as usize <= body.len()));
}

#[test]
fn a_cut_body_has_the_same_prefix() {
    let (mut whole, mut part) = (TraceBody::default(), TraceBody::default());
    for expected in bodies() {
        let Ok(unwrapped) = unwrap(expected.content, &expected.wire, 1 << 20) else { continue };
        let body = &unwrapped.bytes[..];
        let step = body.len() / 2_000 + 1;
        if expected.content == Content::Definitions {
            let lines = kit::definitions(body).0;
            for end in (0..body.len()).step_by(step) {
                let (part, result) = kit::definitions(&body[..end]);
                assert!(lines.starts_with(&part) && (result.is_err() || part.len() <= end));
            }
            continue;
        }
        let whole_result = trace(body, &mut whole);
        check(body, &whole);
        for end in (0..body.len()).step_by(step) {
            let result = trace(&body[..end], &mut part);
            check(&body[..end], &part);
            if let Err(error) = result {
                assert!(
                    error.at() <= end
                        && (whole_result.is_err() || error.kind() == ErrorKind::Truncated)
                );
            }
            assert!(part.records.len() <= whole.records.len());
            for (cut, record) in part.records.iter().zip(&whole.records) {
                let same = |r: &pmdaapm::sources::zorka::wire::Record| {
                    (r.parent, r.method, r.start, r.duration, r.calls)
                };
                if cut.flags & FLAG_CLOSED != 0 {
                    assert_eq!(same(cut), same(record), "{} cut at {end}", expected.name);
                }
                assert_eq!((cut.parent, cut.method), (record.parent, record.method));
            }
            assert!(whole.attributes.starts_with(&part.attributes));
            assert!(whole.exceptions.starts_with(&part.exceptions));
            assert!(whole.spans.starts_with(&part.spans));
        }
    }
}

#[test]
fn every_encoding_gives_the_same_body() {
    let folder = corpus().join("synth-encodings");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (kind, how) = name.split_once('.').unwrap();
        let content = if kind == "agd" { Content::Definitions } else { Content::Trace };
        let plain = std::fs::read(folder.join(format!("{kind}.cbor"))).unwrap();
        let wire = std::fs::read(&path).unwrap();
        let unwrapped = unwrap(content, &wire, 1 << 20);
        let unwrapped = unwrapped.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(*unwrapped.bytes == plain, "{name}");
        let encoding = [
            ("gzip", Encoding::Gzip),
            ("zlib", Encoding::Zlib),
            ("zdata", Encoding::Zlib),
            ("rawdeflate", Encoding::Deflate),
            ("lz4", Encoding::Lz4),
            ("ldata", Encoding::Lz4),
            ("b64", Encoding::Base64),
            ("form-data", Encoding::Base64),
        ];
        let encoding = encoding.iter().find(|e| how.contains(e.0)).map_or(Encoding::Raw, |e| e.1);
        assert_eq!(unwrapped.encoding, encoding, "{name}");
        if how.starts_with("form") {
            assert!(field(&wire, "host").is_some(), "{name}");
        }
        seen += 1;
    }
    assert_eq!(seen, 46);
}

#[test]
fn the_recursion_of_4096_records() {
    let encoded = kit::fib(4096);
    let mut out = TraceBody::default();
    trace(&encoded.body, &mut out).unwrap();
    check(&encoded.body, &out);
    assert_eq!(out.records.len(), 4096);
    assert_eq!(out.records[0].duration, encoded.time);
    assert!(out.records[0].flags & FLAG_OVERFLOW != 0);
    assert_eq!((out.unclosed, out.stray, out.unknown), (0, 0, 0));
    let own: u64 = out.records.iter().map(|r| r.duration - r.children).sum();
    assert_eq!(own, encoded.time);
    // Numbers of another length are read by another way.
    let mut wide = TraceBody::default();
    trace(&kit::wide_fib(4096).body, &mut wide).unwrap();
    let numbers = |out: &TraceBody| {
        let all = out.records.iter();
        all.map(|r| (r.parent, r.method, r.start, r.duration, r.children, r.calls, r.flags))
            .collect::<Vec<_>>()
    };
    assert!(numbers(&out) == numbers(&wide));
    assert!((105_000..120_000).contains(&encoded.body.len()), "{}", encoded.body.len());
}

#[test]
fn a_body_that_begins_in_the_middle_of_an_item() {
    let path = corpus().join("raw/1.90.6-streaming-04-trc.cbor");
    let body = std::fs::read(path).unwrap();
    let (mut whole, mut out) = (TraceBody::default(), TraceBody::default());
    trace(&body, &mut whole).unwrap();
    for start in 1..body.len() {
        let part = &body[start..];
        let Ok(unwrapped) = unwrap(Content::Trace, part, 1 << 20) else { continue };
        assert_eq!(*unwrapped.bytes, *part);
        let _ = trace(part, &mut out);
        check(part, &out);
        // Every record that begins later is found.
        let left = body[start..].windows(3).filter(|w| w == b"\xc8\x9f\xcb").count();
        assert!(out.records.len() >= left, "{start}: {} of {left}", out.records.len());
        let last = whole.records.iter().rev().zip(out.records.iter().rev()).take(left);
        last.for_each(|(a, b)| {
            assert_eq!((a.method, a.start, a.duration), (b.method, b.start, b.duration));
        });
    }
}

#[test]
fn hostile_bodies_are_bounded() {
    let mut out = TraceBody::default();
    let mut hostile: Vec<Vec<u8>> = std::fs::read_dir(corpus().join("synth-hostile"))
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    const LONG: usize = 1 << 20;
    for piece in [
        &b"\xc3\x9f\x00\x00"[..],
        b"\xc3\x9f\x00\x00\xc4\x82\x00\x00\xff",
        b"\xc8\x9f\xca\x48\0\0\0\0\0\0\0\0",
        b"\xff",
        b"\xc6",
        b"\x81",
        b"\x9f",
        b"\xc6\x83\x09\x01\x02",
    ] {
        for head in
            [&b""[..], b"\xc3\x9f\x01\x01", b"\xc3\x9f\x01\x01\xc5\x82\x01\x01", b"\xd8\x40"]
        {
            hostile.push([head, &piece.repeat(LONG / piece.len())].concat());
        }
    }
    // Attributes of a span above many others.
    let mut upward = b"\xc3\x9f\x01\x01\xc5\x82\x01\x01".repeat(9_999);
    upward.extend(b"\xc6\x83\x09\x01\x02".repeat(LONG / 5));
    hostile.push(upward);
    for body in &hostile {
        let start = Instant::now();
        for content in [Content::Definitions, Content::Trace] {
            let Ok(unwrapped) = unwrap(content, body, 64 << 20) else { continue };
            let mut texts = 0;
            let _ = definitions(&unwrapped.bytes, &mut |definition| {
                if let Definition::Symbol { text, .. } = definition {
                    texts += text.len();
                }
            });
            assert!(texts <= unwrapped.bytes.len());
            let _ = trace(&unwrapped.bytes, &mut out);
            check(&unwrapped.bytes, &out);
            assert!(out.heap_size() < 48 << 20, "{}", out.heap_size());
        }
        let limit = Duration::from_secs(10);
        assert!(start.elapsed() < limit, "{:?}", &body[..body.len().min(40)]);
    }
    trace(&kit::fib(1 << 17).body, &mut out).unwrap();
    assert!(out.heap_size() > limits::KEPT);
    out.clear();
    assert_eq!(out.heap_size(), 0);
}

#[test]
fn open_records_end_at_the_limit() {
    let body = std::fs::read(corpus().join("synth-hostile/deep-records-100000.trc.cbor")).unwrap();
    let mut out = TraceBody::default();
    let error = trace(&body, &mut out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Nesting);
    assert_eq!(out.records.len(), limits::OPEN_RECORDS);
    assert_eq!(out.unclosed as usize, limits::OPEN_RECORDS);
}

#[test]
fn a_bomb_ends_at_the_cap() {
    use std::io::Write;
    let zeros = vec![0xc3; 50 << 20];
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&zeros).unwrap();
    let zlib = zlib.finish().unwrap();
    assert!(zlib.len() < 60_000, "{}", zlib.len());
    assert_eq!(unwrap(Content::Trace, &zlib, 64 << 20).unwrap_err().kind(), ErrorKind::Size);
    assert_eq!(unwrap(Content::Trace, &zlib, 1 << 10).unwrap_err().kind(), ErrorKind::Size);
}

#[test]
fn interim_begins() {
    let head = b"\xc8\x9f\xca\x48\0\0\x01\0\0\0\0\x05";
    let mut out = TraceBody::default();
    for (begin, id, parent) in [
        (&b"\xd8\x21\x81\x07"[..], 0, 0),
        (b"\xd8\x21\x82\x07\x1a\x11\x22\x33\x44", 0x1122_3344, 0),
        (b"\xd8\x21\x83\x07\x20\x05", u64::MAX, 5),
    ] {
        trace(&[&head[..], begin].concat(), &mut out).unwrap();
        assert_eq!(out.records[0].dialect, Dialect::Interim);
        assert_eq!((out.spans[0].kind, out.spans[0].id, out.spans[0].parent), (0, id, parent));
    }
    trace(&[&head[..], b"\xd8\x21\x82\x07\x18\x63"].concat(), &mut out).unwrap();
    assert_eq!((out.records[0].dialect, out.spans[0].kind), (Dialect::Legacy, 99));
}
