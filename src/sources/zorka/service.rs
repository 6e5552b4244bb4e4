//! What an agent adds to its service. The sums of the agent are added once a second, not request by
//! request.

use std::sync::Arc;
use std::time::Duration;

use crate::contract::Sink;
use crate::contract::Update;
use crate::meter::{MergedLatencies, MergedLatency, StackRows};
use crate::model::{MetricItem, RowItem};
use crate::sources::zorka::metrics as m;

/// The counters of an agent that its service sums up, and those of the service.
const SUMS: [(MetricItem, RowItem); 4] = [
    (m::SPAN_TIME, m::SERVICE_TIME),
    (m::SPANS, m::SERVICE_COUNT),
    (m::SPAN_ERRORS, m::SERVICE_ERRORS),
    (m::EXCEPTIONS, m::SERVICE_EXCEPTIONS),
];
/// Slot of the service's row.
const SLOT: u32 = 0;

/// The service of one agent.
#[derive(Debug, Default)]
pub(crate) struct Service {
    /// Empty before the agent is known.
    name: Box<str>,
    latency: Option<Arc<MergedLatency>>,
    sums: [u64; SUMS.len()],
    buckets: [u64; m::EDGES.len()],
    /// The rows of buckets are bound.
    bound: bool,
}

impl Service {
    /// The agent is one of this service.
    pub(crate) fn start(&mut self, name: &str, latencies: &MergedLatencies, sink: &mut dyn Sink) {
        if *self.name != *name {
            self.name = name.into();
            self.latency = latencies.of(name);
        }
        sink.update(Update::Row { table: m::SERVICES, slot: SLOT, key: Some(name) });
        self.label(m::SERVICE_COUNT, SLOT, None, sink);
        for (_, item) in SUMS {
            sink.update(Update::RowCount { slot: SLOT, item, more: 0 });
        }
        sink.update(Update::RowMember { table: m::SERVICES, slot: SLOT });
    }

    /// Sets the labels of a row.
    fn label(
        &self,
        item: RowItem,
        slot: u32,
        own: Option<(&'static str, &str)>,
        sink: &mut dyn Sink,
    ) {
        let labels: Vec<_> = std::iter::once(("service", &*self.name)).chain(own).collect();
        sink.update(Update::RowLabels { table: item.table(), slot, labels: &labels });
    }

    /// Binds a slot to the row of a method; `None`: to that of the methods beyond a limit.
    pub(crate) fn bind_method(&self, slot: u32, method: Option<&str>, sink: &mut dyn Sink) {
        let key = method.map(|method| format!("{}::{method}", self.name));
        sink.update(Update::Row { table: m::SERVICE_METHODS, slot, key: key.as_deref() });
        if let Some(method) = method {
            self.label(m::SERVICE_METHOD_COUNT, slot, Some(("method", method)), sink);
        }
        for item in m::SERVICE_METHOD_ITEMS {
            sink.update(Update::RowCount { slot, item, more: 0 });
        }
    }

    /// The rows of stacks.
    pub(crate) fn stacks(&self) -> StackRows<'_> {
        let service = Some((&*self.name, m::SERVICE_STACK_TIME));
        StackRows { item: m::STACK_TIME, service }
    }

    /// Adds the sums of the agent since its last report.
    pub(crate) fn add(&mut self, sum_of: impl Fn(MetricItem) -> u64) {
        for (sum, (item, _)) in self.sums.iter_mut().zip(SUMS) {
            *sum = sum.wrapping_add(sum_of(item));
        }
    }

    /// Adds spans to a range of durations.
    pub(crate) fn add_bucket(&mut self, bucket: u32, more: u64) {
        self.buckets.get_mut(bucket as usize).into_iter().for_each(|sum| *sum += more);
    }

    /// The histograms that the durations of spans are added to.
    pub(crate) fn latency(&self) -> Option<&MergedLatency> {
        self.latency.as_deref()
    }

    /// Reports the sums since the last report, and the percentiles of all agents.
    pub(crate) fn report(&mut self, now: Duration, sink: &mut dyn Sink) {
        if self.name.is_empty() {
            return;
        }
        sink.update(Update::RowMember { table: m::SERVICES, slot: SLOT });
        for (sum, (_, item)) in self.sums.iter_mut().zip(SUMS) {
            let more = std::mem::take(sum);
            if more > 0 {
                sink.update(Update::RowCount { slot: SLOT, item, more });
            }
        }
        if self.buckets.iter().any(|sum| *sum > 0) {
            self.report_buckets(sink);
        }
        let Some(latency) = &self.latency else { return };
        let items = [m::SERVICE_P50, m::SERVICE_P95, m::SERVICE_P99, m::SERVICE_MAX];
        latency.report(now, (SLOT, items), m::US, |update| sink.update(update));
    }

    fn report_buckets(&mut self, sink: &mut dyn Sink) {
        let bind = !std::mem::replace(&mut self.bound, true);
        for (slot, bucket) in (0..).zip(m::buckets()).filter(|_| bind) {
            let key = format!("{}::{bucket}", self.name);
            sink.update(Update::Row { table: m::SERVICE_BUCKETS, slot, key: Some(&key) });
            self.label(m::SERVICE_HISTOGRAM, slot, Some(("bucket", &bucket)), sink);
        }
        for (slot, sum) in (0..).zip(&mut self.buckets) {
            let more = std::mem::take(sum);
            if bind || more > 0 {
                sink.update(Update::RowCount { slot, item: m::SERVICE_HISTOGRAM, more });
            }
        }
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, sink: &mut dyn Sink) {
        if std::mem::take(&mut self.bound) {
            sink.update(Update::FreeRows { table: m::SERVICE_BUCKETS });
        }
    }

    /// Allocated bytes.
    pub(crate) const fn memory(&self) -> usize {
        self.name.len()
    }
}
