use std::time::Duration;

use super::captures::play;
use crate::contract::{Identity, Recorded};
use crate::model::{HeapSize, Value};
use crate::sources::Source;
use crate::sources::dotnet::meter::{At, Counter, Meter, Settings};
use crate::sources::dotnet::wire::clr::{Decoded, Utf16};
use crate::sources::dotnet::{Dotnet, metrics as m};

const EVENTS: Settings = Settings { runtime_events: true, no_counters: false, from_start: false };

fn started(settings: Settings) -> (Meter, Recorded) {
    let (mut meter, mut seen) = (Meter::new(settings), Recorded::new(&Dotnet::TABLE));
    meter.start("p:1", &mut seen);
    (meter, seen)
}

fn exception<'a>(kind: &'a [u8]) -> Decoded<'a> {
    let (kind, message) = (Utf16::new(kind), Utf16::default());
    Decoded::Exception { kind, message, address: 0, hresult: 0, flags: 7, clr: 0 }
}

#[test]
fn an_idle_process_takes_little_memory_and_loses_no_sum() {
    let (mut meter, mut seen) = started(EVENTS);
    let mut second = 0;
    for n in 0..300_u64 {
        let kind: Vec<u8> = format!("T{n}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        meter.clr(&At::default(), &exception(&kind), &mut seen);
        second += 20;
        meter.tick(Duration::from_secs(second), None, &mut seen);
        meter.tick(Duration::from_secs(second + 16), None, &mut seen);
    }
    let rows = seen.counted(m::EXCEPTION_TYPE);
    assert_eq!((rows.len(), rows.values().sum::<u64>()), (300, 300));
    assert_eq!(seen.count(m::NESTED), 300);
    assert!(meter.heap_size() < 10_000, "{}", meter.heap_size());

    let (mut meter, mut seen) = started(EVENTS);
    meter.clr(&At::default(), &Decoded::Unknown, &mut seen);
    assert!(meter.heap_size() > 300);
    meter.tick(Duration::from_secs(1), None, &mut seen);
    meter.tick(Duration::from_secs(20), None, &mut seen);
    assert!(meter.heap_size() < 10, "{}", meter.heap_size());
    assert_eq!(seen.count(m::UNKNOWN), 1);
}

#[test]
fn totals_of_the_process_are_unknown_until_they_come() {
    let (mut meter, seen) = (Meter::new(EVENTS), Recorded::new(&Dotnet::TABLE));
    let mut peer = seen.peer_with_sums();
    peer.is(Identity { name: "p:1".into(), ..Identity::default() });
    meter.start("p:1", &mut peer);
    peer.flush();
    assert_eq!((seen.value(m::JIT_METHODS), seen.value(m::JIT_IL_BYTES)), (None, None));
    assert_eq!(seen.number(m::EXCEPTIONS), Some(0));
}

#[test]
fn pauses_are_kept_for_a_minute() {
    let (mut meter, mut seen) = started(EVENTS);
    let at = |time| At { time, ..At::default() };
    for (begin, end) in [(0, 300_000), (400_000, 402_000)] {
        meter.clr(&at(begin), &Decoded::SuspendBegin { reason: 1, count: 0, clr: 0 }, &mut seen);
        meter.clr(&at(end), &Decoded::RestartEnd { clr: 0 }, &mut seen);
    }
    assert_eq!((seen.count(m::PAUSE_MAX), seen.count(m::PAUSE_LAST)), (300_000, 2000));
    assert_eq!(seen.cell(m::PAUSES, "200-500"), Some(1));
    let mut memory = |second| {
        meter.tick(Duration::from_secs(second), None, &mut seen);
        meter.heap_size()
    };
    assert!(memory(1000) > 1000 && memory(1040) > 1000);
    assert!(memory(1061) < 10, "percentiles of the program have them no more");
}

#[test]
fn figures_of_events_and_counters_are_counted_once() {
    let report = |meter: &mut Meter, seen: &mut Recorded, second| {
        let now = Duration::from_secs(second);
        for (counter, value) in [
            (Counter::Exceptions, 3.0),
            (Counter::Gen1Count, 2.0),
            (Counter::PauseTime, 1.5),
            (Counter::Allocated, 4096.0),
            (Counter::WorkingSet, 1.25),
            (Counter::Methods, 200.0 + 1.0),
        ] {
            meter.counter(now, counter, value, 1.0, seen);
        }
    };
    let tick = Decoded::AllocationTick {
        amount: 100,
        kind: 1,
        clr: 0,
        amount64: 100,
        type_id: 0,
        type_name: Utf16::default(),
        heap: 0,
        address: 0,
        object_size: 0,
    };
    let (mut meter, mut seen) = started(EVENTS);
    assert_eq!(seen.value(m::JIT_METHODS), None, "the total is not known");
    meter.clr(&At::default(), &tick, &mut seen);
    meter.clr(&At::default(), &exception(b"A\0"), &mut seen);
    report(&mut meter, &mut seen, 1);
    report(&mut meter, &mut seen, 2);
    assert_eq!((seen.count(m::ALLOC_BYTES), seen.count(m::ALLOC_LARGE)), (8192, 100));
    // One of the exceptions is an event, all are counted; so are collections whose events were lost.
    assert_eq!((seen.count(m::EXCEPTIONS), seen.count(m::JIT_METHODS)), (6, 201));
    assert_eq!(seen.cell(m::EXCEPTION_TYPE, "A"), Some(1));
    assert_eq!((seen.cell(m::GC_COUNT, "gen1"), seen.cell(m::GC_OWN, "gen1")), (Some(4), Some(0)));
    assert_eq!(seen.count(m::WORKING_SET), 1_250_000);
    meter.tick(Duration::from_secs(4), None, &mut seen);
    assert_eq!(seen.count(m::WORKING_SET), 1_250_000);
    meter.tick(Duration::from_secs(6), None, &mut seen);
    assert_eq!(seen.value(m::WORKING_SET), None, "three intervals without a report");

    let (mut meter, mut seen) = started(Settings { runtime_events: false, ..EVENTS });
    report(&mut meter, &mut seen, 1);
    assert_eq!((seen.count(m::EXCEPTIONS), seen.count(m::PAUSE_TOTAL)), (3, 1_500_000));
    assert_eq!(seen.cell(m::GC_COUNT, "gen1"), Some(2));

    // .NET Core 3.1 has no counter of methods: those of events count once that is known.
    let (mut meter, mut seen) = started(EVENTS);
    let loaded = Decoded::MethodLoad {
        method: 1,
        module: 1,
        address: 1,
        size: 10,
        token: 1,
        flags: 8 | 3 << 7,
        namespace: Utf16::default(),
        name: Utf16::default(),
        signature: Utf16::default(),
        clr: 0,
        rejit: 0,
    };
    meter.clr(&At::default(), &loaded, &mut seen);
    for second in 1..=2 {
        assert_eq!(seen.value(m::JIT_METHODS), None);
        meter.counter(Duration::from_secs(second), Counter::CpuUsage, 1.0, 1.0, &mut seen);
        meter.tick(Duration::from_secs(second), None, &mut seen);
    }
    assert_eq!((seen.count(m::JIT_METHODS), seen.cell(m::JIT_TIER, "quick")), (1, Some(1)));
}

#[test]
fn threads_of_the_pool_are_those_of_events_when_counters_no_longer_come() {
    let (mut meter, mut seen) = started(EVENTS);
    let worker = |meter: &mut Meter, seen: &mut Recorded, active| {
        meter.clr(&At::default(), &Decoded::WorkerStart { active, retired: 0, clr: 0 }, seen);
    };
    meter.counter(Duration::from_secs(1), Counter::PoolThreads, 9.0, 1.0, &mut seen);
    worker(&mut meter, &mut seen, 4);
    assert_eq!(seen.count(m::POOL_THREADS), 9, "the counter has all");
    meter.stream(Settings { no_counters: true, ..EVENTS }, &mut seen);
    worker(&mut meter, &mut seen, 5);
    assert_eq!(seen.count(m::POOL_THREADS), 5);
}

#[test]
fn what_only_counters_count_has_no_value_without_them() {
    let (mut meter, mut seen) = started(EVENTS);
    let values = |seen: &Recorded| {
        [m::ALLOC_BYTES, m::POOL_COMPLETED, m::JIT_TIME, m::JIT_METHODS].map(|item| {
            assert_eq!(seen.value(m::EXCEPTIONS), Some(Value::U64(0)), "events count it");
            seen.value(item).is_some()
        })
    };
    assert_eq!(values(&seen), [true, true, true, false]);
    let only = Settings { no_counters: true, ..EVENTS };
    meter.stream(only, &mut seen);
    assert_eq!(values(&seen), [false; 4]);
    assert_eq!(values(&started(only).1), [false; 4]);
    // Collections tell the size of the heap and their share of time; nobody tells assemblies.
    let at = |time| At { time, ..At::default() };
    for time in [100, 1100] {
        meter.clr(&at(time), &Decoded::SuspendBegin { reason: 1, count: 0, clr: 0 }, &mut seen);
        meter.clr(&at(time + 100), &Decoded::RestartEnd { clr: 0 }, &mut seen);
    }
    assert_eq!(seen.value(m::TIME_IN_GC), Some(Value::F64(10.0)));
    assert_eq!(seen.value(m::ASSEMBLIES), None);
    meter.stream(EVENTS, &mut seen);
    assert_eq!(values(&seen), [true, true, true, false], "as before");
}

#[test]
fn locks_have_names() {
    let (mut meter, mut seen) = started(EVENTS);
    let mut wait = |lock, method, from, to, duration| {
        let at = |time| At { time, capture_thread: 7, method, ..At::default() };
        let begin = Decoded::ContentionStart { flags: 0, clr: 0, lock, object: 0, owner: 9 };
        meter.clr(&at(from), &begin, &mut seen);
        let stop = Decoded::ContentionStop { flags: 0, clr: 0, duration };
        meter.clr(&at(to), &stop, &mut seen)
    };
    assert!(wait(0xab, None, 10, 40_000, 30_000.0).is_some());
    wait(0xab, None, 10, 20_010, 0.0);
    wait(0xab, Some("My.Shop.Buy"), 10, 20, 7.0);
    wait(0, None, 10, 20, 7.0);
    assert_eq!(seen.count(m::CONTENTION_TIME), 50_014);
    assert_eq!(seen.cell(m::LOCK_TIME, "lock@ab"), Some(50_000));
    assert_eq!(seen.cell(m::LOCK_COUNT, "My.Shop.Buy"), Some(1));
    assert_eq!(seen.counted(m::CONTENTIONS)["20-50"], 2);
    // A wait of another stream has no end in this one.
    let begin = Decoded::ContentionStart { flags: 0, clr: 0, lock: 1, object: 0, owner: 0 };
    meter.clr(&At::default(), &begin, &mut seen);
    meter.stream(EVENTS, &mut seen);
    let stop = Decoded::ContentionStop { flags: 0, clr: 0, duration: 0.0 };
    assert_eq!(meter.clr(&At { time: 99, ..At::default() }, &stop, &mut seen), None);
}

#[test]
fn starvation_is_counted() {
    let (mut meter, mut seen) = started(EVENTS);
    for reason in [6, 6, 3] {
        let event = Decoded::PoolAdjustment { throughput: 1.5, target: 4, reason, clr: 0 };
        assert!(meter.clr(&At::default(), &event, &mut seen).is_some());
    }
    assert_eq!((seen.count(m::STARVATION), seen.count(m::POOL_TARGET)), (2, 4));
    assert_eq!(seen.cell(m::ADJUSTMENT, "starvation"), Some(2));
}

#[test]
fn values_have_their_units() {
    let played = play("default-9");
    assert!(matches!(played.seen.value(m::MEMORY_LOAD), Some(Value::U64(1..=100))));
    assert!(played.seen.count(m::CAUGHT) >= 30);
    assert!(played.seen.cell(m::HEAP_SIZE, "gen2").is_some_and(|size| size > 10_000));
}
