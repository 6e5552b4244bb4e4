//! Each trap of docs/protocols/mono-mlpd.md 6.

use std::collections::BTreeMap;

use super::super::jit_item;
use super::kit::{Params, Process, collection};
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::{Act, Event, clause, gc, monitor};

fn map<const N: usize>(of: [(&str, u64); N]) -> BTreeMap<String, u64> {
    of.into_iter().map(|(name, n)| (name.to_owned(), n)).collect()
}

#[test]
fn generation_0_excludes_major_collections() {
    let mut p = Process::with("gc");
    p.collect(1, 1000, &collection(0));
    p.collect(1, 2000, &collection(1));
    p.collect(1, 3000, &collection(1));
    p.flush(4000);
    assert_eq!(p.seen.rows(m::GC_COUNT), map([("gen0", 1), ("gen1", 2)]));
    assert_eq!(p.seen.rows(m::GC_TIME), map([("gen0", 10), ("gen1", 20)]));
}

#[test]
fn a_pause_begins_when_the_lock_is_held_not_when_it_is_asked_for() {
    let mut p = Process::with("gc");
    p.event(1, 1000, Event::Gc { event: gc::PRE_STOP_WORLD, generation: 0 });
    // Another thread collects meanwhile.
    p.collect(2, 2000, &collection(0));
    p.collect(1, 9000, collection(0).get(1..).unwrap());
    p.flush(10_000);
    assert_eq!(p.seen.counted(m::PAUSE_TOTAL), map([("minor", 120)]));
    assert_eq!(p.seen.counted(m::PAUSE_COUNT), map([("minor", 2)]));
    assert_eq!(p.seen.number(m::SUSPENSION), Some(20));
    assert_eq!(p.seen.number(m::PAUSE_LAST), Some(60));
}

#[test]
fn the_generation_of_other_steps_means_nothing() {
    let mut p = Process::with("gc");
    p.collect(
        1,
        1000,
        &collection(0).map(|(step, of)| (step, if step == gc::START { of } else { 7 })),
    );
    p.flush(2000);
    // END of another generation: the pause is still one of a minor collection.
    assert_eq!(p.seen.counted(m::GC_COUNT), map([("gen0", 1)]));
}

#[test]
fn a_concurrent_major_collection_is_two_pauses() {
    let mut p = Process::with("gc");
    // A whole minor collection and the start of a major one.
    p.collect(
        1,
        1000,
        &[
            (gc::PRE_STOP_WORLD_LOCKED, 0),
            (gc::POST_STOP_WORLD, 0),
            (gc::START, 0),
            (gc::END, 0),
            (gc::START, 1),
            (gc::POST_START_WORLD_UNLOCKED, 0),
        ],
    );
    // The program runs; another thread finishes.
    p.collect(
        2,
        1_001_000,
        &[
            (gc::PRE_STOP_WORLD_LOCKED, 0),
            (gc::POST_STOP_WORLD, 0),
            (gc::END, 1),
            (gc::POST_START_WORLD_UNLOCKED, 0),
        ],
    );
    p.flush(2_000_000);
    assert_eq!(p.seen.counted(m::PAUSE_TOTAL), map([("major_start", 50), ("major_finish", 30)]));
    assert_eq!(p.seen.rows(m::GC_COUNT), map([("gen0", 1), ("gen1", 1)]));
    assert_eq!(p.seen.rows(m::GC_TIME), map([("gen0", 10), ("gen1", 999_980)]));
    let kinds: Vec<_> =
        p.seen.records().into_iter().map(|r| r.param(m::P_KIND).to_owned()).collect();
    assert_eq!(kinds, ["major_start", "major_finish"]);
}

#[test]
fn a_stop_without_a_collection_is_another_kind() {
    let mut p = Process::with("gc");
    let steps = collection(0).into_iter().filter(|(step, _)| ![gc::START, gc::END].contains(step));
    p.collect(1, 1000, &steps.collect::<Vec<_>>());
    p.flush(2000);
    assert_eq!(p.seen.counted(m::PAUSE_COUNT), map([("other", 1)]));
    assert_eq!(p.seen.counted(m::GC_COUNT), map([]));
    assert_eq!(p.seen.records()[0].param(m::P_GENERATION), "");
}

