//! Packs the events of a packet into records while they are decoded: no tree, no list of values in
//! between.

use super::super::metrics::{P_FIELDS, RECORD};
use super::class::{Choice, Class, Names, Origin, Place};
use super::text::{Integer, Nested, bytes_text, numbers_text};
use super::timestamps::Ticks;
use crate::ctf::schema::Encoding;
use crate::ctf::{Event, EventVisitor, Node, NodeId, Packed, Visitor, decode_string};
use crate::events::{Batch, TextWriter};
use crate::model::{ParamId, Pmid, ValueType};
use crate::sources::OwnSink;

/// Bytes of records that are packed before they go to the stream.
const BATCH: usize = 64 << 10;

/// What a session keeps for it from packet to packet.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) batch: Batch,
    pub(crate) nested: Nested,
    others: String,
}

/// The packet that is being decoded.
pub(crate) struct Recorder<'r> {
    pub(crate) session: &'r str,
    pub(crate) choice: &'r Choice,
    pub(crate) sink: &'r mut dyn OwnSink,
    pub(crate) names: &'r mut Names,
    /// Classes of the stream's class, by their index there.
    pub(crate) classes: &'r mut Vec<Option<Box<Class>>>,
    pub(crate) scratch: &'r mut Scratch,
    pub(crate) origin: Origin<'r>,
    pub(crate) common: [Option<(Pmid, ValueType)>; 3],
    pub(crate) ticks: Ticks<'r>,
    /// Class of the event, and the bit where it begins.
    pub(crate) at: usize,
    /// Taken from `classes` while its events come: every field looks into it.
    pub(crate) class: Option<Box<Class>>,
    pub(crate) bit: u64,
    pub(crate) events: u64,
    /// The event has a record that is not complete.
    pub(crate) open: bool,
}

/// The place of a node of the event's class.
macro_rules! place {
    ($self:ident, $node:ident) => {{
        let place = $self.class.as_ref().and_then(|class| class.places.get($node.index()));
        let Some(place) = place else { return };
        place
    }};
}

