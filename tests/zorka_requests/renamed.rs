//! Agents whose first traces do not say who they are, and those that a limit turned away.

use std::collections::BTreeSet;

use pmdaapm::sources::zorka::Config;
use pmdaapm::store::Limits;
use test_kit::zorka::{capture, corpus};

use crate::kit::{AGD, Modern, TRC, Trace, World, definitions};
use crate::replay::replay;

/// A span, as of a job: without attributes unless some are given.
fn span(agent: &Modern<'_>, n: u64, attributes: &[(u64, &str)]) {
    let start = 1_000_000_000 * n;
    let trace = Trace { method: 1, start, duration: 7, kind: 1, clock: n, span: n, attributes };
    assert_eq!(agent.submit(TRC, false, &n.to_string(), &trace.body()), 202);
}

#[test]
fn a_later_service_renames_instance_and_service() {
    let world = World::new();
    for (session, run) in [("aaaaaaaa00000000", 1), ("bbbbbbbb00000000", 2)] {
        let old = format!("10.0.0.7/{}", &session[..8]);
        let mut agent = Modern::new(&world, session, "orders", "web1");
        agent.define();
        span(&agent, run, &[]);
        world.wait(60);
        assert!(world.is_up(&old));
        agent.trace(10);
        agent.trace(20);
        assert!(world.is_up("orders/web1") && !world.is_up(&old), "{:?}", world.names());
        // A job counts for the better name from now on.
        span(&agent, 100 + run, &[]);
        world.wait(1);
        assert_eq!(world.value(&old, "span.time"), 7);
        assert_eq!(world.value("orders/web1", "span.time"), 37 * run);
        assert_eq!(world.row("service.time", &old), 7);
        assert_eq!(world.row("service.time", "orders"), 37 * run);
        assert_eq!(world.row("method.count", "com.x.Shop.order"), 4 * run);
        assert_eq!(world.value("orders/web1", "restarts"), run - 1);
        assert_eq!(world.label("orders/web1", "service").as_deref(), Some("orders"));
        world.close(agent.connection);
        assert!(!world.is_up("orders/web1"));
    }
}

#[test]
fn a_host_that_comes_later_renames_too() {
    let world = World::new();
    let agent = Modern::new(&world, "0123456789abcdef", "", "");
    let symbols = [(1, "t"), (2, "X"), (3, "y"), (4, "local.service"), (5, "local.host")];
    agent.submit(AGD, true, "", &definitions(&symbols, &[(1, 2, 3, 0)]));
    span(&agent, 1, &[(4, "shop")]);
    assert!(world.is_up("shop/10.0.0.7"));
    span(&agent, 2, &[(5, "web1")]);
    assert!(world.is_up("shop/web1") && !world.is_up("shop/10.0.0.7"));
    // What was said first stays, also if a span says another.
    span(&agent, 3, &[(4, "other"), (5, "web2")]);
    assert_eq!(world.value("shop/web1", "span.time"), 14);
    assert_eq!(world.names(), ["shop/10.0.0.7", "shop/web1"]);
}

#[test]
fn a_real_agent_with_names_behind_one_without_is_renamed_and_nothing_is_lost() {
    const SESSION: &str = "9b762bc0bf1c9340";
    let of = |file: &str| {
        let mut requests = capture(&corpus().join(format!("{file}.jsonl")));
        for (name, value) in requests.iter_mut().flat_map(|request| &mut request.headers) {
            if name.eq_ignore_ascii_case("x-zorka-session-id") {
                SESSION.clone_into(value);
            }
        }
        requests.iter_mut().for_each(|request| request.connection = 1);
        requests
    };
    let seen = |files: &[&str]| {
        let world = World::new();
        files.iter().for_each(|file| replay(&world, &of(file)));
        let names = world.names();
        let sums: Vec<u64> =
            ["span.count", "span.errors", "record.count", "exception.count", "trace.count"]
                .map(|metric| names.iter().map(|name| world.value(name, metric)).sum())
                .into();
        let up = names.iter().filter(|name| world.is_up(name)).cloned().collect::<Vec<_>>();
        (names.into_iter().collect::<BTreeSet<_>>(), up, sums)
    };
    // Neither attributes nor a host; then both, of an HTTP server.
    let (first, later) = ("real-1.90.7/demo-local", "real-2.0.3/web-jetty-h2-dtrace");
    let (job, _, job_sums) = seen(&[first]);
    let (web, web_up, web_sums) = seen(&[later]);
    assert!(job.is_disjoint(&web), "{job:?} {web:?}");
    let (both, up, sums) = seen(&[first, later]);
    assert_eq!(both, job.union(&web).cloned().collect());
    assert_eq!(up, web_up);
    assert_eq!(sums, job_sums.iter().zip(&web_sums).map(|(a, b)| a + b).collect::<Vec<_>>());
}

#[test]
fn an_agent_that_comes_back_goes_on_with_its_rows() {
    let world = World::new();
    let mut agent = Modern::new(&world, "0123456789abcdef", "shop", "web1");
    let median = || world.rows("type.latency.p50").get("shop/web1::http").map(|ns| ns / 1_000_000);
    for (back, ms) in [(1, 5), (2, 9)] {
        agent.connection = back;
        agent.trace(ms * 1_000_000);
        world.wait(1);
        assert_eq!(median(), Some(ms));
        assert_eq!(world.row("type.count", "shop/web1::http"), back);
        world.close(back);
        assert!(!world.is_up("shop/web1"));
        // Its connection is there again, nothing else: what was of the minute before is gone.
        world.wait(90);
        agent.connection = 10 + back;
        agent.submit(AGD, false, "", &[]);
        assert!(world.is_up("shop/web1"));
        world.wait(1);
        assert_eq!(median(), None);
        world.close(10 + back);
    }
}

#[test]
fn a_refused_agent_is_shown_when_there_is_room() {
    let world =
        World::limited(&Config::default(), "", Limits { instances: 2, ..Limits::default() });
    let mut agents = ["a", "b", "c"].map(|host| {
        let session = host.repeat(16);
        Modern::new(&world, &session, "shop", host)
    });
    agents.iter_mut().for_each(|agent| assert_eq!(agent.trace(10), 1));
    assert_eq!(world.names(), ["shop/a", "shop/b"]);
    for _ in 0..60 {
        world.wait(1);
        agents[2].trace(10);
    }
    assert_eq!(world.names(), ["shop/a", "shop/b"]);
    world.close(agents[0].connection);
    // Nothing of it comes meanwhile: it is tried all the same.
    (0..10).for_each(|_| world.wait(1));
    assert!(world.is_up("shop/c"), "{:?}", world.names());
    assert_eq!(agents[2].trace(10), 1);
    world.wait(1);
    assert_eq!(world.value("shop/c", "span.time"), 10);
}

#[test]
fn all_agents_of_a_proxy_learn_of_its_end() {
    let world = World::new();
    let n = 1100;
    let make = |n: usize, connection| {
        let mut agent = Modern::new(&world, &format!("{n:016x}"), "shop", "");
        agent.connection = connection;
        agent.define();
        let host = format!("h{n}");
        span(&agent, 1, &[(4, "shop"), (5, &host)]);
    };
    (0..n).for_each(|n| make(n, 7));
    make(n, 8);
    assert_eq!(world.peers().values().filter(|peer| peer.liveness.up()).count(), n + 1);
    world.close(7);
    let up: Vec<_> = world.names().into_iter().filter(|name| world.is_up(name)).collect();
    assert_eq!(up, [format!("shop/h{n}")]);
}
