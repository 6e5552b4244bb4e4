//! Numbers of a record that is in front of the input, read without a test of what is left for each.

use super::scan::Numbers;

/// Bytes of a window: nearly all calls have shorter numbers.
pub(super) const WINDOW: usize = 64;

/// The beginning of an input, with zeros behind its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    bytes: &'a [u8; WINDOW],
    at: usize,
}

impl<'a> Window<'a> {
    pub(super) const fn new(bytes: &'a [u8; WINDOW]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far; `None` if they are not all in the window, and the numbers wrong.
    #[inline(always)]
    pub(super) fn read(self) -> Option<usize> {
        (self.at <= WINDOW).then_some(self.at)
    }

    #[inline(always)]
    fn byte(&mut self) -> u32 {
        // Behind the end it begins again, which `read` tells.
        let byte = self.bytes.get(self.at % WINDOW).copied().unwrap_or_default();
        self.at += 1;
        byte.into()
    }

    /// The rest of a number of at most 28 bits; an error has the bits so far.
    #[inline(always)]
    fn short(&mut self) -> Result<u32, u32> {
        let mut value = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.byte();
            value |= (byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(value)
    }
}

impl Numbers for Window<'_> {
    #[inline(always)]
    fn varint(&mut self) -> Option<u32> {
        Some(self.short().unwrap_or_else(|low| low | self.byte() << 28))
    }

    /// `None` if it has more than 28 bits.
    #[inline(always)]
    fn varlong(&mut self) -> Option<u64> {
        self.short().ok().map(u64::from)
    }

    #[inline(always)]
    fn eight_small(&mut self) -> Option<[u8; 8]> {
        let eight = self.bytes.get(self.at..)?.first_chunk()?;
        if u64::from_ne_bytes(*eight) & 0x8080_8080_8080_8080 != 0 {
            return None;
        }
        self.at += 8;
        Some(*eight)
    }
}

/// The beginning of a short input.
pub(super) fn padded(input: &[u8]) -> [u8; WINDOW] {
    let mut bytes = [0; WINDOW];
    bytes.iter_mut().zip(input).for_each(|(to, from)| *to = *from);
    bytes
}
