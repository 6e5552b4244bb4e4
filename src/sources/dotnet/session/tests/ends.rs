//! Ends: of the PMDA, of the process, of what the configuration asks for.

use std::sync::Arc;
use std::time::Duration;

use super::world::{Reaction, Runtime, S, World};
use super::{Reach, State};
use crate::sources::dotnet::session::Line;
use crate::sources::dotnet::{Config, limits};

#[test]
fn the_pmda_ends_sessions_before_it_ends() {
    for version in ["3.1", "9.0.7", "10.0.9"] {
        let mut world = World::new(Runtime::of(version), Reach::Socket);
        world.pass(5 * S);
        world.process.stop(world.now);
        world.settle();
        assert!(world.process.is_over(), "{version}");
        let names = world.names();
        assert_eq!(names[names.len() - 3..], ["stop", "close Stop", "close Main"]);
        world.pass(3600 * S);
        assert_eq!(world.count("collect"), 1, "nothing is opened any more");
    }
}

#[test]
fn the_stream_is_read_to_its_end() {
    let mut world = World::new(Runtime { streams: false, ..Runtime::of("9.0.7") }, Reach::Socket);
    world.process.began(world.now, Line::Main);
    world.process.stop(world.now);
    world.settle();
    assert_eq!((world.count("stop"), world.count("close Main")), (1, 0));
    assert_eq!(world.process.state(), State::Stopping);
    assert!(!world.process.is_over());
    world.end(Line::Main);
    world.settle();
    assert!(world.process.is_over());
}

#[test]
fn an_end_takes_no_longer_than_the_pmda_has() {
    let hang = |step| Runtime::of("9.0.7").odd(step, Reaction::Hang);
    let mute = Runtime { streams: false, ..Runtime::of("9.0.7") };
    for runtime in [hang("info"), hang("collect"), hang("stop"), hang("resume"), mute] {
        for reach in [Reach::Socket, Reach::Port] {
            let mut world = World::new(runtime.clone(), reach.clone());
            world.pass(Duration::from_millis(100));
            world.process.stop(world.now);
            world.settle();
            world.pass(limits::STOP_ALL + limits::FAREWELL);
            assert!(world.process.is_over(), "{reach:?} {runtime:?} {:?}", world.log);
        }
    }
}

#[test]
fn a_process_that_waits_for_us_is_resumed_in_any_case() {
    let refuses = |step, code| Runtime::of("9.0.7").odd(step, Reaction::Refuse(code));
    use crate::sources::dotnet::wire::ipc::Code;
    for runtime in [
        refuses("collect", Code::FAIL),
        refuses("info", Code::NOT_SUPPORTED),
        Runtime::of("9.0.7").odd("info", Reaction::Hang),
        Runtime::of("9.0.7").odd("collect", Reaction::Hang),
    ] {
        let mut world = World::new(runtime.clone(), Reach::Port);
        world.pass(31 * S);
        assert_eq!(world.count("resume"), 1, "{runtime:?} {:?}", world.log);
    }
    // Nobody wants to read it.
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Off("not yet".into()));
    world.process.want(world.now, false);
    world.process.reach(world.now, Reach::Port);
    world.settle();
    assert_eq!(world.names(), ["resume", "close Ask"]);
    // The PMDA ends while it is asked.
    let mut world = World::new(Runtime::of("9.0.7").odd("info", Reaction::Hang), Reach::Port);
    world.process.stop(world.now);
    world.settle();
    assert_eq!((world.count("resume"), world.process.is_over()), (1, true));
}

#[test]
fn a_process_that_has_ended_is_let_go_at_once() {
    for runtime in [Runtime::of("9.0.7"), Runtime::of("9.0.7").odd("info", Reaction::Hang)] {
        let mut world = World::new(runtime, Reach::Port);
        world.process.gone();
        world.settle();
        assert!(world.process.is_over());
        assert_eq!(world.process.state(), State::Gone);
    }
}

#[test]
fn a_new_configuration_opens_only_other_sessions_anew() {
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Socket);
    world.pass(S);
    let same = Config { records_rate: 7, ..Config::default() };
    world.process.configure(world.now, Arc::new(same));
    world.settle();
    assert_eq!((world.count("stop"), world.count("collect")), (0, 1));
    let other = Config { jit: true, ..Config::default() };
    world.process.configure(world.now, Arc::new(other.clone()));
    world.settle();
    world.pass(S / 10);
    assert_eq!((world.count("stop"), world.count("collect")), (1, 2));
    assert_eq!((world.process.state(), world.process.counts()), (State::Streaming, (1, 0)));
    world.process.configure(world.now, Arc::new(other));
    world.process.want(world.now, false);
    world.settle();
    world.pass(3600 * S);
    assert_eq!((world.count("stop"), world.count("collect")), (2, 2));
    world.process.want(world.now, true);
    world.settle();
    assert_eq!(world.process.state(), State::Streaming);
}

#[test]
fn a_burst_is_a_second_session_of_its_length() {
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Socket);
    world.pass(S);
    assert!(world.process.burst(world.now, 5 * S));
    assert!(!world.process.burst(world.now, 5 * S), "one at a time");
    world.settle();
    world.pass(S * 49 / 10);
    assert_eq!((world.count("collect"), world.count("stop")), (2, 0));
    world.pass(S / 5);
    assert_eq!((world.count("stop"), world.count("close Burst")), (1, 2));
    assert_eq!(world.process.state(), State::Streaming);
    assert_eq!(world.process.counts(), (0, 0));
    world.process.stop(world.now);
    world.settle();
    assert!(world.process.is_over());
}
