//! Every decoder on streams made by hand: whole, byte by byte and cut at every position, with the
//! same records.

mod streams;

use std::fmt::Write;
use std::sync::Arc;

use proptest::prelude::*;

use crate::sources::profiler::test_kit::Bytes;
use crate::sources::profiler::*;

/// The records, one line each.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Log(pub(crate) Vec<String>);

impl Observer for Log {
    fn call(&mut self, c: &Call<'_>, words: &Dictionary) {
        let value = |mark| {
            let id = words.id_of(mark)?;
            c.params.iter().find(|param| param.id == id).map(|param| param.value)
        };
        let is = |mark| value(mark).is_some();
        let title = value(KnownWord::Title);
        let marks = (c.is_named(words), is(KnownWord::Red), is(KnownWord::Idle), title);
        self.0.push(format!("{c:?} {marks:?}"));
    }
    fn pause(&mut self, p: &Pause) {
        self.0.push(format!("pause {} {}", p.end_ms, p.duration_ms));
    }
    fn trace_block(&mut self, b: &Block) {
        self.0.push(format!("block {} {} {} {}", b.file, b.offset, b.thread, b.start_ms));
    }
    fn trace_event(&mut self, _: &Block, e: &TraceEvent<'_>, _: &Dictionary) {
        self.0.push(format!("{} {} {:?}", e.index, e.time_ms, e.kind));
    }
    fn trace_block_end(&mut self, _: &Block, events: u32) {
        self.0.push(format!("end {events}"));
    }
    fn calls_lost(&mut self, calls: u64) {
        self.0.push(format!("lost {calls}"));
    }
    fn word(&mut self, id: u32, word: Option<&Arc<str>>, _: &Dictionary) {
        self.0.push(format!("word {id} {word:?}"));
    }
    fn dictionary_reset(&mut self, _: &Dictionary) {
        self.0.push("forgotten".into());
    }
    fn definition(&mut self, d: &Definition<'_>) {
        self.0.push(format!("{} {} {} {} {}", d.name, d.indexed, d.list, d.order, d.signature));
    }
    fn xml(&mut self, v: &BigValue<'_>) {
        self.0.push(format!("xml {} {} {:?}", v.file, v.offset, v.text));
    }
    fn sql(&mut self, v: &BigValue<'_>) {
        self.0.push(format!("sql {} {} {:?}", v.file, v.offset, v.text));
    }
    fn gc_pause(&mut self, p: &GcPause<'_>) {
        self.0.push(format!("gc {} {}", p.number, p.duration_ns));
    }
    fn corrupt(&mut self, _: &File<'_>, at: u64, why: DecodeError) {
        self.0.push(format!("corrupt at {at}: {why}"));
    }
    fn ended(&mut self, _: &File<'_>, torn: bool) {
        self.0.push(if torn { "torn".into() } else { "ended".into() });
    }
}

pub(crate) fn opened(stream: usize, name: &str, sequence: i32) -> Opened<'_> {
    Opened {
        stream,
        name,
        kind: StreamKind::of(name),
        handle: [1; 16],
        requested: sequence,
        sequence,
        reset: false,
        again: false,
        rotation_period_ms: 0,
        rotation_size: 0,
    }
}

fn run<'a>(name: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let (mut streams, mut lines) = (Streams::new(Arc::new(Interner::new(1 << 20))), Log::default());
    streams.open(&opened(0, name, 0), &mut lines);
    for piece in pieces {
        streams.data(0, piece, &mut lines);
        // The agent may fall silent anywhere.
        streams.rest();
    }
    streams.close(&mut lines);
    lines.0
}

/// Records of the stream, which must be the same whole, byte by byte, and cut everywhere.
fn lines(name: &str, bytes: &[u8]) -> Vec<String> {
    let whole = run(name, [bytes]);
    assert_eq!(run(name, bytes.chunks(1)), whole, "{name} byte by byte");
    for cut in 0..bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(run(name, [head, tail]), whole, "{name} cut at {cut}");
    }
    whole
}

