use std::time::Duration;

use super::*;
use crate::sources::mono::limits;

const SECOND: Duration = Duration::from_secs(1);

fn look(start: u64, comm: &str, access: Option<Access>) -> Look {
    Look { start, comm: comm.into(), inner_pid: 1, kernel: false, access }
}

/// A table and its time.
#[derive(Default)]
struct World {
    table: Table,
    now: Duration,
}

impl World {
    /// One scan: each of these is there, and looks so.
    fn scan(&mut self, all: &[(u32, u64, Look)]) -> (Vec<u32>, Vec<Change>) {
        self.now += SECOND;
        let mut changes = Vec::new();
        let list: Vec<_> = all.iter().map(|(pid, inode, _)| (*pid, *inode)).collect();
        self.table.listed(&list, &mut changes);
        let mut looked = Vec::new();
        for (pid, comm) in self.table.due(self.now) {
            let Some((.., look)) = all.iter().find(|(other, ..)| *other == pid) else { continue };
            if comm.is_some_and(|comm| comm == look.comm)
                && self.table.unchanged(pid, look.start, self.now)
            {
                continue;
            }
            looked.push(pid);
            self.table.looked(pid, Some(look.clone()), self.now, &mut changes);
        }
        (looked, changes)
    }
}

fn found(pid: u32, start: u64, access: Access) -> Change {
    Change::Found { pid, start, access }
}

#[test]
fn a_process_is_found_once_and_goes_at_once() {
    let mut world = World::default();
    let open = look(5, "mono", Some(Access::Open));
    assert_eq!(world.scan(&[(9, 1, open.clone())]).1, [found(9, 5, Access::Open)]);
    for _ in 0..40 {
        assert_eq!(world.scan(&[(9, 1, open.clone())]), (vec![], vec![]));
    }
    assert_eq!(world.scan(&[]).1, [Change::Gone { pid: 9, start: 5 }]);
}

#[test]
fn one_that_is_young_gets_its_area_later() {
    let mut world = World::default();
    let none = look(5, "mono", None);
    assert_eq!(world.scan(&[(9, 1, none)]).1, []);
    let off = look(5, "mono", Some(Access::absent()));
    // It is a runtime, and may not have made its area yet.
    let mut fresh = World::default();
    assert_eq!(fresh.scan(&[(9, 1, off.clone())]).1, []);
    assert_eq!(fresh.scan(&[(9, 1, off.clone())]).1, [found(9, 5, Access::absent())]);
    let open = look(5, "mono", Some(Access::Open));
    assert_eq!(world.scan(&[(9, 1, open.clone())]).1, [found(9, 5, Access::Open)]);
    assert_eq!(fresh.scan(&[(9, 1, open)]).1, [found(9, 5, Access::Open)]);
}

#[test]
fn an_id_that_is_used_again_and_a_shell_that_becomes_mono() {
    let mut world = World::default();
    let open = look(5, "mono", Some(Access::Open));
    world.scan(&[(9, 1, open)]);
    let other = look(6, "mono", Some(Access::Open));
    assert_eq!(
        world.scan(&[(9, 2, other)]).1,
        [Change::Gone { pid: 9, start: 5 }, found(9, 6, Access::Open)]
    );
    let shell = look(7, "sh", None);
    for _ in 0..200 {
        world.scan(&[(10, 3, shell.clone())]);
    }
    let mono = look(7, "mono", Some(Access::Open));
    let changes: Vec<_> = (0..80).flat_map(|_| world.scan(&[(10, 3, mono.clone())]).1).collect();
    assert_eq!(changes, [found(10, 7, Access::Open)]);
    // The area tells at once.
    let mut world = World::default();
    for _ in 0..10 {
        world.scan(&[(10, 3, shell.clone())]);
    }
    world.table.named(1);
    assert_eq!(world.scan(&[(10, 3, mono)]).1, [found(10, 7, Access::Open)]);
}

#[test]
fn processes_that_are_none_of_mono_are_looked_at_seldom() {
    let mut world = World::default();
    let all: Vec<_> = (1..=500).map(|pid| (pid, 1, look(3, "sh", None))).collect();
    let mut looks = 0;
    for _ in 0..100 {
        looks += world.scan(&all).0.len();
    }
    assert_eq!(looks, 500 * 4, "their files are read while they are young");
}

#[test]
fn a_scan_is_bounded_and_takes_those_of_mono_first() {
    let mut world = World::default();
    let many = u32::try_from(limits::LOOKS).expect("a number") + 100;
    let all: Vec<_> = (1..=many).map(|pid| (pid, 1, look(3, "sh", None))).collect();
    assert_eq!(world.scan(&all).0.len(), limits::LOOKS);
    assert_eq!(world.scan(&all).0.len(), limits::LOOKS);
    let most = u32::try_from(limits::LISTED).expect("a number");
    let list: Vec<_> = (0..=most + 5).map(|pid| (pid, 1)).collect();
    let mut changes = Vec::new();
    world.table.listed(&list, &mut changes);
    assert!(world.table.due(Duration::MAX).len() <= limits::LOOKS);
}

#[test]
fn one_that_there_was_no_room_for_is_found_again() {
    let mut world = World::default();
    let all = [(5, 1, look(7, "mono", Some(Access::Open)))];
    assert_eq!(world.scan(&all).1, [found(5, 7, Access::Open)]);
    (0..10).for_each(|_| assert_eq!(world.scan(&all).1, []));
    world.table.again(5);
    world.table.again(6);
    assert_eq!(world.scan(&all).1, [found(5, 7, Access::Open)]);
}
