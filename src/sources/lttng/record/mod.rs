//! From decoded events of traces to records in event streams and counts of classes: a trace, with its metadata so far and
//! its event record classes, and packets whose events become records when somebody reads them.

mod class;
mod packer;
mod recorder;
mod tap;
mod text;

use std::sync::Arc;

use class::{CommonParams, EventClass, PacketOrigin};
use packer::{Packer, Timestamps, pass_fields};
use recorder::{Measurer, Recorder, Sums};
use tap::{Tap, Tapped, Taps};

use super::metrics::RECORD;
use crate::contract::Peer;
use crate::ctf::{
    self, DiscardTracker, Discarded, Event, EventVisitor, Mark, Node, NodeId, Packed, Packet,
    PacketError, Violation, Visitor,
};
use crate::events::{Batch, Later, Unpacked};
use crate::heap_size;
use crate::model::{HeapSize, Now, Stamp};
use crate::sources::foreign::ForeignReaders;
pub(super) use class::Definitions;
pub use class::{FIELD_SIZE, RecordFilter};
pub(super) use packer::RecordBuffers;

/// Most errors reported for one piece of metadata; a broken trace has one for each declaration.
const FAULTS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// Kept packets share it.
    ctf: Arc<ctf::Trace>,
    /// By data stream class.
    classes: Vec<Classes>,
    taps: Taps,
}

/// The event record classes of a data stream class.
#[derive(Debug, Default)]
struct Classes {
    /// By index; `None` before the first event.
    list: Vec<Option<Box<EventClass>>>,
    /// Copies for kept packets, made when one is kept after a class was defined.
    copies: Option<Arc<[Option<EventClass>]>>,
}

impl Classes {
    fn copies(&mut self) -> Arc<[Option<EventClass>]> {
        let copy = || self.list.iter().map(|class| class.as_deref().map(EventClass::unused));
        Arc::clone(self.copies.get_or_insert_with(|| copy().collect()))
    }
}

/// Decoding state of a stream between packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamPosition {
    pub(crate) clock: u64,
    pub(crate) losses: DiscardTracker,
    /// Losses before the next packet are older than the attach and are not counted.
    pub(crate) joined: bool,
    /// The records of the packet before had fewer bytes than the packet.
    pub(crate) sparse: bool,
}

/// Counts of one packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketResult {
    pub(crate) events: u64,
    pub(crate) lost: Discarded,
    /// End time of the packet.
    pub(crate) end: Option<Stamp>,
    pub(crate) fault: Option<PacketError>,
}

/// The parts of a session that packing records needs.
pub(crate) struct RecordContext<'t> {
    pub(crate) session: &'t str,
    pub(crate) filter: &'t RecordFilter,
    pub(crate) foreign: &'t ForeignReaders,
    pub(crate) now: Now,
    pub(crate) peer: &'t mut Peer,
    pub(crate) names: &'t mut Definitions,
    pub(crate) buffers: &'t mut RecordBuffers,
}

impl HeapSize for Trace {
    /// Classes count as part of the metadata.
    fn heap_size(&self) -> usize {
        self.ctf.held()
    }
}

impl Trace {
    /// Adds metadata; returns the errors in it.
    pub(crate) fn metadata(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut faults = Vec::new();
        for fault in Arc::make_mut(&mut self.ctf).metadata_errors(bytes) {
            if faults.len() < FAULTS {
                faults.push(fault.to_string());
            }
        }
        faults
    }

    /// The metadata so far ends within a declaration.
    pub(crate) fn unfinished(&self) -> bool {
        self.ctf.unfinished()
    }

    /// Whether the metadata so far has no data stream class for a packet; `class`: the class that the
    /// packet's index has.
    pub(crate) fn lacks_class(&self, class: u64, bytes: &[u8]) -> bool {
        if self.ctf.streams().iter().any(|stream| stream.id == class) {
            return false;
        }
        match ctf::Packet::open(&self.ctf, bytes, 0).map_err(|fault| fault.violation) {
            Err(Violation::StreamClass(_)) => true,
            Err(Violation::NoClassId) => self.ctf.streams().is_empty(),
            _ => false,
        }
    }

