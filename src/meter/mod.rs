//! Sums that sources with methods and durations have in common: percentiles of the last minute, of
//! one peer and of all peers of a service, histograms, and self time by stack. Nothing here knows a protocol.

mod buckets;
mod call_tree;
mod folded;
mod latency;
mod merged;
mod path_tree;
mod services;
mod slow_calls;
mod stack_times;
mod window;

pub use buckets::{bucket_names, bucket_of};
pub use call_tree::{CallTree, Node, NodeRow, ROOT};
pub use folded::{clean, folded, row_key};
pub use latency::Latency;
pub use merged::{MergedLatencies, MergedLatency};
pub use path_tree::{FOLDED, PathTree, TreeText};
pub use slow_calls::{SlowCalls, SlowService, Ticket};
pub use stack_times::{StackName, StackTimes};
pub use window::Percentiles;
