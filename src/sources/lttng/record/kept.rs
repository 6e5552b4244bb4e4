//! Packets whose events become records when somebody reads them.

use std::sync::Arc;

use super::class::{CommonParams, EventClass, PacketOrigin};
use super::packer::{Packer, RecordBuffers, pass_fields};
use super::timestamps::Timestamps;
use crate::ctf::{self, Event, EventVisitor, Mark, NodeId, Packed, Visitor};
use crate::events::{Batch, Unpacked};

/// Events between two marks.
pub(crate) const MARK: usize = 256;
/// Bytes that are packed at once to know the size of all records.
const PIECE: usize = 64 << 10;
/// Events that are read at once: no more are passed over when there are records enough.
const FEW: usize = 32;

/// A packet, and all that its records are made of: what comes later does not change them.
#[derive(Debug)]
pub(crate) struct KeptPacket {
    pub(crate) trace: Arc<ctf::Trace>,
    /// Event record classes of the data stream class, by index.
    pub(crate) classes: Arc<[Option<EventClass>]>,
    /// Header, context and events.
    pub(crate) bytes: Box<[u8]>,
    /// The stream's clock before the packet.
    pub(crate) clock: u64,
    /// The number of a record, and the place where it or an event before it is: the first one, and
    /// one for each [`MARK`] events.
    pub(crate) marks: Vec<(u64, Mark)>,
    pub(crate) stream: Box<str>,
    pub(crate) cpu: Option<u64>,
    pub(crate) common: CommonParams,
    /// Most bytes of the text of an array or structure.
    pub(crate) field_size: usize,
}

impl Unpacked for KeptPacket {
    fn memory(&self) -> usize {
        let marks = self.marks.capacity() * size_of::<(u64, Mark)>();
        size_of::<Self>() + self.bytes.len() + marks + self.stream.len() + self.trace.held()
    }

    fn pack(&self, from: u64, records: usize, bytes: usize, batch: &mut Batch) {
        let Ok(mut packet) = ctf::Packet::open(&self.trace, &self.bytes, self.clock) else {
            return;
        };
        let after = self.marks.partition_point(|(record, _)| *record <= from);
        let Some((record, mark)) = after.checked_sub(1).and_then(|at| self.marks.get(at)) else {
            return;
        };
        packet.resume(*mark);
        let mut buffers = RecordBuffers::default();
        buffers.text.limit = self.field_size;
        std::mem::swap(&mut buffers.batch, batch);
        let mut again = Again {
            all: &self.classes,
            passed_over: from - record,
            left: records,
            bytes,
            packer: Packer {
                origin: PacketOrigin { stream: &self.stream, cpu: self.cpu, packet: 1 },
                common: self.common,
                timestamps: Timestamps::new(self.trace.clock(packet.stream())),
                classes: &mut Vec::new(),
                at: 0,
                class: None,
                buffers: &mut buffers,
            },
        };
        while again.left > 0 && matches!(packet.read_at_most(FEW, &mut again), Ok(true)) {}
        *batch = buffers.batch;
    }
}

impl KeptPacket {
    /// Bytes of so many records, and their parameters that are cut or left out: packs them all.
    pub(crate) fn sums(&self, records: u64) -> (u64, u64) {
        let (mut from, mut bytes, mut truncated, mut batch) = (0, 0, 0, Batch::default());
        while from < records {
            batch.clear();
            let left = usize::try_from(records - from).unwrap_or(usize::MAX);
            self.pack(from, left, PIECE, &mut batch);
            if batch.is_empty() {
                break;
            }
            from += batch.len() as u64;
            bytes += batch.size() as u64;
            truncated += batch.truncated();
        }
        debug_assert_eq!(from, records, "all were decoded before");
        (bytes, truncated)
    }
}

/// Packs some of the records of a packet that was read before.
struct Again<'r> {
    all: &'r [Option<EventClass>],
    /// Records before the first one that is wanted.
    passed_over: u64,
    /// Records that are wanted.
    left: usize,
    /// Bytes after which no more are wanted.
    bytes: usize,
    packer: Packer<'r>,
}

impl<'t> EventVisitor<'t, '_> for Again<'_> {
    fn event(&mut self, event: &Event<'t>) -> bool {
        if self.left == 0 {
            return false;
        }
        let index = event.class.index;
        if self.packer.class.is_none() || self.packer.at != index {
            let define = || self.all.get(index)?.as_ref().map(EventClass::unused);
            self.packer.take(index, define);
        }
        if !self.packer.class.as_ref().is_some_and(|class| class.recorded) {
            return false;
        }
        if self.passed_over > 0 {
            self.passed_over -= 1;
            return false;
        }
        self.packer.begin(event.cycles);
        true
    }

    fn done(&mut self) {
        self.packer.end();
        self.left -= 1;
        if self.packer.buffers.batch.size() >= self.bytes {
            self.left = 0;
        }
    }
}

pass_fields!(Again);

#[cfg(test)]
mod tests;
