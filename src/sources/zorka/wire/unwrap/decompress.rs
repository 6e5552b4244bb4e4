//! Compressed bodies. Buffers grow with what is in them, never with what a header claims.

use std::io::Read;

use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use lz4_flex::block::{DecompressError, decompress_into};
use lz4_flex::frame::FrameDecoder;

use super::Encoding;
use crate::sources::zorka::wire::error::ErrorKind;

/// Bytes of the first buffer.
const FIRST: usize = 8 << 10;

/// A compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Gzip,
    Zlib,
    Deflate,
    /// LZ4 frame.
    Lz4Frame,
    /// LZ4 block behind its length in 4 bytes, little-endian.
    Lz4Little,
    /// LZ4 block behind its length in 4 bytes, big-endian.
    Lz4Big,
    /// LZ4 block alone.
    Lz4,
}

impl Method {
    /// The method whose header begins `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Some(Self::Zlib),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4Frame),
            _ => None,
        }
    }

    pub(super) const fn encoding(self) -> Encoding {
        match self {
            Self::Gzip => Encoding::Gzip,
            Self::Zlib => Encoding::Zlib,
            Self::Deflate => Encoding::Deflate,
            Self::Lz4Frame | Self::Lz4Little | Self::Lz4Big | Self::Lz4 => Encoding::Lz4,
        }
    }

    /// At most `cap` bytes.
    pub(super) fn decompress(self, bytes: &[u8], cap: usize) -> Result<Vec<u8>, ErrorKind> {
        match self {
            Self::Gzip => read(GzDecoder::new(bytes), cap),
            Self::Zlib => read(ZlibDecoder::new(bytes), cap),
            Self::Deflate => read(DeflateDecoder::new(bytes), cap),
            Self::Lz4Frame => read(FrameDecoder::new(bytes), cap),
            Self::Lz4Little => sized(bytes, u32::from_le_bytes, cap),
            Self::Lz4Big => sized(bytes, u32::from_be_bytes, cap),
            Self::Lz4 => block(bytes, cap),
        }
    }
}

/// Reads all, with a buffer that doubles.
fn read(mut reader: impl Read, cap: usize) -> Result<Vec<u8>, ErrorKind> {
    let (mut out, mut filled) = (Vec::new(), 0);
    loop {
        if filled == out.len() {
            if filled == cap {
                // Only the end may follow.
                return match reader.read(&mut [0]) {
                    Ok(0) => Ok(out),
                    _ => Err(ErrorKind::Size),
                };
            }
            let length = (2 * filled).max(FIRST).min(cap);
            out.reserve_exact(length - filled);
            out.resize(length, 0);
        }
        let free = out.get_mut(filled..).unwrap_or_default();
        match reader.read(free).map_err(|_| ErrorKind::Decompress)? {
            0 => break,
            read => filled += read,
        }
    }
    out.truncate(filled);
    Ok(out)
}

/// A block behind its length.
fn sized(bytes: &[u8], number: fn([u8; 4]) -> u32, cap: usize) -> Result<Vec<u8>, ErrorKind> {
    let (head, block) = bytes.split_first_chunk().ok_or(ErrorKind::Decompress)?;
    let length = usize::try_from(number(*head)).unwrap_or(usize::MAX);
    // LZ4 reaches 255 at most.
    if length > cap || length > block.len().saturating_mul(255) {
        return Err(ErrorKind::Size);
    }
    let mut out = vec![0; length];
    match decompress_into(block, &mut out) {
        Ok(read) if read == length => Ok(out),
        _ => Err(ErrorKind::Decompress),
    }
}

/// A block whose length is not known.
fn block(bytes: &[u8], cap: usize) -> Result<Vec<u8>, ErrorKind> {
    let mut length = bytes.len().saturating_mul(4).max(FIRST).min(cap);
    loop {
        let mut out = vec![0; length];
        match decompress_into(bytes, &mut out) {
            Ok(read) => {
                out.truncate(read);
                return Ok(out);
            }
            Err(DecompressError::OutputTooSmall { .. }) if length < cap => {
                length = length.saturating_mul(4).min(cap);
            }
            Err(DecompressError::OutputTooSmall { .. }) => return Err(ErrorKind::Size),
            Err(_) => return Err(ErrorKind::Decompress),
        }
    }
}
