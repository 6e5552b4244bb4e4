use std::sync::Arc;

use super::*;
use crate::sources::dotnet::target::Via;

fn look(start: u64, socket: Socket) -> Look {
    Look {
        start,
        comm: b"x".to_vec(),
        container_pid: 7,
        uid: 0,
        kernel: false,
        socket,
        runtime: None,
    }
}

fn judge(look: &Look, before: bool) -> Option<Access> {
    match look.socket {
        Socket::Present { .. } => Some(Access::Open(Via::Socket)),
        Socket::Unknown => Some(Access::Off(Arc::from("off"))),
        _ => before.then(|| Access::Off(Arc::from("removed"))),
    }
}

struct World {
    table: Table,
    now: Duration,
}

impl World {
    fn scan(
        &mut self,
        seconds: u64,
        list: &[(u32, u64)],
        looks: &[(u32, Option<Look>)],
    ) -> (Vec<u32>, Vec<Change>) {
        self.now += Duration::from_secs(seconds);
        let mut changes = Vec::new();
        self.table.listed(list, &mut changes);
        let due = self.table.due(self.now);
        for &(pid, _) in &due {
            let look = looks.iter().find(|l| l.0 == pid).and_then(|l| l.1.clone());
            self.table.looked(pid, look, self.now, judge, &mut changes);
        }
        (due.into_iter().map(|d| d.0).collect(), changes)
    }
}

fn world() -> World {
    World { table: Table::default(), now: Duration::from_secs(100) }
}

const ABSENT: Socket = Socket::Absent;
const OPEN: Socket = Socket::Present { open: true };

#[test]
fn a_process_is_looked_at_while_young_then_seldom() {
    let mut world = world();
    let looks = [(5, Some(look(50, ABSENT)))];
    let mut seen = 0;
    for _ in 0..10 {
        seen += world.scan(2, &[(5, 1)], &looks).0.len();
    }
    assert_eq!(seen, usize::from(YOUNG_LOOKS));
    for _ in 0..300 {
        seen += world.scan(2, &[(5, 1)], &looks).0.len();
    }
    assert!((12..=20).contains(&seen), "{seen}");
}

#[test]
fn a_socket_that_comes_later_is_seen_at_once() {
    let mut world = world();
    for _ in 0..10 {
        assert_eq!(world.scan(2, &[(5, 1)], &[(5, Some(look(50, ABSENT)))]).1, []);
    }
    world.table.named(7, 50);
    world.table.named(8, 50);
    let found = look(50, OPEN);
    let (due, changes) = world.scan(1, &[(5, 1)], &[(5, Some(found.clone()))]);
    let access = Access::Open(Via::Socket);
    assert_eq!((due, changes), (vec![5], vec![Change::Found { pid: 5, look: found, access }]));
    // Removed, and the process ends.
    world.table.named(7, 50);
    let (_, changes) = world.scan(1, &[(5, 1)], &[(5, Some(look(50, ABSENT)))]);
    assert!(matches!(changes[..], [Change::Access { pid: 5, access: Access::Off(_) }]));
    assert_eq!(world.scan(1, &[], &[]).1, [Change::Gone { pid: 5 }]);
}

#[test]
fn a_new_process_with_an_old_id_is_another_one() {
    let mut world = world();
    world.scan(2, &[(5, 1)], &[(5, Some(look(50, OPEN)))]);
    let (_, changes) = world.scan(2, &[(5, 2)], &[(5, Some(look(51, OPEN)))]);
    assert!(
        matches!(changes[..], [Change::Gone { pid: 5 }, Change::Found { pid: 5, .. }]),
        "{changes:?}"
    );
    // A new inode alone is no new process.
    assert_eq!(world.scan(2, &[(5, 3)], &[(5, Some(look(51, OPEN)))]).1, []);
    // A zombie.
    world.table.named(7, 51);
    assert_eq!(world.scan(0, &[(5, 3)], &[]).1, [Change::Gone { pid: 5 }]);
    assert_eq!(world.scan(2, &[], &[]).1, []);
}

#[test]
fn another_program_makes_a_process_young() {
    let mut world = world();
    for _ in 0..10 {
        world.scan(2, &[(5, 1)], &[(5, Some(look(50, ABSENT)))]);
    }
    let other = Look { comm: b"dotnet".to_vec(), ..look(50, ABSENT) };
    world.scan(80, &[(5, 1)], &[(5, Some(other.clone()))]);
    for _ in 0..4 {
        assert_eq!(world.scan(2, &[(5, 1)], &[(5, Some(other.clone()))]).0, [5]);
    }
}

#[test]
fn a_scan_is_bounded() {
    let mut world = world();
    let list: Vec<(u32, u64)> = (1..20_000).map(|pid| (pid, 1)).collect();
    let (due, _) = world.scan(2, &list, &[]);
    assert_eq!(due.len(), limits::LOOKS);
    let more: Vec<(u32, u64)> = (1..100_000).map(|pid| (pid, 1)).collect();
    world.scan(2, &more, &[]);
    assert_eq!(world.table.entries.len(), limits::ENTRIES);
    for i in 0..100_000 {
        world.table.named(i, 1);
    }
    assert!(world.table.named.len() <= limits::NAMED);
}

#[test]
fn few_maps_are_read_in_a_scan() {
    let mut world = world();
    let list: Vec<(u32, u64)> = (1..200).map(|pid| (pid, 1)).collect();
    let looks: Vec<_> = (1..200).map(|pid| (pid, Some(look(50, ABSENT)))).collect();
    world.scan(2, &list, &looks);
    world.scan(2, &list, &looks);
    world.now += Duration::from_secs(2);
    let due = world.table.due(world.now);
    assert_eq!(due.iter().filter(|d| d.1).count(), limits::MAPS);
}

#[test]
fn without_a_socket_it_has_not_lost_one() {
    let mut world = world();
    let looks = [(5, Some(look(50, Socket::Unknown)))];
    let first = world.scan(2, &[(5, 1)], &looks).1;
    assert!(matches!(first[..], [Change::Found { access: Access::Off(_), .. }]), "{first:?}");
    for _ in 0..20 {
        assert_eq!(world.scan(2, &[(5, 1)], &looks).1, []);
    }
}
