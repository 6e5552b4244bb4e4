//! One process, one instance.

use std::sync::Arc;

use super::*;

/// A host that knows the processes by what they call themselves.
struct Fake(Vec<Facts>);

impl Host for Fake {
    fn find(&self, _: &Via, said: &Said<'_>) -> Option<Facts> {
        self.0.iter().find(|facts| facts.inner_pid == said.pid).cloned()
    }
}

fn facts(pid: u32, start: u64, inner_pid: u32) -> Facts {
    let command = b"mono\0--profile=log\0/srv/a.exe\x0010\0".to_vec();
    let container = Some("5eaf00d05eaf".to_owned());
    Facts { pid, start, inner_pid, command, container, ..Facts::default() }
}

fn via() -> Via {
    Via::Tcp { peer: ([127, 0, 0, 1], 1).into(), ours: ([127, 0, 0, 1], 2).into() }
}

#[test]
fn all_ways_of_a_process_have_one_identity() {
    let processes = Processes::new(Arc::new(Fake(vec![facts(400, 7, 1)])));
    let said = Said { pid: 1, ..Said::default() };
    let stream = processes.join(Way::Stream, &via(), &said).expect("a seat");
    let module = processes.join(Way::Module, &via(), &said).expect("a seat");
    let area = processes.seat(Way::Area, facts(400, 7, 1));
    let id = module.identity("127.0.0.1:1".into(), vec![("dialect", "note".into())]);
    assert_eq!((id.name.as_str(), id.way, id.resumes), ("a.exe:400", 0, true));
    assert_eq!(id.process.as_deref(), Some("400@7"));
    let label = |name| id.labels.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str());
    assert_eq!((label("pid"), label("program")), (Some("400"), Some("a.exe")));
    assert_eq!(label("command"), Some("mono --profile=log /srv/a.exe 10"));
    assert_eq!((label("container"), &id.host), (Some("5eaf00d05eaf"), &None));
    for (seat, way) in [(&stream, 1), (&area, 2)] {
        let other = seat.identity(String::new(), Vec::new());
        assert_eq!((&other.name, &other.process, other.way), (&id.name, &id.process, way));
    }
    assert_eq!(processes.len(), 1);
    assert!(processes.join(Way::Stream, &via(), &Said { pid: 400, ..Said::default() }).is_none());
}

#[test]
fn counters_come_from_one_way_and_the_others_take_over() {
    let processes = Processes::new(Arc::new(Fake(Vec::new())));
    let seat = |way| processes.seat(way, facts(5, 6, 5));
    let area = seat(Way::Area);
    assert!(area.feeds(Share::Exceptions) && area.feeds(Share::Categories));
    let stream = seat(Way::Stream);
    // Nothing changes before the stream has something.
    assert!(area.feeds(Share::Exceptions));
    assert!(stream.feeds(Share::Counters) && stream.feeds(Share::Exceptions));
    assert!(!area.feeds(Share::Exceptions));
    assert!(area.feeds(Share::Categories) && !stream.feeds(Share::Categories));
    let module = seat(Way::Module);
    assert!(module.feeds(Share::Counters) && !stream.feeds(Share::Counters));
    drop(module);
    assert!(stream.feeds(Share::Counters));
    drop(area);
    assert!(stream.feeds(Share::Categories));
    drop(stream);
    assert_eq!(processes.len(), 0);
}

#[test]
fn a_damaged_way_feeds_what_no_other_has() {
    let processes = Processes::new(Arc::new(Fake(Vec::new())));
    let seat = |way| processes.seat(way, facts(5, 6, 5));
    let (area, stream) = (seat(Way::Area), seat(Way::Stream));
    assert!(stream.feeds(Share::Exceptions) && !area.feeds(Share::Exceptions));
    stream.damaged();
    assert!(area.feeds(Share::Exceptions) && !stream.feeds(Share::Exceptions));
    assert!(stream.feeds(Share::Counters));
    drop(area);
    assert!(stream.feeds(Share::Exceptions));
}

#[test]
fn the_furthest_way_is_the_stage_until_the_process_ends() {
    let processes = Processes::new(Arc::new(Fake(Vec::new())));
    let seat = |way| processes.seat(way, facts(5, 6, 5));
    let area = seat(Way::Area);
    assert_eq!(area.look(), (Way::Area.bit(), Stage::Found));
    area.stage(Stage::Denied);
    assert_eq!(area.look(), (0, Stage::Denied));
    let module = seat(Way::Module);
    assert_eq!(area.look(), (Way::Module.bit(), Stage::Connected));
    assert!(!module.is_last());
    let before = module.changes();
    area.stage(Stage::Reading);
    assert_ne!(module.changes(), before);
    assert_eq!(module.look().1, Stage::Reading);
    area.ended();
    assert_eq!((module.look().1, area.look().1), (Stage::Gone, Stage::Gone));
    drop(area);
    assert!(module.is_last());
    // Another one with its id.
    assert_eq!(processes.seat(Way::Area, facts(5, 7, 5)).look().1, Stage::Found);
}

