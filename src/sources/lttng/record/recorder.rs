//! Makes records of the events of a packet, and counts them; or adds up the sizes of those that are packed when they are
//! read.

use super::super::metrics::RECORD;
use super::class::{Definitions, Destination, RecordFilter, Sizes};
use super::packer::{Packer, pass_fields};
use super::text::{Integer, bytes_size, numbers_size};
use crate::contract::Peer;
use crate::ctf::schema::Encoding;
use crate::ctf::{Event, EventVisitor, NodeId, Packed, Visitor, decode_string};
use crate::events::{Batch, RECORD_MAX};

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

/// The visitor of one packet.
pub(crate) struct Measurer<'r> {
    pub(crate) recorder: Recorder<'r>,
    pub(crate) sums: Sums,
    /// Of the current event's class.
    sizes: Sizes,
    /// Bytes of the current record so far.
    size: usize,
    /// The clock at the current event.
    now: u64,
}

/// Sums of records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) count: u64,
    /// Packed bytes.
    pub(crate) bytes: u64,
    pub(crate) truncated: u64,
    /// The clock at the newest one.
    pub(crate) newest: u64,
    /// A parameter is cut or left out, or its size is not known: all must be packed to know the sums.
    pub(crate) incomplete: bool,
}

impl<'r> Measurer<'r> {
    pub(crate) fn new(recorder: Recorder<'r>) -> Self {
        Self { recorder, sums: Sums::default(), sizes: Sizes::Alike, size: 0, now: 0 }
    }

    /// Adds up the current record.
    #[inline]
    fn add(&mut self) {
        self.sums.count += 1;
        self.sums.bytes += self.size as u64;
        self.sums.newest = self.now;
        if self.size > RECORD_MAX {
            self.give_up();
        }
    }

    /// The size of the current record is not known: records of its class are packed from now on.
    #[cold]
    fn give_up(&mut self) {
        self.sums.incomplete = true;
        if let Some(class) = &mut self.recorder.packer.class {
            class.sizes = Sizes::Unknown;
        }
    }

    fn destination(&self, node: NodeId) -> Option<&Destination> {
        self.recorder.packer.class.as_ref()?.destinations.get(node.index())
    }

    /// Adds a text of so many bytes.
    #[inline]
    fn text(&mut self, len: usize) {
        self.size += Batch::text_size(len);
    }

    /// Numbers without labels are in the least size.
    #[inline(always)]
    fn integer(&mut self, node: NodeId, value: Integer) {
        if self.sizes > Sizes::Texts {
            self.other_integer(node, value);
        }
    }

    #[inline(never)]
    fn other_integer(&mut self, node: NodeId, value: Integer) {
        if self.sizes == Sizes::Unknown {
            return self.recorder.packer.integer(node, value);
        }
        if let Some(Destination::Enumeration(enumeration)) = self.destination(node)
            && enumeration.label.is_some()
            && let Some(label) = enumeration.labels.shown(value.wide())
        {
            let len = label.len();
            self.text(len);
        }
    }
}

impl<'t> EventVisitor<'t, '_> for Measurer<'_> {
    #[inline]
    fn event(&mut self, event: &Event<'t>) -> bool {
        if !self.recorder.count(event) {
            return false;
        }
        self.now = event.cycles;
        let packer = &mut self.recorder.packer;
        let Some(class) = &mut packer.class else { return false };
        self.sizes = class.sizes;
        if class.sizes == Sizes::Unknown {
            packer.begin(event.cycles);
            return true;
        }
        self.size = class.least_size(&packer.origin, &packer.common, &mut packer.buffers.batch);
        class.sizes != Sizes::Alike
    }

    #[inline]
    fn done(&mut self) {
        self.recorder.open = false;
        if self.sizes == Sizes::Unknown {
            self.recorder.packer.end();
            let batch = &mut self.recorder.packer.buffers.batch;
            self.size = batch.size();
            self.sums.truncated += batch.truncated();
            batch.clear();
        }
        self.add();
    }

    #[inline]
    fn skipped(&mut self) {
        if std::mem::take(&mut self.recorder.open) {
            self.add();
        }
    }
}

impl<'a> Visitor<'a> for Measurer<'_> {
    #[inline(always)]
    fn unsigned(&mut self, node: NodeId, bits: u64) {
        self.integer(node, Integer { bits, signed: false });
    }

    #[inline(always)]
    fn signed(&mut self, node: NodeId, value: i64) {
        self.integer(node, Integer { bits: value.cast_unsigned(), signed: true });
    }

    #[inline(always)]
    fn float(&mut self, node: NodeId, value: f64) {
        if self.sizes == Sizes::Unknown {
            self.recorder.packer.float(node, value);
        }
    }

    #[inline]
    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        if self.sizes == Sizes::Unknown {
            return self.recorder.packer.string(node, value);
        }
        if let Some(Destination::Text(_, encoding)) = self.destination(node) {
            self.text(text_len(value, *encoding));
        }
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        if self.sizes == Sizes::Unknown {
            self.recorder.packer.blob(node, value);
        }
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        if self.sizes == Sizes::Unknown {
            return self.recorder.packer.packed(node, items);
        }
        let limit = self.recorder.packer.buffers.text.limit;
        let len = match self.destination(node) {
            Some(Destination::NumberArray(array)) => numbers_size(&items, array.form, limit),
            Some(Destination::Bytes(_)) => bytes_size(items.bytes(), limit),
            _ => return,
        };
        match len {
            Some(len) => self.text(len),
            None => self.give_up(),
        }
    }

    fn open(&mut self, node: NodeId, count: u64) {
        if self.sizes == Sizes::Unknown {
            return self.recorder.packer.open(node, count);
        }
        if let Some(Destination::NumberArray(_) | Destination::Bytes(_)) = self.destination(node) {
            // Its elements are not whole bytes.
            self.give_up();
        }
    }

    fn close(&mut self, node: NodeId) {
        if self.sizes == Sizes::Unknown {
            self.recorder.packer.close(node);
        }
    }
}

/// Bytes of a string of a packet as a text.
#[inline]
fn text_len(value: &[u8], encoding: Encoding) -> usize {
    if encoding == Encoding::Utf8 && value.is_ascii() {
        value.len()
    } else {
        decode_string(value, encoding).len()
    }
}
