use std::collections::BTreeMap;

use super::*;
use crate::contract::{Recorded, RecordedEvent};
use crate::model::{RowItem, Stamp};
use crate::sources::Source;
use crate::sources::profiler::test_kit::Bytes;
use crate::sources::profiler::{Profiler, limits, metrics as m};

fn recorded() -> Recorded {
    let seen = Recorded::new(&Profiler::TABLE);
    seen.log_mut().packs = true;
    seen
}

/// Methods of the call records.
fn records(seen: &Recorded) -> Vec<String> {
    let of = |call: RecordedEvent| call.get("method").expect("a method").to_owned();
    seen.events(m::CALL).into_iter().map(of).collect()
}

fn added(seen: &Recorded, item: RowItem, key: &str) -> u64 {
    seen.cell(item, key).unwrap_or_default()
}

/// An agent's connection.
struct Agent {
    collector: AgentSession,
    handles: BTreeMap<&'static str, Vec<u8>>,
    out: BytesMut,
    now: Now,
}

fn b() -> Bytes {
    Bytes::new()
}

fn field(b: Bytes, text: &str) -> Bytes {
    b.int(text.len() as i32).raw(text.as_bytes())
}

impl Agent {
    fn connect(shared: &Arc<SharedState>, seen: &mut Recorded, pod: &str, second: u64) -> Self {
        let collector =
            AgentSession::new("127.0.0.1:9".into(), Options::default(), Arc::clone(shared));
        let wall = Stamp { sec: 1_795_227_482, nsec: 0 };
        let now = Now { monotonic: Duration::from_secs(second), wall };
        let mut agent = Self { collector, handles: BTreeMap::new(), out: BytesMut::new(), now };
        agent.say(
            seen,
            &field(field(field(b().u8(0x14).long(100_705), pod), "service"), "namespace"),
        );
        agent
    }

    fn say(&mut self, seen: &mut Recorded, bytes: &Bytes) {
        self.out.clear();
        let mut input = BytesMut::from(&bytes.0[..]);
        self.collector.feed(self.now, &mut input, &mut self.out, seen).expect("a sound session");
        seen.flush();
    }

    fn open(&mut self, seen: &mut Recorded, stream: &'static str, reset: i32) {
        self.say(seen, &field(b().u8(0x15), stream).int(0).int(reset));
        self.handles.insert(stream, self.out[..16].to_vec());
    }

    fn data(&mut self, seen: &mut Recorded, stream: &'static str, payload: &Bytes) {
        for piece in payload.0.chunks(limits::FIELD) {
            self.say(
                seen,
                &b().u8(2).raw(&self.handles[stream]).int(piece.len() as i32).raw(piece),
            );
        }
    }

    fn words(&mut self, seen: &mut Recorded, words: &[&str]) {
        self.data(seen, "dictionary", &b().phrase(words.iter().fold(b(), |b, word| b.text(word))));
    }

    fn tick(&mut self, seen: &mut Recorded, seconds: u64) -> Result<(), SessionError> {
        self.now.monotonic += Duration::from_secs(seconds);
        self.out.clear();
        let result = self.collector.tick(self.now, &mut self.out, seen);
        seen.flush();
        result
    }

    fn close(mut self, seen: &mut Recorded) -> Vec<u8> {
        self.out.clear();
        self.collector.close(self.now, &mut self.out, seen);
        seen.flush();
        self.out.to_vec()
    }
}

fn header() -> Bytes {
    b().long(0xfffe_fdfc << 32 | 4).long(1_795_227_482_288)
}

/// A call of a method, on the thread that the first call of a file introduces.
fn call(b: Bytes, method: u32, first: bool, params: &[(u32, &str)]) -> Bytes {
    let b = b.zigzag(0).varint(method).varlong(7).varint(1).varint(0);
    let b = if first { b.text("main") } else { b };
    let b = b.raw(&[0; 14]).varint(params.len() as u32);
    params.iter().fold(b, |b, (id, value)| b.varint(*id).varint(1).text(value))
}

fn shared() -> Arc<SharedState> {
    Arc::new(SharedState::new(64 << 20))
}

const POD: &str = "pod_1795227542339";
const REPORT: &str = "void com.netcracker.profiler.ESC_CORRUPTED_CALLS.log() (Dumper.java:200) [profiler-runtime.jar]";

