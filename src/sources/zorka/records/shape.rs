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
    path: Vec<Open>,
}

/// A record around the present one.
#[derive(Clone, Copy, Debug)]
struct Open {
    record: u32,
    /// The innermost counted span, its own included.
    span: u32,
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
            while let Some(open) = path.last()
                && open.record != record.parent
            {
                end(spans, *open, n);
                path.pop();
            }
            if n == copy.0 {
                (n, copy) = (copy.1, next_copy());
                continue;
            }
            let mut span = path.last().map_or(NONE, |open| open.span);
            if is_counted(record) {
                let depth = u32::try_from(path.len()).unwrap_or(u32::MAX);
                let outer = span;
                span = u32::try_from(spans.len()).unwrap_or(NONE);
                spans.push(Counted { record: n, end: n + 1, depth, outer, report: NONE });
            }
            if record.exceptions > 0 {
                reports.push((n, span));
                spans.get_mut(span as usize).into_iter().for_each(|span| span.report = n);
            }
            if records.get(n as usize + 1).is_some_and(|next| next.parent == n) {
                path.push(Open { record: n, span });
            }
            n += 1;
        }
        for open in path.drain(..) {
            end(spans, open, n);
        }
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.spans.capacity() * size_of::<Counted>()
            + self.reports.capacity() * size_of::<(u32, u32)>()
            + self.path.capacity() * size_of::<Open>()
    }
}

/// The tree of a record ends before record `n`.
#[inline]
fn end(spans: &mut [Counted], open: Open, n: u32) {
    if let Some(span) = spans.get_mut(open.span as usize).filter(|s| s.record == open.record) {
        span.end = n;
    }
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
        // Parent, span, flags, exceptions.
        let all = [
            (NONE, true, 0, 0),
            (0, false, 0, 1),
            (1, true, 0, 1),
            (2, false, 0, 0),
            (0, true, FLAG_SENT, 0),
            (4, true, 0, 1),
            (0, false, 0, 1),
            (NONE, true, 0, 0),
        ];
        let mut body = TraceBody::default();
        for (n, (parent, span, flags, exceptions)) in (0..).zip(all) {
            let at = if span { u32::try_from(body.spans.len()).unwrap() } else { NONE };
            let flags = flags | FLAG_CLOSED;
            body.records.push(Record { parent, flags, exceptions, span: at, ..Record::default() });
            body.spans.extend(span.then(|| Begin { record: n, ..Begin::default() }));
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
