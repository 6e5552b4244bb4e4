//! Programs that are only just starting: they are left alone.

use std::time::Duration;

use super::world::{Reaction, Runtime, S, World};
use super::{DAY, Reach, State};
use crate::model::Condition;
use crate::sources::dotnet::Config;
use crate::sources::dotnet::session::{Choice, Line};

fn with_meters() -> Config {
    Config { meters: vec!["Shop".to_owned()], ..Config::default() }
}

#[test]
fn nothing_is_asked_of_a_process_before_it_is_old_enough() {
    for (age, left) in
        [(None, 50), (Some(Duration::ZERO), 50), (Some(S), 40), (Some(S * 49 / 10), 1)]
    {
        let mut world = World::aged(Runtime::of("9.0.7"), Reach::Socket, Config::default(), age);
        world.pass((S / 10) * left - S / 100);
        assert_eq!((world.log.len(), world.process.state()), (0, State::Found), "{age:?}");
        assert!(world.process.reason().contains("min_age"), "{}", world.process.reason());
        assert!(!world.process.is_known() && world.process.waits(), "it is no instance yet");
        world.pass(S / 50);
        assert_eq!(world.process.state(), State::Streaming, "{age:?}");
    }
    for (age, begins) in [(Some(DAY), true), (Some(5 * S), true), (None, false)] {
        let world = World::aged(Runtime::of("9.0.7"), Reach::Socket, Config::default(), age);
        assert_eq!(world.process.state() == State::Streaming, begins, "{age:?}");
    }
    // With another configuration.
    let hour = Config { min_age: 3600 * S, ..Config::default() };
    let mut world = World::aged(Runtime::of("9.0.7"), Reach::Socket, hour, Some(S));
    world.pass(3598 * S);
    assert_eq!(world.log.len(), 0);
    world.process.configure(world.now, Config::default().into());
    world.settle();
    assert_eq!(world.process.state(), State::Streaming);
}

#[test]
fn a_process_that_waits_for_us_starts_at_once_and_is_read_later() {
    // It may have waited for a day: it is as old as its start is, not as it.
    for age in [None, Some(S), Some(DAY)] {
        let mut world = World::aged(Runtime::of("9.0.7"), Reach::Port, Config::default(), age);
        assert_eq!(world.names(), ["resume", "close Ask"], "{age:?}");
        world.pass(S * 49 / 10);
        assert_eq!(world.log.len(), 2);
        world.pass(S);
        assert_eq!((world.count("resume"), world.count("collect Four")), (1, 1), "{age:?}");
    }
    // One that is read over its socket already, and connects besides, is read on.
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Socket);
    world.pass(60 * S);
    world.process.reach(world.now, Reach::Port);
    world.settle();
    world.pass(60 * S);
    assert_eq!((world.count("resume"), world.count("collect")), (1, 1));
    // It does not take that: then it is read all the same.
    for reaction in
        [Reaction::Hang, Reaction::Refuse(crate::sources::dotnet::wire::ipc::Code::FAIL)]
    {
        let runtime = Runtime::of("9.0.7").odd("resume", reaction);
        let mut world = World::aged(runtime, Reach::Port, Config::default(), None);
        world.pass(12 * S);
        assert_eq!(world.process.state(), State::Streaming, "{:?}", world.log);
        world.pass(3600 * S);
        assert!(world.count("resume") < 400, "{}", world.count("resume"));
    }
}

