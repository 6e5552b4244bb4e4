//! The operations. Small, so that a class's fit into few cache lines.

use super::node::NodeId;
use crate::ByteOrder;
use crate::number_layout::NumberLayout;
use crate::schema::Encoding;

/// A bitfield, or a number at a place that may be between bytes.
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

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Aligns to `1 << align` bits and checks that `bits` are there. `count` fields are at constant
    /// places within, from `first` of [`super::emit::Code::fixed`] on.
    Block { align: u8, count: u16, bits: u32, first: u32 },
    /// More fields of the same block.
    More { count: u16, first: u32 },
    /// A number at any bit of the same block, `at` bits from its start.
    Bits { form: BitField, at: u32, node: NodeId },
    /// A static-length string of another encoding, `at` bytes from the start of the same block.
    Chars { encoding: Encoding, at: u32, bytes: u32, node: NodeId },

    /// Aligns to `1 << align` bits.
    Align { align: u8 },
    /// Saves the last integer.
    Save { slot: u32 },
    /// Saves a constant as a length.
    Set { slot: u32, value: u64 },
    /// The last integer, of `bits` bits, updates the clock.
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
    /// An array: operations up to `end` for each element. The element is the next node.
    Repeat { slot: u32, node: NodeId, end: u32 },
    /// The operations of one of the options.
    Switch { slot: u32, node: NodeId, choice: u32 },
    /// A structure of `count` members begins.
    Open { node: NodeId, count: u32 },
    /// The structure ends.
    Close { node: NodeId },
}
