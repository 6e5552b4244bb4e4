//! The controller against an imitation of the session daemon.

use world::{Made, World, no, spec};

use super::super::Exit;
use super::super::command::Verb;
use super::super::diagnosis::Code;
use super::super::spec::Buffers;
use super::*;

mod world;

const MADE: &str = "create enable-channel enable-event add-context start list";
const ANEW: &str = "destroy create enable-channel enable-event add-context start list";

#[test]
fn a_session_is_made_once() {
    let mut w = World::new(&[spec("s1")]);
    assert_eq!(w.settle(), PERIOD);
    assert_eq!(w.log(), MADE);
    assert_eq!(
        (w.code("s1"), w.session("s1").phase, w.session("s1").made),
        (Code::Ok, SessionPhase::Active, 1)
    );
    assert!(w.sessions[0].path.contains("/s1-apm-abc-"));
    for _ in 0..5 {
        assert_eq!(w.wait(10), PERIOD);
    }
    assert_eq!(w.log(), "");
    assert_eq!(w.controller.version(), "2.13.9");
}

#[test]
fn nothing_runs_without_a_session() {
    let mut w = World::new(&[]);
    w.daemon = false;
    assert_eq!(w.settle(), PERIOD);
    assert_eq!((w.log(), w.controller.version()), (String::new(), ""));
}

#[test]
fn after_a_restart_ours_are_known_and_left_alone() {
    let mut w = World::new(&[spec("s1")]);
    w.settle();
    w.log();
    w.restart(&[spec("s1")]);
    assert_eq!((w.log(), w.code("s1")), (String::new(), Code::Ok));
    // Without the state file nothing is ours.
    w.saved.clear();
    w.restart(&[spec("s1")]);
    assert_eq!(
        (w.log(), w.code("s1"), w.session("s1").phase),
        (String::new(), Code::NotOurs, SessionPhase::Foreign)
    );
}

#[test]
fn a_crash_at_any_command_leaves_nothing_of_which_is_not_known_whose_it_is() {
    for crash in ["create", "enable-channel", "enable-event", "add-context", "start"] {
        let mut w = World::new(&[spec("s1")]);
        loop {
            match w.controller.next(w.now) {
                Action::Save(text) => w.saved = text,
                Action::Run(i) => {
                    let reply = w.answer(&i);
                    // The command was run, but the PMDA crashes before the reply.
                    if i.args[3] == crash {
                        break;
                    }
                    w.controller.replied(&reply, w.now);
                }
                other => panic!("{other:?}"),
            }
        }
        w.log();
        w.restart(&[spec("s1")]);
        assert_eq!(
            (w.code("s1"), w.sessions.len(), w.sessions[0].enabled),
            (Code::Ok, 1, true),
            "{crash}: {}",
            w.log()
        );
        assert_eq!((w.sessions[0].events.len(), w.sessions[0].contexts.len()), (1, 1));
    }
}

#[test]
fn somebody_elses_session_is_left_alone() {
    let mut w = World::new(&[spec("s1")]);
    let theirs = Made {
        name: "s1".into(),
        path: "tcp4://127.0.0.1:5342/ [data: 5343]".into(),
        enabled: false,
        timer: "1000000".into(),
        events: vec![],
        contexts: vec![],
        channels: 0,
        started: false,
    };
    w.sessions.push(theirs);
    w.settle();
    w.wait(100);
    w.controller.notice(&Notice::Lost("s1".into()), w.now);
    w.wait(100);
    assert!(
        w.request(1, Verb::Session, "destroy s1").expect_err("not ours").contains("left alone")
    );
    w.controller.configure(&[], w.now);
    w.wait(100);
    assert_eq!((w.log(), w.sessions.len()), (String::new(), 1));
}

#[test]
fn a_session_that_a_user_asked_for_in_vain_is_not_tried_again() {
    let mut w = World::new(&[]);
    w.error = Some(("create", no(1, "Error: Session name already exists")));
    assert!(
        w.request(1, Verb::Session, "create u1 events=a")
            .expect_err("taken")
            .contains("left alone")
    );
    assert!(!w.saved.contains("u1"), "what is at rest is saved");
    w.wait(100);
    assert_eq!((w.log().as_str(), w.controller.reports().len()), ("create", 0));
}

