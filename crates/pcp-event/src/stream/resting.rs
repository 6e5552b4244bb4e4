//! Records of a stream at rest, compressed: thousands of idle peers would keep them all at full size.

use crate::ring::Ring;

/// Fewer bytes are not worth it.
const LEAST: usize = 1 << 10;
/// More bytes are not compressed: each piece of a delivery unpacks them all.
const MOST: usize = 64 << 10;
/// Bytes of the length of a record.
const LENGTH: usize = size_of::<u32>();

/// The records of a ring: the length of each, then all their bytes.
#[derive(Debug)]
pub(super) struct Resting {
    first: u64,
    records: usize,
    compressed: Box<[u8]>,
    /// Bytes before the compression.
    size: usize,
}

impl Resting {
    /// `None`: it would save less than a quarter.
    pub(super) fn of(ring: &Ring) -> Option<Self> {
        if !(LEAST..=MOST).contains(&ring.held()) {
            return None;
        }
        let (first, next) = (ring.first(), ring.next());
        let mut plain = Vec::with_capacity(ring.held());
        let mut start = 0;
        for end in ring.ends(first, next) {
            plain.extend_from_slice(&u32::try_from(end - start).ok()?.to_le_bytes());
            start = end;
        }
        let records = plain.len() / LENGTH;
        ring.slices(first, next).iter().for_each(|part| plain.extend_from_slice(part));
        let compressed: Box<[u8]> = lz4_flex::block::compress(&plain).into();
        let resting = Self { first, records, compressed, size: plain.len() };
        (resting.held() < ring.held() / 4 * 3).then_some(resting)
    }

    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    pub(super) const fn next(&self) -> u64 {
        self.first + self.records as u64
    }

    /// Their memory.
    pub(super) const fn held(&self) -> usize {
        size_of::<Self>() + self.compressed.len()
    }

    /// The records as they were.
    pub(super) fn ring(&self) -> Ring {
        let plain = lz4_flex::block::decompress(&self.compressed, self.size);
        debug_assert!(plain.is_ok(), "compressed here");
        let mut plain = plain.unwrap_or_default();
        let bytes = plain.split_off(plain.len().min(self.records * LENGTH));
        let lengths = plain.chunks_exact(LENGTH).filter_map(|length| length.first_chunk());
        let lengths: Vec<u32> = lengths.map(|length| u32::from_le_bytes(*length)).collect();
        Ring::of_lengths(bytes, lengths.into_iter(), self.first)
    }
}
