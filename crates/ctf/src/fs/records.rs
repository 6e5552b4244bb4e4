//! Events as copied values.

use std::collections::VecDeque;
use std::sync::Arc;

use super::error::Error;
use super::reader::Reader;
use crate::error::PacketError;
use crate::packet::{Discarded, Event, Packet};
use crate::plan::NodeId;
use crate::record::{Flat, Record};
use crate::stream::MergeVisitor;
use crate::visit::{Packed, Visitor};

/// Events that are read at once, and the bytes of their copies beyond which there are fewer.
const EVENTS: usize = 64;
const BYTES: usize = 64 << 10;

/// The events of all streams of a [`Session`](super::Session) in time order. An error does not end
/// the iteration.
///
/// [`Self::read`] lends each event and allocates nothing for most of them; the iterator clones it,
/// which takes one or two allocations.
#[derive(Debug)]
pub struct Records<'t> {
    reader: Reader<'t>,
    collector: Collector<'t>,
}

impl<'t> Records<'t> {
    pub(super) fn new(reader: Reader<'t>) -> Self {
        Self { reader, collector: Collector::default() }
    }

    /// The next event, until the next call. `None`: the end of all streams.
    ///
    /// ```
    /// # fn main() -> Result<(), ctf::fs::Error> {
    /// # let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/trace");
    /// let session = ctf::fs::Session::open(dir)?;
    /// let (mut records, mut orders) = (session.records(), 0);
    /// while let Some(record) = records.read()? {
    ///     if let Some(ctf::Value::Unsigned(n)) = record.get("orders") {
    ///         orders += n;
    ///     }
    /// }
    /// # assert_eq!(orders, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`]: a packet, or the rest of it, cannot be decoded, or a file cannot be read. The next
    /// call continues after it.
    pub fn read(&mut self) -> Result<Option<&Record<'t>>, Error> {
        loop {
            let collector = &mut self.collector;
            let due = collector.faults.front().is_some_and(|fault| fault.before <= collector.next);
            if due && let Some(fault) = collector.faults.pop_front() {
                let path = self.reader.stream(fault.stream).map(|(_, path)| path.to_owned());
                let path = path.unwrap_or_default();
                return Err(Error::Packet { path, error: fault.error });
            }
            if collector.next < collector.filled {
                collector.next += 1;
                return Ok(self.collector.records.get(self.collector.next - 1));
            }
            (collector.next, collector.filled, collector.bytes) = (0, 0, 0);
            match self.reader.read(EVENTS, collector) {
                Ok(true) => {}
                Ok(false) if self.collector.faults.is_empty() => return Ok(None),
                Ok(false) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<'t> Iterator for Records<'t> {
    type Item = Result<Record<'t>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map(|record| record.cloned()).transpose()
    }
}

/// Collects the values of some events.
#[derive(Debug, Default)]
struct Collector<'t> {
    /// The packet context of each stream.
    contexts: Vec<Arc<Flat<'t>>>,
    /// Events, of which the first ones are complete; the others are for later ones.
    records: Vec<Record<'t>>,
    filled: usize,
    /// The first one that was not returned.
    next: usize,
    /// Bytes of the complete ones.
    bytes: usize,
    faults: VecDeque<Fault>,
}

/// A malformed packet.
#[derive(Debug)]
struct Fault {
    /// The event that comes after it.
    before: usize,
    stream: usize,
    error: PacketError,
}

impl<'t> Collector<'t> {
    #[inline]
    fn values(&mut self, put: impl FnOnce(&mut Flat<'t>)) {
        if let Some(record) = self.records.get_mut(self.filled) {
            put(&mut record.values);
        }
    }
}

impl<'t, 'a> MergeVisitor<'t, 'a> for Collector<'t> {
    fn packet(&mut self, stream: usize, packet: &Packet<'t, 'a>, _: Discarded) {
        let (class, mut context) = (packet.stream(), Flat::default());
        context.begin(class.context_nodes(), class.context_scopes());
        if let Err(error) = packet.visit_context(&mut context) {
            self.fault(stream, &error);
            context = Flat::default();
        }
        if self.contexts.len() <= stream {
            self.contexts.resize_with(stream + 1, Arc::default);
        }
        if let Some(slot) = self.contexts.get_mut(stream) {
            *slot = Arc::new(context);
        }
    }

    fn fault(&mut self, stream: usize, error: &PacketError) {
        self.faults.push_back(Fault { before: self.filled, stream, error: error.clone() });
    }

    fn event(&mut self, stream: usize, event: &Event<'t>, nanoseconds: Option<i128>) {
        let (class, cycles) = (event.class, event.cycles);
        if self.records.len() <= self.filled {
            let (packet, values) = (Arc::default(), Flat::default());
            self.records.push(Record { class, stream, cycles, nanoseconds, packet, values });
        }
        let Some(record) = self.records.get_mut(self.filled) else { return };
        (record.class, record.stream) = (class, stream);
        (record.cycles, record.nanoseconds) = (cycles, nanoseconds);
        if let Some(context) = self.contexts.get(stream)
            && !Arc::ptr_eq(context, &record.packet)
        {
            record.packet = context.clone();
        }
        record.values.begin(class.nodes(), class.scopes());
    }

    #[inline]
    fn done(&mut self, _: usize) {
        self.bytes += self.records.get(self.filled).map_or(0, |record| record.values.bytes());
        self.filled += 1;
    }

    #[inline]
    fn more(&mut self) -> bool {
        self.bytes < BYTES
    }
}

impl<'a> Visitor<'a> for Collector<'_> {
    #[inline]
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.values(|values| values.unsigned(node, value));
    }

    #[inline]
    fn signed(&mut self, node: NodeId, value: i64) {
        self.values(|values| values.signed(node, value));
    }

    #[inline]
    fn float(&mut self, node: NodeId, value: f64) {
        self.values(|values| values.float(node, value));
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        self.values(|values| values.string(node, value));
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.values(|values| values.blob(node, value));
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.values(|values| values.packed(node, items));
    }

    #[inline]
    fn open(&mut self, node: NodeId, count: u64) {
        self.values(|values| values.open(node, count));
    }

    #[inline]
    fn close(&mut self, node: NodeId) {
        self.values(|values| values.close(node));
    }
}
