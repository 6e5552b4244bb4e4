//! Strings in packets: terminators and encodings.

use super::schema::Encoding;

/// Bytes before the first NUL of the encoding; `None` without a NUL.
#[inline]
pub(super) fn nul(bytes: &[u8], encoding: Encoding) -> Option<usize> {
    match encoding.unit() {
        1 => zero_byte(bytes),
        unit => bytes.chunks_exact(unit).position(|u| u.iter().all(|b| *b == 0)).map(|n| n * unit),
    }
}

/// The bytes before the first NUL, or all bytes.
#[inline]
pub(super) fn until_nul(bytes: &[u8], encoding: Encoding) -> &[u8] {
    nul(bytes, encoding).and_then(|n| bytes.get(..n)).unwrap_or(bytes)
}

/// Bytes before the first NUL, found without a library call: most strings of traces are shorter
/// than a cache line.
#[inline(always)]
pub(super) fn zero_byte(bytes: &[u8]) -> Option<usize> {
    match bytes.first_chunk().and_then(zero_in_word) {
        Some(at) => Some(at),
        None => long_zero_byte(bytes),
    }
}

/// Sixteen bytes at a time.
#[inline(never)]
fn long_zero_byte(bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<16>();
    for (n, block) in blocks.iter().enumerate() {
        // Without an early end this is one comparison of a vector.
        if block.iter().fold(false, |found, b| found | (*b == 0)) {
            let [low, high] = block.as_chunks().0 else { return None };
            let at = zero_in_word(low).or_else(|| zero_in_word(high).map(|at| at + 8));
            return at.map(|at| n * 16 + at);
        }
    }
    rest.iter().position(|b| *b == 0).map(|at| bytes.len() - rest.len() + at)
}

/// The place of the first zero in a word.
#[inline(always)]
fn zero_in_word(word: &[u8; 8]) -> Option<usize> {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let word = u64::from_le_bytes(*word);
    // The lowest mark is exact; those above it may be wrong.
    let zeros = word.wrapping_sub(LOW) & !word & HIGH;
    (zeros != 0).then_some((zeros.trailing_zeros() / 8) as usize)
}

/// Whether all bytes are ASCII. Of most strings the standard library looks at the last bytes one by
/// one; here they are a word that overlaps the one before.
#[inline]
#[cfg(feature = "fs")]
pub(super) fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let Some(last) = bytes.last_chunk() else {
        return bytes.iter().fold(0, |all, b| all | b) < 0x80;
    };
    let words = bytes.as_chunks().0.iter();
    words.fold(u64::from_ne_bytes(*last), |all, word| all | u64::from_ne_bytes(*word)) & HIGH == 0
}

/// A string of a packet as text, with U+FFFD for invalid bytes.
#[must_use]
pub fn decode(bytes: &[u8], encoding: Encoding) -> std::borrow::Cow<'_, str> {
    let units = bytes.chunks_exact(encoding.unit());
    let pair = |u: &[u8]| u.try_into().unwrap_or([0; 2]);
    let four = |u: &[u8]| u.try_into().unwrap_or([0; 4]);
    let wide = |c: u32| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER);
    let utf16 = |units: Vec<u16>| String::from_utf16_lossy(&units).into();
    match encoding {
        // Most are valid, and short.
        Encoding::Utf8 => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => String::from_utf8_lossy(bytes),
        },
        Encoding::Utf16Le => utf16(units.map(|u| u16::from_le_bytes(pair(u))).collect()),
        Encoding::Utf16Be => utf16(units.map(|u| u16::from_be_bytes(pair(u))).collect()),
        Encoding::Utf32Le => {
            units.map(|u| wide(u32::from_le_bytes(four(u)))).collect::<String>().into()
        }
        Encoding::Utf32Be => {
            units.map(|u| wide(u32::from_be_bytes(four(u)))).collect::<String>().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_nul(bytes in proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(0x80), Just(0x81), any::<u8>()], 0..40)) {
            prop_assert_eq!(nul(&bytes, Encoding::Utf8), bytes.iter().position(|b| *b == 0));
        }

        #[test]
        #[cfg(feature = "fs")]
        fn ascii(bytes in proptest::collection::vec(prop_oneof![9 => Just(0x7f_u8), 1 => any::<u8>()], 0..40)) {
            prop_assert_eq!(is_ascii(&bytes), bytes.is_ascii());
        }
    }

    #[test]
    fn wide_texts() {
        assert_eq!(nul(b"a\0b\0\0\0c", Encoding::Utf16Le), Some(4));
        assert_eq!(nul(b"a\0\0b", Encoding::Utf16Le), None);
        assert_eq!(nul(b"\0\0\0a\0\0\0\0", Encoding::Utf32Be), Some(4));
        assert_eq!(decode(b"a\0\xac\x20", Encoding::Utf16Le), "a\u{20ac}");
        assert_eq!(decode(b"\xd8\x3d\xde\x00", Encoding::Utf16Be), "\u{1f600}");
        assert_eq!(decode(b"\0\0\x20\xac", Encoding::Utf32Be), "\u{20ac}");
        assert_eq!(decode(b"\xff\xff\xff\xff", Encoding::Utf32Le), "\u{fffd}");
        assert_eq!(decode(b"a\xffb", Encoding::Utf8), "a\u{fffd}b");
    }
}