fn check(name: &str, bytes: &Bytes, want: &[&str]) {
    assert_eq!(lines(name, &bytes.0), want, "{name}");
}

fn b() -> Bytes {
    Bytes::new()
}

#[test]
fn words() {
    let phrases = b()
        .phrase(b().text("call.info").text("").units(&[0x65e5, 0xd83e, 0xdd80]))
        .phrase(b())
        .phrase(b().units(&[0xdd80]));
    let want = [
        "word 0 Some(\"call.info\")",
        "word 1 Some(\"\")",
        "word 2 Some(\"日🦀\")",
        "word 3 Some(\"\u{fffd}\")",
        "ended",
    ];
    check("dictionary", &phrases, &want);
    let positional =
        b().phrase(b().varint(300).text("a").varint(0).text("b")).phrase(b().varint(300).text("c"));
    check(
        "posDictionary",
        &positional,
        &["word 300 Some(\"a\")", "word 0 Some(\"b\")", "word 300 Some(\"c\")", "ended"],
    );
    check(
        "dictionary",
        &b().phrase(b().text("x")).int(5).raw(&[1, 0]),
        &["word 0 Some(\"x\")", "torn"],
    );
    check(
        "posDictionary",
        &b().phrase(b().varint(u32::MAX).text("x")),
        &[&format!("word {} None", u32::MAX), "ended"],
    );
}

#[test]
fn phrases_that_are_none() {
    check("dictionary", &b().int(-1), &["corrupt at 4: phrase of -1 bytes", "ended"]);
    check(
        "dictionary",
        &b().int(limits::PHRASE as i32 + 1),
        &["corrupt at 4: phrase of 65537 bytes", "ended"],
    );
    let crosses = "record crosses the end of its phrase";
    // Phrases that end within a string, between length and string, and within a number.
    check(
        "dictionary",
        &b().phrase(b().varint(2).u8(0)).phrase(b()),
        &[&format!("corrupt at 6: {crosses}"), "ended"],
    );
    check(
        "dictionary",
        &b().phrase(b().varint(2)).text("z"),
        &[&format!("corrupt at 5: {crosses}"), "ended"],
    );
    check(
        "suspend",
        &b().phrase(b().long(5).u8(0x80)).u8(1),
        &[&format!("corrupt at 12: {crosses}"), "ended"],
    );
    check(
        "suspend",
        &b().phrase(b().raw(&[0; 7])),
        &[&format!("corrupt at 4: {crosses}"), "ended"],
    );
}

#[test]
fn suspend() {
    let base = 1_690_201_577_657u64;
    let phrases = b()
        .phrase(b().long(base).varint(86).varint(5).varint(300).varint(215))
        .phrase(b().varint(0).varint(0));
    let want =
        ["pause 1690201577743 5", "pause 1690201578043 215", "pause 1690201578043 0", "ended"];
    check("suspend", &phrases, &want);
    let back = b().phrase(
        b().long(base).varint((-3_600_000_i32).cast_unsigned()).varint(5).varint(7).varint(6),
    );
    check("suspend", &back, &["pause 1690197977657 5", "pause 1690197977664 6", "ended"]);
    // A base and nothing else; times that overflow do not.
    check("suspend", &b().phrase(b().long(base)), &["ended"]);
    let late = b().phrase(b().long(i64::MAX as u64).varint(1).varint(u32::MAX));
    check("suspend", &late, &[&format!("pause {} {}", i64::MIN, u32::MAX), "ended"]);
}

