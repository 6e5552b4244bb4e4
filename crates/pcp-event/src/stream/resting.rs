//! Records of a stream at rest, compressed: thousands of idle peers would keep them all at full size.

use crate::ring::Ring;

/// Fewer bytes are not worth it.
const LEAST: usize = 1 << 10;
/// More bytes are not compressed: each piece of a delivery unpacks them all.
const MOST: usize = 64 << 10;
/// Bytes of the length of a record.
const LENGTH: usize = size_of::<u32>();

/// Compressed bytes.
#[derive(Debug)]
pub(super) struct Compressed {
    block: Box<[u8]>,
    /// Bytes before the compression.
    size: usize,
}

impl Compressed {
    /// What `write` appends. `held`: the memory without the compression. `None`: it is too little or
    /// too much, or less than a quarter of it would be saved.
    pub(super) fn of(held: usize, write: impl FnOnce(&mut Vec<u8>)) -> Option<Self> {
        if !(LEAST..=MOST).contains(&held) {
            return None;
        }
        let mut plain = Vec::with_capacity(held);
        write(&mut plain);
        let block = lz4_flex::block::compress(&plain).into();
        let compressed = Self { block, size: plain.len() };
        (compressed.held() < held / 4 * 3).then_some(compressed)
    }

    /// Their memory.
    pub(super) const fn held(&self) -> usize {
        size_of::<Self>() + self.block.len()
    }

    /// The bytes as they were.
    pub(super) fn plain(&self) -> Vec<u8> {
        let plain = lz4_flex::block::decompress(&self.block, self.size);
        debug_assert!(plain.is_ok(), "compressed here");
        plain.unwrap_or_default()
    }
}

/// The records of a ring: the length of each, then all their bytes.
#[derive(Debug)]
pub(super) struct Resting {
    first: u64,
    next: u64,
    compressed: Compressed,
}

impl Resting {
    /// `None`: it does not pay.
    pub(super) fn of(ring: &Ring) -> Option<Self> {
        let (first, next) = (ring.first(), ring.next());
        let compressed = Compressed::of(ring.held(), |plain| {
            let mut start = 0;
            for end in ring.ends(first, next) {
                // A ring has no more than [`MOST`] bytes here.
                let length = u32::try_from(end - start).unwrap_or_default();
                plain.extend_from_slice(&length.to_le_bytes());
                start = end;
            }
            ring.slices(first, next).iter().for_each(|part| plain.extend_from_slice(part));
        })?;
        Some(Self { first, next, compressed })
    }

    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Their memory.
    pub(super) const fn held(&self) -> usize {
        size_of::<[u64; 2]>() + self.compressed.held()
    }

    /// The records as they were.
    pub(super) fn ring(&self) -> Ring {
        let mut plain = self.compressed.plain();
        let lengths = usize::try_from(self.next - self.first).unwrap_or(usize::MAX);
        let bytes = plain.split_off(plain.len().min(lengths.saturating_mul(LENGTH)));
        let (lengths, _) = plain.as_chunks::<LENGTH>();
        Ring::of_lengths(
            bytes,
            lengths.iter().map(|length| u32::from_le_bytes(*length)),
            self.first,
        )
    }
}