#[test]
fn core_3_is_read_only_if_its_version_is_named() {
    let choices = |texts: &[&str]| {
        let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
        Choice::of(&texts, "app", "www")
    };
    for (version, texts, reads) in [
        ("3.1", vec!["*"], false),
        ("3.1", vec!["app;version=10", "*;version=9"], false),
        ("3.1", vec!["*", "app;version=3"], true),
        ("5.0", vec!["*"], true),
        ("9.0.7", vec!["*;version=3"], false),
        ("10.0.9", vec!["app;user=www"], true),
        ("10.0.9", vec!["app;user=root"], false),
    ] {
        let mut world = World::aged(Runtime::of(version), Reach::Socket, Config::default(), None);
        world.process.choose(world.now, choices(&texts));
        world.pass(DAY);
        let state = if reads { State::Streaming } else { State::Found };
        assert_eq!(world.process.state(), state, "{version} {texts:?}");
        assert_eq!(world.count("collect"), usize::from(reads));
        assert!(world.process.is_known() || !world.process.waits(), "it is listed");
        if !reads {
            assert!(world.process.reason().contains("dotnet.processes"));
            assert!(matches!(world.process.told(None).1, Condition::Unread(_)));
        }
        // A reload.
        let opposite =
            if reads { choices(&["*;version=7"]) } else { choices(&["*;version=3", "*"]) };
        world.process.choose(world.now, opposite);
        world.settle();
        world.pass(60 * S);
        assert_eq!(world.process.state() == State::Streaming, !reads, "{version} {texts:?}");
    }
    // As old as an entry says.
    let mut world = World::aged(Runtime::of("9.0.7"), Reach::Socket, Config::default(), Some(S));
    world.process.choose(world.now, choices(&["app;age=10min"]));
    world.pass(598 * S);
    assert_eq!(world.log.len(), 0);
    world.pass(2 * S);
    assert_eq!(world.process.state(), State::Streaming);
}

#[test]
fn meters_are_asked_for_when_counters_have_come() {
    let mut world = World::aged(Runtime::of("9.0.7"), Reach::Socket, with_meters(), Some(DAY));
    assert_eq!((world.count("collect Four"), world.count("collect Four meters")), (1, 0));
    world.pass(2 * S);
    assert_eq!((world.count("stop"), world.count("collect")), (1, 2));
    assert_eq!(world.count("collect Four meters"), 1);
    assert_eq!((world.process.state(), world.process.counts()), (State::Streaming, (0, 0)));
    world.pass(DAY);
    assert_eq!(world.count("collect"), 2);
    // Later sessions have them at once.
    world.end(Line::Main);
    world.settle();
    world.pass(11 * S);
    assert_eq!((world.count("collect"), world.count("collect Four meters")), (3, 2));
    assert_eq!(world.process.counts().0, 1);

    // A program that does not get as far is never asked.
    let runtime = Runtime { counts: false, ..Runtime::of("9.0.7") };
    let mut world = World::aged(runtime, Reach::Socket, with_meters(), Some(DAY));
    world.pass(DAY);
    assert_eq!((world.count("collect"), world.count("collect Four meters")), (1, 0));

    let at_once = Config { min_age: Duration::ZERO, ..with_meters() };
    let world = World::aged(Runtime::of("9.0.7"), Reach::Socket, at_once, None);
    assert_eq!(world.count("collect Four meters"), 1, "as it was asked for");
}