#[test]
fn the_collection_at_the_end_is_no_pause() {
    for late in [false, true] {
        let mut p = Process::with("gc");
        let thread = |act, id| Event::Thread { act, id, name: b"Profiler Helper" };
        p.event(7, 10, thread(Act::Load, 7));
        p.event(7, 20, thread(Act::Name, 7));
        p.collect(1, 1000, &collection(1));
        // The buffers of a flush are not in the order of time.
        if late {
            p.collect(1, 9000, &collection(1));
        }
        p.event(7, 8000, thread(Act::Unload, 7));
        if !late {
            p.collect(1, 9000, &collection(1));
        }
        // A program that goes on has not ended.
        p.collect(1, 5_000_008_001, &collection(0));
        p.settle();
        p.end();
        assert_eq!(p.seen.rows(m::GC_COUNT), map([("gen0", 1), ("gen1", 2)]));
        let counts = map([("major", 1), ("minor", 1)]);
        assert_eq!(p.seen.counted(m::PAUSE_COUNT), counts, "{late}");
        assert_eq!(p.seen.records().len(), 2);
    }
}

#[test]
fn a_rethrow_counts_again_and_the_innermost_frame_is_the_site() {
    let mut p = Process::with("exception");
    p.method(3, "Shop.Cart:Add (int,string)");
    for _ in 0..2 {
        p.event(1, 1000, Event::Throw { object: 8, frames: &[1, 2, 3] });
    }
    p.event(1, 1001, Event::Throw { object: 8, frames: &[] });
    for kind in [clause::CATCH, clause::FINALLY, clause::FINALLY, 3, 9] {
        p.event(1, 1002, Event::Clause { kind, index: 0, method: 1, object: 8 });
    }
    p.flush(2000);
    assert_eq!(p.seen.number(m::EXCEPTIONS), Some(3));
    assert_eq!(p.seen.rows(m::SITE_EXCEPTIONS), map([("Shop.Cart:Add(int,string)", 2)]));
    assert_eq!(p.seen.rows(m::EXCEPTION_TYPE), map([]), "classes are not in the stream");
    let clauses = map([("catch", 1), ("fault", 0), ("filter", 0), ("finally", 2)]);
    assert_eq!(p.seen.rows(m::CLAUSE), clauses);
}

#[test]
fn classes_need_allocations_and_follow_moves() {
    let mut p = Process::with("exception,gcalloc,gcmove");
    p.event(1, 1, Event::Alloc { vtable: 50, object: 8, size: 24, frames: &[] });
    p.event(1, 2, Event::Moves { count: 1 });
    p.event(1, 2, Event::Move { from: 8, to: 800 });
    p.event(1, 3, Event::Throw { object: 800, frames: &[] });
    p.event(1, 3, Event::Throw { object: 8, frames: &[] });
    // The vtable and its class come later in the flush.
    p.settle();
    assert_eq!(p.seen.counted(m::EXCEPTION_TYPE), map([("?", 1)]));
    p.event(2, 0, Event::Vtable { act: Act::Load, id: 50, domain: 1, class: 60 });
    p.settle();
    p.event(3, 0, Event::Class { act: Act::Load, id: 60, image: 1, name: b"Shop.Empty" });
    p.flush(2000);
    assert_eq!(p.seen.counted(m::EXCEPTION_TYPE), map([("?", 1), ("Shop.Empty", 1)]));
    assert_eq!(p.seen.counted(m::ALLOC_TYPE_BYTES), map([("Shop.Empty", 24)]));
    assert_eq!(
        (p.seen.number(m::ALLOC_BYTES), p.seen.number(m::ALLOC_OBJECTS)),
        (Some(24), Some(1))
    );
    assert_eq!(p.seen.records()[0].param(m::P_TYPE), "Shop.Empty");
    assert_eq!(p.seen.records()[1].param(m::P_TYPE), "");
}

