use super::*;
use crate::contract::Recorded;
use crate::sources::Source;
use crate::sources::zorka::Zorka;
use crate::sources::zorka::metrics::{CLASS_COUNT, CLASS_RECEIVED, EXCEPTION_CLASSES};
use crate::sources::zorka::wire::Slice;

const LAYOUT: Layout<2> =
    Layout { table: EXCEPTION_CLASSES, items: [CLASS_COUNT, CLASS_RECEIVED], max: 3 };

fn add(rows: &mut Rows<2>, key: &str, more: [u64; 2], seen: &mut Recorded) {
    let slot = rows.slot(key, seen, |slot, of, peer| {
        let key = (of == Of::Key).then_some(key);
        peer.row(EXCEPTION_CLASSES, slot, key);
    });
    rows.add(slot, more);
}

#[test]
fn keys_beyond_the_limit_share_a_row_and_sums_are_exact() {
    let (mut rows, mut seen) = (Rows::new(LAYOUT), Recorded::new(&Zorka::TABLE));
    for n in 0..100 {
        add(&mut rows, &format!("k{}", n % 10), [1, n], &mut seen);
        if n % 7 == 0 {
            rows.report(&mut seen);
        }
    }
    assert!(rows.is_full());
    rows.clear(&mut seen);
    add(&mut rows, "k5", [1, 0], &mut seen);
    rows.report(&mut seen);
    let of = |key: &str| (seen.cell(CLASS_COUNT, key), seen.cell(CLASS_RECEIVED, key));
    assert_eq!(of("k0"), (Some(10), Some(450)));
    assert_eq!(of("other"), (Some(70), Some(4950 - 450 - 460 - 470)));
    assert_eq!(of("k5"), (Some(1), Some(0)));
}

#[test]
fn names_have_no_blanks_and_an_end() {
    assert_eq!([clean("a.B"), clean(" a\nb\u{a0}"), clean("")], ["a.B", "_a_b_", "#"]);
    assert_eq!(clean(&"é".repeat(200)).len(), NAME);
}

#[test]
fn buckets_include_their_lower_end() {
    let of = [0, 99_999, 100_000, 199_999, 200_000, 99_999_999_999, 100_000_000_000, u64::MAX];
    assert_eq!(of.map(bucket), [0, 0, 1, 1, 2, 18, 19, 19]);
}

#[test]
fn a_status_has_three_digits() {
    let body = b"200 404 99 600 java.X@12";
    let of = |start, end| status_class(&AttributeValue::Text(Slice { start, end }), body);
    assert_eq!([of(0, 3), of(4, 7)], [Some("2xx"), Some("4xx")]);
    assert_eq!([of(8, 10), of(11, 14), of(15, 24), of(0, 4), of(0, 0)], [None; 5]);
    let of = |n| status_class(&AttributeValue::Int(n), b"");
    assert_eq!([of(503), of(100)], [Some("5xx"), Some("1xx")]);
    assert_eq!([of(99), of(600), of(-200), of(i64::MIN)], [None; 4]);
}

#[test]
fn the_text_null_is_no_value() {
    let of = |start, end| text(&AttributeValue::Text(Slice { start, end }), b"nullsql");
    assert_eq!((of(0, 4), of(4, 7).as_deref(), of(0, 0)), (None, Some("sql"), None));
    assert_eq!(text(&AttributeValue::Null, b""), None);
}