#[test]
fn counters_and_meters_are_for_those_that_an_entry_gives_them() {
    let choices = |texts: &[&str]| {
        let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
        Choice::of(&texts, "app", "www")
    };
    let new = |texts: &[&str], age| {
        let reach = Reach::Denied("not yet".into());
        let mut world = World::aged(Runtime::of("9.0.7"), reach, with_meters(), age);
        world.process.choose(world.now, choices(texts));
        world.process.reach(world.now, Reach::Socket);
        world.settle();
        world
    };
    let counts = |world: &World| world.count("collect") - world.count("collect Four events");
    for texts in [&["*"][..], &["app;age=10s", "b;counters"], &["*;counters;version=8", "*"]] {
        let mut world = new(texts, Some(DAY));
        world.pass(DAY);
        assert_eq!((world.count("collect"), counts(&world)), (1, 0), "{texts:?}");
        assert_eq!(world.process.state(), State::Streaming);
        assert!(world.process.reason().contains(";counters"), "{}", world.process.reason());
        assert!(matches!(world.process.told(None).1, Condition::Sound));
        assert_eq!(world.count("info"), 1, "nothing is missed, and nothing is asked for it");
        // A reload gives them, and takes them.
        for (texts, sessions, with) in [(&["app;counters"], 3, 2), (&["app"], 4, 2)] {
            world.process.choose(world.now, choices(texts));
            world.settle();
            world.pass(5 * S);
            assert_eq!((world.count("collect"), counts(&world)), (sessions, with), "{texts:?}");
        }
        assert_eq!(world.count("collect Four meters"), 1);
    }
    // When it is old enough for that.
    let mut world = new(&["*"], Some(S));
    world.pass(10 * S);
    assert!(world.process.reason().contains("a program sometimes dies"));
    world.process.choose(world.now, choices(&["*", "app;counters;age=10min"]));
    assert!(world.process.reason().contains("the age of its entry"), "of the new entries");

    // Of an entry without an age: a minute old, unless everything is read at once.
    let mut world = new(&["app;counters"], Some(S));
    world.pass(58 * S);
    assert_eq!((world.count("collect"), counts(&world)), (1, 0));
    assert!(world.process.reason().contains("1 min"), "{}", world.process.reason());
    world.pass(5 * S);
    assert_eq!((world.count("collect"), counts(&world)), (3, 2), "and meters after counters");
    let at_once = Config { min_age: Duration::ZERO, ..with_meters() };
    let mut world =
        World::aged(Runtime::of("9.0.7"), Reach::Denied("not yet".into()), at_once, None);
    world.process.choose(world.now, choices(&["app;counters"]));
    world.process.reach(world.now, Reach::Socket);
    world.settle();
    assert_eq!(world.count("collect Four meters"), 1);

    let mut world = new(&["*", "app;counters;age=10min"], Some(S));
    world.pass(598 * S);
    assert_eq!((world.count("collect"), counts(&world)), (1, 0));
    assert!(world.process.reason().contains("the age of its entry"), "{}", world.process.reason());
    assert!(matches!(world.process.told(None).1, Condition::Sound));
    world.pass(5 * S);
    assert_eq!((world.count("collect"), counts(&world)), (3, 2), "and meters after counters");
    assert_eq!((world.process.reason(), world.process.counts()), ("streaming", (0, 0)));
}

#[test]
fn a_session_of_events_that_has_lasted_makes_up_for_what_failed_before() {
    let reach = Reach::Denied("not yet".into());
    let mut world = World::aged(Runtime::of("9.0.7"), reach, Config::default(), Some(DAY));
    world.process.choose(world.now, Choice::of(&["*".to_owned()], "app", "www"));
    world.process.reach(world.now, Reach::Socket);
    world.settle();
    for sessions in 1..10 {
        assert_eq!(world.count("collect Four events"), sessions);
        world.pass(120 * S);
        world.end(Line::Main);
        world.settle();
        world.pass(11 * S);
    }
    assert_eq!(world.process.state(), State::Streaming);
}

#[test]
fn a_runtime_that_is_mute_is_not_one_without_event_sources() {
    let mute = Runtime { counts: false, ..Runtime::of("9.0.7") };
    let hangs = mute.clone().odd("info", Reaction::Hang);
    for (runtime, heard, why) in [
        (mute.clone(), true, "sends no EventCounters"),
        (mute, false, "the program hangs, or it does nothing"),
        (hangs, false, "the runtime does not answer"),
    ] {
        let mut world =
            World::new(Runtime { counts: false, ..Runtime::of("9.0.7") }, Reach::Socket);
        world.runtime = runtime;
        if heard {
            world.process.heard();
        }
        world.pass(30 * S);
        assert!(world.process.reason().contains(why), "{}", world.process.reason());
        assert_eq!(world.process.state(), State::Streaming);
        world.pass(DAY);
        assert!(world.process.reason().contains(why), "{}", world.process.reason());
        assert_eq!((world.count("collect"), world.count("info") <= 300), (1, true));
        world.runtime.counts = true;
        world.pass(2 * S);
        assert_eq!(world.process.reason(), "streaming");
    }
}
