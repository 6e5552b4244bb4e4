//! A read position in one buffer, with the bases that make its values absolute
//! (docs/protocols/mono-mlpd.md 2).

use super::{BadBuffer, Stop};
use crate::sources::mono::limits;

/// The longest number, in bytes.
const NUMBER: usize = 10;

/// Reads the values of events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes of the buffer behind `bytes`.
    beyond: usize,
    pub(super) version: u8,
    pointer: u64,
    object: u64,
    /// The method that was read last.
    pub(super) method: u64,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(
        bytes: &'a [u8],
        beyond: usize,
        version: u8,
        (pointer, object, method): (u64, u64, u64),
    ) -> Self {
        Self { bytes, at: 0, beyond, version, pointer, object, method }
    }

    /// Bytes read.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// True when all is read.
    pub(super) const fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// A count of items of at least so many bytes, which must fit into the buffer.
    pub(super) fn count(&mut self, bytes: u64) -> Result<u64, Stop> {
        let count = self.unsigned()?;
        let room = (self.bytes.len() - self.at + self.beyond) as u64;
        if count.saturating_mul(bytes) > room {
            return Err(BadBuffer::Truncated.into());
        }
        Ok(count)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        let byte = *self.bytes.get(self.at).ok_or(Stop::Short)?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn unsigned(&mut self) -> Result<u64, Stop> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.number().map(|(value, _)| value),
        }
    }

    #[inline]
    pub(super) fn signed(&mut self) -> Result<i64, Stop> {
        if let Some(&byte) = self.bytes.get(self.at)
            && byte < 0x80
        {
            self.at += 1;
            return Ok(i64::from((byte << 1).cast_signed() >> 1));
        }
        let (value, bits) = self.number()?;
        let unused = 64_u32.saturating_sub(bits);
        Ok((value << unused).cast_signed() >> unused)
    }

    /// A number and the bits that it was written with.
    #[inline]
    fn number(&mut self) -> Result<(u64, u32), Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if let Some(chunk) = rest.first_chunk() {
            let word = u64::from_le_bytes(*chunk);
            let ends = !word & 0x8080_8080_8080_8080;
            if ends != 0 {
                // Bits up to the highest of the last byte.
                let bits = ends.trailing_zeros() + 1;
                let word = word & (u64::MAX >> (64 - bits)) & 0x7f7f_7f7f_7f7f_7f7f;
                let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
                let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
                let word = (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4);
                self.at += (bits / 8) as usize;
                return Ok((word, bits / 8 * 7));
            }
        }
        self.slow(rest)
    }

    #[inline(never)]
    fn slow(&mut self, rest: &[u8]) -> Result<(u64, u32), Stop> {
        let (mut value, mut bits) = (0, 0);
        for (i, &byte) in rest.iter().take(NUMBER).enumerate() {
            value |= u64::from(byte & 0x7f) << bits;
            bits += 7;
            if byte < 0x80 {
                self.at += i + 1;
                return Ok((value, bits));
            }
        }
        Err(if rest.len() < NUMBER { Stop::Short } else { BadBuffer::Number.into() })
    }

    /// An address or id.
    #[inline]
    pub(super) fn pointer(&mut self) -> Result<u64, Stop> {
        Ok(self.pointer.wrapping_add_signed(self.signed()?))
    }

    /// The address of an object.
    #[inline]
    pub(super) fn object(&mut self) -> Result<u64, Stop> {
        Ok(self.object.wrapping_add_signed(self.signed()?) << 3)
    }

    /// The id of a method.
    #[inline]
    pub(super) fn method(&mut self) -> Result<u64, Stop> {
        self.method = self.method.wrapping_add_signed(self.signed()?);
        Ok(self.method)
    }

    /// A text without its NUL.
    pub(super) fn text(&mut self) -> Result<&'a [u8], Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let near = rest.get(..=limits::MLPD_TEXT).unwrap_or(rest);
        match memchr::memchr(0, near) {
            Some(length) => {
                self.at += length + 1;
                Ok(near.get(..length).unwrap_or_default())
            }
            None if near.len() > limits::MLPD_TEXT => Err(BadBuffer::Text.into()),
            None => Err(Stop::Short),
        }
    }

    pub(super) fn double(&mut self) -> Result<f64, Stop> {
        let chunk = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk).ok_or(Stop::Short)?;
        self.at += chunk.len();
        Ok(f64::from_le_bytes(*chunk))
    }

    /// The methods of a backtrace.
    #[inline]
    pub(super) fn frames(&mut self, frames: &mut Vec<u64>) -> Result<(), Stop> {
        self.addresses(frames, Self::method)
    }

    /// Native addresses.
    pub(super) fn ips(&mut self, ips: &mut Vec<u64>) -> Result<(), Stop> {
        self.addresses(ips, Self::pointer)
    }

    #[inline]
    fn addresses(
        &mut self,
        addresses: &mut Vec<u64>,
        read: impl Fn(&mut Self) -> Result<u64, Stop>,
    ) -> Result<(), Stop> {
        let count = self.unsigned()?;
        if count > limits::MLPD_FRAMES {
            return Err(BadBuffer::Frames(count).into());
        }
        addresses.clear();
        for _ in 0..count {
            addresses.push(read(self)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(bytes: &[u8]) -> Cursor<'_> {
        Cursor::new(bytes, 0, 17, (0x1000, 2, 100))
    }

    /// Both ways of reading agree on each length, with and without bytes behind.
    #[test]
    fn numbers_of_each_length() {
        let encode = |value: u64, length: usize| {
            let digit = |i: usize| {
                let low = value.checked_shr(7 * u32::try_from(i).unwrap()).unwrap_or(0) & 0x7f;
                u8::try_from(low).unwrap() | if i + 1 < length { 0x80 } else { 0 }
            };
            (0..length).map(digit).collect::<Vec<_>>()
        };
        for length in 1..=NUMBER {
            let bits = 7 * u32::try_from(length).unwrap();
            let mask = if bits < 64 { (1 << bits) - 1 } else { u64::MAX };
            for value in [0, 1, 0x3f, 0x40, 0x0123_4567_89ab_cdef & mask, mask, mask >> 1] {
                let value = value & mask;
                let sign = bits < 64 && value >> (bits - 1) == 1;
                let signed = if sign { value | !mask } else { value }.cast_signed();
                for behind in [0, 1, 8] {
                    let mut bytes = encode(value, length);
                    bytes.extend(vec![0xff; behind]);
                    let mut c = cursor(&bytes);
                    assert_eq!((c.unsigned(), c.position()), (Ok(value), length));
                    let mut c = cursor(&bytes);
                    assert_eq!((c.signed(), c.position()), (Ok(signed), length));
                    let cut = &bytes[..length - 1];
                    assert_eq!(cursor(cut).unsigned(), Err(Stop::Short));
                }
            }
        }
        assert_eq!(cursor(&[0xff; 10]).signed(), Err(BadBuffer::Number.into()));
        assert_eq!(cursor(&[0xff; 9]).signed(), Err(Stop::Short));
    }

    #[test]
    fn bases_wrap() {
        assert_eq!(cursor(&[0x7f]).pointer(), Ok(0xfff));
        assert_eq!(cursor(&[0x7d]).object(), Ok(u64::MAX << 3));
        let mut c = cursor(&[1, 1, 2, 0x7f, 0x7e]);
        let mut frames = Vec::new();
        assert_eq!((c.method(), c.method(), c.frames(&mut frames)), (Ok(101), Ok(102), Ok(())));
        assert_eq!((frames, c.method), (vec![101, 99], 99));
    }

    #[test]
    fn texts_end_within_their_limit() {
        let mut c = cursor(b"ab\0\0c");
        assert_eq!(
            (c.text(), c.text(), c.text()),
            (Ok(&b"ab"[..]), Ok(&b""[..]), Err(Stop::Short))
        );
        let mut long = vec![b'x'; limits::MLPD_TEXT];
        assert_eq!(cursor(&long).text(), Err(Stop::Short));
        long.push(0);
        assert_eq!(cursor(&long).text().map(<[u8]>::len), Ok(limits::MLPD_TEXT));
        *long.last_mut().unwrap() = b'x';
        assert_eq!(cursor(&long).text(), Err(BadBuffer::Text.into()));
    }
}
