//! Event records.

use super::kit::{Params, Process, collection};
use crate::model::{HeapSize, Stamp};
use crate::sources::mono::limits::{RECORD_STACK, RECORDS_A_SECOND, WAITING_RECORDS};
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::{Act, Event, monitor};

const SECOND: u64 = 1_000_000_000;

#[test]
fn records_of_a_flush_are_in_the_order_of_time() {
    let mut p = Process::with("gc,exception,monitor");
    let threw = |p: &mut Process, thread, time| {
        p.event(thread, time, Event::Throw { object: 8, frames: &[1, 2] });
    };
    // The buffers of two threads, and a part of the next flush.
    [5, 7, 9].iter().for_each(|time| threw(&mut p, 1, time * SECOND));
    [4, 6, 8].iter().for_each(|time| threw(&mut p, 2, time * SECOND));
    p.settle();
    assert!(p.seen.records().is_empty(), "older ones may come");
    threw(&mut p, 3, 3 * SECOND);
    p.flush(7 * SECOND);
    let times = |p: &Process| p.seen.records().into_iter().map(|r| r.stamp.sec).collect::<Vec<_>>();
    assert_eq!(times(&p), [3, 4, 5, 6, 7]);
    (0..4).for_each(|_| p.tick());
    assert_eq!(times(&p), [3, 4, 5, 6, 7, 8, 9], "nothing waits for ever");
}

#[test]
fn a_record_has_what_is_known() {
    let mut p = Process::with("gc,exception,monitor");
    for (id, name) in [(1, "Shop:Main ()"), (2, "Shop:Pay (int)"), (3, "(wrapper x) y")] {
        p.method(id, name);
    }
    p.event(5, 1, Event::Thread { act: Act::Name, id: 5, name: b"worker-1" });
    p.event(5, SECOND, Event::Throw { object: 8, frames: &[1, 2] });
    let event = |event| Event::Monitor { event, object: 0xabc0, frames: &[1, 2, 3] };
    p.event(5, 2 * SECOND, event(monitor::CONTENTION));
    p.event(5, 3 * SECOND, event(monitor::FAIL));
    p.event(6, 4 * SECOND, Event::HeapResize { size: 4096 });
    p.collect(6, 4 * SECOND, &collection(1));
    p.flush(5 * SECOND);
    let all: Vec<_> = p
        .seen
        .records()
        .iter()
        .map(|r| {
            let params = [m::P_SITE, m::P_THREAD, m::P_THREAD_NAME, m::P_STACK, m::P_LOCK];
            let more = [m::P_RESULT, m::P_DURATION, m::P_KIND, m::P_PAUSE, m::P_SUSPENSION];
            let rest = [m::P_GENERATION, m::P_AFTER];
            let texts = params.iter().chain(&more).chain(&rest).map(|item| r.param(*item));
            (r.kind, r.stamp, texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let at = |sec, nsec| Stamp { sec, nsec };
    assert_eq!(
        all,
        [
            (m::EXCEPTION, at(1, 0), "Shop:Pay(int) 5 worker-1 Shop:Main ();Shop:Pay (int)".into()),
            (
                m::CONTENTION,
                at(3, 0),
                "Shop:Pay(int) 5 worker-1 Shop:Main ();Shop:Pay (int);(wrapper x) y lock@abc0 \
                 failed 1000000000"
                    .to_owned()
            ),
            (m::GC, at(4, 70), "6 major 60 10 1 4096".to_owned()),
        ]
    );
}

#[test]
fn a_thread_has_the_name_that_it_had_then() {
    let mut p = Process::with("exception");
    let threads = |p: &mut Process, time, act, name| {
        p.event(4, time * SECOND, Event::Thread { act, id: 5, name });
    };
    let threw = |p: &mut Process, time| {
        p.event(5, time * SECOND, Event::Throw { object: 8, frames: &[] });
    };
    threads(&mut p, 1, Act::Name, b"customer");
    threads(&mut p, 3, Act::Unload, b"");
    threads(&mut p, 5, Act::Name, b"worker");
    [2, 4, 6].iter().for_each(|time| threw(&mut p, *time));
    p.flush(7 * SECOND);
    threw(&mut p, 8);
    threads(&mut p, 9, Act::Unload, b"");
    p.flush(10 * SECOND);
    threw(&mut p, 11);
    p.flush(12 * SECOND);
    let records = p.seen.records();
    let names: Vec<_> = records.iter().map(|r| r.param(m::P_THREAD_NAME)).collect();
    assert_eq!(names, ["customer", "", "worker", "worker", ""]);
}

#[test]
fn a_second_has_at_most_its_records_and_the_rest_is_counted() {
    let mut p = Process::with("exception");
    let many = u64::from(RECORDS_A_SECOND) + 50;
    (0..many).for_each(|n| p.event(1, SECOND + n, Event::Throw { object: 8, frames: &[] }));
    p.event(1, 2 * SECOND, Event::Throw { object: 8, frames: &[] });
    p.flush(3 * SECOND);
    assert_eq!(p.seen.records().len() as u64, u64::from(RECORDS_A_SECOND) + 1);
    assert_eq!(
        (p.seen.number(m::MISSED), p.seen.number(m::EXCEPTIONS)),
        (Some(50), Some(many + 1))
    );
}

#[test]
fn stacks_and_waiting_records_are_bounded() {
    let mut p = Process::with("exception");
    let name = format!("Shop:{} ()", "x".repeat(1000));
    (1..=132).for_each(|id| p.method(id, &name));
    p.method(133, "Shop:Innermost ()");
    let frames: Vec<u64> = (1..=133).collect();
    p.event(1, SECOND, Event::Throw { object: 8, frames: &frames });
    p.flush(2 * SECOND);
    let record = &p.seen.records()[0];
    let stack = record.param(m::P_STACK);
    assert!(
        (RECORD_STACK / 2..=RECORD_STACK).contains(&stack.len())
            && stack.ends_with(";Shop:Innermost ()"),
        "{stack}"
    );
    for second in 2..20 {
        for n in 0..u64::from(RECORDS_A_SECOND) {
            p.event(1, second * SECOND + n, Event::Throw { object: 8, frames: &frames });
        }
    }
    let held = p.runtime.heap_size();
    assert!(held < WAITING_RECORDS * (133 * 8 + 128) + (64 << 10), "{held}");
    p.end();
    assert_eq!(p.seen.records().len(), 1 + WAITING_RECORDS);
}
