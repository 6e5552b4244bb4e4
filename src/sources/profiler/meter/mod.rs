//! Metrics of a pod, from the records that its agent sends.

mod accounting;
pub(super) mod marks;
pub(super) mod pod_metrics;
mod stacks;
