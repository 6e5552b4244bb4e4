//! Digits of numbers, up to eight at a time. Arrays in traces have many small numbers, and std's
//! formatting checks its options for each.

/// An output for digits. Strings implement it; other buffers may implement it to avoid a temporary
/// string.
pub trait AsciiSink {
    /// Appends the first `count` (at most 8) of these ASCII characters.
    fn chars(&mut self, ascii: [u8; 8], count: usize);
}

impl AsciiSink for String {
    fn chars(&mut self, ascii: [u8; 8], count: usize) {
        let ascii = ascii.get(..count).unwrap_or(&ascii);
        self.push_str(std::str::from_utf8(ascii).unwrap_or_default());
    }
}

/// `byte` repeated in all eight bytes.
const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Eight decimal digits of a number below 10^8, the first in the lowest byte.
#[inline]
fn eight(value: u64) -> u64 {
    // Halves of four digits, quarters of two, then single digits; division by multiplication, exact
    // for numbers of this size.
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let quarters = hundreds | (halves - 100 * hundreds) << 16;
    let tens = ((quarters * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (quarters - 10 * tens) << 8
}

/// Eight hexadecimal digits as characters, the first in the lowest byte.
#[inline]
fn eight_hexadecimal(value: u32) -> u64 {
    let mut spread = u64::from(value);
    spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = (spread + all(6)) >> 4 & all(1);
    (spread + all(b'0') + letters * u64::from(b'A' - b'0' - 10)).swap_bytes()
}

/// Characters without leading zeros; at least one remains.
#[inline]
fn stripped(chars: u64, out: &mut impl AsciiSink) {
    let zeros = ((chars - all(b'0')).trailing_zeros() / 8).min(7);
    out.chars((chars >> (8 * zeros)).to_le_bytes(), 8 - zeros as usize);
}

/// A decimal number.
#[inline]
pub(super) fn decimal(value: u64, out: &mut impl AsciiSink) {
    const EIGHT: u64 = 100_000_000;
    if value < EIGHT {
        return stripped(eight(value) | all(b'0'), out);
    }
    let (high, low) = (value / EIGHT, value % EIGHT);
    if high < EIGHT {
        stripped(eight(high) | all(b'0'), out);
    } else {
        stripped(eight(high / EIGHT) | all(b'0'), out);
        out.chars((eight(high % EIGHT) | all(b'0')).to_le_bytes(), 8);
    }
    out.chars((eight(low) | all(b'0')).to_le_bytes(), 8);
}

/// A hexadecimal number with its `0x`.
#[inline]
pub(super) fn hexadecimal(value: u64, out: &mut impl AsciiSink) {
    out.chars(*b"0x      ", 2);
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    let (low, high) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    if high == 0 {
        return stripped(eight_hexadecimal(low), out);
    }
    stripped(eight_hexadecimal(high), out);
    out.chars(eight_hexadecimal(low).to_le_bytes(), 8);
}

/// The characters of a decimal number below ten million, the first in the lowest byte, and their
/// number, at most seven.
#[inline(always)]
pub(super) fn short_decimal(value: u64) -> Option<(u64, usize)> {
    (value < 10_000_000).then(|| {
        let chars = eight(value);
        let zeros = (chars.trailing_zeros() / 8).min(7);
        ((chars | all(b'0')) >> (8 * zeros), 8 - zeros as usize)
    })
}

/// As [`short_decimal`] for a hexadecimal number below 65536, with its `0x`: at most six.
#[inline(always)]
pub(super) fn short_hexadecimal(value: u64) -> Option<(u64, usize)> {
    let mut spread = u32::from(u16::try_from(value).ok()?);
    spread = (spread | spread << 8) & 0x00ff_00ff;
    spread = (spread | spread << 4) & 0x0f0f_0f0f;
    let letters = (spread + 0x0606_0606) >> 4 & 0x0101_0101;
    let chars = (spread + 0x3030_3030 + letters * u32::from(b'A' - b'0' - 10)).swap_bytes();
    let zeros = (spread.leading_zeros() / 8).min(3);
    Some((
        u64::from(chars >> (8 * zeros)) << 16 | u64::from(u16::from_le_bytes(*b"0x")),
        6 - zeros as usize,
    ))
}

/// A number of `digits` digits of `BITS` bits each; leading zeros may be included.
pub(super) fn bits<const BITS: u32>(value: u64, digits: u32, out: &mut impl AsciiSink) {
    for digit in (0..digits).rev() {
        let shown = value.checked_shr(digit * BITS).unwrap_or_default() & ((1 << BITS) - 1);
        out.chars((shown + u64::from(b'0')).to_le_bytes(), 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(value: u64) -> Result<(), TestCaseError> {
        let (mut ten, mut sixteen, mut eight) = (String::new(), String::new(), String::new());
        decimal(value, &mut ten);
        hexadecimal(value, &mut sixteen);
        bits::<3>(value, 22, &mut eight);
        for (short, long, limit) in [
            (short_decimal(value), &ten, 10_000_000),
            (short_hexadecimal(value), &sixteen, 0x1_0000),
        ] {
            let short = short.map(|(chars, count)| chars.to_le_bytes()[..count].to_vec());
            prop_assert_eq!(short, (value < limit).then(|| long.as_bytes().to_vec()));
        }
        prop_assert_eq!(ten, value.to_string());
        prop_assert_eq!(sixteen, format!("0x{value:X}"));
        prop_assert_eq!(eight, format!("{value:022o}"));
        Ok(())
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_library(value: u64, shift in 0_u32..64) {
            check(value >> shift)?;
        }
    }

    #[test]
    fn every_number_of_four_digits_and_ends_of_lengths() {
        (0..10_000).for_each(|n| check(n).unwrap());
        (0..10_000).for_each(|n| check(n * 10_000 + 9_999 - n).unwrap());
        (0..20).for_each(|n| {
            [10_u64.pow(n) - 1, 10_u64.pow(n)].into_iter().for_each(|n| check(n).unwrap())
        });
        check(u64::MAX).unwrap();
    }
}
