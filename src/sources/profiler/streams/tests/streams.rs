use super::super::*;
use super::{Log, opened};
use crate::sources::profiler::test_kit::Bytes;
use crate::sources::profiler::{Call, EventPlace, KnownWord, StepVisitor};

fn streams() -> Streams {
    Streams::new(Arc::new(Interner::new(1 << 20)))
}

fn b() -> Bytes {
    Bytes::new()
}

fn open(streams: &mut Streams, lines: &mut Log, stream: usize, name: &str, sequence: i32) {
    streams.open(&opened(stream, name, sequence), lines);
}

#[test]
fn a_corrupt_stream_costs_only_itself_and_only_until_it_is_opened_again() {
    let (mut streams, mut lines) = (streams(), Log::default());
    open(&mut streams, &mut lines, 0, "calls", 0);
    open(&mut streams, &mut lines, 1, "sql", 0);
    streams.data(0, &b().long(0xfffe_fdfc << 32 | 9).0, &mut lines);
    streams.data(1, &b().text("ok").0, &mut lines);
    streams.data(0, &[1; 100], &mut lines);
    assert_eq!(lines.0, ["corrupt at 0: version 9 of calls", "sql 1 0 \"ok\""]);
    let counts = |streams: &Streams| *streams.all()[0].counts();
    assert_eq!(
        counts(&streams),
        Counts { chunks: 2, bytes: 108, corrupt: 1, skipped: 108, ..Counts::default() }
    );
    assert!(streams.all()[0].is_corrupt() && !streams.all()[1].is_corrupt());
    open(&mut streams, &mut lines, 0, "calls", 1);
    streams.data(
        0,
        &b().long(7).zigzag(1).varint(4).varlong(9).varint(1).varint(0).text("t").raw(&[0; 6]).0,
        &mut lines,
    );
    assert_eq!(lines.0.len(), 4, "{:?}", lines.0);
    assert!(
        lines.0[2] == "ended"
            && lines.0[3].starts_with("Call { start_ms: 8, duration_ms: 9, method: 4,")
    );
    assert_eq!(
        (counts(&streams).rotations, counts(&streams).corrupt, streams.all()[0].sequence()),
        (1, 1, 1)
    );
}

#[test]
fn bytes_that_are_skipped_are_those_behind_the_fault() {
    let (mut streams, mut lines) = (streams(), Log::default());
    open(&mut streams, &mut lines, 0, "dictionary", 0);
    streams.data(0, &b().phrase(b().text("a")).int(-5).raw(&[0; 3]).0, &mut lines);
    assert_eq!(lines.0, ["word 0 Some(\"a\")", "corrupt at 11: phrase of -5 bytes"]);
    assert_eq!(streams.all()[0].counts().skipped, 3);
}

#[test]
fn records_do_not_go_on_in_the_next_file() {
    let (mut streams, mut lines) = (streams(), Log::default());
    open(&mut streams, &mut lines, 0, "xml", 0);
    streams.data(0, &b().text("abc").0[..4], &mut lines);
    open(&mut streams, &mut lines, 0, "xml", 1);
    streams.data(0, &b().text("d").0, &mut lines);
    streams.close(&mut lines);
    assert_eq!(lines.0, ["torn", "xml 2 0 \"d\"", "ended"]);
    assert_eq!(streams.all()[0].counts().torn, 1);
}

#[test]
fn threads_start_again_with_every_file_and_names_are_shared() {
    struct Threads(Vec<(u32, Option<Arc<str>>)>);
    impl Observer for Threads {
        fn call(&mut self, c: &Call<'_>, _: &Dictionary) {
            self.0.push((c.thread, c.thread_name.cloned()));
        }
    }
    let (mut streams, mut threads) = (streams(), Threads(Vec::new()));
    let call = |b: Bytes, thread: u32| b.raw(&[0; 4]).varint(thread);
    for (sequence, names) in [(0, ["a", "b"]), (1, ["b", "c"])] {
        streams.open(&opened(0, "calls", sequence), &mut threads);
        let stream = call(b().long(0), 0).text(names[0]).raw(&[0; 6]);
        let stream = call(call(stream, 1).text(names[1]).raw(&[0; 6]), 0).raw(&[0; 6]);
        streams.data(0, &stream.0, &mut threads);
    }
    let told: Vec<_> = threads.0.iter().map(|(n, name)| (*n, &**name.as_ref().unwrap())).collect();
    assert_eq!(told, [(0, "a"), (1, "b"), (0, "a"), (0, "b"), (1, "c"), (0, "b")]);
    assert!(Arc::ptr_eq(threads.0[1].1.as_ref().unwrap(), threads.0[3].1.as_ref().unwrap()));
}

