//! Wall-clock time of records.

/// A point in wall-clock time: seconds and nanoseconds since 1970-01-01 00:00 UTC.
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
    pub const fn from_nanos(ns: i128) -> Self {
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

/// ISO 8601 in UTC with milliseconds, or as many digits as the precision says:
/// `2026-11-21T02:17:53.181Z`.
impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (days, second) = (self.sec.div_euclid(86_400), self.sec.rem_euclid(86_400));
        // Days to civil date with years that begin in March, so that the leap day is the last of
        // its year.
        let z = days + 719_468;
        let era = z.div_euclid(146_097);
        let day_of_era = z.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        let digits = f.precision().unwrap_or(3).min(9);
        let fraction = (digits..9).fold(self.nsec, |fraction, _| fraction / 10);
        write!(f, "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{fraction:0digits$}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanos_round_trip_on_both_sides_of_1970() {
        for ns in [0, 1, -1, 999_999_999, 1_000_000_000, -1_000_000_001, 1_795_000_000_123_456_789]
        {
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
        ] {
            assert_eq!(Stamp { sec, nsec: 7_000_000 }.to_string(), text);
        }
    }
}
