//! Numbers with units as users write them: `512KiB`, `200ms`.

/// Units of sizes, in bytes; a number alone is bytes.
pub const SIZES: &[(&str, u64)] =
    &[("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// Units of times, in microseconds; a number alone is an error.
pub const TIMES: &[(&str, u64)] =
    &[("us", 1), ("ms", 1000), ("s", 1_000_000), ("min", 60_000_000), ("h", 3_600_000_000)];

/// Parses a whole number with one of these units, in any case.
///
/// # Errors
/// A message for the user with the known units and this example.
pub fn quantity(text: &str, units: &[(&str, u64)], example: &str) -> Result<u64, String> {
    scaled(text.trim(), units).ok_or_else(|| {
        let known =
            units.iter().map(|u| u.0).filter(|u| !u.is_empty()).collect::<Vec<_>>().join(", ");
        format!("{text:?} is not understood; write for example {example:?}; units: {known}")
    })
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let scale = units.iter().find(|u| u.0.eq_ignore_ascii_case(unit.trim()))?.1;
    number.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_that_are_known() {
        let bytes = |text| quantity(text, SIZES, "1MiB").ok();
        assert_eq!(
            (bytes("16KiB"), bytes(" 5 "), bytes("1 mib")),
            (Some(16384), Some(5), Some(1 << 20))
        );
        for text in ["", "B", "-1B", "1.5MiB", "1 kb", "99999999999GiB", "99999999999999999999"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        let why = "\"1 kb\" is not understood; write for example \"1MiB\"; units: B, KiB, MiB, GiB";
        assert_eq!(quantity("1 kb", SIZES, "1MiB"), Err(why.into()));
        let micros = |text| quantity(text, TIMES, "200ms").ok();
        assert_eq!(["200ms", "1 s", "7us"].map(micros), [200_000, 1_000_000, 7].map(Some));
        for text in ["", "5", "s", "-1s", "1.5s", "1 fortnight", "99999999999999999h"] {
            assert_eq!(micros(text), None, "{text}");
        }
    }
}