#[test]
fn late_words_and_marks() {
    let (mut streams, mut lines) = (streams(), Log::default());
    open(&mut streams, &mut lines, 0, "calls", 0);
    open(&mut streams, &mut lines, 1, "dictionary", 0);
    let call = || b().raw(&[0; 5]).raw(&[0; 5]).varint(1).varint(1).varint(1).text("x");
    streams.data(
        0,
        &b().long(0).raw(&[0; 5]).text("t").raw(&[0; 5]).varint(0).raw(&call().0).0,
        &mut lines,
    );
    streams.data(1, &b().phrase(b().text("m").text("call.red")).0, &mut lines);
    streams.data(0, &call().0, &mut lines);
    let calls: Vec<_> = lines
        .0
        .iter()
        .filter(|l| l.starts_with("Call"))
        .map(|l| l.rsplit_once('}').unwrap().1)
        .collect();
    assert_eq!(
        calls,
        [
            " (false, false, false, None)",
            " (false, false, false, None)",
            " (true, true, false, None)"
        ]
    );
    assert_eq!(streams.dictionary().id_of(KnownWord::Red), Some(1));
}

#[test]
fn lost_calls_are_counted_even_if_their_word_is_late() {
    let (mut streams, mut lines) = (streams(), Log::default());
    open(&mut streams, &mut lines, 0, "trace", 0);
    open(&mut streams, &mut lines, 1, "dictionary", 0);
    let tag = |b: Bytes, id: u32, text: &str| b.u8(2).varint(id).u8(0).text(text);
    let block = tag(tag(tag(b().long(0).long(1).long(2), 1, "40"), 1, "2"), 0, "7");
    streams.data(0, &block.0, &mut lines);
    streams.data(1, &b().phrase(b().text("node.name").text("calls.corrupted")).0, &mut lines);
    streams.data(0, &tag(tag(tag(b(), 1, "5"), 0, "9"), 1, "not a number").0, &mut lines);
    let lost: Vec<_> = lines.0.iter().filter(|l| l.starts_with("lost")).collect();
    assert_eq!(lost, ["lost 42", "lost 5"]);
}

#[test]
fn a_reset_forgets_the_words() {
    let (mut streams, mut lines) = (streams(), Log::default());
    open(&mut streams, &mut lines, 0, "dictionary", 0);
    streams.data(0, &b().phrase(b().text("a")).0, &mut lines);
    // After an opening without a reset, ids continue.
    open(&mut streams, &mut lines, 0, "dictionary", 1);
    streams.data(0, &b().phrase(b().text("b")).0, &mut lines);
    streams.open(&Opened { reset: true, ..opened(1, "calls", 0) }, &mut lines);
    assert_eq!(streams.dictionary().len(), 2, "calls have no say in it");
    streams.open(&Opened { reset: true, ..opened(0, "dictionary", 2) }, &mut lines);
    streams.data(0, &b().phrase(b().text("c")).0, &mut lines);
    let words: Vec<_> = lines.0.iter().filter(|l| *l != "ended").collect();
    assert_eq!(
        words,
        ["word 0 Some(\"a\")", "word 1 Some(\"b\")", "forgotten", "word 0 Some(\"c\")"]
    );
    assert_eq!(streams.dictionary().len(), 1);
}

#[test]
fn streams_that_nobody_opened_are_passed_over() {
    let (mut streams, mut lines) = (streams(), Log::default());
    streams.data(0, b"x", &mut lines);
    open(&mut streams, &mut lines, 5, "calls", 0);
    streams.data(5, b"x", &mut lines);
    assert!(lines.0.is_empty() && streams.all().is_empty());
}

/// The steps of a trace, from events or as steps, and what else it says.
#[derive(Debug, Default)]
struct Trace {
    in_steps: bool,
    steps: Steps,
    /// Those of `steps` that came one by one.
    events: usize,
    ends: Vec<u32>,
    lost: u64,
}

#[derive(Debug, Default)]
struct Steps {
    now_ms: i64,
    /// Times, and ids of methods (ENTER: 0) and parameters (TAG: 2).
    all: Vec<(i64, u8, u32)>,
}

