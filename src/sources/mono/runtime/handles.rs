//! GC handles in use.

use crate::contract::Peer;
use crate::runtimes::bind;
use crate::sources::mono::metrics as m;

/// Kinds by their numbers.
const KINDS: [&str; 4] = ["weak", "weak_track", "normal", "pinned"];

/// Handles made and not destroyed, by kind.
#[derive(Debug, Default)]
pub(super) struct Handles {
    /// May be negative within a flush, in which one thread's buffer comes after another's.
    counts: [i64; KINDS.len()],
    changed: bool,
    bound: bool,
}

impl Handles {
    pub(super) fn created(&mut self, kind: u64) {
        self.change(kind, |count| count.saturating_add(1));
    }

    pub(super) fn destroyed(&mut self, kind: u64) {
        self.change(kind, |count| count.saturating_sub(1));
    }

    fn change(&mut self, kind: u64, change: impl FnOnce(i64) -> i64) {
        let count = usize::try_from(kind).ok().and_then(|kind| self.counts.get_mut(kind));
        if let Some(count) = count {
            *count = change(*count);
            self.changed = true;
        }
    }

    /// Reports what has changed.
    pub(super) fn report(&mut self, owner: &str, peer: &mut Peer) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        let new = !std::mem::replace(&mut self.bound, true);
        for (slot, (kind, count)) in (0..).zip(KINDS.into_iter().zip(self.counts)) {
            let value = u64::try_from(count).unwrap_or_default();
            if new {
                bind(m::HANDLES, owner, slot, ("handle", kind), peer);
            }
            peer.row_set(slot, m::HANDLE_COUNT, value);
        }
    }
}
