//! The operations. Small, so that those of a class fit into few cache lines.

use super::node::NodeId;
use crate::ByteOrder;
use crate::number_layout::NumberLayout;
use crate::schema::Encoding;

/// An integer or floating-point number at any bit offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BitField {
    pub(super) bits: u8,
    pub(super) class: Class,
    pub(super) order: ByteOrder,
    pub(super) reversed: bool,
}

/// The visitor's method for a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Unsigned,
    Signed,
    Float,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Aligns to `1 << align` bits and checks that `bits` are available. The block has `count`
    /// fields at constant offsets, from `first` of [`super::emit::Code::fixed`] on.
    Block { align: u8, count: u16, bits: u32, first: u32 },
    /// More fields of the same block.
    More { count: u16, first: u32 },
    /// A number at any bit offset of the same block, `at` bits from its start.
    Bits { form: BitField, at: u32, node: NodeId },
    /// A static-length string of another encoding, `at` bytes from the start of the same block.
    Chars { encoding: Encoding, at: u32, bytes: u32, node: NodeId },

    /// Aligns to `1 << align` bits.
    Align { align: u8 },
    /// Saves the last integer.
    Save { slot: u32 },
    /// Saves a constant length.
    Set { slot: u32, value: u64 },
    /// Updates the clock with the last integer, of `bits` bits.
    Clock { bits: u8 },
    /// A variable-length integer.
    Leb { signed: bool, node: NodeId },
    /// A null-terminated string.
    Text { encoding: Encoding, node: NodeId },
    /// A dynamic-length string.
    CharsOf { encoding: Encoding, slot: u32, node: NodeId },
    /// A dynamic-length BLOB.
    BlobOf { slot: u32, node: NodeId },
    /// A dynamic-length array of numbers without padding.
    PackedOf { layout: NumberLayout, slot: u32, node: NodeId },
    /// An array: runs the operations up to `end` for each element. The element is the next node.
    Repeat { slot: u32, node: NodeId, end: u32 },
    /// Runs the operations of the selected option.
    Switch { slot: u32, node: NodeId, choice: u32 },
    /// A structure of `count` members begins.
    Open { node: NodeId, count: u32 },
    /// The structure ends.
    Close { node: NodeId },
}
