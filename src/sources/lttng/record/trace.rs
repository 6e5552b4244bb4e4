//! A trace of a session: its metadata as far as it has come, and what its classes are in records.

use super::class::{Definitions, EventClass, PacketOrigin, RecordFilter, common};
use super::recorder::{RecordBuffers, Recorder};
use super::timestamps::Timestamps;
use crate::ctf::{self, DiscardTracker, Discarded, Node, NodeId, PacketError, Visitor};
use crate::model::Stamp;
use crate::sources::OwnSink;

/// Faults in metadata that are told one by one; a broken trace has one for each declaration.
const FAULTS: usize = 8;

/// A trace that is being read.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    ctf: ctf::Trace,
    /// By class of streams, then by class of events; at their first event.
    classes: Vec<Vec<Option<Box<EventClass>>>>,
}

/// What decoding must remember of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamPosition {
    pub(crate) clock: u64,
    pub(crate) losses: DiscardTracker,
    /// What was lost before the next packet is history.
    pub(crate) joined: bool,
}

/// What a packet brought.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketResult {
    pub(crate) events: u64,
    pub(crate) lost: Discarded,
    /// Time of its end.
    pub(crate) end: Option<Stamp>,
    pub(crate) fault: Option<PacketError>,
}

/// What the records of a session are made with.
pub(crate) struct RecordContext<'t> {
    pub(crate) session: &'t str,
    pub(crate) filter: &'t RecordFilter,
    pub(crate) sink: &'t mut dyn OwnSink,
    pub(crate) names: &'t mut Definitions,
    pub(crate) buffers: &'t mut RecordBuffers,
}

impl Trace {
    /// More metadata; the faults in it.
    pub(crate) fn metadata(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut faults = Vec::new();
        for fault in self.ctf.metadata_errors(bytes) {
            if faults.len() < FAULTS {
                faults.push(fault.to_string());
            }
        }
        faults
    }

    /// Memory that it holds; classes of events are in the fields of the metadata.
    pub(crate) fn held(&self) -> usize {
        size_of::<Self>() + self.ctf.held()
    }

    /// Metadata ends within a declaration.
    pub(crate) fn unfinished(&self) -> bool {
        self.ctf.unfinished()
    }

    /// Decodes a packet. `packet` numbers it.
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
        // It was read by open.
        let _ = reader.visit_context(&mut cpu);
        let timestamps = Timestamps::new(self.ctf.clock(reader.stream()));
        if self.classes.len() <= info.stream {
            self.classes.resize_with(info.stream + 1, Vec::new);
        }
        let Some(classes) = self.classes.get_mut(info.stream) else { return result };
        let RecordContext { session, filter, sink, names, buffers } = context;
        buffers.text.limit = filter.field_size;
        let mut recorder = Recorder {
            session,
            filter,
            common: common(sink),
            sink,
            names,
            classes,
            buffers,
            origin: PacketOrigin { stream, cpu: cpu.number, packet },
            timestamps,
            at: 0,
            class: None,
            bit: 0,
            events: 0,
            open: false,
        };
        result.fault = reader.read(&mut recorder).err();
        if result.fault.is_some() {
            recorder.fault();
        }
        recorder.finish(info.content_bits);
        result.events = recorder.events;
        position.clock = reader.clock();
        result.end = info.end.map(|end| timestamps.stamp(end));
        result
    }
}

/// Looks for the processor in the packet context.
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
