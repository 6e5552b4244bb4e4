//! Streams as files: gzip, and holes where a disk was full (docs/protocols/mono-mlpd.md 1, 4).
//!
//! ```text
//!  bytes ─▶ unzip ─▶ frames (whole buffers; holes are skipped) ─▶ Decoder ─▶ Visitor
//! ```

use bytes::{Buf, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

use super::decoder::{BUFFER, HEAD};
use super::{Decoder, GZIP, Header, MAGIC, MlpdError, Visitor};
use crate::heap_size;
use crate::model::HeapSize;
use crate::sources::mono::limits;

/// As [`Decoder`], for files: gzip streams are unzipped, and what lies between two buffers is
/// skipped. A buffer is decoded when another one follows it, or when all its events are whole: a cut
/// one, whose length leads into others, is part of the hole.
#[derive(Debug, Default)]
pub struct FileDecoder {
    unzip: Unzip,
    frames: Frames,
}

heap_size!(FileDecoder { unzip, frames });

impl FileDecoder {
    /// Decodes and consumes `input`; a file that grows continues with the next call.
    ///
    /// # Errors
    /// Bytes that are no such file. What came before them has been handed over; the error stays.
    pub fn feed(&mut self, input: &mut BytesMut, v: &mut impl Visitor) -> Result<(), MlpdError> {
        if self.unzip.is_plain(input) {
            return self.frames.feed(input, v);
        }
        while let Some(bytes) = self.unzip.next(input)? {
            self.frames.bytes.extend_from_slice(bytes);
            self.frames.feed(&mut BytesMut::new(), v)?;
        }
        Ok(())
    }

    /// The decoder behind the file: events and bytes without holes.
    #[must_use]
    pub const fn decoder(&self) -> &Decoder {
        &self.frames.decoder
    }

    /// The file is a gzip stream.
    #[must_use]
    pub const fn zipped(&self) -> bool {
        !matches!(self.unzip.state, State::Unknown | State::Plain)
    }
}

/// Finds buffers and hands them to the decoder.
#[derive(Debug, Default)]
struct Frames {
    /// Bytes from the next buffer on.
    bytes: BytesMut,
    decoder: Decoder,
    /// Bytes of a buffer that is too long to be kept: they are decoded as they come.
    long: usize,
    /// Bytes of the hole so far.
    hole: u64,
}

heap_size!(Frames { bytes, decoder });

/// What the start of `bytes` is.
enum Start {
    /// A buffer of so many bytes, with its header.
    Buffer(usize),
    /// A buffer too long to be kept, of so many bytes.
    Long(usize),
    /// More bytes are needed.
    Short,
    /// The header of another stream.
    Header,
    Hole,
}

impl Frames {
    fn feed(&mut self, input: &mut BytesMut, v: &mut impl Visitor) -> Result<(), MlpdError> {
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, input);
        } else {
            self.bytes.extend_from_slice(input);
            input.clear();
        }
        if self.decoder.header().is_none() {
            let Some((_, length)) = Header::parse(&self.bytes)? else { return Ok(()) };
            self.pass(length, v)?;
        }
        loop {
            if self.long > 0 {
                let bytes = self.long.min(self.bytes.len());
                self.long -= bytes;
                self.pass(bytes, v)?;
                if self.long > 0 {
                    return Ok(());
                }
            }
            match self.start() {
                Start::Buffer(length) => {
                    self.end_hole(v);
                    self.pass(length, v)?;
                }
                Start::Long(length) => {
                    self.end_hole(v);
                    self.long = length;
                }
                Start::Header => {
                    let length = self.bytes.len();
                    return self.pass(length, v);
                }
                Start::Hole => self.skip(),
                Start::Short => return Ok(()),
            }
        }
    }

    /// Decodes the first bytes.
    fn pass(&mut self, length: usize, v: &mut impl Visitor) -> Result<(), MlpdError> {
        let mut bytes = self.bytes.split_to(length.min(self.bytes.len()));
        self.decoder.feed(&mut bytes, v)?;
        if !bytes.is_empty() {
            // The incomplete end of a piece of a long buffer.
            self.long += bytes.len();
            bytes.unsplit(std::mem::take(&mut self.bytes));
            self.bytes = bytes;
        }
        Ok(())
    }

    fn end_hole(&mut self, v: &mut impl Visitor) {
        if self.hole > 0 {
            v.hole(std::mem::take(&mut self.hole));
        }
    }

    fn start(&self) -> Start {
        let bytes = &self.bytes[..];
        let begins = |at: usize, with: &[u8]| {
            let there = bytes.get(at..).unwrap_or_default();
            with.starts_with(there.get(..with.len()).unwrap_or(there))
        };
        if bytes.len() < BUFFER.len() && (begins(0, &BUFFER) || begins(0, &MAGIC)) {
            return Start::Short;
        }
        if begins(0, &MAGIC) && self.hole == 0 {
            return Start::Header;
        }
        let Some(head) = bytes.get(..HEAD) else {
            return if begins(0, &BUFFER) { Start::Short } else { Start::Hole };
        };
        let length = head.get(4..8).and_then(<[u8]>::first_chunk).map(|l| u32::from_le_bytes(*l));
        let Some(length) = length.filter(|l| begins(0, &BUFFER) && *l <= limits::MLPD_BUFFER)
        else {
            return Start::Hole;
        };
        let end = HEAD + length as usize;
        if end > limits::MLPD_KEPT {
            // In a hole only a buffer that can be checked ends it.
            return if self.hole == 0 { Start::Long(end) } else { Start::Hole };
        }
        match bytes.len() {
            there if there < end => Start::Short,
            there => {
                let follows = begins(end, &BUFFER) || begins(end, &MAGIC);
                let known = there >= end + BUFFER.len();
                // Else its events must be whole.
                let whole = || self.decoder.is_whole(bytes.get(..end).unwrap_or_default());
                match (follows, known) {
                    (true, true) => Start::Buffer(end),
                    _ if whole() => Start::Buffer(end),
                    (true, false) => Start::Short,
                    (false, _) => Start::Hole,
                }
            }
        }
    }

    /// Skips to what looks like the next buffer.
    fn skip(&mut self) {
        let next = self
            .bytes
            .get(1..)
            .and_then(|rest| rest.windows(BUFFER.len()).position(|window| window == BUFFER));
        // The last bytes may be the start of one.
        let skipped = next.map_or(self.bytes.len().saturating_sub(BUFFER.len() - 1), |at| at + 1);
        let skipped = skipped.max(1).min(self.bytes.len());
        self.bytes.advance(skipped);
        self.hole += skipped as u64;
    }
}

