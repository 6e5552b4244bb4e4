//! Fields at constant offsets of a block: most fields of most events. Event record classes whose
//! fields all start at bytes are a list of steps as a whole.

use super::cursor::{Cursor, byte};
use super::node::NodeId;
use super::op::Op;
use crate::number_layout::{NumberLayout, number_layouts};
use crate::schema::Encoding;
use crate::string;
use crate::visit::{Packed, Visitor};

/// A field at a constant offset of its block, or one operation of a class of [steps](all).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    /// Layout of one element of an array of numbers.
    pub(super) element: NumberLayout,
    /// Bytes from the start of the block.
    pub(super) at: u32,
    /// Size in bytes; the slot of a length.
    pub(super) bytes: u32,
    pub(super) node: NodeId,
}

/// The steps of code with these fields of its blocks; `None`: it is a single block, or it has
/// operations that are no steps or do not start and end at a byte.
pub(super) fn steps(ops: &[Op], fixed: &[Step]) -> Option<Vec<Step>> {
    if ops.len() < 2 {
        return None;
    }
    let step = |kind, element, at, bytes, node| Step { kind, element, at, bytes, node };
    let (mut steps, none, nobody) = (Vec::new(), NumberLayout::U8, NodeId::default());
    // Bytes of the open block.
    let mut open = 0;
    for op in ops {
        let (kind, element, slot, node) = match *op {
            Op::Block { align, count, bits, first } if align <= 3 && bits.is_multiple_of(8) => {
                if open > 0 {
                    steps.push(step(StepKind::End, none, open, 0, nobody));
                }
                let first = first as usize;
                steps.extend_from_slice(fixed.get(first..first + usize::from(count))?);
                open = bits / 8;
                continue;
            }
            Op::Save { slot } => {
                steps.push(step(StepKind::Save, none, 0, slot, nobody));
                continue;
            }
            Op::Text { encoding: Encoding::Utf8, node } => (StepKind::Text, none, 0, node),
            Op::CharsOf { encoding: Encoding::Utf8, slot, node } => {
                (StepKind::CharsOf, none, slot, node)
            }
            Op::PackedOf { layout, slot, node } => (StepKind::PackedOf, layout, slot, node),
            _ => return None,
        };
        steps.push(step(kind, element, std::mem::take(&mut open), slot, node));
    }
    if open > 0 {
        steps.push(step(StepKind::End, none, open, 0, nobody));
    }
    Some(steps)
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

            /// Ends a block, `at` bytes after its start.
            End,
            /// Saves the last integer.
            Save,
            /// Ends a block; after it is a null-terminated string.
            Text,
            /// Ends a block; after it is a dynamic-length string.
            CharsOf,
            /// Ends a block; after it is a dynamic-length array of numbers without padding.
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
                StepKind::End
                | StepKind::Save
                | StepKind::Text
                | StepKind::CharsOf
                | StepKind::PackedOf => return None,
            })
        }

        /// Decodes a class of steps from whole bytes; `None`: some are missing, and the position is
        /// as before.
        ///
        /// A single jump for each step, whether it is at a constant offset or not.
        #[inline(always)]
        pub(super) fn all<'a, V: Visitor<'a> + ?Sized>(
            steps: &[Step],
            cursor: &mut Cursor<'a>,
            visitor: &mut V,
        ) -> Option<()> {
            let (mut rest, mut last) = (cursor.data.get(byte(cursor.bit)..)?, 0);
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
                    StepKind::End => rest = rest.get(at..)?,
                    StepKind::Save => cursor.keep(step.bytes, last),
                    StepKind::Text => {
                        rest = rest.get(at..)?;
                        let text = rest.get(..string::zero_byte(rest)?)?;
                        rest = rest.get(text.len() + 1..)?;
                        visitor.string(node, text);
                    }
                    StepKind::CharsOf => {
                        let chars;
                        let count = usize::try_from(cursor.slot(step.bytes)).ok()?;
                        (chars, rest) = rest.get(at..)?.split_at_checked(count)?;
                        visitor.string(node, string::until_nul(chars, Encoding::Utf8));
                    }
                    StepKind::PackedOf => {
                        let items;
                        let count = usize::try_from(cursor.slot(step.bytes)).ok()?;
                        let size = count.checked_mul(step.element.size())?;
                        (items, rest) = rest.get(at..)?.split_at_checked(size)?;
                        visitor.packed(node, Packed::new(items, step.element));
                    }
                }
            }
            cursor.bit = (cursor.data.len() - rest.len()) as u64 * 8;
            Some(())
        }
    };
}
number_layouts!(define);

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
