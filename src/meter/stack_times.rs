//! Unreported self time by stack, and the rows of the stacks.

use super::call_tree::{CallTree, NodeRow, ROOT};
use crate::contract::Peer;
use crate::model::RowItem;

/// The row that a stack gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackName {
    /// The row of this name.
    Row(String),
    /// None: the stack is not one of the application.
    Hidden,
    /// None yet: a name is missing. The time waits.
    Missing,
}

/// Self time of one peer by stack, in the source's unit.
#[derive(Debug, Default)]
pub struct StackTimes {
    /// The stacks.
    pub tree: CallTree,
    /// Nodes with unreported time.
    touched: Vec<u32>,
    /// Number of rows assigned to nodes.
    rows: u32,
}

crate::heap_size!(StackTimes { tree, touched });

impl StackTimes {
    /// Adds to the self time of a stack.
    #[inline]
    pub fn add(&mut self, node: u32, time: u64) {
        let Some(at) = self.tree.nodes.get_mut(node as usize) else { return };
        if at.self_time == 0 {
            self.touched.push(node);
        }
        at.self_time = at.self_time.saturating_add(time);
    }

    /// Reports the time of stacks that have names. `item`: the metric of stacks; `unit`: nanoseconds in a
    /// unit of time.
    pub fn report(
        &mut self,
        item: RowItem,
        unit: u64,
        mut name_of: impl FnMut(&CallTree, u32) -> StackName,
        peer: &mut Peer,
    ) {
        let Self { tree, touched, rows } = self;
        touched.retain(|at| {
            let Some(shown) = tree.nodes.get(*at as usize).map(|n| n.row) else { return false };
            let row = match shown {
                NodeRow::Assigned(row) => Some(row),
                NodeRow::Hidden => None,
                NodeRow::Unnamed => match name_of(tree, *at) {
                    StackName::Missing => return true,
                    StackName::Hidden => None,
                    StackName::Row(name) => {
                        let slot = *rows;
                        *rows += 1;
                        peer.row(item.table(), slot, Some(&name));
                        Some(slot)
                    }
                },
            };
            let Some(node) = tree.nodes.get_mut(*at as usize) else { return false };
            node.row = row.map_or(NodeRow::Hidden, NodeRow::Assigned);
            let more = std::mem::take(&mut node.self_time).saturating_mul(unit);
            if let Some(slot) = row {
                peer.row_add(slot, item, more);
            }
            false
        });
    }

    /// Frees memory of an idle peer: keeps only these nodes and those with unreported time. Returns
    /// the new number of each node, or [`ROOT`].
    pub fn retain(
        &mut self,
        item: RowItem,
        nodes: impl Iterator<Item = u32>,
        peer: &mut Peer,
    ) -> Vec<u32> {
        let mut used = vec![false; self.tree.nodes.len()];
        for node in nodes.chain(self.touched.iter().copied()) {
            used.get_mut(node as usize).into_iter().for_each(|used| *used = true);
        }
        let numbers = self.tree.retain(used);
        for node in &mut self.touched {
            *node = numbers.get(*node as usize).copied().unwrap_or(ROOT);
        }
        self.touched.shrink_to_fit();
        self.rows = 0;
        peer.free_rows(item.table());
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{InDomDef, SourceTable};
    use crate::contract::Recorded;
    use crate::model::{HeapSize, TableId};

    const ITEM: RowItem = RowItem::new(TableId::new(3), 1);

    const TABLE: SourceTable =
        SourceTable::new("toy", 64, InDomDef { serial: 1, oneline: "", help: "" });

    /// Time by row since the last report.
    fn reported(times: &mut StackTimes, peer: &mut Recorded, named: u32) -> Vec<(String, u64)> {
        let name = |tree: &CallTree, at: u32| match tree.outermost(at) {
            Some(9) => StackName::Hidden,
            _ => tree
                .name(at, &mut |m| (m <= named).then(|| format!("a.C.m{m}")))
                .map_or(StackName::Missing, StackName::Row),
        };
        peer.log_mut().rows.clear();
        times.report(ITEM, 10, name, peer);
        peer.rows(ITEM).into_iter().collect()
    }

    fn row(name: &str, time: u64) -> (String, u64) {
        (name.to_owned(), time)
    }

    #[test]
    fn time_waits_for_names_and_hidden_stacks_have_none() {
        let (mut times, mut peer) = (StackTimes::default(), Recorded::new(&TABLE));
        let outer = times.tree.child(ROOT, 1);
        let inner = times.tree.child(outer, 2);
        let hidden = times.tree.child(ROOT, 9);
        (0..3).for_each(|_| times.add(inner, 2));
        times.add(outer, 1);
        times.add(hidden, 5);
        times.add(ROOT, 5);
        assert_eq!(reported(&mut times, &mut peer, 1), [row("C.m1", 10)]);
        times.add(inner, 1);
        times.add(outer, 3);
        assert_eq!(reported(&mut times, &mut peer, 2), [row("C.m1", 30), row("C.m1,C.m2", 70)]);
        assert_eq!(reported(&mut times, &mut peer, 2), []);
    }

    #[test]
    fn an_idle_peer_keeps_what_is_in_use() {
        let (mut times, mut peer) = (StackTimes::default(), Recorded::new(&TABLE));
        let outer = times.tree.child(ROOT, 1);
        let inner = times.tree.child(outer, 2);
        let other = times.tree.child(outer, 3);
        [outer, inner, other].iter().for_each(|node| times.add(*node, 1));
        assert_eq!(reported(&mut times, &mut peer, 2).len(), 2);
        let before = peer.log().updates;
        assert_eq!(times.retain(ITEM, std::iter::empty(), &mut peer), vec![0, ROOT, 1]);
        assert_eq!(peer.log().updates, before + 1, "the slots are free");
        assert_eq!(reported(&mut times, &mut peer, 3), [row("C.m1,C.m3", 10)]);
        assert_eq!(times.retain(ITEM, [0].into_iter(), &mut peer), [0, ROOT]);
        times.retain(ITEM, std::iter::empty(), &mut peer);
        assert_eq!(times.heap_size(), 0);
    }
}
