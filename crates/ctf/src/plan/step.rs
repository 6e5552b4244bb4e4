//! Fields at constant offsets of a block: most fields of most events. Event record classes whose
//! fields all start at bytes are a list of steps as a whole.

use std::mem::take;

use super::node::NodeId;
use super::op::Op;
use crate::limits;
use crate::number_layout::{NumberLayout, number_layouts};
use crate::schema::Encoding;
use crate::string;
use crate::visit::{Nobody, Packed, Visitor};

/// Operations of the longest class of steps: what [`limits::WORK_FOR_BIT`] allows for the shortest
/// header of a known layout, so that the work of such events needs no account.
const MOST: u64 = limits::WORK_FOR_BIT * 32;

/// A field at a constant offset of its block, or another step of a [class](Steps).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    /// Layout of one element of an array of numbers.
    pub(super) element: NumberLayout,
    /// Bytes from the start of the block.
    pub(super) at: u32,
    /// Size in bytes, or of an element; a slot.
    pub(super) bytes: u32,
    pub(super) node: NodeId,
}

impl Step {
    /// The slot, if it is a step of this kind.
    fn slot(&self, kind: StepKind) -> Option<u32> {
        (self.kind == kind).then_some(self.bytes)
    }
}

/// A class whose fields all start and end at bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    all: Vec<Step>,
    /// Those that lead to the end of the fields.
    moving: Vec<Step>,
    /// Bytes of the last block, if nothing is after it.
    tail: u32,
}

impl Steps {
    /// The steps of code with these fields of its blocks. Slots below `own` are for other code, too.
    /// `None`: there are too many, or an operation is no step.
    pub(super) fn of(ops: &[Op], fixed: &[Step], own: u32) -> Option<Self> {
        if ops.len() as u64 > MOST {
            return None;
        }
        let (mut all, tail) = list(ops, fixed)?;
        // The length of a field is most often the integer before it, and of no other field.
        let mut saved = None;
        all.retain(|step| {
            let before = std::mem::replace(&mut saved, step.slot(StepKind::Save));
            before.is_none() || step.slot(StepKind::Load) != before
        });
        let loaded: Vec<_> = all.iter().filter_map(|step| step.slot(StepKind::Load)).collect();
        all.retain(|step| {
            step.slot(StepKind::Save).is_none_or(|slot| slot < own || loaded.contains(&slot))
        });
        let after = all.iter().skip(1).map(|step| step.kind).chain([StepKind::Load]);
        let moving = all.iter().zip(after).filter(|(step, after)| {
            step.kind.moves() || *after == StepKind::Save || after.has_length()
        });
        let moving = moving.map(|(step, _)| *step).collect();
        Some(Self { all, moving, tail })
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
        run(&self.all, bytes, slots, visitor)?.get(self.tail as usize..)
    }

    /// As [`Self::read`], for nobody.
    #[inline(never)]
    pub(crate) fn skip<'a>(&self, bytes: &'a [u8], slots: &mut [u64]) -> Option<&'a [u8]> {
        run(&self.moving, bytes, slots, &mut Nobody)?.get(self.tail as usize..)
    }
}

/// The steps of code, and the bytes of the last block if nothing is after it.
fn list(ops: &[Op], fixed: &[Step]) -> Option<(Vec<Step>, u32)> {
    let plain = |kind, at, bytes| Step {
        kind,
        element: NumberLayout::U8,
        at,
        bytes,
        node: NodeId::default(),
    };
    let fields = |first: u32, count: u16| {
        let first = first as usize;
        fixed.get(first..first + usize::from(count))
    };
    // Bytes of the open block.
    let (mut steps, mut open) = (Vec::new(), 0);
    for op in ops {
        match *op {
            Op::Block { align, count, bits, first }
                if open == 0 && align <= 3 && bits.is_multiple_of(8) =>
            {
                steps.extend_from_slice(fields(first, count)?);
                open = bits / 8;
            }
            Op::More { count, first } => steps.extend_from_slice(fields(first, count)?),
            Op::Save { slot } => steps.push(plain(StepKind::Save, 0, slot)),
            Op::Text { encoding: Encoding::Utf8, node } => {
                steps.push(Step { node, ..plain(StepKind::Text, take(&mut open), 0) });
            }
            Op::CharsOf { encoding: Encoding::Utf8, slot, node } => {
                steps.push(plain(StepKind::Load, 0, slot));
                steps.push(Step { node, ..plain(StepKind::CharsOf, take(&mut open), 1) });
            }
            Op::PackedOf { layout, slot, node } => {
                let size = u32::try_from(layout.size()).ok()?;
                steps.push(plain(StepKind::Load, 0, slot));
                let step = plain(StepKind::PackedOf, take(&mut open), size);
                steps.push(Step { node, element: layout, ..step });
            }
            _ => return None,
        }
    }
    Some((steps, open))
}

/// The bits of a number as stored for lengths and selectors. (Lengths and selectors are never
/// floating-point numbers.)
trait Bits {
    fn bits(self) -> u64;
}

impl Bits for u64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }
}

impl Bits for i64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.cast_unsigned()
    }
}