#[test]
fn a_name_taken_by_another_user_is_told() {
    let mut w = World::new(&[spec("s1")]);
    w.error = Some(("create", no(1, "Error: Session name already exists")));
    w.settle();
    assert_eq!((w.log().as_str(), w.code("s1")), ("create", Code::NotOurs));
}

#[test]
fn no_session_daemon_is_waited_for_and_explained() {
    let mut w = World::new(&[spec("s1")]);
    w.daemon = false;
    assert_eq!(w.settle(), Duration::from_secs(1));
    assert_eq!((w.code("s1"), w.session("s1").phase), (Code::NotPermitted, SessionPhase::Unknown));
    let pauses: Vec<u64> = [1, 2, 4, 8, 16, 32, 60].iter().map(|s| w.wait(*s).as_secs()).collect();
    assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
    w.daemon = true;
    w.wait(60);
    assert_eq!((w.log().as_str(), w.code("s1")), (MADE, Code::Ok));
    // The session daemon dies with all sessions, and is started again.
    (w.daemon, w.sessions) = (false, vec![]);
    w.wait(10);
    assert_eq!(w.code("s1"), Code::NotPermitted);
    w.daemon = true;
    w.wait(10);
    assert_eq!((w.log().as_str(), w.code("s1"), w.session("s1").made), (MADE, Code::Ok, 2));
}

#[test]
fn an_unreachable_relay_daemon_is_tried_again_from_the_start() {
    let mut w = World::new(&[spec("s1"), spec("s2")]);
    w.relayd = false;
    assert_eq!(w.settle(), Duration::from_secs(1));
    assert_eq!(
        (w.log().as_str(), w.code("s1"), w.code("s2")),
        (
            "create enable-channel create enable-channel",
            Code::RelaydUnreachable,
            Code::RelaydUnreachable
        )
    );
    assert_eq!(w.wait(1), Duration::from_secs(2));
    assert_eq!(w.log(), "destroy create enable-channel destroy create enable-channel");
    w.relayd = true;
    w.wait(2);
    assert_eq!((w.code("s1"), w.code("s2"), w.sessions.len()), (Code::Ok, Code::Ok, 2));
    assert_eq!(w.session("s1").failures, 0);
}

#[test]
fn a_killed_or_hanging_command_is_tried_again() {
    for (command, exit) in [
        ("enable-channel", Exit::Signal(13)),
        ("create", Exit::TimedOut),
        ("start", Exit::Code(66)),
        ("enable-event", Exit::TooMuch),
    ] {
        let mut w = World::new(&[spec("s1")]);
        w.error = Some((command, Reply { exit, stdout: vec![], stderr: String::new() }));
        assert_eq!(w.settle(), Duration::from_secs(1), "{command}");
        assert!(matches!(w.code("s1"), Code::Failed | Code::Timeout));
        w.wait(1);
        assert_eq!(w.code("s1"), Code::Ok, "{command}");
    }
}

#[test]
fn a_session_that_the_relay_daemon_lost_is_made_anew() {
    let mut w = World::new(&[spec("s1")]);
    w.settle();
    w.log();
    let lost = Notice::Lost("s1".into());
    w.controller.notice(&lost, w.now);
    w.settle();
    assert_eq!(w.log(), "", "too soon");
    w.wait(5);
    let path = w.sessions[0].path.clone();
    w.controller.notice(&lost, w.now);
    assert_eq!(w.code("s1"), Code::RelaydLost);
    // destroy fails, as it does when the relay daemon is gone, but the session is destroyed.
    let failed =
        no(141, "Error: Rotation failure on consumer during the destruction of session \"s1\"");
    w.error = Some(("destroy", failed));
    w.sessions.clear();
    w.sessions.push(Made {
        name: "s1".into(),
        path: path.clone(),
        enabled: true,
        timer: "1000000".into(),
        events: vec![],
        contexts: vec![],
        channels: 1,
        started: true,
    });
    w.settle();
    // Here the session was not destroyed: the next round lists one that is still ours.
    w.wait(1);
    assert_eq!(
        (w.code("s1"), w.sessions.len(), w.sessions[0].enabled),
        (Code::Ok, 1, true),
        "{}",
        w.log()
    );
    assert_ne!(w.sessions[0].path, path);
    // Lost repeatedly: longer pauses, until events come.
    w.log();
    w.wait(6);
    w.controller.notice(&lost, w.now);
    w.settle();
    assert_eq!(w.log(), "", "not at once");
    w.wait(1);
    assert_eq!(w.log(), ANEW);
    w.controller.notice(&Notice::Active("s1".into()), w.now);
    w.wait(6);
    w.controller.notice(&lost, w.now);
    w.settle();
    assert_eq!(w.log(), ANEW);
    w.controller.notice(&Notice::Lost("nobody".into()), w.now);
}

