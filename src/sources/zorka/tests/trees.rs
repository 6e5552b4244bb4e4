use super::*;
use crate::sources::zorka::shape::Shape;
use crate::sources::zorka::wire::{Begin, Dialect, FLAG_SENT, NONE, TraceBody};

/// Parent, method, duration in us, flags; a span begins in the first record and in those with a flag.
fn text(dialect: Dialect, records: &[(u32, u32, u64, u8)]) -> String {
    let mut body = TraceBody::default();
    for (n, &(parent, method, duration, flags)) in (0..).zip(records) {
        let begins = n == 0 || flags & FLAG_SENT != 0;
        let span = if begins { u32::try_from(body.spans.len()).unwrap() } else { NONE };
        let duration = 1000 * duration;
        body.records.push(Record {
            parent,
            method,
            duration,
            flags,
            span,
            dialect,
            ..Record::default()
        });
        if begins {
            body.spans.push(Begin { record: n, ..Begin::default() });
        }
    }
    let mut copies = Copies::default();
    copies.find(&body);
    let mut shape = Shape::default();
    shape.find(&body, &copies);
    let tree = tree(&body.records, &shape.spans[0], &copies).unwrap();
    tree.text(16 << 10, LEAST, false, |method| format!("C.m{method}")).text
}

const OPEN: u8 = 0;
const END: u8 = FLAG_CLOSED;

#[test]
fn records_of_a_path_are_one_node() {
    let records = [
        (NONE, 0, 100, END),
        (0, 1, 30, END),
        (1, 2, 20, END),
        (0, 1, 10, END),
        (3, 2, 4, END),
        (0, 3, 50, END),
        // The next one is no part of it.
        (NONE, 9, 1000, END),
    ];
    assert_eq!(
        text(Dialect::Modern, &records),
        "0,100,10,,1,C.m0 1,50,50,,1,C.m3 1,40,16,,2,C.m1 2,24,24,,2,C.m2"
    );
}

#[test]
fn copies_count_once_and_what_has_no_end_has_no_node() {
    let records = [
        (NONE, 0, 100, END),
        (0, 1, 60, END),
        (1, 2, 50, END | FLAG_SENT),
        (2, 3, 40, END),
        (3, 4, 40, END | FLAG_SENT),
        (1, 5, 5, END),
        (0, 6, 0, OPEN),
        (6, 7, 20, END),
    ];
    assert_eq!(
        text(Dialect::Modern, &records),
        "0,100,20,,1,C.m0 1,60,5,,1,C.m1 2,5,5,,1,C.m5 2,50,,,1,others 1,20,20,,1,C.m7"
    );
}

#[test]
fn ticks_make_negative_times_of_parents() {
    let records = [(NONE, 0, 65, END), (0, 1, 65, END), (0, 2, 65, END)];
    assert_eq!(text(Dialect::Modern, &records), "0,65,-65,,1,C.m0 1,65,65,,1,C.m1 1,65,65,,1,C.m2");
}

#[test]
fn a_recursion_is_cut_where_it_is_too_deep() {
    let mut records = vec![(NONE, 0, 10_000, END)];
    records.extend((0..4095).map(|n| (n, 1, 9999 - u64::from(n), END)));
    let text = text(Dialect::Modern, &records);
    assert!(text.ends_with(" 127,9873,1,,1,C.m1 128,9872,,,1,others"), "{text}");
}
