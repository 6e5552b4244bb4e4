//! Strings inside streams: a varint with the number of UTF-16 units, then that many units,
//! big-endian (spec B.1).

use std::fmt::{self, Write};

use super::record::Corrupt;
use super::scan::Scan;
use crate::sources::profiler::limits;

/// A string as it is on the wire. Surrogates may be unpaired: agents cut by unit.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Text<'a> {
    utf16: &'a [u8],
    units: u32,
}

impl<'a> Text<'a> {
    /// `utf16` is the whole string or its beginning.
    pub(crate) const fn new(utf16: &'a [u8], units: u32) -> Self {
        Self { utf16, units }
    }

    /// UTF-16 units that the agent sent.
    #[must_use]
    pub const fn units(self) -> u32 {
        self.units
    }

    /// The string is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.units == 0
    }

    /// The end is missing, because of a limit.
    #[must_use]
    pub const fn is_cut(self) -> bool {
        (self.utf16.len() as u64) < 2 * self.units as u64
    }

    /// What there is of it, as UTF-16, big-endian.
    #[must_use]
    pub const fn as_utf16(self) -> &'a [u8] {
        self.utf16
    }

    /// Its characters; U+FFFD stands for an unpaired surrogate.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        let (units, _) = self.utf16.as_chunks();
        char::decode_utf16(units.iter().map(|u| u16::from_be_bytes(*u)))
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The whole string is `other`.
    #[must_use]
    pub fn is(self, other: &str) -> bool {
        !self.is_cut() && self.chars().eq(other.chars())
    }

    /// The decimal number that it is, as tags with numbers have it.
    #[must_use]
    pub fn number(self) -> Option<u64> {
        if self.is_cut() || !(1..=20).contains(&self.units) {
            return None;
        }
        let (units, _) = self.utf16.as_chunks();
        units.iter().try_fold(0u64, |n, unit| {
            let digit = u16::from_be_bytes(*unit).wrapping_sub(b'0'.into());
            if digit > 9 {
                return None;
            }
            n.checked_mul(10)?.checked_add(digit.into())
        })
    }

    /// Appends it, as UTF-8.
    pub fn push_to(self, out: &mut String) {
        const LANES: usize = 32;
        let (mut units, _) = self.utf16.as_chunks::<2>();
        out.reserve(units.len());
        // Words, names and URLs are ASCII as a rule: narrowed many units at a time.
        while !units.is_empty() {
            let mut ascii = [0; LANES];
            let (lanes, rest) = units.split_at(units.len().min(LANES));
            let mut seen = 0;
            for (byte, unit) in ascii.iter_mut().zip(lanes) {
                let [high, low] = *unit;
                seen |= high | low & 0x80;
                *byte = low;
            }
            let (ascii, _) = ascii.split_at(lanes.len());
            match std::str::from_utf8(ascii) {
                Ok(ascii) if seen == 0 => out.push_str(ascii),
                _ => break,
            }
            units = rest;
        }
        Self::new(units.as_flattened(), 0).chars().for_each(|c| out.push(c));
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|c| f.write_char(c))
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())?;
        if self.is_cut() { write!(f, "… of {}", self.units) } else { Ok(()) }
    }
}

/// Collects one string that may come in pieces. What is over the limit is passed over, so nothing
/// long is ever held.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    units: u32,
    /// Bytes of it that are still to come.
    left: usize,
    /// Bytes of it that are still to be kept.
    keep: usize,
    kept: Vec<u8>,
}

impl Reader {
    /// A string of `units` follows, of which at most `keep` are of interest.
    pub(crate) fn begin(&mut self, units: u32, keep: u32) -> Result<(), Corrupt> {
        if units > limits::UNITS {
            return Err(Corrupt::Units(units));
        }
        self.units = units;
        self.left = 2 * units as usize;
        self.keep = 2 * units.min(keep) as usize;
        self.kept.clear();
        Ok(())
    }

    /// The string, once all of it has been read. Borrowed from the input if it is all there.
    pub(crate) fn take<'s, 'b: 's>(&'s mut self, scan: &mut Scan<'b>) -> Option<Text<'s>> {
        let piece = scan.up_to(self.left);
        self.left -= piece.len();
        let (keep, _) = piece.split_at(self.keep.min(piece.len()));
        if self.left == 0 && self.kept.is_empty() && keep.len() == self.keep {
            self.keep = 0;
            return Some(Text::new(keep, self.units));
        }
        self.keep -= keep.len();
        self.kept.extend_from_slice(keep);
        (self.left == 0).then_some(Text::new(&self.kept, self.units))
    }

    /// The string has been used.
    pub(crate) fn end(&mut self) {
        shrink(&mut self.kept);
    }
}

/// Empties a buffer, and gives its memory back if it has grown.
pub(crate) fn shrink(buffer: &mut Vec<u8>) {
    if buffer.capacity() > limits::IDLE_BUFFER {
        *buffer = Vec::new();
    } else {
        buffer.clear();
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
