//! Validation of event arrays before libpcp walks them.

use pcp_sys as sys;

/// Bytes of the header of an array, and of the header of a parameter.
const HEADER: usize = 8;

/// Whether libpcp can walk these bytes as a `pmEventArray` or `pmHighResEventArray` without reading
/// past their end: every length and count is in bounds.
pub(super) fn is_event_array(array: &[u8]) -> bool {
    let record = match array.first_chunk().map(|word| u32::from_ne_bytes(*word)) {
        Some(word) if (word & 0xff_ffff) as usize == array.len() => match word >> 24 {
            sys::PM_TYPE_EVENT => 16,
            sys::PM_TYPE_HIGHRES_EVENT => 24,
            _ => return false,
        },
        _ => return false,
    };
    let number = |at: usize| Some(u32::from_ne_bytes(*array.get(at..)?.first_chunk()?));
    let walk = || {
        let mut at = HEADER;
        for _ in 0..number(4)? {
            let (flags, count) = (number(at + record - 8)?, number(at + record - 4)?);
            at += record;
            // In a missed record the count is that of lost records, not of parameters.
            for _ in 0..if flags >> 31 == 0 { count } else { 0 } {
                let length = (number(at + 4)? & 0xff_ffff) as usize;
                if length < 4 {
                    return None;
                }
                at += length.next_multiple_of(4) + 4;
            }
        }
        (at <= array.len()).then_some(())
    };
    walk().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    #[test]
    fn lengths_and_counts_must_fit() {
        let header = |bytes: u32| bytes | sys::PM_TYPE_EVENT << 24;
        assert!(is_event_array(&bytes(&[header(8), 0])));
        assert!(!is_event_array(&bytes(&[header(12), 0])), "a length beyond the bytes");
        assert!(!is_event_array(&bytes(&[8 | sys::PM_TYPE_STRING << 24, 0])), "a string");
        assert!(!is_event_array(&bytes(&[header(8), 1])), "a record too many");
        assert!(!is_event_array(&[8, 0, 0]));
        // A record with one parameter of 4 + 2 bytes.
        let one = |length: u32, count: u32| [header(36), 1, 0, 0, 1, count, 7, length | 6 << 24, 0];
        assert!(is_event_array(&bytes(&one(6, 1))));
        assert!(!is_event_array(&bytes(&one(9, 1))) && !is_event_array(&bytes(&one(3, 1))));
        assert!(!is_event_array(&bytes(&one(6, u32::MAX))));
        let missed = [header(24), 1, 0, 0, 1 << 31, 5];
        assert!(is_event_array(&bytes(&missed)), "a count of missed records");
    }
}
