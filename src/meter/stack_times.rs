//! Unreported self time by stack, and the rows of the stacks.

use super::call_tree::{CallTree, NAME, NodeRow, ROOT};
use crate::contract::Update;
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

/// The rows of a stack: in the table of all peers, and in that of services, whose names begin with
/// the service as their outermost frame.
#[derive(Clone, Copy, Debug)]
pub struct StackRows<'a> {
    /// The metric of stacks.
    pub item: RowItem,
    /// The peer's service and the metric of stacks of services.
    pub service: Option<(&'a str, RowItem)>,
}

impl StackRows<'_> {
    /// Binds a slot in both tables.
    fn bind(self, slot: u32, name: &str, mut update: impl FnMut(Update<'_>)) {
        update(Update::Row { table: self.item.table(), slot, key: Some(name) });
        if let Some((service, item)) = self.service {
            let mut name = format!("{},{name}", service.replace(',', ";"));
            // Frames that do not fit are left out.
            let start = name.as_bytes().get(..=NAME);
            if let Some(end) = start.and_then(|start| memchr::memrchr(b',', start)) {
                name.truncate(end);
            }
            update(Update::Row { table: item.table(), slot, key: Some(&name) });
        }
    }

    fn count(self, slot: u32, more: u64, mut update: impl FnMut(Update<'_>)) {
        update(Update::RowCount { slot, item: self.item, more });
        if let Some((_, item)) = self.service {
            update(Update::RowCount { slot, item, more });
        }
    }

    fn free(self, mut update: impl FnMut(Update<'_>)) {
        update(Update::FreeRows { table: self.item.table() });
        if let Some((_, item)) = self.service {
            update(Update::FreeRows { table: item.table() });
        }
    }
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

    /// Gives a stack its row at once.
    pub fn bind(
        &mut self,
        node: u32,
        rows: StackRows<'_>,
        name: &str,
        update: impl FnMut(Update<'_>),
    ) {
        let Some(at) = self.tree.nodes.get_mut(node as usize) else { return };
        let slot = self.rows;
        self.rows += 1;
        at.row = NodeRow::Assigned(slot);
        rows.bind(slot, name, update);
    }

    /// Reports the time of stacks that have names. `unit`: nanoseconds in a unit of time.
    pub fn report(
        &mut self,
        tables: StackRows<'_>,
        unit: u64,
        mut name_of: impl FnMut(&CallTree, u32) -> StackName,
        mut update: impl FnMut(Update<'_>),
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
                        tables.bind(slot, &name, &mut update);
                        Some(slot)
                    }
                },
            };
            let Some(node) = tree.nodes.get_mut(*at as usize) else { return false };
            node.row = row.map_or(NodeRow::Hidden, NodeRow::Assigned);
            let more = std::mem::take(&mut node.self_time).saturating_mul(unit);
            if let Some(slot) = row {
                tables.count(slot, more, &mut update);
            }
            false
        });
    }

    /// Frees memory of an idle peer: keeps only these nodes and those with unreported time. Returns
    /// the new number of each node, or [`ROOT`].
    pub fn retain(
        &mut self,
        tables: StackRows<'_>,
        nodes: impl Iterator<Item = u32>,
        update: impl FnMut(Update<'_>),
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
        tables.free(update);
        numbers
    }

    /// Allocated bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.tree.memory() + self.touched.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableId;

    const ITEM: RowItem = RowItem::new(TableId::new(3), 1);
    const OF_SERVICE: RowItem = RowItem::new(TableId::new(4), 0);
    const ROWS: StackRows<'_> = StackRows { item: ITEM, service: None };

    /// Rows bound, and time by slot.
    fn reported(times: &mut StackTimes, named: u32) -> (Vec<String>, Vec<(u32, u64)>) {
        let (mut rows, mut counts) = (Vec::new(), Vec::new());
        let name = |tree: &CallTree, at: u32| match tree.outermost(at) {
            Some(9) => StackName::Hidden,
            _ => tree
                .name(at, &mut |m| (m <= named).then(|| format!("a.C.m{m}")))
                .map_or(StackName::Missing, StackName::Row),
        };
        times.report(ROWS, 10, name, |update| match update {
            Update::Row { slot, key: Some(key), .. } => rows.push(format!("{slot} {key}")),
            Update::RowCount { slot, more, .. } => counts.push((slot, more)),
            _ => unreachable!("{update:?}"),
        });
        (rows, counts)
    }

    #[test]
    fn time_waits_for_names_and_hidden_stacks_have_none() {
        let mut times = StackTimes::default();
        let outer = times.tree.child(ROOT, 1);
        let inner = times.tree.child(outer, 2);
        let hidden = times.tree.child(ROOT, 9);
        (0..3).for_each(|_| times.add(inner, 2));
        times.add(outer, 1);
        times.add(hidden, 5);
        times.add(ROOT, 5);
        assert_eq!(reported(&mut times, 1), (vec!["0 C.m1".to_owned()], vec![(0, 10)]));
        times.add(inner, 1);
        times.add(outer, 3);
        let (rows, counts) = reported(&mut times, 2);
        assert_eq!((rows, counts), (vec!["1 C.m1,C.m2".to_owned()], vec![(1, 70), (0, 30)]));
        assert_eq!(reported(&mut times, 2), (vec![], vec![]));
    }

    #[test]
    fn an_idle_peer_keeps_what_is_in_use() {
        let mut times = StackTimes::default();
        let outer = times.tree.child(ROOT, 1);
        let inner = times.tree.child(outer, 2);
        let other = times.tree.child(outer, 3);
        [outer, inner, other].iter().for_each(|node| times.add(*node, 1));
        assert_eq!(reported(&mut times, 2).0.len(), 2);
        let mut freed = 0;
        let numbers = times.retain(ROWS, std::iter::empty(), |update| {
            assert!(matches!(update, Update::FreeRows { table } if table == ITEM.table()));
            freed += 1;
        });
        assert_eq!((numbers, freed), (vec![0, ROOT, 1], 1));
        assert_eq!(reported(&mut times, 3), (vec!["0 C.m1,C.m3".to_owned()], vec![(0, 10)]));
        assert_eq!(times.retain(ROWS, [0].into_iter(), |_| ()), [0, ROOT]);
        times.retain(ROWS, std::iter::empty(), |_| ());
        assert_eq!(times.memory(), 0);
    }

    #[test]
    fn a_service_is_the_outermost_frame_of_its_stacks() {
        let mut times = StackTimes::default();
        let outer = times.tree.child(ROOT, 1);
        let inner = times.tree.child(outer, 2);
        let rows = StackRows { item: ITEM, service: Some(("lab/a,b", OF_SERVICE)) };
        let mut seen = Vec::new();
        let mut see = |update: Update<'_>| {
            seen.push(match update {
                Update::Row { table, slot, key: Some(key) } => {
                    format!("{} {slot} {key}", table.index())
                }
                Update::RowCount { slot, item, more } => {
                    format!("{} {slot} +{more}", item.table().index())
                }
                Update::FreeRows { table } => format!("{} freed", table.index()),
                _ => unreachable!("{update:?}"),
            });
        };
        times.bind(outer, rows, "C.m1", &mut see);
        times.add(outer, 3);
        times.add(inner, 4);
        let long = format!("C.m1,{}", "m".repeat(NAME - 6));
        times.report(rows, 1, |_, _| StackName::Row(long.clone()), &mut see);
        times.retain(rows, std::iter::empty(), &mut see);
        let expected = [
            "3 0 C.m1",
            "4 0 lab/a;b,C.m1",
            "3 0 +3",
            "4 0 +3",
            &format!("3 1 {long}"),
            "4 1 lab/a;b,C.m1",
            "3 1 +4",
            "4 1 +4",
            "3 freed",
            "4 freed",
        ];
        assert_eq!(seen, expected);
    }
}
