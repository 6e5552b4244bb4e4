//! The metrics that one process defines: their slots, and how many there may be.

use super::spec::Description;
use crate::contract::Peer;
use crate::sources::dotnet::limits;

/// Slots of one process's metrics. They are even: those of fields in records are odd.
#[derive(Debug, Default)]
pub(super) struct Names {
    next: u32,
}

impl Names {
    /// The slot of a new metric. `None`: the process has too many.
    pub(super) fn define(&mut self, facts: &Description<'_>, peer: &mut Peer) -> Option<u32> {
        if self.next as usize >= limits::DYNAMIC_METRICS {
            peer.unshown(1);
            return None;
        }
        let slot = 2 * self.next;
        self.next += 1;
        peer.define(slot, &facts.spec());
        Some(slot)
    }
}
