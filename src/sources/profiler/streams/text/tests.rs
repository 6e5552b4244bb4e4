use proptest::prelude::*;

use super::{Reader, Text};
use crate::sources::profiler::limits;
use crate::sources::profiler::streams::record::Corrupt;
use crate::sources::profiler::streams::scan::Scan;

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
fn read(bytes: &[u8], units: u32, keep: u32, piece: usize) -> Option<(Vec<u8>, u32, bool)> {
    let mut reader = Reader::default();
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
    let mut reader = Reader::default();
    assert_eq!(reader.begin(limits::UNITS, 1), Ok(()));
    assert_eq!(reader.begin(limits::UNITS + 1, 1), Err(Corrupt::Units(limits::UNITS + 1)));
    assert_eq!(reader.begin(u32::MAX, 1), Err(Corrupt::Units(u32::MAX)));
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
        prop_assert_eq!(read(&bytes, n, keep, piece), want);
    }
}
