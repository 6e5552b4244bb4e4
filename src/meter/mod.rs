//! Sums that sources with methods and durations have in common: percentiles of the last minute, and
//! self time by stack. Nothing here knows a protocol.

mod call_tree;
mod latency;
mod stack_times;

pub use call_tree::{CallTree, Node, NodeRow, ROOT};
pub use latency::{Latency, Percentiles};
pub use stack_times::{StackName, StackTimes};
