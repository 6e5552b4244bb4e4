//! What is known now: peers, metrics, values, event streams. Workers write, the PMDA thread reads;
//! neither waits for the other longer than a copy takes. Nothing here does I/O.

mod cells;
mod desk;
mod life;
mod limits;
mod mailbox;
mod memory;
mod peer;
mod quiet;
mod registry;
mod rows;
mod self_stats;
mod sink;
mod sync;
mod table;

pub use crate::catalogue::{AgentCell, Stat};
pub use cells::Cells;
pub use desk::Desk;
pub use life::Life;
pub use limits::Limits;
pub use mailbox::Mailbox;
pub use peer::Peer;
pub use quiet::Quiet;
pub use registry::{Change, DynamicMetric, Store};
pub use rows::Row;
pub use self_stats::SelfStats;
pub use sink::PeerSink;
pub use table::csv;
