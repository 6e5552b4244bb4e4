use super::*;
use crate::sources::zorka::wire::Begin;

#[test]
fn trees_end_and_copies_are_no_spans() {
    // Parent, depth of the span, flags, exceptions.
    let all = [
        (NONE, Some(0), 0, 0),
        (0, None, 0, 1),
        (1, Some(2), 0, 1),
        (2, None, 0, 0),
        (0, Some(1), FLAG_SENT, 0),
        (4, Some(2), 0, 1),
        (0, None, 0, 1),
        (NONE, Some(0), 0, 0),
    ];
    let mut body = TraceBody::default();
    for (n, (parent, span, flags, exceptions)) in (0..).zip(all) {
        let at = span.map_or(NONE, |_| u32::try_from(body.spans.len()).unwrap());
        let flags = flags | FLAG_CLOSED;
        body.records.push(Record { parent, flags, exceptions, span: at, ..Record::default() });
        body.spans.extend(span.map(|depth| Begin { record: n, depth, ..Begin::default() }));
    }
    let mut copies = Copies::default();
    copies.find(&body);
    let mut shape = Shape::default();
    shape.find(&body, &copies);
    let of = |record, end, depth, outer, report| Counted { record, end, depth, outer, report };
    let spans = [of(0, 7, 0, NONE, 6), of(2, 4, 2, 0, 2), of(7, 8, 0, NONE, NONE)];
    assert_eq!(shape.spans, spans);
    assert_eq!(shape.reports, [(1, 0), (2, 1), (6, 0)]);
}

fn body(dialect: Dialect, root: i64, records: &[(u32, bool, u8)]) -> TraceBody {
    let mut body = TraceBody::default();
    for (n, &(parent, span, flags)) in (0..).zip(records) {
        let number = u32::try_from(body.spans.len()).unwrap();
        let at = if span { number } else { NONE };
        let start = if parent == NONE { root } else { 5 };
        body.records.push(Record { parent, flags, dialect, start, span: at, ..Record::default() });
        if span {
            body.spans.push(Begin { record: n, ..Begin::default() });
        }
    }
    body
}

/// root(span) { a(span, sent) { b(span, sent) c } d { e(span) } } root(span, sent)
const TREE: [(u32, bool, u8); 7] = [
    (NONE, true, 0),
    (0, true, FLAG_SENT),
    (1, true, FLAG_SENT),
    (1, false, 0),
    (0, false, 0),
    (4, true, 0),
    (NONE, true, FLAG_SENT),
];

fn found(body: &TraceBody) -> Vec<u32> {
    let mut copies = Copies::default();
    copies.find(body);
    (0..8).filter(|n| copies.contains(*n)).collect()
}

#[test]
fn nested_spans_that_were_sent_are_copies_with_all_below() {
    assert_eq!(found(&body(Dialect::Modern, 0, &TREE)), [1, 2, 3]);
    assert_eq!(found(&body(Dialect::Legacy, 0, &TREE)), [1, 2, 3, 5]);
    assert_eq!(found(&body(Dialect::Legacy, 77, &TREE)), [0; 0]);
    assert_eq!(found(&TraceBody::default()), [0; 0]);
}

#[test]
fn a_tree_ends_where_the_next_begins() {
    let records = body(Dialect::Modern, 0, &TREE).records;
    let ends: Vec<u32> = (0..7).map(|n| subtree_end(&records, n)).collect();
    assert_eq!(ends, [6, 4, 3, 4, 6, 6, 7]);
}
