//! Agents of 1.90.1 to 1.90.6: registration, sessions, persisted ids.

use std::time::Duration;

use pmdaapm::contract::http::{Answer, HttpService};
use pmdaapm::sources::zorka::Config;
use serde_json::{Value, json};

use crate::kit::{AGD, TRC, World};

fn post(world: &World, connection: u64, path: &str, body: &Value) -> (Answer, Value) {
    let answer = world.send(connection, path, &[], body.to_string().as_bytes());
    let json = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer, json)
}

fn register(world: &World, name: &str) -> Value {
    let body = json!({ "app": "SHOP", "env": "PRD", "name": name, "rkey": "zorka" });
    let (answer, json) = post(world, 1, "/agent/register", &body);
    assert_eq!(answer.status, 201);
    json
}

/// Opens a session by the id of 1.90.6; its key.
fn open(world: &World, connection: u64, ids: &Value) -> String {
    let body = json!({ "id": ids["id"].to_string(), "authkey": ids["authkey"] });
    let (answer, json) = post(world, connection, "/agent/session", &body);
    assert_eq!((answer.status, answer.content_type), (200, "application/json"));
    json["session"].as_str().unwrap().to_owned()
}

fn submit(world: &World, connection: u64, session: &str, path: &str, id: &str, body: &[u8]) -> u16 {
    let headers = [("X-Zorka-Session-UUID", session), ("X-Zorka-Trace-UUID", id)];
    world.send(connection, path, &headers, body).status
}

/// Definitions: a type, and method 1 of a name.
fn definitions(method: &str) -> Vec<u8> {
    let mut out = b"\xc1\x83\x01\x64HTTP\x00\xc1\x83\x02\x61X\x05".to_vec();
    out.extend_from_slice(&[0xc1, 0x83, 3, 0x60 + method.len() as u8]);
    out.extend_from_slice(method.as_bytes());
    out.extend_from_slice(&[6, 0xc2, 0x84, 1, 2, 3, 0]);
    out
}

/// A trace of a number of ticks.
fn trace(clock: u8, ticks: u8) -> Vec<u8> {
    let mut out = b"\xc8\x9f\xca\x48\0\0\x01\0\0\0\0\0\xd8\x21\x82\x18".to_vec();
    out.extend_from_slice(&[clock, 1]);
    out.extend_from_slice(b"\xcc\x48\0\0\x01\0\0\0\0");
    out.extend_from_slice(&[ticks, 0xff]);
    out
}

const TICK: u64 = 65_536;

#[test]
fn registered_agents_have_their_names_and_labels() {
    let world = World::new();
    let ids = register(&world, "web1");
    assert!(ids["id"].is_u64() && ids["uuid"].as_str().unwrap().len() == 36);
    assert_eq!(ids["authkey"].as_str().unwrap().len(), 16);
    assert_eq!(register(&world, "web1"), ids, "it has lost its ids");
    let session = open(&world, 1, &ids);
    assert_eq!(submit(&world, 1, &session, AGD, "", &definitions("run")), 202);
    assert_eq!(submit(&world, 1, &session, TRC, "1", &trace(1, 5)), 202);
    assert_eq!(world.names(), ["web1"]);
    let value = |metric| world.value("web1", metric);
    assert_eq!((value("span.time"), value("request.register.count")), (5 * TICK, 2));
    assert_eq!((value("reset.count"), value("request.session.count")), (1, 1));
    for (label, is) in [
        ("app", "SHOP"),
        ("env", "PRD"),
        ("service", "SHOP"),
        ("host", "web1"),
        ("dialect", "legacy"),
    ] {
        assert_eq!(world.label("web1", label).as_deref(), Some(is));
    }
    world.close(1);
    assert!(!world.is_up("web1"), "it had one connection for all");
}

#[test]
fn persisted_ids_outlive_the_collector() {
    let mut world = World::new();
    let ids = register(&world, "web1");
    let session = open(&world, 1, &ids);
    submit(&world, 1, &session, AGD, "", &definitions("run"));
    submit(&world, 1, &session, TRC, "1", &trace(1, 5));
    let state = world.collector.take_state().unwrap();
    assert_eq!(world.collector.take_state(), None);
    world.restart(&state);
    assert_eq!(submit(&world, 1, &session, TRC, "2", &trace(2, 6)), 412, "once");
    let session = open(&world, 1, &ids);
    assert_eq!(submit(&world, 1, &session, AGD, "", &definitions("run")), 202);
    assert_eq!(submit(&world, 1, &session, TRC, "3", &trace(2, 6)), 202);
    assert_eq!(world.names(), ["web1"]);
    assert_eq!(world.value("web1", "span.time"), 11 * TICK);
    // Without the file the ids are adopted.
    world.restart("");
    assert_eq!(submit(&world, 1, &session, TRC, "2", &trace(2, 6)), 412);
    let session = open(&world, 1, &ids);
    assert_eq!(submit(&world, 1, &session, AGD, "", &definitions("run")), 202);
    assert_eq!(submit(&world, 1, &session, TRC, "3", &trace(3, 7)), 202);
    let name = world.names().into_iter().find(|name| name.starts_with("agent-")).unwrap();
    assert_eq!(world.value(&name, "span.time"), 7 * TICK);
}

