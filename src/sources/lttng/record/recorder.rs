//! Makes records of the events of a packet, and counts them.

use super::super::metrics::RECORD;
use super::class::{Definitions, RecordFilter};
use super::packer::{Packer, pass_fields};
use crate::contract::Peer;
use crate::ctf::{Event, EventVisitor, NodeId, Packed, Visitor};

/// Bytes of packed records after which they are appended to the stream.
const BATCH: usize = 64 << 10;

/// The visitor of one packet.
pub(crate) struct Recorder<'r> {
    pub(crate) session: &'r str,
    pub(crate) filter: &'r RecordFilter,
    pub(crate) peer: &'r mut Peer,
    pub(crate) names: &'r mut Definitions,
    pub(crate) packer: Packer<'r>,
    pub(crate) bit: u64,
    pub(crate) events: u64,
    /// The current event becomes a record, and its fields are not complete yet.
    pub(crate) open: bool,
    /// A class was defined.
    pub(crate) defined: bool,
    /// Bytes of the records so far.
    pub(crate) bytes: u64,
}

impl Recorder<'_> {
    /// Ends the packet at this bit: reports the counts and appends the records.
    pub(crate) fn finish(&mut self, bit: u64) {
        if self.events > 0 {
            self.account(bit);
        }
        self.packer.put_back();
        self.packer.classes.iter_mut().flatten().for_each(|class| class.tell(self.peer));
        self.append();
    }

    /// Appends the records packed so far.
    fn append(&mut self) {
        self.bytes += self.packer.buffers.batch.size() as u64;
        self.peer.append(RECORD, &mut self.packer.buffers.batch);
    }

    /// The rest of the packet cannot be decoded: drops an incomplete record.
    pub(crate) fn fault(&mut self) {
        if std::mem::take(&mut self.open) {
            self.packer.discard();
            self.events = self.events.saturating_sub(1);
            if let Some(class) = &mut self.packer.class {
                class.count = class.count.saturating_sub(1);
            }
        }
    }

    /// Counts the size of the event that ends at this bit.
    #[inline]
    fn account(&mut self, bit: u64) {
        if let Some(class) = &mut self.packer.class {
            class.bits += bit.saturating_sub(self.bit);
        }
    }

    /// Makes the event's class the current one.
    fn take(&mut self, event: &Event<'_>) {
        let Self { session, filter, peer, names, packer, defined, .. } = self;
        packer.take(event.class.index, || {
            *defined = true;
            Some(names.class(event.class, session, filter, peer))
        });
    }

    /// Counts an event; `true`: it becomes a record.
    #[inline]
    pub(crate) fn count(&mut self, event: &Event<'_>) -> bool {
        if self.events > 0 {
            self.account(event.bit);
        }
        self.bit = event.bit;
        self.events += 1;
        if self.packer.class.is_none() || self.packer.at != event.class.index {
            self.take(event);
        }
        let Some(class) = &mut self.packer.class else { return false };
        class.count += 1;
        self.open = class.recorded;
        class.recorded
    }
}

impl<'t> EventVisitor<'t, '_> for Recorder<'_> {
    #[inline]
    fn event(&mut self, event: &Event<'t>) -> bool {
        let recorded = self.count(event);
        if recorded {
            self.packer.begin(event.cycles);
        }
        recorded
    }

    #[inline]
    fn done(&mut self) {
        self.open = false;
        self.packer.end();
        if self.packer.buffers.batch.size() > BATCH {
            self.append();
        }
    }
}

pass_fields!(Recorder);