#[test]
fn a_wait_for_a_lock_ends_by_its_thread() {
    let mut p = Process::with("monitor");
    for (id, name) in [
        (1, "Shop:Main ()"),
        (2, "Shop:Wait ()"),
        (3, "System.Threading.Monitor:Enter (object,bool&)"),
        (4, "(wrapper managed-to-native) object:__icall_wrapper_mono_monitor_enter_v4_internal"),
    ] {
        p.method(id, name);
    }
    let event = |event, object| Event::Monitor { event, object, frames: &[1, 2, 3, 4] };
    p.event(1, 1000, event(monitor::CONTENTION, 80));
    p.event(2, 2000, event(monitor::CONTENTION, 80));
    p.event(1, 12_000_000, event(monitor::DONE, 80));
    p.event(2, 3000, event(monitor::FAIL, 80));
    p.event(3, 3000, event(monitor::DONE, 80));
    p.event(4, 3000, event(monitor::CONTENTION, 80));
    p.flush(13_000_000);
    assert_eq!(p.seen.number(m::CONTENTION_COUNT), Some(3));
    assert_eq!(p.seen.number(m::CONTENTION_FAILED), Some(1));
    assert_eq!(p.seen.number(m::CONTENTION_TIME), Some(12_000_000));
    assert_eq!(p.seen.counted(m::LOCK_COUNT), map([("Shop:Wait()", 2)]));
    assert_eq!(p.seen.counted(m::LOCK_TIME), map([("Shop:Wait()", 12_000_000)]));
    assert_eq!(p.seen.counted(m::CONTENTIONS), map([("0-10", 1), ("10000-20000", 1)]));
    assert_eq!(p.seen.records().len(), 1, "only the long one");
}

#[test]
fn all_waits_of_a_flush_have_a_length() {
    let mut p = Process::with("monitor");
    let event = |event| Event::Monitor { event, object: 80, frames: &[] };
    for wait in 0..30_000 {
        p.event(1, 20_000 * wait, event(monitor::CONTENTION));
        p.event(1, 20_000 * wait + 15_000, event(monitor::DONE));
    }
    p.flush(700_000_000);
    assert_eq!(p.seen.number(m::CONTENTION_COUNT), Some(30_000));
    assert_eq!(p.seen.counted(m::CONTENTIONS), map([("10-20", 30_000)]));
}

#[test]
fn name_events_are_not_compiled_methods() {
    let mut p = Process::with("counter");
    (0..500).for_each(|id| p.method(id, "Shop:M ()"));
    p.settle();
    assert_eq!(p.seen.number(m::JIT_METHODS), None);
    let counters =
        [("Compiled methods", 912), ("Total time spent JITting", 5), ("Native code size", 70)];
    for (name, value) in counters {
        let (item, scale) = jit_item("JIT", name).expect("a metric");
        p.runtime.total(item, value * scale);
    }
    assert_eq!(jit_item("GC", "Native code size"), None);
    p.settle();
    let jit = [m::JIT_METHODS, m::JIT_TIME, m::JIT_CODE].map(|item| p.seen.number(item));
    assert_eq!(jit, [Some(912), Some(500), Some(70)]);
}

#[test]
fn threads_of_the_runtime_are_not_the_programs() {
    let mut p = Process::with("counter");
    let names: [&[u8]; 5] =
        [b"Main", b"Finalizer", b"Profiler Helper", b"worker-1", b"Profiler Sampler"];
    for id in 0..6 {
        p.event(id, 1, Event::Thread { act: Act::Load, id, name: b"" });
    }
    p.flush(10);
    assert_eq!(p.seen.number(m::THREADS), Some(0), "names come later than loads");
    for (id, name) in (0..).zip(names) {
        p.event(id, 2, Event::Thread { act: Act::Name, id, name });
    }
    p.flush(20);
    // The one that the program began with, which it has not created, and its own.
    assert_eq!((p.seen.number(m::THREADS), p.seen.number(m::THREADS_CREATED)), (Some(2), Some(1)));
    // One never gets a name.
    (0..3).for_each(|_| p.tick());
    assert_eq!((p.seen.number(m::THREADS), p.seen.number(m::THREADS_CREATED)), (Some(3), Some(2)));
    for id in [3, 5, 5, 77] {
        p.event(id, 3, Event::Thread { act: Act::Unload, id, name: b"" });
    }
    p.event(4, 3, Event::Thread { act: Act::Load, id: 99, name: b"" });
    p.event(4, 3, Event::Thread { act: Act::Unload, id: 99, name: b"" });
    p.flush(30);
    assert_eq!((p.seen.number(m::THREADS), p.seen.number(m::THREADS_CREATED)), (Some(1), Some(3)));
}

