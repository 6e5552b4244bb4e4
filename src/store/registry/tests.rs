use super::*;
use crate::catalogue::test_kit::{self, TOY};
use std::time::Duration;

use crate::catalogue::{AgentCell, DYNAMIC_MAX, Stat};
use crate::contract::Identity;
use crate::model::{Departure, MetricSpec, Now, Place, Semantics, Units, ValueType};
use crate::store::held::Held;
use crate::store::peer::RequestQueue;

fn spec(key: &str, path: &str) -> MetricSpec {
    MetricSpec {
        key: key.into(),
        place: Place::Sampled("counter"),
        path: path.into(),
        ty: ValueType::U64,
        sem: Semantics::Counter,
        units: Units::Count,
        oneline: String::new(),
        help: String::new(),
        labels: vec![],
        persist: key.into(),
    }
}

fn who(name: &str) -> Identity {
    Identity { name: name.into(), resumes: true, ..Identity::default() }
}

fn at(sec: u64) -> Now {
    Now { monotonic: Duration::from_secs(sec), ..Now::default() }
}

fn requests() -> Arc<RequestQueue> {
    Arc::new(RequestQueue::new(|| ()))
}

fn store(limits: Limits) -> Arc<Store> {
    Store::new(test_kit::catalogue(), 400, limits, 1 << 20)
}

#[test]
fn a_key_keeps_its_id_and_names_never_collide() {
    let s = store(Limits::default());
    let a = s.define(TOY, &spec("GC/a b", "gc.a_b")).expect("room");
    let b = s.define(TOY, &spec("GC/a-b", "gc.a_b")).expect("room");
    let again = s.define(TOY, &spec("GC/a b", "gc.a_b")).expect("room");
    assert_eq!((a.id, b.id, again.id), (0, 1, 0));
    assert_eq!((a.spec.path.as_str(), b.spec.path.as_str()), ("gc.a_b", "gc.a_b_2"));
    assert_ne!(a.pmid, a.param);
    assert_eq!(s.take_changes().len(), 2);
}

#[test]
fn names_are_bounded_and_refusals_counted() {
    let s = store(Limits { names: 2, name_length: 10, ..Limits::default() });
    assert!(s.define(TOY, &spec("much too long", "long")).is_none());
    assert!(s.define(TOY, &spec("a", "aa")).is_some() && s.define(TOY, &spec("b", "bb")).is_some());
    assert!(s.define(TOY, &spec("c", "cc")).is_none());
    assert_eq!((s.stats.get(Stat::NamesRejected), s.stats.get(Stat::NamesRegistered)), (2, 2));
}

#[test]
fn a_restored_id_is_kept_and_none_is_given_out_twice() {
    let s = store(Limits::default());
    assert!(s.restore_metric(TOY, 7, spec("x", "xx")).is_ok_and(|m| m.is_some_and(|m| m.id == 7)));
    assert!(s.restore_metric(TOY, 8, spec("x", "xx")).is_err());
    assert!(s.restore_metric(TOY, 2, spec("w", "ww")).is_ok_and(|m| m.is_some()));
    assert_eq!(s.define(TOY, &spec("x", "xx")).map(|m| m.id), Some(7));
    assert_eq!(s.define(TOY, &spec("y", "yy")).map(|m| m.id), Some(9));
    s.reserve_ids(TOY, 40, 0);
    assert_eq!(s.define(TOY, &spec("z", "zz")).map(|m| m.id), Some(40));
    assert!(s.restore_metric(TOY, DYNAMIC_MAX, spec("v", "vv")).is_err());
}

#[test]
fn limits_hold_on_the_way_back_too_and_ids_wait_for_room() {
    let s = store(Limits { names: 1, instances: 1, ..Limits::default() });
    assert!(s.restore_metric(TOY, 0, spec("a", "aa")).is_ok_and(|m| m.is_some_and(|m| m.seen())));
    assert!(s.restore_metric(TOY, 1, spec("b", "bb_2")).is_ok_and(|m| m.is_none()));
    assert!(s.define(TOY, &spec("b", "bb")).is_none());
    s.set_limits(Limits { names: 3, ..Limits::default() });
    let b = s.define(TOY, &spec("b", "bb")).expect("room");
    assert_eq!((b.id, b.spec.path.as_str()), (1, "bb_2"));
    assert_eq!(s.define(TOY, &spec("c", "cc")).map(|m| m.id), Some(2));
    s.set_limits(Limits { instances: 1, ..Limits::default() });
    let back = |name| s.restore_peer(TOY, name, Duration::ZERO, Duration::from_secs(9));
    assert!(
        back("p:1")
            .is_some_and(|p| p.liveness.gone_for(Duration::ZERO) == Some(Duration::from_secs(9)))
    );
    assert!(back("p:2").is_none());
}

