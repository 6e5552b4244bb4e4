use super::super::recorded::recorded;
use super::*;

const MARK: &str = "s1-apm-1";

fn marks() -> Vec<String> {
    vec!["s1-apm-0".into(), MARK.into()]
}

fn spec() -> SessionSpec {
    let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    SessionSpec {
        events: owned(&["demo:tick", "demo:req*"]),
        contexts: owned(&["vpid", "vtid"]),
        ..SessionSpec::new("s1")
    }
}

fn listed(enabled: bool) -> ListedSession {
    let path = format!("tcp4://127.0.0.1:5342/{MARK} [data: 5343]");
    ListedSession { name: "s1".into(), path, enabled, live_timer: 1_000_000 }
}

fn applied(spec: &SessionSpec, started: bool) -> Applied {
    Applied { spec: spec.clone(), channel: true, started }
}

/// The command lines without their common arguments.
fn lines(plan: &Plan) -> Vec<String> {
    let Plan::Commands(commands) = plan else { return vec!["not ours".into()] };
    let line = |i: &Invocation| {
        assert_eq!(i.args[..3], ["--no-sessiond", "--mi", "xml"]);
        i.args[3..].join(" ")
    };
    commands.iter().map(line).collect()
}

fn steps(spec: &SessionSpec, applied: Option<&Applied>, listed: &[ListedSession]) -> Vec<String> {
    lines(&plan(PlanInput {
        spec,
        marks: &marks(),
        next_mark: "s1-apm-2",
        applied,
        listed,
        recreate: false,
        gone: false,
    }))
}

const MADE: [&str; 5] = [
    "create s1 --live=1000000 --set-url=net://127.0.0.1/s1-apm-2",
    "enable-channel --userspace --session=s1 --tracefile-size=67108864 --tracefile-count=4 apm",
    "enable-event --userspace --session=s1 --channel=apm demo:tick,demo:req*",
    "add-context --userspace --session=s1 --channel=apm --type=vpid --type=vtid",
    "start s1",
];

#[test]
fn a_session_that_is_not_there_is_made() {
    assert_eq!(steps(&spec(), None, &[]), MADE);
    // Another user has destroyed the session, or the session daemon was restarted.
    assert_eq!(steps(&spec(), Some(&applied(&spec(), true)), &[]), MADE);
    assert_eq!(steps(&SessionSpec { start: false, ..spec() }, None, &[]), MADE[..4]);
}

#[test]
fn every_option_reaches_the_command_line() {
    let spec = SessionSpec {
        subbuf_size: Some(16384),
        num_subbuf: Some(8),
        buffers: Some(Buffers::Pid),
        blocking_timeout: Some(Blocking::Inf),
        tracefile_size: 0,
        tracefile_count: 0,
        filter: Some("$ctx.vpid == 7".into()),
        loglevel_only: Some("TRACE_INFO".into()),
        ..spec()
    };
    let made = steps(&spec, None, &[]);
    assert_eq!(
        made[1],
        "enable-channel --userspace --session=s1 --subbuf-size=16384 --num-subbuf=8 --blocking-timeout=inf --buffers-pid apm"
    );
    assert_eq!(
        made[2],
        "enable-event --userspace --session=s1 --channel=apm --loglevel-only=TRACE_INFO --filter=$ctx.vpid == 7 demo:tick,demo:req*"
    );
    let timed = SessionSpec {
        blocking_timeout: Some(Blocking::Micros(5)),
        loglevel: Some("A".into()),
        loglevel_only: None,
        ..spec
    };
    let made = steps(&timed, None, &[]);
    assert!(made[1].contains("--blocking-timeout=5 ") && made[2].contains("--loglevel=A "));
}

#[test]
fn loggers_have_no_channel_to_make_or_name() {
    let spec = SessionSpec { domain: Domain::Python, contexts: vec![], ..spec() };
    assert_eq!(
        steps(&spec, None, &[])[1..],
        ["enable-event --python --session=s1 demo:tick,demo:req*", "start s1"]
    );
    let running = Applied { channel: false, ..applied(&spec, true) };
    assert!(steps(&spec, Some(&running), &[listed(true)]).is_empty());
}

#[test]
fn a_session_as_it_should_be_is_left_alone() {
    assert!(steps(&spec(), Some(&applied(&spec(), true)), &[listed(true)]).is_empty());
}

