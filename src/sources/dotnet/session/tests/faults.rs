//! Errors, silence and hangs of runtimes.

use super::world::{Reaction, Runtime, S, World};
use super::{DAY, Reach, State};
use crate::sources::dotnet::session::{End, Failure, Line};
use crate::sources::dotnet::wire::ipc::{AnswerError, Code};

const CODES: [Code; 10] = [
    Code::BAD_ENCODING,
    Code::UNKNOWN_MAGIC,
    Code::NOT_SUPPORTED,
    Code::FAIL,
    Code::NOT_YET_AVAILABLE,
    Code::RUNTIME_UNINITIALIZED,
    Code::INVALID_ARGUMENT,
    Code::INSUFFICIENT_BUFFER,
    Code::NO_VARIABLE,
    Code(0x8000_1234),
];

fn reactions() -> Vec<Reaction> {
    let failures = [
        Failure::Permission,
        Failure::Refused,
        Failure::NoSocket,
        Failure::Closed,
        Failure::Answer(AnswerError::Magic),
        Failure::Other("No buffer space available".into()),
    ];
    let codes = CODES.map(Reaction::Refuse);
    codes.into_iter().chain(failures.map(Reaction::Fail)).chain([Reaction::Hang]).collect()
}

#[test]
fn a_day_of_refusals_is_a_few_hundred_requests_with_a_reason() {
    for step in ["info", "collect"] {
        for reaction in reactions() {
            let runtime = Runtime::of("9.0.7").odd(step, reaction.clone());
            let mut world = World::new(runtime, Reach::Socket);
            world.pass(35 * S);
            let context = format!("{step} {reaction:?}: {}", world.process.reason());
            let state = world.process.state();
            let hangs = matches!(reaction, Reaction::Hang);
            match reaction {
                Reaction::Fail(Failure::Permission) => assert_eq!(state, State::NoPermission),
                _ => assert_eq!(state, State::Refused, "{context}"),
            }
            assert!(world.process.reason().len() > 20, "{context}");
            world.pass(DAY);
            let requests = world.count(step);
            assert!(
                requests < 320 && requests > if hangs { 200 } else { 280 },
                "{context} {requests}"
            );
            // The fault passes, and so does the state.
            world.runtime.odd = None;
            world.pass(340 * S);
            assert_eq!(world.process.state(), State::Streaming, "{context}");
        }
    }
}

#[test]
fn half_answers_step_down_or_fail() {
    let short = Reaction::Done(vec![1, 0, 0]);
    let world = World::new(Runtime::of("9.0.7").odd("info", short.clone()), Reach::Socket);
    assert_eq!(world.count("info"), 3, "without a name it is read as an old one");
    assert_eq!(world.process.state(), State::Streaming);
    let world = World::new(Runtime::of("9.0.7").odd("collect", short), Reach::Socket);
    assert_eq!(world.process.state(), State::Refused);
    assert_eq!(world.process.counts(), (0, 1));
}

#[test]
fn a_connection_is_not_closed_before_its_first_bytes_for_half_a_minute() {
    for hangs in [true, false] {
        let runtime = Runtime { streams: false, ..Runtime::of("3.1") };
        let runtime = if hangs { runtime.odd("collect", Reaction::Hang) } else { runtime };
        let mut world = World::new(runtime, Reach::Socket);
        world.pass(29 * S);
        assert_eq!(world.count("close Main"), 0);
        world.pass(2 * S);
        assert_eq!((world.count("close Main"), world.process.counts().1), (1, 1));
        assert_eq!(world.process.state(), State::Refused);
    }
}

#[test]
fn another_tools_end_that_stops_the_counters_is_healed() {
    let mut world = World::new(Runtime::of("6.0.1"), Reach::Socket);
    world.pass(3600 * S);
    world.runtime.counts = false;
    world.pass(12 * S);
    assert_eq!((world.count("collect"), world.count("info")), (1, 2));
    world.pass(2 * S);
    assert_eq!((world.count("collect"), world.count("info"), world.count("stop")), (2, 3, 1));
    assert_eq!(world.process.counts(), (1, 0));
    // The new session has no counters either: that is the program's way now.
    world.pass(DAY);
    assert_eq!(world.count("collect"), 2);
    assert!(world.process.reason().contains("nor EventCounters"), "{}", world.process.reason());
    world.runtime.counts = true;
    world.pass(2 * S);
    assert_eq!(world.process.reason(), "streaming");
}