#[test]
fn params() {
    let phrases = b()
        .phrase(
            b().u8(1)
                .text("sql")
                .u8(0)
                .u8(1)
                .varint(100)
                .text("sql")
                .text("web.url")
                .u8(1)
                .u8(0)
                .varint(1000)
                .text(""),
        )
        .phrase(b().text("").u8(0).u8(0).varint(u32::MAX).text(""));
    check(
        "params",
        &phrases,
        &[
            "sql false true 100 sql",
            "web.url true false 1000 ",
            " false false 4294967295 ",
            "ended",
        ],
    );
    check("params", &b().phrase(b().u8(2)), &["corrupt at 5: version 2 of params", "ended"]);
    let cut = b().phrase(b().u8(1).text("n").u8(0).u8(1));
    check("params", &cut, &["corrupt at 8: record crosses the end of its phrase", "ended"]);
}

#[test]
fn values() {
    let text = "é".repeat(limits::TEXT as usize + 7);
    let stream = b().text("select 1").text("").text("x");
    check("sql", &stream, &["sql 1 0 \"select 1\"", "sql 1 17 \"\"", "sql 1 18 \"x\"", "ended"]);
    check("xml", &stream, &["xml 1 0 \"select 1\"", "xml 1 17 \"\"", "xml 1 18 \"x\"", "ended"]);
    let long = b().text(&text).text("x");
    let got = run("xml", [&long.0[..]]);
    assert!(
        got[0].ends_with("é\"… of 8199") && got[1] == "xml 1 16400 \"x\"" && got.len() == 3,
        "{}",
        got[1]
    );
    for piece in [1, 1000, 1024, 16_386] {
        assert_eq!(run("xml", long.0.chunks(piece)), got);
    }
    check(
        "xml",
        &b().varint(limits::UNITS + 1),
        &["corrupt at 3: string of 1048577 UTF-16 units", "ended"],
    );
    check("sql", &b().varint(2).u8(0), &["torn"]);
}

const START: u64 = 1_795_227_482_288;

#[test]
fn trace() {
    let block = |b: Bytes| b.long(77).long(START + 5);
    let stream = block(b().long(START))
        // ENTER 300 at 4 ms; TAG inline, indexed, xml and sql at the same time; EXIT 4097 ms later,
        // then one 1 ms before it.
        .u8(4 << 2)
        .varint(300)
        .u8(2)
        .varint(7)
        .u8(0)
        .text("v")
        .u8(2)
        .varint(8)
        .u8(2)
        .text("")
        .u8(2)
        .varint(9)
        .u8(1)
        .varint(1)
        .varint(70_000)
        .u8(2)
        .varint(9)
        .u8(3)
        .varint(2)
        .varint(0)
        .u8(0x80 | 1 << 2 | 1)
        .varint(4096 >> 5)
        .u8(0xfd)
        .varint(u32::MAX >> 5)
        .u8(3);
    let stream = block(stream).u8(3);
    let at = START + 4;
    let want = [
        format!("block 1 8 77 {}", START + 5),
        format!("0 {at} Enter {{ method: 300 }}"),
        format!("1 {at} Tag {{ param: 7, value: Inline(\"v\") }}"),
        format!("2 {at} Tag {{ param: 8, value: Indexed(\"\") }}"),
        format!("3 {at} Tag {{ param: 9, value: Xml(Reference {{ file: 1, offset: 70000 }}) }}"),
        format!("4 {at} Tag {{ param: 9, value: Sql(Reference {{ file: 2, offset: 0 }}) }}"),
        format!("5 {} Exit", at + 4097),
        format!("6 {} Exit", at + 4096),
        "end 7".into(),
        format!("block 1 {} 77 {}", stream.0.len() - 17, START + 5),
        "end 0".into(),
        "ended".into(),
    ];
    check("trace", &stream, &want.iter().map(String::as_str).collect::<Vec<_>>());
    let fault = block(b().long(START)).u8(2).varint(1).u8(6);
    let want = [
        format!("block 1 8 77 {}", START + 5),
        "corrupt at 24: tag of type 6".into(),
        "ended".into(),
    ];
    check("trace", &fault, &want.iter().map(String::as_str).collect::<Vec<_>>());
    check("trace", &block(b().long(START)).u8(0), &[&want[0], "torn"]);
    check("trace", &b().long(START), &["ended"]);
}

