//! Whole buffers of a file, and the holes between them.

use bytes::{Buf, BytesMut};

use super::super::decoder::{BUFFER, HEAD};
use super::super::{Decoder, Header, MAGIC, MlpdError, Visitor};
use crate::sources::mono::limits;

/// Finds buffers and hands them to the decoder.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Bytes from the next buffer on.
    bytes: BytesMut,
    decoder: Decoder,
    /// Bytes of a buffer that is too long to be kept: they are decoded as they come.
    long: usize,
    /// Bytes of the hole so far.
    hole: u64,
}

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
    pub(super) const fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.decoder.memory()
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn feed(
        &mut self,
        input: &mut BytesMut,
        v: &mut impl Visitor,
    ) -> Result<(), MlpdError> {
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