impl Bits for f64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        0
    }
}

macro_rules! define {
    ($($name:ident $ty:ident $from:ident $report:ident $wide:ident $size:literal),*) => {
        /// The kind of a step: a field at a constant offset first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum StepKind {
            $($name,)*
            /// A static-length string in UTF-8.
            String,
            /// A static-length BLOB.
            Blob,
            /// A static-length array of numbers without padding.
            Packed,

            /// Saves the last integer.
            Save,
            /// Loads it.
            Load,
            /// Ends a block; after it is a null-terminated string.
            Text,
            /// Ends a block; after it is a string. The last integer is its length.
            CharsOf,
            /// Ends a block; after it is an array of numbers without padding. The last integer is its
            /// length.
            PackedOf,
        }

        impl From<NumberLayout> for StepKind {
            fn from(layout: NumberLayout) -> Self {
                match layout { $(NumberLayout::$name => Self::$name,)* }
            }
        }

        /// Reports one field of a block. Returns the bits of an integer, 0 for any other field.
        /// Never `None`: the whole block is available, and it has no other steps.
        ///
        /// A single jump for all kinds: this is the inner loop of the decoder.
        #[inline(always)]
        pub(super) fn field<'a, V: Visitor<'a> + ?Sized>(
            field: &Step,
            bytes: &'a [u8],
            visitor: &mut V,
        ) -> Option<u64> {
            let (at, node) = (field.at as usize, field.node);
            Some(match field.kind {
                $(StepKind::$name => {
                    let value = $wide::from($ty::$from(load(bytes, at)?));
                    visitor.$report(node, value);
                    value.bits()
                })*
                StepKind::String => {
                    let bytes = bytes.get(at..at + field.bytes as usize)?;
                    visitor.string(node, string::until_nul(bytes, Encoding::Utf8));
                    0
                }
                StepKind::Blob | StepKind::Packed => {
                    rare(field, bytes, visitor)?;
                    0
                }
                // All are named, so that the jump needs no check.
                StepKind::Save
                | StepKind::Load
                | StepKind::Text
                | StepKind::CharsOf
                | StepKind::PackedOf => return None,
            })
        }

        /// Decodes steps from the front of `bytes`. Returns the bytes from the last block on.
        ///
        /// A single jump for each step, whether it is at a constant offset or not.
        #[inline(always)]
        fn run<'a, V: Visitor<'a> + ?Sized>(
            steps: &[Step],
            bytes: &'a [u8],
            slots: &mut [u64],
            visitor: &mut V,
        ) -> Option<&'a [u8]> {
            let (mut rest, mut last) = (bytes, 0_u64);
            for step in steps {
                let (at, node) = (step.at as usize, step.node);
                match step.kind {
                    $(StepKind::$name => {
                        let value = $wide::from($ty::$from(load(rest, at)?));
                        visitor.$report(node, value);
                        last = value.bits();
                    })*
                    StepKind::String => {
                        let bytes = rest.get(at..at + step.bytes as usize)?;
                        visitor.string(node, string::until_nul(bytes, Encoding::Utf8));
                    }
                    StepKind::Blob | StepKind::Packed => rare(step, rest, visitor)?,
                    StepKind::Save => *slots.get_mut(step.bytes as usize)? = last,
                    StepKind::Load => last = *slots.get(step.bytes as usize)?,
                    StepKind::Text => {
                        rest = rest.get(at..)?;
                        let text = rest.get(..string::zero_byte(rest)?)?;
                        rest = rest.get(text.len() + 1..)?;
                        visitor.string(node, text);
                    }
                    StepKind::CharsOf => {
                        let chars;
                        let count = usize::try_from(last).ok()?;
                        (chars, rest) = rest.get(at..)?.split_at_checked(count)?;
                        visitor.string(node, string::until_nul(chars, Encoding::Utf8));
                    }
                    StepKind::PackedOf => {
                        let items;
                        let count = usize::try_from(last).ok()?;
                        let size = count.checked_mul(step.bytes as usize)?;
                        (items, rest) = rest.get(at..)?.split_at_checked(size)?;
                        visitor.packed(node, Packed::new(items, step.element));
                    }
                }
            }
            Some(rest)
        }
    };
}
number_layouts!(define);

impl StepKind {
    /// Whether the field's length is the last integer.
    fn has_length(self) -> bool {
        matches!(self, Self::CharsOf | Self::PackedOf)
    }

    /// Whether it is needed to find the end of the fields.
    fn moves(self) -> bool {
        self.has_length() || matches!(self, Self::Save | Self::Load | Self::Text)
    }
}

#[inline(always)]
fn load<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Reports a field that few classes have, kept out of the inner loops.
#[inline(never)]
fn rare<'a, V: Visitor<'a> + ?Sized>(field: &Step, bytes: &'a [u8], visitor: &mut V) -> Option<()> {
    let (at, node) = (field.at as usize, field.node);
    let bytes = bytes.get(at..at + field.bytes as usize)?;
    if field.kind == StepKind::Blob {
        visitor.blob(node, bytes);
    } else {
        visitor.packed(node, Packed::new(bytes, field.element));
    }
    Some(())
}
