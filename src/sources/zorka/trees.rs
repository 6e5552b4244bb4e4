//! Trees of methods of the slowest spans of a service: made when a body comes, which has all records of its
//! spans, and told when the window is over.

use std::sync::Arc;
use std::time::Duration;

use super::metrics as m;
use super::shape::{Copies, Counted};
use super::wire::{FLAG_CLOSED, Record};
use crate::contract::Peer;
use crate::events::Batch;
use crate::meter::{FOLDED, PathTree, SlowCalls, SlowService, Ticket};
use crate::model::TreeRules;

/// Nodes that took less are not shown.
pub(crate) const LEAST: i64 = 1000;

/// The trees of one agent.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    /// Somebody reads them.
    pub(crate) on: bool,
    rules: TreeRules,
    shared: Option<Arc<SlowCalls>>,
    service: Option<Arc<SlowService>>,
    waiting: Vec<Waiting>,
}

crate::heap_size!(Trees { waiting });

/// The record of a tree, until its window is over.
#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    record: Batch,
    charged: Charged,
}

/// Bytes that are given back when it is dropped.
#[derive(Debug)]
struct Charged(Arc<SlowCalls>, usize);

impl Drop for Charged {
    fn drop(&mut self) {
        self.0.give_back(self.1);
    }
}

impl Trees {
    /// The peer is one of this service. From now on it has a stream, to which a reader can come.
    pub(crate) fn join(&mut self, service: &str, shared: &Arc<SlowCalls>, peer: &mut Peer) {
        self.service = shared.of(service);
        self.shared = Some(Arc::clone(shared));
        peer.append(m::TREE, &mut Batch::default());
        self.watch(peer);
    }

    /// Looks whether somebody reads trees.
    fn watch(&mut self, peer: &Peer) {
        let Some(shared) = &self.shared else { return };
        self.rules = shared.rules();
        self.on = self.service.is_some() && (self.rules.always || peer.is_watched(m::TREE));
    }

    /// Whether a span is one of the slowest of its window so far.
    pub(crate) fn offer(&self, now: Duration, duration: u64) -> Option<Ticket> {
        let slow = u128::from(duration) >= self.rules.least.as_nanos();
        let service = self.service.as_ref().filter(|_| slow && self.on)?;
        service.offer(now, duration, self.rules.count)
    }

    /// Bytes of a tree's text.
    pub(crate) const fn size(&self) -> usize {
        self.rules.size
    }

    /// Keeps the record of a tree until its window is over.
    pub(crate) fn keep(&mut self, ticket: Ticket, record: Batch, peer: &mut Peer) {
        let (Some(shared), Some(service)) = (&self.shared, &self.service) else { return };
        if self.waiting.len() >= 2 * self.rules.count {
            self.waiting.retain(|waiting| service.holds(waiting.ticket));
        }
        let bytes = record.memory();
        let holds = self.waiting.iter().map(|waiting| waiting.charged.1).sum::<usize>() + bytes;
        if !shared.take(bytes, holds) {
            return peer.add(m::TREES_DROPPED, 1);
        }
        let charged = Charged(Arc::clone(shared), bytes);
        self.waiting.push(Waiting { ticket, record, charged });
    }

    /// Tells the trees whose window is over; all at the `end` of the connection.
    pub(crate) fn report(&mut self, now: Duration, peer: &mut Peer, end: bool) {
        self.watch(peer);
        let Self { service: Some(service), waiting, .. } = self else { return };
        waiting.retain_mut(|waiting| {
            if !service.holds(waiting.ticket) {
                return false;
            }
            let decided = end || now >= waiting.ticket.decided();
            if decided {
                peer.add(m::TREES, 1);
                peer.append(m::TREE, &mut waiting.record);
            }
            !decided
        });
        if waiting.is_empty() {
            *waiting = Vec::new();
        }
    }
}

/// The tree of a counted span; copies in it are in `others`: their spans have been told alone.
pub(crate) fn tree(records: &[Record], span: &Counted, copies: &Copies) -> Option<PathTree> {
    let mut tree = PathTree::new(records.get(span.record as usize)?.method);
    // Records around the present one: position, node, and the nearest node that is not folded.
    let mut open: Vec<(u32, u32, u32)> = Vec::new();
    let mut copies = copies.ranges().iter().filter(|(first, _)| *first > span.record).peekable();
    let mut n = span.record;
    while n < span.end
        && let Some(record) = records.get(n as usize)
    {
        while open.last().is_some_and(|(outer, ..)| *outer != record.parent) {
            open.pop();
        }
        let took = i64::try_from(record.duration).unwrap_or(i64::MAX);
        let outer = open.last().copied();
        let (_, parent, known) = outer.unwrap_or((n, 0, 0));
        if let Some((_, end)) = copies.next_if(|(first, _)| *first == n) {
            if parent != FOLDED {
                tree.fold(known, took, 1);
            }
            n = *end;
            continue;
        }
        let node = match outer {
            None => 0,
            // Of a record without an end the time is not known: what it called is of its parent.
            Some(_) if record.flags & FLAG_CLOSED == 0 || parent == FOLDED => parent,
            Some(_) => tree.child(parent, record.method),
        };
        if record.flags & FLAG_CLOSED != 0 {
            if node != FOLDED {
                tree.add(node, took, 0, 1);
            } else if parent != FOLDED {
                tree.fold(known, took, 1);
            }
        }
        open.push((n, node, if node == FOLDED { known } else { node }));
        n += 1;
    }
    Some(tree)
}

#[cfg(test)]
#[path = "tests/trees.rs"]
mod tests;
