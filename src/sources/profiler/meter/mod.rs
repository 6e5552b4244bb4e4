//! What the records of a pod add to its metrics.

mod accounting;
mod call_thread;
mod call_tree;
mod latency;
mod loss_report;
mod methods;
pub(super) mod pod_metrics;
mod stacks;
pub(super) mod totals;