impl Recorder<'_> {
    /// The packet ends at this bit: what is left is accounted for and told.
    pub(crate) fn finish(&mut self, bit: u64) {
        if self.events > 0 {
            self.account(bit);
        }
        self.put_back();
        self.classes.iter_mut().flatten().for_each(|class| class.tell(self.sink));
        self.sink.append(RECORD, &mut self.scratch.batch);
    }

    /// The packet cannot be read any further: an event of which only a part was told is none.
    pub(crate) fn fault(&mut self) {
        if std::mem::take(&mut self.open) {
            self.scratch.batch.discard_record();
            self.scratch.nested.clear();
            self.scratch.others.clear();
            self.events = self.events.saturating_sub(1);
            if let Some(class) = &mut self.class {
                class.count = class.count.saturating_sub(1);
            }
        }
    }

    /// Bytes of the event before the one that begins at this bit.
    #[inline]
    fn account(&mut self, bit: u64) {
        if let Some(class) = &mut self.class {
            class.bits += bit.saturating_sub(self.bit);
        }
    }

    fn put_back(&mut self) {
        if let Some(place) = self.classes.get_mut(self.at).filter(|_| self.class.is_some()) {
            *place = self.class.take();
        }
    }

    /// Takes the class of an event that is not of the class of the one before.
    fn take(&mut self, event: &Event<'_>) {
        self.put_back();
        self.at = event.class.index;
        self.class = self.classes.get_mut(self.at).and_then(Option::take);
        if self.class.is_none() {
            self.define(event);
        }
    }

    #[cold]
    fn define(&mut self, event: &Event<'_>) {
        let class = self.names.class(event.class, self.session, self.choice, self.sink);
        let at = event.class.index;
        // An index is below the number of classes in the metadata, which is limited.
        if self.classes.len() <= at {
            self.classes.resize_with(at + 1, || None);
        }
        self.class = Some(Box::new(class));
    }

    /// Writes a field that has no parameter to the text of the others.
    #[cold]
    fn other(
        &mut self,
        node: NodeId,
        write: impl FnOnce(&mut Nested, &[Node], &mut TextWriter<'_>),
    ) {
        let Some(class) = &self.class else { return };
        let Scratch { batch, nested, .. } = &mut *self.scratch;
        nested.clear();
        batch.begin_text();
        write(nested, &class.nodes, &mut batch.text_writer());
        self.end_other(node);
    }

    /// Appends `name=value` to the text of the other fields; the value is what has just been
    /// written.
    #[cold]
    fn end_other(&mut self, node: NodeId) {
        let Some(class) = &self.class else { return };
        let Scratch { batch, others, nested } = &mut *self.scratch;
        if !others.is_empty() {
            others.push(' ');
        }
        if let Some(node) = class.nodes.get(node.index()) {
            others.push_str(&node.name);
            others.push('=');
        }
        others.push_str(&batch.text_writer().text());
        batch.discard_text();
        if nested.cut {
            batch.count_truncated();
        }
    }

    /// Writes to the text of what is open around the value.
    #[inline(never)]
    fn inner(&mut self, write: impl FnOnce(&mut Nested, &[Node], &mut TextWriter<'_>)) {
        let Some(class) = &self.class else { return };
        let Scratch { batch, nested, .. } = &mut *self.scratch;
        if nested.depth > 0 {
            write(nested, &class.nodes, &mut batch.text_writer());
        }
    }

    /// What is not rare here is written where the decoder tells it.
    #[inline(always)]
    fn integer(&mut self, node: NodeId, value: Integer) {
        let place = place!(self, node);
        if let Place::Param32(param) = place {
            self.scratch.batch.param32(param, value.bits);
        } else if let Place::Param64(param) = place {
            self.scratch.batch.param64(param, value.bits);
        } else if !matches!(place, Place::Skip) {
            self.rare_integer(node, value);
        }
    }

    #[inline(never)]
    fn rare_integer(&mut self, node: NodeId, value: Integer) {
        match place!(self, node) {
            Place::Labelled(labelled) => {
                let batch = &mut self.scratch.batch;
                batch.number_param(&labelled.number, value.bits);
                if let (Some(pmid), Some(label)) =
                    (labelled.label, labelled.labels.shown(value.wide()))
                {
                    batch.text(pmid, label);
                }
            }
            Place::Inner => {
                self.inner(|nested, nodes, out| nested.integer(nodes, node, value, out))
            }
            Place::Other => {
                self.other(node, |nested, nodes, out| nested.integer(nodes, node, value, out))
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn rare_float(&mut self, node: NodeId, value: f64) {
        match place!(self, node) {
            Place::Inner => self.inner(|nested, nodes, out| nested.float(nodes, node, value, out)),
            Place::Other => {
                self.other(node, |nested, nodes, out| nested.float(nodes, node, value, out))
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn rare_text(&mut self, node: NodeId, value: &[u8]) {
        match place!(self, node) {
            Place::Text(pmid, encoding) => {
                self.scratch.batch.text(*pmid, &decode_string(value, *encoding))
            }
            Place::Inner => self.inner(|nested, nodes, out| nested.string(nodes, node, value, out)),
            Place::Other => {
                self.other(node, |nested, nodes, out| nested.string(nodes, node, value, out))
            }
            _ => {}
        }
    }

    /// Begins a text of its own, or goes into the one that is open.
    #[inline(never)]
    fn compound(
        &mut self,
        node: NodeId,
        write: impl FnOnce(&mut Nested, &[Node], &mut TextWriter<'_>),
    ) {
        let Some(class) = &self.class else { return };
        let Scratch { batch, nested, .. } = &mut *self.scratch;
        if nested.depth == 0 {
            nested.clear();
            batch.begin_text();
        }
        write(nested, &class.nodes, &mut batch.text_writer());
        if nested.depth == 0 {
            self.end_compound(node);
        }
    }

    /// The text of a node directly below a scope is complete.
    fn end_compound(&mut self, node: NodeId) {
        let pmid = match place!(self, node) {
            Place::Compound(pmid) | Place::Bytes(pmid) => *pmid,
            Place::Numbers(numbers) => numbers.pmid,
            Place::Other => return self.end_other(node),
            _ => return self.scratch.batch.discard_text(),
        };
        self.end_text(pmid, self.scratch.nested.cut);
    }

    /// The text of a parameter is complete, or was cut.
    #[inline]
    fn end_text(&mut self, pmid: Pmid, cut: bool) {
        let batch = &mut self.scratch.batch;
        batch.end_text(pmid);
        if cut {
            batch.count_truncated();
        }
    }
}

impl<'t> EventVisitor<'t, '_> for Recorder<'_> {
    #[inline]
    fn event(&mut self, event: &Event<'t>) -> bool {
        if self.events > 0 {
            self.account(event.bit);
        }
        self.bit = event.bit;
        self.events += 1;
        if self.class.is_none() || self.at != event.class.index {
            self.take(event);
        }
        let Some(class) = &mut self.class else { return false };
        class.count += 1;
        if !class.recorded {
            return false;
        }
        self.open = true;
        class.begin(
            self.ticks.stamp(event.cycles),
            &self.origin,
            &self.common,
            &mut self.scratch.batch,
        );
        true
    }

    #[inline]
    fn done(&mut self) {
        self.open = false;
        if !self.scratch.others.is_empty() {
            if let Some((pmid, _)) = self.sink.param(ParamId::Item(P_FIELDS)) {
                self.scratch.batch.text(pmid, &self.scratch.others);
            }
            self.scratch.others.clear();
        }
        if self.scratch.batch.size() > BATCH {
            self.sink.append(RECORD, &mut self.scratch.batch);
        }
    }
}

impl<'a> Visitor<'a> for Recorder<'_> {
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
        match place!(self, node) {
            Place::Param64(param) => self.scratch.batch.param64(param, value.to_bits()),
            Place::Skip => {}
            _ => self.rare_float(node, value),
        }
    }

    #[inline]
    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        let place = place!(self, node);
        if let Place::Text(pmid, Encoding::Utf8) = place
            && self.scratch.batch.utf8(*pmid, value)
        {
            return;
        }
        self.rare_text(node, value);
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        match place!(self, node) {
            Place::Inner => self.inner(|nested, nodes, out| nested.blob(nodes, node, value, out)),
            Place::Compound(_) | Place::Other => {
                self.compound(node, |nested, nodes, out| nested.blob(nodes, node, value, out))
            }
            _ => {}
        }
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        match place!(self, node) {
            Place::Numbers(numbers) => {
                let (pmid, limit, batch) =
                    (numbers.pmid, self.scratch.nested.limit, &mut self.scratch.batch);
                batch.begin_text();
                let cut = numbers_text(&items, numbers.form, limit, &mut batch.text_writer());
                self.end_text(pmid, cut);
            }
            Place::Bytes(pmid) => {
                let (pmid, limit, batch) =
                    (*pmid, self.scratch.nested.limit, &mut self.scratch.batch);
                batch.begin_text();
                let cut = bytes_text(items.bytes(), limit, &mut batch.text_writer());
                self.end_text(pmid, cut);
            }
            Place::Inner => {
                self.inner(|nested, nodes, out| nested.packed(nodes, node, &items, out))
            }
            Place::Compound(_) | Place::Other => {
                self.compound(node, |nested, nodes, out| nested.packed(nodes, node, &items, out));
            }
            _ => {}
        }
    }

    fn open(&mut self, node: NodeId, _: u64) {
        match place!(self, node) {
            Place::Inner => self.inner(|nested, nodes, out| nested.open(nodes, node, out)),
            Place::Numbers(_) | Place::Bytes(_) | Place::Compound(_) | Place::Other => {
                self.compound(node, |nested, nodes, out| nested.open(nodes, node, out));
            }
            _ => {}
        }
    }

    fn close(&mut self, node: NodeId) {
        self.inner(|nested, nodes, out| nested.close(nodes, node, out));
        if self.scratch.nested.depth == 0 {
            self.end_compound(node);
        }
    }
}
