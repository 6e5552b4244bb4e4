use super::*;
use crate::contract::{Recorded, RecordedEvent};
use crate::model::{Memory, Purpose};
use crate::sources::Source;
use crate::sources::profiler::Profiler;
use crate::sources::profiler::dictionary::Text;
use crate::sources::profiler::dictionary::shared::Interner;
use crate::sources::profiler::limits::{TREE_PEER, TREE_ROOT};
use crate::sources::profiler::meter::roles::ParamRoles;
use crate::sources::profiler::meter::stacks::Stacks;
use crate::sources::profiler::streams::record::{
    BigValue, Block, Pause, Reference, TagValue, TraceEvent, TraceKind,
};

/// One connection of a pod, whose words are `w.C0.run` and so on.
struct Pod {
    stacks: Stacks,
    pauses: Pauses,
    roles: ParamRoles,
    words: Dictionary,
    seen: Recorded,
    now: Duration,
    events: u32,
}

struct Service {
    memory: Arc<Memory>,
    slow: Arc<SlowCalls>,
}

impl Service {
    fn new(rules: TreeRules) -> Self {
        let memory = Arc::new(Memory::default());
        let slow = Arc::new(SlowCalls::new(&memory));
        slow.set_rules(rules);
        Self { memory, slow }
    }

    fn pod(&self) -> Pod {
        let mut pod = Pod {
            stacks: Stacks::new(Trees::new(Arc::clone(&self.slow))),
            pauses: Pauses::default(),
            roles: ParamRoles::default(),
            words: Dictionary::new(Arc::new(Interner::new(1 << 20))),
            seen: Recorded::new(&Profiler::TABLE),
            now: Duration::ZERO,
            events: 0,
        };
        pod.stacks.trees.join("s", &mut pod.seen);
        pod.stacks.watch(&pod.seen);
        (0..10).for_each(|n| pod.word(&format!("void w.C{n}.run() (C.java:1)")));
        pod
    }
}

fn rules(count: usize) -> TreeRules {
    TreeRules { count, ..TreeRules::default() }
}

impl Pod {
    fn word(&mut self, word: &str) {
        let bytes: Vec<u8> = word.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert!(self.words.put(None, Text::new(&bytes, bytes.len() as u32 / 2)).1);
    }

    fn at(&mut self, thread: u64, time_ms: i64, kind: TraceKind<'_>) {
        self.events += 1;
        let block = Block { file: 1, offset: 8, thread, ..Block::default() };
        self.stacks.event(&block, &TraceEvent { index: self.events, time_ms, kind });
    }

    fn enter(&mut self, thread: u64, time_ms: i64, method: u32) {
        self.at(thread, time_ms, TraceKind::Enter { method });
    }

    fn exit(&mut self, thread: u64, time_ms: i64) {
        self.at(thread, time_ms, TraceKind::Exit);
    }

    /// A root of method 0, which calls 1 for half of its time; then the record of the call.
    fn root(&mut self, thread: u64, begin_ms: i64, took: i64) {
        self.enter(thread, begin_ms, 0);
        let index = self.events;
        self.enter(thread, begin_ms, 1);
        self.exit(thread, begin_ms + took / 2);
        self.exit(thread, begin_ms + took);
        self.call(index, took);
    }

    fn call(&mut self, index: u32, took: i64) {
        let pointer = Pointer { file: 1, offset: 8, index };
        let duration_ms = took.unsigned_abs();
        let cpu_ms = 3;
        self.stacks.trees.call(&Call { pointer, duration_ms, cpu_ms, ..Call::EMPTY });
    }

    fn pause(&mut self, end_ms: i64, duration_ms: u32) {
        self.pauses.add(&Pause { end_ms, duration_ms });
    }

    /// A second of the connection.
    fn second(&mut self, second: u64, end: bool) -> Vec<RecordedEvent> {
        self.now = Duration::from_secs(second);
        self.stacks.trees.now = self.now;
        let Self { stacks, pauses, roles, words, seen, now, .. } = self;
        stacks.trees.report(*now, (words, pauses, roles), seen, end);
        seen.flush();
        std::mem::take(&mut seen.log_mut().events)
    }

    /// Trees of a second.
    fn trees(&mut self, second: u64) -> Vec<String> {
        texts(&self.second(second, false))
    }
}

fn texts(events: &[RecordedEvent]) -> Vec<String> {
    events.iter().map(|event| event.get("tree").expect("a tree").to_owned()).collect()
}

