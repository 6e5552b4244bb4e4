//! Packs events into records while the decoder visits their fields, without an intermediate tree
//! or list of values.

use super::class::{CommonParams, Destination, EventClass, PacketOrigin};
use super::text::{Integer, TextBuilder, bytes_text, numbers_text};
use crate::ctf::schema::{ClockClass, Encoding};
use crate::ctf::{Node, NodeId, Packed, Visitor, decode_string};
use crate::events::{Batch, TextWriter};
use crate::model::{Pmid, Stamp};

/// Buffers that a session reuses from packet to packet.
#[derive(Debug, Default)]
pub(crate) struct RecordBuffers {
    pub(crate) batch: Batch,
    pub(crate) text: TextBuilder,
    others: String,
}

/// Packs the events of one packet. Visits their fields.
pub(crate) struct Packer<'r> {
    pub(crate) buffers: &'r mut RecordBuffers,
    pub(crate) origin: PacketOrigin<'r>,
    pub(crate) common: CommonParams,
    pub(crate) timestamps: Timestamps<'r>,
    /// Event record classes of the data stream class, by index.
    pub(crate) classes: &'r mut Vec<Option<Box<EventClass>>>,
    /// Index of the current class.
    pub(crate) at: usize,
    /// The current class, taken out of `classes`: every field reads it.
    pub(crate) class: Option<Box<EventClass>>,
}

/// The destination of a node of the current class; returns if there is none.
macro_rules! destination {
    ($self:ident, $node:ident) => {{
        let destination =
            $self.class.as_ref().and_then(|class| class.destinations.get($node.index()));
        let Some(destination) = destination else { return };
        destination
    }};
}

