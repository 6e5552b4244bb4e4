//! Classes as lists of steps: the operations of a class that starts at a byte, flattened.

use std::ops::Range;

use super::choice::Choice;
use super::cursor::align_up;
use super::node::{NodeId, Nodes};
use super::op::{BitField, Class, Op};
use super::step::{self, Step, StepKind};
use crate::ByteOrder;
use crate::limits;
use crate::schema::Encoding;
use crate::visit::{Nobody, Visitor};

/// Operations of the longest class of steps: what [`limits::WORK_FOR_BIT`] allows for the shortest
/// header of a known layout, so that the work of such events needs no account.
const MOST: u64 = limits::WORK_FOR_BIT * 32;

/// Steps of an array of static length that is written out element by element. More would take more
/// memory than the estimate for its fields.
const WRITTEN_OUT: u64 = 32;

/// A class whose places all follow from its start at a byte, from lengths and from selectors.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    list: List,
    loops: Vec<Loop>,
    selections: Vec<Selection>,
    /// Byte order of its bit fields.
    pub(super) order: Option<ByteOrder>,
    /// Bits of the last byte that are after the fields.
    pub(crate) spare: u8,
}

/// Steps one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub(super) all: Vec<Step>,
    /// Those that lead to the end of the fields.
    pub(super) moving: Vec<Step>,
    /// Bytes of the last block, if nothing is after it.
    pub(super) tail: u32,
}

/// An element of an array.
#[derive(Clone, Debug)]
struct Loop {
    /// The least number of its bits.
    least: u64,
    list: List,
}

/// The options of a variant or optional.
#[derive(Clone, Debug)]
struct Selection {
    choice: Choice,
    lists: Vec<List>,
}

impl Steps {
    /// The steps of code. Slots below `own` are for other code, too. `None`: there are too many, or an
    /// operation is no step.
    pub(super) fn of(
        ops: &[Op],
        fixed: &[Step],
        choices: &[Choice],
        nodes: &Nodes,
        own: u32,
    ) -> Option<Self> {
        let mut flat = Flat {
            ops,
            fixed,
            choices,
            nodes,
            constants: Vec::new(),
            order: None,
            work: 0,
            loops: Vec::new(),
            selections: Vec::new(),
        };
        let (mut list, mut open) = (List::default(), 0);
        flat.list(0..ops.len(), &mut open, &mut list.all)?;
        list.tail = u32::try_from(open.div_ceil(8)).ok()?;
        let spare = u8::try_from(open.next_multiple_of(8) - open).ok()?;
        let Flat { order, loops, selections, .. } = flat;
        let mut steps = Self { list, loops, selections, order, spare };
        steps.shorten(own);
        Some(steps)
    }

    /// Number of steps in memory.
    #[cfg(test)]
    fn count(&self) -> usize {
        let options = self.selections.iter().flat_map(|selection| &selection.lists);
        let lists = self.loops.iter().map(|element| &element.list).chain(options);
        lists.chain([&self.list]).map(|list| list.all.len() + list.moving.len()).sum()
    }

    fn lists(&mut self) -> impl Iterator<Item = &mut List> {
        let options = self.selections.iter_mut().flat_map(|selection| &mut selection.lists);
        let elements = self.loops.iter_mut().map(|element| &mut element.list);
        std::iter::once(&mut self.list).chain(elements).chain(options)
    }

    /// Removes what need not be saved and loaded, and finds the moving steps.
    fn shorten(&mut self, own: u32) {
        let mut loaded = Vec::new();
        for list in self.lists() {
            // The length of a field is most often the integer before it, and of no other field.
            let mut saved = None;
            list.all.retain(|step| {
                let before = std::mem::replace(&mut saved, step.slot(StepKind::Save));
                before.is_none() || step.slot(StepKind::Load) != before
            });
            loaded.extend(list.all.iter().filter_map(|step| step.slot(StepKind::Load)));
        }
        for list in self.lists() {
            list.all.retain(|step| {
                step.slot(StepKind::Save).is_none_or(|slot| slot < own || loaded.contains(&slot))
            });
            let after = list.all.iter().skip(1).map(|step| step.kind).chain([StepKind::Load]);
            let moving = list.all.iter().zip(after).filter(|(step, after)| {
                step.kind.moves() || *after == StepKind::Save || after.has_length()
            });
            list.moving = moving.map(|(step, _)| *step).collect();
        }
    }

