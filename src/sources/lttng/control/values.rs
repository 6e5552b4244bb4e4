//! Times and sizes as text, for requests and for the configuration.

use crate::read::{SIZES, quantity};

const TIMES: &[(&str, u64)] =
    &[("us", 1), ("ms", 1000), ("s", 1_000_000), ("min", 60_000_000), ("h", 3_600_000_000)];

/// Microseconds of `200ms`, `1s`.
///
/// # Errors
/// What can be written instead.
pub fn micros(text: &str) -> Result<u64, String> {
    quantity(text, TIMES, "200ms")
}

/// Bytes of `16KiB`.
///
/// # Errors
/// What can be written instead.
pub fn bytes(text: &str) -> Result<u64, String> {
    quantity(text, SIZES, "512KiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        assert_eq!(
            (micros("200ms"), micros("1 s"), micros("7us")),
            (Ok(200_000), Ok(1_000_000), Ok(7))
        );
        assert_eq!((bytes("16KiB"), bytes("5"), bytes("1 mib")), (Ok(16384), Ok(5), Ok(1 << 20)));
        for text in ["", "5", "s", "-1s", "1.5s", "1 fortnight", "99999999999999999h"] {
            assert!(micros(text).is_err(), "{text}");
        }
        assert!(bytes("1 kb").is_err() && bytes("99999999999GiB").is_err());
    }
}
