//! Self time by stack, from the records of one agent. A stack is a node of a tree of methods; it
//! gets its name from the body in which it first has time.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::methods::{REST, write_name};
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::meter::{NodeRow, ROOT, StackName, StackTimes};
use crate::sources::zorka::limits::STACK_DEPTH;
use crate::sources::zorka::metrics as m;
use crate::sources::zorka::names::Names;
use crate::sources::zorka::wire::body::{FLAG_CLOSED, Record};

/// No stack: the parent of the outermost methods.
pub(crate) const OUTERMOST: u32 = ROOT;

/// The stacks of one agent.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    times: StackTimes,
    /// Time by node that reported calls took beyond that of the call that made them, as ticks and
    /// steps of clocks cause: the node's next times are less by it.
    overdrawn: HashMap<u32, u64, RandomState>,
}

/// A record with an end, and where it was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    /// Stack around it.
    pub(crate) parent: u32,
    /// Number of records around it.
    pub(crate) depth: usize,
    /// The agent's number of its method.
    pub(crate) slot: u32,
    /// Its position in the body.
    pub(crate) at: u32,
}

impl Stacks {
    /// Adds a record. Returns its stack.
    #[inline]
    pub(crate) fn add(
        &mut self,
        called: Called,
        records: &[Record],
        names: &Names,
        peer: &mut Peer,
    ) -> u32 {
        let Some(record) = records.get(called.at as usize) else { return called.parent };
        let node = if called.depth < STACK_DEPTH || called.parent == OUTERMOST {
            self.times.tree.child(called.parent, called.slot)
        } else {
            called.parent
        };
        let mut own = record.duration.saturating_sub(record.children);
        if record.children > record.duration || !self.overdrawn.is_empty() {
            own = self.settle(node, own, record.children.saturating_sub(record.duration));
        }
        if own > 0 {
            if self.times.tree.nodes.get(node as usize).is_some_and(|n| n.row == NodeRow::Unnamed) {
                self.bind(node, called.at, records, names, peer);
            }
            self.times.add(node, own);
        }
        node
    }

    /// Sets a time off against what the node is overdrawn; returns the rest.
    #[cold]
    fn settle(&mut self, node: u32, own: u64, more: u64) -> u64 {
        let owed = self.overdrawn.remove(&node).unwrap_or_default().saturating_add(more);
        if owed > own {
            self.overdrawn.insert(node, owed - own);
        }
        own.saturating_sub(owed)
    }

    /// Gives a stack its row, named by the methods on the path to a record.
    #[cold]
    fn bind(&mut self, node: u32, at: u32, records: &[Record], names: &Names, peer: &mut Peer) {
        let (mut at, mut text) = (at, String::new());
        // The tree asks from the innermost method outwards.
        let name = self.times.tree.name(node, &mut |slot| {
            loop {
                let record = records.get(at as usize)?;
                at = record.parent;
                if record.flags & FLAG_CLOSED != 0 {
                    if slot == REST {
                        return Some(OTHER.to_owned());
                    }
                    write_name(&mut text, record.method, false, names);
                    let blank = |c: char| c.is_whitespace() || c.is_control();
                    return Some(text.replace(blank, "_"));
                }
            }
        });
        if let Some(name) = name {
            self.times.bind(node, m::STACK_TIME, &name, peer);
        }
    }

    /// Reports the times since the last report. A full tree is made anew.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.times.report(m::STACK_TIME, 1, |_, _| StackName::Hidden, peer);
        if self.times.tree.is_full() {
            self.clear(peer);
        }
    }

    /// Frees all stacks; their rows stay in the store.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        if !self.times.tree.nodes.is_empty() {
            self.times.report(m::STACK_TIME, 1, |_, _| StackName::Hidden, peer);
            self.times.retain(m::STACK_TIME, std::iter::empty(), peer);
            *self = Self::default();
        }
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.times.memory() + self.overdrawn.capacity() * (size_of::<(u32, u64)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::contract::Recorded;
    use crate::model::Memory;
    use crate::sources::Source;
    use crate::sources::zorka::Zorka;
    use crate::sources::zorka::metrics::STACK_TIME;
    use crate::sources::zorka::wire::body::NONE;

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
        let (names, mut seen, mut stacks) =
            (names(), Recorded::new(&Zorka::TABLE), Stacks::default());
        let records = records(&[(NONE, 7, 100, 40), (0, 5, 0, 0), (1, 8, 30, 0), (1, 9, 10, 0)]);
        let mut add = |stacks: &mut Stacks, parent, depth, slot, at| {
            let called = Called { parent, depth, slot, at };
            stacks.add(called, &records, &names, &mut seen)
        };
        let outer = add(&mut stacks, OUTERMOST, 0, 1, 0);
        // Record 1 has no end and is no frame.
        let inner = add(&mut stacks, outer, 2, 2, 2);
        assert_eq!(add(&mut stacks, outer, 2, 2, 2), inner);
        add(&mut stacks, outer, 2, REST, 3);
        assert_eq!(add(&mut stacks, inner, STACK_DEPTH, 3, 3), inner);
        stacks.report(&mut seen);
        let rows = ["A.run", "A.run,B.go_it", "A.run,other"].map(|key| seen.cell(STACK_TIME, key));
        assert_eq!(rows, [Some(60), Some(70), Some(10)]);
        stacks.clear(&mut seen);
        assert_eq!(stacks.memory(), 0);
    }

    #[test]
    fn time_beyond_that_of_the_caller_is_taken_from_its_next() {
        let (names, mut seen, mut stacks) =
            (names(), Recorded::new(&Zorka::TABLE), Stacks::default());
        let records = records(&[(NONE, 7, 10, 14), (NONE, 7, 3, 0), (NONE, 7, 9, 0)]);
        for (at, sum) in [(0, None), (1, None), (2, Some(8))] {
            let called = Called { parent: OUTERMOST, depth: 0, slot: 1, at };
            stacks.add(called, &records, &names, &mut seen);
            stacks.report(&mut seen);
            assert_eq!(seen.cell(STACK_TIME, "A.run"), sum);
        }
    }

    #[test]
    fn a_full_tree_is_made_anew() {
        let (names, mut seen, mut stacks) =
            (names(), Recorded::new(&Zorka::TABLE), Stacks::default());
        let records = records(&[(NONE, 7, 10, 0)]);
        for slot in 0..10_000 {
            let called = Called { parent: OUTERMOST, depth: 0, slot, at: 0 };
            stacks.add(called, &records, &names, &mut seen);
        }
        stacks.report(&mut seen);
        assert_eq!(stacks.memory(), 0);
        let sum: u64 = seen.rows(STACK_TIME).into_values().sum();
        assert_eq!(sum, 10 * 8192);
    }
}
