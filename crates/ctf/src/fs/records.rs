//! Events as owned values.

use std::collections::VecDeque;
use std::sync::Arc;

use super::error::Error;
use super::reader::Reader;
use crate::error::PacketError;
use crate::packet::{Discarded, Event, Packet};
use crate::plan::NodeId;
use crate::record::{Fields, Record, RecordBuilder};
use crate::schema::Scope;
use crate::stream::MergeVisitor;
use crate::visit::Visitor;

/// The events of all streams of a [`Session`](super::Session) in time order. An error does not end
/// the iteration.
#[derive(Debug)]
pub struct Records<'t> {
    reader: Reader<'t>,
    collector: Collector<'t>,
}

impl<'t> Records<'t> {
    pub(super) fn new(reader: Reader<'t>) -> Self {
        Self { reader, collector: Collector::default() }
    }
}

impl<'t> Iterator for Records<'t> {
    type Item = Result<Record<'t>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((stream, error)) = self.collector.faults.pop_front() {
                let path = self.reader.stream(stream)?.1.to_owned();
                return Some(Err(Error::Packet { path, error }));
            }
            if let Some(record) = self.collector.record.take() {
                return Some(Ok(record));
            }
            match self.reader.step(&mut self.collector) {
                Ok(true) => {}
                Ok(false) if self.collector.faults.is_empty() => return None,
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Collects the values of one event.
#[derive(Debug, Default)]
struct Collector<'t> {
    builder: RecordBuilder<'t>,
    /// The packet context of each stream.
    contexts: Vec<Arc<Fields>>,
    event: Option<(Event<'t>, Option<i128>)>,
    record: Option<Record<'t>>,
    faults: VecDeque<(usize, PacketError)>,
}

impl<'t, 'a> MergeVisitor<'t, 'a> for Collector<'t> {
    fn packet(&mut self, stream: usize, packet: &Packet<'t, 'a>, _: Discarded) {
        self.builder.begin(packet.stream().context_nodes());
        let context = match packet.visit_context(&mut self.builder) {
            Ok(()) => self.builder.take(Scope::PacketContext),
            Err(error) => {
                self.faults.push_back((stream, error));
                Fields::default()
            }
        };
        if self.contexts.len() <= stream {
            self.contexts.resize_with(stream + 1, Arc::default);
        }
        if let Some(slot) = self.contexts.get_mut(stream) {
            *slot = Arc::new(context);
        }
    }

    fn fault(&mut self, stream: usize, error: &PacketError) {
        self.event = None;
        self.faults.push_back((stream, error.clone()));
    }

    fn event(&mut self, _: usize, event: &Event<'t>, nanoseconds: Option<i128>) {
        self.builder.begin(event.class.nodes());
        self.event = Some((*event, nanoseconds));
    }

    fn done(&mut self, stream: usize) {
        let Some((event, nanoseconds)) = self.event.take() else { return };
        self.record = Some(Record {
            class: event.class,
            stream,
            cycles: event.cycles,
            nanoseconds,
            packet_context: self.contexts.get(stream).cloned().unwrap_or_default(),
            common_context: self.builder.take(Scope::CommonContext),
            specific_context: self.builder.take(Scope::Context),
            payload: self.builder.take(Scope::Payload),
        });
    }
}

impl<'a> Visitor<'a> for Collector<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.builder.unsigned(node, value);
    }

    fn signed(&mut self, node: NodeId, value: i64) {
        self.builder.signed(node, value);
    }

    fn float(&mut self, node: NodeId, value: f64) {
        self.builder.float(node, value);
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        self.builder.string(node, value);
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.builder.blob(node, value);
    }

    fn open(&mut self, node: NodeId, count: u64) {
        self.builder.open(node, count);
    }

    fn close(&mut self, node: NodeId) {
        self.builder.close(node);
    }
}
