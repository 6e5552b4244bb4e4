//! A read position in a whole block. Readers return `None` when bytes are missing.

use crate::sources::dotnet::utf16::Utf16;

/// Bytes that are still to be read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bytes<'a>(&'a [u8]);

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

    /// 7 bits a byte, the lowest first; at most ten bytes.
    #[inline]
    pub(super) fn var64(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        if first < 0x80 {
            self.0 = self.0.get(1..)?;
            return Some(u64::from(first));
        }
        self.long()
    }

    fn long(&mut self) -> Option<u64> {
        let mut value = 0;
        for (i, &byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.0 = self.0.get(i + 1..)?;
                return Some(value);
            }
        }
        None
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
    fn short_reads_take_nothing() {
        let mut b = Bytes::new(&[1, 2, 3]);
        assert_eq!((b.u32(), b.take(4), b.u16(), b.len()), (None, None, Some(0x201), 1));
        assert!(b.text16().is_none() && Bytes::new(&[5, b'a']).text8().is_none());
    }
}