    /// Decodes the fields at the front of `bytes` and returns the bytes after them; `None`: some are
    /// missing.
    #[inline(always)]
    pub(crate) fn read<'a, V: Visitor<'a> + ?Sized>(
        &self,
        bytes: &'a [u8],
        slots: &mut [u64],
        visitor: &mut V,
    ) -> Option<&'a [u8]> {
        step::run::<V, true>(self, &self.list, bytes, slots, visitor)
    }

    /// As [`Self::read`], for nobody.
    #[inline(never)]
    pub(crate) fn skip<'a>(&self, bytes: &'a [u8], slots: &mut [u64]) -> Option<&'a [u8]> {
        step::run::<Nobody, false>(self, &self.list, bytes, slots, &mut Nobody)
    }

    /// Decodes a list within another one.
    #[inline(never)]
    fn inner<'a, V: Visitor<'a> + ?Sized, const ALL: bool>(
        &self,
        list: &List,
        bytes: &'a [u8],
        slots: &mut [u64],
        visitor: &mut V,
    ) -> Option<&'a [u8]> {
        step::run::<V, ALL>(self, list, bytes, slots, visitor)
    }

    /// Decodes an array of `count` elements at the front of `bytes`.
    #[inline(never)]
    pub(super) fn repeat<'a, V: Visitor<'a> + ?Sized, const ALL: bool>(
        &self,
        step: &Step,
        count: u64,
        bytes: &'a [u8],
        slots: &mut [u64],
        visitor: &mut V,
    ) -> Option<&'a [u8]> {
        let element = self.loops.get(step.bytes as usize)?;
        if count.saturating_mul(element.least) > (bytes.len() as u64).saturating_mul(8) {
            return None;
        }
        visitor.open(step.node, count);
        let mut rest = bytes;
        for _ in 0..count {
            rest = self.inner::<V, ALL>(&element.list, rest, slots, visitor)?;
        }
        visitor.close(step.node);
        Some(rest)
    }

    /// Decodes the option for a selector at the front of `bytes`.
    #[inline(never)]
    pub(super) fn select<'a, V: Visitor<'a> + ?Sized, const ALL: bool>(
        &self,
        step: &Step,
        selector: u64,
        bytes: &'a [u8],
        slots: &mut [u64],
        visitor: &mut V,
    ) -> Option<&'a [u8]> {
        let Selection { choice, lists } = self.selections.get(step.bytes as usize)?;
        let mut rest = bytes;
        match choice.option(selector) {
            Some(option) => {
                visitor.open(step.node, if choice.optional { 1 } else { option.into() });
                let list = lists.get(option as usize)?;
                rest = step::run::<V, ALL>(self, list, rest, slots, visitor)?;
            }
            None if choice.optional => visitor.open(step.node, 0),
            None => return None,
        }
        visitor.close(step.node);
        Some(rest)
    }
}

/// Flattens operations.
struct Flat<'c> {
    ops: &'c [Op],
    fixed: &'c [Step],
    choices: &'c [Choice],
    nodes: &'c Nodes,
    /// Slots with a constant.
    constants: Vec<(u32, u64)>,
    /// Byte order of all bit fields: if there were two, a place would be wrong for one of them.
    order: Option<ByteOrder>,
    /// Operations so far.
    work: u64,
    loops: Vec<Loop>,
    selections: Vec<Selection>,
}