fn durations(events: &[RecordedEvent]) -> Vec<u64> {
    let ms = |event: &RecordedEvent| {
        event.get("duration").and_then(|ns| ns.parse::<u64>().ok()).map_or(0, |ns| ns / 1_000_000)
    };
    let mut all: Vec<_> = events.iter().map(ms).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_tree_comes_when_its_window_is_over_and_all_is_known() {
    let service = Service::new(rules(2));
    let mut pod = service.pod();
    pod.root(7, 1000, 200);
    pod.root(7, 2000, 99);
    pod.pause(1150, 20);
    pod.pause(3000, 20);
    assert_eq!(pod.trees(29), [""; 0]);
    let records = pod.second(30, false);
    assert_eq!(texts(&records), ["0,200000,100000,20000,1,C0.run 1,100000,100000,0,1,C1.run"]);
    assert_eq!(
        (records[0].get("suspended"), records[0].get("nodes"), records[0].get("cpu")),
        (Some("20000000"), Some("2"), Some("3000000"))
    );
    assert_eq!((pod.seen.count(m::TREES), pod.seen.count(m::TREES_PARTIAL)), (1, 0));
    assert_eq!((pod.trees(31), service.memory.held(Purpose::Trees)), (vec![], 0));
}

#[test]
fn the_slowest_of_a_service_are_of_all_its_pods() {
    let service = Service::new(rules(3));
    let mut pods: Vec<_> = (0..3).map(|_| service.pod()).collect();
    for n in 0..300 {
        let pod = &mut pods[n % 3];
        pod.root(7, 1000 * n as i64, 100 + (n as i64 * 131) % 300);
    }
    // One is restarted: its trees come with its end.
    let mut gone = pods.remove(1);
    let mut found = durations(&gone.second(20, true));
    let mut again = service.pod();
    again.second(20, false);
    again.root(7, 0, 5000);
    pods.push(again);
    // The next window.
    for pod in &mut pods {
        pod.pause(1_000_000, 6);
        found.extend(durations(&pod.second(30, false)));
        pod.root(8, 0, 150);
    }
    found.sort_unstable();
    let expected = &[398, 399, 5000];
    assert!(found.ends_with(expected) && found.len() <= 4, "{found:?}");
    for pod in &mut pods {
        assert_eq!(durations(&pod.second(60, false)), [150]);
    }
    assert_eq!(service.memory.held(Purpose::Trees), 0);
}

#[test]
fn pauses_may_come_after_the_root() {
    let service = Service::new(rules(9));
    let mut pod = service.pod();
    pod.second(25, false);
    // Pauses that begin before it, end behind it, and are far too long.
    pod.root(7, 10_000, 200);
    pod.root(7, 11_000, 200);
    pod.root(7, 12_000, 200);
    assert_eq!(pod.trees(30), [""; 0], "there may be a pause in them");
    pod.pause(10_020, 50);
    pod.pause(11_250, 100);
    let stops = |trees: &[String]| {
        let stop = |tree: &String| tree.split(',').nth(3).map(str::to_owned);
        trees.iter().filter_map(stop).collect::<Vec<_>>()
    };
    assert_eq!(stops(&pod.trees(31)), ["20000", "50000"]);
    assert_eq!(pod.trees(35), [""; 0]);
    pod.pause(20_000, u32::MAX);
    assert_eq!(stops(&pod.trees(35)), ["200000"]);
    pod.root(7, 30_000, 200);
    assert_eq!(pod.trees(60), ["0,200000,100000,0,1,C0.run 1,100000,100000,0,1,C1.run"], "11 s");
}

#[test]
fn names_may_come_late_or_never() {
    let service = Service::new(rules(9));
    let mut pod = service.pod();
    pod.pause(1_000_000, 6);
    pod.second(29, false);
    for method in [10, 11] {
        pod.enter(7, 0, method);
        let index = pod.events;
        pod.exit(7, 150);
        pod.call(index, 150);
    }
    // A name within the tree.
    pod.enter(7, 200, 0);
    let index = pod.events;
    pod.enter(7, 200, 12);
    (0..2).for_each(|_| pod.exit(7, 400));
    pod.call(index, 200);
    assert_eq!(pod.trees(30), [""; 0]);
    pod.word("void late.D.go() (D.java:1)");
    assert_eq!(pod.trees(39), ["0,150000,150000,0,1,D.go"]);
    assert_eq!(
        pod.trees(40),
        ["0,150000,150000,0,1,#11", "0,200000,0,0,1,C0.run 1,200000,200000,0,1,#12"]
    );
}

#[test]
fn calls_that_cannot_be_among_the_slowest_push_none_out() {
    let service = Service::new(rules(1));
    let mut pod = service.pod();
    pod.pause(1_000_000, 6);
    pod.root(7, 0, 500);
    pod.enter(8, 0, 0);
    pod.call(pod.events, 600);
    (0..2 * TREE_CALLS as u32).for_each(|n| pod.call(1000 + n, 500));
    assert_eq!(pod.stacks.trees.calls.len(), 1);
    pod.exit(8, 600);
    let records = pod.second(30, false);
    assert_eq!((durations(&records), records[0].get("cpu")), (vec![600], Some("3000000")));
}

#[test]
fn a_short_call_has_no_root_that_waits() {
    let service = Service::new(rules(9));
    let mut pod = service.pod();
    pod.enter(7, 0, 0);
    let index = pod.events;
    pod.exit(7, 150);
    pod.call(index, 99);
    assert_eq!(pod.second(9, true)[0].get("cpu"), None);
}

#[test]
fn a_call_has_one_trace_and_one_title() {
    let service = Service::new(rules(9));
    let mut pod = service.pod();
    ["trace.id", "brave.trace_id", "call.red"].into_iter().for_each(|word| pod.word(word));
    pod.root(7, 0, 150);
    let own = pod.stacks.trees.roots[0].call.as_mut().expect("its call");
    (own.params, own.text) = (vec![(10, 1), (11, 2), (12, 2)], "ab".into());
    let records = pod.second(9, true);
    let ids = records[0].params.iter().filter(|(name, _)| name == "trace.id");
    assert_eq!(ids.map(|(_, value)| &**value).collect::<Vec<_>>(), ["a"]);
    assert_eq!(records[0].get("error"), Some("1"));
}

#[test]
fn a_call_may_come_before_its_root_or_never() {
    let service = Service::new(rules(9));
    let mut pod = service.pod();
    pod.pause(1_000_000, 6);
    pod.second(29, false);
    pod.enter(7, 0, 0);
    pod.call(pod.events, 150);
    pod.exit(7, 150);
    pod.enter(7, 1000, 0);
    pod.exit(7, 1160);
    let records = pod.second(30, false);
    assert_eq!((durations(&records), records[0].get("cpu")), (vec![150], Some("3000000")));
    let records = pod.second(40, false);
    assert_eq!((durations(&records), records[0].get("cpu")), (vec![160], None));
    for n in 0..100 {
        pod.call(1000 + n, 500);
    }
    assert_eq!(pod.stacks.trees.calls.len(), TREE_CALLS);
    pod.second(52, false);
    assert_eq!(pod.stacks.trees.calls.len(), 0);
}

#[test]
fn statements_are_counted() {
    let service = Service::new(rules(9));
    let mut pod = service.pod();
    pod.word("sql");
    pod.word("node.name");
    pod.enter(7, 0, 0);
    for (param, value) in [
        (10, TagValue::Sql(Reference { file: 1, offset: 300 })),
        (10, TagValue::Sql(Reference { file: 1, offset: 70_000 })),
        (10, TagValue::Inline(Text::default())),
        (11, TagValue::Sql(Reference { file: 1, offset: u32::MAX })),
        (11, TagValue::Xml(Reference { file: u32::MAX, offset: 7 })),
    ] {
        pod.at(7, 50, TraceKind::Tag { param, value });
        pod.enter(7, 60, 1);
        pod.exit(7, 60);
    }
    let text: Vec<u8> = "select *\n  from t".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let text = Text::new(&text, text.len() as u32 / 2);
    pod.stacks.trees.sql(&BigValue { file: 1, offset: 70_000, text });
    // One of a method that takes time.
    pod.enter(7, 70, 2);
    let at = Reference { file: 1, offset: 70_000 };
    pod.at(7, 70, TraceKind::Tag { param: 10, value: TagValue::Sql(at) });
    pod.exit(7, 90);
    pod.exit(7, 150);
    let records = pod.second(9, true);
    assert_eq!(records[0].get("statements"), Some("3"));
    assert_eq!(records[0].get("sql"), Some("2,170000,select * from t\n1,0,#1:300"));
    assert_eq!(
        texts(&records),
        ["0,150000,130000,0,1,C0.run 1,20000,20000,0,1,C2.run 1,0,,,5,others"]
    );
}

#[test]
fn what_is_kept_is_bounded() {
    let service = Service::new(rules(50));
    let mut pod = service.pod();
    // A root that does not end has its part, and others are right.
    pod.enter(50, 0, 0);
    for n in 0..i64::try_from(TREE_ROOT).expect("small") {
        pod.enter(50, n, 2);
        pod.exit(50, n);
    }
    let held = service.memory.held(Purpose::Trees);
    assert!(held <= TREE_ROOT && held > TREE_ROOT - 10, "{held}");
    pod.root(101, 0, 300);
    // Thirty more use up the connection's.
    for thread in 0..31 {
        pod.enter(thread, 0, 0);
    }
    let pairs = 2 * TREE_ROOT / 5;
    for n in 0..pairs {
        for thread in 0..31 {
            pod.enter(thread, 100 + n as i64, 2);
            pod.exit(thread, 100 + n as i64);
        }
    }
    let held = service.memory.held(Purpose::Trees);
    assert!(held <= TREE_PEER && held > TREE_PEER - 100, "{held}");
    assert_eq!(held, pod.stacks.trees.charged());
    // A root that is short finds no room for what it has called.
    pod.root(100, 0, 400);
    for thread in 1..31 {
        pod.exit(thread, 1_000_000);
    }
    let mut records = pod.second(30, true);
    records.sort_by_key(|record| durations(std::slice::from_ref(record)));
    assert_eq!(records.len(), 32);
    assert_eq!(
        records[0].get("tree"),
        Some("0,300000,150000,0,1,C0.run 1,150000,150000,0,1,C1.run")
    );
    assert_eq!(records[1].get("tree"), Some("0,400000,0,0,1,C0.run 1,400000,,,0,others"));
    assert_eq!(pod.seen.count(m::TREES_PARTIAL), 31);
    for record in &records[2..] {
        let tree = record.get("tree").expect("a tree");
        assert_eq!(record.get("partial"), Some("1"));
        let entries: Vec<Vec<&str>> =
            tree.split(' ').map(|entry| entry.split(',').collect()).collect();
        let time =
            |entry: &Vec<&str>| entry[if entry[2].is_empty() { 1 } else { 2 }].parse::<i64>();
        let sum: i64 = entries.iter().filter_map(|entry| time(entry).ok()).sum();
        assert_eq!((sum, entries[0][1]), (1_000_000_000, "1000000000"), "{tree}");
    }
    drop(pod);
    assert_eq!(service.memory.held(Purpose::Trees), 0, "also of what is open");
}

#[test]
fn what_is_lost_costs_only_its_root() {
    let service = Service::new(rules(50));
    let mut pod = service.pod();
    // EXITs without ENTERs, ten thousand levels, jumps of the clock.
    (0..5).for_each(|n| pod.exit(7, n));
    (0..10_000).for_each(|n| pod.enter(7, n, 3));
    (0..10_000).for_each(|n| pod.exit(7, 20_000 + n));
    pod.enter(8, 0, 0);
    pod.enter(8, i64::from(u32::MAX), 1);
    pod.exit(8, 2 * i64::from(u32::MAX));
    pod.exit(8, 2 * i64::from(u32::MAX));
    pod.enter(9, i64::MAX, 0);
    pod.exit(9, i64::MIN);
    pod.enter(9, i64::MIN, 0);
    pod.exit(9, i64::MAX);
    // Reading stops while a root is open: it has no tree.
    pod.enter(11, 0, 0);
    pod.seen.log_mut().watched = false;
    pod.stacks.watch(&pod.seen);
    pod.seen.log_mut().watched = true;
    pod.stacks.watch(&pod.seen);
    pod.exit(11, 333);
    pod.root(10, 0, 400);
    let records = pod.second(30, true);
    let trees = texts(&records);
    let levels = trees.iter().find(|tree| tree.contains("C3.run")).expect("its tree");
    // The frames beyond 128 are no nodes, and their time is there.
    assert!(levels.starts_with("0,29999000,2000,0,1,C3.run 1,29997000"), "{levels}");
    assert!(levels.contains(" 127,") && !levels.contains(" 129,"), "{levels}");
    let max = i64::from(u32::MAX) * 1000;
    let jump = format!("0,{},{max},0,1,C0.run 1,{max},{max},0,1,C1.run", 2 * max);
    assert!(trees.contains(&jump), "{trees:?}");
    assert!(trees.iter().any(|tree| tree.starts_with("0,400000,200000,0,1,C0.run 1,200000")));
    assert!(!trees.iter().any(|tree| tree.starts_with("0,333000")));
}

#[test]
fn a_new_dictionary_drops_what_waits() {
    let service = Service::new(rules(50));
    let mut pod = service.pod();
    pod.root(7, 0, 400);
    pod.enter(7, 0, 0);
    pod.enter(7, 0, 0);
    let Pod { stacks, seen, .. } = &mut pod;
    stacks.reset_dictionary(seen);
    assert_eq!((pod.trees(60), pod.seen.count(m::TREES_DROPPED)), (vec![], 1));
    assert_eq!(service.memory.held(Purpose::Trees), 0);
    pod.root(7, 0, 300);
    assert_eq!(durations(&pod.second(60, true)), [300]);
}
