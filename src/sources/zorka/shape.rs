//! Which records of a body count, where its counted spans are within each other, and in which methods each
//! spent its time.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::wire::{Dialect, FLAG_CLOSED, FLAG_SENT, NONE, Record, TraceBody};

/// The records of a body that are copies: they were counted when their span came alone. A span is a
/// copy if it is within another record and, in the modern layout, has been sent before; in the
/// legacy one, if the root of its tree starts at tick 0, as local tracers write it. All records
/// below a copy are copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// First record, and first record behind, in rising order.
    ranges: Vec<(u32, u32)>,
}

crate::heap_size!(Copies { ranges });

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

crate::heap_size!(Shape { spans, reports, path });

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
}

/// The tree of a span ends before record `n`.
fn end(spans: &mut [Counted], span: u32, n: u32) {
    spans.get_mut(span as usize).into_iter().for_each(|span| span.end = n);
}

/// A span begins in the record and has an end.
pub(super) const fn is_counted(record: &Record) -> bool {
    record.span != NONE && record.flags & FLAG_CLOSED != 0
}

/// Methods that are shown.
pub(super) const TOP: usize = 5;

/// Ids below this have their sums in a list: agents count methods from 1.
const LOW: usize = 1 << 14;

/// Sums of one span by method id.
#[derive(Debug, Default)]
pub(super) struct Top {
    /// Of low ids; 0: none.
    low: Vec<u64>,
    /// Of all others.
    high: HashMap<u32, u64, RandomState>,
    /// The methods that have a sum.
    methods: Vec<u32>,
}

crate::heap_size!(Top { low, high, methods });

impl Top {
    /// Adds to the sum of a method; `own` is not 0.
    #[inline]
    fn add(&mut self, method: u32, own: u64) {
        match self.low.get_mut(method as usize) {
            Some(sum) => {
                if *sum == 0 {
                    self.methods.push(method);
                }
                *sum = sum.saturating_add(own);
            }
            None => self.add_high(method, own),
        }
    }

    #[cold]
    fn add_high(&mut self, method: u32, own: u64) {
        let at = method as usize;
        if at < LOW {
            self.low.resize(at + 1, 0);
            return self.add(method, own);
        }
        let sum = self.high.entry(method).or_insert_with(|| {
            self.methods.push(method);
            0
        });
        *sum = sum.saturating_add(own);
    }

    /// The methods with most time of their own, most first, of the records of a span without those
    /// of the counted spans within it, `inner`, which are in the order of their records.
    pub(super) fn find(
        &mut self,
        records: &[Record],
        span: &Counted,
        inner: &[Counted],
    ) -> impl Iterator<Item = (u32, u64)> {
        let (mut n, mut inner) = (span.record, inner);
        loop {
            let next = inner.first().filter(|inner| inner.record < span.end);
            let stop = next.map_or(span.end, |inner| inner.record);
            for record in records.get(n as usize..stop as usize).unwrap_or_default() {
                let own = record.duration.saturating_sub(record.children);
                if own > 0 && record.flags & FLAG_CLOSED != 0 {
                    self.add(record.method, own);
                }
            }
            let Some(skipped) = next else { break };
            n = skipped.end;
            let behind = inner.partition_point(|inner| inner.record < n);
            inner = inner.get(behind..).unwrap_or_default();
        }
        let Self { low, high, methods } = self;
        let mut top = [(0, 0); TOP];
        for method in methods.drain(..) {
            let sum = match low.get_mut(method as usize) {
                Some(sum) => std::mem::take(sum),
                None => high.remove(&method).unwrap_or_default(),
            };
            let mut next = (method, sum);
            for place in &mut top {
                if next.1 > place.1 {
                    std::mem::swap(place, &mut next);
                }
            }
        }
        top.into_iter().filter(|(_, sum)| *sum > 0)
    }
}

#[cfg(test)]
#[path = "tests/shape.rs"]
mod tests;
