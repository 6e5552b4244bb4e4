//! Numbers.

use std::fmt::Write as _;

use super::digits::{self, AsciiSink};
use crate::plan::Kind;
use crate::schema::DisplayBase;

/// The notation of the integers of a node: `10`, `0x1F`, `017`, `0b101`.
#[derive(Clone, Copy, Debug)]
pub struct IntegerFormat {
    base: DisplayBase,
    /// Mask of the shown bits, in bases other than ten.
    mask: u64,
    /// Number of binary digits.
    width: u32,
}

impl IntegerFormat {
    /// The notation for integers of this kind and preferred display base.
    #[must_use]
    pub fn new(kind: Kind, base: DisplayBase) -> Self {
        let (bits, base) = match kind {
            Kind::BitMap(bits) => (bits, DisplayBase::Hexadecimal),
            Kind::Unsigned(bits) | Kind::Signed(bits) | Kind::Boolean(bits) => (bits, base),
            _ => (64, base),
        };
        let shown = match base {
            // The mask has whole octal digits; unsigned integers have no bits above their width.
            DisplayBase::Octal if !matches!(kind, Kind::Signed(_)) => 64,
            DisplayBase::Octal => bits.div_ceil(3) * 3,
            DisplayBase::Hexadecimal => bits.div_ceil(4) * 4,
            _ => bits,
        };
        let mask = if shown == 0 || shown >= 64 { u64::MAX } else { (1 << shown) - 1 };
        Self { base, mask, width: if bits == 0 { 64 } else { bits } }
    }

    /// Appends an unsigned integer.
    #[inline]
    pub fn unsigned(self, value: u64, out: &mut impl AsciiSink) {
        match self.base {
            DisplayBase::Decimal => digits::decimal(value, out),
            DisplayBase::Hexadecimal => digits::hexadecimal(value & self.mask, out),
            _ => self.rare(value & self.mask, out),
        }
    }

    /// Appends a signed integer; in bases other than ten, its two's complement.
    #[inline]
    pub fn signed(self, value: i64, out: &mut impl AsciiSink) {
        if value < 0 && self.base == DisplayBase::Decimal {
            out.chars(*b"-       ", 1);
            return digits::decimal(value.unsigned_abs(), out);
        }
        self.unsigned(value.cast_unsigned(), out);
    }

    /// The characters of a small integer, the first in the lowest byte, and their number, at most
    /// seven. `None`: the integer has more, or the base is octal or binary.
    #[must_use]
    #[inline(always)]
    pub fn short(self, value: u64) -> Option<(u64, usize)> {
        match self.base {
            DisplayBase::Decimal => digits::short_decimal(value),
            DisplayBase::Hexadecimal => digits::short_hexadecimal(value & self.mask),
            _ => None,
        }
    }

    /// [`Self::short`] of a signed integer.
    #[must_use]
    #[inline(always)]
    pub fn short_signed(self, value: i64) -> Option<(u64, usize)> {
        if value >= 0 || self.base != DisplayBase::Decimal {
            return self.short(value.cast_unsigned());
        }
        let (chars, count) =
            digits::short_decimal(value.unsigned_abs()).filter(|(_, count)| *count < 7)?;
        Some((chars << 8 | u64::from(b'-'), count + 1))
    }

    #[cold]
    fn rare(self, value: u64, out: &mut impl AsciiSink) {
        if self.base == DisplayBase::Octal {
            out.chars(*b"0       ", 1);
            digits::bits::<3>(value, value.checked_ilog2().unwrap_or_default() / 3 + 1, out);
        } else {
            out.chars(*b"0b      ", 2);
            digits::bits::<1>(
                value,
                self.width.max(value.checked_ilog2().unwrap_or_default() + 1),
                out,
            );
        }
    }
}

/// Appends an integer in its base.
pub fn integer(value: i128, kind: Kind, base: DisplayBase, out: &mut String) {
    let form = IntegerFormat::new(kind, base);
    match (u64::try_from(value), i64::try_from(value)) {
        (Ok(value), _) => form.unsigned(value, out),
        (_, Ok(value)) => form.signed(value, out),
        _ if form.base == DisplayBase::Decimal => {
            let _ = write!(out, "{value}");
        }
        // Two's complement of 64 bits.
        _ => form.unsigned(u64::try_from(value & i128::from(u64::MAX)).unwrap_or_default(), out),
    }
}

/// Significant digits of a floating-point number.
const DIGITS: i32 = 6;

/// Appends a floating-point number like `%g` of C.
pub fn float(value: f64, out: &mut String) {
    if !plain_float(value, out) {
        any_float(value, out);
    }
}