#[test]
fn a_lost_answer_counts_once() {
    let world = World::new();
    let ids = register(&world, "web1");
    let session = open(&world, 1, &ids);
    submit(&world, 1, &session, AGD, "", &definitions("run"));
    assert_eq!(submit(&world, 1, &session, TRC, "1", &trace(1, 5)), 202);
    // The answer is lost: a new session, all definitions and the same trace with a new id.
    let session = open(&world, 1, &ids);
    submit(&world, 1, &session, AGD, "", &definitions("run"));
    assert_eq!(submit(&world, 1, &session, TRC, "2", &trace(1, 5)), 202);
    assert_eq!(submit(&world, 1, &session, TRC, "3", &trace(2, 5)), 202);
    let value = |metric| world.value("web1", metric);
    assert_eq!((value("trace.count"), value("duplicate.count")), (2, 1));
    assert_eq!(value("span.time"), 10 * TICK);
}

#[test]
fn two_jvms_with_one_id_have_their_own_definitions() {
    let world = World::new();
    let ids = register(&world, "web1");
    let (a, b) = (open(&world, 1, &ids), open(&world, 2, &ids));
    assert_ne!(a, b);
    submit(&world, 1, &a, AGD, "", &definitions("run"));
    submit(&world, 2, &b, AGD, "", &definitions("walk"));
    for n in 1..=3 {
        assert_eq!(submit(&world, 1, &a, TRC, &format!("a{n}"), &trace(n, 1)), 202);
        assert_eq!(submit(&world, 2, &b, TRC, &format!("b{n}"), &trace(n + 9, 2)), 202);
    }
    assert_eq!(world.row("method.total_time", "X.run"), 3 * TICK);
    assert_eq!(world.row("method.total_time", "X.walk"), 6 * TICK);
    assert_eq!(world.value("web1", "span.time"), 9 * TICK);
    // Old sessions stay valid up to their number, then the oldest go.
    for _ in 0..15 {
        world.now.lock().unwrap().monotonic += Duration::from_secs(2);
        open(&world, 3, &ids);
    }
    assert_eq!(submit(&world, 1, &a, TRC, "a9", &trace(20, 1)), 412);
    assert_eq!(submit(&world, 2, &b, TRC, "b9", &trace(20, 1)), 202);
}

#[test]
fn keys_addresses_and_registration_are_configured() {
    let config = Config {
        key: "secret".into(),
        allow: vec!["10.0.0.0/8".parse().unwrap()],
        ..Config::default()
    };
    let world = World::with(&config, "");
    let admits = |from: &str| world.collector.admits(from.parse().unwrap());
    assert!(admits("10.1.2.3:9") && admits("[::ffff:10.1.2.3]:9") && !admits("192.168.0.1:9"));
    let body = |key: &str| json!({ "app": "A", "env": "E", "name": "web1", "rkey": key });
    let (answer, _) = post(&world, 1, "/agent/register", &body("zorka"));
    assert_eq!((answer.status, answer.delay), (401, Duration::from_secs(1)));
    let (answer, ids) = post(&world, 1, "/agent/register", &body("secret"));
    assert_eq!(answer.status, 201);
    let wrong = json!({ "id": ids["id"], "authkey": "AAAAAAAAAAAAAAAA" });
    assert_eq!(post(&world, 1, "/agent/session", &wrong).0.status, 401);
    assert_eq!(world.row("collector.request.count", "register::refused"), 1);
    // Those that have registered may come, others may not.
    world.collector.reconfigure(&Config { register: false, ..config });
    assert_eq!(post(&world, 1, "/agent/register", &body("secret")).0.status, 201);
    open(&world, 1, &ids);
    let other = json!({ "name": "web2", "rkey": "secret" });
    assert_eq!(post(&world, 1, "/agent/register", &other).0.status, 401);
    let unknown = json!({ "id": "77", "authkey": "AAAAAAAAAAAAAAAA" });
    assert_eq!(post(&world, 1, "/agent/session", &unknown).0.status, 401);
}

#[test]
fn json_may_be_anything() {
    let world = World::new();
    for body in [
        &b""[..],
        b"{",
        b"[]",
        b"null",
        b"{\"name\":{}}",
        b"{\"name\":\"\",\"rkey\":\"zorka\"}",
        b"{\"id\":[1]}",
        b"\xff\xfe",
        &[b'['; 60_000],
    ] {
        for path in ["/agent/register", "/agent/session"] {
            let status = world.send(1, path, &[], body).status;
            assert!(matches!(status, 400 | 401), "{path}: {status}");
        }
    }
    let name = "n".repeat(10_000);
    let ids = register(&world, &name);
    open(&world, 1, &ids);
    assert_eq!(world.names(), ["n".repeat(100)]);
}

#[test]
fn a_loop_of_sessions_is_slowed_down() {
    let world = World::new();
    let ids = register(&world, "web1");
    let body = json!({ "uuid": ids["uuid"], "authkey": ids["authkey"] });
    let delays: Vec<u64> =
        (0..16).map(|_| post(&world, 1, "/agent/session", &body).0.delay.as_secs()).collect();
    assert_eq!(delays.iter().sum::<u64>(), 6, "{delays:?}");
    assert_eq!(world.value("web1", "reset.count"), 16);
    assert_eq!(world.label("web1", "dialect").as_deref(), Some("legacy_base64"));
    world.wait(20);
    assert_eq!(post(&world, 1, "/agent/session", &body).0.delay.as_secs(), 0);
}

#[test]
fn an_agent_with_a_connection_for_each_request_is_there_until_it_is_silent() {
    let world = World::new();
    let ids = register(&world, "old");
    let session = open(&world, 1, &ids);
    world.close(1);
    submit(&world, 2, &session, AGD, "", &definitions("run"));
    world.close(2);
    submit(&world, 3, &session, TRC, "1", &trace(1, 5));
    world.close(3);
    world.wait(500);
    assert!(world.is_up("old"));
    world.wait(200);
    assert!(!world.is_up("old"));
    assert_eq!(submit(&world, 4, &session, TRC, "2", &trace(2, 5)), 202);
    assert!(world.is_up("old"));
}