/// Bytes of the fixed part of a member's header.
const MEMBER: usize = 10;
/// Bytes of sum and length behind a member.
const TAIL: usize = 8;
/// Bytes unzipped at once.
const PIECE: usize = 32 << 10;
/// Bytes of the inflater: its window and its tables.
const INFLATER: usize = 48 << 10;
/// Most bytes of a member's header, with a file name.
const LONGEST_HEAD: usize = 64 << 10;

/// The state of a file that may be zipped.
#[derive(Debug, Default)]
struct Unzip {
    state: State,
    piece: Vec<u8>,
}

impl HeapSize for Unzip {
    fn heap_size(&self) -> usize {
        let inflater = if matches!(self.state, State::Body(_)) { INFLATER } else { 0 };
        self.piece.heap_size() + inflater
    }
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unknown,
    Plain,
    Head,
    Body(Box<Decompress>),
    Tail,
    /// What follows is no gzip member.
    Ended,
}

impl Unzip {
    /// The file is not zipped, or not known to be.
    fn is_plain(&mut self, input: &[u8]) -> bool {
        if let (State::Unknown, Some(start)) = (&self.state, input.first_chunk()) {
            self.state = if *start == GZIP { State::Head } else { State::Plain };
        }
        match self.state {
            State::Plain => true,
            // One byte: the decoder of plain streams refuses it if it starts neither.
            State::Unknown => input.first().is_some_and(|byte| *byte != GZIP[0]),
            _ => false,
        }
    }

    /// The next bytes. `None`: more input is needed, or the gzip stream has ended.
    fn next(&mut self, input: &mut BytesMut) -> Result<Option<&[u8]>, MlpdError> {
        loop {
            match &mut self.state {
                State::Head => {
                    let Some(length) = head(input)? else { return Ok(None) };
                    input.advance(length);
                    self.state = State::Body(Box::new(Decompress::new(false)));
                }
                State::Body(inflater) => {
                    self.piece.resize(PIECE, 0);
                    let (read, written) = (inflater.total_in(), inflater.total_out());
                    let status = inflater
                        .decompress(input, &mut self.piece, FlushDecompress::None)
                        .map_err(|_| MlpdError::Gzip)?;
                    let progress = |from: u64, to: u64| usize::try_from(to - from).unwrap_or(0);
                    let consumed = progress(read, inflater.total_in());
                    let bytes = progress(written, inflater.total_out());
                    input.advance(consumed.min(input.len()));
                    if status == Status::StreamEnd {
                        self.state = State::Tail;
                    }
                    if bytes > 0 {
                        return Ok(self.piece.get(..bytes));
                    }
                    if consumed == 0 && matches!(self.state, State::Body(_)) {
                        return Ok(None);
                    }
                }
                State::Tail if input.len() >= TAIL => {
                    input.advance(TAIL);
                    self.state = State::Ended;
                }
                State::Ended => {
                    let Some(start) = input.first_chunk() else { return Ok(None) };
                    if *start != GZIP {
                        input.clear();
                        return Ok(None);
                    }
                    self.state = State::Head;
                }
                State::Tail | State::Unknown | State::Plain => return Ok(None),
            }
        }
    }
}

/// The length of a member's header, once it is whole.
fn head(bytes: &[u8]) -> Result<Option<usize>, MlpdError> {
    let Some(fixed) = bytes.get(..MEMBER) else { return Ok(None) };
    let [0x1f, 0x8b, 8, flags, ..] = *fixed else { return Err(MlpdError::Gzip) };
    let mut end = MEMBER;
    if flags & 4 != 0 {
        let Some(&[low, high]) = bytes.get(end..end + 2) else { return Ok(None) };
        end += 2 + usize::from(u16::from_le_bytes([low, high]));
    }
    for text in [8, 16] {
        if flags & text != 0 {
            let rest = bytes.get(end..).unwrap_or_default();
            match rest.iter().position(|byte| *byte == 0) {
                Some(length) => end += length + 1,
                None if rest.len() > LONGEST_HEAD => return Err(MlpdError::Gzip),
                None => return Ok(None),
            }
        }
    }
    end += if flags & 2 == 0 { 0 } else { 2 };
    Ok((bytes.len() >= end).then_some(end))
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
