//! Wall-clock time of records.

use std::fmt;

use jiff::Timestamp;

/// A point in wall-clock time: seconds and nanoseconds since 1970-01-01 00:00 UTC.
///
/// ```
/// use pcp_event::Stamp;
///
/// let stamp = Stamp::from_millis(1_795_000_000_250);
/// assert_eq!((stamp.sec, stamp.nsec), (1_795_000_000, 250_000_000));
/// assert_eq!(stamp.to_string(), "2026-11-18T11:06:40.250Z");
/// assert_eq!(format!("{stamp:.6}"), "2026-11-18T11:06:40.250000Z");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Whole seconds; negative before 1970.
    pub sec: i64,
    /// 0..=999_999_999.
    pub nsec: u32,
}

impl Stamp {
    /// From nanoseconds since the epoch.
    #[must_use]
    #[inline]
    pub const fn from_nanos(ns: i128) -> Self {
        // Until the year 2262, without a division of 128 bits.
        #[expect(clippy::cast_possible_truncation, reason = "compared with the whole")]
        let short = ns as i64;
        if short as i128 == ns {
            #[expect(clippy::cast_possible_truncation, reason = "rem_euclid is within 0..10^9")]
            #[allow(clippy::cast_sign_loss, reason = "as above; not every clippy sees it")]
            let nsec = short.rem_euclid(1_000_000_000) as u32;
            return Self { sec: short.div_euclid(1_000_000_000), nsec };
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an i128 of nanoseconds from 64-bit inputs"
        )]
        let sec = ns.div_euclid(1_000_000_000) as i64;
        #[expect(clippy::cast_possible_truncation, reason = "rem_euclid is within 0..10^9")]
        #[allow(clippy::cast_sign_loss, reason = "as above; not every clippy sees it")]
        let nsec = ns.rem_euclid(1_000_000_000) as u32;
        Self { sec, nsec }
    }

    /// From milliseconds since the epoch.
    #[must_use]
    #[inline]
    pub const fn from_millis(ms: i64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "rem_euclid is within 0..1000")]
        #[allow(clippy::cast_sign_loss, reason = "as above; not every clippy sees it")]
        let nsec = ms.rem_euclid(1000) as u32 * 1_000_000;
        Self { sec: ms.div_euclid(1000), nsec }
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> i128 {
        self.sec as i128 * 1_000_000_000 + self.nsec as i128
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.sec.saturating_mul(1000).saturating_add(self.nsec as i64 / 1_000_000)
    }
}

/// RFC 3339 in UTC: milliseconds, or the number of digits given by the format's precision. Years
/// outside -9999..=9999 have no such form; their times are printed as seconds since 1970.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(3).min(9);
        let nsec = i32::try_from(self.nsec).unwrap_or(i32::MAX);
        // In jiff, seconds and nanoseconds have the same sign.
        let parts = if self.sec < 0 && nsec > 0 {
            (self.sec + 1, nsec - 1_000_000_000)
        } else {
            (self.sec, nsec)
        };
        if let Ok(timestamp) = Timestamp::new(parts.0, parts.1) {
            return write!(f, "{timestamp:.digits$}");
        }
        write!(f, "{}.{:09}", self.sec, self.nsec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanos_round_trip_on_both_sides_of_1970() {
        let (first, last) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let near =
            [0, 1, -1, 999_999_999, 1_000_000_000, -1_000_000_001, 1_795_000_000_123_456_789];
        for ns in near.into_iter().chain([first - 1, first, last, last + 1, first * 1000]) {
            assert_eq!(Stamp::from_nanos(ns).as_nanos(), ns);
        }
    }

    #[test]
    fn millis_are_nanos() {
        for ms in [0, 1, -1, 999, 1000, -1000, -1001, 1_795_000_000_123, i64::MIN, i64::MAX] {
            assert_eq!(Stamp::from_millis(ms).as_nanos(), i128::from(ms) * 1_000_000);
        }
    }

    #[test]
    fn prints_utc() {
        for (sec, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (1_395_526_400, "2014-03-22T22:13:20.007Z"),
            (-1, "1969-12-31T23:59:59.007Z"),
            (253_402_207_200, "9999-12-30T22:00:00.007Z"),
            (1 << 40, "1099511627776.007000000"),
            (i64::MIN, "-9223372036854775808.007000000"),
        ] {
            assert_eq!(Stamp { sec, nsec: 7_000_000 }.to_string(), text);
        }
    }
}