#[test]
fn a_process_that_is_stopped_keeps_its_session() {
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Socket);
    world.pass(100 * S);
    world.runtime.counts = false;
    world.runtime.odd = Some(("info", Reaction::Hang));
    world.pass(3600 * S);
    assert_eq!((world.count("collect"), world.count("stop")), (1, 0));
    assert!(world.process.reason().contains("debugger"), "{}", world.process.reason());
    assert!(world.count("info") < 130, "{}", world.count("info"));
    world.runtime.odd = None;
    world.runtime.counts = true;
    world.pass(40 * S);
    assert_eq!((world.count("collect"), world.process.reason()), (1, "streaming"));
}

#[test]
fn a_stream_that_cannot_be_decoded_ends_one_session() {
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Socket);
    world.pass(5 * S);
    world.process.undecodable(world.now, Line::Main, "no object at byte 7 of the stream");
    world.settle();
    assert_eq!(world.count("stop"), 1, "and is read to its end");
    assert_eq!(world.process.state(), State::Refused);
    assert_eq!(world.process.reason(), "no object at byte 7 of the stream");
    world.pass(11 * S);
    assert_eq!((world.process.state(), world.process.counts()), (State::Streaming, (1, 1)));
}

#[test]
fn what_is_wrong_with_a_stream_is_told_even_if_its_session_does_not_end() {
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Socket);
    world.pass(5 * S);
    world.runtime.odd = Some(("stop", Reaction::Hang));
    world.process.undecodable(world.now, Line::Main, "no object at byte 7 of the stream");
    world.settle();
    world.pass(6 * S);
    assert_eq!((world.process.state(), world.count("close Main")), (State::Refused, 1));
    assert_eq!(world.process.reason(), "no object at byte 7 of the stream");
    assert_eq!(world.process.counts().1, 1, "one error");
}

#[test]
fn a_stream_that_ends_is_opened_again_after_a_while() {
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Socket);
    world.pass(120 * S);
    for wait in [10, 20, 40] {
        world.end(Line::Main);
        world.settle();
        assert_eq!(world.process.state(), State::Refused);
        world.pass((wait - 1) * S);
        assert_eq!(world.process.state(), State::Refused);
        world.pass(2 * S);
        assert_eq!(world.process.state(), State::Streaming);
    }
    world.pass(62 * S);
    world.end(Line::Main);
    world.pass(11 * S);
    assert_eq!(world.process.state(), State::Streaming, "the first failure of a good session");
}

#[test]
fn twenty_processes_wait_for_their_own_time() {
    let mut worlds: Vec<World> = (0..20)
        .map(|i| {
            let reactions = reactions();
            let reaction = reactions[i % reactions.len()].clone();
            let step = if i % 2 == 0 { "info" } else { "collect" };
            World::new(Runtime::of("9.0.7").odd(step, reaction), Reach::Socket)
        })
        .collect();
    worlds.iter_mut().for_each(|world| world.pass(3600 * S));
    let requests: usize = worlds.iter().map(|world| world.log.len()).sum();
    assert!(requests < 20 * 100, "{requests}");
}

#[test]
fn a_session_that_was_ended_for_a_pmda_that_stood_still_is_opened_again() {
    let mut world = World::new(Runtime::of("9.0.7"), Reach::Socket);
    world.pass(100 * S);
    assert_eq!(world.process.state(), State::Streaming);
    world.streams.clear();
    world.process.ended(world.now, Line::Main, End::Halted);
    world.settle();
    assert_eq!(world.process.state(), State::Refused);
    assert!(world.process.reason().contains("stood still"), "{}", world.process.reason());
    world.pass(11 * S);
    assert_eq!(world.process.state(), State::Streaming);
    assert_eq!(world.process.counts(), (1, 1));
}
