//! Sums, percentiles and histogram of the spans of one agent, by their type.

use std::time::Duration;

use super::rows::{Layout, Of, Rows};
use super::text::clean;
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::meter::{Latency, MergedLatency, bucket_of};
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

/// Longest duration of percentiles in us: a day. Longer ones count as this long.
const LONGEST: u64 = 24 * 3600 * 1_000_000;

/// The durations of the spans of a type.
#[derive(Debug, Default)]
struct Durations {
    /// The longest in ns.
    longest: u64,
    /// The same at the last report.
    reported: u64,
    /// Those of the last minute in us.
    recent: Latency<LONGEST>,
}

/// The types of one agent.
#[derive(Debug)]
pub(crate) struct Types {
    rows: Rows<5>,
    /// By slot.
    durations: Vec<Durations>,
    buckets: [u64; m::EDGES.len()],
    /// The rows of buckets are bound.
    bound: bool,
}

impl Default for Types {
    fn default() -> Self {
        Self {
            rows: Rows::new(LAYOUT),
            durations: Vec::new(),
            buckets: [0; m::EDGES.len()],
            bound: false,
        }
    }
}

impl Types {
    /// Counts a span.
    pub(crate) fn add(&mut self, agent: &str, kind: &str, span: SpanSums, peer: &mut Peer) {
        let slot = self.rows.slot(kind, peer, |slot, of, peer| {
            let kind = if of == Of::Rest { OTHER.into() } else { clean(kind) };
            let key = format!("{agent}::{kind}");
            peer.row(m::TYPES, slot, Some(&key));
            let labels = &[("agent", agent), ("type", &*kind)];
            peer.row_labels(m::TYPES, slot, labels);
        });
        let SpanSums { duration, calls, error, overflow } = span;
        self.rows.add(slot, [1, error.into(), duration, calls, overflow.into()]);
        if self.durations.len() <= slot as usize {
            self.durations.resize_with(slot as usize + 1, Durations::default);
        }
        if let Some(of) = self.durations.get_mut(slot as usize) {
            of.longest = duration.max(of.longest);
            of.recent.record(duration / m::US);
        }
        if let Some(sum) = self.buckets.get_mut(bucket(duration)) {
            *sum += 1;
        }
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.rows.report(peer);
        for (slot, of) in (0..).zip(&mut self.durations) {
            if of.longest > of.reported {
                of.reported = of.longest;
                peer.row_max(slot, m::TYPE_MAX, of.longest);
            }
        }
        if !self.bound && self.buckets.iter().any(|sum| *sum > 0) {
            self.bound = true;
            for (slot, key) in (0..).zip(m::buckets()) {
                peer.row(m::BUCKETS, slot, Some(&key));
                peer.row_add(slot, m::TYPE_HISTOGRAM, 0);
            }
        }
        for (slot, sum) in (0..).zip(&mut self.buckets) {
            let more = std::mem::take(sum);
            if more > 0 {
                peer.row_add(slot, m::TYPE_HISTOGRAM, more);
            }
        }
    }

    /// Reports percentiles that have changed; new durations are also those of the service.
    pub(crate) fn report_latency(
        &mut self,
        now: Duration,
        service: Option<&MergedLatency>,
        peer: &mut Peer,
    ) {
        let items = [m::TYPE_P50, m::TYPE_P95, m::TYPE_P99, m::TYPE_RECENT_MAX];
        for (slot, of) in (0..).zip(&mut self.durations) {
            match of.recent.changed(now, service) {
                Some(Some(p)) => {
                    for (item, us) in items.into_iter().zip([p.p50, p.p95, p.p99, p.max]) {
                        peer.row_set(slot, item, us.saturating_mul(m::US));
                    }
                }
                Some(None) => {
                    for item in items {
                        peer.row_unset(slot, item);
                    }
                }
                None => {}
            }
        }
    }

    /// There are no spans of the last minute.
    pub(crate) fn is_silent(&self) -> bool {
        self.durations.iter().all(|of| of.recent.is_empty())
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.report(peer);
        self.rows.clear(peer);
        if self.bound {
            peer.free_rows(m::BUCKETS);
        }
        *self = Self::default();
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.rows.memory()
            + self.durations.capacity() * size_of::<Durations>()
            + self.durations.iter().map(|of| of.recent.memory()).sum::<usize>()
    }
}

/// Position of the bucket of a duration in ns.
fn bucket(ns: u64) -> usize {
    bucket_of(&m::EDGES, ns / m::US)
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