impl Flat<'_> {
    /// Appends the steps of operations. `open`: bits from the last place that depends on values, which
    /// is a byte, to the first operation; then to the end of the last one.
    fn list(&mut self, range: Range<usize>, open: &mut u64, steps: &mut Vec<Step>) -> Option<()> {
        // The first bit of the block.
        let (mut at, mut block) = (range.start, 0);
        while at < range.end {
            let op = *self.ops.get(at)?;
            at += 1;
            self.work += 1;
            if self.work > MOST {
                return None;
            }
            match op {
                Op::Block { align, count, bits, first } if align <= 3 => {
                    block = align_up(*open, align);
                    *open = block + u64::from(bits);
                    self.fields(first, count, block, steps)?;
                }
                Op::More { count, first } => self.fields(first, count, block, steps)?,
                Op::Bits { form, at, node } => {
                    steps.push(self.bits(form, block + u64::from(at), node)?);
                }
                Op::Align { align } if align <= 3 => *open = align_up(*open, align),
                Op::Open { node, count } => {
                    steps.push(Step { node, ..Step::plain(StepKind::Open, 0, count) });
                }
                Op::Close { node } => {
                    steps.push(Step { node, ..Step::plain(StepKind::Close, 0, 0) });
                }
                Op::Set { slot, value } => self.constants.push((slot, value)),
                Op::Save { slot } => steps.push(Step::plain(StepKind::Save, 0, slot)),
                Op::Text { encoding: Encoding::Utf8, node } => {
                    let step = Step::plain(StepKind::Text, ended(open)?, 0);
                    steps.push(Step { node, ..step });
                }
                Op::CharsOf { encoding: Encoding::Utf8, slot, node } => {
                    steps.push(self.load(slot)?);
                    let step = Step::plain(StepKind::CharsOf, ended(open)?, 1);
                    steps.push(Step { node, ..step });
                }
                Op::PackedOf { layout, slot, node } => {
                    steps.push(self.load(slot)?);
                    let size = u32::try_from(layout.size()).ok()?;
                    let step = Step::plain(StepKind::PackedOf, ended(open)?, size);
                    steps.push(Step { node, element: layout, ..step });
                }
                Op::Repeat { slot, node, end } => {
                    self.repeat((slot, node), at..end as usize, open, steps)?;
                    at = end as usize;
                }
                Op::Switch { slot, node, choice } => {
                    at = self.select((slot, node, choice), open, steps)?;
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Appends fields of a block that starts at this bit.
    fn fields(&self, first: u32, count: u16, block: u64, steps: &mut Vec<Step>) -> Option<()> {
        let first = first as usize;
        for field in self.fixed.get(first..first + usize::from(count))? {
            if !block.is_multiple_of(8) {
                return None;
            }
            let at = u32::try_from(block / 8).ok()?.checked_add(field.at)?;
            steps.push(Step { at, ..*field });
        }
        Some(())
    }

    fn bits(&mut self, form: BitField, bit: u64, node: NodeId) -> Option<Step> {
        let signed = match form.class {
            Class::Unsigned => false,
            Class::Signed => true,
            Class::Float => return None,
        };
        if form.reversed || *self.order.get_or_insert(form.order) != form.order {
            return None;
        }
        Step::bits(form, signed, bit, node)
    }

    fn constant(&self, slot: u32) -> Option<u64> {
        self.constants.iter().rev().find(|(known, _)| *known == slot).map(|(_, value)| *value)
    }

    fn load(&self, slot: u32) -> Option<Step> {
        let Some(value) = self.constant(slot) else {
            return Some(Step::plain(StepKind::Load, 0, slot));
        };
        let low = u32::try_from(value & u64::from(u32::MAX)).ok()?;
        Some(Step::plain(StepKind::Set, u32::try_from(value >> 32).ok()?, low))
    }

    /// The steps of operations whose first one is at a place that depends on values.
    fn inner(&mut self, range: Range<usize>) -> Option<List> {
        let (mut list, mut open) = (List::default(), 0);
        self.list(range, &mut open, &mut list.all)?;
        list.tail = ended(&mut open)?;
        Some(list)
    }

    /// About as many steps as the operations have.
    fn size(&self, range: Range<usize>) -> u64 {
        let ops = self.ops.get(range).unwrap_or_default();
        let fields = ops.iter().map(|op| match op {
            Op::Block { count, .. } | Op::More { count, .. } => u64::from(*count),
            _ => 1,
        });
        fields.sum()
    }

    fn repeat(
        &mut self,
        (slot, node): (u32, NodeId),
        body: Range<usize>,
        open: &mut u64,
        steps: &mut Vec<Step>,
    ) -> Option<()> {
        let size = self.size(body.clone()).max(1);
        if let Some(count) = self.constant(slot)
            && count.saturating_mul(size) <= WRITTEN_OUT
        {
            let members = u32::try_from(count).ok()?;
            steps.push(Step { node, ..Step::plain(StepKind::Open, 0, members) });
            for _ in 0..count {
                self.list(body.clone(), open, steps)?;
            }
            steps.push(Step { node, ..Step::plain(StepKind::Close, 0, 0) });
            return Some(());
        }
        let before = self.work;
        let list = self.inner(body)?;
        let least = self.nodes.get(node.next())?.least;
        // The bits of each element pay for the work with it.
        if self.work - before > least.saturating_mul(limits::WORK_FOR_BIT) {
            return None;
        }
        steps.push(self.load(slot)?);
        let number = u32::try_from(self.loops.len()).ok()?;
        self.loops.push(Loop { least, list });
        steps.push(Step { node, ..Step::plain(StepKind::Repeat, ended(open)?, number) });
        Some(())
    }

    /// Returns the operation after the options.
    fn select(
        &mut self,
        (slot, node, choice): (u32, NodeId, u32),
        open: &mut u64,
        steps: &mut Vec<Step>,
    ) -> Option<usize> {
        let choices = self.choices;
        let choice = choices.get(choice as usize)?;
        let lists =
            choice.options.iter().map(|range| self.inner(range.clone())).collect::<Option<_>>()?;
        steps.push(self.load(slot)?);
        let number = u32::try_from(self.selections.len()).ok()?;
        self.selections.push(Selection { choice: choice.clone(), lists });
        steps.push(Step { node, ..Step::plain(StepKind::Select, ended(open)?, number) });
        Some(choice.after)
    }
}

/// Bytes of the block that ends. `None`: it does not end at a byte.
fn ended(open: &mut u64) -> Option<u32> {
    let bits = std::mem::take(open);
    if bits.is_multiple_of(8) { u32::try_from(bits / 8).ok() } else { None }
}

#[cfg(test)]
#[path = "class_tests.rs"]
mod tests;