#[test]
fn why_no_events_come() {
    let mut w = World::new(&[spec("s1")]);
    w.programs.clear();
    w.settle();
    assert_eq!(w.code("s1"), Code::NoApplication);
    w.programs = vec!["other:x"];
    w.wait(10);
    assert_eq!(w.code("s1"), Code::NoApplication, "not looked at so often");
    w.wait(20);
    assert_eq!(w.code("s1"), Code::NoEvent);
    w.programs = vec!["demo:tick"];
    w.wait(30);
    assert_eq!(w.code("s1"), Code::Ok);
    w.log();
    w.wait(60);
    assert_eq!(w.log(), "", "all is well");
    w.programs.clear();
    w.controller.notice(&Notice::Silent("s1".into()), w.now);
    w.settle();
    assert_eq!((w.log().as_str(), w.code("s1")), ("list", Code::NoApplication));
    w.controller.notice(&Notice::Active("s1".into()), w.now);
    assert_eq!(w.code("s1"), Code::Ok);
    w.wait(60);
    assert_eq!(w.log(), "");
}

#[test]
fn a_changed_configuration_takes_effect() {
    let mut w = World::new(&[spec("s1"), spec("s2")]);
    w.settle();
    w.log();
    let more = SessionSpec { events: vec!["demo:*".into(), "x:*".into()], ..spec("s1") };
    w.controller.configure(&[more], w.now);
    w.settle();
    assert_eq!((w.log().as_str(), w.sessions.len()), ("enable-event destroy", 1));
    assert_eq!(w.controller.reports().len(), 1);
    let slower = SessionSpec { live_timer: 5_000_000, ..spec("s1") };
    w.controller.configure(std::slice::from_ref(&slower), w.now);
    w.settle();
    assert_eq!(w.log(), ANEW);
    // The change is noticed over a restart, too.
    w.restart(&[SessionSpec { buffers: Some(Buffers::Pid), ..slower }]);
    assert_eq!((w.log().as_str(), w.code("s1")), (ANEW, Code::PerPidTail));
    w.restart(&[]);
    assert_eq!((w.log().as_str(), w.sessions.len()), ("destroy", 0));
}

#[test]
fn users_make_sessions_of_their_own() {
    use Verb::{Context, Enable, Session, Start, Stop};
    let mut w = World::new(&[]);
    w.settle();
    assert!(w.request(1, Start, "u1").expect_err("unknown").contains("there are: none"));
    assert_eq!(
        w.request(2, Session, "create u1 live_timer=200ms"),
        Ok("done: session u1 is stopped".into())
    );
    assert!(w.request(3, Start, "u1").expect_err("no events").contains("enable some"));
    assert!(w.request(4, Enable, "u1 demo:*").is_ok());
    assert!(w.request(5, Context, "u1 vpid,vtid").is_ok());
    assert_eq!(w.log(), "create enable-channel enable-event add-context");
    assert_eq!(w.request(6, Start, "u1"), Ok("done: session u1 is recording".into()));
    assert_eq!(w.log(), "start list");
    assert!(w.request(7, Start, "u1").is_ok() && w.log().is_empty(), "twice is once");
    assert!(w.request(8, Context, "u1 vpid").is_ok(), "it has that already");
    assert!(w.request(9, Context, "u1 procname").expect_err("too late").contains("started once"));
    assert!(w.request(10, Session, "create u1").expect_err("twice").contains("already"));
    assert!(!w.session("u1").configured && w.session("u1").phase == SessionPhase::Active);
    // Sessions of users outlive a restart.
    w.restart(&[]);
    assert_eq!((w.log().as_str(), w.session("u1").phase), ("", SessionPhase::Active));
    assert_eq!(w.request(11, Stop, "u1"), Ok("done: session u1 is stopped".into()));
    assert_eq!((w.log().as_str(), w.code("u1")), ("stop", Code::Stopped));
    assert_eq!(w.request(12, Session, "destroy u1"), Ok("done: session u1 is destroyed".into()));
    assert_eq!(
        (w.log().as_str(), w.sessions.len(), w.controller.reports().len()),
        ("destroy", 0, 0)
    );
}