/// A first connection with three words, cut off.
fn first(shared: &Arc<SharedState>, seen: &mut Recorded) -> Agent {
    let mut agent = Agent::connect(shared, seen, POD, 0);
    agent.open(seen, "calls", 0);
    agent.open(seen, "dictionary", 1);
    agent.words(seen, &["call.info", "void a.B.c() (B.java:1)", "call.red"]);
    agent.data(seen, "calls", &call(header(), 1, true, &[]));
    agent
}

#[test]
fn words_stay_for_the_next_connection_of_the_jvm() {
    let (shared, mut seen) = (shared(), recorded());
    first(&shared, &mut seen).close(&mut seen);
    let mut again = Agent::connect(&shared, &mut seen, POD, 60);
    again.open(&mut seen, "calls", 0);
    again.data(&mut seen, "calls", &call(header(), 1, true, &[(2, "x")]));
    assert!((0..20).all(|_| again.tick(&mut seen, 1).is_ok()));
    assert_eq!(records(&seen), ["a.B.c", "a.B.c"]);
    assert_eq!(
        (
            added(&seen, m::METHOD_COUNT, "a.B.c"),
            added(&seen, m::METHOD_ERRORS, "a.B.c"),
            seen.count(m::ERRORS)
        ),
        (2, 1, 1)
    );
    assert_eq!(
        (seen.count(m::WORDS), seen.count(m::NAMELESS), seen.count(m::ERROR_DICTIONARY)),
        (3, 0, 0)
    );
    again.close(&mut seen);
    // The agent starts over: the kept dictionary is dropped.
    let mut anew = Agent::connect(&shared, &mut seen, POD, 90);
    assert_eq!(seen.count(m::WORDS), 3);
    anew.open(&mut seen, "dictionary", 1);
    assert_eq!(seen.count(m::WORDS), 0);
    anew.words(&mut seen, &["x"]);
    assert_eq!(seen.count(m::WORDS), 1);
}

#[test]
fn an_older_connection_that_gives_way_hands_its_words_on() {
    let (shared, mut seen) = (shared(), recorded());
    let mut older = first(&shared, &mut seen);
    let mut newer_seen = recorded();
    let mut newer = Agent::connect(&shared, &mut newer_seen, POD, 1);
    newer.open(&mut newer_seen, "calls", 0);
    newer.data(&mut newer_seen, "calls", &call(header(), 1, true, &[]));
    newer.tick(&mut newer_seen, 1).expect("there is time");
    assert!(
        older.collector.control(older.now, &Control::Replaced, &mut older.out, &mut seen).is_err()
    );
    assert_eq!(older.close(&mut seen), [0xff]);
    newer.tick(&mut newer_seen, 1).expect("it has words now");
    assert_eq!(
        (&records(&newer_seen)[..], added(&newer_seen, m::METHOD_COUNT, "a.B.c")),
        (&["a.B.c".to_owned()][..], 1)
    );
}

#[test]
fn calls_without_a_dictionary_that_nobody_knows_are_refused() {
    let (shared, mut seen) = (shared(), recorded());
    first(&shared, &mut seen).close(&mut seen);
    for (pod, second) in [("pod_1795227542340", 1), (POD, limits::KEPT_SECONDS)] {
        let (mut agent, before) =
            (Agent::connect(&shared, &mut seen, pod, second), seen.count(m::ERROR_DICTIONARY));
        agent.open(&mut seen, "calls", 0);
        assert!((0..5).all(|_| agent.tick(&mut seen, 1).is_ok()), "nothing has come");
        agent.data(&mut seen, "calls", &header());
        assert!((0..2).all(|_| agent.tick(&mut seen, 1).is_ok()));
        let refused = agent.tick(&mut seen, 1);
        assert!(matches!(refused, Err(SessionError::Malformed { .. })), "{refused:?}");
        assert_eq!((&agent.out[..], seen.count(m::ERROR_DICTIONARY)), (&[0xff][..], before + 1));
        assert!(agent.close(&mut seen).is_empty(), "once is enough");
    }
    // A connection that has opened its dictionary may send words late.
    let mut slow = Agent::connect(&shared, &mut seen, "slow_1795227542339", 0);
    ["calls", "dictionary"].into_iter().for_each(|stream| slow.open(&mut seen, stream, 1));
    slow.data(&mut seen, "calls", &header());
    assert!((0..30).all(|_| slow.tick(&mut seen, 1).is_ok()));
}

