//! The decoding position in a packet.

use super::node::{NodeId, Nodes};
use crate::ByteOrder;
use crate::error::{PacketError, Violation};
use crate::limits;

/// The decoding position in a packet, and the values for later lengths and selectors.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    pub(crate) data: &'a [u8],
    /// Offset of the next bit.
    pub(crate) bit: u64,
    /// Bits of content; at most those of `data`.
    pub(crate) end: u64,
    /// The stream's clock.
    pub(crate) clock: u64,
    /// Values of lengths and selectors.
    slots: Vec<u64>,
    /// Byte order of the last field that may have ended within a byte.
    pub(super) order: Option<ByteOrder>,
    /// Operations left for the packet.
    work: u64,
}

/// A position to roll back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoint {
    bit: u64,
    clock: u64,
    order: Option<ByteOrder>,
    work: u64,
}

/// An error in a packet before its field has a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeError {
    pub(crate) bit: u64,
    pub(crate) node: NodeId,
    pub(crate) violation: Violation,
}

impl DecodeError {
    #[cold]
    pub(crate) fn named(self, nodes: &Nodes) -> PacketError {
        PacketError { bit: self.bit, field: nodes.full_name(self.node), violation: self.violation }
    }
}

impl<'a> Cursor<'a> {
    /// At the beginning of a packet. The content ends at the end of `data` until its size is known.
    pub(crate) fn new(data: &'a [u8], clock: u64, slots: u32) -> Self {
        let end = (data.len() as u64).saturating_mul(8);
        let slots = vec![0; slots as usize];
        let work = end.saturating_mul(limits::WORK_FOR_BIT).saturating_add(limits::WORK);
        Self { data, bit: 0, end, clock, slots, order: None, work }
    }

    /// The current position. Slots are not included: code that runs again stores the same values
    /// again.
    pub(crate) const fn checkpoint(&self) -> Checkpoint {
        Checkpoint { bit: self.bit, clock: self.clock, order: self.order, work: self.work }
    }

    /// Rolls back to a checkpoint. The end of the content is not rolled back.
    pub(crate) const fn rollback(&mut self, to: Checkpoint) {
        (self.bit, self.clock, self.order, self.work) = (to.bit, to.clock, to.order, to.work);
    }

    /// The cursor with other bytes, which must be those of the same packet.
    #[cfg(feature = "fs")]
    pub(crate) fn with_data(self, data: &[u8]) -> Cursor<'_> {
        let Self { bit, end, clock, slots, order, work, .. } = self;
        Cursor { data, bit, end, clock, slots, order, work }
    }

    /// Updates the clock with an integer of `bits` bits.
    #[inline]
    pub(crate) fn tick(&mut self, value: u64, bits: u32) {
        self.clock = advance(self.clock, value, bits);
    }

    #[inline]
    pub(super) fn slot(&self, slot: u32) -> u64 {
        debug_assert!((slot as usize) < self.slots.len(), "slot {slot} of {}", self.slots.len());
        self.slots.get(slot as usize).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn keep(&mut self, slot: u32, value: u64) {
        debug_assert!((slot as usize) < self.slots.len(), "slot {slot} of {}", self.slots.len());
        if let Some(kept) = self.slots.get_mut(slot as usize) {
            *kept = value;
        }
    }

    /// The bytes of content after the position, and the slots. `None`: the position or the end of the
    /// content is within a byte.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Option<(&'a [u8], &mut [u64])> {
        if !(self.bit | self.end).is_multiple_of(8) {
            return None;
        }
        Some((self.data.get(byte(self.bit)..byte(self.end))?, &mut self.slots))
    }

    /// Advances by bytes of [`Self::bytes`], except the last bits of the last one.
    #[inline]
    pub(crate) const fn moved(&mut self, bytes: usize, spare: u8) {
        self.bit = (self.bit + bytes as u64 * 8).saturating_sub(spare as u64);
    }

    /// Whole bytes of content after the position, which must be at a byte.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data.get(byte(self.bit)..byte(self.end)).unwrap_or_default()
    }

    /// Bits of content after the position.
    #[inline]
    pub(super) const fn left(&self) -> u64 {
        self.end.saturating_sub(self.bit)
    }

    #[cold]
    pub(super) const fn short(&self, node: NodeId, need: u64) -> DecodeError {
        DecodeError { bit: self.bit, node, violation: Violation::Short { need, left: self.left() } }
    }

    /// The next `count` bytes; the position must be at a byte.
    #[inline]
    pub(super) fn take(&mut self, node: NodeId, count: u64) -> Result<&'a [u8], DecodeError> {
        let need = count.saturating_mul(8);
        if need > self.left() {
            return Err(self.short(node, need));
        }
        let bytes = self.data.get(byte(self.bit)..).and_then(|rest| rest.get(..byte(need)));
        debug_assert!(bytes.is_some(), "content beyond the bytes");
        self.bit += need;
        Ok(bytes.unwrap_or_default())
    }

    /// An error if the packet has exceeded the operations allowed for its size.
    #[inline]
    pub(super) const fn can_work(&self) -> Result<(), DecodeError> {
        if self.work == 0 {
            Err(DecodeError { bit: self.bit, node: NodeId::new(0), violation: Violation::Work })
        } else {
            Ok(())
        }
    }

    #[inline]
    pub(super) const fn worked(&mut self, operations: u64) {
        self.work = self.work.saturating_sub(operations);
    }
}

/// The clock after an update by an integer of `bits` bits (0: 64): at most one wrap is assumed (CTF
/// 1.8, section 8).
#[inline]
pub(crate) const fn advance(clock: u64, value: u64, bits: u32) -> u64 {
    if bits == 0 || bits >= 64 {
        return value;
    }
    clock.wrapping_add(value.wrapping_sub(clock) & ((1 << bits) - 1))
}

#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "positions are within a slice, so that they fit"
)]
pub(super) const fn byte(bit: u64) -> usize {
    (bit / 8) as usize
}

#[inline]
pub(super) const fn align_up(bit: u64, align: u8) -> u64 {
    let mask = (1 << align) - 1;
    // No packet has 2^61 bytes.
    bit.wrapping_add(mask) & !mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_wrap_once() {
        assert_eq!(advance(0x1_0000_00f0, 0xff, 8), 0x1_0000_00ff);
        assert_eq!(advance(0x1_0000_00f0, 0x01, 8), 0x1_0000_0101, "past the wrap");
        assert_eq!(advance(0x1_0000_00f0, 0xf0, 8), 0x1_0000_00f0, "the same time");
        assert_eq!(advance(u64::MAX, 0, 27), 0, "and at the very end");
        assert_eq!((advance(5, 3, 64), advance(5, 3, 0), advance(5, 3, 80)), (3, 3, 3));
        assert_eq!(advance(7, 0x1ff, 8), 0xff, "bits above are no part of it");
    }
}
