//! Undoes the encodings of a body (docs/protocols/zorka.md 10.3). Bytes decide, not headers:
//! legacy agents call base64 what they call CBOR.

use std::borrow::Cow;
use std::io::Read;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use lz4_flex::block::{DecompressError, decompress_into};
use lz4_flex::frame::FrameDecoder;

use super::trace::{resume, trace};
use super::{BodyError, Definition, ErrorKind, TraceBody, definitions};
use crate::sources::zorka::limits;

/// What a body has to contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Symbols and methods.
    Definitions,
    /// Traces.
    Trace,
}

/// How a body was encoded; of several encodings, the compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub enum Encoding {
    /// CBOR: zorka 1.90.6 and later.
    #[default]
    Raw,
    /// Base64, either alphabet: zorka 1.90.1 to 1.90.5.
    Base64,
    /// Gzip; no agent.
    Gzip,
    /// Zlib; no agent.
    Zlib,
    /// Deflate without a header; no agent.
    Deflate,
    /// LZ4, frame or block; no agent.
    Lz4,
}

impl Encoding {
    /// One lower-case word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Base64 => "base64",
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Deflate => "deflate",
            Self::Lz4 => "lz4",
        }
    }
}

/// A body without its encodings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwrapped<'b> {
    /// CBOR, perhaps broken.
    pub bytes: Cow<'b, [u8]>,
    /// What was undone.
    pub encoding: Encoding,
}

/// Undoes all encodings of `body`. Two buffers of at most `cap` bytes exist at a time, and none for
/// a raw body.
///
/// # Errors
///
/// `Base64`, `Decompress`, `Size` by the encoding that fails, else `Encoding`.
pub fn unwrap(content: Content, body: &[u8], cap: usize) -> Result<Unwrapped<'_>, BodyError> {
    let ratio = body.len().saturating_mul(limits::RATIO).max(limits::RATIO_FROM);
    let cap = cap.min(limits::UNWRAPPED).min(ratio);
    let mut unwrapped = Unwrapped { bytes: Cow::Borrowed(body), encoding: Encoding::Raw };
    for _ in 0..=limits::ENCODINGS {
        if is_plain(content, &unwrapped.bytes) {
            return Ok(unwrapped);
        }
        let (bytes, encoding) =
            undo(content, &unwrapped.bytes, cap).map_err(|kind| BodyError::new(kind, 0))?;
        unwrapped.bytes = Cow::Owned(bytes);
        if encoding != Encoding::Raw && unwrapped.encoding <= Encoding::Base64 {
            unwrapped.encoding = encoding;
        }
    }
    Err(BodyError::new(ErrorKind::Nesting, 0))
}

/// A tag begins every body, except those of 1.90.6 that begin in the middle of an item.
fn is_plain(content: Content, bytes: &[u8]) -> bool {
    match bytes.first() {
        None | Some(0xc0..=0xdb) => true,
        Some(_) => content == Content::Trace && resume(bytes).is_some(),
    }
}

/// Undoes one encoding.
fn undo(content: Content, bytes: &[u8], cap: usize) -> Result<(Vec<u8>, Encoding), ErrorKind> {
    if let Some(bytes) = form_data(bytes) {
        return Ok((bytes, Encoding::Raw));
    }
    if is_base64(bytes) {
        return decode_base64(bytes).map(|bytes| (bytes, Encoding::Base64));
    }
    if let Some(method) = Method::of(bytes) {
        return Ok((method.decompress(bytes, cap)?, method.encoding()));
    }
    // Nothing tells these: the content does.
    let guesses = [Method::Deflate, Method::Lz4Little, Method::Lz4Big, Method::Lz4];
    for guess in guesses.iter().filter(|_| bytes.len() <= limits::GUESSED) {
        if let Ok(bytes) = guess.decompress(bytes, cap.min(limits::RATIO_FROM))
            && is_sound(content, &bytes)
        {
            return Ok((bytes, guess.encoding()));
        }
    }
    Err(if is_text(bytes) { ErrorKind::Base64 } else { ErrorKind::Encoding })
}

/// Whether bytes are wholly what they should be.
fn is_sound(content: Content, bytes: &[u8]) -> bool {
    if !matches!(bytes.first(), Some(0xc0..=0xdb)) {
        return false;
    }
    let mut is_known = true;
    match content {
        Content::Definitions => {
            let mut define = |d: Definition<'_>| is_known &= d != Definition::Unknown;
            definitions(bytes, &mut define).is_ok() && is_known
        }
        Content::Trace => {
            let mut out = TraceBody::default();
            trace(bytes, &mut out).is_ok() && out.unknown == 0 && !out.records.is_empty()
        }
    }
}

/// The fields that have the body.
const DATA: [&str; 3] = ["data", "zdata", "ldata"];

/// Longest name of a field.
const NAME: usize = 32;

/// The value of a field; `None`: there is no such field, or the body is no form. A blank is a plus
/// sign, because values are base64.
#[must_use]
pub fn field(body: &[u8], name: &str) -> Option<Vec<u8>> {
    let end = body.iter().take(NAME).position(|byte| *byte == b'=')?;
    let first = body.get(..end)?;
    if !first.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let mut fields = body.split(|byte| *byte == b'&');
    fields
        .find_map(|field| field.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .map(decode_percent)
}

/// The value of the field that has the body.
pub(super) fn form_data(body: &[u8]) -> Option<Vec<u8>> {
    DATA.iter().find_map(|name| field(body, name))
}

/// Undoes `%XX`.
fn decode_percent(value: &[u8]) -> Vec<u8> {
    let digit = |at: usize| value.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(byte) = value.get(at) {
        let byte = match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                at += 2;
                u8::try_from(high << 4 | low).unwrap_or_default()
            }
            (b' ', ..) => b'+',
            _ => *byte,
        };
        decoded.push(byte);
        at += 1;
    }
    decoded
}

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Whether all bytes are of base64 text.
pub(super) fn is_base64(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| {
        byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte) || byte.is_ascii_whitespace()
    })
}

/// Whether all bytes are of any text, so that base64 was probably meant.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

pub(super) fn decode_base64(text: &[u8]) -> Result<Vec<u8>, ErrorKind> {
    // What agents send.
    if let Ok(bytes) = ENGINE.decode(text) {
        return Ok(bytes);
    }
    let text: Vec<u8> = text
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => *byte,
        })
        .collect();
    ENGINE.decode(text).map_err(|_| ErrorKind::Base64)
}

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

#[cfg(test)]
#[path = "tests/unwrap.rs"]
mod tests;
