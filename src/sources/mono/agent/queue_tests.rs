use super::*;
use crate::sources::mono::metrics::{ADD, LIST};

fn queue(agent: Agent) -> (RequestQueue, Counters) {
    (
        RequestQueue::new(agent, false, Order::Little),
        Counters::new(
            Order::Little,
            Vec::new(),
            crate::sources::mono::counters::Bounds { name_length: 200, names: 100 },
        ),
    )
}

fn add(name: &str) -> Request {
    Request::Add { category: "GC".into(), name: name.into() }
}

#[test]
fn answers_belong_to_the_oldest_request_of_their_kind_only_when_it_is_the_oldest_of_all() {
    let (mut d, counters) = queue(Agent::Note);
    assert!(d.push(Request::List, Origin::User(1)) && d.push(add("a"), Origin::User(2)));
    let mut out = BytesMut::new();
    assert!(d.send(&counters, &mut out).is_empty());
    assert!(d.added().is_none() && d.removed().is_none());
    assert_eq!(d.listed().map(|a| a.origin), Some(Origin::User(1)));
    assert_eq!(d.added().map(|a| a.origin), Some(Origin::User(2)));
    assert!(d.added().is_none());
}

#[test]
fn what_waits_is_bounded_and_sent_in_portions() {
    let (mut d, counters) = queue(Agent::Note);
    let taken =
        (0..2 * limits::WAITING).filter(|n| d.push(add(&n.to_string()), Origin::Selection)).count();
    assert_eq!(taken, limits::WAITING);
    let mut out = BytesMut::new();
    assert!(d.send(&counters, &mut out).is_empty());
    assert_eq!(d.outstanding.len(), limits::OUTSTANDING.min(limits::WAITING));
    d.forget_selection();
    assert!(d.waiting.is_empty());
}

#[test]
fn a_file_is_sent_nothing() {
    let mut d = RequestQueue::new(Agent::Note, true, Order::Little);
    let counters = Counters::new(
        Order::Little,
        Vec::new(),
        crate::sources::mono::counters::Bounds { name_length: 200, names: 100 },
    );
    d.push(Request::List, Origin::User(1));
    let mut out = BytesMut::new();
    let refused = d.send(&counters, &mut out);
    assert_eq!((refused.first().map(|r| r.1), out.len()), (Some(Refusal::OneWay), 0));
}

#[test]
fn an_answer_comes_when_the_last_result_has() {
    let mut pending = PendingRequests::default();
    let (a, b) = (pending.begin(ADD).unwrap_or(9), pending.begin(LIST).unwrap_or(9));
    pending.expect(a);
    pending.line(a, "GC/x", "OK");
    assert_eq!(pending.settle(a), None);
    assert_eq!(pending.settle(b), Some((LIST, String::new())));
    pending.line(a, "GC/y", "NOTFOUND");
    assert_eq!(pending.settle(a), Some((ADD, "GC/x: OK; GC/y: NOTFOUND".into())));
    assert_eq!(pending.settle(a), None);
}

#[test]
fn too_many_at_once_are_refused() {
    let mut pending = PendingRequests::default();
    let begun = (0..100).filter_map(|_| pending.begin(ADD)).count();
    assert_eq!(begun, limits::PENDING_REQUESTS);
}

#[test]
fn long_answers_are_cut_and_say_so() {
    let mut answer = Answer::default();
    (0..100).for_each(|_| answer.item(";", &"x".repeat(1023)));
    let text = answer.into_text();
    assert!(text.len() < limits::ANSWER + 20 && text.ends_with("x … 68 more"), "{}", text.len());
}
