//! A process at a clock of the test's own: versions, errors, hangs, ends.

use std::time::Duration;

use super::{Reach, State};
use crate::model::Condition;
use crate::sources::dotnet::Config;
use world::{Runtime, S, World};

mod ages;
mod ends;
mod faults;
mod world;

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn each_version_is_asked_what_it_knows() {
    for (version, expected) in [
        ("3.1", vec!["info Three", "info Two", "info One", "collect Two"]),
        ("5.0", vec!["info Three", "info Two", "info One", "collect Two"]),
        ("6.0.1", vec!["info Three", "info Two", "collect Two"]),
        ("7.0.1", vec!["info Three", "info Two", "collect Two"]),
        ("8.0.1", vec!["info Three", "collect Three"]),
        ("9.0.7", vec!["info Three", "collect Four"]),
        ("10.0.9", vec!["info Three", "collect Five"]),
        ("11.0.0-preview.1", vec!["info Three", "collect Five"]),
    ] {
        let mut world = World::new(Runtime::of(version), Reach::Socket);
        world.pass(DAY);
        let names: Vec<&str> =
            world.names().into_iter().filter(|name| !name.starts_with("close")).collect();
        assert_eq!(names, expected, "{version}");
        assert_eq!(world.process.state(), State::Streaming, "{version}");
        assert_eq!(world.process.counts(), (0, 0));
        let info = world.process.info().map(|info| info.version.as_str());
        let told = !matches!(version, "3.1" | "5.0");
        assert_eq!(info.filter(|v| !v.is_empty()), told.then_some(version));
    }
}

#[test]
fn a_runtime_older_than_its_version_is_asked_by_older_commands() {
    use crate::sources::dotnet::wire::ipc::CollectCommand::One;
    let runtime = Runtime { collect: Some(One), ..Runtime::of("10.0.9") };
    let world = World::new(runtime, Reach::Socket);
    assert_eq!(world.count("collect"), 5);
    assert_eq!(world.process.state(), State::Streaming);
    let mut world = World::new(Runtime { collect: None, ..Runtime::of("10.0.9") }, Reach::Socket);
    assert_eq!(world.process.state(), State::Refused);
    assert!(world.process.reason().contains("no command"), "{}", world.process.reason());
    world.pass(DAY);
    assert!(world.count("collect") <= 5 * 300, "{}", world.count("collect"));
}

#[test]
fn who_cannot_be_reached_is_not_asked() {
    for (reach, state) in [
        (Reach::Denied("it is root's".into()), State::NoPermission),
        (Reach::Off("it has no socket".into()), State::Found),
    ] {
        let mut world = World::new(Runtime::of("9.0.7"), reach);
        world.pass(DAY);
        assert_eq!((world.log.len(), world.process.state()), (0, state));
        assert!(world.process.reason().starts_with("it "));
        world.process.reach(world.now, Reach::Socket);
        world.settle();
        assert_eq!(world.process.state(), State::Streaming, "at once");
        world.process.reach(world.now, Reach::Off("the socket is gone".into()));
        world.pass(60 * S);
        assert_eq!(world.process.state(), State::Streaming, "a session needs no socket");
    }
}

#[test]
fn a_process_that_waits_for_us_is_resumed_when_its_session_is_open() {
    let runtime = Runtime { streams: false, ..Runtime::of("9.0.7") };
    let at_once = Config { min_age: Duration::ZERO, ..Config::default() };
    let mut world = World::aged(runtime, Reach::Port, at_once, None);
    assert_eq!(world.names(), ["info Three", "close Ask", "collect Four", "resume", "close Ask"]);
    world.process.began(world.now, super::Line::Main);
    assert_eq!(world.process.state(), State::Streaming);
    world.pass(DAY / 24);
    assert_eq!(world.count("resume"), 1);
}

#[test]
fn what_a_session_cannot_ask_for_is_told_while_it_streams() {
    let providers = ["Shop", "Shop:keywords", ":1"].map(str::to_owned).to_vec();
    let config = Config { providers, min_age: Duration::ZERO, ..Config::default() };
    let (runtime, reach) = (Runtime::of("9.0.7"), Reach::Denied("not yet".into()));
    let mut world = World::aged(runtime, reach, config, Some(DAY));
    assert!(matches!(world.process.told(None).1, Condition::Unread(_)));
    world.process.reach(world.now, Reach::Socket);
    world.settle();
    world.pass(5 * S);
    assert_eq!(world.process.reason(), "streaming");
    let (reason, condition) = world.process.told(None);
    assert!(reason.starts_with("streaming; 2 entries of dotnet.providers"), "{reason}");
    assert!(matches!(condition, Condition::Impaired(why) if why.starts_with("2 entries")));
    let (reason, condition) = world.process.told(Some("session 7"));
    assert!(reason.starts_with("streaming; another tool has the meters: session 7; 2 entries"));
    assert_eq!(condition, Condition::Impaired("another tool has the meters".into()));
    world.process.configure(world.now, std::sync::Arc::default());
    world.settle();
    world.pass(60 * S);
    assert_eq!(world.process.told(None), ("streaming".to_owned(), Condition::Sound));
}
