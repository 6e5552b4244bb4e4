//! Names of agents, and several of them.

use crate::kit::{AGD, Modern, TRC, Trace, World, definitions};

#[test]
fn twenty_agents_behind_one_address_have_their_own_numbers() {
    let world = World::new();
    let services = ["a", "b", "c", "d", "e"];
    let hosts = ["w", "x", "y", "z"];
    let mut agents: Vec<_> = (0..20)
        .map(|n| {
            let session = format!("{n:016x}");
            let mut agent = Modern::new(&world, &session, services[n % 5], hosts[n / 5]);
            // A proxy: four agents share a connection.
            agent.connection = n as u64 / 4;
            agent
        })
        .collect();
    for round in 1..=3 {
        for (n, agent) in agents.iter_mut().enumerate() {
            assert_eq!(agent.trace(round * (n as u64 + 1)), 1);
        }
    }
    assert_eq!(world.names().len(), 20);
    for (n, agent) in agents.iter().enumerate() {
        let name = format!("{}/{}", agent.service, agent.host);
        assert_eq!(world.value(&name, "span.time"), 6 * (n as u64 + 1), "{name}");
        assert_eq!(world.row("type.count", &format!("{name}::http")), 3);
        assert_eq!(world.label(&name, "service").as_deref(), Some(agent.service));
        assert_eq!(world.label(&name, "dialect").as_deref(), Some("modern"));
    }
    world.close(0);
    assert!(!world.is_up("a/w") && !world.is_up("d/w") && world.is_up("e/w"));
}

#[test]
fn jvms_of_one_name_are_told_apart_while_both_are_there() {
    let world = World::new();
    let mut a = Modern::new(&world, "aaaaaaaa00000000", "shop", "web1");
    let mut b = Modern::new(&world, "bbbbbbbb00000000", "shop", "web1");
    a.trace(10);
    b.trace(20);
    assert_eq!(world.names(), ["shop/web1", "shop/web1#bbbbbbbb"]);
    assert_eq!(world.value("shop/web1#bbbbbbbb", "span.time"), 20);
    // The first one restarts: its place is taken over, and its numbers go on.
    world.close(a.connection);
    let mut c = Modern::new(&world, "cccccccc00000000", "shop", "web1");
    assert_eq!(c.trace(30), 1);
    assert_eq!(world.value("shop/web1", "span.time"), 40);
    assert_eq!(world.value("shop/web1", "restarts"), 1);
    assert_eq!(world.names().len(), 2);
    // If it was not dead, it gets another name.
    assert_eq!(a.trace(50), 2);
    assert_eq!(world.value("shop/web1#aaaaaaaa", "span.time"), 50);
    assert_eq!(world.value("shop/web1", "span.time"), 40);
}

#[test]
fn an_agent_without_attributes_is_named_within_a_second() {
    let world = World::new();
    let agent = Modern::new(&world, "0123456789abcdef", "", "");
    let define = definitions(&[(1, "job"), (2, "X"), (3, "y")], &[(1, 2, 3, 0)]);
    assert_eq!(agent.submit(AGD, true, "", &define), 202);
    let trace = |n: u64| {
        Trace { method: 1, start: n, duration: 7, kind: 1, clock: n, span: n, attributes: &[] }
            .body()
    };
    for n in 1..=3 {
        assert_eq!(agent.submit(TRC, false, &n.to_string(), &trace(n)), 202);
    }
    assert!(world.names().is_empty());
    world.wait(1);
    assert_eq!(world.names(), ["10.0.0.7/01234567"]);
    let value = |metric| world.value("10.0.0.7/01234567", metric);
    assert_eq!((value("span.time"), value("trace.ids"), value("request.agd.count")), (21, 3, 1));
    assert_eq!((value("symbols"), value("methods")), (3, 1));
    // More than eight do not wait.
    let other = Modern::new(&world, "fedcba9876543210", "", "");
    assert_eq!(other.submit(AGD, true, "", &define), 202);
    for n in 1..=9 {
        assert_eq!(other.submit(TRC, false, &n.to_string(), &trace(n)), 202);
    }
    assert_eq!(world.value("10.0.0.7/fedcba98", "span.time"), 63);
}

#[test]
fn attributes_of_a_later_trace_name_those_that_wait() {
    let world = World::new();
    let mut agent = Modern::new(&world, "0123456789abcdef", "shop", "null");
    agent.define();
    let bare =
        Trace { method: 1, start: 1, duration: 7, kind: 1, clock: 1, span: 1, attributes: &[] };
    assert_eq!(agent.submit(TRC, false, "1", &bare.body()), 202);
    assert_eq!(agent.trace(10), 1);
    assert_eq!(world.names(), ["shop/10.0.0.7"], "null is no host");
    assert_eq!(world.value("shop/10.0.0.7", "span.time"), 17);
    // A reset before the name is known: what waits has the definitions before.
    let other = Modern::new(&world, "ffff456789abcdef", "", "");
    let define = |name| definitions(&[(1, "t"), (2, "X"), (3, name)], &[(1, 2, 3, 0)]);
    for (id, name) in [("1", "before"), ("2", "behind")] {
        assert_eq!(other.submit(AGD, true, "", &define(name)), 202);
        let start = u64::from(id.as_bytes()[0]);
        assert_eq!(
            other.submit(TRC, false, id, &Trace { start, clock: start, ..bare }.body()),
            202
        );
    }
    world.wait(1);
    assert_eq!(
        (world.row("method.count", "X.before"), world.row("method.count", "X.behind")),
        (1, 1)
    );
}

#[test]
fn a_first_trace_that_cannot_wait_is_counted() {
    let world = World::new();
    let agent = Modern::new(&world, "0123456789abcdef", "", "");
    let long = "x".repeat(300_000);
    let define = definitions(&[(1, "t"), (2, "X"), (3, "y"), (4, "note")], &[(1, 2, 3, 0)]);
    agent.submit(AGD, true, "", &define);
    let attributes = [(4, long.as_str())];
    let trace = Trace {
        method: 1,
        start: 1,
        duration: 7,
        kind: 1,
        clock: 1,
        span: 1,
        attributes: &attributes,
    };
    assert_eq!(agent.submit(TRC, false, "1", &trace.body()), 202);
    assert_eq!(world.value("10.0.0.7/01234567", "span.time"), 7);
}

#[test]
fn names_are_cleaned() {
    let world = World::new();
    let agent = Modern::new(&world, "0123456789abcdef", "", "");
    let define =
        definitions(&[(1, "t"), (2, "X"), (3, "y"), (4, "local.service")], &[(1, 2, 3, 0)]);
    agent.submit(AGD, true, "", &define);
    let long = "x".repeat(500);
    let service = format!(" a b\u{7}\n{long}");
    let attributes = [(4, service.as_str())];
    let trace = Trace {
        method: 1,
        start: 1,
        duration: 7,
        kind: 1,
        clock: 1,
        span: 1,
        attributes: &attributes,
    };
    assert_eq!(agent.submit(TRC, false, "1", &trace.body()), 202);
    let names = world.names();
    assert!(names[0].starts_with("a_b__xxx") && names[0].len() < 130, "{names:?}");
}
