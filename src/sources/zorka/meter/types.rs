//! Sums, percentiles and histogram of the spans of one agent, by their type.

use super::rows::{Layout, Of, Rows};
use super::text::clean;
use crate::catalogue::OTHER;
use crate::model::Update;
use crate::sources::Sink;
use crate::sources::zorka::limits;
use crate::sources::zorka::metrics as m;

const LAYOUT: Layout<5> = Layout {
    table: m::TYPES,
    items: [m::TYPE_COUNT, m::TYPE_ERRORS, m::TYPE_TIME, m::TYPE_CALLS, m::TYPE_OVERFLOW],
    max: limits::TYPES,
};

/// What counts of a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanSums {
    pub(crate) duration: u64,
    pub(crate) calls: u64,
    pub(crate) error: bool,
    pub(crate) overflow: bool,
}

/// The longest span of a type.
#[derive(Clone, Copy, Debug, Default)]
struct Longest {
    now: u64,
    reported: u64,
}

/// The types of one agent.
#[derive(Debug)]
pub(crate) struct Types {
    rows: Rows<5>,
    /// By slot.
    longest: Vec<Longest>,
    buckets: [u64; m::EDGES.len()],
    /// The rows of buckets are bound.
    bound: bool,
}

impl Default for Types {
    fn default() -> Self {
        Self {
            rows: Rows::new(LAYOUT),
            longest: Vec::new(),
            buckets: [0; m::EDGES.len()],
            bound: false,
        }
    }
}

impl Types {
    /// Counts a span.
    pub(crate) fn add(&mut self, agent: &str, kind: &str, span: SpanSums, sink: &mut dyn Sink) {
        let slot = self.rows.slot(kind, sink, |slot, of, sink| {
            let kind = if of == Of::Rest { OTHER.into() } else { clean(kind) };
            let key = format!("{agent}::{kind}");
            sink.update(Update::Row { table: m::TYPES, slot, key: Some(&key) });
        });
        let SpanSums { duration, calls, error, overflow } = span;
        self.rows.add(slot, [1, error.into(), duration, calls, overflow.into()]);
        if self.longest.len() <= slot as usize {
            self.longest.resize(slot as usize + 1, Longest::default());
        }
        if let Some(longest) = self.longest.get_mut(slot as usize) {
            longest.now = duration.max(longest.now);
        }
        if let Some(sum) = self.buckets.get_mut(bucket(duration)) {
            *sum += 1;
        }
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, sink: &mut dyn Sink) {
        self.rows.report(sink);
        for (slot, longest) in (0..).zip(&mut self.longest) {
            if longest.now > longest.reported {
                longest.reported = longest.now;
                sink.update(Update::RowMax { slot, item: m::TYPE_MAX, value: longest.now });
            }
        }
        if !self.bound && self.buckets.iter().any(|sum| *sum > 0) {
            self.bound = true;
            for (slot, key) in (0..).zip(m::buckets()) {
                sink.update(Update::Row { table: m::BUCKETS, slot, key: Some(&key) });
            }
        }
        for (slot, sum) in (0..).zip(&mut self.buckets) {
            let more = std::mem::take(sum);
            if more > 0 {
                sink.update(Update::RowCount { slot, item: m::TYPE_HISTOGRAM, more });
            }
        }
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, sink: &mut dyn Sink) {
        self.report(sink);
        self.rows.clear(sink);
        if self.bound {
            sink.update(Update::FreeRows { table: m::BUCKETS });
        }
        *self = Self::default();
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.rows.memory() + self.longest.capacity() * size_of::<Longest>()
    }
}

/// Position of the bucket of a duration in ns.
fn bucket(ns: u64) -> usize {
    let us = ns / 1000;
    m::EDGES.partition_point(|edge| *edge <= us).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_include_their_lower_end() {
        let of = [0, 99_999, 100_000, 199_999, 200_000, 99_999_999_999, 100_000_000_000, u64::MAX];
        assert_eq!(of.map(bucket), [0, 0, 1, 1, 2, 18, 19, 19]);
    }
}
