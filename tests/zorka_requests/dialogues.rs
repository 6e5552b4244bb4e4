//! Agents of 1.90.7 and later: restarts, lost answers, undefined methods.

use crate::kit::{AGD, Modern, TRC, Trace, World, definitions};

#[test]
fn a_restart_of_the_collector_costs_one_error() {
    let mut world = World::new();
    let agent = Modern::new(&world, "00000000000000aa", "shop", "web1");
    let Modern { session, .. } = agent;
    let mut agent = Modern::new(&world, &session, "shop", "web1");
    assert_eq!((agent.trace(10), agent.trace(20)), (1, 1));
    world.restart("");
    let mut agent = Modern::new(&world, &session, "shop", "web1");
    agent.defined = true;
    let body = agent.next(30);
    assert_eq!(agent.submit(TRC, false, "1", &body), 401);
    assert_eq!(agent.submit(AGD, false, "", b""), 401, "without a reset");
    assert_eq!((agent.define(), agent.submit(TRC, false, "2", &body)), (202, 202));
    assert_eq!(world.names(), ["shop/web1"]);
    assert_eq!(world.value("shop/web1", "trace.count"), 3, "the store keeps what was counted");
    assert_eq!(world.value("shop/web1", "restarts"), 0);
    assert_eq!(world.row("type.time", "shop/web1::http"), 60);
}

#[test]
fn lost_answers_count_once() {
    let world = World::new();
    let mut agent = Modern::new(&world, "00000000000000aa", "shop", "web1");
    agent.define();
    let body = agent.next(10);
    for _ in 0..3 {
        assert_eq!(agent.submit(TRC, false, "same", &body), 202, "sent again as it was");
    }
    // The agent has given up this attempt: new ids of trace and span.
    assert_eq!(agent.define(), 202);
    assert_eq!(agent.submit(TRC, false, "other", &agent.attempt(10, 2)), 202);
    let value = |metric| world.value("shop/web1", metric);
    assert_eq!((value("trace.count"), value("span.count")), (1, 1));
    assert_eq!((value("duplicate.count"), value("request.trc.count")), (3, 4));
    // The next trace is new, also if it is the first after a reset.
    agent.define();
    assert_eq!(agent.trace(11), 1);
    assert_eq!((value("trace.count"), value("duplicate.count")), (2, 3));
    assert_eq!((value("reset.count"), value("span.time")), (3, 21));
}

#[test]
fn equal_traces_count_each() {
    let world = World::new();
    let mut agent = Modern::new(&world, "00000000000000aa", "shop", "web1");
    agent.define();
    let body = agent.next(10);
    assert_eq!(agent.submit(TRC, false, "1", &body), 202);
    assert_eq!(agent.submit(TRC, false, "2", &body), 202, "not the first after a reset");
    assert_eq!(world.value("shop/web1", "trace.count"), 2);
    assert_eq!(world.value("shop/web1", "trace.ids"), 2);
}

#[test]
fn undefined_methods_are_asked_for_once() {
    let world = World::new();
    let mut agent = Modern::new(&world, "00000000000000aa", "shop", "web1");
    assert_eq!(agent.trace(10), 1);
    let trace = |start| {
        Trace { method: 9, start, duration: 5, kind: 1, clock: start, span: 7, attributes: &[] }
            .body()
    };
    assert_eq!(agent.submit(TRC, false, "1", &trace(1)), 401);
    assert_eq!(agent.define(), 202);
    assert_eq!(agent.submit(TRC, false, "2", &trace(1)), 202, "still not: as #9");
    assert_eq!(agent.submit(TRC, false, "3", &trace(2)), 202);
    assert_eq!(world.row("method.count", "#9"), 2);
    let value = |metric| world.value("shop/web1", metric);
    assert_eq!((value("request.rejected"), value("trace.count")), (1, 3));
    assert_eq!(world.row("collector.request.count", "trc::undefined"), 1);
    // After a reset of its own it may be asked again.
    assert_eq!(agent.define(), 202);
    assert_eq!(agent.submit(TRC, false, "4", &trace(3)), 401);
    let late = definitions(&[(20, "late")], &[(9, 2, 20, 7)]);
    assert_eq!((agent.define(), agent.submit(AGD, false, "", &late)), (202, 202));
    assert_eq!(agent.submit(TRC, false, "5", &trace(3)), 202);
    assert_eq!(world.row("method.count", "com.x.Shop.late"), 1);
}

#[test]
fn bodies_that_cannot_be_read_are_accepted_and_counted() {
    let world = World::new();
    let mut agent = Modern::new(&world, "00000000000000aa", "shop", "web1");
    agent.trace(10);
    let mut cut = agent.next(20);
    cut.truncate(cut.len() - 3);
    for body in [&cut[..], b"\xc9", b"hello, world?", b"", b"\xff\xff"] {
        assert_eq!(agent.submit(TRC, false, "", body), 202);
        assert_eq!(agent.submit(AGD, false, "", body), 202);
    }
    let value = |metric| world.value("shop/web1", metric);
    assert!(value("decode_errors") >= 6, "{}", value("decode_errors"));
    assert_eq!(value("span.count"), 1);
    let errors: u64 = world.rows("request.errors").values().sum();
    assert_eq!(errors, value("decode_errors"));
    assert_eq!(agent.trace(30), 1);
    assert_eq!(value("span.time"), 40);
}

#[test]
fn silence_of_a_day_costs_nothing_and_connections_tell_who_is_there() {
    let world = World::new();
    let mut agent = Modern::new(&world, "00000000000000aa", "shop", "web1");
    agent.trace(10);
    world.wait(20 * 3600);
    assert!(world.is_up("shop/web1"), "its connection is open");
    world.close(agent.connection);
    assert!(!world.is_up("shop/web1"));
    assert_eq!(agent.trace(20), 1, "it is asked for nothing");
    assert!(world.is_up("shop/web1"));
    assert_eq!(world.value("shop/web1", "span.time"), 30);
    world.close(agent.connection);
    world.wait(25 * 3600);
    assert_eq!(agent.trace(30), 2, "its session has ended");
    assert_eq!(world.value("shop/web1", "span.time"), 60);
}
