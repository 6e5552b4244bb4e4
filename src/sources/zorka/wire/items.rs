//! CBOR items by minicbor's decoder, in the form that the agents write them
//! (docs/protocols/zorka.md 4): texts need not be UTF-8, and nothing nests without a bound.

use minicbor::decode::{Decoder, Error};

use super::{AttributeValue, BodyError, ErrorKind, Slice};
use crate::sources::zorka::limits;

pub(crate) const BREAK: u8 = 0xff;

/// Elements of an open array or map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    /// Elements to come; `None`: until a break.
    left: Option<u64>,
}

/// The items of a body from a position on.
#[derive(Clone, Debug)]
pub(crate) struct Items<'b> {
    decoder: Decoder<'b>,
}

/// The first three bits of an item.
const fn major(byte: u8) -> u8 {
    byte >> 5
}

#[allow(clippy::cast_possible_truncation, reason = "bodies have less than 4 GiB")]
fn slice(start: usize, end: usize) -> Slice {
    Slice { start: start as u32, end: end as u32 }
}

/// A 16-bit float (RFC 8949, appendix D).
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let value = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits & 0x8000 == 0 { value } else { -value }
}

impl<'b> Items<'b> {
    pub(crate) fn new(body: &'b [u8], position: usize) -> Self {
        let mut decoder = Decoder::new(body);
        decoder.set_position(position);
        Self { decoder }
    }

    pub(crate) fn position(&self) -> usize {
        self.decoder.position()
    }

