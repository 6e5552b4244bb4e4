//! The present state: peers, metrics, values, event streams. Workers write, the PMDA thread reads;
//! neither waits for the other longer than a copy takes. No I/O here.

mod brought;
mod connection;
mod control_queue;
mod csv;
mod dynamic_metric;
mod held;
mod limits;
mod log_throttle;
mod memory;
mod peer;
mod registry;
mod rows;
mod self_stats;
mod sync;

pub use control_queue::ControlQueue;
pub use csv::CsvTable;
pub use dynamic_metric::DynamicMetric;
pub use limits::Limits;
pub use log_throttle::LogThrottle;
pub use peer::{Cells, Ends, HOST, Liveness, Peer, RequestQueue, Share};
pub use registry::{Change, Store};
pub use rows::Row;
pub use self_stats::SelfStats;

pub use crate::catalogue::{AgentCell, Stat};
