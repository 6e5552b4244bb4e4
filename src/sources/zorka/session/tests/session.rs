use std::sync::Arc;

use super::*;
use crate::sources::zorka::wire::{Attribute, Begin, Record, Slice};

#[test]
fn the_first_attributes_name_the_agent() {
    let mut names = Names::new(&Arc::default());
    for (id, name) in [(1, "local.service"), (2, "local.host"), (3, "local.pid"), (4, "x")] {
        names.define_symbol(id, name.as_bytes());
    }
    let bytes = b"shop\nnull web 1";
    let text = |start, end| AttributeValue::Text(Slice { start, end });
    let body = |all: &[(u32, AttributeValue)]| {
        let all = all.iter().map(|(name, value)| (*name, *value));
        let mut body = TraceBody::default();
        body.attributes = all.map(|(name, value)| Attribute { record: 0, name, value }).collect();
        body
    };
    let mut facts = Facts::default();
    assert!(!facts.learn(&body(&[(4, text(0, 4)), (1, text(5, 9))]), bytes, &names));
    assert_eq!(facts.name("10.0.0.1", "0123456789abcdef"), "10.0.0.1/01234567");
    let some = [(2, text(10, 15)), (3, AttributeValue::Int(7))];
    assert!(facts.learn(&body(&some), bytes, &names));
    assert_eq!(facts.name("10.0.0.1", "0123456789abcdef"), "web_1/01234567");
    assert!(facts.learn(&body(&[(1, text(0, 5)), (2, text(0, 1))]), bytes, &names));
    assert_eq!(facts.name("10.0.0.1", "0"), "shop/web_1");
    let labels: Vec<_> = facts.labels("shop/web_1").map(|(name, _)| name).collect();
    assert_eq!((labels, facts.host("")), (vec!["service", "pid"], Some("web_1".into())));
    let (unknown, host) = (Facts::default(), |address: &str| Facts::default().host(address));
    assert_eq!(
        unknown.labels("10.0.0.1/0").collect::<Vec<_>>(),
        [("service", "10.0.0.1/0".into())]
    );
    assert_eq!((host("[::ffff:10.0.0.1]:9"), host("127.0.0.1:9")), (Some("10.0.0.1".into()), None));
}

fn body(method: u32, kind: u32, id: u64, clock: i64, duration: u64) -> TraceBody {
    let root = Record { parent: NONE, method, duration, span: 0, ..Record::default() };
    let inner = Record { parent: 0, span: NONE, duration: 1, ..Record::default() };
    let mut body = TraceBody::default();
    body.records = vec![root, inner];
    body.spans = vec![Begin { record: 0, depth: 0, kind, clock, id, parent: 0 }];
    body
}

#[test]
fn a_second_attempt_has_the_same_hash() {
    let mut names = Names::new(&Arc::default());
    for (id, text) in [(1, "http"), (2, "com.x.A"), (3, "run"), (4, "walk")] {
        names.define_symbol(id, text.as_bytes());
        names.define_symbol(id + 10, text.as_bytes());
    }
    names.define_method(1, 2, 3, 0);
    names.define_method(9, 12, 13, 0);
    names.define_method(2, 2, 4, 0);
    let hash = |m, k, i, c, d| of_traces(&body(m, k, i, c, d), &names);
    let first = hash(1, 1, 7, 1000, 50);
    assert!(first.is_some());
    assert_eq!(hash(9, 11, 8, 1000, 50), first, "new ids");
    for other in [hash(2, 1, 7, 1000, 50), hash(1, 2, 7, 1000, 50), hash(1, 1, 7, 1001, 50)] {
        assert_ne!(other, first);
    }
    assert_ne!(hash(1, 1, 7, 1000, 51), first);
    assert_eq!(of_traces(&TraceBody::default(), &names), None);
}

#[test]
fn requests_differ_by_id_and_body() {
    assert_eq!(of_request(b"1", b"x"), of_request(b"1", b"x"));
    assert_ne!(of_request(b"1", b"x"), of_request(b"2", b"x"));
    assert_ne!(of_request(b"1", b"x"), of_request(b"1", b"y"));
}

#[test]
fn the_last_are_known() {
    let mut recent = Recent::<4>::default();
    (0..10).for_each(|n| recent.push(n));
    assert_eq!((0..12).filter(|n| recent.contains(*n)).collect::<Vec<_>>(), [6, 7, 8, 9]);
    assert_eq!(recent.heap_size(), 32);
}
