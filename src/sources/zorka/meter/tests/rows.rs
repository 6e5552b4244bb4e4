use super::*;
use crate::contract::Recorded;
use crate::model::HeapSize;
use crate::sources::Source;
use crate::sources::zorka::Zorka;
use crate::sources::zorka::wire::Slice;

#[test]
fn keys_beyond_the_limit_share_a_row() {
    let mut seen = Recorded::new(&Zorka::TABLE);
    let mut rows = Rows::new(m::DB, [m::DB_COUNT, m::DB_TIME], 3, None);
    for n in 0..100 {
        rows.add("a1", &format!("k{}", n % 10), [1, n], &mut seen);
    }
    assert_eq!(rows.slots.len(), 3);
    rows.free(&mut seen);
    assert_eq!(rows.heap_size(), 0);
    rows.add("a1", "k5", [1, 0], &mut seen);
    let of = |key: &str| (seen.cell(m::DB_COUNT, key), seen.cell(m::DB_TIME, key));
    assert_eq!(of("k0"), (Some(10), Some(450)));
    assert_eq!(of("other"), (Some(70), Some(4950 - 450 - 460 - 470)));
    assert_eq!(of("k5"), (Some(1), Some(0)));
}

#[test]
fn names_have_no_blanks_and_an_end() {
    assert_eq!([name("a.B"), name(" a\nb\u{a0}"), name("")], ["a.B", "_a_b_", "#"]);
    assert_eq!(name(&"é".repeat(200)).len(), NAME);
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
