//! Arrays of event records: `pmEventArray` and `pmHighResEventArray` of PMAPI(3), in the host's byte order.

use std::fmt;

use pcp_sys as sys;

/// `PM_EVENT_FLAG_MISSED`.
const MISSED: u32 = 1 << 31;
/// Length and type of a parameter, and its metric before them.
const PARAMETER: usize = 8;
/// The word with length and type, of which the length of a parameter is.
const WORD: usize = 4;

/// An array that is not as PCP says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of event records is damaged")
    }
}

impl std::error::Error for Malformed {}

/// The records of an array.
#[derive(Debug, Clone)]
pub struct EventRecords<'a> {
    rest: Rest<'a>,
    left: u32,
    fine: bool,
}

/// A record.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord<'a> {
    /// ns since 1970.
    pub time: i64,
    /// `PM_EVENT_FLAG_*`.
    pub flags: u32,
    /// Records that are not there; then there are no parameters.
    pub missed: u32,
    /// In their order.
    pub parameters: Vec<Parameter<'a>>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter<'a> {
    /// The metric that it is of.
    pub pmid: u32,
    /// Its value.
    pub value: ParameterValue<'a>,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue<'a> {
    /// `PM_TYPE_32`, `PM_TYPE_64`.
    Int(i64),
    /// `PM_TYPE_U32`, `PM_TYPE_U64`.
    Uint(u64),
    /// `PM_TYPE_FLOAT`, `PM_TYPE_DOUBLE`.
    Float(f64),
    /// `PM_TYPE_STRING`, up to its NUL.
    Text(&'a [u8]),
    /// Of another type.
    Bytes(&'a [u8]),
}

impl<'a> EventRecords<'a> {
    /// The records of a value; `bytes`: with the header of its `pmValueBlock`; `fine`: of a
    /// `PM_TYPE_HIGHRES_EVENT`.
    ///
    /// # Errors
    /// It has no room for its number of records.
    pub fn new(bytes: &'a [u8], fine: bool) -> Result<Self, Malformed> {
        let mut rest = Rest(bytes);
        rest.take(WORD)?;
        let left = rest.u32()?;
        Ok(Self { rest, left, fine })
    }

    fn record(&mut self) -> Result<EventRecord<'a>, Malformed> {
        let rest = &mut self.rest;
        let (seconds, nanoseconds) = if self.fine {
            (rest.i64()?, rest.i64()?)
        } else {
            let (seconds, micros) = (rest.u32()?.cast_signed(), rest.u32()?.cast_signed());
            (seconds.into(), i64::from(micros) * 1000)
        };
        let time = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
        let (flags, number) = (rest.u32()?, rest.u32()?);
        let mut record = EventRecord { time, flags, missed: 0, parameters: Vec::new() };
        if flags & MISSED != 0 {
            record.missed = number;
            return Ok(record);
        }
        // A number that the bytes have no room for is no reason to allocate.
        let most = rest.0.len() / PARAMETER;
        record.parameters.reserve(most.min(usize::try_from(number).unwrap_or(most)));
        for _ in 0..number {
            let pmid = rest.u32()?;
            let word = rest.u32()?;
            let length = usize::try_from(word & 0x00ff_ffff).map_err(|_| Malformed)?;
            let length = length.checked_sub(WORD).ok_or(Malformed)?;
            let value = rest.take(length.next_multiple_of(4))?;
            let value = value.get(..length).ok_or(Malformed)?;
            record.parameters.push(Parameter { pmid, value: decoded(word >> 24, value)? });
        }
        Ok(record)
    }
}

impl<'a> Iterator for EventRecords<'a> {
    type Item = Result<EventRecord<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let record = self.record();
        if record.is_err() {
            self.left = 0;
        }
        Some(record)
    }
}

fn decoded(kind: u32, bytes: &[u8]) -> Result<ParameterValue<'_>, Malformed> {
    let four = || bytes.first_chunk().copied().ok_or(Malformed);
    let eight = || bytes.first_chunk().copied().ok_or(Malformed);
    Ok(match kind {
        sys::PM_TYPE_32 => ParameterValue::Int(i32::from_ne_bytes(four()?).into()),
        sys::PM_TYPE_U32 => ParameterValue::Uint(u32::from_ne_bytes(four()?).into()),
        sys::PM_TYPE_64 => ParameterValue::Int(i64::from_ne_bytes(eight()?)),
        sys::PM_TYPE_U64 => ParameterValue::Uint(u64::from_ne_bytes(eight()?)),
        sys::PM_TYPE_FLOAT => ParameterValue::Float(f32::from_ne_bytes(four()?).into()),
        sys::PM_TYPE_DOUBLE => ParameterValue::Float(f64::from_ne_bytes(eight()?)),
        sys::PM_TYPE_STRING => {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            ParameterValue::Text(bytes.get(..end).unwrap_or_default())
        }
        _ => ParameterValue::Bytes(bytes),
    })
}

