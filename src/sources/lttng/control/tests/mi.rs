use proptest::prelude::*;

use super::super::recorded::{all, recorded};
use super::*;

fn answer(name: &str) -> Answer {
    let (answer, result) = read(&recorded(name).1.stdout);
    assert_eq!(result, Ok(()), "{name}");
    answer
}

fn items(items: &[Item]) -> Vec<(&str, Option<bool>)> {
    items.iter().map(|i| (i.name.as_str(), i.success)).collect()
}

#[test]
fn every_recorded_answer_is_read_and_names_its_command() {
    for name in all() {
        let (command, reply) = recorded(&name);
        let (answer, result) = read(&reply.stdout);
        if name == "context-unknown" {
            assert_eq!(result, Err(AnswerError::Empty));
            continue;
        }
        assert_eq!(result, Ok(()), "{name}");
        assert_eq!(Some(answer.command.as_str()), command.split(' ').nth(1), "{name}");
    }
}

#[test]
fn what_answers_say() {
    assert_eq!(answer("version").version, "2.13.9");
    assert_eq!(answer("no-daemon-list").success, None);
    let created = answer("create");
    let listed = ListedSession {
        name: "s1".into(),
        path: "tcp4://127.0.0.1:17342/apm-mark [data: 17343]".into(),
        enabled: false,
        live_timer: 200_000,
    };
    assert_eq!(
        (created.success, &created.sessions[..]),
        (Some(true), std::slice::from_ref(&listed))
    );
    assert_eq!(answer("list-created").sessions, std::slice::from_ref(&listed));
    assert_eq!(answer("list-active").sessions, [ListedSession { enabled: true, ..listed.clone() }]);
    assert_eq!(answer("list-session").sessions, [ListedSession { enabled: true, ..listed }]);
    assert_eq!(answer("create-exists").sessions, []);
    // The session is there although the program failed to write its own file.
    let created = answer("member-no-home-create");
    assert_eq!((created.success, created.sessions.len()), (Some(false), 1));
    assert_eq!(items(&answer("channel").channels), [("ch1", Some(true))]);
    assert_eq!(items(&answer("channel-late").channels), [("ch9", Some(false))]);
    assert_eq!(
        items(&answer("event-one-exists").events),
        [("demo:tick", Some(false)), ("demo:str", Some(true))]
    );
    assert_eq!(answer("event-bad-level").success, Some(false));
    assert_eq!(
        items(&answer("context").contexts),
        [("vpid", Some(true)), ("vtid", Some(true)), ("procname", Some(true))]
    );
    assert_eq!(items(&answer("context-perf").contexts), [("perf:thread:instructions", Some(true))]);
    assert_eq!(items(&answer("context-app").contexts), [("$app.prov:ctx", Some(true))]);
    let programs = answer("list-userspace");
    assert_eq!(programs.processes.len(), 1);
    assert!(programs.processes[0].name.ends_with("demo") && programs.processes[0].pid > 0);
    assert!(
        programs.tracepoints.contains("demo:tick")
            && programs.tracepoints.contains("lttng_ust_lib:load")
    );
    assert!(programs.events.is_empty(), "tracepoints are not events of a session");
    assert!(answer("list-userspace-none").processes.is_empty());
    let channels: Vec<_> = answer("list-session").channels.into_iter().map(|c| c.name).collect();
    assert!(channels.contains(&"ch1".to_owned()), "{channels:?}");
}

#[test]
fn every_cut_of_an_answer_is_a_truncated_one() {
    for name in ["list-session", "event", "list-userspace", "event-filter"] {
        let whole = recorded(name).1.stdout;
        let end = whole.trim_ascii_end().len();
        for cut in 0..end {
            let (_, result) = read(&whole[..cut]);
            let expected = matches!(result, Err(AnswerError::Truncated(_) | AnswerError::Empty))
                || (cut < 60 && matches!(result, Err(AnswerError::Malformed { .. })));
            assert!(expected, "{name} cut at {cut}: {result:?}");
        }
        assert_eq!(read(&whole[..end]).1, Ok(()));
    }
}

#[test]
fn hostile_answers_are_refused() {
    let refused = |text: &str| read(text.as_bytes()).1.expect_err(text);
    assert!(matches!(refused("Usage: lttng"), AnswerError::Malformed { .. }));
    assert!(matches!(refused("<html><body/></html>"), AnswerError::Malformed { .. }));
    assert!(matches!(refused("<command/><command/>"), AnswerError::Malformed { .. }));
    assert!(matches!(refused("<command></output></command>"), AnswerError::Malformed { .. }));
    assert!(matches!(
        refused("<!DOCTYPE a [<!ENTITY b 'c'>]><command/>"),
        AnswerError::Malformed { .. }
    ));
    assert!(matches!(refused("<command>&b;</command>"), AnswerError::Malformed { .. }));
    assert!(matches!(refused(&"<command>".repeat(DEPTH_MAX + 1)), AnswerError::Limit { .. }));
    assert!(matches!(
        refused(&format!("<command><name>{}", "x".repeat(TEXT_MAX + 1))),
        AnswerError::Limit { .. }
    ));
    assert!(matches!(
        refused(&format!("<command>{}", "<session/>".repeat(ITEMS_MAX + 1))),
        AnswerError::Limit { .. }
    ));
    assert!(matches!(read(&vec![b' '; OUTPUT_MAX + 1]).1, Err(AnswerError::Limit { .. })));
    assert_eq!(refused(" \n"), AnswerError::Empty);
}

#[test]
fn entities_and_other_bytes_are_text() {
    let (answer, result) =
        read(b"<command><name>a &lt;&#65;&gt; <![CDATA[<b>]]>\xff</name></command>");
    assert_eq!((answer.command.as_str(), result), ("a <A> <b>\u{fffd}", Ok(())));
}

proptest! {
    #[test]
    fn any_bytes_give_an_answer_or_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn a_damaged_answer_gives_an_answer_or_a_fault(at in 0usize..4000, byte in any::<u8>(), drop in 0usize..40) {
        let mut bytes = recorded("list-session").1.stdout;
        let at = at.min(bytes.len() - 1);
        bytes[at] = byte;
        bytes.drain(at..(at + drop).min(bytes.len()));
        let (answer, _) = read(&bytes);
        prop_assert!(answer.sessions.len() <= 10);
    }
}