    /// Decodes a packet; `packet` is its number within the session.
    pub(crate) fn packet(
        &mut self,
        bytes: &[u8],
        packet: u64,
        stream: &str,
        position: &mut StreamPosition,
        context: RecordContext<'_>,
    ) -> PacketResult {
        let mut result = PacketResult::default();
        let mut reader = match ctf::Packet::open(&self.ctf, bytes, position.clock) {
            Ok(reader) => reader,
            Err(fault) => {
                result.fault = Some(fault);
                return result;
            }
        };
        let info = reader.info().clone();
        if std::mem::take(&mut position.joined) {
            position.losses.skip(&info);
        } else {
            result.lost = position.losses.packet(&info);
        }
        let mut cpu = Cpu { nodes: reader.stream().context_nodes(), number: None };
        // `open` has decoded the context already, so it cannot fail here.
        let _ = reader.visit_context(&mut cpu);
        let timestamps = Timestamps::new(self.ctf.clock(reader.stream()));
        if self.classes.len() <= info.stream {
            self.classes.resize_with(info.stream + 1, Classes::default);
        }
        let Some(classes) = self.classes.get_mut(info.stream) else { return result };
        let RecordContext { session, filter, foreign, now, peer, names, buffers } = context;
        let tap = self.taps.of(&self.ctf, info.stream, reader.stream(), foreign);
        let common = CommonParams::new(peer);
        let content = usize::try_from(info.content_bits.div_ceil(8));
        let content = content.ok().and_then(|bytes_of| bytes.get(..bytes_of)).unwrap_or(bytes);
        buffers.text.limit = filter.field_size;
        let later = !position.sparse && peer.keeps(RECORD, content.len(), self.ctf.held());
        let recorder = Recorder {
            session,
            filter,
            names,
            bit: 0,
            events: 0,
            open: false,
            defined: false,
            bytes: 0,
            peer,
            packer: Packer {
                buffers,
                origin: PacketOrigin { stream, cpu: cpu.number, packet },
                common,
                timestamps,
                classes: &mut classes.list,
                at: 0,
                class: None,
            },
        };
        let tap = tap.map(|tap| (tap, info.stream, timestamps, now));
        let (mut recorder, sums, (marks, fault)) = if later {
            let mut measurer = Measurer::new(recorder);
            let read = read(&mut reader, &mut measurer, tap, |m| Some(m.sums.count));
            (measurer.recorder, measurer.sums, read)
        } else {
            let mut recorder = recorder;
            let read = read(&mut reader, &mut recorder, tap, |_| None);
            (recorder, Sums::default(), read)
        };
        result.fault = fault;
        if result.fault.is_some() {
            recorder.fault();
        }
        recorder.finish(info.content_bits);
        result.events = recorder.events;
        result.end = info.end.map(|end| timestamps.stamp(end));
        if recorder.defined {
            classes.copies = None;
        }
        let mut packed = recorder.bytes;
        if sums.count > 0 {
            let kept = KeptPacket {
                trace: Arc::clone(&self.ctf),
                classes: classes.copies(),
                bytes: content.into(),
                clock: position.clock,
                marks,
                stream: stream.into(),
                cpu: cpu.number,
                common,
                field_size: filter.field_size,
            };
            let Sums { count, mut bytes, mut truncated, newest, incomplete } = sums;
            if incomplete {
                (bytes, truncated) = kept.sums(count);
            }
            packed = bytes;
            let newest = timestamps.stamp(newest);
            let records = Box::new(kept);
            peer.append_later(RECORD, Later { records, count, bytes, truncated, newest });
        }
        position.sparse = packed < content.len() as u64;
        position.clock = reader.clock();
        result
    }
}

/// Places in a packet, and why its rest cannot be read.
type Read = (Vec<(u64, Mark)>, Option<PacketError>);

/// Reads all events, beside a tap if there is one. `record`: the number of the next record, for
/// marks, if its packet may be kept.
fn read<'t, 'a, V: EventVisitor<'t, 'a>>(
    packet: &mut Packet<'t, 'a>,
    visitor: &mut V,
    tap: Option<(&mut Tap, usize, Timestamps<'_>, Now)>,
    record: impl Fn(&V) -> Option<u64>,
) -> Read {
    // Traces without a tap do not pay for it.
    let Some((tap, stream, timestamps, now)) = tap else {
        return read_all(packet, visitor, record);
    };
    let mut tapped = Tapped::new(visitor, tap, stream, timestamps, now);
    read_all(packet, &mut tapped, |tapped| record(tapped.recorder))
}

fn read_all<'t, 'a, V: EventVisitor<'t, 'a>>(
    packet: &mut Packet<'t, 'a>,
    visitor: &mut V,
    record: impl Fn(&V) -> Option<u64>,
) -> Read {
    let mut marks = Vec::new();
    loop {
        marks.extend(record(visitor).map(|record| (record, packet.mark())));
        match packet.read_at_most(MARK, visitor) {
            Ok(true) => {}
            Ok(false) => return (marks, None),
            Err(fault) => return (marks, Some(fault)),
        }
    }
}

/// Finds `cpu_id` in the packet context.
struct Cpu<'n> {
    nodes: &'n [Node],
    number: Option<u64>,
}

impl<'a> Visitor<'a> for Cpu<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        if self.nodes.get(node.index()).is_some_and(|n| &*n.name == "cpu_id") {
            self.number = Some(value);
        }
    }

    fn signed(&mut self, _: NodeId, _: i64) {}
    fn float(&mut self, _: NodeId, _: f64) {}
    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

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

heap_size!(KeptPacket { bytes, marks, stream });

impl Unpacked for KeptPacket {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.heap_size() + self.trace.held()
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
#[path = "tests/kept.rs"]
mod tests;
