//! Fields at constant offsets of a block: most fields of most events. [Classes](super::class::Steps)
//! whose fields start at a byte, and whose other places follow from it, are lists of steps as a whole.

use super::class::{List, Steps};
use super::node::NodeId;
use super::op::BitField;
use crate::ByteOrder;
use crate::bits;
use crate::number_layout::{NumberLayout, number_layouts};
use crate::schema::Encoding;
use crate::string;
use crate::visit::{Packed, Visitor};

/// A field at a constant offset of its block, or another step of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    /// Layout of one element of an array of numbers.
    pub(super) element: NumberLayout,
    /// Bytes from the start of the block.
    pub(super) at: u32,
    /// Size in bytes, or of an element; a slot; [shifts](Step::bits) of a bit field; a number of
    /// members; the index of a loop or selection.
    pub(super) bytes: u32,
    pub(super) node: NodeId,
}

/// Bits of [`Step::bytes`] of a bit field: its first bit within a byte is in the third byte.
const FIRST: u32 = 16;
const BIG: u32 = 1 << 24;
const SIGNED: u32 = 1 << 25;

impl Step {
    /// A step that is no field at a constant offset.
    pub(super) fn plain(kind: StepKind, at: u32, bytes: u32) -> Self {
        Self { kind, element: NumberLayout::U8, at, bytes, node: NodeId::default() }
    }

    /// The slot, if it is a step of this kind.
    pub(super) fn slot(&self, kind: StepKind) -> Option<u32> {
        (self.kind == kind).then_some(self.bytes)
    }

    /// An integer at a bit offset. The lowest byte of `bytes` is the shift of eight bytes to the left
    /// that drops what is before the field, the next one the shift to the right after it.
    pub(super) fn bits(form: BitField, signed: bool, bit: u64, node: NodeId) -> Option<Self> {
        let (first, count) = (u32::try_from(bit % 8).ok()?, u32::from(form.bits));
        let big = form.order == ByteOrder::Big;
        let left = if big { Some(first) } else { 64_u32.checked_sub(first + count) };
        let kind = match (signed, big) {
            _ if first + count > 64 => StepKind::AnyBits,
            (false, false) => StepKind::BitsLe,
            (false, true) => StepKind::BitsBe,
            (true, false) => StepKind::SignedLe,
            (true, true) => StepKind::SignedBe,
        };
        let right = 64_u32.checked_sub(count).filter(|right| *right < 64)?;
        let bytes = left.unwrap_or_default() | right << 8 | first << FIRST;
        let bytes = bytes | if big { BIG } else { 0 } | if signed { SIGNED } else { 0 };
        let at = u32::try_from(bit / 8).ok()?;
        Some(Self { kind, element: NumberLayout::U8, at, bytes, node })
    }

    /// The field with its bits at the top of a word.
    #[inline(always)]
    fn top(&self, word: u64) -> u64 {
        word << (self.bytes & 63)
    }

    /// Bits above the field.
    #[inline(always)]
    fn above(&self) -> u32 {
        self.bytes >> 8 & 63
    }
}

