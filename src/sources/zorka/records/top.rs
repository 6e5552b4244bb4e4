//! The methods of a span with most time of their own.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::shape::Counted;
use crate::sources::zorka::wire::body::{FLAG_CLOSED, Record};

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

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.low.capacity() * size_of::<u64>()
            + self.high.capacity() * (size_of::<(u32, u64)>() + 1)
            + self.methods.capacity() * size_of::<u32>()
    }
}