#[test]
fn a_returning_peer_is_the_same_instance_and_a_live_namesake_is_not() {
    let s = store(Limits::default());
    let (first, second, third) = (requests(), requests(), requests());
    let a = s.attach(TOY, &who("app:1"), &first, at(1)).expect("room");
    let b = s.attach(TOY, &who("app:1"), &second, at(2)).expect("room");
    assert_eq!(b.name, "app:1#2");
    s.detach(&a, &first, Departure::default(), at(3));
    let c = s.attach(TOY, &who("app:1"), &third, at(4)).expect("room");
    assert!(Arc::ptr_eq(&a, &c));
    assert_eq!(c.agent.get(AgentCell::Connects as u16), Some(2));
}

#[test]
fn another_process_of_a_name_has_not_said_what_the_one_before_said() {
    let s = store(Limits::default());
    let come = |process: &str| {
        let (id, requests) =
            (Identity { process: Some(process.into()), ..who("app:1") }, requests());
        let peer = s.attach(TOY, &id, &requests, at(1)).expect("room");
        s.detach(&peer, &requests, Departure::default(), at(2));
        peer
    };
    let (wheels, colour) = (0, 1);
    let peer = come("1@5");
    peer.cells.set(wheels, 4);
    peer.set_text(colour, "red", &s.memory);
    let said = |peer: &Peer| (peer.cells.get(wheels), peer.text(colour).as_deref() == Some("red"));
    assert_eq!(said(&come("1@5")), (Some(4), true));
    assert_eq!(said(&come("1@9")), (None, false));
}

#[test]
fn a_silent_connection_is_taken_over_and_told_so() {
    let s = store(Limits::default());
    let (old, new) = (requests(), requests());
    let a = s.attach(TOY, &who("app:1"), &old, at(1)).expect("room");
    let b = s.attach(TOY, &who("app:1"), &new, at(500)).expect("room");
    assert!(Arc::ptr_eq(&a, &b));
    assert_eq!(old.take(), vec![crate::contract::Control::Replaced]);
    s.detach(&a, &old, Departure::default(), at(501));
    assert!(a.liveness.up() && a.post(crate::contract::Control::Replaced));
}

#[test]
fn ways_to_one_process_do_not_replace_each_other() {
    let s = store(Limits::default());
    let way = |way, label: (&'static str, &str)| Identity {
        process: Some("1@7".into()),
        peer: format!("peer {way}"),
        labels: vec![("program", format!("of {way}")), (label.0, label.1.into())],
        way,
        ..who("app:1")
    };
    let (best, worse, again) = (requests(), requests(), requests());
    let a = s.attach(TOY, &way(1, ("b", "1")), &worse, at(1)).expect("room");
    let b = s.attach(TOY, &way(0, ("a", "0")), &best, at(1)).expect("room");
    let c = s.attach(TOY, &way(1, ("b", "2")), &again, at(2)).expect("room");
    assert!(Arc::ptr_eq(&a, &b) && Arc::ptr_eq(&b, &c));
    assert_eq!((worse.take(), best.take()), (vec![crate::contract::Control::Replaced], Vec::new()));
    let labels = || a.labels().into_iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>();
    assert_eq!(
        (a.address().as_str(), labels()),
        ("peer 0", vec!["program=of 0".to_owned(), "a=0".to_owned(), "b=1".to_owned(),])
    );
    let ask = || a.post(crate::contract::Control::Select(Vec::new()));
    assert!(ask() && (best.take().len(), again.take().len()) == (1, 0));
    a.post_all(&crate::contract::Control::Select(Vec::new()));
    assert_eq!((best.take().len(), again.take().len()), (1, 1));
    // The best one ends: requests go to the next, and the process is still there.
    s.detach(&a, &best, Departure::default(), at(3));
    assert!(a.liveness.up() && ask() && again.take().len() == 1);
    // Another process of this name.
    let other = Identity { process: Some("1@8".into()), ..way(0, ("a", "0")) };
    let d = s.attach(TOY, &other, &requests(), at(4)).expect("room");
    assert_eq!(d.name, "app:1#2");
}

