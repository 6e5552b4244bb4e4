use proptest::prelude::*;

use super::{DecodeError, Numbers, Scan, TextReader};
use crate::sources::profiler::dictionary::Text;
use crate::sources::profiler::limits;
use crate::sources::profiler::test_kit::Bytes;

/// The rules of the specification, byte by byte.
fn slow_varint(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0u32;
    for i in 0..5 {
        let byte = *bytes.get(i)?;
        if i == 4 {
            return Some((value | u32::from(byte) << 28, 5));
        }
        value |= u32::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
    }
    None
}

fn slow_varlong(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for i in 0..5 {
        let byte = *bytes.get(i)?;
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
    }
    let (high, length) = slow_varint(&bytes[5..])?;
    Some((value | u64::from(high) << 35, 5 + length))
}

fn read<T>(bytes: &[u8], with: impl Fn(&mut Scan<'_>) -> Option<T>) -> Option<(T, usize)> {
    let mut scan = Scan::new(bytes, 1000);
    let value = with(&mut scan);
    let taken = bytes.len() - scan.rest().len();
    assert_eq!(scan.offset(), 1000 + taken as u64);
    assert!(value.is_some() || taken == 0, "moved without a value");
    value.map(|v| (v, taken))
}

#[test]
fn values_that_the_specification_names() {
    let varint = |bytes: &[u8]| read(bytes, |s| s.varint());
    assert_eq!(varint(&[0x7f]), Some((127, 1)));
    assert_eq!(varint(&[0x80, 1]), Some((128, 2)));
    // -1 as a 32-bit pattern; the high bit of the fifth byte is ignored.
    assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Some((u32::MAX, 5)));
    assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 1]), Some((u32::MAX, 5)));
    assert_eq!(read(&[0x80; 9], |s| s.varlong()), None);
    assert_eq!(read(&Bytes::new().varlong(u64::MAX).0, |s| s.varlong()), Some((u64::MAX, 10)));
    for (raw, value) in
        [(0, 0), (1, -1), (2, 1), (3, -2), (u32::MAX, i32::MIN), (u32::MAX - 1, i32::MAX)]
    {
        assert_eq!(read(&Bytes::new().varint(raw).0, |s| s.zigzag()).map(|v| v.0), Some(value));
    }
}

proptest! {
    #[test]
    fn any_bytes_read_as_the_slow_way_does(bytes in prop::collection::vec(any::<u8>(), 0..12), more in any::<bool>()) {
        let bytes: Vec<u8> = if more { bytes.iter().map(|b| b | 0x80).collect() } else { bytes };
        prop_assert_eq!(read(&bytes, |s| s.varint()), slow_varint(&bytes));
        prop_assert_eq!(read(&bytes, |s| s.varlong()), slow_varlong(&bytes));
    }

    #[test]
    fn eight_at_once_are_eight(bytes in prop::collection::vec(prop_oneof![60 => 0..0x80u8, 1 => any::<u8>()], 0..12)) {
        let one_by_one = |s: &mut Scan<'_>| {
            let values: Option<Vec<u64>> = (0..8).map(|_| s.varlong()).collect();
            values
        };
        match read(&bytes, |s| s.eight_small()) {
            Some((values, 8)) => prop_assert_eq!(read(&bytes, one_by_one), Some((values.map(u64::from).to_vec(), 8))),
            Some((_, n)) => prop_assert!(false, "took {}", n),
            None => prop_assert!(bytes.len() < 8 || bytes[..8].iter().any(|b| *b >= 0x80)),
        }
    }

    #[test]
    fn numbers_come_back(small in any::<u32>(), large in any::<u64>(), shift in 0..64u32) {
        let large = large >> shift;
        prop_assert_eq!(read(&Bytes::new().varint(small).0, |s| s.varint()).map(|v| v.0), Some(small));
        let bytes = Bytes::new().varlong(large).0;
        prop_assert_eq!(read(&bytes, |s| s.varlong()), Some((large, bytes.len())));
        if large < 1 << 28 {
            prop_assert_eq!(bytes, Bytes::new().varint(large as u32).0, "a small varlong is a varint");
        }
    }
}

fn be(units: &[u16]) -> Vec<u8> {
    units.iter().flat_map(|u| u.to_be_bytes()).collect()
}

fn pushed(text: Text<'_>) -> String {
    let mut out = String::from("> ");
    text.push_to(&mut out);
    out.split_off(2)
}

#[test]
fn surrogates_paired_and_not() {
    for (units, text) in [
        (vec![], ""),
        (vec![0x41, 0xd83e, 0xdd80], "A🦀"),
        (vec![0xdd80, 0xd83e], "\u{fffd}\u{fffd}"),
        (vec![0xd83e, 0x41], "\u{fffd}A"),
        (vec![0xffff, 0x8000, 0], "\u{ffff}\u{8000}\0"),
    ] {
        let bytes = be(&units);
        let read = Text::new(&bytes, units.len() as u32);
        assert_eq!((read.to_string(), pushed(read)), (text.to_owned(), text.to_owned()));
        assert!(read.is(text) && !read.is_cut());
    }
    assert!(!Text::new(&be(&[0x41]), 2).is("A"), "a cut string is not the same as its beginning");
}

#[test]
fn numbers() {
    let number =
        |s: &str| Text::new(&be(&s.encode_utf16().collect::<Vec<_>>()), s.len() as u32).number();
    assert_eq!((number("0"), number("18446744073709551615")), (Some(0), Some(u64::MAX)));
    for none in ["", "-1", "1x", "18446744073709551616", "000000000000000000001"] {
        assert_eq!(number(none), None, "{none}");
    }
}

/// Reads a string of `units` with limit `keep`, in pieces.
fn read_text(bytes: &[u8], units: u32, keep: u32, piece: usize) -> Option<(Vec<u8>, u32, bool)> {
    let mut reader = TextReader::default();
    reader.begin(units, keep).unwrap();
    for piece in bytes.chunks(piece.max(1)) {
        let mut scan = Scan::new(piece, 0);
        if let Some(text) = reader.take(&mut scan) {
            return Some((text.as_utf16().to_vec(), text.units(), text.is_cut()));
        }
        assert!(scan.rest().is_empty());
    }
    None
}

#[test]
fn a_string_may_claim_only_so_much() {
    let mut reader = TextReader::default();
    assert_eq!(reader.begin(limits::UNITS, 1), Ok(()));
    assert_eq!(reader.begin(limits::UNITS + 1, 1), Err(DecodeError::Units(limits::UNITS + 1)));
    assert_eq!(reader.begin(u32::MAX, 1), Err(DecodeError::Units(u32::MAX)));
}

proptest! {
    #[test]
    fn pushing_is_the_same_as_decoding(units in prop::collection::vec(prop_oneof![8 => 0u16..0x90, 1 => any::<u16>()], 0..200)) {
        let bytes = be(&units);
        let want = String::from_utf16_lossy(&units);
        prop_assert_eq!(pushed(Text::new(&bytes, units.len() as u32)), want);
    }

    #[test]
    fn pieces_make_no_difference(units in prop::collection::vec(any::<u16>(), 0..60), keep in 0..70u32, piece in 1..130usize) {
        let bytes = [be(&units), vec![7; 9]].concat();
        let n = units.len() as u32;
        let kept = 2 * n.min(keep) as usize;
        let want = Some((bytes[..kept].to_vec(), n, keep < n));
        prop_assert_eq!(read_text(&bytes, n, keep, piece), want);
    }
}
