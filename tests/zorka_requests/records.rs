//! Event records of captures and of hostile agents.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use pmdaapm::events::{HighRes, Records, Scalar, Stamp, flags};
use pmdaapm::model::EventKindId;
use pmdaapm::sources::Source;
use pmdaapm::sources::zorka::{Config, Zorka};
use serde_json::Value;
use test_kit::zorka::{capture, corpus};

use crate::kit::{Modern, TRC, World};
use crate::replay::replay;

pub const SPAN: EventKindId = EventKindId::new(0);
const EXCEPTION: EventKindId = EventKindId::new(1);

/// A record with the names of its parameters.
pub struct Event {
    pub stamp: Stamp,
    pub flags: u32,
    names: Vec<&'static str>,
    pub params: HashMap<&'static str, String>,
}

impl Event {
    pub fn get(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    pub fn number(&self, name: &str) -> u64 {
        self.params.get(name).map_or(0, |n| n.parse().unwrap())
    }

    /// The first parameters are the ids that the flags tell of.
    fn check(&self) {
        let ids = [(flags::ID, "span"), (flags::PARENT, "parent")];
        let told = ids.iter().filter(|(flag, _)| self.flags & flag != 0).map(|(_, name)| *name);
        let told: Vec<_> = told.collect();
        assert_eq!(self.names[..told.len()], told);
        // A tree has the id of its span in both.
        let is_tree = !self.get("tree").is_empty();
        for (flag, name) in ids {
            let id = self.get(name);
            let told = !(id.is_empty() || is_tree && name == "span");
            assert_eq!(self.flags & flag != 0, told);
            let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            assert!(id.is_empty() || id.len() == 16 && id.bytes().all(hex), "{id}");
        }
    }
}

/// All records of a kind, of all agents.
pub fn events(world: &World, kind: EventKindId) -> Vec<Event> {
    let mut all = Vec::new();
    for peer in world.store.peers() {
        let Some(stream) = peer.existing_stream(kind) else { continue };
        let packed = stream.newest(100_000);
        for record in Records::<HighRes>::packed(&packed) {
            let record = record.unwrap();
            let mut event = Event {
                stamp: record.stamp,
                flags: record.flags,
                names: Vec::new(),
                params: HashMap::new(),
            };
            for param in &record.params {
                let name = Zorka::TABLE.params[usize::from(param.pmid.item()) - 1].name;
                let before = event.params.insert(name, param.value.to_string());
                assert!(before.is_none(), "{name} is there twice");
                assert!(!matches!(param.value, Scalar::Text(b"" | b"null")), "{name} is empty");
                event.names.push(name);
            }
            event.check();
            all.push(event);
        }
    }
    all
}

fn replayed(file: &str, config: &Config) -> World {
    let world = World::with(config, "");
    replay(&world, &capture(&corpus().join(file)));
    world
}

pub fn captures() -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(corpus().join("expected.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let all = all.as_object().unwrap().clone();
    all.into_iter().filter(|(file, _)| corpus().join(file).exists()).collect()
}

#[test]
fn each_span_that_is_counted_has_a_record_and_so_has_each_exception() {
    for (file, expected) in captures() {
        let world = replayed(&file, &Config::default());
        let number = |json: &Value| json.as_u64().unwrap_or_default();
        let spans = events(&world, SPAN);
        for (kind, facts) in expected["spans"].as_object().unwrap() {
            let of: Vec<_> = spans.iter().filter(|e| e.get("type") == kind).collect();
            let sum = |name: &str| of.iter().map(|e| e.number(name)).sum::<u64>();
            assert_eq!(of.len() as u64, number(&facts["count"]), "{file}: {kind}");
            assert_eq!(sum("duration"), number(&facts["sum_ns"]), "{file}: {kind}");
            assert_eq!(sum("calls"), number(&facts["calls"]), "{file}: {kind}");
            assert_eq!(sum("error"), number(&facts["errors"]), "{file}: {kind}");
            assert_eq!(sum("overflow"), number(&facts["overflow"]), "{file}: {kind}");
        }
        for e in &spans {
            assert!(e.get("method").contains('.') && e.get("signature").contains('('), "{file}");
            assert!(e.stamp.sec.abs_diff(1_795_200_000) < 200_000, "{file}: {}", e.stamp);
            assert!(!e.get("dialect").is_empty() && e.number("records") > 0, "{file}");
            assert!(e.flags & flags::ID != 0, "{file}: each has an id");
        }
        let mut classes = BTreeMap::<String, u64>::new();
        for e in events(&world, EXCEPTION) {
            *classes.entry(e.get("exception.class").to_owned()).or_default() += 1;
            assert!(e.get("exception.frame").ends_with(')'), "{file}");
            assert!(e.get("method").contains('.') && !e.get("type").is_empty(), "{file}");
        }
        let once = expected["exceptions_once"].as_object().unwrap();
        let once: BTreeMap<_, _> = once.iter().map(|(k, v)| (k.clone(), number(v))).collect();
        assert_eq!(classes, once, "{file}");
    }
}

#[test]
fn a_trace_over_services_is_put_together_by_its_ids() {
    let world = replayed("real-2.0.3/web-jetty-h2-dtrace.jsonl", &Config::default());
    let spans = events(&world, SPAN);
    let by_id: HashMap<&str, &Event> = spans.iter().map(|e| (e.get("span"), e)).collect();
    assert_eq!(by_id.len(), spans.len(), "ids are unique");
    let (mut children, mut of_clients) = (0, 0);
    for e in spans.iter().filter(|e| e.flags & flags::PARENT != 0) {
        let Some(parent) = by_id.get(e.get("parent")) else {
            // The caller was a program without an agent, which made up both ids.
            assert_eq!(e.get("kind"), "SERVER", "{}", e.get("parent"));
            of_clients += 1;
            continue;
        };
        children += 1;
        assert_eq!(parent.get("trace"), e.get("trace"));
        assert_eq!(e.get("trace").len(), 32);
        // The clock has milliseconds.
        assert!(e.stamp.as_nanos() + 2_000_000 >= parent.stamp.as_nanos());
    }
    assert!(children >= 10, "{children} of {}, {of_clients}", spans.len());
}

#[test]
fn secrets_never_appear() {
    for (file, _) in captures() {
        // Even if somebody wants all.
        let config = Config { attributes: vec!["*".into(), "http.*".into()], ..Config::default() };
        for config in [Config::default(), config] {
            let world = replayed(&file, &config);
            for e in events(&world, SPAN).iter().chain(&events(&world, EXCEPTION)) {
                for (name, value) in &e.params {
                    let value = value.to_lowercase();
                    for secret in
                        ["cookie", "secret", "abc0", "http.header", "http.param", "par__", "hdrin"]
                    {
                        assert!(!value.contains(secret), "{file}: {name}: {value}");
                    }
                    assert!(!name.ends_with(".url") || !value.contains(['?', ';']), "{value}");
                }
            }
        }
    }
    let config = Config { attributes: vec!["http.header.in.*".into()], ..Config::default() };
    let world = replayed("real-2.0.3/web-jetty-h2-dtrace.jsonl", &config);
    let asked = |e: &Event| e.get("attributes").contains("http.header.in.Accept.0=*/*");
    assert!(events(&world, SPAN).iter().any(asked), "unless they are asked for");
}

#[test]
fn old_agents_have_the_same_parameters_under_their_names() {
    for file in ["real-1.90.5/web-jetty-h2.jsonl", "real-1.90.6/web-jetty-h2.jsonl"] {
        let spans = events(&replayed(file, &Config::default()), SPAN);
        let http = spans.iter().find(|e| e.get("type") == "HTTP").unwrap();
        assert_eq!([http.get("http.url"), http.get("http.method")], ["/item", "GET"]);
        assert_eq!(http.get("http.status_code"), "200");
        assert_eq!(http.get("service"), "SHOP");
        let sql = spans.iter().find(|e| e.get("type") == "SQL").unwrap();
        assert_eq!(sql.get("db.url"), "jdbc:h2:mem:shop");
        assert!(sql.get("db.statement").starts_with("create table item"));
        let failed = spans.iter().find(|e| e.number("error") == 1).unwrap();
        assert_eq!(failed.get("exception.class"), "java.lang.IllegalStateException");
        assert_eq!(failed.get("exception.message"), "no such order");
        assert_eq!(failed.get("exception.frame"), "shop.Web.doGet(Web.java:24)");
        assert_eq!(failed.get("exception.frames"), "29");
    }
}

#[test]
fn a_hundred_thousand_spans_take_bounded_time_and_memory() {
    let world = World::new();
    let mut agent = Modern::new(&world, "0123456789abcdef", "shop", "web1");
    agent.define();
    let mut one = agent.next(7);
    // Side by side, and one in the other.
    let beside: Vec<u8> = one.repeat(100_000);
    // It has not been sent before.
    let flags = one.len() - 3;
    one[flags] = 1;
    let end = one.len() - one.iter().rev().position(|b| *b == 0xc4).unwrap() - 1;
    let (start, end) = one.split_at(end);
    let within = [start.repeat(9000), end.repeat(9000)].concat();
    for body in [beside, within] {
        let started = Instant::now();
        assert_eq!(agent.submit(TRC, false, "1", &body), 202);
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
    world.wait(1);
    let stream = world.peers()["shop/web1"].existing_stream(SPAN).unwrap().stats();
    assert!(stream.count > 70_000 && stream.memory <= 2 << 20, "{stream:?}");
    assert_eq!(stream.count, world.value("shop/web1", "span.count"));
    let deepest = events(&world, SPAN).iter().map(|e| e.number("depth")).max();
    assert_eq!(deepest, Some(8999));
}
