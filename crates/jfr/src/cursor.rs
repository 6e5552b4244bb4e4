//! A position in a chunk: integers of 7 bits a byte, and strings.

use std::borrow::Cow;

use crate::{Error, limits};

/// A position in bytes. What it reads is within `bytes`, whose first byte is the chunk's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'c> {
    bytes: &'c [u8],
    pub(crate) at: usize,
}

/// The text of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raw<'c> {
    /// There is none.
    Null,
    /// The key of a constant of class `java.lang.String`.
    Key(u64),
    /// UTF-8.
    Utf8(&'c [u8]),
    /// Integers that are units of UTF-16.
    Units(&'c [u8]),
    /// One byte a character.
    Latin1(&'c [u8]),
}

impl<'c> Cursor<'c> {
    /// At byte `at`; `end`: behind the last byte.
    pub(crate) fn new(chunk: &'c [u8], at: usize, end: usize) -> Self {
        Self { bytes: chunk.get(..end).unwrap_or(chunk), at }
    }

    /// What is wrong here.
    pub(crate) const fn wrong(&self, what: &'static str) -> Error {
        Error::Malformed { at: self.at, what }
    }

    /// Bytes up to the end.
    pub(crate) const fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.wrong("it ends too early"))?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn take(&mut self, size: u64) -> Result<&'c [u8], Error> {
        let wrong = self.wrong("it is longer than what it is in");
        let end = usize::try_from(size).ok().and_then(|size| self.at.checked_add(size));
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or(wrong)?;
        self.at += taken.len();
        Ok(taken)
    }

    /// 7 bits a byte, lowest first; the ninth byte has 8.
    pub(crate) fn int(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Ok(value | u64::from(self.byte()?) << 56)
    }

    /// A number of things that take a byte each at least.
    pub(crate) fn count(&mut self) -> Result<u64, Error> {
        let count = self.int()?;
        let fits = usize::try_from(count).is_ok_and(|count| count <= self.left());
        if fits { Ok(count) } else { Err(self.wrong("more than what it is in can hold")) }
    }

    pub(crate) fn string(&mut self) -> Result<Raw<'c>, Error> {
        let wrong = self.wrong("no such encoding of strings");
        Ok(match self.byte()? {
            0 => Raw::Null,
            1 => Raw::Utf8(&[]),
            2 => Raw::Key(self.int()?),
            kind @ (3 | 5) => {
                let size = self.count()?;
                let bytes = self.take(size)?;
                if kind == 3 { Raw::Utf8(bytes) } else { Raw::Latin1(bytes) }
            }
            4 => {
                let count = self.count()?;
                let from = self.at;
                for _ in 0..count {
                    self.int()?;
                }
                Raw::Units(self.bytes.get(from..self.at).unwrap_or_default())
            }
            _ => return Err(wrong),
        })
    }
}

impl<'c> Raw<'c> {
    /// The text, at most [`limits::TEXT`] characters of it. `None`: there is none here.
    pub(crate) fn text(self) -> Option<Cow<'c, str>> {
        let cut = |bytes: &'c [u8], most: usize| bytes.get(..most).unwrap_or(bytes);
        Some(match self {
            Self::Null | Self::Key(_) => return None,
            Self::Utf8(bytes) => {
                let text = String::from_utf8_lossy(cut(bytes, 4 * limits::TEXT));
                match text.char_indices().nth(limits::TEXT) {
                    Some((at, _)) => text.get(..at).unwrap_or_default().to_owned().into(),
                    None => text,
                }
            }
            Self::Latin1(bytes) => {
                cut(bytes, limits::TEXT).iter().map(|b| char::from(*b)).collect::<String>().into()
            }
            Self::Units(bytes) => {
                let mut from = Cursor::new(bytes, 0, bytes.len());
                let units = std::iter::from_fn(|| from.int().ok());
                let units = units.map(|unit| u16::try_from(unit).unwrap_or(0xfffd));
                let chars = char::decode_utf16(units).take(limits::TEXT);
                chars.map(|c| c.unwrap_or('\u{fffd}')).collect::<String>().into()
            }
        })
    }
}