#[test]
fn only_absent_peers_make_room() {
    let s = store(Limits { instances: 2, ..Limits::default() });
    let m = requests();
    let a = s.attach(TOY, &who("a:1"), &m, at(1)).expect("room");
    let _b = s.attach(TOY, &who("b:1"), &requests(), at(1)).expect("room");
    assert!(s.attach(TOY, &who("c:1"), &requests(), at(2)).is_none());
    assert_eq!(s.stats.get(Stat::InstancesRejected), 1);
    s.detach(&a, &m, Departure::default(), at(3));
    assert!(s.attach(TOY, &who("c:1"), &requests(), at(4)).is_some());
    assert!(s.take_changes().iter().any(|c| matches!(c, Change::Leave(p) if p.name == "a:1")));
}

#[test]
fn sweep_forgets_after_the_configured_time() {
    let s = store(Limits { forget: Duration::from_secs(60), ..Limits::default() });
    let m = requests();
    let a = s.attach(TOY, &who("a:1"), &m, at(1)).expect("room");
    s.detach(&a, &m, Departure::default(), at(10));
    s.sweep(Duration::from_secs(70));
    assert_eq!(s.peers().len(), 1);
    s.sweep(Duration::from_secs(71));
    assert_eq!(s.peers().len(), 0);
}

#[test]
fn nobody_takes_all_names_and_those_that_nobody_brings_or_has_fetched_give_way() {
    let s = store(Limits { names: 400, ..Limits::default() });
    let bring = |held: &mut Held, name: &str| s.define_for(TOY, &spec(name, name), held);
    let many = |held: &mut Held, of: &str| {
        (0..1000).filter(|n| bring(held, &format!("{of}{n}")).is_some()).count()
    };
    let (mut bad, mut good) = (Held::default(), Held::default());
    assert_eq!(many(&mut bad, "a"), 100, "a quarter");
    assert_eq!(many(&mut bad, "b"), 0);
    let mut others: Vec<Held> = Vec::new();
    for n in 0.. {
        let mut other = Held::default();
        if many(&mut other, &format!("other{n}_")) == 0 {
            break;
        }
        others.push(other);
    }
    assert_eq!(s.stats.get(Stat::NamesRegistered), 400);
    assert!(bring(&mut good, "orders").is_none(), "each is brought by somebody");
    bring(&mut good, "a0").expect("known").seen();
    let shared = bring(&mut good, "a1").expect("known").id;
    drop(bad);
    s.take_changes();
    assert!(bring(&mut good, "orders").is_some());
    assert_eq!(s.stats.get(Stat::NamesRegistered), 303, "a0 was fetched, a1 is brought");
    let gone = |changes: &[Change]| changes.iter().filter(|c| matches!(c, Change::Drop(_))).count();
    assert_eq!(gone(&s.take_changes()), 98);
    assert_eq!(bring(&mut good, "a1").expect("known").id, shared);
    let again = bring(&mut good, "a7").expect("room");
    assert_eq!(again.id, 7);
    assert!(matches!(&s.take_changes()[..], [Change::Again(metric)] if metric.id == 7));
    let new = bring(&mut good, "new").expect("room");
    assert_eq!(new.id, 401);
    assert!(others.len() >= 3);
}

#[test]
fn what_a_connection_and_its_peer_hold_is_given_up_once() {
    let s = store(Limits::default());
    let bring = |held: &mut Held, n: usize| {
        let name = format!("m{n}");
        s.define_for(TOY, &spec(&name, &name), held).expect("room")
    };
    let (mut peer, mut connection) = (Held::default(), Held::default());
    // Ids of four words; those from 50 to 149 are held by both.
    let of_peer: Vec<_> = (0..150).map(|n| bring(&mut peer, n)).collect();
    let of_both: Vec<_> = (50..200).map(|n| bring(&mut connection, n)).collect();
    bring(&mut peer, 0);
    peer.take_over(connection);
    let all = || of_peer.iter().chain(&of_both);
    assert!(all().all(|metric| !metric.is_unused()));
    drop(peer);
    assert!(all().all(|metric| metric.is_unused()));
}
