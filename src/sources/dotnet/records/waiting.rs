//! Records that wait for the end of their batch of events, in which the threads of a process follow
//! one another (docs/protocols/dotnet.md 3).

use crate::contract::Peer;
use crate::events::Batch;
use crate::model::{EventKindId, Stamp};
use crate::sources::dotnet::limits::WAITING;
use crate::sources::dotnet::metrics::EVENT_KINDS;

/// Packed records of each kind.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    kinds: [Batch; EVENT_KINDS.len()],
    /// Of no kind: where records are sorted.
    sorted: Batch,
    /// No event that is still to come is older.
    until: Option<Stamp>,
}

crate::heap_size!(Waiting { kinds, sorted });

impl Waiting {
    /// The records of a kind.
    #[inline]
    pub(super) fn batch(&mut self, kind: EventKindId) -> Option<&mut Batch> {
        self.kinds.get_mut(kind.index())
    }

    /// No event that is still to come is older than this.
    #[inline]
    pub(super) fn sorted(&mut self, stamp: Stamp) {
        if self.until.is_none_or(|until| until < stamp) {
            self.until = Some(stamp);
        }
    }

    /// A record of this kind is complete: too many bytes do not wait.
    #[inline]
    pub(super) fn complete(&mut self, kind: EventKindId, peer: &mut Peer) {
        if self.kinds.get(kind.index()).is_some_and(|batch| batch.size() > WAITING) {
            self.overflow(kind, peer);
        }
    }

    #[cold]
    fn overflow(&mut self, kind: EventKindId, peer: &mut Peer) {
        let until = self.until;
        self.append(kind, until, peer);
        let room = |batch: &Batch| batch.size() > WAITING / 2;
        if self.kinds.get(kind.index()).is_some_and(room) {
            self.append(kind, None, peer);
        }
    }

    /// Appends the records to which no older one can come, or all of them, to their streams. After
    /// a call without records the memory is freed, since most processes are idle.
    pub(super) fn release(&mut self, all: bool, peer: &mut Peer) {
        if self.is_empty() {
            self.kinds.iter_mut().for_each(Batch::release);
            return self.sorted.release();
        }
        let until = self.until.filter(|_| !all);
        if !all && until.is_none() {
            return;
        }
        for kind in (0..).map(EventKindId::new).take(self.kinds.len()) {
            self.append(kind, until, peer);
        }
    }

    /// Forgets the times of a stream that has ended, after all its records were released.
    pub(super) fn restart(&mut self, peer: &mut Peer) {
        self.release(true, peer);
        self.until = None;
    }

    fn append(&mut self, kind: EventKindId, until: Option<Stamp>, peer: &mut Peer) {
        let Some(batch) = self.kinds.get_mut(kind.index()).filter(|b| !b.is_empty()) else {
            return;
        };
        batch.move_sorted(until, &mut self.sorted);
        if !self.sorted.is_empty() {
            peer.append(kind, &mut self.sorted);
            self.sorted.clear();
            if batch.is_empty() {
                // The memory is used again.
                std::mem::swap(batch, &mut self.sorted);
            }
        }
    }

    /// No record waits.
    pub(super) fn is_empty(&self) -> bool {
        self.kinds.iter().all(Batch::is_empty)
    }
}
