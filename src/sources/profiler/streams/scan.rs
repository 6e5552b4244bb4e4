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

use super::record::Observer;
use super::{ErrorAt, Output};
use crate::sources::profiler::dictionary::Text;
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

/// A state machine that decodes one kind of stream. [`Output`] takes its
/// records.
pub(crate) trait Machine {
    /// Reads tokens until the next one is not whole. [`limits::TOKEN`] bytes always contain a whole
    /// token.
    ///
    /// The input is gone after the return, so the machine copies what it still needs.
    fn step<O: Observer + ?Sized>(
        &mut self,
        scan: &mut Scan<'_>,
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError>;

    /// True between records: the stream may end here.
    fn at_boundary(&self) -> bool;

    /// Frees memory that an idle connection does not need.
    fn rest(&mut self) {}
}

/// Feeds a machine with the payloads of one file.
#[derive(Debug)]
pub(crate) struct Resume<M> {
    pub(crate) machine: M,
    /// The start of the token that the last payload has cut.
    tail: Vec<u8>,
    /// File offset behind the last whole token, or of the error.
    taken: u64,
}

impl<M: Machine> Resume<M> {
    pub(crate) const fn new(machine: M) -> Self {
        Self { machine, tail: Vec::new(), taken: 0 }
    }

    /// Frees memory that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        self.tail.shrink_to_fit();
        self.machine.rest();
    }

    /// True if the file may end here.
    pub(crate) fn is_whole(&self) -> bool {
        self.tail.is_empty() && self.machine.at_boundary()
    }

    /// Decodes the next payload of the file. Must not be called after an error, which comes with its
    /// offset in the file.
    pub(crate) fn feed<O: Observer + ?Sized>(
        &mut self,
        bytes: &[u8],
        out: &mut Output<'_, O>,
    ) -> Result<(), ErrorAt> {
        self.decode(bytes, out).map_err(|why| (self.taken, why))
    }

    fn decode<O: Observer + ?Sized>(
        &mut self,
        mut bytes: &[u8],
        out: &mut Output<'_, O>,
    ) -> Result<(), DecodeError> {
        while !self.tail.is_empty() {
            // The cut token, joined with as many bytes as a token can have.
            let held = self.tail.len();
            let (joined, rest) = bytes.split_at(bytes.len().min(limits::TOKEN - held));
            self.tail.extend_from_slice(joined);
            let taken = Self::run(&mut self.machine, &mut self.taken, &self.tail, out)?;
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
        let taken = Self::run(&mut self.machine, &mut self.taken, bytes, out)?;
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

    fn run<O: Observer + ?Sized>(
        machine: &mut M,
        offset: &mut u64,
        bytes: &[u8],
        out: &mut Output<'_, O>,
    ) -> Result<usize, DecodeError> {
        let mut scan = Scan::new(bytes, *offset);
        let result = machine.step(&mut scan, out);
        *offset = scan.offset();
        result.map(|()| bytes.len() - scan.rest().len())
    }
}

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

/// The error that ends the decoding of a file. Other streams are not affected, and the next file of
/// the same stream is decoded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A string claims too many UTF-16 units.
    #[error("string of {0} UTF-16 units")]
    Units(u32),
    /// A phrase claims to be negative or too long.
    #[error("phrase of {0} bytes")]
    Phrase(i32),
    /// A record crosses the end of its phrase.
    #[error("record crosses the end of its phrase")]
    Crosses,
    /// An unknown version of calls.
    #[error("version {0} of calls")]
    CallsVersion(u32),
    /// A call names a thread that has not been introduced.
    #[error("thread {index} of {count}")]
    Thread {
        /// Index in the call.
        index: u32,
        /// Threads introduced so far.
        count: u32,
    },
    /// A call claims too many parameters or values.
    #[error("{0} parameters or values")]
    Claims(u32),
    /// An unknown type of a tag.
    #[error("tag of type {0}")]
    TagType(u8),
    /// An unknown version of params.
    #[error("version {0} of params")]
    ParamsVersion(u8),
    /// A token longer than `limits::TOKEN`.
    #[error("token too long")]
    Token,
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/scan.rs"]
mod tests;
