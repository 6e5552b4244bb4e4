//! Decodes the header of a metadata packet.

use crate::ByteOrder;

/// Reads forward over a slice. Every method returns `None` if bytes are missing, and then does not
/// move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub(crate) const fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { bytes, order }
    }

    /// The next `n` bytes.
    pub(crate) fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(taken)
    }

    /// The next 32-bit integer.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let raw = self.bytes(4)?.try_into().ok()?;
        Some(match self.order {
            ByteOrder::Little => u32::from_le_bytes(raw),
            ByteOrder::Big => u32::from_be_bytes(raw),
        })
    }
}
