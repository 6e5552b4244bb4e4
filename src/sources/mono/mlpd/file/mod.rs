//! Streams as files: gzip, and holes where a disk was full (docs/protocols/mono-mlpd.md 1, 4).
//!
//! ```text
//!  bytes ─▶ unzip ─▶ frames (whole buffers; holes are skipped) ─▶ Decoder ─▶ Visitor
//! ```

mod frames;
#[cfg(test)]
mod tests;
mod unzip;

use bytes::BytesMut;

use super::{Decoder, Header, MlpdError, Visitor};
use frames::Frames;
use unzip::Unzip;

/// As [`Decoder`], for files: gzip streams are unzipped, and what lies between two buffers is
/// skipped. A buffer is decoded when another one follows it, or when all its events are whole: a cut
/// one, whose length leads into others, is part of the hole.
#[derive(Debug, Default)]
pub struct FileDecoder {
    unzip: Unzip,
    frames: Frames,
}

impl FileDecoder {
    /// A decoder at the start of a file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes and consumes `input`; a file that grows continues with the next call.
    ///
    /// # Errors
    /// Bytes that are no such file. What came before them has been handed over; the error stays.
    pub fn feed(&mut self, input: &mut BytesMut, v: &mut impl Visitor) -> Result<(), MlpdError> {
        if self.unzip.is_plain(input) {
            return self.frames.feed(input, v);
        }
        while let Some(bytes) = self.unzip.next(input)? {
            self.frames.extend(bytes);
            self.frames.feed(&mut BytesMut::new(), v)?;
        }
        Ok(())
    }

    /// The header, once it came.
    #[must_use]
    pub const fn header(&self) -> Option<&Header> {
        self.decoder().header()
    }

    /// The decoder behind the file: events and bytes without holes.
    #[must_use]
    pub const fn decoder(&self) -> &Decoder {
        self.frames.decoder()
    }

    /// The file is a gzip stream.
    #[must_use]
    pub const fn zipped(&self) -> bool {
        self.unzip.zipped()
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.frames.memory() + self.unzip.memory()
    }
}
