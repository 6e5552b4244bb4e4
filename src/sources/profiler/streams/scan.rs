//! Reading inside streams (docs/protocols/java-profiler.md B.1): numbers, strings, and tokens that
//! a payload cuts off. This file is the only byte access of the decoders.
//!
//! | name | bytes |
//! |---|---|
//! | varint | 7 bits a byte, low group first, high bit: more. At most 5 bytes; the 5th has bits 28..=31, and its high bit is ignored |
//! | varlong | 5 such bytes have bits 0..=34; if the 5th has its high bit, a varint with bits 35..=63 follows |
//! | zigzag | varint `u`, which means `(u >>> 1) xor -(u & 1)` |
//! | string | varint with the number of UTF-16 units, then the units, big-endian |
//!
//! Reading a number that is cut short returns `None` and consumes nothing. Payloads cut records
//! anywhere: a [`Machine`] reads whole tokens, and [`Resume`] keeps the start of a cut token, less
//! than [`limits::TOKEN`] bytes, until the next payload.

use std::fmt::{self, Write};

use super::error::DecodeError;
use crate::sources::profiler::limits;

/// A read position in a slice of a stream's file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    rest: &'a [u8],
    /// File offset of the slice's end.
    end: u64,
}

impl<'a> Scan<'a> {
    /// Reads `bytes`, which begin at `offset` of the file.
    pub(crate) const fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, end: offset.wrapping_add(bytes.len() as u64) }
    }

    /// File offset of the next byte.
    pub(crate) const fn offset(&self) -> u64 {
        self.end.wrapping_sub(self.rest.len() as u64)
    }

    /// The unread bytes.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes, or as many as there are.
    #[inline(always)]
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
}

/// The numbers of a record. `None`: a number is not whole, or of a size that the reader leaves to
/// another one.
pub(crate) trait Numbers: Copy {
    fn varint(&mut self) -> Option<u32>;

    #[inline(always)]
    fn zigzag(&mut self) -> Option<i32> {
        let raw = self.varint()?;
        Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    /// A varlong as a 64-bit pattern.
    fn varlong(&mut self) -> Option<u64>;

    /// Eight varlongs at once; `None` unless each is one byte.
    fn eight_small(&mut self) -> Option<[u8; 8]>;
}

impl Numbers for Scan<'_> {
    /// Most varints are one byte.
    #[inline(always)]
    fn varint(&mut self) -> Option<u32> {
        match self.rest {
            [a, rest @ ..] if *a < 0x80 => {
                self.rest = rest;
                Some(u32::from(*a))
            }
            [a, b, rest @ ..] if *b < 0x80 => {
                self.rest = rest;
                Some(u32::from(*a & 0x7f) | u32::from(*b) << 7)
            }
            [a, b, c, rest @ ..] if *c < 0x80 => {
                self.rest = rest;
                Some(u32::from(*a & 0x7f) | u32::from(*b & 0x7f) << 7 | u32::from(*c) << 14)
            }
            _ => {
                let (value, rest) = long_varint(self.rest)?;
                self.rest = rest;
                Some(value)
            }
        }
    }

    #[inline(always)]
    fn varlong(&mut self) -> Option<u64> {
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

    #[inline(always)]
    fn eight_small(&mut self) -> Option<[u8; 8]> {
        let (eight, rest) = self.rest.split_first_chunk()?;
        if u64::from_ne_bytes(*eight) & 0x8080_8080_8080_8080 != 0 {
            return None;
        }
        self.rest = rest;
        Some(*eight)
    }
}

// Slices as arguments and results let a `Scan` stay in registers.

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

/// Most units of [`Text::ascii`].
pub(crate) const ASCII: usize = 64;

/// A string as encoded. Surrogates may be unpaired, because agents cut strings by unit.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Text<'a> {
    utf16: &'a [u8],
    units: u32,
}

impl<'a> Text<'a> {
    /// `utf16`: the whole string or its start; `units`: its whole length.
    pub(crate) const fn new(utf16: &'a [u8], units: u32) -> Self {
        Self { utf16, units }
    }

    /// Length in UTF-16 units, as the agent sent it.
    #[must_use]
    pub const fn units(self) -> u32 {
        self.units
    }

