//! Sums that sources with methods and durations have in common: percentiles of the last minute,
//! histograms, and self time by stack. Nothing here knows a protocol.

mod buckets;
mod call_tree;
mod latency;
mod stack_times;

pub use buckets::{bucket_names, bucket_of};
pub use call_tree::{CallTree, Node, NodeRow, ROOT};
pub use latency::{Latency, Percentiles};
pub use stack_times::{StackName, StackTimes};
