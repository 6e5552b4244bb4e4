use super::*;

fn sound() -> SessionSpec {
    SessionSpec { events: vec!["demo:*".into()], ..SessionSpec::new("s1") }
}

fn error(change: impl FnOnce(&mut SessionSpec)) -> SpecError {
    let mut spec = sound();
    change(&mut spec);
    spec.check().expect_err("must be refused")
}

#[test]
fn the_defaults_with_an_event_are_sound() {
    assert_eq!(sound().check(), Ok(()));
    let mut all = sound();
    all.url = "net6://[fe80::1%eth0]:6342:6343".into();
    all.subbuf_size = Some(16384);
    all.num_subbuf = Some(8);
    all.buffers = Some(Buffers::Pid);
    all.blocking_timeout = Some(Blocking::Inf);
    all.contexts = vec!["vpid".into(), "perf:thread:raw:r0013c:x".into()];
    all.filter = Some("$ctx.vpid == 7 && name != \"x\"".into());
    all.loglevel = Some("TRACE_ERR..TRACE_INFO".into());
    assert_eq!(all.check(), Ok(()));
}

#[test]
fn names_are_without_slashes_and_blanks() {
    for name in ["", "a/b", "a b", "a\tb", "-x", ".", "..", "é", &"x".repeat(NAME_MAX + 1)] {
        let error = error(|s| name.clone_into(&mut s.name));
        assert_eq!(error.key, "name", "{name}");
        assert!(error.to_string().contains("without '/' and blanks"));
    }
}

#[test]
fn urls_lead_to_a_relay_daemon() {
    for url in [
        "",
        "127.0.0.1",
        "file:///tmp",
        "net://",
        "net://:1",
        "net://h/x",
        "net://h:0",
        "net://h:1:2:3",
        "net://h:x",
        "net://[::1",
        "net://a b",
        "net://h:",
        "net://[::1]5",
    ] {
        let error = error(|s| url.clone_into(&mut s.url));
        assert_eq!(error.key, "url", "{url}");
        assert!(error.help.contains("net://127.0.0.1"));
    }
    for url in ["net://h", "net://h:1", "net://h:1:65535", "net6://[::1]", "net6://[::1]:1:2"] {
        assert_eq!(SessionSpec { url: url.into(), ..sound() }.check(), Ok(()), "{url}");
    }
}

#[test]
fn each_wrong_key_is_named() {
    let cases: Vec<(&str, SpecError)> = vec![
        ("live_timer", error(|s| s.live_timer = 10)),
        ("channel", error(|s| s.channel = "a b".into())),
        ("subbuf_size", error(|s| s.subbuf_size = Some(5000))),
        ("subbuf_size", error(|s| s.subbuf_size = Some(2048))),
        ("num_subbuf", error(|s| s.num_subbuf = Some(3))),
        ("num_subbuf", error(|s| s.num_subbuf = Some(1))),
        ("tracefile_size", error(|s| s.tracefile_size = 4096)),
        ("tracefile_count", error(|s| s.tracefile_size = 0)),
        ("events", error(|s| s.events.clear())),
        ("events", error(|s| s.events.push("a,b".into()))),
        ("events", error(|s| s.events.push("a b".into()))),
        ("events", error(|s| s.events.push("--all".into()))),
        ("events", error(|s| s.events = vec!["x".into(); EVENTS_MAX + 1])),
        ("contexts", error(|s| s.contexts.push("no such".into()))),
        ("contexts", error(|s| s.contexts.push("$app.p:c".into()))),
        ("contexts", error(|s| s.contexts = vec!["vpid".into(); CONTEXTS_MAX + 1])),
        ("filter", error(|s| s.filter = Some("a\nb".into()))),
        ("loglevel", error(|s| s.loglevel = Some("a b".into()))),
        (
            "loglevel_only",
            error(|s| {
                s.loglevel = Some("A".into());
                s.loglevel_only = Some("A".into());
            }),
        ),
        (
            "loglevel",
            error(|s| {
                s.domain = Domain::Kernel;
                s.loglevel = Some("A".into());
            }),
        ),
        (
            "domain",
            error(|s| {
                s.domain = Domain::Kernel;
                s.buffers = Some(Buffers::Uid);
            }),
        ),
        (
            "subbuf_size",
            error(|s| {
                s.domain = Domain::Jul;
                s.subbuf_size = Some(4096);
            }),
        ),
    ];
    for (key, error) in cases {
        assert_eq!(error.key, key, "{error}");
    }
}

#[test]
fn a_session_that_a_user_builds_up_has_no_events_yet() {
    assert_eq!(SessionSpec { start: false, ..SessionSpec::new("s1") }.check(), Ok(()));
    let app = SessionSpec { domain: Domain::Jul, contexts: vec!["$app.p:c".into()], ..sound() };
    assert_eq!(app.check(), Ok(()));
}

#[test]
fn only_events_contexts_and_whether_it_runs_can_change() {
    let spec = sound();
    assert!(spec.same_frame(&SessionSpec {
        events: vec![],
        contexts: vec!["vpid".into()],
        start: false,
        ..spec.clone()
    }));
    assert!(!spec.same_frame(&SessionSpec { live_timer: 5000, ..spec.clone() }));
    assert!(!spec.same_frame(&SessionSpec { filter: Some("a".into()), ..spec.clone() }));
}