#[test]
fn what_lttng_refuses_leaves_the_session_as_it_was() {
    use Verb::{Enable, Session};
    let mut w = World::new(&[spec("s1")]);
    w.settle();
    w.log();
    w.error = Some((
        "enable-event",
        no(106, "Error: Event x: Invalid filter bytecode (channel apm, session s1)"),
    ));
    assert!(w.request(1, Enable, "s1 x:*").expect_err("refused").contains("Invalid filter"));
    w.wait(10);
    assert_eq!((w.log().as_str(), w.code("s1")), ("enable-event", Code::Ok));
    w.error = Some(("enable-event", no(97, "Error: Unknown loglevel NOPE")));
    assert!(
        w.request(2, Session, "create u1 loglevel=NOPE events=a")
            .expect_err("refused")
            .contains("NOPE")
    );
    w.wait(10);
    assert_eq!((w.sessions.len(), w.controller.reports().len()), (1, 1), "{}", w.log());
}

#[test]
fn what_users_change_in_configured_sessions_holds_until_the_configuration_changes() {
    use Verb::{Session, Stop};
    let mut w = World::new(&[spec("s1")]);
    w.settle();
    assert!(w.request(1, Stop, "s1").is_ok());
    w.log();
    w.restart(&[spec("s1")]);
    assert_eq!((w.log().as_str(), w.code("s1")), ("", Code::Stopped));
    assert!(w.request(2, Session, "destroy s1").is_ok());
    w.restart(&[spec("s1")]);
    w.wait(60);
    assert_eq!((w.log().as_str(), w.code("s1")), ("destroy", Code::Destroyed));
    assert_eq!(w.request(3, Session, "create s1"), Ok("done: session s1 is recording".into()));
    assert_eq!(w.log(), MADE);
    w.request(4, Stop, "s1").expect("stopped");
    w.restart(&[SessionSpec { live_timer: 5000, ..spec("s1") }]);
    assert_eq!(
        (w.session("s1").phase, w.sessions[0].timer.as_str()),
        (SessionPhase::Active, "5000")
    );
}

#[test]
fn requests_without_a_session_daemon_are_answered() {
    use Verb::Session;
    let mut w = World::new(&[]);
    w.daemon = false;
    assert!(
        w.request(1, Session, "create u1 events=a start=true")
            .expect_err("none")
            .contains("session daemon")
    );
    w.daemon = true;
    w.wait(60);
    assert_eq!(w.code("u1"), Code::NoEvent);
}

#[test]
fn an_answer_says_that_nothing_fits() {
    use Verb::Session;
    let mut w = World::new(&[]);
    let made = w.request(1, Session, "create u1 events=dmeo:* start=true").expect("made");
    assert!(
        made.starts_with(
            "done: session u1 is recording, but dmeo:*: fits none of the 1 tracepoints"
        ),
        "{made}"
    );
    let right = w.request(2, Session, "create u2 events=demo:* start=true");
    assert_eq!(right, Ok("done: session u2 is recording".into()));
    w.programs.clear();
    let none = w.request(3, Session, "create u3 events=dmeo:* start=true");
    assert_eq!(none, Ok("done: session u3 is recording".into()), "programs may come");
}

#[test]
fn sessions_are_bounded() {
    use Verb::Session;
    let many: Vec<SessionSpec> = (0..SESSIONS_MAX + 5).map(|i| spec(&format!("s{i}"))).collect();
    let mut w = World::new(&many);
    w.daemon = false;
    w.settle();
    assert_eq!(w.controller.reports().len(), SESSIONS_MAX);
    assert!(w.request(1, Session, "create more").expect_err("full").contains("already"));
}