#[test]
fn whoever_is_left_is_told_but_not_who_leaves() {
    let (shared, mut seen) = (shared(), recorded());
    assert_eq!(first(&shared, &mut seen).close(&mut seen), [0xff]);
    let mut ended = first(&shared, &mut seen);
    let good_bye =
        ended.collector.feed(ended.now, &mut BytesMut::from(&[4][..]), &mut ended.out, &mut seen);
    assert!(matches!(good_bye, Err(SessionError::Closed(_))));
    assert!(ended.close(&mut seen).is_empty());
    let mut next = Agent::connect(&shared, &mut seen, POD, 1);
    assert_eq!(seen.count(m::WORDS), 0, "a JVM that has ended does not come back");
    let fault =
        next.collector.feed(next.now, &mut BytesMut::from(&[0x77][..]), &mut next.out, &mut seen);
    assert!(fault.is_err() && next.out.ends_with(&[0xff]));
    assert!(next.close(&mut seen).is_empty());
    let mut stranger = AgentSession::new("127.0.0.1:9".into(), Options::default(), shared);
    let mut out = BytesMut::new();
    stranger.close(Now::default(), &mut out, &mut seen);
    assert!(out.is_empty());
}

#[test]
fn the_agents_own_report_is_no_call() {
    for late in [false, true] {
        let (shared, mut seen) = (shared(), recorded());
        let mut agent = Agent::connect(&shared, &mut seen, POD, 0);
        ["trace", "calls"].into_iter().for_each(|stream| agent.open(&mut seen, stream, 0));
        agent.open(&mut seen, "dictionary", 1);
        let words = ["call.info", REPORT, "call.red", "calls.corrupted", "void a.B.c() (B.java:1)"];
        if !late {
            agent.words(&mut seen, &words);
        }
        let red = (2, "1");
        let calls = call(call(call(header(), 1, true, &[red]), 4, false, &[red]), 4, false, &[]);
        agent.data(&mut seen, "calls", &calls);
        let tag = |b: Bytes, id: u32, text: &str| b.u8(2).varint(id).u8(0).text(text);
        // 64 s of ESC_CORRUPTED_CALLS.log, then 3 ms of a call, each a root.
        let trace = b()
            .long(0)
            .long(9)
            .long(0)
            .u8(0)
            .varint(1)
            .u8(0x82)
            .varint(2000)
            .varint(3)
            .u8(0)
            .text("40");
        let trace = tag(trace, 0, "").u8(1).u8(0).varint(4);
        let trace = trace.u8(2 | 3 << 2).varint(0).u8(0).text("").u8(1).u8(3);
        agent.data(&mut seen, "trace", &trace);
        if late {
            assert_eq!(
                (seen.count(m::CALLS), records(&seen).len()),
                (1, 0),
                "it may be two, and it may be the agent's own"
            );
            agent.words(&mut seen, &words);
        }
        agent.tick(&mut seen, 1).expect("no reason to close");
        assert_eq!(
            (seen.count(m::CALLS), seen.count(m::ERRORS), seen.count(m::CORRUPTED)),
            (2, 1, 40),
            "late: {late}"
        );
        assert_eq!(
            (&records(&seen)[..], seen.count(m::TIME)),
            (&["a.B.c".to_owned(), "a.B.c".to_owned()][..], 14_000_000)
        );
        assert_eq!(
            (added(&seen, m::BUCKET_CALLS, "5-10"), added(&seen, m::METHOD_COUNT, "a.B.c")),
            (2, 2)
        );
        let log = seen.log();
        assert!(!log.rows.keys().any(|(_, key)| key.contains("CORRUPTED")), "{:?}", log.rows);
        drop(log);
        assert_eq!(added(&seen, m::STACK_TIME, "B.c"), 3_000_000);
    }
}

