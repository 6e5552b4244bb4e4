//! What a pod adds to its service. The sums of the pod are added once a second, not call by call.

use std::sync::Arc;

use crate::contract::Sink;
use crate::contract::Update;
use crate::meter::{MergedLatencies, MergedLatency, StackRows};
use crate::model::{MetricItem, Now, RowItem};
use crate::sources::profiler::metrics::{self as m, ns};

/// The counters of a pod that its service sums up, and those of the service.
const SUMS: [(MetricItem, RowItem); 10] = [
    (m::TIME, m::SERVICE_TIME),
    (m::CALLS, m::SERVICE_COUNT),
    (m::ERRORS, m::SERVICE_ERRORS),
    (m::CPU, m::SERVICE_CPU),
    (m::WAIT, m::SERVICE_WAIT),
    (m::MEMORY, m::SERVICE_MEMORY),
    (m::SUSPENDS, m::SERVICE_SUSPENDS),
    (m::SUSPEND_TIME, m::SERVICE_SUSPEND_TIME),
    (m::GC_COUNT, m::SERVICE_GC_COUNT),
    (m::GC_TIME, m::SERVICE_GC_TIME),
];
/// Slot of the service's row.
const SLOT: u32 = 0;

/// The service of one connection's pod.
#[derive(Debug, Default)]
pub(crate) struct Service {
    namespace: String,
    service: String,
    /// `namespace/service`; empty before hello.
    name: String,
    latency: Option<Arc<MergedLatency>>,
    sums: [u64; SUMS.len()],
    buckets: [u64; m::EDGES.len()],
}

impl Service {
    /// The pod is one of `namespace/service`.
    pub(crate) fn start(
        &mut self,
        namespace: &str,
        service: &str,
        latencies: &MergedLatencies,
        sink: &mut dyn Sink,
    ) {
        self.name = format!("{namespace}/{service}");
        (self.namespace, self.service) = (namespace.to_owned(), service.to_owned());
        self.latency = latencies.of(&self.name);
        sink.update(Update::Row { table: m::SERVICES, slot: SLOT, key: Some(&self.name) });
        self.label(m::SERVICE_COUNT, SLOT, None, sink);
        for (_, item) in SUMS {
            sink.update(Update::RowCount { slot: SLOT, item, more: 0 });
        }
        for (slot, bucket) in (0..).zip(m::buckets()) {
            let key = format!("{}::{bucket}", self.name);
            sink.update(Update::Row { table: m::SERVICE_BUCKETS, slot, key: Some(&key) });
            self.label(m::SERVICE_HISTOGRAM, slot, Some(("bucket", &bucket)), sink);
            sink.update(Update::RowCount { slot, item: m::SERVICE_HISTOGRAM, more: 0 });
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
        let of_service = [("namespace", &*self.namespace), ("service", &*self.service)];
        let labels: Vec<_> = of_service.into_iter().chain(own).collect();
        sink.update(Update::RowLabels { table: item.table(), slot, labels: &labels });
    }

    /// Binds a slot to the row of a root method.
    pub(crate) fn bind_method(&self, slot: u32, method: Option<&str>, sink: &mut dyn Sink) {
        let key = method.map(|method| format!("{}::{method}", self.name));
        sink.update(Update::Row { table: m::SERVICE_METHODS, slot, key: key.as_deref() });
        if method.is_some() {
            self.label(m::SERVICE_METHOD_COUNT, slot, method.map(|name| ("method", name)), sink);
        }
    }

    /// The rows of stacks.
    pub(crate) fn stacks(&self) -> StackRows<'_> {
        let service = Some((&*self.name, m::SERVICE_STACK_TIME));
        StackRows { item: m::STACK_TIME, service }
    }

    /// Adds the sums of the pod since its last report.
    pub(crate) fn add(&mut self, sum_of: impl Fn(MetricItem) -> u64) {
        for (sum, (item, _)) in self.sums.iter_mut().zip(SUMS) {
            *sum = sum.wrapping_add(sum_of(item));
        }
    }

    /// Adds calls to a range of durations.
    pub(crate) fn add_bucket(&mut self, bucket: u32, more: u64) {
        self.buckets.get_mut(bucket as usize).into_iter().for_each(|sum| *sum += more);
    }

    /// The histograms that the durations of calls are added to.
    pub(crate) fn latency(&self) -> Option<&MergedLatency> {
        self.latency.as_deref()
    }

    /// Reports the sums since the last report, and the percentiles of all pods.
    pub(crate) fn report(&mut self, now: Now, sink: &mut dyn Sink) {
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
        for (slot, sum) in (0..).zip(&mut self.buckets) {
            let more = std::mem::take(sum);
            if more > 0 {
                sink.update(Update::RowCount { slot, item: m::SERVICE_HISTOGRAM, more });
            }
        }
        let Some(latency) = &self.latency else { return };
        let items = [m::SERVICE_P50, m::SERVICE_P95, m::SERVICE_P99, m::SERVICE_MAX];
        latency.report(now.monotonic, (SLOT, items), ns(1), |update| sink.update(update));
    }
}
