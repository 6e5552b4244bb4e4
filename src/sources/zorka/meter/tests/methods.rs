use std::sync::Arc;

use super::*;
use crate::contract::Recorded;
use crate::model::{HeapSize, Memory};
use crate::sources::Source;
use crate::sources::zorka::Zorka;
use crate::sources::zorka::metrics::STACK_TIME;
use crate::sources::zorka::wire::NONE;

fn names() -> Names {
    let mut names = Names::new(&Arc::new(Memory::default()));
    for (id, text) in [(1, "my.pack.A"), (2, "run"), (3, "go it"), (4, "B")] {
        names.define_symbol(id, text.as_bytes());
    }
    names.define_method(7, 1, 2, 0);
    names.define_method(8, 4, 3, 0);
    names
}

/// Parent, method, duration and that of children; a duration of 0: no end.
fn records(all: &[(u32, u32, u64, u64)]) -> Vec<Record> {
    let record = |&(parent, method, duration, children)| {
        let flags = if duration > 0 { FLAG_CLOSED } else { 0 };
        Record { parent, method, duration, children, flags, ..Record::default() }
    };
    all.iter().map(record).collect()
}

#[test]
fn a_stack_has_the_names_of_the_records_around_it() {
    let (names, mut seen, mut stacks) = (names(), Recorded::new(&Zorka::TABLE), Stacks::default());
    let records = records(&[(NONE, 7, 100, 40), (0, 5, 0, 0), (1, 8, 30, 0), (1, 9, 10, 0)]);
    let mut add = |stacks: &mut Stacks, parent, depth, slot, at| {
        let called = Called { parent, depth, slot, at };
        stacks.add(called, &records[called.at as usize], &records, &names, &mut seen)
    };
    let outer = add(&mut stacks, OUTERMOST, 0, 1, 0);
    // Record 1 has no end and is no frame.
    let inner = add(&mut stacks, outer, 2, 2, 2);
    assert_eq!(add(&mut stacks, outer, 2, 2, 2), inner);
    add(&mut stacks, outer, 2, REST, 3);
    assert_eq!(add(&mut stacks, inner, STACK_DEPTH, 3, 3), inner);
    let rows = ["A.run", "A.run,B.go_it", "A.run,other"].map(|key| seen.cell(STACK_TIME, key));
    assert_eq!(rows, [Some(60), Some(70), Some(10)]);
    stacks.free(&mut seen);
    assert_eq!(stacks.heap_size(), 0);
}

#[test]
fn time_beyond_that_of_the_caller_is_taken_from_its_next() {
    let (names, mut seen, mut stacks) = (names(), Recorded::new(&Zorka::TABLE), Stacks::default());
    let records = records(&[(NONE, 7, 10, 14), (NONE, 7, 3, 0), (NONE, 7, 9, 0)]);
    for (at, sum) in [(0, None), (1, None), (2, Some(8))] {
        let called = Called { parent: OUTERMOST, depth: 0, slot: 1, at };
        stacks.add(called, &records[called.at as usize], &records, &names, &mut seen);
        assert_eq!(seen.cell(STACK_TIME, "A.run"), sum);
    }
}

#[test]
fn a_full_tree_is_made_anew() {
    let (names, mut seen, mut stacks) = (names(), Recorded::new(&Zorka::TABLE), Stacks::default());
    let records = records(&[(NONE, 7, 10, 0)]);
    for slot in 0..10_000 {
        let called = Called { parent: OUTERMOST, depth: 0, slot, at: 0 };
        stacks.add(called, &records[called.at as usize], &records, &names, &mut seen);
    }
    assert!(stacks.is_full());
    let sum: u64 = seen.rows(STACK_TIME).into_values().sum();
    assert_eq!(sum, 10 * 8192);
}