/// Reports an integer at a bit offset, of nine bytes or at the end of the content.
#[inline(never)]
fn any_bits<'a, V: Visitor<'a> + ?Sized>(
    field: &Step,
    bytes: &'a [u8],
    visitor: &mut V,
) -> Option<u64> {
    let count = 64 - field.above();
    let bit = u64::from(field.at) * 8 + u64::from(field.bytes >> FIRST & 7);
    let order = if field.bytes & BIG == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let value = bits::read(bytes, bit, count, order)?;
    if field.bytes & SIGNED == 0 {
        visitor.unsigned(field.node, value);
        return Some(value);
    }
    let value = bits::sign(value, count);
    visitor.signed(field.node, value);
    Some(value.cast_unsigned())
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

            /// An unsigned integer at a bit offset.
            BitsLe,
            BitsBe,
            /// A signed one.
            SignedLe,
            SignedBe,
            /// Either, if eight bytes do not have it.
            AnyBits,
            /// A structure begins.
            Open,
            /// It ends.
            Close,
            /// Saves the last integer.
            Save,
            /// Loads it.
            Load,
            /// Loads a constant.
            Set,
            /// Ends a block; after it is a null-terminated string.
            Text,
            /// Ends a block; after it is a string. The last integer is its length.
            CharsOf,
            /// Ends a block; after it is an array of numbers without padding. The last integer is its
            /// length.
            PackedOf,
            /// Ends a block; after it is any other array. The last integer is its length.
            Repeat,
            /// Ends a block; after it is a variant or an optional. The last integer is its selector.
            Select,
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
                StepKind::BitsLe
                | StepKind::BitsBe
                | StepKind::SignedLe
                | StepKind::SignedBe
                | StepKind::AnyBits
                | StepKind::Open
                | StepKind::Close
                | StepKind::Save
                | StepKind::Load
                | StepKind::Set
                | StepKind::Text
                | StepKind::CharsOf
                | StepKind::PackedOf
                | StepKind::Repeat
                | StepKind::Select => return None,
            })
        }

        /// Decodes a list of steps of a class from the front of `bytes`, all or those that lead to its
        /// end. Returns the bytes after it.
        ///
        /// A single jump for each step, whether it is at a constant offset or not.
        #[inline(always)]
        pub(super) fn run<'a, V: Visitor<'a> + ?Sized, const ALL: bool>(
            class: &Steps,
            list: &List,
            bytes: &'a [u8],
            slots: &mut [u64],
            visitor: &mut V,
        ) -> Option<&'a [u8]> {
            let (mut rest, mut last) = (bytes, 0_u64);
            for step in if ALL { &list.all } else { &list.moving } {
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
                    StepKind::BitsLe => last = match load(rest, at) {
                        Some(word) => {
                            let value = step.top(u64::from_le_bytes(word)) >> step.above();
                            visitor.unsigned(node, value);
                            value
                        }
                        None => any_bits(step, rest, visitor)?,
                    },
                    StepKind::BitsBe => last = match load(rest, at) {
                        Some(word) => {
                            let value = step.top(u64::from_be_bytes(word)) >> step.above();
                            visitor.unsigned(node, value);
                            value
                        }
                        None => any_bits(step, rest, visitor)?,
                    },
                    StepKind::SignedLe => last = match load(rest, at) {
                        Some(word) => {
                            let value = step.top(u64::from_le_bytes(word)).cast_signed() >> step.above();
                            visitor.signed(node, value);
                            value.cast_unsigned()
                        }
                        None => any_bits(step, rest, visitor)?,
                    },
                    StepKind::SignedBe => last = match load(rest, at) {
                        Some(word) => {
                            let value = step.top(u64::from_be_bytes(word)).cast_signed() >> step.above();
                            visitor.signed(node, value);
                            value.cast_unsigned()
                        }
                        None => any_bits(step, rest, visitor)?,
                    },
                    StepKind::AnyBits => last = any_bits(step, rest, visitor)?,
                    StepKind::Open => visitor.open(node, step.bytes.into()),
                    StepKind::Close => visitor.close(node),
                    StepKind::Save => *slots.get_mut(step.bytes as usize)? = last,
                    StepKind::Load => last = *slots.get(step.bytes as usize)?,
                    StepKind::Set => last = u64::from(step.at) << 32 | u64::from(step.bytes),
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
                    StepKind::Repeat => {
                        rest = class.repeat::<V, ALL>(step, last, rest.get(at..)?, slots, visitor)?;
                    }
                    StepKind::Select => {
                        rest = class.select::<V, ALL>(step, last, rest.get(at..)?, slots, visitor)?;
                    }
                }
            }
            rest.get(list.tail as usize..)
        }
    };
}
number_layouts!(define);

impl StepKind {
    /// Whether the field's length or selector is the last integer.
    pub(super) fn has_length(self) -> bool {
        matches!(self, Self::CharsOf | Self::PackedOf | Self::Repeat | Self::Select)
    }

    /// Whether it is needed to find the end of the fields.
    pub(super) fn moves(self) -> bool {
        self.has_length() || matches!(self, Self::Save | Self::Load | Self::Set | Self::Text)
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
