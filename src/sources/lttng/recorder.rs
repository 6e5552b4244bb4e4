//! Packs the events of a packet into records while they are decoded: no tree, no list of values in between.

use super::super::OwnSink;
use super::class::{Choice, Class, Names, Origin, Place};
use super::metrics::{P_FIELDS, RECORD};
use super::nested::Nested;
use crate::ctf::schema::{Clock, Encoding};
use crate::ctf::{Event, Events, NodeId, Packed, Visitor, decode_text};
use crate::events::Batch;
use crate::model::{ParamId, Pmid, Stamp, ValueType};

/// Bytes of records that are packed before they go to the stream.
const BATCH: usize = 128 << 10;
const SECOND: u64 = 1_000_000_000;

/// What a session keeps for it from packet to packet.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) batch: Batch,
    nested: Nested,
    others: String,
}

/// The packet that is being decoded.
pub(super) struct Recorder<'r> {
    pub(super) session: &'r str,
    pub(super) choice: &'r Choice,
    pub(super) sink: &'r mut dyn OwnSink,
    pub(super) names: &'r mut Names,
    /// Classes of the stream's class, by their index there.
    pub(super) classes: &'r mut Vec<Option<Box<Class>>>,
    pub(super) scratch: &'r mut Scratch,
    pub(super) origin: Origin<'r>,
    pub(super) common: [Option<(Pmid, ValueType)>; 3],
    pub(super) ticks: Ticks<'r>,
    /// Class of the event, and the bit where it begins.
    pub(super) at: usize,
    /// Taken from `classes` while its events come: every field looks into it.
    pub(super) class: Option<Box<Class>>,
    pub(super) bit: u64,
    pub(super) events: u64,
    /// The event has a record that is not complete.
    pub(super) open: bool,
}

/// From cycles to time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks<'c> {
    clock: Option<&'c Clock>,
    /// Of clocks of one nanosecond, which all of lttng are: what to add.
    base: Option<u64>,
}

impl<'c> Ticks<'c> {
    pub(super) fn new(clock: Option<&'c Clock>) -> Self {
        let base = clock.filter(|c| c.frequency == SECOND).and_then(|c| u64::try_from(c.nanoseconds(0)).ok());
        Self { clock, base: base.filter(|base| *base < u64::MAX / 4) }
    }

    #[inline]
    pub(super) fn stamp(&self, cycles: u64) -> Stamp {
        match self.base.and_then(|base| base.checked_add(cycles)) {
            Some(ns) => Stamp { sec: (ns / SECOND).cast_signed(), nsec: (ns % SECOND) as u32 },
            None => Stamp::from_nanos(self.clock.map_or_else(|| cycles.into(), |c| c.nanoseconds(cycles))),
        }
    }
}

