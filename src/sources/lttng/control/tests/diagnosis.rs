use super::super::mi;
use super::super::recorded::recorded;
use super::*;

fn spec(events: &[&str]) -> SessionSpec {
    SessionSpec {
        events: events.iter().map(|e| (*e).to_owned()).collect(),
        ..SessionSpec::new("s1")
    }
}

#[test]
fn no_daemon_for_every_reason() {
    let probe = |sockets: &[(&str, Socket)]| {
        let sockets = sockets.iter().map(|(p, s)| ((*p).to_owned(), s.clone())).collect();
        Diagnosis::of_daemon(&Probe { user: "pcp".into(), sockets })
    };
    assert_eq!(probe(&[("/a", Socket::Absent), ("/b", Socket::Absent)]).code, Code::NoSessiond);
    let denied = probe(&[("/b", Socket::Absent), ("/run/x", Socket::Denied("tracing".into()))]);
    assert_eq!(denied.code, Code::NotPermitted);
    assert!(denied.text.contains("/run/x") && denied.text.contains("usermod -aG tracing pcp"));
    assert!(
        probe(&[("/a", Socket::Dead), ("/b", Socket::Absent)])
            .text
            .contains("/a is there, but nobody listens")
    );
    assert!(probe(&[("/a", Socket::Alive)]).text.contains("did not answer"));
}

#[test]
fn programs_and_their_tracepoints() {
    let of = |file: &str, events: &[&str]| {
        Diagnosis::of_programs(&spec(events), &mi::read(&recorded(file).1.stdout).0)
    };
    assert_eq!(of("list-userspace-none", &["*"]).expect("nobody").code, Code::NoApplication);
    assert_eq!(of("list-userspace", &["demo:*", "demo:tick", "*"]), None);
    let wrong =
        of("list-userspace", &["demo:*", "nosuch:*", "demo:tack"]).expect("two fit nothing");
    assert_eq!(wrong.code, Code::NoEvent);
    assert!(wrong.text.starts_with("nosuch:*, demo:tack: fits none"), "{}", wrong.text);
    let many: Vec<String> = (0..20).map(|i| format!("no{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(of("list-userspace", &many).expect("none fits").text.contains("and 15 more"));
}

#[test]
fn ends_of_programs_are_lost_with_buffers_of_their_own() {
    let own = SessionSpec { buffers: Some(Buffers::Pid), ..spec(&["*"]) };
    for (version, code) in [
        ("2.13.9", Code::PerPidTail),
        ("2.12.3", Code::PerPidTail),
        ("", Code::PerPidTail),
        ("2.15.0", Code::Ok),
        ("2.16.0-rc1", Code::Ok),
        ("3.0", Code::Ok),
    ] {
        assert_eq!(Diagnosis::recording(&own, version).code, code, "{version}");
    }
    assert_eq!(Diagnosis::recording(&spec(&["*"]), "2.13.9").code, Code::Ok);
}

#[test]
fn every_fault_has_a_sentence() {
    let spec = spec(&["*"]);
    for (error, word, part) in [
        (CommandError::NotInstalled, "not_installed", "lttng-tools"),
        (CommandError::NotStarted("x".into()), "not_installed", "x"),
        (CommandError::TimedOut, "timeout", "in time"),
        (CommandError::Killed(13), "failed", "13"),
        (CommandError::NoDaemon, "no_sessiond", "session daemon"),
        (CommandError::Exists, "not_ours", "left alone"),
        (CommandError::Denied, "not_ours", "left alone"),
        (CommandError::NotFound, "failed", "s1"),
        (CommandError::RelaydUnreachable, "relayd_unreachable", "net://127.0.0.1"),
        (CommandError::NoConsumer, "no_consumer", "restart lttng-sessiond"),
        (CommandError::StartedOnce, "failed", "started once"),
        (CommandError::NoKernel("k".into()), "no_domain", "k"),
        (CommandError::NoAgents, "no_domain", "--agent-tcp-port"),
        (CommandError::Refused("r".into()), "refused", "r"),
        (CommandError::Failed { code: 72, text: "t".into() }, "failed", "72"),
    ] {
        let diagnosis = Diagnosis::of_error(&error, &spec);
        assert!(diagnosis.code.word() == word && diagnosis.text.contains(part), "{diagnosis}");
        assert!(!diagnosis.text.contains('\n'));
    }
}