#[test]
fn an_incomplete_heapshot_is_none() {
    let mut p = Process::with("heapshot");
    p.event(1, 0, Event::Vtable { act: Act::Load, id: 5, domain: 1, class: 6 });
    p.event(1, 0, Event::Class { act: Act::Load, id: 6, image: 1, name: b"Shop.Pear" });
    let object =
        |size| Event::HeapObject { object: 8, vtable: 5, size, generation: 1, references: 0 };
    p.event(1, 1, Event::HeapStart);
    p.event(1, 1, object(24));
    // More references of the same object.
    p.event(1, 1, object(0));
    p.flush(2);
    assert_eq!((p.seen.number(m::HEAP_SHOTS), p.seen.rows(m::LIVE_BYTES)), (Some(0), map([])));
    p.event(1, 3, Event::HeapEnd);
    p.flush(4);
    assert_eq!(p.seen.rows(m::LIVE_BYTES), map([("Shop.Pear", 24)]));
    assert_eq!(p.seen.rows(m::LIVE_OBJECTS), map([("Shop.Pear", 1)]));
    p.event(1, 5, Event::HeapStart);
    p.runtime.lost();
    p.event(1, 6, object(24));
    p.event(1, 7, Event::HeapEnd);
    p.flush(8);
    assert_eq!(p.seen.number(m::HEAP_SHOTS), Some(1));
    // Another shot without it.
    p.event(1, 9, Event::HeapStart);
    p.event(1, 9, Event::HeapEnd);
    p.flush(10);
    assert_eq!((p.seen.number(m::HEAP_SHOTS), p.seen.rows(m::LIVE_BYTES)), (Some(2), map([])));
}

#[test]
fn what_a_stream_has_begins_at_0() {
    let all = [m::EXCEPTIONS, m::CONTENTION_COUNT, m::SUSPENSION, m::ALLOC_BYTES, m::HEAP_SHOTS];
    let of = |options| {
        let mut p = Process::with(options);
        p.settle();
        all.map(|item| p.seen.number(item).is_some())
    };
    assert_eq!(of("counter"), [false; 5]);
    assert_eq!(of("exception"), [true, false, false, false, false]);
    assert_eq!(of("monitor,gc,gcalloc,heapshot"), [false, true, true, true, true]);
    let mut p = Process::with("gc");
    p.settle();
    assert_eq!(p.seen.rows(m::GC_COUNT), map([("gen0", 0), ("gen1", 0)]));
}

#[test]
fn sums_of_a_program_have_no_kinds_and_wait_for_its_name() {
    let mut p = Process::with("gc,exception,monitor");
    p.collect(1, 1000, &collection(0));
    p.event(1, 1500, Event::Throw { object: 8, frames: &[] });
    p.flush(1600);
    assert_eq!(p.seen.rows(m::PROGRAM_GC_COUNT), map([]));
    let (table, key) = (m::PROGRAMS, Some("shop.exe"));
    p.seen.row(table, 0, key);
    p.runtime.of_program(None);
    p.collect(1, 2000, &collection(1));
    p.event(1, 3000, Event::Monitor { event: monitor::CONTENTION, object: 8, frames: &[] });
    p.event(1, 3700, Event::Monitor { event: monitor::DONE, object: 8, frames: &[] });
    p.flush(4000);
    for (item, sum) in [
        (m::PROGRAM_GC_COUNT, 2),
        (m::PROGRAM_PAUSE_COUNT, 2),
        (m::PROGRAM_PAUSE_TOTAL, 120),
        (m::PROGRAM_EXCEPTIONS, 1),
        (m::PROGRAM_CONTENTION_COUNT, 1),
        (m::PROGRAM_CONTENTION_TIME, 700),
    ] {
        assert_eq!(p.seen.rows(item), map([("shop.exe", sum)]), "{item:?}");
    }
}

#[test]
fn what_is_lost_leaves_nothing_open() {
    let mut p = Process::with("gc,monitor");
    p.event(1, 1000, Event::Monitor { event: monitor::CONTENTION, object: 8, frames: &[] });
    p.collect(1, 1000, collection(1).get(..4).unwrap());
    p.runtime.lost();
    p.event(1, 99_000, Event::Monitor { event: monitor::DONE, object: 8, frames: &[] });
    p.collect(1, 99_000, collection(1).get(4..).unwrap());
    p.flush(100_000);
    assert_eq!(p.seen.number(m::CONTENTION_TIME), Some(0));
    assert_eq!(p.seen.counted(m::PAUSE_COUNT), map([]));
    assert_eq!(p.seen.counted(m::GC_TIME), map([]));
}
