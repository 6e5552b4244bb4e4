//! Reading inside streams (spec B.1): the only byte access of the decoders.
//!
//! | name | bytes |
//! |---|---|
//! | varint | 7 bits a byte, low group first, high bit: more. At most 5; the 5th holds bits 28..=31, whatever its high bit says |
//! | varlong | 5 such bytes give bits 0..=34; if the 5th has its high bit, a varint with bits 35..=63 follows |
//! | zigzag | varint `u`, which means `(u >>> 1) xor -(u & 1)` |
//!
//! A varint that is cut short is `None`, and nothing has moved.

/// A read position in a slice of a stream's file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    rest: &'a [u8],
    /// Offset in the file of the slice's end.
    end: u64,
}

impl<'a> Scan<'a> {
    /// Reads `bytes`, the first of which is at `offset` of the file.
    pub(crate) const fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, end: offset.wrapping_add(bytes.len() as u64) }
    }

    /// Offset in the file of the next byte.
    pub(crate) const fn offset(&self) -> u64 {
        self.end.wrapping_sub(self.rest.len() as u64)
    }

    /// What has not been read.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes, or as many as there are.
    pub(crate) fn up_to(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(n.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    #[inline]
    pub(crate) fn i32(&mut self) -> Option<i32> {
        let (raw, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(i32::from_be_bytes(*raw))
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (raw, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_be_bytes(*raw))
    }

    /// One byte is most of them.
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Option<u32> {
        match self.rest {
            [a, rest @ ..] if *a < 0x80 => {
                self.rest = rest;
                Some(u32::from(*a))
            }
            [a, b, rest @ ..] if *b < 0x80 => {
                self.rest = rest;
                Some(u32::from(*a & 0x7f) | u32::from(*b) << 7)
            }
            _ => {
                let (value, rest) = long_varint(self.rest)?;
                self.rest = rest;
                Some(value)
            }
        }
    }

    #[inline]
    pub(crate) fn zigzag(&mut self) -> Option<i32> {
        let raw = self.varint()?;
        Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    /// The 64-bit pattern.
    #[inline(always)]
    pub(crate) fn varlong(&mut self) -> Option<u64> {
        match self.rest {
            [a, rest @ ..] if *a < 0x80 => {
                self.rest = rest;
                Some(u64::from(*a))
            }
            [a, b, rest @ ..] if *b < 0x80 => {
                self.rest = rest;
                Some(u64::from(*a & 0x7f) | u64::from(*b) << 7)
            }
            _ => {
                let (value, rest) = long_varlong(self.rest)?;
                self.rest = rest;
                Some(value)
            }
        }
    }

    /// Eight varlongs at once, if each is one byte.
    #[inline(always)]
    pub(crate) fn eight_small(&mut self) -> Option<[u8; 8]> {
        let (eight, rest) = self.rest.split_first_chunk()?;
        if u64::from_ne_bytes(*eight) & 0x8080_8080_8080_8080 != 0 {
            return None;
        }
        self.rest = rest;
        Some(*eight)
    }
}

// These take and give slices, so that a `Scan` can stay in registers.

fn long_varint(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (mut value, mut rest) = (0, bytes);
    for shift in [0, 7, 14, 21] {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        value |= u32::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some((value, rest));
        }
    }
    let (byte, rest) = rest.split_first()?;
    Some((value | u32::from(*byte) << 28, rest))
}

fn long_varlong(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut rest) = (0, bytes);
    for shift in [0, 7, 14, 21, 28] {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some((value, rest));
        }
    }
    let (high, rest) = long_varint(rest)?;
    Some((value | u64::from(high) << 35, rest))
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
