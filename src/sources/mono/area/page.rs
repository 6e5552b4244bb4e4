//! Numbers and texts of a page. What is beyond its end is absent.

use crate::read::Order;

/// A page in the byte order of the host that wrote it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: Order,
}

impl<'a> Page<'a> {
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        let mut bytes: [u8; N] = bytes;
        if self.order == Order::Big {
            bytes.reverse();
        }
        Some(bytes)
    }

    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(super) fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(super) fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// A text that ends in a NUL, and the position behind that.
    pub(super) fn text(self, at: usize) -> Option<(&'a [u8], usize)> {
        let rest = self.bytes.get(at..)?;
        let end = memchr::memchr(0, rest)?;
        Some((rest.get(..end)?, at + end + 1))
    }
}