impl StepVisitor for Steps {
    fn time(&mut self, time_ms: i64) {
        self.now_ms = time_ms;
    }
    fn enter(&mut self, method: u32, _: EventPlace) {
        self.all.push((self.now_ms, 0, method));
    }
    fn exit(&mut self, _: usize) {
        self.all.push((self.now_ms, 1, 0));
    }
    fn tag(&mut self, param: u32) {
        self.all.push((self.now_ms, 2, param));
    }
}

impl Observer for Trace {
    fn trace_event(&mut self, _: &Block, event: &TraceEvent<'_>, _: &Dictionary) {
        self.steps.time(event.time_ms);
        match event.kind {
            TraceKind::Enter { method } => {
                self.steps.enter(method, EventPlace { index: event.index, left: 0 })
            }
            TraceKind::Exit => self.steps.exit(0),
            TraceKind::Tag { param, .. } => self.steps.tag(param),
        }
        self.events += 1;
    }
    fn wants_trace_events(&self) -> bool {
        !self.in_steps
    }
    fn short_events(&mut self, _: &Block, events: &mut ShortEvents<'_>) {
        assert!(self.in_steps);
        let before = self.steps.all.len();
        events.read(&mut self.steps);
        assert_eq!(events.counts().all() as usize, self.steps.all.len() - before);
    }
    fn trace_block_end(&mut self, _: &Block, events: u32) {
        self.ends.push(events);
    }
    fn calls_lost(&mut self, calls: u64) {
        self.lost += calls;
    }
}

/// A trace with events of all kinds and sizes, most of them usual ones.
fn long_trace() -> Vec<u8> {
    let mut seed = 1_u32;
    let mut any = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    let numbers = [0, 1, 5, 100, 127, 128, 300, 16_383, 16_384, 2_097_151, 2_097_152, u32::MAX];
    let mut trace = b().long(1_000);
    for thread in 0..20 {
        trace = trace.long(thread).long(2_000);
        for _ in 0..any(500) {
            let kind = any(3) as u8;
            // Bits of the distance, sometimes with the negative or far rest behind them.
            let first = kind | (any(32) as u8) << 2;
            trace = match any(8) {
                0 => trace.u8(first | 0x80).varint(numbers[any(12)]),
                _ => trace.u8(first),
            };
            // Few ids have no word.
            let id = numbers[if any(20) == 0 { any(12) } else { any(6) }];
            trace = match kind {
                0 => trace.varint(id),
                1 => trace,
                _ => match trace.varint(id) {
                    tag if any(3) == 0 => {
                        tag.u8(1).varint(numbers[any(12)]).varint(numbers[any(12)])
                    }
                    tag if any(3) == 0 => tag.u8(3).varint(any(9) as u32).varint(numbers[any(12)]),
                    tag if any(9) == 0 => tag.u8(0).text(&"7".repeat(any(200))),
                    tag => {
                        tag.u8(2).text(&format!("{}{}", any(300), ["", "", " ms", "é1"][any(4)]))
                    }
                },
            };
        }
        trace = trace.u8(3);
    }
    trace.0
}

#[test]
fn steps_are_the_events_without_their_values() {
    let bytes = long_trace();
    let played = |in_steps, size: usize| {
        let (mut streams, mut trace) = (streams(), Trace { in_steps, ..Trace::default() });
        streams.open(&opened(0, "dictionary", 0), &mut trace);
        let words = (0..200).fold(b(), |words, id| match id {
            5 => words.text("calls.corrupted"),
            _ => words.text(&format!("w{id}")),
        });
        streams.data(0, &b().phrase(words).0, &mut trace);
        streams.open(&opened(1, "trace", 0), &mut trace);
        bytes.chunks(size).for_each(|piece| streams.data(1, piece, &mut trace));
        assert!(!streams.all()[1].is_corrupt());
        trace
    };
    let wanted = played(false, bytes.len());
    assert!(wanted.steps.all.len() > 3_000 && wanted.lost > 500 && wanted.ends.len() == 20);
    assert_eq!(wanted.events, wanted.steps.all.len());
    for size in (1..40).chain([255, 1_024, bytes.len()]) {
        let got = played(true, size);
        assert_eq!(got.steps.all, wanted.steps.all, "pieces of {size} bytes");
        assert_eq!((got.lost, got.ends), (wanted.lost, wanted.ends.clone()));
        assert!(size < 1_000 || got.events * 3 < got.steps.all.len(), "{}", got.events);
    }
}
