//! Requests that no agent sends.

use std::net::SocketAddr;

use pmdaapm::contract::http::{ConnectionId, Dropped, HttpService, Request};

use crate::kit::{AGD, Modern, SYMBOLS, TRC, World, definitions};

#[test]
fn a_hundred_thousand_sessions_are_bounded() {
    let world = World::new();
    let body = definitions(&SYMBOLS, &[(1, 2, 3, 7)]);
    let mut first = Modern::new(&world, "first", "shop", "web1");
    first.trace(1);
    for n in 0..100_000 {
        let agent = Modern::new(&world, &format!("{n:016x}"), "", "");
        assert_eq!(agent.submit(AGD, true, "", &body), 202);
    }
    let shown = format!("{:?}", world.collector);
    assert!(world.store.memory.used() < 200 << 20, "{shown}: {}", world.store.memory.used());
    assert_eq!(first.trace(2), 1, "an agent with a name outlives sessions without");
    for n in 0..100_000 {
        world.close(n);
    }
    world.wait(3 * 86_400);
    assert!(
        world.store.memory.used() < 1 << 20,
        "{}: {:?}",
        world.store.memory.used(),
        world.collector
    );
}

#[test]
fn paths_methods_and_headers() {
    let world = World::new();
    let request = |method, path| {
        let request = Request {
            connection: ConnectionId(1),
            from: SocketAddr::from(([10, 0, 0, 7], 1)),
            to: SocketAddr::from(([127, 0, 0, 1], 8640)),
            method,
            path,
            headers: &[],
            body: &[],
            dropped: None,
        };
        world.collector.answer(world.now(), &request).status
    };
    assert_eq!(request("GET", "/healthz"), 200);
    assert_eq!(request("POST", "/healthz"), 405);
    assert_eq!(request("GET", TRC), 405);
    assert_eq!(request("PUT", "/agent/register"), 405);
    assert_eq!(request("POST", "/"), 404);
    assert_eq!(request("POST", ""), 404);
    assert_eq!(request("POST", TRC), 401, "without a session");
    let legacy = [("x-zorka-session-uuid", "11111111-2222")];
    assert_eq!(world.send(1, TRC, &legacy, b"x").status, 412);
    assert_eq!(world.send(1, AGD, &legacy, b"x").status, 412);
    for bad in ["", " ", "a b", "\u{e9}", &"x".repeat(65)] {
        let headers = [("X-Zorka-Session-ID", bad), ("X-Zorka-Session-Reset", "true")];
        assert_eq!(world.send(1, AGD, &headers, b"").status, 401, "{bad:?}");
    }
    assert_eq!(world.row("collector.request.count", "other::not_found"), 2);
    for (first, rejected) in [
        (&b"P"[..], false),
        (b"!", true),
        (b"\x21\xc0\xba\xbe\0\0", true),
        (b"\x16\x03\x01", true),
        (b"POST", false),
    ] {
        assert_eq!(world.collector.rejects(first).is_some(), rejected, "{first:?}");
    }
}

#[test]
fn bodies_that_were_dropped_are_accepted() {
    let world = World::new();
    let mut agent = Modern::new(&world, "0123456789abcdef", "shop", "web1");
    agent.trace(1);
    for (dropped, n) in [(Dropped::TooLarge, 1), (Dropped::NoMemory, 2)] {
        let headers: [(&str, &[u8]); 1] = [("x-zorka-session-id", b"0123456789abcdef")];
        let request = Request {
            connection: ConnectionId(agent.connection),
            from: SocketAddr::from(([10, 0, 0, 7], 1)),
            to: SocketAddr::from(([127, 0, 0, 1], 8640)),
            method: "POST",
            path: TRC,
            headers: &headers,
            body: &[],
            dropped: Some(dropped),
        };
        assert_eq!(world.collector.answer(world.now(), &request).status, 202);
        assert_eq!(world.value("shop/web1", "dropped.count"), n);
    }
    assert_eq!(world.row("request.errors", "too_large"), 1);
    assert_eq!(world.row("collector.request.count", "trc::dropped"), 2);
}

#[test]
fn the_form_of_the_public_note() {
    let world = World::new();
    let form = |body: &[u8]| {
        use base64::Engine as _;
        let text = base64::engine::general_purpose::STANDARD.encode(body);
        format!("host=web1&data={}", text.replace('+', "%2B"))
    };
    let agent = Modern::new(&world, "x", "shop", "web1");
    let define = form(&definitions(&SYMBOLS, &[(1, 2, 3, 7)]));
    assert_eq!(world.send(1, "/submit/trace", &[], form(b"\xc3").as_bytes()).status, 412);
    assert_eq!(world.send(1, "/submit/agent", &[], define.as_bytes()).status, 202);
    let trace = form(&agent.attempt(9, 1));
    assert_eq!(world.send(1, "/submit/trace", &[], trace.as_bytes()).status, 202);
    assert_eq!(world.names(), ["web1"]);
    assert_eq!(world.value("web1", "span.time"), 9);
}