    /// The string is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.units == 0
    }

    /// A limit cut the end off.
    #[must_use]
    pub const fn is_cut(self) -> bool {
        (self.utf16.len() as u64) < 2 * self.units as u64
    }

    /// The kept units, as UTF-16, big-endian.
    #[must_use]
    pub const fn as_utf16(self) -> &'a [u8] {
        self.utf16
    }

    /// The kept characters; U+FFFD stands for an unpaired surrogate.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        let (units, _) = self.utf16.as_chunks();
        char::decode_utf16(units.iter().map(|u| u16::from_be_bytes(*u)))
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Whether the whole string equals `other`.
    #[must_use]
    pub fn is(self, other: &str) -> bool {
        !self.is_cut() && self.chars().eq(other.chars())
    }

    /// The value of a decimal number, as tags with numbers contain it.
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

    /// The kept characters as bytes in `room`, if they are ASCII without a NUL and have room there.
    #[inline]
    pub(crate) fn ascii(self, room: &mut [u8; ASCII]) -> Option<&[u8]> {
        const HIGH: u64 = 0x8000_8000_8000_8000;
        const NOT_ASCII: u64 = 0xff80_ff80_ff80_ff80;
        let (out, _) = room.split_at_mut_checked(self.utf16.len() / 2)?;
        let (fours, rest) = self.utf16.as_chunks();
        let (narrow, last) = out.as_chunks_mut();
        let (mut wrong, mut narrow) = (0, narrow.iter_mut());
        for four in fours {
            let four = u64::from_be_bytes(*four);
            // Of ASCII, only a NUL gets a high bit when 1 is taken from each unit.
            wrong |= four & NOT_ASCII | four.wrapping_sub(0x0001_0001_0001_0001) & HIGH;
            let pairs = (four | four >> 8) & 0x0000_ffff_0000_ffff;
            let [.., a, b, c, d] = (pairs | pairs >> 16).to_be_bytes();
            if let Some(to) = narrow.next() {
                *to = [a, b, c, d];
            }
        }
        let mut last = last.iter_mut();
        for [high, low] in rest.as_chunks().0 {
            wrong |= u64::from(*high != 0 || !(1..0x80).contains(low));
            if let Some(to) = last.next() {
                *to = *low;
            }
        }
        (wrong == 0).then_some(out)
    }

    /// Appends the kept characters, as UTF-8.
    pub fn push_to(self, out: &mut String) {
        const LANES: usize = 32;
        let (mut units, _) = self.utf16.as_chunks::<2>();
        out.reserve(units.len());
        // Words, names and URLs are usually ASCII: many units are narrowed at a time.
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

/// Reads one string that may come in pieces. Units beyond the limit are skipped, not stored.
#[derive(Debug, Default)]
pub(crate) struct TextReader {
    units: u32,
    /// Bytes left to read.
    left: usize,
    /// Bytes left to keep.
    keep: usize,
    kept: Vec<u8>,
}

impl TextReader {
    /// Begins a string of `units`, of which at most `keep` are kept.
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

    /// The string, once it has been read to its end. Borrowed from the input if it came in one
    /// piece.
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

    /// Clears the string after use.
    pub(crate) fn end(&mut self) {
        shrink(&mut self.kept);
    }
}

/// Clears a buffer, and frees its memory if it is larger than [`limits::IDLE_BUFFER`].
pub(crate) fn shrink(buffer: &mut Vec<u8>) {
    if buffer.capacity() > limits::IDLE_BUFFER {
        *buffer = Vec::new();
    } else {
        buffer.clear();
    }
}

/// A state machine that decodes one kind of stream. `V` receives its records.
pub(crate) trait Machine<V: ?Sized> {
    /// Reads tokens until the next one is not whole. [`limits::TOKEN`] bytes always contain a whole
    /// token.
    ///
    /// The input is gone after the return, so the machine copies what it still needs.
    fn step(&mut self, scan: &mut Scan<'_>, visitor: &mut V) -> Result<(), DecodeError>;

    /// True between records: the stream may end here.
    fn at_boundary(&self) -> bool;
}

/// Feeds a machine with the payloads of one file.
#[derive(Debug)]
pub(crate) struct Resume<M> {
    pub(crate) machine: M,
    /// The start of the token that the last payload has cut.
    tail: Vec<u8>,
    /// File offset behind the last whole token.
    taken: u64,
}

impl<M> Resume<M> {
    pub(crate) const fn new(machine: M) -> Self {
        Self { machine, tail: Vec::new(), taken: 0 }
    }

    /// Frees memory that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        self.tail.shrink_to_fit();
    }

    /// File offset of the token that is being read, or of the error.
    pub(crate) const fn offset(&self) -> u64 {
        self.taken
    }

    /// True if the file may end here.
    pub(crate) fn is_whole<V: ?Sized>(&self) -> bool
    where
        M: Machine<V>,
    {
        self.tail.is_empty() && self.machine.at_boundary()
    }

    /// Decodes the next payload of the file. Must not be called after an error.
    pub(crate) fn feed<V: ?Sized>(
        &mut self,
        mut bytes: &[u8],
        visitor: &mut V,
    ) -> Result<(), DecodeError>
    where
        M: Machine<V>,
    {
        while !self.tail.is_empty() {
            // The cut token, joined with as many bytes as a token can have.
            let held = self.tail.len();
            let (joined, rest) = bytes.split_at(bytes.len().min(limits::TOKEN - held));
            self.tail.extend_from_slice(joined);
            let taken = Self::run(&mut self.machine, &mut self.taken, &self.tail, visitor)?;
            if let Some(into) = taken.checked_sub(held) {
                self.tail.clear();
                (_, bytes) = bytes.split_at(into);
            } else if joined.is_empty() {
                return if bytes.is_empty() { Ok(()) } else { Err(DecodeError::Token) };
            } else {
                self.tail.drain(..taken);
                bytes = rest;
            }
        }
        let taken = Self::run(&mut self.machine, &mut self.taken, bytes, visitor)?;
        let (_, cut) = bytes.split_at(taken);
        if cut.len() > limits::TOKEN {
            return Err(DecodeError::Token);
        }
        if !cut.is_empty() {
            self.tail.reserve_exact(limits::TOKEN);
            self.tail.extend_from_slice(cut);
        }
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
