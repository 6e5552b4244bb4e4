//! Compressed requests: one gzip member from the first byte of the connection on
//! (docs/protocols/java-profiler.md A.7). The agent flushes it at every write and ends it when it
//! closes. Replies are never compressed.

use bytes::{Buf, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

use super::command::ProtocolError;
use crate::read::{Cursor, Order};
use crate::sources::profiler::limits;

/// RFC 1952, 2.3.1: bits of the flag byte.
const HAS_CRC: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// The first two bytes of gzip. No command begins like this.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Inflates one gzip member piece by piece.
#[derive(Debug)]
pub(crate) struct Inflate {
    header: bool,
    deflate: Decompress,
    /// Bytes behind the end of the deflate data: checksum and length, 8 bytes. They are not
    /// checked, because TCP has checksums.
    trailer: Option<usize>,
    /// The error that `inflate` returns once the caller has all bytes before it.
    error: Option<&'static str>,
}

impl Inflate {
    pub(crate) fn new() -> Self {
        Self { header: true, deflate: Decompress::new(false), trailer: None, error: None }
    }

    /// Inflates from `input` until `plain` has [`limits::INFLATED`] bytes. True if `plain` has
    /// grown.
    pub(crate) fn inflate(
        &mut self,
        input: &mut BytesMut,
        plain: &mut BytesMut,
    ) -> Result<bool, ProtocolError> {
        if let Some(what) = self.error {
            return Err(ProtocolError::Gzip(what));
        }
        if self.header {
            let Some(length) = header(input)? else { return Ok(false) };
            input.advance(length);
            self.header = false;
        }
        let before = plain.len();
        while self.trailer.is_none() && plain.len() < limits::INFLATED {
            let filled = plain.len();
            plain.resize(limits::INFLATED, 0);
            let (_, free) = plain.split_at_mut(filled);
            let (taken, given) = (self.deflate.total_in(), self.deflate.total_out());
            let status = self.deflate.decompress(input, free, FlushDecompress::None);
            let moved = |now: u64, then: u64| usize::try_from(now - then).unwrap_or(0);
            let (taken, given) =
                (moved(self.deflate.total_in(), taken), moved(self.deflate.total_out(), given));
            plain.truncate(filled + given);
            input.advance(taken.min(input.len()));
            match status {
                Ok(Status::StreamEnd) => self.trailer = Some(0),
                // More input is needed.
                Ok(_) if taken == 0 && given == 0 => break,
                Ok(_) => {}
                Err(_) => {
                    self.error = Some("not deflate");
                    break;
                }
            }
        }
        if let Some(trailer) = &mut self.trailer {
            *trailer += input.len();
            input.clear();
            if *trailer > 8 {
                self.error = Some("something behind the end");
            }
        }
        if self.deflate.total_out()
            > limits::RATIO_FROM.max(self.deflate.total_in().saturating_mul(limits::RATIO))
        {
            self.error = Some("inflates to more than 250 times its size");
        }
        match self.error {
            Some(what) if plain.len() == before => Err(ProtocolError::Gzip(what)),
            _ => Ok(plain.len() > before),
        }
    }
}

/// Length of the gzip header in bytes; `None` when bytes are missing.
fn header(bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
    let mut c = Cursor::new(bytes, Order::Little);
    let Some(&[_, _, method, flags, ..]) = c.bytes(10) else { return Ok(None) };
    if method != 8 || flags & RESERVED != 0 {
        return Err(ProtocolError::Gzip("unknown method or flags"));
    }
    let whole = variable(&mut c, flags).is_some();
    if bytes.len().min(if whole { c.position() } else { usize::MAX }) > 10 + limits::GZIP_HEADER {
        return Err(ProtocolError::Gzip("long header"));
    }
    Ok(whole.then_some(c.position()))
}

fn variable(c: &mut Cursor<'_>, flags: u8) -> Option<()> {
    if flags & HAS_EXTRA != 0 {
        let length = c.u16()?;
        c.bytes(length.into())?;
    }
    for text in [HAS_NAME, HAS_COMMENT] {
        while flags & text != 0 && c.u8()? != 0 {}
    }
    if flags & HAS_CRC != 0 {
        c.u16()?;
    }
    Some(())
}

#[cfg(test)]
mod tests;
