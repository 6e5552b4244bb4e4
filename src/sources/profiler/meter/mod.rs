//! Metrics of a pod, from the records that its agent sends.

mod accounting;
mod call_tree;
pub(super) mod pod_metrics;
mod stacks;
