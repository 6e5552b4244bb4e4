use super::*;
use crate::contract::{Control, Session};
use crate::read::Order;
use crate::sources::mono::Settings;
use crate::sources::mono::metrics::{ADD, LIST, REMOVE};
use crate::sources::mono::test_kit::{
    Agent as Wire, CONSTANT, Harness, MONOTONIC, Row, SECOND, SYSTEM, T0, gc, gc_2014, word,
};

const PID: Row<'_> = (SYSTEM, "Process Id", 0, 0, CONSTANT, 0);
const USER_TIME: Row<'_> = (SYSTEM, "User Time", 3, 2 << 24, MONOTONIC, 2);

fn settings(select: &[&str]) -> Settings {
    Settings {
        select: select.iter().filter_map(|p| Pattern::parse(p).ok()).collect(),
        ..Settings::default()
    }
}

fn said(settings: Settings, wire: Wire) -> Harness {
    let mut talk = Harness::new(settings);
    assert_eq!(talk.feed(wire), Ok(()));
    talk
}

fn note(select: &[&str], rows: &[Row<'_>]) -> Harness {
    said(settings(select), Wire::little().hello(rows).sample(T0).end())
}

fn select(talk: &mut Harness, patterns: &[&str]) {
    let patterns = patterns.iter().map(|p| (*p).to_owned()).collect();
    assert_eq!(talk.control(&Control::Select(patterns)), Ok(()));
}

fn add(name: &str, category: &str) -> Vec<u8> {
    Wire::little().byte(2).string(name).string(category).bytes
}

fn remove(index: i16) -> Vec<u8> {
    Wire::little().byte(3).short(index).bytes
}

fn add_of_2014(category: &str, name: &str) -> Vec<u8> {
    Wire::little().byte(1).string(category).string(name).bytes
}

#[test]
fn a_glob_is_added_from_what_the_agent_lists() {
    let mut talk = note(&[], &[gc("Minor one", 0)]);
    talk.request(ADD, "Mono gc/Minor*; GC/exact; JIT/none*");
    assert_eq!(talk.sent(), [add("exact", "GC"), vec![1]].concat());
    let list = [("Minor one", "GC"), ("Minor two", "GC"), ("Major", "GC"), ("Minor two", "GC")];
    assert_eq!(talk.feed(Wire::little().added(gc("exact", 1)).list(&list)), Ok(()));
    assert_eq!(
        talk.sent(),
        add("Minor two", "GC"),
        "what is sampled and what was asked for is not asked for again"
    );
    assert_eq!(talk.lines(&["answer"]), [""; 0], "not before the last result");
    assert_eq!(talk.feed(Wire::little().byte(2).byte(1)), Ok(()));
    let answer = "answer control.add GC/exact: OK; GC/Minor one: EXISTING; JIT/none*: NOTFOUND; GC/Minor two: NOK";
    assert_eq!(talk.lines(&["answer"]), [answer]);
}

#[test]
fn what_is_no_counter_is_said_to_be_none() {
    let mut talk = note(&[], &[PID, gc("one", 1)]);
    for (control, text, answer) in [
        (ADD, "nonsense", "not possible: \"nonsense\" is not CATEGORY/NAME"),
        (ADD, " ; ", "nothing: store CATEGORY/NAME"),
        (REMOVE, "GC/two", "GC/two: NOTFOUND"),
        (
            REMOVE,
            "System/Process Id",
            "System/Process Id: not possible: it tells which process this is",
        ),
    ] {
        talk.request(control, text);
        assert_eq!(talk.lines(&["answer"]), [format!("answer {} {answer}", word(control))]);
    }
    talk.request(ADD, &"GC/x;".repeat(limits::ITEMS + 1));
    assert_eq!(
        talk.lines(&["answer"]),
        ["answer control.add too long: at most 1024 counters at once"]
    );
    assert_eq!(talk.sent(), b"");
}

#[test]
fn more_than_is_answered_waits_its_turn() {
    let mut talk = note(&[], &[gc("one", 0)]);
    let names: Vec<String> = (0..100).map(|n| format!("c{n}")).collect();
    talk.request(ADD, &names.iter().map(|n| format!("GC/{n};")).collect::<String>());
    let requests = |names: &[String]| names.iter().flat_map(|n| add(n, "GC")).collect::<Vec<u8>>();
    let (first, rest) = names.split_at(limits::OUTSTANDING);
    assert_eq!(talk.sent(), requests(first));
    let ok =
        (1..=64i16).zip(first).fold(Wire::little(), |w, (index, name)| w.added(gc(name, index)));
    assert_eq!(talk.feed(ok), Ok(()));
    assert_eq!(talk.sent(), requests(rest));
    // Requests without waiting for answers are refused at the limit.
    (0..100).for_each(|_| talk.request(LIST, ""));
    let refused = talk.lines(&["answer control.list not possible: too many requests are waiting"]);
    assert_eq!(
        refused.len(),
        100 - (limits::PENDING_REQUESTS - 1),
        "all but those beside the one that is open"
    );
}

#[test]
fn a_selection_that_is_taken_back_brings_the_announced_counters_back() {
    let mut talk = note(&["GC/*"], &[gc("one", 1), USER_TIME]);
    assert_eq!(talk.sent(), [1]);
    assert_eq!(talk.feed(Wire::little().list(&[("one", "GC"), ("User Time", "System")])), Ok(()));
    assert_eq!(talk.sent(), remove(2));
    assert_eq!(talk.feed(Wire::little().byte(3).byte(0)), Ok(()));
    select(&mut talk, &["GC/*"]);
    assert_eq!(talk.sent(), b"", "the same selection again");
    select(&mut talk, &[]);
    assert_eq!(talk.sent(), add("User Time", "System"));
    let again = (SYSTEM, "User Time", 3, 2 << 24, MONOTONIC, 3);
    assert_eq!(talk.feed(Wire::little().added(again)), Ok(()));
    assert_eq!(talk.lines(&["define", "error"]), ["define 1 GC/one", "define 3 System/User Time"]);
    select(&mut talk, &["JIT/*", "nonsense"]);
    assert_eq!(
        talk.lines(&["hide", "error"]),
        ["error \"nonsense\" is not CATEGORY/NAME", "hide 1", "hide 3"]
    );
    assert_eq!(talk.sent(), [1]);
}

#[test]
fn the_selection_reports_what_the_agent_refuses() {
    let mut talk = note(&["GC/*"], &[gc("one", 0)]);
    assert_eq!(
        talk.feed(Wire::little().list(&[("one", "GC"), ("two", "GC"), ("three", "GC")])),
        Ok(())
    );
    assert_eq!(talk.feed(Wire::little().byte(2).byte(2).byte(2).byte(3)), Ok(()));
    assert_eq!(talk.lines(&["error"]), ["error GC/two: NOTFOUND"]);
}

#[test]
fn an_agent_b_is_only_asked_for_full_names() {
    let rows = [gc_2014("one", 0)];
    let hello = || Wire::little().headers(&rows).hello(&rows).sample(T0).end();
    let mut talk = said(settings(&["GC/one", "GC/two", "GC/t*"]), hello());
    assert_eq!(talk.sent(), add_of_2014("Mono GC", "two"));
    // Another request for the counter, before or after the response, must not cause a second Add.
    talk.request(ADD, "gc/two");
    assert_eq!(talk.feed(Wire::little().added(gc_2014("two", 1))), Ok(()));
    talk.request(ADD, "Mono JIT/two; GC/*; GC/two");
    talk.request(LIST, "");
    talk.request(REMOVE, "GC/two");
    assert_eq!(talk.sent(), b"");
    let twice = "not possible: a 2014 agent hangs up when a counter is added twice, and it has one of this name";
    assert_eq!(
        talk.lines(&["answer", "hide"]),
        [
            format!("answer control.add GC/two: {twice}"),
            format!(
                "answer control.add GC/two: EXISTING; JIT/two: {twice}; list: not possible: a 2014-B agent lists only what it \
                 samples already"
            ),
            "answer control.list list: not possible: a 2014-B agent lists only what it samples already"
                .into(),
            "answer control.remove GC/two: OK, not shown any more; the agent cannot be told".into(),
            "hide 1".into(),
        ]
    );
    talk.inspector.close(talk.now, &mut talk.out, &mut talk.told);
    assert_eq!(talk.sent(), b"", "B knows no good-bye");
}

#[test]
fn nothing_is_ever_sent_to_a_or_to_a_file() {
    let rows = [gc_2014("one", 0), gc_2014("two", 1)];
    let old = Wire::little().headers(&rows).long(36_000 * SECOND).number(0, 1).number(1, 2).end();
    let file = Settings { one_way: true, ..settings(&["GC/one"]) };
    let modern = Wire::little()
        .hello(&[gc("one", 0), gc("two", 1)])
        .sample(T0)
        .number(0, 1)
        .number(1, 2)
        .end();
    for (settings, wire, why) in [
        (settings(&["GC/one"]), old, "not possible: a 2014-A agent reads no requests"),
        (file, modern, "not possible: a file is only read"),
    ] {
        let mut talk = said(settings, wire);
        assert_eq!(
            talk.lines(&["define", "sample", "error"]),
            ["define 0 GC/one", "sample 0=Wrapping32(1)"]
        );
        talk.request(ADD, "GC/three");
        talk.request(LIST, "");
        assert_eq!(
            talk.lines(&["answer"]),
            [
                format!("answer control.add GC/three: {why}"),
                format!("answer control.list list: {why}")
            ]
        );
        // Without the agent, adding and removing only shows and hides.
        talk.request(ADD, "GC/two");
        talk.request(REMOVE, "GC/one");
        select(&mut talk, &["GC/*"]);
        talk.inspector.close(talk.now, &mut talk.out, &mut talk.told);
        assert_eq!(
            (talk.sent(), talk.lines(&["define"])),
            (vec![], vec!["define 1 GC/two".to_owned()])
        );
    }
}

#[test]
fn a_list_is_read_in_the_order_of_its_agent_and_byte_order() {
    let hello = Wire::new(Order::Big).hello(&[gc_2014("one", 0)]).sample(T0).end();
    let mut talk = said(settings(&[]), hello);
    talk.request(LIST, "x");
    assert_eq!(talk.sent(), [0]);
    assert_eq!(
        talk.feed(Wire::new(Order::Big).list(&[
            ("Mono GC", "one"),
            ("Widgets", "made"),
            ("", "x")
        ])),
        Ok(())
    );
    assert_eq!(talk.lines(&["answer"]), ["answer control.list GC/one;Widgets/made"]);
}

#[test]
fn a_response_that_nothing_asked_for_is_read_and_counted() {
    let mut talk = note(&[], &[gc("one", 0)]);
    let wire = Wire::little()
        .list(&[("x", "GC")])
        .added(gc("two", 1))
        .byte(3)
        .byte(0)
        .sample(T0 + SECOND)
        .number(1, 5)
        .end();
    assert_eq!(talk.feed(wire), Ok(()));
    assert_eq!(
        talk.lines(&["error", "sample", "define"]),
        [
            "define 0 GC/one",
            "sample ",
            "error unsolicited List response",
            "error unsolicited Add response",
            "define 1 GC/two",
            "error unsolicited Remove response",
            "sample 1=Wrapping32(5)"
        ]
    );
    // A response that began before the List was sent is not the answer.
    assert_eq!(talk.feed(Wire::little().byte(1).string("x").string("GC")), Ok(()));
    talk.request(LIST, "");
    assert_eq!(talk.feed(Wire::little().int(-1).list(&[("y", "GC")])), Ok(()));
    assert_eq!(
        talk.lines(&["error", "answer"]),
        ["error unsolicited List response", "answer control.list GC/y"]
    );
}

#[test]
fn a_list_has_an_end() {
    let mut talk = note(&[], &[gc("one", 0)]);
    talk.request(LIST, "");
    let pairs = vec![("x", "GC"); limits::COUNTERS];
    assert_eq!(talk.feed(Wire::little().list(&pairs)), Ok(()));
    talk.request(LIST, "");
    let pairs = vec![("x", "GC"); limits::COUNTERS + 1];
    assert!(
        talk.feed(Wire::little().list(&pairs))
            .is_err_and(|e| e.to_string().contains("counters of a list"))
    );
}
