//! What runtimes send and are sent: bytes to typed events, and what is asked for to bytes.

pub mod clr;
pub mod ipc;
pub mod nettrace;
pub mod wanted;

use std::fmt;

/// A text of a payload: UTF-16, little endian, without its NUL.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Utf16<'a>(&'a [u8]);

impl<'a> Utf16<'a> {
    /// The text of `bytes`; an odd last byte is ignored.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The text up to a NUL unit, and the bytes behind that; `None`: there is no NUL.
    #[must_use]
    pub fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        // Four units at once: the lowest zero unit of a word has the lowest marked bit.
        let (words, rest) = bytes.as_chunks::<8>();
        for (n, word) in words.iter().enumerate() {
            let units = u64::from_le_bytes(*word);
            let zero = units.wrapping_sub(LOW) & !units & HIGH;
            if zero != 0 {
                let end = n * 8 + (zero.trailing_zeros() / 16) as usize * 2;
                return Some((Self(bytes.get(..end)?), bytes.get(end + 2..)?));
            }
        }
        let (units, _) = rest.as_chunks::<2>();
        let end = words.len() * 8 + units.iter().position(|unit| *unit == [0; 2])? * 2;
        Some((Self(bytes.get(..end)?), bytes.get(end + 2..)?))
    }

    /// The bytes, two a unit.
    #[must_use]
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// There are no units.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.len() < 2
    }

    /// The units.
    pub fn units(self) -> impl Iterator<Item = u16> + use<'a> {
        self.0.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit))
    }

    /// The characters; lone surrogates become U+FFFD.
    pub fn chars(self) -> impl Iterator<Item = char> + use<'a> {
        char::decode_utf16(self.units()).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Appends at most `limit` bytes; a character is appended as a whole or not at all.
    pub fn push_to(self, text: &mut String, limit: usize) {
        let end = text.len().saturating_add(limit);
        for c in self.chars() {
            if text.len() + c.len_utf8() > end {
                break;
            }
            text.push(c);
        }
    }

    /// The text as a `String` of at most `limit` bytes.
    #[must_use]
    pub fn to_string_within(self, limit: usize) -> String {
        let mut text = String::with_capacity(limit.min(self.0.len()));
        self.push_to(&mut text, limit);
        text
    }
}

impl PartialEq<str> for Utf16<'_> {
    fn eq(&self, other: &str) -> bool {
        self.units().eq(other.encode_utf16())
    }
}

impl PartialEq<&str> for Utf16<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// Bit 0 and bit 15 of each unit.
const LOW: u64 = 0x0001_0001_0001_0001;
const HIGH: u64 = 0x8000_8000_8000_8000;

impl fmt::Display for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|c| fmt::Write::write_char(f, c))
    }
}

impl fmt::Debug for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn units(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn a_text_ends_at_its_first_nul_unit() {
        for length in 0..20 {
            // U+0100 and U+8001 have a zero byte or bit 15.
            let text: String = "aĀ\u{8001}€".chars().cycle().take(length).collect();
            let mut bytes = units(&text);
            assert_eq!(Utf16::split(&bytes), None, "{length}");
            bytes.extend_from_slice(&[0, 0, 0, 0, 7]);
            let (found, rest) = Utf16::split(&bytes).expect("a NUL");
            assert_eq!((found.to_string(), rest), (text, &[0, 0, 7][..]));
        }
        assert_eq!(Utf16::split(&[0]), None);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let bytes = units("s中😀i");
        let text = Utf16(&bytes);
        let cut = |limit| {
            let mut out = "x".to_owned();
            text.push_to(&mut out, limit);
            out
        };
        assert_eq!(
            [cut(0), cut(3), cut(4), cut(8), cut(99)],
            ["x", "xs", "xs中", "xs中😀", "xs中😀i"]
        );
        assert!(text == "s中😀i" && text != "s中😀");
        assert!(Utf16::new(&[9]).is_empty());
        assert_eq!(Utf16(&[0x3d, 0xd8, 0x41, 0]).to_string(), "\u{fffd}A");
    }
}
