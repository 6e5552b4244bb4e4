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

/// How a number is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Unsigned,
    Signed,
    Float,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Aligns to `1 << align` bits; so many bits must be there. So many fields are at constant
    /// places within, from `first` of [`super::emit::Code::fixed`] on.
    Block { align: u8, count: u16, bits: u32, first: u32 },
    /// More fields of the same block.
    More { count: u16, first: u32 },
    /// A number at any bit of the same block, `at` bits from its start.
    Bits { form: BitField, at: u32, node: NodeId },
    /// Text of another encoding in so many bytes, `at` bytes from the start of the same block.
    Chars { encoding: Encoding, at: u32, bytes: u32, node: NodeId },

    /// Aligns to `1 << align` bits.
    Align { align: u8 },
    /// Keeps the integer that was just read.
    Save { slot: u32 },
    /// Puts a constant where a length is looked for.
    Set { slot: u32, value: u64 },
    /// The clock takes the integer that was just read, which has so many bits.
    Clock { bits: u8 },
    /// An integer of variable length.
    Leb { signed: bool, node: NodeId },
    /// Text up to a NUL.
    Text { encoding: Encoding, node: NodeId },
    /// Text in as many bytes as the slot says.
    CharsOf { encoding: Encoding, slot: u32, node: NodeId },
    /// As many bytes as the slot says.
    BlobOf { slot: u32, node: NodeId },
    /// As many numbers as the slot says.
    PackedOf { layout: NumberLayout, slot: u32, node: NodeId },
    /// Operations up to `end`, as many times as the slot says. The element is the next node.
    Repeat { slot: u32, node: NodeId, end: u32 },
    /// The operations of one of the options.
    Switch { slot: u32, node: NodeId, choice: u32 },
    /// A structure of so many members begins.
    Open { node: NodeId, count: u32 },
    /// It ends.
    Close { node: NodeId },
}
