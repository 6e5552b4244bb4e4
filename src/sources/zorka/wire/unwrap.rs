//! Undoes the encodings of a body (docs/protocols/zorka.md 10.3). Bytes decide, not headers:
//! legacy agents call base64 what they call CBOR.

mod decompress;
mod form;
mod text;

use std::borrow::Cow;

use self::decompress::Method;
use super::body::TraceBody;
use super::definitions::{Definition, definitions};
use super::error::{BodyError, ErrorKind};
use super::trace::{resume, trace};
use crate::sources::zorka::limits;

pub use form::field;

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
    if let Some(bytes) = form::data(bytes) {
        return Ok((bytes, Encoding::Raw));
    }
    if text::is_base64(bytes) {
        return text::decode(bytes).map(|bytes| (bytes, Encoding::Base64));
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
    Err(if text::is_text(bytes) { ErrorKind::Base64 } else { ErrorKind::Encoding })
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