#[test]
fn sums_do_not_wait_for_names_nor_go_to_the_rest_because_of_them() {
    let (shared, mut seen) = (shared(), recorded());
    let mut agent = Agent::connect(&shared, &mut seen, POD, 0);
    agent.open(&mut seen, "calls", 0);
    agent.open(&mut seen, "dictionary", 1);
    // More calls than may be pending; half of them fail, by a tag whose name is not known either.
    let value = "v".repeat(1000);
    agent.data(&mut seen, "calls", &call(header(), 1, true, &[(2, &value)]));
    let some =
        (0..20).fold(b(), |b, n| call(b, 1, false, &[(if n % 2 == 0 { 2 } else { 3 }, &value)]));
    let rounds = limits::PENDING / 1000 / 20;
    (0..rounds).for_each(|_| agent.data(&mut seen, "calls", &some));
    let made = 1 + 20 * rounds as u64;
    assert_eq!((seen.count(m::CALLS), seen.count(m::ERRORS)), (made, 0));
    let early = records(&seen).len();
    assert!(
        early > 0
            && records(&seen).iter().all(|name| name == "#1")
            && seen.log().rows.keys().all(|(item, _)| item.table() != m::METHODS)
    );
    assert_eq!(seen.count(m::NAMELESS), early as u64);
    agent.words(&mut seen, &["call.info", "void a.B.c() (B.java:1)", "call.red", "sql"]);
    assert_eq!(seen.count(m::ERRORS), made.div_ceil(2));
    assert_eq!(
        (added(&seen, m::METHOD_COUNT, "a.B.c"), added(&seen, m::METHOD_ERRORS, "a.B.c")),
        (made, made.div_ceil(2))
    );
    assert_eq!(
        (added(&seen, m::METHOD_TIME, "a.B.c"), added(&seen, m::METHOD_COUNT, "other")),
        (made * 7_000_000, 0)
    );
    assert!(
        records(&seen).len() as u64 == made
            && records(&seen).iter().skip(early).all(|name| name == "a.B.c")
    );
    assert_eq!((seen.count(m::NAMELESS), shared.pending.bytes()), (early as u64, 0));
}

#[test]
fn a_new_connection_does_not_show_what_the_one_before_has_said() {
    let (shared, mut seen) = (shared(), recorded());
    let mut agent = first(&shared, &mut seen);
    agent.open(&mut seen, "suspend", 0);
    agent.data(&mut seen, "suspend", &b().phrase(b().long(5).varint(9).varint(9)));
    agent.tick(&mut seen, 1).expect("no reason to close");
    let gauges = [m::WORDS, m::TRUNCATED, m::SUSPEND_MAX, m::P50, m::MAX];
    assert_eq!(
        gauges.map(|item| seen.number(item)),
        [3, 0, 9_000_000, 7_000_000, 7_000_000].map(Some)
    );
    agent.close(&mut seen);
    Agent::connect(&shared, &mut seen, "pod_1795227999999", 2);
    assert_eq!(gauges.map(|item| seen.number(item)), [Some(0), Some(0), None, None, None]);
}

/// A call of method 1 from `start` on in ms after the base, of the thread that is known.
fn long_call(start: i32, duration: u64) -> Bytes {
    let b = b().zigzag(start).varint(1).varlong(duration).varint(1).varint(0);
    b.raw(&[0; 14]).varint(0)
}

#[test]
fn the_record_of_a_long_call_waits_for_its_pauses() {
    let (shared, mut seen) = (shared(), recorded());
    let mut agent = first(&shared, &mut seen);
    agent.open(&mut seen, "suspend", 0);

    let before = records(&seen).len();
    agent.data(&mut seen, "calls", &long_call(100, 200));
    agent.data(&mut seen, "calls", &long_call(0, 99));
    let suspended = |seen: &Recorded| -> Vec<Option<String>> {
        let all = seen.events(m::CALL);
        all.iter().skip(before).map(|call| call.get("suspended").map(str::to_owned)).collect()
    };
    assert_eq!(suspended(&seen), [None], "short ones do not wait");
    let start = seen.events(m::CALL).last().map_or(0, |call| call.stamp.as_millis());
    // 15 ms at their begin, and 50 ms in the middle of the longer one.
    let pauses = b().long((start + 15 - 20).cast_unsigned()).varint(20).varint(15);
    agent.data(&mut seen, "suspend", &b().phrase(pauses));
    agent.tick(&mut seen, 1).expect("sound");
    assert_eq!(suspended(&seen).len(), 1, "there may be more pauses in it");
    agent.data(&mut seen, "suspend", &b().phrase(b().varint(100).varint(50)));
    agent.data(&mut seen, "suspend", &b().phrase(b().varint(1000).varint(6)));
    let sum = seen.count(m::SUSPENDED);
    agent.data(&mut seen, "suspend", &b().phrase(b().varint(10).varint(6)));
    assert_eq!(seen.count(m::SUSPENDED), sum, "once a second");
    agent.tick(&mut seen, 1).expect("sound");
    assert_eq!(suspended(&seen), [None, Some("65000000".to_owned())]);
    // Both calls, the shorter one to its end.
    assert_eq!(seen.count(m::SUSPENDED), (65 + 49) * 1_000_000);
    // No pause comes: it waits as it would for its names.
    agent.data(&mut seen, "calls", &long_call(5000, 150));
    agent.tick(&mut seen, 10).expect("sound");
    assert_eq!(suspended(&seen).len(), 2);
    agent.tick(&mut seen, 1).expect("sound");
    assert_eq!(suspended(&seen).len(), 3);
}

