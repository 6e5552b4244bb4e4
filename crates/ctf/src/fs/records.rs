//! Events as copied values.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::error::Error;
use super::reader::Reader;
use crate::error::PacketError;
use crate::packet::{Discarded, Event, Packet};
use crate::plan::NodeId;
use crate::record::{Batch, Context, Flat, Record};
use crate::stream::MergeVisitor;
use crate::trace::EventPlan;
use crate::visit::{Packed, Visitor};

/// Events that are read at once, and the bytes of their copies beyond which there are fewer.
const EVENTS: usize = 128;
const BYTES: usize = 64 << 10;

/// The events of all streams of a [`Session`](super::Session) in time order. An error does not end
/// the iteration.
///
/// [`Self::read`] lends each event; the iterator clones it, which copies no values.
#[derive(Debug)]
pub struct Records<'t> {
    reader: Reader<'t>,
    /// The events that were read at once.
    collector: Collector<'t>,
    /// Their values.
    batch: Arc<Batch<'t>>,
    /// The next of them, and the first one that is not complete or has a fault before it.
    next: usize,
    due: usize,
    /// The one that was lent last. In a box, as whether there is one would else be in the tag of its
    /// `nanoseconds`, 16 bytes that have just been written as two words.
    lent: Option<Box<Record<'t>>>,
}

impl<'t> Records<'t> {
    pub(super) fn new(reader: Reader<'t>) -> Self {
        let (collector, batch) = Default::default();
        Self { reader, collector, batch, next: 0, due: 0, lent: None }
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
    #[inline]
    pub fn read(&mut self) -> Result<Option<&Record<'t>>, Error> {
        if self.next >= self.due && !self.more()? {
            return Ok(None);
        }
        let Some(event) = self.collector.events.get(self.next) else { return Ok(None) };
        self.next += 1;
        if let Some(record) = &mut self.lent {
            (record.class, record.stream) = (event.class, event.stream);
            (record.cycles, record.nanoseconds) = (event.cycles, event.nanoseconds);
            record.items = event.items.clone();
        } else {
            self.lent = Some(Box::new(event.record(self.batch.clone())));
        }
        Ok(self.lent.as_deref())
    }

    /// Sees to it that the next event is there, if no fault comes before it. `false`: the end of all
    /// streams.
    #[inline(never)]
    fn more(&mut self) -> Result<bool, Error> {
        loop {
            let faults = &mut self.collector.faults;
            let due = faults.front().is_some_and(|fault| fault.before <= self.next);
            if due && let Some(fault) = faults.pop_front() {
                let path = self.reader.stream(fault.stream).map(|(_, path)| path.to_owned());
                let path = path.unwrap_or_default();
                return Err(Error::Packet { path, error: fault.error });
            }
            let complete = self.collector.complete;
            self.due = faults.front().map_or(complete, |fault| fault.before.min(complete));
            if self.next < self.due {
                return Ok(true);
            }
            if !self.refill()? && self.collector.faults.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Reads some events, into the memory of those before if nobody has kept one of them. `false`: the
    /// end of all streams.
    fn refill(&mut self) -> Result<bool, Error> {
        (self.next, self.due, self.lent) = (0, 0, None);
        match Arc::get_mut(&mut self.batch) {
            Some(batch) => std::mem::swap(batch, &mut self.collector.batch),
            None => self.collector.batch.contexts.clone_from(&self.batch.contexts),
        }
        self.collector.clear();
        let read = self.reader.read(EVENTS, &mut self.collector);
        match Arc::get_mut(&mut self.batch) {
            Some(batch) => std::mem::swap(batch, &mut self.collector.batch),
            None => self.batch = Arc::new(std::mem::take(&mut self.collector.batch)),
        }
        read
    }
}

impl<'t> Iterator for Records<'t> {
    type Item = Result<Record<'t>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.due {
            match self.more() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let event = self.collector.events.get(self.next)?;
        self.next += 1;
        Some(Ok(event.record(self.batch.clone())))
    }
}

/// Collects the values of some events.
#[derive(Debug, Default)]
struct Collector<'t> {
    /// Of the events that are being read. A packet context changes before the first one only.
    batch: Batch<'t>,
    /// The events; at most the last one has no end.
    events: Vec<Collected<'t>>,
    /// Those that have.
    complete: usize,
    faults: VecDeque<Fault>,
}

/// An event whose values are in a [`Batch`].
#[derive(Debug)]
struct Collected<'t> {
    class: &'t EventPlan,
    stream: usize,
    cycles: u64,
    nanoseconds: Option<i128>,
    /// Its items.
    items: Range<usize>,
}

impl<'t> Collected<'t> {
    /// The record, made from here and not from a copy: what has just been written in words and is read
    /// in pairs of them must wait.
    #[inline]
    fn record(&self, batch: Arc<Batch<'t>>) -> Record<'t> {
        let Self { class, stream, cycles, nanoseconds, ref items } = *self;
        Record { class, stream, cycles, nanoseconds, batch, items: items.clone() }
    }
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
    fn clear(&mut self) {
        self.batch.values.clear();
        self.events.clear();
        self.complete = 0;
    }
}

impl<'t, 'a> MergeVisitor<'t, 'a> for Collector<'t> {
    fn packet(&mut self, stream: usize, packet: &Packet<'t, 'a>, _: Discarded) {
        let (class, mut values) = (packet.stream(), Flat::default());
        values.begin(class.context_nodes());
        if let Err(error) = packet.visit_context(&mut values) {
            self.fault(stream, &error);
            values = Flat::default();
        }
        let (nodes, scopes) = (class.context_nodes(), class.context_scopes());
        let contexts = &mut self.batch.contexts;
        if contexts.len() <= stream {
            contexts.resize_with(stream + 1, Arc::default);
        }
        if let Some(slot) = contexts.get_mut(stream) {
            *slot = Arc::new(Context { nodes, scopes, values });
        }
    }

    fn fault(&mut self, stream: usize, error: &PacketError) {
        self.events.truncate(self.complete);
        self.batch.values.drop_incomplete();
        self.faults.push_back(Fault { before: self.complete, stream, error: error.clone() });
    }

    #[inline]
    fn event(&mut self, stream: usize, event: &Event<'t>, nanoseconds: Option<i128>) {
        let (class, cycles) = (event.class, event.cycles);
        let start = self.batch.values.begin(class.nodes());
        self.events.push(Collected { class, stream, cycles, nanoseconds, items: start..start });
    }

    #[inline]
    fn done(&mut self, _: usize) {
        let end = self.batch.values.end();
        if let Some(event) = self.events.get_mut(self.complete) {
            event.items.end = end;
            self.complete += 1;
        }
    }

    #[inline]
    fn more(&mut self) -> bool {
        self.batch.values.size() < BYTES
    }
}

impl<'a> Visitor<'a> for Collector<'_> {
    #[inline]
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.batch.values.unsigned(node, value);
    }

    #[inline]
    fn signed(&mut self, node: NodeId, value: i64) {
        self.batch.values.signed(node, value);
    }

    #[inline]
    fn float(&mut self, node: NodeId, value: f64) {
        self.batch.values.float(node, value);
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        self.batch.values.string(node, value);
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.batch.values.blob(node, value);
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.batch.values.packed(node, items);
    }

    #[inline]
    fn open(&mut self, node: NodeId, count: u64) {
        self.batch.values.open(node, count);
    }

    #[inline]
    fn close(&mut self, node: NodeId) {
        self.batch.values.close(node);
    }
}
