//! The trace header, and the time of day in it.

use crate::model::Stamp;

use super::bytes::Bytes;

/// The trace header: clock and process (docs/protocols/dotnet.md 3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the format: 4, 5 or 6.
    pub version: u32,
    /// Wall clock at `ticks`, in whole milliseconds.
    pub utc: Stamp,
    /// The clock of events at `utc`.
    pub ticks: u64,
    /// Ticks a second: 1,000,000,000 on Linux, where the clock is CLOCK_MONOTONIC.
    pub frequency: u64,
    /// Bytes of a pointer: 4 or 8.
    pub pointer_size: u8,
    /// Process id as the process sees it; 0: not told.
    pub pid: u32,
    /// Processors; 0: not told.
    pub processors: u32,
    /// Period of the sample profiler in ns; 0: not told.
    pub sampling: u32,
}

impl Header {
    /// Bytes of the header's body in versions 4 and 5.
    pub(super) const LENGTH: usize = 48;

    /// The time and clock that all versions begin with. `None`: impossible.
    pub(super) fn begin(b: &mut Bytes<'_>, version: u32) -> Option<Self> {
        let utc = utc(b)?;
        let (ticks, frequency) = (b.u64()?, b.u64()?);
        let pointer_size = match b.u32()? {
            4 => 4,
            8 => 8,
            _ => return None,
        };
        if frequency == 0 || frequency > i64::MAX.cast_unsigned() {
            return None;
        }
        Some(Self { version, utc, ticks, frequency, pointer_size, ..Self::default() })
    }

    /// The header of versions 4 and 5.
    pub(super) fn four(b: &mut Bytes<'_>, version: u32) -> Option<Self> {
        let begin = Self::begin(b, version)?;
        Some(Self { pid: b.u32()?, processors: b.u32()?, sampling: b.u32()?, ..begin })
    }

    /// The header of version 6: the rest are texts (docs/protocols/dotnet.md 4).
    pub(super) fn six(b: &mut Bytes<'_>) -> Option<Self> {
        let mut header = Self::begin(b, 6)?;
        for _ in 0..b.u32()? {
            let (key, value) = (b.text8()?, b.text8()?);
            let number = || std::str::from_utf8(value).ok()?.parse().ok();
            match key {
                b"ProcessId" => header.pid = number().unwrap_or(0),
                b"HardwareThreadCount" => header.processors = number().unwrap_or(0),
                b"ExpectedCPUSamplingRate" => header.sampling = number().unwrap_or(0),
                _ => {}
            }
        }
        Some(header)
    }
}

/// A SYSTEMTIME: year, month, day of week, day, hour, minute, second, millisecond.
fn utc(b: &mut Bytes<'_>) -> Option<Stamp> {
    let (year, month, _, day) = (b.u16()?, b.u16()?, b.u16()?, b.u16()?);
    let (hour, minute, second, ms) = (b.u16()?, b.u16()?, b.u16()?, b.u16()?);
    let good = (1601..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60
        && ms < 1000;
    if !good {
        return None;
    }
    let sec = days(i64::from(year), i64::from(month), i64::from(day)) * 86_400
        + i64::from(hour) * 3600
        + i64::from(minute) * 60
        + i64::from(second);
    Some(Stamp { sec, nsec: u32::from(ms) * 1_000_000 })
}

/// Days since 1970-01-01 of a date of the Gregorian calendar. Years begin in March here, so that
/// the leap day is the last of its year.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2000, 2, 29), 11_016);
        assert_eq!(days(2026, 1, 2), 20_455);
        assert_eq!(days(1601, 1, 1), -134_774);
    }

    #[test]
    fn impossible_headers_are_refused() {
        let mut raw = [0; Header::LENGTH];
        for (i, v) in [2026_u16, 1, 5, 2, 3, 4, 5, 678].into_iter().enumerate() {
            raw[2 * i..2 * i + 2].copy_from_slice(&v.to_le_bytes());
        }
        raw[24] = 1;
        raw[32] = 8;
        let header = Header::four(&mut Bytes::new(&raw), 4).unwrap();
        assert_eq!(header.utc, Stamp { sec: 1_767_323_045, nsec: 678_000_000 });
        for (at, wrong) in [(2, 13), (24, 0), (32, 5)] {
            let mut raw = raw;
            raw[at] = wrong;
            assert_eq!(Header::four(&mut Bytes::new(&raw), 4), None, "{at}");
        }
    }
}
