use super::*;
use crate::sources::zorka::wire::{Begin, FLAG_SENT};

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
