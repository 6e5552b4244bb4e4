//! Second walk over the field classes: emits operations.

use std::collections::HashMap;
use std::sync::Arc;

use super::choice::{self, Choice};
use super::class::Steps;
use super::node::{Kind, NodeId, Nodes, Target};
use super::op::{BitField, Class, Op};
use super::place::Place;
use super::step::{Step, StepKind};
use crate::ByteOrder;
use crate::error::{DeclarationError, malformed};
use crate::number_layout::NumberLayout;
use crate::schema::{
    Encoding, FieldClass, FieldClassKind, Float, Integer, Length, Role, Scope, Structure, Variant,
};

/// Limit of a block in bits; longer arrays are decoded as if their length was dynamic.
const BLOCK: u64 = 1 << 27;

/// Operations of one or more scopes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(super) ops: Vec<Op>,
    /// Fields of blocks.
    pub(super) fixed: Vec<Step>,
    pub(super) choices: Vec<Choice>,
    /// Number of slots that the code uses.
    pub(crate) slots: u32,
    /// Whether the code updates the clock.
    pub(crate) clocked: bool,
    /// The operations of code whose places follow from its start at a byte, as those of most event
    /// record classes.
    pub(crate) steps: Option<Steps>,
}

/// The position and surroundings of compiled code.
pub(crate) struct Start<'a> {
    /// Alignment of the start, in bits.
    pub(crate) aligned: u64,
    /// Byte order of classes without one.
    pub(crate) order: Option<ByteOrder>,
    /// First slot that the code may use.
    pub(crate) slot: u32,
    /// Slots of its nodes that other code refers to.
    pub(crate) saved: &'a HashMap<NodeId, u32>,
    /// Earlier code whose fields it may refer to.
    pub(crate) outer: &'a [Outer<'a>],
}

/// Code that ran before.
#[derive(Clone, Copy)]
pub(crate) struct Outer<'a> {
    pub(crate) nodes: &'a Nodes,
    /// Slots of the referenced fields.
    pub(crate) saved: &'a HashMap<NodeId, u32>,
}

/// Compiles the scopes from the nodes of the survey.
pub(crate) fn compile(
    nodes: &Nodes,
    scopes: &[(Scope, &Arc<FieldClass>)],
    start: &Start<'_>,
) -> Result<Code, DeclarationError> {
    let mut emit = Emit {
        nodes,
        start,
        saved: start.saved.clone(),
        code: Code { slots: start.slot, ..Code::default() },
        place: Place::multiple(start.aligned),
        pending: 1,
        block: None,
        next: NodeId::default(),
    };
    for target in nodes.targets.values() {
        if let Target::Here(node) = target
            && !emit.saved.contains_key(node)
        {
            let slot = emit.new_slot();
            emit.saved.insert(*node, slot);
        }
    }
    for (_, class) in scopes {
        emit.class(class)?;
    }
    emit.settle();
    let Code { ops, fixed, choices, .. } = &emit.code;
    emit.code.steps = Steps::of(ops, fixed, choices, nodes, start.slot);
    Ok(emit.code)
}

struct Block {
    op: usize,
    /// Bits of the block so far.
    bits: u64,
    /// Whether the block starts at a byte.
    at_byte: bool,
}

struct Emit<'a> {
    nodes: &'a Nodes,
    start: &'a Start<'a>,
    saved: HashMap<NodeId, u32>,
    code: Code,
    place: Place,
    /// Additional alignment of the next field.
    pending: u64,
    block: Option<Block>,
    next: NodeId,
}

fn log2(align: u64) -> u8 {
    u8::try_from(align.trailing_zeros()).unwrap_or_default()
}

fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Emit<'_> {
    fn push(&mut self, op: Op) {
        self.code.ops.push(op);
    }

    fn new_slot(&mut self) -> u32 {
        self.code.slots += 1;
        self.code.slots - 1
    }

    /// Requests an alignment of the next field.
    fn align(&mut self, align: u64) {
        self.pending = self.pending.max(align);
    }

    /// Emits the requested alignment and ends the block.
    fn settle(&mut self) {
        let align = std::mem::replace(&mut self.pending, 1);
        if self.place.padding(align) != Some(0) {
            self.push(Op::Align { align: log2(align) });
        }
        self.place = self.place.aligned(align);
        self.block = None;
    }

    /// Reserves `bits` in a block; returns the first bit relative to the start of the block.
    fn room(&mut self, align: u64, bits: u64) -> u32 {
        let align = align.max(std::mem::replace(&mut self.pending, 1));
        let padding = self.place.padding(align);
        let open = self.block.as_ref().zip(padding).is_some_and(|(block, padding)| {
            let at_byte = self.place.after(padding).at_byte();
            (block.at_byte || !at_byte) && block.bits + padding + bits <= BLOCK
        });
        let padding = if open {
            padding.unwrap_or_default()
        } else {
            self.place = self.place.aligned(align);
            self.block =
                Some(Block { op: self.code.ops.len(), bits: 0, at_byte: self.place.at_byte() });
            let first = index(self.code.fixed.len());
            self.push(Op::Block { align: log2(align), count: 0, bits: 0, first });
            0
        };
        self.place = self.place.after(padding + bits);
        let Some(block) = self.block.as_mut() else { return 0 };
        let at = block.bits + padding;
        block.bits = at + bits;
        if let Some(Op::Block { bits, .. }) = self.code.ops.get_mut(block.op) {
            *bits = u32::try_from(block.bits).unwrap_or(u32::MAX);
        }
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Adds a field at a constant byte offset of the block.
    fn fixed(&mut self, fixed: Step) {
        let first = index(self.code.fixed.len());
        self.code.fixed.push(fixed);
        match self.code.ops.last_mut() {
            Some(Op::Block { count, .. } | Op::More { count, .. }) if *count < u16::MAX => {
                *count += 1
            }
            _ => self.push(Op::More { count: 1, first }),
        }
    }

    /// Whether bit `at` of the block is known to be at a byte boundary.
    fn at_byte(&self, at: u32) -> bool {
        at.is_multiple_of(8) && self.block.as_ref().is_some_and(|block| block.at_byte)
    }

    fn order(&self, told: Option<ByteOrder>) -> Result<ByteOrder, DeclarationError> {
        match told.or(self.start.order) {
            Some(order) => Ok(order),
            None => malformed!("native byte order, but the trace has none"),
        }
    }

    /// The slot with the length or the selector of a node.
    fn slot(&mut self, node: NodeId) -> Result<u32, DeclarationError> {
        let slot = match self.nodes.targets.get(&node) {
            Some(Target::Here(target)) => self.saved.get(target).copied(),
            Some(Target::Outer(layer, target)) => {
                self.start.outer.get(*layer).and_then(|outer| outer.saved.get(target)).copied()
            }
            Some(Target::Constant(value)) => Some(self.constant(*value)),
            None => None,
        };
        slot.map_or_else(|| malformed!("reference that was not resolved"), Ok)
    }

    fn constant(&mut self, value: u64) -> u32 {
        let slot = self.new_slot();
        self.push(Op::Set { slot, value });
        slot
    }

    /// The slot with a length.
    fn length(&mut self, node: NodeId, length: &Length) -> Result<u32, DeclarationError> {
        match length {
            Length::Static(n) => Ok(self.constant(*n)),
            Length::Dynamic(_) => self.slot(node),
        }
    }

    fn class(&mut self, class: &FieldClass) -> Result<(), DeclarationError> {
        let node = self.next;
        self.next = self.next.next();
        match class.kind() {
            FieldClassKind::Integer(i) => self.integer(i, class.align(), node),
            FieldClassKind::Float(f) => self.float(f, node),
            FieldClassKind::NullTerminatedString(encoding) => {
                self.align(8);
                self.settle();
                self.push(Op::Text { encoding: *encoding, node });
                self.place = Place::multiple(8);
                Ok(())
            }
            FieldClassKind::SizedString(length, encoding) => {
                match (small(length, 8), encoding) {
                    (Some(bytes), Encoding::Utf8) => self.bytes(StepKind::String, bytes, node),
                    (Some(bytes), _) => {
                        let at = self.room(8, u64::from(bytes) * 8) / 8;
                        self.push(Op::Chars { encoding: *encoding, at, bytes, node });
                    }
                    (None, _) => {
                        let slot = self.bytes_of(node, length)?;
                        self.push(Op::CharsOf { encoding: *encoding, slot, node });
                    }
                }
                Ok(())
            }
            FieldClassKind::Blob(length, _) => {
                match small(length, 8) {
                    Some(bytes) => self.bytes(StepKind::Blob, bytes, node),
                    None => {
                        let slot = self.bytes_of(node, length)?;
                        self.push(Op::BlobOf { slot, node });
                    }
                }
                Ok(())
            }
            FieldClassKind::Array(length, element, _) => self.array(class, length, element, node),
            FieldClassKind::Structure(s) => self.structure(s, class.align(), node),
            FieldClassKind::Variant(v) => self.variant(v, node),
            FieldClassKind::Optional(_, ranges, inner) => {
                let slot = self.slot(node)?;
                let (signed, nodes, selector) = self.selector(node)?;
                let present = choice::present(nodes, selector, ranges.as_ref())?;
                let choice = Choice::new(signed, &[present])?.optional();
                self.switch(slot, node, choice, std::iter::once(&**inner))
            }
        }
    }

    /// Adds a string or BLOB of a static length at a constant offset.
    fn bytes(&mut self, kind: StepKind, bytes: u32, node: NodeId) {
        let at = self.room(8, u64::from(bytes) * 8) / 8;
        self.fixed(Step { kind, element: NumberLayout::U8, at, bytes, node });
    }

    /// Aligns to a byte for a dynamic length. Returns the slot of the length.
    fn bytes_of(&mut self, node: NodeId, length: &Length) -> Result<u32, DeclarationError> {
        self.align(8);
        self.settle();
        let slot = self.length(node, length)?;
        self.place = Place::multiple(8);
        Ok(slot)
    }

    fn integer(&mut self, i: &Integer, align: u64, node: NodeId) -> Result<(), DeclarationError> {
        let bits = u8::try_from(i.bits).unwrap_or_default();
        if bits == 0 {
            self.align(align);
            self.settle();
            self.push(Op::Leb { signed: i.signed(), node });
            self.place = Place::multiple(8);
        } else {
            let order = self.order(i.order)?;
            let at = self.room(align, i.bits.into());
            let class = if i.signed() { Class::Signed } else { Class::Unsigned };
            let form = BitField { bits, class, order, reversed: i.reversed };
            self.number(NumberLayout::integer(i, order), form, at, node);
        }
        if let Some(slot) = self.saved.get(&node) {
            let slot = *slot;
            self.push(Op::Save { slot });
        }
        if i.roles.has(Role::Clock) && !i.signed() {
            self.code.clocked = true;
            self.push(Op::Clock { bits });
        }
        Ok(())
    }

    fn float(&mut self, f: &Float, node: NodeId) -> Result<(), DeclarationError> {
        let order = self.order(f.order)?;
        let at = self.room(f.align, f.bits.into());
        let bits = u8::try_from(f.bits).unwrap_or_default();
        let form = BitField { bits, class: Class::Float, order, reversed: f.reversed };
        self.number(NumberLayout::float(f, order), form, at, node);
        Ok(())
    }

    fn number(&mut self, load: Option<NumberLayout>, form: BitField, at: u32, node: NodeId) {
        match load {
            Some(load) if self.at_byte(at) => {
                let bytes = index(load.size());
                self.fixed(Step { kind: load.into(), element: load, at: at / 8, bytes, node });
            }
            _ => self.push(Op::Bits { form, at, node }),
        }
    }

    /// The layout of an array's elements if they are packed: numbers without padding that start at
    /// a byte.
    fn packed(
        &self,
        array: &FieldClass,
        element: &FieldClass,
    ) -> Result<Option<NumberLayout>, DeclarationError> {
        let bits = element.least();
        let (load, clocked) = match element.kind() {
            FieldClassKind::Integer(i) => {
                (NumberLayout::integer(i, self.order(i.order)?), i.roles.has(Role::Clock))
            }
            FieldClassKind::Float(f) => (NumberLayout::float(f, self.order(f.order)?), false),
            _ => (None, false),
        };
        let starts_at_byte = self.place.aligned(self.pending.max(array.align())).at_byte();
        Ok(load.filter(|_| !clocked && starts_at_byte && element.align() <= bits))
    }

    fn array(
        &mut self,
        class: &FieldClass,
        length: &Length,
        element: &FieldClass,
        node: NodeId,
    ) -> Result<(), DeclarationError> {
        if let Some(load) = self.packed(class, element)? {
            self.next = self.next.next();
            let bits = element.least();
            if let Some(count) = small(length, bits) {
                let at = self.room(class.align(), u64::from(count) * bits);
                if self.at_byte(at) {
                    let bytes = count * index(load.size());
                    self.fixed(Step {
                        kind: StepKind::Packed,
                        element: load,
                        at: at / 8,
                        bytes,
                        node,
                    });
                    return Ok(());
                }
                return malformed!("array between bytes");
            }
            self.align(class.align());
            self.settle();
            let slot = self.length(node, length)?;
            self.push(Op::PackedOf { layout: load, slot, node });
            self.place = self.place.after_some(bits);
            return Ok(());
        }
        self.align(class.align());
        self.settle();
        let slot = self.length(node, length)?;
        let op = self.code.ops.len();
        self.push(Op::Repeat { slot, node, end: 0 });
        // The offset of an element depends on the elements before it.
        let around =
            Place::multiple(if element.whole_bytes() && self.place.at_byte() { 8 } else { 1 });
        self.place = around;
        self.class(element)?;
        self.settle();
        let after = index(self.code.ops.len());
        if let Some(Op::Repeat { end, .. }) = self.code.ops.get_mut(op) {
            *end = after;
        }
        self.place = around;
        Ok(())
    }

    fn structure(
        &mut self,
        s: &Structure,
        align: u64,
        node: NodeId,
    ) -> Result<(), DeclarationError> {
        let inner = self.nodes.parent(node).is_some();
        if inner {
            self.push(Op::Open { node, count: index(s.members.len()) });
        }
        self.align(align);
        for field in &s.members {
            self.class(&field.class)?;
        }
        if inner {
            self.push(Op::Close { node });
        }
        Ok(())
    }

    /// Whether the selector of a node is signed, and its nodes and id.
    fn selector(&self, node: NodeId) -> Result<(bool, &Nodes, NodeId), DeclarationError> {
        let found = match self.nodes.targets.get(&node) {
            Some(Target::Here(target)) => Some((self.nodes, *target)),
            Some(Target::Outer(layer, target)) => {
                self.start.outer.get(*layer).map(|outer| (outer.nodes, *target))
            }
            _ => None,
        };
        let Some((nodes, target)) = found else {
            return malformed!("selector that was not resolved");
        };
        let signed = nodes.get(target).is_some_and(|n| matches!(n.kind, Kind::Signed(_)));
        Ok((signed, nodes, target))
    }

    fn variant(&mut self, v: &Variant, node: NodeId) -> Result<(), DeclarationError> {
        let slot = self.slot(node)?;
        let (signed, nodes, selector) = self.selector(node)?;
        let mappings = nodes.get(selector).and_then(|n| n.mappings.as_deref());
        let choice = Choice::new(signed, &choice::ranges(v, mappings))?;
        self.switch(slot, node, choice, v.options.iter().map(|f| &*f.class))
    }

    fn switch<'t>(
        &mut self,
        slot: u32,
        node: NodeId,
        choice: Choice,
        options: impl Iterator<Item = &'t FieldClass>,
    ) -> Result<(), DeclarationError> {
        self.settle();
        let number = self.code.choices.len();
        let mut places = if choice.optional { Some(self.place) } else { None };
        self.code.choices.push(choice);
        self.push(Op::Switch { slot, node, choice: index(number) });
        let start = self.place;
        for option in options {
            (self.place, self.block) = (start, None);
            let first = self.code.ops.len();
            self.class(option)?;
            self.settle();
            places = Some(places.map_or(self.place, |p: Place| p.or(self.place)));
            let range = first..self.code.ops.len();
            if let Some(choice) = self.code.choices.get_mut(number) {
                choice.options.push(range);
            }
        }
        let after = self.code.ops.len();
        if let Some(choice) = self.code.choices.get_mut(number) {
            choice.after = after;
        }
        self.place = places.unwrap_or(start);
        self.block = None;
        Ok(())
    }
}

/// A fixed length that fits a block.
fn small(length: &Length, bits: u64) -> Option<u32> {
    match length {
        Length::Static(n) if n.saturating_mul(bits) <= BLOCK / 2 => u32::try_from(*n).ok(),
        _ => None,
    }
}
