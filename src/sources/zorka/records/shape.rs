//! Where the counted spans of a body are within each other.

use crate::sources::zorka::meter::copies::Copies;
use crate::sources::zorka::wire::body::{FLAG_CLOSED, NONE, Record, TraceBody};

/// A span that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// Position of its record.
    pub(super) record: u32,
    /// The first record behind its tree.
    pub(super) end: u32,
    /// Records around it.
    pub(super) depth: u32,
    /// Position in [`Shape::spans`] of the counted span around it, or [`NONE`].
    pub(super) outer: u32,
    /// The last record with an exception that is in it and in no counted span within it, or
    /// [`NONE`].
    pub(super) report: u32,
}

/// The counted spans of a body, in the order of their records.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) spans: Vec<Counted>,
    /// Records with an exception that are no copies, in their order, and the counted span around
    /// each.
    pub(super) reports: Vec<(u32, u32)>,
    /// The counted spans around the present record: record, position in `spans`.
    path: Vec<(u32, u32)>,
}

impl Shape {
    /// Finds the counted spans of a body; those of an earlier body are dropped.
    pub(super) fn find(&mut self, body: &TraceBody, copies: &Copies) {
        let Self { spans, reports, path } = self;
        spans.clear();
        reports.clear();
        path.clear();
        let records = &body.records;
        let mut copies = copies.ranges().iter().copied();
        let mut next_copy = || copies.next().unwrap_or((NONE, NONE));
        let mut copy = next_copy();
        let mut n = 0;
        while let Some(record) = records.get(n as usize) {
            // The parents of records in a tree are in the tree; of a root it is NONE.
            while let Some((root, span)) = path.last()
                && record.parent.wrapping_add(1) <= *root
            {
                end(spans, *span, n);
                path.pop();
            }
            if n == copy.0 {
                (n, copy) = (copy.1, next_copy());
                continue;
            }
            if is_counted(record) {
                let depth = body.spans.get(record.span as usize).map_or(0, |begin| begin.depth);
                let outer = path.last().map_or(NONE, |(_, span)| *span);
                path.push((n, u32::try_from(spans.len()).unwrap_or(NONE)));
                spans.push(Counted { record: n, end: n + 1, depth, outer, report: NONE });
            }
            if record.exceptions > 0 {
                let span = path.last().map_or(NONE, |(_, span)| *span);
                reports.push((n, span));
                spans.get_mut(span as usize).into_iter().for_each(|span| span.report = n);
            }
            n += 1;
        }
        for (_, span) in path.drain(..) {
            end(spans, span, n);
        }
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.spans.capacity() * size_of::<Counted>()
            + self.reports.capacity() * size_of::<(u32, u32)>()
            + self.path.capacity() * size_of::<(u32, u32)>()
    }
}

/// The tree of a span ends before record `n`.
fn end(spans: &mut [Counted], span: u32, n: u32) {
    spans.get_mut(span as usize).into_iter().for_each(|span| span.end = n);
}

/// A span begins in the record and has an end.
pub(super) const fn is_counted(record: &Record) -> bool {
    record.span != NONE && record.flags & FLAG_CLOSED != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::zorka::wire::body::{Begin, FLAG_SENT};

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
}