#[test]
fn what_is_missing_is_added() {
    let more = SessionSpec {
        events: vec!["demo:tick".into(), "demo:req*".into(), "x:*".into(), "y:*".into()],
        ..spec()
    };
    assert_eq!(
        steps(&more, Some(&applied(&spec(), true)), &[listed(true)]),
        ["enable-event --userspace --session=s1 --channel=apm x:*,y:*"]
    );
    let more =
        SessionSpec { contexts: vec!["vpid".into(), "vtid".into(), "procname".into()], ..spec() };
    assert_eq!(
        steps(&more, Some(&applied(&spec(), false)), &[listed(false)]),
        ["add-context --userspace --session=s1 --channel=apm --type=procname", "start s1"]
    );
    let half = Applied { channel: false, ..Applied::new(&spec()) };
    assert_eq!(steps(&spec(), Some(&half), &[listed(false)]), MADE[1..]);
    let stopped = SessionSpec { start: false, ..spec() };
    assert_eq!(steps(&stopped, Some(&applied(&spec(), true)), &[listed(true)]), ["stop s1"]);
    assert_eq!(steps(&spec(), Some(&applied(&spec(), true)), &[listed(false)]), ["start s1"]);
}

#[test]
fn what_cannot_be_changed_is_made_anew() {
    let recreate: Vec<String> =
        ["destroy s1 --no-wait"].iter().chain(&MADE).map(|s| (*s).to_owned()).collect();
    let context = SessionSpec { contexts: vec!["vpid".into()], ..spec() };
    let fewer =
        SessionSpec { events: vec!["demo:tick".into(), "demo:req*".into(), "x".into()], ..spec() };
    let buffers = SessionSpec { buffers: Some(Buffers::Pid), ..spec() };
    for was in [applied(&context, true), applied(&fewer, true), applied(&buffers, false)] {
        assert_eq!(steps(&spec(), Some(&was), &[listed(true)]), recreate, "{was:?}");
    }
    assert_eq!(
        steps(&spec(), None, &[listed(true)]),
        recreate,
        "the state file was lost but for the mark"
    );
    let other_timer = ListedSession { live_timer: 5, ..listed(true) };
    assert_eq!(steps(&spec(), Some(&applied(&spec(), true)), &[other_timer]), recreate);
    let (s, a, l) = (spec(), applied(&spec(), true), [listed(true)]);
    let ours = marks();
    let lost = PlanInput {
        spec: &s,
        marks: &ours,
        next_mark: "s1-apm-2",
        applied: Some(&a),
        listed: &l,
        recreate: true,
        gone: false,
    };
    assert_eq!(lines(&plan(lost)), recreate);
}

#[test]
fn a_session_of_somebody_else_is_never_touched() {
    let (spec, done) = (spec(), applied(&spec(), true));
    let foreign = [
        ListedSession { path: "tcp4://127.0.0.1:5342/ [data: 5343]".into(), ..listed(false) },
        ListedSession {
            path: "tcp4://127.0.0.1:5342/s1-apm-11 [data: 5343]".into(),
            ..listed(false)
        },
        ListedSession { path: "/root/lttng-traces/s1-apm-1-20261121".into(), ..listed(false) },
        ListedSession { path: String::new(), ..listed(false) },
    ];
    for l in foreign {
        for (recreate, gone) in [(false, false), (true, false), (false, true), (true, true)] {
            let s = PlanInput {
                spec: &spec,
                marks: &marks(),
                next_mark: "n",
                applied: Some(&done),
                listed: std::slice::from_ref(&l),
                recreate,
                gone,
            };
            assert_eq!(plan(s), Plan::NotOurs, "{l:?}");
            assert_eq!(plan(PlanInput { marks: &[], listed: &[listed(true)], ..s }), Plan::NotOurs);
        }
    }
    // Other names do not matter.
    assert_eq!(steps(&spec, None, &[ListedSession { name: "s2".into(), ..listed(true) }]), MADE);
}

#[test]
fn a_session_that_is_to_go_is_destroyed_if_it_is_ours() {
    let (s, l) = (spec(), [listed(true)]);
    let ours = marks();
    let gone = PlanInput {
        spec: &s,
        marks: &ours,
        next_mark: "n",
        applied: None,
        listed: &l,
        recreate: false,
        gone: true,
    };
    assert_eq!(lines(&plan(gone)), ["destroy s1 --no-wait"]);
    assert!(lines(&plan(PlanInput { listed: &[], ..gone })).is_empty());
}

#[test]
fn the_real_daemon_shows_the_mark() {
    let (answer, _) = super::super::mi::read(&recorded("list-active").1.stdout);
    assert!(is_ours(&answer.sessions[0], &["apm-mark".into()]));
    assert!(!is_ours(&answer.sessions[0], &["mark".into()]) && !is_ours(&answer.sessions[0], &[]));
    let (answer, _) = super::super::mi::read(&recorded("unreachable-create").1.stdout);
    assert!(!is_ours(&answer.sessions[0], &["apm-mark".into()]));
}