#[test]
fn the_newest_of_one_way_feeds() {
    let processes = Processes::new(Arc::new(Fake(Vec::new())));
    let seat = |way| processes.seat(way, facts(5, 6, 5));
    let seats: Vec<_> = (0..20).map(|_| seat(Way::Stream)).collect();
    let feeds = || seats.iter().map(|seat| seat.feeds(Share::Counters)).collect::<Vec<_>>();
    feeds();
    assert_eq!(feeds().iter().position(|feeds| *feeds), Some(19));
    assert_eq!(feeds().iter().filter(|feeds| **feeds).count(), 1);
}

#[test]
fn values_are_hidden_if_nobody_takes_over() {
    let processes = Processes::new(Arc::new(Fake(Vec::new())));
    let seat = |way| processes.seat(way, facts(5, 6, 5));
    let module = seat(Way::Module);
    assert!(module.feeds(Share::Counters));
    // The whole process goes: its last values stay for a while.
    assert!(!module.yields(Share::Counters));
    assert!(module.feeds(Share::Counters));
    let area = seat(Way::Area);
    assert!(module.yields(Share::Counters) && module.feeds(Share::Counters));
    let stream = seat(Way::Stream);
    assert!(!stream.feeds(Share::Counters));
    assert!(!module.yields(Share::Counters) && stream.feeds(Share::Counters));
    drop(area);
}

#[test]
fn an_id_that_is_used_again_is_another_process() {
    let processes = Processes::new(Arc::new(Fake(Vec::new())));
    let first = processes.seat(Way::Area, facts(5, 6, 5));
    let second = processes.seat(Way::Area, facts(5, 7, 5));
    let [a, b] = [&first, &second].map(|seat| seat.identity(String::new(), Vec::new()));
    assert_eq!((&a.name, a.resumes, b.resumes), (&b.name, true, false));
    assert_ne!(a.process, b.process);
    drop(first);
    let third = processes.seat(Way::Stream, facts(5, 7, 5));
    assert!(third.identity(String::new(), Vec::new()).resumes);
}

#[test]
fn each_program_that_a_process_executes_counts_for_itself() {
    let processes = Processes::new(Arc::new(Fake(Vec::new())));
    let seat = |way, program: &str| {
        let command = format!("mono\0{program}\0").into_bytes();
        processes.seat(way, Facts { command, older: true, ..facts(5, 6, 5) })
    };
    let resumes = |seat: &Seat| seat.identity(String::new(), Vec::new()).resumes;
    let grown = |seat: &Seat, total| seat.tally().since_start(Sum::Exceptions, total);
    let first = seat(Way::Area, "a.exe");
    assert_eq!((resumes(&first), grown(&first, 10), grown(&first, 12)), (true, 0, 2));
    // The same program begins again, which its area shows.
    first.another();
    let second = seat(Way::Area, "a.exe");
    assert!(resumes(&second), "the other way shows the same instance");
    assert_eq!(
        (grown(&second, 3), grown(&first, 13)),
        (3, 0),
        "all of the one, no more of the other"
    );
    // One seat is told later than the other.
    first.another();
    assert_eq!(grown(&second, 4), 1);
    drop((first, second));
    // Another one, by what it is called; its area is found later.
    let stream = seat(Way::Stream, "b.exe");
    assert_eq!((resumes(&stream), stream.tally().of_stream(Sum::Exceptions, 4)), (false, 4));
    let area = seat(Way::Area, "b.exe");
    assert_eq!((resumes(&area), grown(&area, 5)), (true, 1));
    // A program that is none of Mono comes between two.
    area.ended();
    let next = seat(Way::Area, "b.exe");
    assert_eq!((next.look().1, grown(&next, 2)), (Stage::Connected, 2));
    let unnamed = processes.seat(Way::Area, Facts { command: Vec::new(), ..facts(5, 6, 5) });
    assert_eq!(grown(&unnamed, 2), 0, "it begins, and may be the same");
}

#[test]
fn what_is_remembered_is_bounded() {
    use crate::sources::mono::limits;
    let processes = Processes::new(Arc::new(Fake(Vec::new())));
    let kept = processes.seat(Way::Area, facts(1, 1, 1));
    for pid in 2..2 * u32::try_from(limits::PROCESSES).expect("small") {
        drop(processes.seat(Way::Area, facts(pid, 1, 1)));
    }
    assert_eq!(processes.len(), 1);
    assert!(processes.remembered() <= limits::PROCESSES);
    drop(kept);
}

#[test]
fn numbers_are_those_of_the_metric() {
    for number in [0, 1, 2, 3, 5, 6] {
        assert_eq!(Stage::of(number) as u8, number);
    }
    assert_eq!((Stage::of(4), Stage::of(255)), (Stage::Gone, Stage::Gone));
    assert_eq!(Stage::Denied.further(Stage::Connected), Stage::Connected);
    assert_eq!(Stage::Reading.further(Stage::Found), Stage::Reading);
    assert_eq!(Stage::Gone.further(Stage::Refused), Stage::Refused);
}
