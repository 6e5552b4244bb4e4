//! The methods of a span with most time of their own.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::shape::Counted;
use crate::sources::zorka::wire::body::{FLAG_CLOSED, Record};

/// Methods that are shown.
pub(super) const TOP: usize = 5;

/// Sums of one span by method id.
#[derive(Debug, Default)]
pub(super) struct Top {
    sums: HashMap<u32, u64, RandomState>,
    methods: Vec<u32>,
}

impl Top {
    /// The methods with most time of their own, most first, of the records of a span without those
    /// of the counted spans within it, `inner`, which are in the order of their records.
    pub(super) fn find(
        &mut self,
        records: &[Record],
        span: &Counted,
        inner: &[Counted],
    ) -> impl Iterator<Item = (u32, u64)> {
        let Self { sums, methods } = self;
        methods.clear();
        let (mut n, mut inner) = (span.record, inner);
        while n < span.end {
            if let Some(skipped) = inner.first().filter(|inner| inner.record == n) {
                n = skipped.end;
                let behind = inner.partition_point(|inner| inner.record < n);
                inner = inner.get(behind..).unwrap_or_default();
                continue;
            }
            if let Some(record) = records.get(n as usize) {
                let own = record.duration.saturating_sub(record.children);
                if own > 0 && record.flags & FLAG_CLOSED != 0 {
                    let sum = sums.entry(record.method).or_insert_with(|| {
                        methods.push(record.method);
                        0
                    });
                    *sum = sum.saturating_add(own);
                }
            }
            n += 1;
        }
        let mut top = [(0, 0); TOP];
        for method in methods.drain(..) {
            let mut next = (method, sums.remove(&method).unwrap_or_default());
            for place in &mut top {
                if next.1 > place.1 {
                    std::mem::swap(place, &mut next);
                }
            }
        }
        top.into_iter().filter(|(_, sum)| *sum > 0)
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.sums.capacity() * (size_of::<(u32, u64)>() + 1)
            + self.methods.capacity() * size_of::<u32>()
    }
}
