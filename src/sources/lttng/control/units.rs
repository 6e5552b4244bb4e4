//! Times and sizes as text, for requests and for the configuration.

const TIMES: &[(&str, u64)] = &[("us", 1), ("ms", 1000), ("s", 1_000_000), ("min", 60_000_000), ("h", 3_600_000_000)];
const SIZES: &[(&str, u64)] = &[("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let scale = units.iter().find(|u| u.0.eq_ignore_ascii_case(unit.trim()))?.1;
    number.parse::<u64>().ok()?.checked_mul(scale)
}

/// Microseconds of `200ms`, `1s`.
///
/// # Errors
/// What can be written instead.
pub fn micros(text: &str) -> Result<u64, String> {
    scaled(text, TIMES)
        .ok_or_else(|| format!("{text:?} is not understood; write for example \"200ms\"; units: us, ms, s, min, h"))
}

/// Bytes of `16KiB`.
///
/// # Errors
/// What can be written instead.
pub fn bytes(text: &str) -> Result<u64, String> {
    scaled(text, SIZES)
        .ok_or_else(|| format!("{text:?} is not understood; write for example \"512KiB\"; units: B, KiB, MiB, GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        assert_eq!((micros("200ms"), micros("1 s"), micros("7us")), (Ok(200_000), Ok(1_000_000), Ok(7)));
        assert_eq!((bytes("16KiB"), bytes("5"), bytes("1 mib")), (Ok(16384), Ok(5), Ok(1 << 20)));
        for text in ["", "5", "s", "-1s", "1.5s", "1 fortnight", "99999999999999999h"] {
            assert!(micros(text).is_err(), "{text}");
        }
        assert!(bytes("1 kb").is_err() && bytes("99999999999GiB").is_err());
    }
}
