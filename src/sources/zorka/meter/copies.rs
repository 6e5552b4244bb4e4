//! Records that a body has from spans that the agent has sent before (docs/protocols/zorka.md 5.2,
//! 6).

use crate::sources::zorka::wire::body::{Dialect, FLAG_SENT, NONE, Record, TraceBody};

/// The records of a body that are copies: they were counted when their span came alone. A span is a
/// copy if it is within another record and, in the modern layout, has been sent before; in the
/// legacy one, if the root of its tree starts at tick 0, as local tracers write it. All records
/// below a copy are copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// First record, and first record behind, in rising order.
    ranges: Vec<(u32, u32)>,
}

impl Copies {
    /// Finds the copies of a body; those of an earlier body are dropped.
    pub(crate) fn find(&mut self, body: &TraceBody) {
        self.ranges.clear();
        let records = &body.records;
        let at = |n: u32| records.get(n as usize);
        // Most bodies have no span within another.
        if !body.spans.iter().any(|s| at(s.record).is_some_and(|r| is_copy(r, true))) {
            return;
        }
        let (mut n, mut local) = (0, false);
        while let Some(record) = at(n) {
            if record.parent == NONE {
                local = record.start == 0;
            }
            if is_copy(record, local) {
                let end = subtree_end(records, n);
                self.ranges.push((n, end));
                n = end;
            } else {
                n += 1;
            }
        }
    }

    /// Ranges of records, as first and end, in rising order.
    pub(crate) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// The record is a copy.
    pub(crate) fn contains(&self, record: u32) -> bool {
        let behind = self.ranges.partition_point(|(first, _)| *first <= record);
        behind.checked_sub(1).and_then(|n| self.ranges.get(n)).is_some_and(|(_, end)| record < *end)
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.ranges.capacity() * size_of::<(u32, u32)>()
    }
}

/// A span begins here that is a copy. `local`: its tree is one of a local tracer, if legacy.
fn is_copy(record: &Record, local: bool) -> bool {
    record.span != NONE
        && record.parent != NONE
        && match record.dialect {
            Dialect::Legacy | Dialect::Interim => local,
            Dialect::Modern | Dialect::Streaming | Dialect::Note => record.flags & FLAG_SENT != 0,
        }
}

/// The first record behind those that are in record `at`.
pub(crate) fn subtree_end(records: &[Record], at: u32) -> u32 {
    let inner = records.iter().skip(at as usize + 1);
    let inner = inner.take_while(|r| r.parent != NONE && r.parent >= at).count();
    at.saturating_add(1).saturating_add(u32::try_from(inner).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::zorka::wire::body::Begin;

    fn body(dialect: Dialect, root: i64, records: &[(u32, bool, u8)]) -> TraceBody {
        let mut body = TraceBody::default();
        for (n, &(parent, span, flags)) in (0..).zip(records) {
            let number = u32::try_from(body.spans.len()).unwrap();
            let at = if span { number } else { NONE };
            let start = if parent == NONE { root } else { 5 };
            body.records.push(Record {
                parent,
                flags,
                dialect,
                start,
                span: at,
                ..Record::default()
            });
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
}
