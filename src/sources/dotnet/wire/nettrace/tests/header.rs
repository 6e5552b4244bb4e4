use super::super::bytes::Bytes;
use super::super::*;
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