/// A call up to its thread, and the rest for a version.
fn call(b: Bytes, distance: i32, thread: u32) -> Bytes {
    b.zigzag(distance).varint(17).varlong(1500).varint(3).varint(thread)
}

fn rest(b: Bytes, version: u32) -> Bytes {
    let mut b = b.varint(10).varint(5).varint(1).varint(8).varint(2);
    if version >= 2 {
        b = b.varlong(700).varlong(0xffff_fff6).varlong(3_531_063_824);
    }
    if version >= 3 {
        b = b.varlong(1).varlong(u64::MAX).varlong(1 << 35).varlong(i64::MAX as u64);
    }
    if version >= 4 {
        b = b.varlong(9).varint(6);
    }
    b
}

#[test]
fn calls_of_all_versions() {
    for version in 0..=4u32 {
        let header =
            if version == 0 { b() } else { b().long(0xfffe_fdfc << 32 | u64::from(version)) }
                .long(START);
        let stream = rest(call(header, -5, 0).text("main"), version).varint(0);
        let stream = rest(call(stream, 7, 0), version).varint(0);
        let got = lines("calls", &stream.0);
        assert_eq!(got.len(), 3, "{got:?}");
        let mut want = format!(
            "Call {{ start_ms: {}, duration_ms: 1500, method: 17, calls: 3, thread: 0, ",
            START + 2
        );
        want += "thread_name: Some(\"main\"), logs_written: 10, logs_generated: 15, pointer: Pointer { file: 1, offset: 8, index: 2 }, ";
        let (cpu, memory) = if version >= 2 { (700, 3_531_063_824_u64) } else { (0, 0) };
        let io = if version >= 3 { [1, 0, 1 << 35, i64::MAX] } else { [0; 4] };
        let (transactions, queue) = if version >= 4 { (9, 6) } else { (0, 0) };
        write!(want, "cpu_ms: {cpu}, wait_ms: 0, memory: {memory}, ").unwrap();
        write!(
            want,
            "file_read: {}, file_written: {}, net_read: {}, net_written: {}, ",
            io[0], io[1], io[2], io[3]
        )
        .unwrap();
        write!(want, "transactions: {transactions}, queue_wait_ms: {queue}, params: {{}} }} (false, false, false, None)")
            .unwrap();
        assert_eq!(got[1], want, "version {version}");
        assert!(got[0].contains(&format!("start_ms: {},", START - 5)));
    }
    check(
        "calls",
        &b().long(0xfffe_fdfc << 32 | 5).long(0),
        &["corrupt at 0: version 5 of calls", "ended"],
    );
}

fn v4() -> Bytes {
    b().long(0xfffe_fdfc << 32 | 4).long(START)
}

#[test]
fn calls_with_parameters() {
    let stream = rest(call(v4(), 0, 0).text("t"), 4).varint(3);
    let stream = stream
        .varint(5)
        .varint(2)
        .text("a")
        .text("")
        .varint(6)
        .varint(0)
        .varint(500)
        .varint(1)
        .units(&[0xd83e, 0xdd80]);
    let stream = rest(call(stream, 0, 0), 4).varint(1).varint(5).varint(1).text("z");
    let got = lines("calls", &stream.0);
    assert!(got[0].contains("params: {5: \"a\", 5: \"\", 6: \"\", 500: \"🦀\"} }"), "{}", got[0]);
    assert!(got[1].contains("params: {5: \"z\"} }") && got.len() == 3, "{}", got[1]);
}