/// Bytes that are to be read.
#[derive(Debug, Clone)]
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u32::from_ne_bytes(*taken))
    }

    fn i64(&mut self) -> Result<i64, Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(i64::from_ne_bytes(*taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(fine: bool) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        let word = |bytes: &mut Vec<u8>, n: u32| bytes.extend(n.to_ne_bytes());
        let stamp = |bytes: &mut Vec<u8>, at: i64| {
            if fine {
                bytes.extend(5_i64.to_ne_bytes());
                bytes.extend(at.to_ne_bytes());
            } else {
                bytes.extend(5_u32.to_ne_bytes());
                bytes.extend(u32::try_from(at / 1000).expect("small").to_ne_bytes());
            }
        };
        word(&mut bytes, 2);
        stamp(&mut bytes, 7000);
        word(&mut bytes, 9);
        word(&mut bytes, 3);
        for (pmid, kind, value) in [
            (1, sys::PM_TYPE_U64, &u64::MAX.to_ne_bytes()[..]),
            (2, sys::PM_TYPE_STRING, b"ab\0"),
            (3, sys::PM_TYPE_FLOAT, &1.5_f32.to_ne_bytes()[..]),
        ] {
            word(&mut bytes, pmid);
            let length = u32::try_from(value.len() + 4).expect("small");
            word(&mut bytes, length | kind << 24);
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0xee);
        }
        stamp(&mut bytes, 8000);
        word(&mut bytes, MISSED);
        word(&mut bytes, 41);
        bytes
    }

    #[test]
    fn records_of_both_resolutions_are_read() {
        for fine in [false, true] {
            let bytes = array(fine);
            let records: Result<Vec<_>, _> =
                EventRecords::new(&bytes, fine).expect("a head").collect();
            let records = records.expect("sound");
            let first = &records[0];
            assert_eq!((first.time, first.flags, first.missed), (5_000_007_000, 9, 0));
            let values: Vec<_> =
                first.parameters.iter().map(|p| (p.pmid, p.value.clone())).collect();
            let wanted = [
                (1, ParameterValue::Uint(u64::MAX)),
                (2, ParameterValue::Text(b"ab")),
                (3, ParameterValue::Float(1.5)),
            ];
            assert_eq!(values, wanted);
            assert_eq!((records[1].time, records[1].missed), (5_000_008_000, 41));
        }
    }

    #[test]
    fn damaged_arrays_end() {
        for fine in [false, true] {
            let whole = array(fine);
            for length in 0..whole.len() {
                let cut = whole.get(..length).expect("shorter");
                let Ok(records) = EventRecords::new(cut, fine) else { continue };
                let records: Vec<_> = records.collect();
                assert_eq!(records.last(), Some(&Err(Malformed)), "{length}");
            }
            for at in 4..whole.len() {
                let mut odd = whole.clone();
                odd[at] ^= 0xff;
                if let Ok(records) = EventRecords::new(&odd, fine) {
                    let _: Vec<_> = records.take_while(Result::is_ok).collect();
                }
            }
        }
    }
}
