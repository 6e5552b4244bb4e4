//! Reading inside streams (spec B.1): the only byte access of the decoders.
//!
//! | name | bytes |
//! |---|---|
//! | varint | 7 bits a byte, low group first, high bit: more. At most 5; the 5th holds bits 28..=31, whatever its high bit says |
//! | varlong | 5 such bytes give bits 0..=34; if the 5th has its high bit, a varint with bits 35..=63 follows |
//! | zigzag | varint `u`, which means `(u >>> 1) xor -(u & 1)` |
//!
//! A varint that is cut short is `None`, and nothing has moved.

//!
//! Strings inside streams: a varint with the number of UTF-16 units, then that many units,
//! big-endian (spec B.1).

//!
//! A stream comes in payloads that cut its records anywhere (spec B). A [`Machine`] reads whole
//! tokens; what is left of a cut one, less than [`limits::TOKEN`] bytes, is kept here until more
//! has come.

use std::fmt::{self, Write};

use super::error::DecodeError;
use crate::sources::profiler::limits;

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
        // Dictionary, names and URLs are ASCII as a rule: narrowed many units at a time.
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
pub(crate) struct TextReader {
    units: u32,
    /// Bytes of it that are still to come.
    left: usize,
    /// Bytes of it that are still to be kept.
    keep: usize,
    kept: Vec<u8>,
}

impl TextReader {
    /// A string of `units` follows, of which at most `keep` are of interest.
    pub(crate) fn begin(&mut self, units: u32, keep: u32) -> Result<(), DecodeError> {
        if units > limits::UNITS {
            return Err(DecodeError::Units(units));
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

/// A decoder of one kind of stream. `V` is who takes its records.
pub(crate) trait Machine<V: ?Sized> {
    /// Reads tokens until none is whole; the state says what comes next. With [`limits::TOKEN`]
    /// bytes there always is one.
    ///
    /// Borrowed bytes are gone when it returns, so it keeps a copy of what it still needs.
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), DecodeError>;

    /// Nothing of a record has been read: the stream may end here.
    fn at_boundary(&self) -> bool;
}

/// Feeds a machine with pieces.
#[derive(Debug)]
pub(crate) struct Resume<M> {
    pub(crate) machine: M,
    tail: [u8; limits::TOKEN],
    held: usize,
    /// Bytes that the machine has taken.
    taken: u64,
}

impl<M> Resume<M> {
    pub(crate) const fn new(machine: M) -> Self {
        Self { machine, tail: [0; limits::TOKEN], held: 0, taken: 0 }
    }

    /// Bytes of the file before the token that is being read, or at which a fault shows.
    pub(crate) const fn offset(&self) -> u64 {
        self.taken
    }

    /// The file may end here.
    pub(crate) fn is_whole<V: ?Sized>(&self) -> bool
    where
        M: Machine<V>,
    {
        self.held == 0 && self.machine.at_boundary()
    }

    /// The next piece of the file. After an error there must not be another.
    pub(crate) fn feed<V: ?Sized>(
        &mut self,
        mut bytes: &[u8],
        visitor: &mut V,
    ) -> Result<(), DecodeError>
    where
        M: Machine<V>,
    {
        while self.held > 0 {
            // The cut token again, with as much behind it as a token can need.
            let held = self.held;
            let (_, free) = self.tail.split_at_mut(held);
            let joined = free.len().min(bytes.len());
            free.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            let (tail, _) = self.tail.split_at(held + joined);
            let taken = Self::run(&mut self.machine, &mut self.taken, tail, visitor)?;
            if let Some(into) = taken.checked_sub(held) {
                self.held = 0;
                (_, bytes) = bytes.split_at(into);
            } else if joined == 0 {
                return if bytes.is_empty() { Ok(()) } else { Err(DecodeError::Token) };
            } else {
                self.tail.copy_within(taken..held + joined, 0);
                self.held = held + joined - taken;
                (_, bytes) = bytes.split_at(joined);
            }
        }
        let taken = Self::run(&mut self.machine, &mut self.taken, bytes, visitor)?;
        let (_, cut) = bytes.split_at(taken);
        let (tail, _) = self.tail.split_at_mut_checked(cut.len()).ok_or(DecodeError::Token)?;
        tail.copy_from_slice(cut);
        self.held = cut.len();
        Ok(())
    }

    fn run<V: ?Sized>(
        machine: &mut M,
        offset: &mut u64,
        bytes: &[u8],
        visitor: &mut V,
    ) -> Result<usize, DecodeError>
    where
        M: Machine<V>,
    {
        let mut scan = Scan::new(bytes, *offset);
        let result = machine.step(&mut scan, visitor);
        *offset = scan.offset();
        result.map(|()| bytes.len() - scan.rest().len())
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