#[test]
fn calls_that_claim_too_much() {
    let tail = rest(call(v4(), 0, 0).text("t"), 4);
    let at = |b: &Bytes| b.0.len();
    let many = tail.clone().varint(limits::CLAIMED + 1);
    check(
        "calls",
        &many,
        &[&format!("corrupt at {}: 1025 parameters or values", at(&many)), "ended"],
    );
    let many = tail.clone().varint(1).varint(9).varint(u32::MAX);
    check(
        "calls",
        &many,
        &[&format!("corrupt at {}: 4294967295 parameters or values", at(&many)), "ended"],
    );
    let long = tail.clone().varint(1).varint(9).varint(1).varint(limits::UNITS + 1);
    check(
        "calls",
        &long,
        &[&format!("corrupt at {}: string of 1048577 UTF-16 units", at(&long)), "ended"],
    );
    let thread = call(v4(), 0, 1);
    check("calls", &thread, &[&format!("corrupt at {}: thread 1 of 0", at(&thread)), "ended"]);
    check("calls", &tail.varint(1), &["torn"]);
}

#[test]
fn what_is_kept_of_a_call_is_bounded_and_what_follows_is_read() {
    let value = "v".repeat(limits::TEXT as usize + 1);
    let mut stream = rest(call(v4(), 0, 0).text("t"), 4).varint(limits::CLAIMED);
    for id in 0..limits::CLAIMED {
        stream = if id < 5 {
            stream.varint(id).varint(1).text(&value)
        } else {
            stream.varint(id).varint(1).text("w")
        };
    }
    let stream = rest(call(stream, 1, 0), 4).varint(0);
    let mut seen = Vec::new();
    for piece in [stream.0.len(), 1, 1024, 16_001] {
        struct DictionaryCache(Vec<(u32, u32, usize, usize)>);
        impl Observer for DictionaryCache {
            fn call(&mut self, c: &Call<'_>, _: &Dictionary) {
                let bytes = c.params.iter().map(|p| p.value.as_utf16().len()).sum();
                self.0.push((c.params.count(), c.params.values(), c.params.iter().count(), bytes));
            }
            fn corrupt(&mut self, _: &File<'_>, at: u64, why: DecodeError) {
                panic!("{at} {why}");
            }
        }
        let (mut streams, mut kept) =
            (Streams::new(Arc::new(Interner::new(1 << 20))), DictionaryCache(Vec::new()));
        streams.open(&opened(0, "calls", 0), &mut kept);
        stream.0.chunks(piece).for_each(|p| streams.data(0, p, &mut kept));
        seen.push(kept.0);
    }
    let claimed = limits::CLAIMED;
    assert_eq!(seen[0], [(claimed, claimed, limits::CALL_VALUES, limits::CALL_TEXT), (0, 0, 0, 0)]);
    assert!(seen.iter().all(|s| *s == seen[0]));
}

#[test]
fn gc() {
    let text = b"[1s] GC(3) Pause Remark 1.5ms\nnothing\n[2s] GC(4) Pause Cleanup 2ms";
    check("gc", &b().raw(text), &["gc 3 1500000", "gc 4 2000000", "ended"]);
}

#[test]
fn others_are_only_counted() {
    check("heap", &b().raw(&[0xff; 50]), &["ended"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any bytes in any stream never panic, and the records do not depend on the pieces.
    #[test]
    fn any_bytes(
        name in prop::sample::select(vec!["trace", "calls", "xml", "dictionary", "posDictionary", "suspend", "params", "gc"]),
        head in any::<bool>(),
        bytes in prop::collection::vec(prop_oneof![4 => 0..6u8, 1 => any::<u8>()], 0..600),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut whole = if head && name == "calls" { v4().0 } else { Vec::new() };
        if ["dictionary", "posDictionary", "suspend", "params"].contains(&name) {
            whole = b().int(bytes.len() as i32).0;
        }
        whole.extend(bytes);
        let mut at: Vec<usize> = cuts.iter().map(|c| c.index(whole.len() + 1)).collect();
        at.extend([0, whole.len()]);
        at.sort_unstable();
        let want = run(name, [&whole[..]]);
        prop_assert_eq!(&run(name, at.windows(2).map(|w| &whole[w[0]..w[1]])), &want);
        prop_assert_eq!(&run(name, whole.chunks(1)), &want);
    }
}