    /// The next byte.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.decoder.input().get(self.position()).copied()
    }

    /// The next byte; the end of the body is an error.
    pub(crate) fn first(&self) -> Result<u8, BodyError> {
        self.peek().ok_or(BodyError::new(ErrorKind::Truncated, self.position()))
    }

    pub(crate) fn advance(&mut self, bytes: usize) {
        self.decoder.set_position(self.position() + bytes);
    }

    pub(crate) fn malformed(&self) -> BodyError {
        BodyError::new(ErrorKind::Malformed, self.position())
    }

    fn token<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'b>) -> Result<T, Error>,
    ) -> Result<T, BodyError> {
        let at = self.position();
        read(&mut self.decoder).map_err(|error| {
            if error.is_end_of_input() {
                BodyError::new(ErrorKind::Truncated, self.decoder.input().len())
            } else {
                BodyError::new(ErrorKind::Malformed, at)
            }
        })
    }

    pub(crate) fn tag(&mut self) -> Result<u64, BodyError> {
        if self.first().is_ok_and(|byte| major(byte) != 6) {
            return Err(BodyError::new(ErrorKind::Tag, self.position()));
        }
        self.token(Decoder::tag).map(|tag| tag.as_u64())
    }

    /// An integer; from 2^63 on the same 64 bits with a sign.
    pub(crate) fn int(&mut self) -> Result<i64, BodyError> {
        let negative = major(self.first()?) == 1;
        if negative {
            self.token(Decoder::i64)
        } else {
            self.token(Decoder::u64).map(u64::cast_signed)
        }
    }

    /// An id below 2^32, perhaps with the tag of a reference to a symbol.
    pub(crate) fn id(&mut self) -> Result<u32, BodyError> {
        if self.peek() == Some(0xc6) {
            self.advance(1);
        }
        self.token(Decoder::u32)
    }

    /// A count; a negative one is 0.
    pub(crate) fn count(&mut self) -> Result<u64, BodyError> {
        if major(self.first()?) == 1 {
            return self.token(Decoder::i64).map(|_| 0);
        }
        self.token(Decoder::u64)
    }

    /// A byte string of definite length.
    pub(crate) fn bytes(&mut self) -> Result<&'b [u8], BodyError> {
        self.token(Decoder::bytes)
    }

    /// A text of definite length, of any encoding. A byte string is taken, too.
    pub(crate) fn text(&mut self) -> Result<Slice, BodyError> {
        let at = self.position();
        let byte = self.first()?;
        if !matches!(byte, 0x40..=0x5b | 0x60..=0x7b) {
            return Err(self.malformed());
        }
        // The header of a tag has the same length as that of a text, and minicbor's `str` wants
        // UTF-8: the argument alone is read here.
        let (size, start) = match byte & 0x1f {
            info @ 0..24 => (u64::from(info), at + 1),
            info => {
                let size = 1 << (info - 24);
                let head = self.decoder.input().get(at + 1..at + 1 + size);
                let head = head.ok_or(BodyError::new(ErrorKind::Truncated, self.end()))?;
                (head.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)), at + 1 + size)
            }
        };
        let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size));
        let end = end.filter(|end| *end <= self.end());
        let end = end.ok_or(BodyError::new(ErrorKind::Truncated, self.end()))?;
        self.decoder.set_position(end);
        Ok(slice(start, end))
    }

    /// A text, or nothing.
    pub(crate) fn optional_text(&mut self) -> Result<Option<Slice>, BodyError> {
        if matches!(self.first()?, 0xf6 | 0xf7) {
            self.advance(1);
            return Ok(None);
        }
        self.text().map(Some)
    }

    fn end(&self) -> usize {
        self.decoder.input().len()
    }

    pub(crate) fn array(&mut self) -> Result<Elements, BodyError> {
        self.token(Decoder::array).map(|left| Elements { left })
    }

    /// A map: keys and values in turn, [`Self::more`] before each key.
    pub(crate) fn map(&mut self) -> Result<Elements, BodyError> {
        self.token(Decoder::map).map(|left| Elements { left })
    }

    /// Whether another element follows; if none does, the array is left.
    pub(crate) fn more(&mut self, elements: &mut Elements) -> Result<bool, BodyError> {
        match &mut elements.left {
            Some(0) => Ok(false),
            Some(left) => {
                *left -= 1;
                Ok(true)
            }
            None if self.first()? == BREAK => {
                self.advance(1);
                elements.left = Some(0);
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// Another element must follow: it comes next.
    pub(crate) fn need(&mut self, elements: &mut Elements) -> Result<&mut Self, BodyError> {
        if self.more(elements)? { Ok(self) } else { Err(self.malformed()) }
    }

    /// Skips the rest of an array.
    pub(crate) fn leave(&mut self, mut elements: Elements) -> Result<(), BodyError> {
        while self.more(&mut elements)? {
            self.skip()?;
        }
        Ok(())
    }

    /// The value of an attribute.
    pub(crate) fn value(&mut self) -> Result<AttributeValue, BodyError> {
        let at = self.position();
        Ok(match self.first()? {
            0x60..=0x7b => AttributeValue::Text(self.text()?),
            0x00..=0x1b => match i64::try_from(self.token(Decoder::u64)?) {
                Ok(value) => AttributeValue::Int(value),
                Err(_) => AttributeValue::Other(slice(at, self.position())),
            },
            0x20..=0x3b => AttributeValue::Int(self.token(Decoder::i64)?),
            0xf4 | 0xf5 => AttributeValue::Bool(self.token(Decoder::bool)?),
            0xf6 | 0xf7 => {
                self.advance(1);
                AttributeValue::Null
            }
            0xf9 => {
                let bits = self.decoder.input().get(at + 1..at + 3).unwrap_or_default();
                let bits = bits.try_into().map(u16::from_be_bytes);
                let bits = bits.map_err(|_| BodyError::new(ErrorKind::Truncated, self.end()))?;
                self.advance(3);
                AttributeValue::Float(half(bits))
            }
            0xfa => AttributeValue::Float(self.token(Decoder::f32)?.into()),
            0xfb => AttributeValue::Float(self.token(Decoder::f64)?),
            _ => {
                self.skip()?;
                AttributeValue::Other(slice(at, self.position()))
            }
        })
    }

    /// Skips one item of at most [`limits::NESTING`] levels.
    pub(crate) fn skip(&mut self) -> Result<(), BodyError> {
        // Items to come of each open array; `None`: until a break.
        let mut open = [Some(0_u64); limits::NESTING];
        let mut depth = 0;
        loop {
            let at = self.position();
            let byte = self.first()?;
            let inner = match byte {
                0x00..=0x1b => self.token(Decoder::u64).map(|_| Some(0))?,
                0x20..=0x3b => self.token(Decoder::int).map(|_| Some(0))?,
                0x40..=0x5b | 0x60..=0x7b => self.text().map(|_| Some(0))?,
                0x80..=0x9b | 0x9f => self.token(Decoder::array)?,
                0xa0..=0xbb | 0xbf => {
                    self.token(Decoder::map)?.map(|pairs| pairs.saturating_mul(2))
                }
                0xc0..=0xdb => self.token(Decoder::tag).map(|_| Some(1))?,
                // Pieces of a text.
                0x5f | 0x7f => {
                    self.advance(1);
                    while self.first()? != BREAK {
                        if major(self.first()?) != major(byte) {
                            return Err(self.malformed());
                        }
                        self.text()?;
                    }
                    self.advance(1);
                    Some(0)
                }
                0xe0..=0xf7 => {
                    self.advance(1);
                    Some(0)
                }
                0xf8..=0xfb => {
                    let size = 1 + (1 << (byte - 0xf8));
                    if self.end() - at < size {
                        return Err(BodyError::new(ErrorKind::Truncated, self.end()));
                    }
                    self.advance(size);
                    Some(0)
                }
                BREAK if depth > 0 && open.get(depth - 1) == Some(&None) => {
                    self.advance(1);
                    depth -= 1;
                    Some(0)
                }
                _ => return Err(self.malformed()),
            };
            if inner != Some(0) {
                let level = open.get_mut(depth);
                *level.ok_or(BodyError::new(ErrorKind::Nesting, at))? = inner;
                depth += 1;
                continue;
            }
            // One item is complete, and with it perhaps those around it.
            loop {
                let Some(level) = depth.checked_sub(1).and_then(|top| open.get_mut(top)) else {
                    return Ok(());
                };
                match level {
                    None => break,
                    Some(left) if *left > 1 => {
                        *left -= 1;
                        break;
                    }
                    Some(_) => depth -= 1,
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/items.rs"]
mod tests;
