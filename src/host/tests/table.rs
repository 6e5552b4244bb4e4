use std::time::Duration;

use super::*;
use crate::host::limits;

const SECOND: Duration = Duration::from_secs(1);
const NOTHING: Interest = Interest::Nothing;

fn stat(start: u64, comm: &str) -> ProcStat {
    ProcStat { comm: comm.into(), cpu: (0, 0), start, threads: 1, kernel: false, ended: false }
}

/// One process: its id, the inode of its folder, start and name, and what each of two finders makes of it.
type Process<'a> = (u32, u64, u64, &'a str, [Interest; 2]);

/// A table and its time, with two finders. All processes call themselves 7.
#[derive(Default)]
struct World {
    table: Table,
    now: Duration,
}

impl World {
    /// One scan a second later: who was looked at by which finder, and how often by then; who is gone.
    fn scan(&mut self, all: &[Process<'_>]) -> (Vec<(u32, usize, u8)>, Vec<Gone>) {
        self.now += SECOND;
        let mut gone = Vec::new();
        let list: Vec<_> = all.iter().map(|process| (process.0, process.1)).collect();
        self.table.listed(&list, &mut gone);
        let mut looks = Vec::new();
        for (pid, due) in self.table.due(self.now, 0b11) {
            let Some((.., start, comm, interests)) = all.iter().find(|p| p.0 == pid) else {
                self.table.ended(pid, self.now, &mut gone);
                continue;
            };
            let stat = stat(*start, comm);
            let before = self.table.before(pid, (due, 0b11)).unwrap();
            let due = before.due_at(&stat);
            self.table.seen(pid, &stat, 7, &mut gone);
            for (n, interest) in interests.iter().enumerate().filter(|(n, _)| due & 1 << n != 0) {
                let visit = before.visit(n, &stat);
                if !visit.settled {
                    looks.push((pid, n, visit.number));
                }
                self.table.looked(pid, n, *interest, self.now);
            }
        }
        (looks, gone)
    }

    /// Looks of a finder in so many seconds.
    fn looks(&mut self, seconds: u32, finder: usize, all: &[Process<'_>]) -> usize {
        (0..seconds).map(|_| self.scan(all).0.iter().filter(|l| l.1 == finder).count()).sum()
    }
}

#[test]
fn a_young_process_is_looked_at_often_then_as_its_finder_wants() {
    let all = [(5, 1, 50, "sh", [NOTHING, Interest::Often])];
    let mut world = World::default();
    assert_eq!(world.scan(&all).0, [(5, 0, 1), (5, 1, 1)]);
    assert_eq!(world.looks(20, 0, &all), usize::from(YOUNG_LOOKS) - 1, "then it is settled");
    let looks = world.looks(600, 1, &all);
    assert!((45..=60).contains(&looks), "{looks} in 600 s");
    // It may have loaded a runtime since: a whole look each few minutes, also after a day.
    assert!((2..=3).contains(&world.looks(600, 0, &all)));
    let day = world.looks(86_400, 0, &all);
    assert!((300..=390).contains(&day), "{day} whole looks in a day");
    // One that is found is looked at seldom at once.
    let all = [(6, 1, 50, "app", [Interest::Seldom, NOTHING])];
    let mut world = World::default();
    assert_eq!(world.scan(&all).0.len(), 2);
    assert_eq!(world.looks(40, 0, &all), 0);
    assert_eq!(world.looks(60, 0, &all), 1);
}

#[test]
fn a_shell_that_becomes_another_program_is_young_again() {
    let mut world = World::default();
    let shell = [(5, 1, 50, "sh", [NOTHING; 2])];
    (0..100).for_each(|_| drop(world.scan(&shell)));
    let program = [(5, 1, 50, "mono", [Interest::Seldom, NOTHING])];
    let first = (0..80).find_map(|_| Some(world.scan(&program).0).filter(|l| !l.is_empty()));
    assert_eq!(first, Some(vec![(5, 0, 1), (5, 1, 1)]), "both finders look anew");
}

#[test]
fn a_file_that_comes_makes_its_finder_look_at_once() {
    let mut world = World::default();
    let all = [(5, 1, 50, "sh", [NOTHING; 2]), (6, 1, 60, "sh", [NOTHING; 2])];
    (0..20).for_each(|_| drop(world.scan(&all)));
    let seen = |world: &mut World| -> Vec<_> {
        world.scan(&all).0.into_iter().map(|look| (look.0, look.1)).collect()
    };
    world.table.named(1, Named { inner_pid: 7, start: Some(60) });
    assert_eq!(seen(&mut world), [(6, 1)], "by its start");
    world.table.named(0, Named { inner_pid: 7, start: None });
    assert_eq!(seen(&mut world), [(5, 0), (6, 0)], "all that call themselves so");
    world.table.named(0, Named { inner_pid: 8, start: None });
    assert_eq!(seen(&mut world), []);
    (0..5_000).for_each(|n| world.table.named(0, Named { inner_pid: n + 100, start: None }));
    assert_eq!(seen(&mut world), [(5, 0), (6, 0)], "too many: it looks at all");
    assert!(world.table.named.iter().all(|names| names.len() <= limits::NAMED));
}

#[test]
fn whoever_was_interested_is_told_of_the_end() {
    let mut world = World::default();
    let all = |inode, start| [(5, inode, start, "app", [NOTHING, Interest::Often])];
    world.scan(&all(1, 50));
    // A new inode alone is no new process.
    assert_eq!(world.scan(&all(2, 50)).1, []);
    let gone = |start| [Gone { pid: 5, start, finders: 0b10 }];
    assert_eq!(world.scan(&all(3, 51)).1, gone(50), "its id is used again");
    assert_eq!(world.scan(&[]).1, gone(51));
    assert_eq!(world.scan(&[]).1, []);
    // A zombie.
    world.scan(&all(1, 60));
    let mut told = Vec::new();
    world.table.ended(5, world.now, &mut told);
    world.table.ended(5, world.now, &mut told);
    assert_eq!(told, gone(60));
}

#[test]
fn one_that_was_not_taken_is_new_again() {
    let mut world = World::default();
    let all = [(5, 1, 50, "app", [Interest::Seldom, NOTHING])];
    (0..20).for_each(|_| drop(world.scan(&all)));
    world.table.again(0, 5);
    world.table.again(0, 6);
    assert_eq!(world.scan(&all).0, [(5, 0, 1)]);
    world.table.look_again(1);
    assert_eq!(world.scan(&all).0, [(5, 1, 2)]);
    world.table.look_again(0);
    assert_eq!(world.scan(&all).0, [(5, 0, 2), (5, 1, 3)]);
}

#[test]
fn a_scan_is_bounded_and_takes_those_that_are_known_first() {
    let mut world = World::default();
    let many = u32::try_from(limits::LOOKS).expect("a number") + 100;
    let all: Vec<_> = (1..=many).map(|pid| (pid, 1, 3, "sh", [NOTHING; 2])).collect();
    assert_eq!(world.scan(&all).0.len(), 2 * limits::LOOKS);
    let most = u32::try_from(limits::PROCESSES).expect("a number");
    let list: Vec<_> = (0..=most + 5).map(|pid| (pid, 1)).collect();
    world.table.listed(&list, &mut Vec::new());
    assert_eq!(world.table.entries.len(), limits::PROCESSES);
    assert!(world.table.due(Duration::MAX, 0b11).len() <= limits::LOOKS);
    let mut world = World::default();
    world.scan(&[(9_999, 1, 3, "app", [Interest::Often, NOTHING])]);
    let mut all: Vec<_> = (1..=many).map(|pid| (pid, 1, 3, "sh", [NOTHING; 2])).collect();
    all.push((9_999, 1, 3, "app", [Interest::Often, NOTHING]));
    assert!(world.scan(&all).0.iter().any(|look| look.0 == 9_999));
}