impl Recorder<'_> {
    /// The packet ends at this bit: what is left is accounted for and told.
    pub(super) fn finish(&mut self, bit: u64) {
        if self.events > 0 {
            self.account(bit);
        }
        self.put_back();
        self.classes.iter_mut().flatten().for_each(|class| class.tell(self.sink));
        self.sink.append(RECORD, &mut self.scratch.batch);
    }

    /// The packet cannot be read any further: an event of which only a part was told is none.
    pub(super) fn fault(&mut self) {
        if std::mem::take(&mut self.open) {
            self.scratch.batch.undo();
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

    #[cold]
    fn other(&mut self, node: NodeId, write: impl FnOnce(&mut Nested, &Class)) {
        let Some(class) = &self.class else { return };
        let Scratch { nested, others, .. } = &mut *self.scratch;
        nested.clear();
        write(nested, class);
        push_other(class, node, &nested.text, others);
    }
}

/// Appends `name=value` to the text of the other fields.
fn push_other(class: &Class, node: NodeId, value: &str, others: &mut String) {
    if !others.is_empty() {
        others.push(' ');
    }
    if let Some(node) = usize::try_from(node).ok().and_then(|n| class.nodes.get(n)) {
        others.push_str(&node.name);
        others.push('=');
    }
    others.push_str(value);
}

impl<'t> Events<'t, '_> for Recorder<'_> {
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
        class.begin(self.ticks.stamp(event.cycles), &self.origin, &self.common, &mut self.scratch.batch);
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

/// The place of a node, with its class.
macro_rules! place {
    ($self:ident, $node:ident) => {{
        let Some(class) = &$self.class else { return };
        (class, usize::try_from($node).ok().and_then(|n| class.places.get(n)))
    }};
}

impl<'a> Visitor<'a> for Recorder<'_> {
    #[inline]
    fn unsigned(&mut self, node: NodeId, value: u64) {
        let (class, place) = place!(self, node);
        let Scratch { batch, nested, .. } = &mut *self.scratch;
        match place {
            _ if nested.depth > 0 => nested.integer(&class.nodes, node, value.into()),
            Some(Place::Number(pmid, ty)) => batch.number(*pmid, *ty, value),
            Some(Place::Labelled(pmid, ty, label, labels)) => {
                batch.number(*pmid, *ty, value);
                if let (Some(pmid), Some(label)) = (label, labels.first(value.into())) {
                    batch.text(*pmid, label);
                }
            }
            Some(Place::Other) => self.other(node, |nested, class| nested.integer(&class.nodes, node, value.into())),
            _ => {}
        }
    }

    #[inline]
    fn signed(&mut self, node: NodeId, value: i64) {
        let (class, place) = place!(self, node);
        let Scratch { batch, nested, .. } = &mut *self.scratch;
        match place {
            _ if nested.depth > 0 => nested.integer(&class.nodes, node, value.into()),
            Some(Place::Number(pmid, ty)) => batch.number(*pmid, *ty, value.cast_unsigned()),
            Some(Place::Labelled(pmid, ty, label, labels)) => {
                batch.number(*pmid, *ty, value.cast_unsigned());
                if let (Some(pmid), Some(label)) = (label, labels.first(value.into())) {
                    batch.text(*pmid, label);
                }
            }
            Some(Place::Other) => self.other(node, |nested, class| nested.integer(&class.nodes, node, value.into())),
            _ => {}
        }
    }

    #[inline]
    fn float(&mut self, node: NodeId, value: f64) {
        let (class, place) = place!(self, node);
        let Scratch { batch, nested, .. } = &mut *self.scratch;
        match place {
            _ if nested.depth > 0 => nested.float(&class.nodes, node, value),
            Some(Place::Number(pmid, ty)) => batch.number(*pmid, *ty, value.to_bits()),
            Some(Place::Other) => self.other(node, |nested, class| nested.float(&class.nodes, node, value)),
            _ => {}
        }
    }

    #[inline]
    fn text(&mut self, node: NodeId, value: &'a [u8]) {
        let (class, place) = place!(self, node);
        let Scratch { batch, nested, .. } = &mut *self.scratch;
        match place {
            _ if nested.depth > 0 => nested.string(&class.nodes, node, value),
            Some(Place::Text(pmid, encoding)) => match std::str::from_utf8(value) {
                Ok(text) if *encoding == Encoding::Utf8 => batch.text(*pmid, text),
                _ => batch.text(*pmid, &decode_text(value, *encoding)),
            },
            Some(Place::Other) => self.other(node, |nested, class| nested.string(&class.nodes, node, value)),
            _ => {}
        }
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        let (class, place) = place!(self, node);
        let Scratch { batch, nested, .. } = &mut *self.scratch;
        match place {
            _ if nested.depth > 0 => nested.blob(&class.nodes, node, value),
            Some(Place::Compound(pmid)) => {
                nested.clear();
                nested.blob(&class.nodes, node, value);
                batch.text(*pmid, &nested.text);
            }
            Some(Place::Other) => self.other(node, |nested, class| nested.blob(&class.nodes, node, value)),
            _ => {}
        }
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.open(node, items.len() as u64);
        let Some(class) = &self.class else { return };
        if self.scratch.nested.depth > 0 {
            self.scratch.nested.items(&class.nodes, node + 1, &items);
        }
        self.close(node);
    }

    fn open(&mut self, node: NodeId, _: u64) {
        let (class, place) = place!(self, node);
        let nested = &mut self.scratch.nested;
        match place {
            _ if nested.depth > 0 => nested.open(&class.nodes, node),
            Some(Place::Compound(_) | Place::Other) => {
                nested.clear();
                nested.open(&class.nodes, node);
            }
            _ => {}
        }
    }

    fn close(&mut self, node: NodeId) {
        let (class, place) = place!(self, node);
        let Scratch { batch, nested, others } = &mut *self.scratch;
        if nested.depth == 0 {
            return;
        }
        nested.close(&class.nodes, node);
        match place {
            Some(Place::Compound(pmid)) if nested.depth == 0 => batch.text(*pmid, &nested.text),
            Some(Place::Other) if nested.depth == 0 => push_other(class, node, &nested.text, others),
            _ => {}
        }
    }
}