/// [`float`] of a number of medium size whose digits are beyond doubt; `false`: it is not one.
fn plain_float(value: f64, out: &mut String) -> bool {
    const POWERS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
    let magnitude = value.abs();
    if !(1e-4..1e6).contains(&magnitude) {
        return false;
    }
    // So many places make it a number of six digits.
    let Some((places, scaled)) = POWERS
        .iter()
        .enumerate()
        .map(|(places, power)| (places, magnitude * power))
        .find(|(_, scaled)| *scaled >= 1e5)
    else {
        return false;
    };
    let whole = scaled.round();
    // The product is off by 2^-53 of itself at most: not enough to round it wrongly.
    if whole >= 1e6 || ((scaled - whole).abs() - 0.5).abs() < 1e-6 {
        return false;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 10^6")]
    let (mut digits, mut places) = (whole as u64, places);
    while places > 0 && digits.is_multiple_of(10) {
        (digits, places) = (digits / 10, places - 1);
    }
    if value < 0.0 {
        out.push('-');
    }
    let unit = 10_u64.pow(u32::try_from(places).unwrap_or_default());
    digits::decimal(digits / unit, out);
    if places > 0 {
        out.push('.');
        // The digit before them keeps the zeros after the point.
        let from = out.len();
        digits::decimal(unit + digits % unit, out);
        out.remove(from);
    }
    true
}

/// [`float`] of any number.
fn any_float(value: f64, out: &mut String) {
    if !value.is_finite() || value == 0.0 {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        let word = if value.is_nan() {
            "nan"
        } else if value == 0.0 {
            "0"
        } else {
            "inf"
        };
        let _ = write!(out, "{sign}{word}");
        return;
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trim = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    let _ = if (-4..DIGITS).contains(&exponent) {
        let places = usize::try_from(DIGITS - 1 - exponent).unwrap_or_default();
        write!(out, "{}", trim(&format!("{value:.places$}")))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{}e{sign}{:02}", trim(mantissa), exponent.abs())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_like_printf() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (999_999.5, "1e+06"),
            (0.0001, "0.0001"),
            (0.000_012_345_67, "1.23457e-05"),
            (1e300, "1e+300"),
            (5e-324, "4.94066e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (f64::from(0.1_f32), "0.1"),
            (123_456_789.0, "1.23457e+08"),
        ] {
            let mut out = String::new();
            float(value, &mut out);
            assert_eq!(out, text, "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_short_way_is_the_long_way(mantissa in 0_u32..2_000_000, power in -12..4_i32, bits: u64) {
            for value in [f64::from(mantissa) * 10_f64.powi(power), f64::from(mantissa) / 2_f64.powi(-power), f64::from_bits(bits)] {
                let (mut short, mut long) = (String::new(), String::new());
                float(value, &mut short);
                any_float(value, &mut long);
                proptest::prop_assert_eq!(short, long);
            }
        }
    }

    #[test]
    fn integers_in_their_bases() {
        for (value, kind, base, text) in [
            (-1, Kind::Signed(12), DisplayBase::Hexadecimal, "0xFFF"),
            (-1, Kind::Signed(10), DisplayBase::Hexadecimal, "0xFFF"),
            (-1, Kind::Signed(64), DisplayBase::Hexadecimal, "0xFFFFFFFFFFFFFFFF"),
            (-1, Kind::Signed(8), DisplayBase::Octal, "0777"),
            (8, Kind::Unsigned(8), DisplayBase::Octal, "010"),
            (5, Kind::Unsigned(4), DisplayBase::Binary, "0b0101"),
            (-2, Kind::Signed(3), DisplayBase::Binary, "0b110"),
            (-5, Kind::Signed(3), DisplayBase::Decimal, "-5"),
            (0, Kind::Unsigned(8), DisplayBase::Decimal, "0"),
            (0, Kind::Unsigned(8), DisplayBase::Hexadecimal, "0x0"),
            (i64::MIN.into(), Kind::Signed(64), DisplayBase::Decimal, "-9223372036854775808"),
            (u64::MAX.into(), Kind::Unsigned(64), DisplayBase::Decimal, "18446744073709551615"),
            (
                -i128::from(u64::MAX) - 1,
                Kind::Signed(0),
                DisplayBase::Decimal,
                "-18446744073709551616",
            ),
            (10, Kind::BitMap(8), DisplayBase::Decimal, "0xA"),
        ] {
            let mut out = String::new();
            integer(value, kind, base, &mut out);
            assert_eq!(out, text);
            let form = IntegerFormat::new(kind, base);
            let short = match (i64::try_from(value), kind) {
                (Ok(value), Kind::Signed(_)) => form.short_signed(value),
                _ => u64::try_from(value).ok().and_then(|value| form.short(value)),
            };
            if let Some((chars, count)) = short {
                assert_eq!(&chars.to_le_bytes()[..count], text.as_bytes());
            }
        }
    }
}
