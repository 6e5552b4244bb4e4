//! Where a [`Peer`](super::Peer) leads: the store, or what a test looks at.

use super::{Control, Params, Update};
use crate::events::{Batch, Later};
use crate::model::{Departure, EventKindId, Now, TableId};

/// Bytes that a session uses, counted by the capacities of its collections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes of this session alone.
    pub own: usize,
    /// Bytes shared with other sessions. They are charged elsewhere and count here for the limit of
    /// one peer only.
    pub shared: usize,
}

/// The limit that leaves no room for a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `limits.instances`
    Instances,
    /// `limits.memory`
    Memory,
}

/// Receives what a session says of one peer. Each method is told at that of
/// [`Peer`](super::Peer) with its name.
#[expect(missing_docs, reason = "they are those of Peer")]
pub trait Recipient: Params + Send {
    /// Applies what is said by a method of [`Peer`](super::Peer) that has no counterpart here.
    fn update(&mut self, update: Update<'_>);
    /// Cells of a row of a table, and the one that ranks the rows.
    fn row_cells(&self, table: TableId) -> (u16, u16);
    fn record(&mut self, kind: EventKindId, write: &mut dyn FnMut(&mut Batch, &dyn Params));
    fn batch(&mut self, kind: EventKindId) -> Option<&mut Batch>;
    fn append(&mut self, kind: EventKindId, records: &mut Batch);
    fn keeps(&self, kind: EventKindId, own: usize, shared: usize) -> bool;
    fn append_later(&mut self, kind: EventKindId, records: Later);
    fn is_watched(&self, kind: EventKindId) -> bool;
    fn set_now(&mut self, now: Now);
    fn flush(&mut self);
    fn count_io(&mut self, read: usize, written: usize);
    fn held(&self) -> Held;
    fn name(&self) -> Option<String>;
    /// The peer has its instance.
    fn is_shown(&self) -> bool;
    fn refusal(&self) -> Option<Refusal>;
    fn requests(&mut self) -> Vec<Control>;
    fn finish(&mut self, fault: bool, departure: Departure);
}