impl Packer<'_> {
    /// Makes a class the current one; without a class, `define` has to make it.
    pub(crate) fn take(&mut self, index: usize, define: impl FnOnce() -> Option<EventClass>) {
        self.put_back();
        self.at = index;
        self.class = self.classes.get_mut(index).and_then(Option::take);
        if self.class.is_none() {
            // The metadata's limits bound the number of classes.
            if self.classes.len() <= index {
                self.classes.resize_with(index + 1, || None);
            }
            self.class = define().map(Box::new);
        }
    }

    /// Puts the current class back into the list.
    pub(crate) fn put_back(&mut self) {
        if let Some(destination) = self.classes.get_mut(self.at).filter(|_| self.class.is_some()) {
            *destination = self.class.take();
        }
    }

    /// Begins the record of an event of the current class.
    #[inline]
    pub(crate) fn begin(&mut self, cycles: u64) {
        let Some(class) = &mut self.class else { return };
        let stamp = self.timestamps.stamp(cycles);
        class.begin(stamp, &self.origin, &self.common, &mut self.buffers.batch);
    }

    /// Ends the record.
    #[inline]
    pub(crate) fn end(&mut self) {
        if !self.buffers.others.is_empty() {
            if let Some((pmid, _)) = self.common.fields {
                self.buffers.batch.text(pmid, &self.buffers.others);
            }
            self.buffers.others.clear();
        }
    }

    /// The fields of the event cannot be decoded: drops the incomplete record.
    pub(crate) fn discard(&mut self) {
        self.buffers.batch.discard_record();
        self.buffers.text.clear();
        self.buffers.others.clear();
    }

    /// Writes a field without a parameter into the parameter `fields`.
    #[cold]
    fn other(
        &mut self,
        node: NodeId,
        write: impl FnOnce(&mut TextBuilder, &[Node], &mut TextWriter<'_>),
    ) {
        let Some(class) = &self.class else { return };
        let RecordBuffers { batch, text, .. } = &mut *self.buffers;
        text.clear();
        batch.begin_text();
        write(text, &class.nodes, &mut batch.text_writer());
        self.end_other(node);
    }

    /// Appends `name=value` to the parameter `fields`. The value is the text just written.
    #[cold]
    fn end_other(&mut self, node: NodeId) {
        let Some(class) = &self.class else { return };
        let RecordBuffers { batch, others, text } = &mut *self.buffers;
        if !others.is_empty() {
            others.push(' ');
        }
        let value = batch.text_writer().text().into_owned();
        batch.text_writer().truncate(0);
        let name = class.nodes.get(node.index()).map_or("", |node| &node.name);
        batch.text_writer().pair(|to| to.push(name), |to| to.push(&value));
        others.push_str(&batch.text_writer().text());
        batch.discard_text();
        if text.cut {
            batch.count_truncated();
        }
    }

    /// Writes into the text of the open array or structure.
    #[inline(never)]
    fn inner(&mut self, write: impl FnOnce(&mut TextBuilder, &[Node], &mut TextWriter<'_>)) {
        let Some(class) = &self.class else { return };
        let RecordBuffers { batch, text, .. } = &mut *self.buffers;
        if text.depth > 0 {
            write(text, &class.nodes, &mut batch.text_writer());
        }
    }

    /// The two common destinations are inlined into the decoder's call.
    #[inline(always)]
    pub(crate) fn integer(&mut self, node: NodeId, value: Integer) {
        let destination = destination!(self, node);
        if let Destination::Param32(param) = destination {
            self.buffers.batch.param32(param, value.bits);
        } else if let Destination::Param64(param) = destination {
            self.buffers.batch.param64(param, value.bits);
        } else if !matches!(destination, Destination::Skip) {
            self.rare_integer(node, value);
        }
    }

    #[inline(never)]
    fn rare_integer(&mut self, node: NodeId, value: Integer) {
        match destination!(self, node) {
            Destination::Enumeration(enumeration) => {
                let batch = &mut self.buffers.batch;
                batch.number_param(&enumeration.number, value.bits);
                if let (Some(pmid), Some(label)) =
                    (enumeration.label, enumeration.labels.shown(value.wide()))
                {
                    batch.text(pmid, label);
                }
            }
            Destination::Inner => {
                self.inner(|text, nodes, out| text.integer(nodes, node, value, out))
            }
            Destination::Other => {
                self.other(node, |text, nodes, out| text.integer(nodes, node, value, out))
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn rare_float(&mut self, node: NodeId, value: f64) {
        match destination!(self, node) {
            Destination::Inner => {
                self.inner(|text, nodes, out| text.float(nodes, node, value, out))
            }
            Destination::Other => {
                self.other(node, |text, nodes, out| text.float(nodes, node, value, out))
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn rare_text(&mut self, node: NodeId, value: &[u8]) {
        match destination!(self, node) {
            Destination::Text(pmid, encoding) => {
                self.buffers.batch.text(*pmid, &decode_string(value, *encoding))
            }
            Destination::Inner => {
                self.inner(|text, nodes, out| text.string(nodes, node, value, out))
            }
            Destination::Other => {
                self.other(node, |text, nodes, out| text.string(nodes, node, value, out))
            }
            _ => {}
        }
    }

    /// Begins a text, or continues the open one.
    #[inline(never)]
    fn compound(
        &mut self,
        node: NodeId,
        write: impl FnOnce(&mut TextBuilder, &[Node], &mut TextWriter<'_>),
    ) {
        let Some(class) = &self.class else { return };
        let RecordBuffers { batch, text, .. } = &mut *self.buffers;
        if text.depth == 0 {
            text.clear();
            batch.begin_text();
        }
        write(text, &class.nodes, &mut batch.text_writer());
        if text.depth == 0 {
            self.end_compound(node);
        }
    }

    /// Completes the text of a node directly below a scope.
    fn end_compound(&mut self, node: NodeId) {
        let pmid = match destination!(self, node) {
            Destination::Compound(pmid) | Destination::Bytes(pmid) => *pmid,
            Destination::NumberArray(numbers) => numbers.pmid,
            Destination::Other => return self.end_other(node),
            _ => return self.buffers.batch.discard_text(),
        };
        self.end_text(pmid, self.buffers.text.cut);
    }

    /// Completes the text of a parameter, and counts it as truncated if `cut`.
    #[inline]
    fn end_text(&mut self, pmid: Pmid, cut: bool) {
        let batch = &mut self.buffers.batch;
        batch.end_text(pmid);
        if cut {
            batch.count_truncated();
        }
    }
}

impl<'a> Visitor<'a> for Packer<'_> {
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
        match destination!(self, node) {
            Destination::Param64(param) => self.buffers.batch.param64(param, value.to_bits()),
            Destination::Skip => {}
            _ => self.rare_float(node, value),
        }
    }

    #[inline]
    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        let destination = destination!(self, node);
        if let Destination::Text(pmid, Encoding::Utf8) = destination
            && self.buffers.batch.utf8(*pmid, value)
        {
            return;
        }
        self.rare_text(node, value);
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        match destination!(self, node) {
            Destination::Inner => self.inner(|text, nodes, out| text.blob(nodes, node, value, out)),
            Destination::Compound(_) | Destination::Other => {
                self.compound(node, |text, nodes, out| text.blob(nodes, node, value, out))
            }
            _ => {}
        }
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        match destination!(self, node) {
            Destination::NumberArray(numbers) => {
                let (pmid, limit, batch) =
                    (numbers.pmid, self.buffers.text.limit, &mut self.buffers.batch);
                batch.begin_text();
                let cut = numbers_text(&items, numbers.form, limit, &mut batch.text_writer());
                self.end_text(pmid, cut);
            }
            Destination::Bytes(pmid) => {
                let (pmid, limit, batch) =
                    (*pmid, self.buffers.text.limit, &mut self.buffers.batch);
                batch.begin_text();
                let cut = bytes_text(items.bytes(), limit, &mut batch.text_writer());
                self.end_text(pmid, cut);
            }
            Destination::Inner => {
                self.inner(|text, nodes, out| text.packed(nodes, node, &items, out))
            }
            Destination::Compound(_) | Destination::Other => {
                self.compound(node, |text, nodes, out| text.packed(nodes, node, &items, out));
            }
            _ => {}
        }
    }

    fn open(&mut self, node: NodeId, _: u64) {
        match destination!(self, node) {
            Destination::Inner => self.inner(|text, nodes, out| text.open(nodes, node, out)),
            Destination::NumberArray(_)
            | Destination::Bytes(_)
            | Destination::Compound(_)
            | Destination::Other => {
                self.compound(node, |text, nodes, out| text.open(nodes, node, out));
            }
            _ => {}
        }
    }

    fn close(&mut self, node: NodeId) {
        self.inner(|text, nodes, out| text.close(nodes, node, out));
        if self.buffers.text.depth == 0 {
            self.end_compound(node);
        }
    }
}

/// The visitor that passes all fields to its packer.
macro_rules! pass_fields {
    ($visitor:ident) => {
        impl<'a> Visitor<'a> for $visitor<'_> {
            #[inline(always)]
            fn unsigned(&mut self, node: NodeId, bits: u64) {
                self.packer.unsigned(node, bits);
            }

            #[inline(always)]
            fn signed(&mut self, node: NodeId, value: i64) {
                self.packer.signed(node, value);
            }

            #[inline(always)]
            fn float(&mut self, node: NodeId, value: f64) {
                self.packer.float(node, value);
            }

            #[inline]
            fn string(&mut self, node: NodeId, value: &'a [u8]) {
                self.packer.string(node, value);
            }

            fn blob(&mut self, node: NodeId, value: &'a [u8]) {
                self.packer.blob(node, value);
            }

            fn packed(&mut self, node: NodeId, items: Packed<'a>) {
                self.packer.packed(node, items);
            }

            fn open(&mut self, node: NodeId, count: u64) {
                self.packer.open(node, count);
            }

            fn close(&mut self, node: NodeId) {
                self.packer.close(node);
            }
        }
    };
}
pub(super) use pass_fields;

const SECOND: u64 = 1_000_000_000;

/// Converts cycles of a trace's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timestamps<'c> {
    clock: Option<&'c ClockClass>,
    /// Fast path for clocks of 1 GHz, as LTTng's are: nanoseconds to add to the cycles.
    base: Option<u64>,
}

impl<'c> Timestamps<'c> {
    pub(crate) fn new(clock: Option<&'c ClockClass>) -> Self {
        let base = clock
            .filter(|c| c.frequency == SECOND)
            .and_then(|c| u64::try_from(c.nanoseconds(0)).ok());
        Self { clock, base: base.filter(|base| *base < u64::MAX / 4) }
    }

    #[inline]
    pub(crate) fn stamp(&self, cycles: u64) -> Stamp {
        match self.base.and_then(|base| base.checked_add(cycles)) {
            Some(ns) => Stamp { sec: (ns / SECOND).cast_signed(), nsec: (ns % SECOND) as u32 },
            None => Stamp::from_nanos(
                self.clock.map_or_else(|| cycles.into(), |c| c.nanoseconds(cycles)),
            ),
        }
    }
}