#[test]
fn pauses_behind_the_calls_count_when_the_connection_ends() {
    let (shared, mut seen) = (shared(), recorded());
    let mut agent = first(&shared, &mut seen);
    agent.open(&mut seen, "suspend", 0);
    agent.data(&mut seen, "calls", &long_call(100, 200));
    let start = seen.events(m::CALL).last().map_or(0, |call| call.stamp.as_millis());
    let pause = b().long((start + 50).cast_unsigned()).varint(100).varint(30);
    agent.data(&mut seen, "suspend", &b().phrase(pause));
    agent.close(&mut seen);
    assert_eq!(seen.count(m::SUSPENDED), 30_000_000);
}

#[test]
fn a_pause_of_the_future_is_in_no_call() {
    let (shared, mut seen) = (shared(), recorded());
    let mut agent = first(&shared, &mut seen);
    agent.open(&mut seen, "suspend", 0);
    let start = seen.events(m::CALL).last().map_or(0, |call| call.stamp.as_millis());
    // Two hours, and back again.
    let ahead = b().long(start.cast_unsigned()).varint(7_200_000).varint(50);
    agent.data(&mut seen, "suspend", &b().phrase(ahead));
    agent.data(&mut seen, "calls", &long_call(9900, 200));
    assert_eq!(records(&seen).len(), 1, "it waits for its pauses");
    let back = b().varint((-7_190_000_i32).cast_unsigned()).varint(9).varint(50).varint(20);
    agent.data(&mut seen, "suspend", &b().phrase(back));
    agent.tick(&mut seen, 1).expect("sound");
    assert_eq!((seen.count(m::SUSPENDS), seen.count(m::SUSPENDED)), (3, 29_000_000));
    assert_eq!(seen.number(m::SUSPEND_MAX), Some(50_000_000));
}

#[test]
fn what_waits_keeps_the_words_of_its_dictionary() {
    let (shared, mut seen) = (shared(), recorded());
    let mut agent = first(&shared, &mut seen);
    // One waits for pauses, one for its name.
    agent.data(&mut seen, "calls", &long_call(100, 200));
    agent.data(&mut seen, "calls", &call(b(), 3, false, &[(2, "1")]));
    assert_eq!(records(&seen), ["a.B.c"]);
    agent.open(&mut seen, "dictionary", 1);
    agent.words(&mut seen, &["call.info", "void x.Y.z() (Y.java:1)", "other", "void x.Y.u()"]);
    agent.tick(&mut seen, 20).expect("sound");
    assert_eq!(records(&seen), ["a.B.c", "a.B.c", "#3"]);
    assert_eq!((seen.count(m::NAMELESS), seen.count(m::ERRORS)), (1, 1));
    // The first dictionary has the names of what came before it.
    let mut early = Agent::connect(&shared, &mut seen, "pod_1795227999999", 2);
    early.open(&mut seen, "calls", 0);
    early.data(&mut seen, "calls", &call(header(), 1, true, &[]));
    early.open(&mut seen, "dictionary", 1);
    early.words(&mut seen, &["call.info", "void x.Y.z() (Y.java:1)"]);
    early.tick(&mut seen, 1).expect("sound");
    assert_eq!(records(&seen).last().map(String::as_str), Some("x.Y.z"));
}
