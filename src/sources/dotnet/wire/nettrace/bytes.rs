//! A read position in a whole block. Readers return `None` when bytes are missing.

use crate::sources::dotnet::wire::Utf16;

/// Bytes that are still to be read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bytes<'a>(&'a [u8]);

/// The bits of eight bytes of which the last byte of a number has none.
const ENDS: u64 = 0x8080_8080_8080_8080;

/// A number and the bytes behind it.
#[cold]
fn long(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, bytes.get(i + 1..)?));
        }
    }
    None
}

/// A number of at most four bytes at the start of a word, and its length: most have one or two.
#[inline(always)]
const fn short(word: u32) -> Option<(u32, usize)> {
    Some(if word & 0x80 == 0 {
        (word & 0x7f, 1)
    } else if word & 0x8000 == 0 {
        (word & 0x7f | word >> 1 & 0x3f80, 2)
    } else if word & 0x80_0000 == 0 {
        (word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000, 3)
    } else if word & 0x8000_0000 == 0 {
        (word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000 | word >> 3 & 0xfe0_0000, 4)
    } else {
        return None;
    })
}

/// Short numbers one behind the other in eight bytes: they are read without a look at the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    bits: u64,
    /// Bytes read. More than eight: the last numbers are not whole.
    pub(super) used: usize,
}

impl Word {
    pub(super) const fn new(bytes: [u8; 8]) -> Self {
        Self { bits: u64::from_le_bytes(bytes), used: 0 }
    }

    /// The next number; `None`: it has more than four bytes.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is meant")]
    pub(super) const fn var(&mut self) -> Option<u32> {
        let Some((value, length)) = short(self.bits as u32) else { return None };
        self.bits >>= 8 * length;
        self.used += length;
        Some(value)
    }
}

macro_rules! integers {
    ($($name:ident),*) => {$(
        #[inline]
        pub(super) fn $name(&mut self) -> Option<$name> {
            let (raw, rest) = self.0.split_first_chunk()?;
            self.0 = rest;
            Some($name::from_le_bytes(*raw))
        }
    )*};
}

impl<'a> Bytes<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// All that is left.
    pub(super) const fn rest(self) -> &'a [u8] {
        self.0
    }

    /// Bytes left.
    pub(super) const fn len(self) -> usize {
        self.0.len()
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    pub(super) fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(taken)
    }

    integers!(u8, u16, u32, u64);

    /// Takes `n` bytes behind `skipped` ones.
    #[inline]
    pub(super) fn behind(&mut self, skipped: usize, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.get(skipped..)?.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next bytes, which are not taken.
    #[inline]
    pub(super) const fn first<const N: usize>(self) -> Option<&'a [u8; N]> {
        self.0.first_chunk()
    }

    /// 7 bits a byte, the lowest first; at most ten bytes.
    #[inline]
    pub(super) fn var64(&mut self) -> Option<u64> {
        if let Some((word, _)) = self.0.split_first_chunk()
            && let Some((value, length)) = short(u32::from_le_bytes(*word))
        {
            self.0 = self.0.get(length..)?;
            return Some(value.into());
        }
        self.long()
    }

    /// Any number.
    #[inline]
    fn long(&mut self) -> Option<u64> {
        // The bytes go by value: the position of a caller stays in registers.
        let (value, rest) = long(self.0)?;
        self.0 = rest;
        Some(value)
    }

    /// Passes over a number.
    #[inline]
    pub(super) fn skip_var(&mut self) -> Option<()> {
        if let Some((word, _)) = self.0.split_first_chunk() {
            let ends = !u64::from_le_bytes(*word) & ENDS;
            if ends != 0 {
                self.0 = self.0.get(ends.trailing_zeros() as usize / 8 + 1..)?;
                return Some(());
            }
        }
        self.long().map(drop)
    }

    /// As [`var64`](Self::var64), modulo 2³².
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "modulo is what is meant")]
    pub(super) fn var32(&mut self) -> Option<u32> {
        self.var64().map(|v| v as u32)
    }

    /// UTF-16 up to a NUL.
    pub(super) fn text16(&mut self) -> Option<Utf16<'a>> {
        let (text, rest) = Utf16::split(self.0)?;
        self.0 = rest;
        Some(text)
    }

    /// Length and UTF-8.
    pub(super) fn text8(&mut self) -> Option<&'a [u8]> {
        let length = self.var32()?;
        self.take(length as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn variable_integers_have_at_most_ten_bytes() {
        let mut b = Bytes::new(&[0x7f, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x80]);
        assert_eq!((b.var64(), b.var64(), b.var32()), (Some(127), Some(128), Some(u32::MAX)));
        assert_eq!((b.var64(), b.len()), (None, 1));
        let most = [&[0xff; 9][..], &[1]].concat();
        assert_eq!(Bytes::new(&most).var64(), Some(u64::MAX));
        assert_eq!(Bytes::new(&[0xff; 11]).var64(), None);
    }

    #[test]
    fn numbers_of_all_lengths_are_read_and_skipped() {
        let mut seed = 1_u64;
        for bits in (0..=64).chain(0..=64) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = if bits == 0 { 0 } else { (seed | 1 << 63) >> (64 - bits) };
            let (mut wire, mut left) = (Vec::new(), value);
            while left >= 0x80 {
                wire.push(left.to_le_bytes()[0] | 0x80);
                left >>= 7;
            }
            wire.push(left.to_le_bytes()[0]);
            for behind in 0..10 {
                let all = [&wire[..], &[0x85; 9][..behind]].concat();
                let mut b = Bytes::new(&all);
                assert_eq!((b.var64(), b.len()), (Some(value), behind), "{value:x}");
                if let Some((bytes, _)) = all.split_first_chunk() {
                    let mut word = Word::new(*bytes);
                    let expected = (wire.len() <= 4).then_some(value);
                    assert_eq!(word.var().map(u64::from), expected, "{value:x}");
                    assert!(expected.is_none() || word.used == wire.len(), "{value:x}");
                }
                let mut b = Bytes::new(&all);
                assert_eq!((b.skip_var(), b.len()), (Some(()), behind), "{value:x}");
            }
            for cut in 0..wire.len() {
                let mut b = Bytes::new(&wire[..cut]);
                assert_eq!((b.var64(), b.skip_var(), b.len()), (None, None, cut), "{value:x}");
            }
        }
    }

    #[test]
    fn short_reads_take_nothing() {
        let mut b = Bytes::new(&[1, 2, 3]);
        assert_eq!((b.u32(), b.take(4), b.u16(), b.len()), (None, None, Some(0x201), 1));
        assert!(b.text16().is_none() && Bytes::new(&[5, b'a']).text8().is_none());
    }
}
