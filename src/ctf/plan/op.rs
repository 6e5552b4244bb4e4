//! The operations. Small, so that a class's fit into few cache lines.

use super::load::Load;
use super::node::NodeId;
use crate::ctf::schema::Encoding;
use crate::read::Order;

/// A bitfield, or a number at a place that may be between bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) bits: u8,
    pub(super) class: Class,
    pub(super) order: Order,
    pub(super) reversed: bool,
}

/// How a number is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Unsigned,
    Signed,
    Float,
}

/// One step. `at` is in bytes from the start of the block, or in bits where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Aligns to `1 << align` bits; so many bits must be there. What follows is within them.
    Block { align: u8, bits: u32 },
    /// A number of whole bytes.
    Load { load: Load, at: u32, node: NodeId },
    /// A number at any bit; `at` is in bits.
    Bits { form: Form, at: u32, node: NodeId },
    /// Text in so many bytes.
    Chars { encoding: Encoding, at: u32, bytes: u32, node: NodeId },
    /// So many bytes.
    Blob { at: u32, bytes: u32, node: NodeId },
    /// So many numbers.
    Packed { load: Load, at: u32, count: u32, node: NodeId },

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
    PackedOf { load: Load, slot: u32, node: NodeId },
    /// Operations up to `end`, as many times as the slot says. The element is the next node.
    Repeat { slot: u32, node: NodeId, end: u32 },
    /// The operations of one of the options.
    Switch { slot: u32, node: NodeId, choice: u32 },
    /// A structure of so many members begins.
    Open { node: NodeId, count: u32 },
    /// It ends.
    Close { node: NodeId },
}

impl Op {
    /// First bit and number of bits within the block, and which node.
    pub(super) fn within_block(&self) -> Option<(u64, u64, NodeId)> {
        let bytes = |at: u32, bytes: u64, node| Some((u64::from(at) * 8, bytes * 8, node));
        match *self {
            Self::Load { load, at, node } => bytes(at, load.size() as u64, node),
            Self::Bits { form, at, node } => Some((at.into(), form.bits.into(), node)),
            Self::Chars { at, bytes: n, node, .. } | Self::Blob { at, bytes: n, node } => bytes(at, n.into(), node),
            Self::Packed { load, at, count, node } => bytes(at, u64::from(count) * load.size() as u64, node),
            _ => None,
        }
    }
}
