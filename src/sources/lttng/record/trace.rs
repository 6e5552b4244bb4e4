//! A trace of a session: its metadata so far, and its event record classes.

use super::class::{Definitions, EventClass, PacketOrigin, RecordFilter, common};
use super::recorder::{RecordBuffers, Recorder};
use super::tap::{Tapped, Taps};
use super::timestamps::Timestamps;
use crate::ctf::{self, DiscardTracker, Discarded, Node, NodeId, PacketError, Visitor};
use crate::model::{Now, Stamp};
use crate::sources::OwnSink;
use crate::sources::foreign::ForeignReaders;

/// Most errors reported for one piece of metadata; a broken trace has one for each declaration.
const FAULTS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Trace {
    ctf: ctf::Trace,
    /// By data stream class, then by event record class; `None` before the first event.
    classes: Vec<Vec<Option<Box<EventClass>>>>,
    taps: Taps,
}

/// Decoding state of a stream between packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamPosition {
    pub(crate) clock: u64,
    pub(crate) losses: DiscardTracker,
    /// Losses before the next packet are older than the attach and are not counted.
    pub(crate) joined: bool,
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
    pub(crate) sink: &'t mut dyn OwnSink,
    pub(crate) names: &'t mut Definitions,
    pub(crate) buffers: &'t mut RecordBuffers,
}

impl Trace {
    /// Adds metadata; returns the errors in it.
    pub(crate) fn metadata(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut faults = Vec::new();
        for fault in self.ctf.metadata_errors(bytes) {
            if faults.len() < FAULTS {
                faults.push(fault.to_string());
            }
        }
        faults
    }

    /// Bytes of memory; classes count as part of the metadata.
    pub(crate) fn held(&self) -> usize {
        size_of::<Self>() + self.ctf.held()
    }

    /// The metadata so far ends within a declaration.
    pub(crate) fn unfinished(&self) -> bool {
        self.ctf.unfinished()
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
            self.classes.resize_with(info.stream + 1, Vec::new);
        }
        let Some(classes) = self.classes.get_mut(info.stream) else { return result };
        let RecordContext { session, filter, foreign, now, sink, names, buffers } = context;
        let tap = self.taps.of(&self.ctf, info.stream, reader.stream(), foreign);
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
        // Traces without a tap do not pay for it.
        result.fault = match tap {
            None => reader.read(&mut recorder).err(),
            Some(tap) => {
                let mut tapped = Tapped::new(recorder, tap, info.stream, now);
                let fault = reader.read(&mut tapped).err();
                recorder = tapped.recorder;
                fault
            }
        };
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
