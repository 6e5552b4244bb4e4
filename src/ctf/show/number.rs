//! Numbers.

use crate::ctf::plan::Kind;
use crate::ctf::schema::Base;
use std::fmt::Write as _;

/// Bits of an integer, rounded up to digits of so many bits.
fn masked(value: i128, bits: u32, digit: u32) -> u64 {
    let bits = if bits == 0 { 64 } else { bits.div_ceil(digit) * digit };
    // Two's complement of 64 bits.
    let value = u64::try_from(value & i128::from(u64::MAX)).unwrap_or_default();
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The digits of a number, without what the formatting of the library looks at first: arrays have many small ones.
fn digits<const BASE: u64>(mut value: u64, out: &mut String) {
    let mut text = [0_u8; 20];
    let mut length = 0;
    // Written from behind.
    for place in text.iter_mut().rev() {
        let digit = u8::try_from(value % BASE).unwrap_or_default();
        *place = if digit < 10 { b'0' + digit } else { b'A' - 10 + digit };
        length += 1;
        value /= BASE;
        if value == 0 {
            break;
        }
    }
    for digit in text.iter().skip(text.len() - length) {
        out.push(char::from(*digit));
    }
}

/// An integer in its base: `10`, `0x1F`, `017`, `0b101`.
pub fn integer(value: i128, kind: Kind, base: Base, out: &mut String) {
    let (bits, base) = match kind {
        Kind::Bits(bits) => (bits, Base::Hexadecimal),
        Kind::Unsigned(bits) | Kind::Signed(bits) | Kind::Boolean(bits) => (bits, base),
        _ => (64, base),
    };
    let signed = matches!(kind, Kind::Signed(_));
    let _ = match base {
        Base::Decimal => match (u64::try_from(value), u64::try_from(value.checked_neg().unwrap_or(-1))) {
            (Ok(value), _) => {
                digits::<10>(value, out);
                Ok(())
            }
            (_, Ok(value)) => {
                out.push('-');
                digits::<10>(value, out);
                Ok(())
            }
            _ => write!(out, "{value}"),
        },
        Base::Hexadecimal => {
            out.push_str("0x");
            digits::<16>(masked(value, bits, 4), out);
            Ok(())
        }
        Base::Octal => write!(out, "0{:o}", masked(value, if signed { bits } else { 64 }, 3)),
        Base::Binary => {
            let width = if bits == 0 { 64 } else { bits as usize };
            write!(out, "0b{:0width$b}", masked(value, bits, 1))
        }
    };
}

/// Significant digits of a floating-point number.
const DIGITS: i32 = 6;

/// A floating-point number like `%g` of C.
pub fn float(value: f64, out: &mut String) {
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

    #[test]
    fn integers_in_their_bases() {
        for (value, kind, base, text) in [
            (-1, Kind::Signed(12), Base::Hexadecimal, "0xFFF"),
            (-1, Kind::Signed(10), Base::Hexadecimal, "0xFFF"),
            (-1, Kind::Signed(64), Base::Hexadecimal, "0xFFFFFFFFFFFFFFFF"),
            (-1, Kind::Signed(8), Base::Octal, "0777"),
            (8, Kind::Unsigned(8), Base::Octal, "010"),
            (5, Kind::Unsigned(4), Base::Binary, "0b0101"),
            (-2, Kind::Signed(3), Base::Binary, "0b110"),
            (-5, Kind::Signed(3), Base::Decimal, "-5"),
            (0, Kind::Unsigned(8), Base::Decimal, "0"),
            (0, Kind::Unsigned(8), Base::Hexadecimal, "0x0"),
            (i64::MIN.into(), Kind::Signed(64), Base::Decimal, "-9223372036854775808"),
            (u64::MAX.into(), Kind::Unsigned(64), Base::Decimal, "18446744073709551615"),
            (-i128::from(u64::MAX) - 1, Kind::Signed(0), Base::Decimal, "-18446744073709551616"),
            (10, Kind::Bits(8), Base::Decimal, "0xA"),
        ] {
            let mut out = String::new();
            integer(value, kind, base, &mut out);
            assert_eq!(out, text);
        }
    }
}
